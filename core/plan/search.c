// search.c: decisions, and the way back from a dead end.
#include "plan/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "plan/search_internal.h"

enum {
    ORDERS = 4,          // ways to rank the items
    WEIGHT = 16,         // of a dead end
    FULL_PERCENT = 90,   // of the bound
    FULL_DEAD_ENDS = 16,
    RELAX_WORK = 4,           // an item, and
    RELAX_LEAST_WORK = 256,   // so much, before the limit is raised whatever the dead ends
    FADING_PARTS = 4,         // of a weight: what it loses
    LATE_DECISIONS = 32       // from one look at the clock to the next
};

// Full sections come first: above FULL_PERCENT of the bound the weight grows up to that of
// FULL_DEAD_ENDS dead ends.
static void weigh_full_sections(tni_plan_search *s)
{
    double bound = (double)s->sections->bound, from = FULL_PERCENT / 100.0;
    for (uint32_t t = 0; t < s->sections->count; t++) {
        double part = (double)s->sections->live[t] / bound;
        if (part > from)
            s->weight[t] = (uint32_t)(WEIGHT * FULL_DEAD_ENDS * (part - from) / (1 - from));
    }
}

tni_plan_search *tni_plan_search_create(const tn_allocator *allocator,
                                        const tni_plan_sections *sections)
{
    tn_allocator own = tni_allocator(allocator);
    tni_plan_search *s = tni_alloc_zeroed(&own, 1, sizeof *s);
    if (!s)
        return NULL;
    uint32_t items = sections->item_count, count = sections->count;
    s->allocator = own;
    s->sections = sections;
    tni_arena_init(&s->arena, &own);
    for (s->leaves = 1; s->leaves < count; s->leaves *= 2)
        ;
    s->rank = tni_arena_take_array(&s->arena, items, sizeof *s->rank);
    s->ranked = tni_arena_take_array(&s->arena, items, sizeof *s->ranked);
    s->spare = tni_arena_take_array(&s->arena, items, sizeof *s->spare);
    s->offsets = tni_arena_take_array(&s->arena, items, sizeof *s->offsets);
    s->head = tni_arena_take_array(&s->arena, count, sizeof *s->head);
    s->next = tni_arena_take_array(&s->arena, items, sizeof *s->next);
    s->previous = tni_arena_take_array(&s->arena, items, sizeof *s->previous);
    s->reach = tni_arena_take_array(&s->arena, count, sizeof *s->reach);
    s->floor = tni_arena_take_array(&s->arena, count, sizeof *s->floor);
    s->rest = tni_arena_take_array(&s->arena, count, sizeof *s->rest);
    s->is_closed = tni_arena_take_array(&s->arena, count, sizeof *s->is_closed);
    s->weight = tni_arena_take_array(&s->arena, count, sizeof *s->weight);
    s->runs = tni_arena_take_array(&s->arena, s->leaves, sizeof *s->runs);
    s->tree = tni_arena_take_array(&s->arena, 2 * (size_t)s->leaves, sizeof *s->tree);
    s->is_run = tni_arena_take_array(&s->arena, s->leaves, sizeof *s->is_run);
    s->difference = tni_arena_take_array(&s->arena, count, sizeof *s->difference);
    if (s->rank && s->ranked && s->spare && s->offsets && s->head && s->next && s->previous &&
        s->reach && s->floor && s->rest && s->is_closed && s->weight && s->runs && s->is_run &&
        s->tree && s->difference) {
        tni_plan_sections_reach(sections, s->reach);
        weigh_full_sections(s);
        return s;
    }
    tni_plan_search_destroy(s);
    return NULL;
}

void tni_plan_search_destroy(tni_plan_search *s)
{
    if (!s)
        return;
    tn_allocator allocator = s->allocator;
    tni_free(&allocator, s->changes);
    tni_free(&allocator, s->old_runs);
    tni_free(&allocator, s->frames);
    tni_arena_finish(&s->arena);
    tni_free(&allocator, s);
}

const uint64_t *tni_plan_search_offsets(const tni_plan_search *s)
{
    return s->offsets;
}

// ------------------------------------------------------------------------------- order of choices

static uint64_t next_random(uint64_t *seed)   // xorshift (Marsaglia, 2003)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static double key_of(const tni_item *item, uint32_t order)
{
    double length = item->end - item->first, bytes = (double)item->bytes;
    switch (order) {
    case 0:
        return length * 0x1p64 + bytes;   // longest first
    case 1:
        return length * length * bytes;
    case 2:
        return length * bytes;
    default:
        return bytes * 0x1p32 + length;   // largest first
    }
}

// Bits of a positive number, as one that is smaller the larger it is.
static uint64_t falling(double key)
{
    uint64_t bits;
    memcpy(&bits, &key, sizeof bits);
    return ~bits;
}

// From the second time on that an order is used its keys are shaken by up to 30 %.
static void rank_items(tni_plan_search *s, uint32_t round)
{
    uint32_t count = s->sections->item_count;
    s->is_longest_first = round == 0;
    uint64_t seed = 88172645463325252u + round;
    for (uint32_t i = 0; i < count; i++) {
        double shake = round < ORDERS ? 1
                                      : 0.7 + 0.6 * (double)(next_random(&seed) >> 11) * 0x1p-53;
        double key = shake * key_of(&s->sections->items[i], round % ORDERS);
        s->ranked[i] = (tni_keyed){ falling(key), i };
    }
    const tni_keyed *sorted = tni_plan_sort(s->ranked, s->spare, count);
    for (uint32_t i = 0; i < count; i++)
        s->rank[sorted[i].what] = i;
}

// --------------------------------------------------------------------------------------- decisions

// The choice of lowest rank that was not tried yet.
static uint32_t next_choice(const tni_plan_search *s, const frame *f)
{
    bool is_any = f->section == TNI_ANY_SECTION;
    uint32_t best = TNP_NONE, best_rank = UINT32_MAX;
    uint32_t last_first = is_any ? f->run_end - 1 : f->section, least_end = is_any ? 0 : f->section;
    uint32_t first = f->run_first;
    if (!is_any && s->reach[f->section] > first)
        first = s->reach[f->section];
    for (uint32_t t = first; t <= last_first; t++) {
        for (uint32_t i = s->head[t]; i != TNP_NONE; i = s->next[i]) {
            uint32_t end = s->sections->items[i].end;
            if (end <= least_end)
                break;   // the list goes on with shorter ones
            if (end > f->run_end || s->rank[i] < f->next_rank || tni_plan_search_is_twin(s, i))
                continue;
            if (s->rank[i] < best_rank) {
                best = i;
                best_rank = s->rank[i];
            }
            if (s->is_longest_first)
                break;
        }
    }
    return best;
}

typedef enum step { STEPPED, NO_CHOICE, NO_MEMORY } step;

// Takes the next choice of a frame. Its sections are then *out_changed.
static step take_choice(tni_plan_search *s, frame *f, stretch *out_changed)
{
    uint32_t item = next_choice(s, f);
    if (item != TNP_NONE) {
        f->next_rank = s->rank[item] + 1;
        *out_changed = (stretch){ s->sections->items[item].first, s->sections->items[item].end };
        return tni_plan_search_place(s, item, s->floor[f->run_first]) ? STEPPED : NO_MEMORY;
    }
    if (!f->may_close)
        return NO_CHOICE;
    f->may_close = false;
    *out_changed = f->section == TNI_ANY_SECTION ? (stretch){ f->run_first, f->run_end }
                                                 : (stretch){ f->section, f->section + 1 };
    return tni_plan_search_close(s, CLOSED, *out_changed, *out_changed) ? STEPPED : NO_MEMORY;
}

static bool push_frame(tni_plan_search *s, const open_run *run, uint32_t first)
{
    if (!tni_grow(&s->allocator, &s->frames, &s->frame_capacity, s->frame_count + 1,
                  sizeof *s->frames))
        return false;
    s->frames[s->frame_count++] = (frame){
        .change_mark = s->change_count,
        .run_mark = s->old_run_count,
        .run_first = first,
        .run_end = run->end,
        .section = run->section,
        .may_close = run->may_close,
        .conflict = stretch_around(run->valley),
    };
    return true;
}

static bool touch(stretch a, stretch b)
{
    return a.first < b.end && b.first < a.end;
}

static stretch join(stretch a, stretch b)
{
    return (stretch){ a.first < b.first ? a.first : b.first, a.end > b.end ? a.end : b.end };
}

static stretch sections_of(const tni_plan_search *s, const change *c)
{
    if (c->kind != PLACED)
        return (stretch){ c->a, c->b };
    return (stretch){ s->sections->items[c->a].first, s->sections->items[c->a].end };
}

// The latest frame whose choice touches the sections of *conflict, which grows by what those depend
// on; NULL: none does.
static frame *find_culprit(tni_plan_search *s, stretch *conflict)
{
    uint32_t f = s->frame_count;
    for (uint32_t c = s->change_count; c-- > 0;) {
        const change *what = &s->changes[c];
        while (f > 0 && s->frames[f - 1].change_mark > c)
            f--;
        if (!touch(sections_of(s, what), *conflict))
            continue;
        if (what->kind == PLACED || what->kind == CLOSED)
            return &s->frames[f - 1];
        *conflict = join(*conflict, what->reason);
    }
    return NULL;
}

static void add_weight(tni_plan_search *s, uint32_t section)
{
    if (section < s->sections->count && s->weight[section] < UINT32_MAX / 2)
        s->weight[section] += WEIGHT;
}

// Back to a frame that has a choice left, and takes it. NO_CHOICE: there is none.
static step jump_back(tni_plan_search *s, stretch conflict, stretch *out_changed)
{
    for (;;) {
        frame *f = find_culprit(s, &conflict);
        if (!f)
            return NO_CHOICE;
        s->frame_count = (uint32_t)(f - s->frames) + 1;
        tni_plan_search_undo(s, f->change_mark, f->run_mark);
        f->conflict = join(f->conflict, conflict);
        step taken = take_choice(s, f, out_changed);
        if (taken != NO_CHOICE)
            return taken;
        add_weight(s, f->section);
        conflict = f->conflict;
        s->frame_count--;
    }
}

// One decision. *changed: what the one before changed.
static step decide(tni_plan_search *s, stretch *changed, bool *out_is_dead_end)
{
    stretch conflict;
    s->work++;
    look_answer look = tni_plan_search_look(s, *changed, &conflict);
    *out_is_dead_end = look == LOOK_DEAD_END;
    if (look == LOOK_NO_MEMORY)
        return NO_MEMORY;
    if (look == LOOK_DEAD_END) {
        add_weight(s, (conflict.first + conflict.end) / 2);
        return jump_back(s, conflict, changed);
    }
    uint32_t first = 0;
    const open_run *run = tni_plan_search_best_run(s, &first);
    if (!run)
        return STEPPED;
    return push_frame(s, run, first) ? take_choice(s, &s->frames[s->frame_count - 1], changed)
                                     : NO_MEMORY;
}

void tni_plan_search_set_deadline(tni_plan_search *s, uint64_t deadline_ns)
{
    s->deadline_ns = deadline_ns;
    s->decisions = 0;
}

static bool is_late(tni_plan_search *s)
{
    return s->deadline_ns && ++s->decisions % LATE_DECISIONS == 0 && tni_now_ns() > s->deadline_ns;
}

static tni_plan_search_answer no_more(step last)
{
    return last == NO_MEMORY ? TNI_PLAN_SEARCH_NO_MEMORY : TNI_PLAN_SEARCH_IMPOSSIBLE;
}

tni_plan_search_answer tni_plan_search_run(tni_plan_search *s, uint64_t limit, uint32_t round,
                                           uint64_t *steps)
{
    if (limit < s->sections->bound)
        return TNI_PLAN_SEARCH_IMPOSSIBLE;
    rank_items(s, round);
    tni_plan_search_reset(s, limit);
    stretch changed = { 0, s->sections->count };
    while (s->unplaced) {
        bool is_dead_end;
        uint64_t begin = s->work;
        if (*steps == 0 || is_late(s))
            return TNI_PLAN_SEARCH_GAVE_UP;
        step last = decide(s, &changed, &is_dead_end);
        if (last != STEPPED)
            return no_more(last);
        *steps -= *steps < s->work - begin ? *steps : s->work - begin;
    }
    return TNI_PLAN_SEARCH_FOUND;
}

// Before a relaxed search after another: with what the latest dead ends tell more of, few packings
// come again.
static void fade_weights(tni_plan_search *s)
{
    for (uint32_t t = 0; s->was_relaxed && t < s->sections->count; t++)
        s->weight[t] -= s->weight[t] / FADING_PARTS;
    s->was_relaxed = true;
}

// Where much work went before a raise, the next one is twice as large: the limit is too low for all
// of a long graph, and few raises must do.
tni_plan_search_answer tni_plan_search_run_relaxed(tni_plan_search *s, const tni_plan_relaxing *how,
                                                   uint64_t *limit, uint64_t *steps)
{
    rank_items(s, 0);
    fade_weights(s);
    tni_plan_search_reset(s, *limit > s->sections->bound ? *limit : s->sections->bound);
    stretch changed = { 0, s->sections->count };
    uint64_t more = s->limit / how->parts + 1, begin = s->work;
    const uint64_t most = RELAX_WORK * (uint64_t)s->sections->item_count + RELAX_LEAST_WORK;
    uint32_t dead_ends = 0;
    while (s->unplaced) {
        bool is_dead_end;
        uint64_t before = s->work;
        if (*steps == 0 || is_late(s))
            return TNI_PLAN_SEARCH_GAVE_UP;
        step last = decide(s, &changed, &is_dead_end);
        *steps -= *steps < s->work - before ? *steps : s->work - before;
        if (last == NO_MEMORY)
            return TNI_PLAN_SEARCH_NO_MEMORY;
        dead_ends += is_dead_end;
        if (dead_ends <= how->dead_ends && s->work - begin <= most && last == STEPPED)
            continue;
        if (s->limit > how->most_limit || how->most_limit - s->limit < more)
            return TNI_PLAN_SEARCH_GAVE_UP;
        s->limit += more;
        if (s->work - begin > most || last == NO_CHOICE)
            more = more > UINT64_MAX / 2 ? UINT64_MAX : 2 * more;
        dead_ends = 0;
        begin = s->work;
        if (last == NO_CHOICE) {
            tni_plan_search_reset(s, s->limit);
            changed = (stretch){ 0, s->sections->count };
        }
    }
    *limit = s->limit;
    return TNI_PLAN_SEARCH_FOUND;
}
