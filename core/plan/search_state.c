// search_state.c: what changes in a search, and how it is undone.
#include <string.h>

#include "base/alloc.h"
#include "plan/search_internal.h"

enum {
    AMPLE_PART = 16   // of the limit
};

static bool note(tni_plan_search *s, change what)
{
    if (!tni_grow(&s->allocator, &s->changes, &s->change_capacity, s->change_count + 1,
                  sizeof *s->changes))
        return false;
    s->changes[s->change_count++] = what;
    return true;
}

// Lists keep the order of the items. Items leave and come back last out, first in, so what an item
// knew of its neighbours when it left is right when it comes back.
static void leave_list(tni_plan_search *s, uint32_t item)
{
    uint32_t next = s->next[item], previous = s->previous[item];
    if (previous == TNP_NONE)
        s->head[s->sections->items[item].first] = next;
    else
        s->next[previous] = next;
    if (next != TNP_NONE)
        s->previous[next] = previous;
}

static void rejoin_list(tni_plan_search *s, uint32_t item)
{
    uint32_t next = s->next[item], previous = s->previous[item];
    if (previous == TNP_NONE)
        s->head[s->sections->items[item].first] = item;
    else
        s->next[previous] = item;
    if (next != TNP_NONE)
        s->previous[next] = item;
}

bool tni_plan_search_place(tni_plan_search *s, uint32_t item, uint64_t height)
{
    const tni_item *it = &s->sections->items[item];
    if (!note(s, (change){ .kind = PLACED, .a = item }))
        return false;
    for (uint32_t t = it->first; t < it->end; t++) {
        s->rest[t] -= it->bytes;
        s->floor[t] = s->rest[t] ? height + it->bytes : TNI_NO_WALL;
    }
    s->work += (it->end - it->first) / WORK_SECTIONS;
    s->offsets[item] = height;
    s->unplaced--;
    leave_list(s, item);
    return true;
}

bool tni_plan_search_close(tni_plan_search *s, change_kind kind, stretch sections, stretch reason)
{
    if (!note(s, (change){ kind, sections.first, sections.end, reason, 0 }))
        return false;
    memset(s->is_closed + sections.first, true, sections.end - sections.first);
    return true;
}

bool tni_plan_search_raise(tni_plan_search *s, stretch sections, uint64_t height)
{
    if (!note(s, (change){ RAISED, sections.first, sections.end, stretch_around(sections),
                           s->floor[sections.first] }))
        return false;
    for (uint32_t t = sections.first; t < sections.end; t++)
        s->floor[t] = height;
    memset(s->is_closed + sections.first, false, sections.end - sections.first);
    return true;
}

static void undo_change(tni_plan_search *s, const change *c)
{
    switch (c->kind) {
    case PLACED: {
        const tni_item *it = &s->sections->items[c->a];
        for (uint32_t t = it->first; t < it->end; t++) {
            s->floor[t] = s->offsets[c->a];
            s->rest[t] += it->bytes;
        }
        s->unplaced++;
        rejoin_list(s, c->a);
        break;
    }
    case CLOSED:
    case MUST_CLOSE:
        memset(s->is_closed + c->a, false, c->b - c->a);
        break;
    case RAISED:
        for (uint32_t t = c->a; t < c->b; t++)
            s->floor[t] = c->height;
        memset(s->is_closed + c->a, true, c->b - c->a);
        break;
    }
}

static bool comes_before(const tni_plan_search *s, uint32_t a, uint32_t b)
{
    return s->runs[a].score < s->runs[b].score || (s->runs[a].score == s->runs[b].score && a < b);
}

// Up to where another than `at` wins, as it did before: nothing changes above.
static void play_up(tni_plan_search *s, uint32_t at)
{
    for (uint32_t node = (s->leaves + at) / 2; node; node /= 2) {
        uint32_t left = s->tree[2 * node], right = s->tree[2 * node + 1], before = s->tree[node];
        s->tree[node] = comes_before(s, left, right) ? left : right;
        if (s->tree[node] == before && before != at)
            break;
    }
}

bool tni_plan_search_set_run(tni_plan_search *s, uint32_t at, const open_run *run)
{
    if (!run && !s->is_run[at])
        return true;
    if (!tni_grow(&s->allocator, &s->old_runs, &s->old_run_capacity, s->old_run_count + 1,
                  sizeof *s->old_runs))
        return false;
    s->old_runs[s->old_run_count++] = (old_run){ at, s->is_run[at], s->runs[at] };
    s->runs[at] = run ? *run : (open_run){ .score = TNI_NO_SCORE };
    s->is_run[at] = run != NULL;
    play_up(s, at);
    return true;
}

void tni_plan_search_undo(tni_plan_search *s, uint32_t change_mark, uint32_t run_mark)
{
    s->work += s->change_count - change_mark;
    while (s->change_count > change_mark) {
        const change *c = &s->changes[--s->change_count];
        if (c->kind == PLACED)
            s->work += (s->sections->items[c->a].end - s->sections->items[c->a].first) /
                       WORK_SECTIONS;
        undo_change(s, c);
    }
    while (s->old_run_count > run_mark) {
        const old_run *old = &s->old_runs[--s->old_run_count];
        s->runs[old->at] = old->run;
        s->is_run[old->at] = old->is_run;
        play_up(s, old->at);
    }
}

void tni_plan_search_reset(tni_plan_search *s, uint64_t limit)
{
    const tni_plan_sections *in = s->sections;
    s->limit = limit;
    s->ample = limit / AMPLE_PART;
    s->slack_shift = 0;
    while (limit >> s->slack_shift > UINT32_MAX)
        s->slack_shift++;
    s->change_count = s->old_run_count = s->frame_count = 0;
    s->unplaced = in->item_count;
    memset(s->floor, 0, in->count * sizeof *s->floor);
    memset(s->is_closed, 0, in->count * sizeof *s->is_closed);
    memset(s->is_run, 0, in->count * sizeof *s->is_run);
    memset(s->head, 0xff, in->count * sizeof *s->head);
    memcpy(s->rest, in->live, in->count * sizeof *s->rest);
    for (uint32_t i = 0; i < in->item_count; i++) {
        bool is_first = i == 0 || in->items[i - 1].first != in->items[i].first;
        bool is_last = i + 1 == in->item_count || in->items[i + 1].first != in->items[i].first;
        s->previous[i] = is_first ? TNP_NONE : i - 1;
        s->next[i] = is_last ? TNP_NONE : i + 1;
        if (is_first)
            s->head[in->items[i].first] = i;
    }
    for (uint32_t t = 0; t < s->leaves; t++) {
        s->runs[t] = (open_run){ .score = TNI_NO_SCORE };
        s->tree[s->leaves + t] = t;
    }
    for (uint32_t node = s->leaves - 1; node; node--)
        s->tree[node] = s->tree[2 * node];
}

const open_run *tni_plan_search_best_run(const tni_plan_search *s, uint32_t *out_first)
{
    if (s->unplaced == 0)
        return NULL;
    *out_first = s->tree[1];
    return &s->runs[*out_first];
}
