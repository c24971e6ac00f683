// search_runs.c: what there is to decide in a valley.
#include <string.h>

#include "plan/search_internal.h"

typedef struct valley {
    stretch at;
    uint64_t height, wall;   // of the floor, and of the lower wall; TNI_NO_WALL
} valley;

enum {
    WIDE = 1024,   // sections of a run that is looked at in part
    BESIDE = 256   // sections on either side of its fullest one
};

// Part of an open run, and what fits into the run and covers some of the part.
typedef struct choices {
    stretch run, part;
    uint64_t least_bytes;   // of the items found; TNI_NO_WALL: none
} choices;

static valley plateau_at(const tni_plan_search *s, uint32_t section)
{
    valley v = { .at = { section, section + 1 }, .height = s->floor[section] };
    while (v.at.first && tni_plan_search_wall(s, v.at.first - 1) == v.height)
        v.at.first--;
    while (tni_plan_search_wall(s, v.at.end) == v.height)
        v.at.end++;
    uint64_t left = v.at.first ? tni_plan_search_wall(s, v.at.first - 1) : TNI_NO_WALL;
    uint64_t right = tni_plan_search_wall(s, v.at.end);
    v.wall = left < right ? left : right;
    return v;
}

// Leaves in s->difference, from the part's first section on, by how much the number of choices
// changes at each section.
static choices find_choices(tni_plan_search *s, stretch run, stretch part)
{
    choices found = { run, part, TNI_NO_WALL };
    uint32_t first = s->reach[part.first] > run.first ? s->reach[part.first] : run.first;
    memset(s->difference + part.first, 0, (part.end - part.first) * sizeof *s->difference);
    for (uint32_t t = first; t < part.end; t++) {
        uint32_t begin = t > part.first ? t : part.first;
        for (uint32_t i = s->head[t]; i != TNP_NONE; i = s->next[i]) {
            const tni_item *it = &s->sections->items[i];
            if (it->end <= part.first)
                break;   // the list goes on with shorter ones
            if (it->end > run.end)
                continue;
            found.least_bytes = it->bytes < found.least_bytes ? it->bytes : found.least_bytes;
            if (tni_plan_search_is_twin(s, i))
                continue;
            s->difference[begin]++;
            if (it->end < part.end)
                s->difference[it->end]--;   // wraps; the sums do not
        }
    }
    return found;
}

static uint64_t slack(const tni_plan_search *s, uint32_t section)
{
    uint64_t top = s->floor[section] + s->rest[section];
    return top < s->limit ? s->limit - top : 0;
}

// A closed section rises at least to the lower wall or onto the smallest item that fits.
static uint64_t least_raise(const valley *v, const choices *c)
{
    uint64_t to_wall = v->wall == TNI_NO_WALL ? TNI_NO_WALL : v->wall - v->height;
    return to_wall < c->least_bytes ? to_wall : c->least_bytes;
}

static bool may_raise(const tni_plan_search *s, uint64_t raise, uint32_t section)
{
    return raise != TNI_NO_WALL && raise <= slack(s, section);
}

static bool may_close(const tni_plan_search *s, const valley *v, const choices *c, uint32_t section)
{
    return may_raise(s, least_raise(v, c), section);
}

// A score has the choices by their weight in its upper half.
static uint64_t choices_scaled(uint32_t choice_count)
{
    return (uint64_t)(choice_count - 1) << 20;
}

static uint64_t choices_weight(const tni_plan_search *s, uint32_t section)
{
    return 16 + (uint64_t)s->weight[section];
}

static uint64_t score(const tni_plan_search *s, uint32_t section, uint32_t choice_count)
{
    uint64_t by_choices = choices_scaled(choice_count) / choices_weight(s, section);
    if (by_choices > UINT32_MAX - 1)
        by_choices = UINT32_MAX - 1;
    return by_choices << 32 | slack(s, section) >> s->slack_shift;
}

// Notes the run with its best section. Sections without a choice are dead ends.
static look_answer note_run(tni_plan_search *s, const valley *v, const choices *c)
{
    open_run best = { .score = TNI_NO_SCORE };
    uint64_t raise = least_raise(v, c);
    uint64_t too_many = UINT64_C(1) << 32;   // choices by weight: no better than the best
    uint32_t count = 0;
    for (uint32_t t = c->part.first; t < c->part.end; t++) {
        count += s->difference[t];
        bool closes = may_raise(s, raise, t);
        if (count + closes == 0)
            return LOOK_DEAD_END;
        if (choices_scaled(count + closes) >= too_many * choices_weight(s, t))
            continue;   // known without a division
        uint64_t own = score(s, t, count + closes);
        if (own < best.score) {
            best = (open_run){ c->run.end, t, v->at, own, closes };
            too_many = (own >> 32) + 1;
        }
    }
    return tni_plan_search_set_run(s, c->run.first, &best) ? LOOK_FINE : LOOK_NO_MEMORY;
}

// Whether there is so much room above that any choice will do.
static bool is_ample(const tni_plan_search *s, uint32_t section)
{
    return slack(s, section) > s->ample;
}

static bool all_are_ample(const tni_plan_search *s, stretch run)
{
    for (uint32_t t = run.first; t < run.end; t++)
        if (!is_ample(s, t))
            return false;
    return true;
}

// The section with the most still to be placed on.
static uint32_t fullest(const tni_plan_search *s, stretch run)
{
    uint32_t most = run.first;
    for (uint32_t t = run.first + 1; t < run.end; t++)
        if (s->rest[t] > s->rest[most])
            most = t;
    return most;
}

// Wide ones come first: what they fall into is quicker to look at.
static look_answer note_ample_run(tni_plan_search *s, const valley *v, stretch run)
{
    open_run whole = { run.end, TNI_ANY_SECTION, v->at, TNI_NO_SCORE - 1 - (run.end - run.first),
                       true };
    return tni_plan_search_set_run(s, run.first, &whole) ? LOOK_FINE : LOOK_NO_MEMORY;
}

// Of a wide run what lies around its fullest section.
static stretch part_to_look_at(const tni_plan_search *s, stretch run)
{
    if (run.end - run.first <= WIDE)
        return run;
    uint32_t section = fullest(s, run);
    return (stretch){ section - run.first > BESIDE ? section - BESIDE : run.first,
                      run.end - section > BESIDE ? section + BESIDE : run.end };
}

// Closes the sections of an open run that nothing covers, and notes the runs between them.
static look_answer look_at_run(tni_plan_search *s, const valley *v, stretch run)
{
    if (all_are_ample(s, run))
        return note_ample_run(s, v, run);
    stretch part = part_to_look_at(s, run);
    choices all = find_choices(s, run, part);
    uint32_t count = 0;
    bool is_whole = true;
    for (uint32_t t = part.first; t < part.end; t++) {
        count += s->difference[t];
        if (count)
            continue;
        if (!may_close(s, v, &all, t))
            return LOOK_DEAD_END;
        stretch empty = { t, t + 1 };
        while (empty.end < part.end && s->difference[empty.end] == 0 &&
               may_close(s, v, &all, empty.end))
            empty.end++;
        if (!tni_plan_search_close(s, MUST_CLOSE, empty, stretch_around(v->at)))
            return LOOK_NO_MEMORY;
        t = empty.end - 1;
        is_whole = false;
    }
    if (is_whole)
        return note_run(s, v, &all);
    for (uint32_t t = run.first; t < run.end; t++) {
        if (s->is_closed[t])
            continue;
        stretch open = { t, t + 1 };
        while (open.end < run.end && !s->is_closed[open.end])
            open.end++;
        look_answer look;
        if (all_are_ample(s, open)) {
            look = note_ample_run(s, v, open);
        } else {
            choices of_open = find_choices(s, open, part_to_look_at(s, open));
            look = note_run(s, v, &of_open);
        }
        if (look != LOOK_FINE)
            return look;
        t = open.end;
    }
    return LOOK_FINE;
}

// Whether an unplaced item would have fitted below the raised floor.
static bool buries_room(const tni_plan_search *s, const valley *v)
{
    for (uint32_t t = v->at.first; t < v->at.end; t++)
        for (uint32_t i = s->head[t]; i != TNP_NONE; i = s->next[i])
            if (s->sections->items[i].end <= v->at.end &&
                s->sections->items[i].bytes <= v->wall - v->height)
                return true;
    return false;
}

static look_answer raise_valley(tni_plan_search *s, const valley *v)
{
    if (v->wall == TNI_NO_WALL)
        return LOOK_DEAD_END;
    for (uint32_t t = v->at.first; t < v->at.end; t++)
        if (v->wall - v->height > slack(s, t))
            return LOOK_DEAD_END;
    if (buries_room(s, v))
        return LOOK_DEAD_END;
    return tni_plan_search_raise(s, v->at, v->wall) ? LOOK_FINE : LOOK_NO_MEMORY;
}

static look_answer look_at_valley(tni_plan_search *s, const valley *v, bool *out_is_closed)
{
    for (uint32_t t = v->at.first; t < v->at.end; t++) {
        if (s->is_closed[t])
            continue;
        stretch run = { t, t + 1 };
        while (run.end < v->at.end && !s->is_closed[run.end])
            run.end++;
        look_answer look = look_at_run(s, v, run);
        if (look != LOOK_FINE)
            return look;
        t = run.end;
    }
    *out_is_closed = !memchr(s->is_closed + v->at.first, false, v->at.end - v->at.first);
    return LOOK_FINE;
}

static bool forget_runs(tni_plan_search *s, stretch sections)
{
    const bool *at = s->is_run + sections.first, *end = s->is_run + sections.end;
    while ((at = memchr(at, true, (size_t)(end - at))))
        if (!tni_plan_search_set_run(s, (uint32_t)(at++ - s->is_run), NULL))
            return false;
    return true;
}

// Whether a plateau that reaches over this section cannot be a valley, as far as its neighbour
// sections tell.
static bool is_no_valley(const tni_plan_search *s, uint32_t section)
{
    uint64_t height = s->floor[section];
    return (section && s->floor[section - 1] < height) ||
           tni_plan_search_wall(s, section + 1) < height;
}

look_answer tni_plan_search_look(tni_plan_search *s, stretch changed, stretch *out_conflict)
{
    if (!forget_runs(s, changed))
        return LOOK_NO_MEMORY;
    stretch left = stretch_around(changed);
    if (left.end > s->sections->count)
        left.end = s->sections->count;
    for (uint32_t t = left.first; t < left.end;) {
        if (s->floor[t] == TNI_NO_WALL || is_no_valley(s, t)) {
            t++;
            continue;
        }
        valley v = plateau_at(s, t);
        s->work += (v.at.end - v.at.first) / WORK_SECTIONS;
        bool is_closed = false;
        if (v.height < v.wall) {
            if (!forget_runs(s, v.at))
                return LOOK_NO_MEMORY;
            look_answer look = look_at_valley(s, &v, &is_closed);
            if (look == LOOK_FINE && is_closed)
                look = raise_valley(s, &v);
            if (look != LOOK_FINE) {
                *out_conflict = stretch_around(v.at);
                return look;
            }
        }
        if (!is_closed) {
            t = v.at.end;
            continue;
        }
        // Raised: it is part of a neighbour now.
        t = v.at.first ? v.at.first - 1 : 0;
        if (left.end < v.at.end + 1)
            left.end = v.at.end + 1 < s->sections->count ? v.at.end + 1 : s->sections->count;
    }
    return LOOK_FINE;
}
