#include "plan/skyline.h"

#include <string.h>

#include "plan/ceiling.h"

enum { MOST_ITEMS = 256 };   // of a valley that are looked at together: more made plans no lower

#define NO_HEIGHT UINT64_MAX

// Sections of one floor; those before and after it have another.
typedef struct plateau {
    uint32_t first, end;
    uint32_t previous, next;   // TNP_NONE: it is the first or last
    uint64_t floor;
} plateau;

struct tni_plan_skyline {
    const tni_plan_sections *sections;
    uint32_t *ends;       // by item
    uint64_t *unplaced;   // bits, by item
    plateau *plateaus;
    uint32_t plateau_count, free_plateau;
    tni_plan_ceiling ceiling;
};

tni_plan_skyline *tni_plan_skyline_make(const tni_plan_sections *sections, tni_arena *arena)
{
    size_t items = sections->item_count;
    tni_plan_skyline *k = tni_arena_take(arena, sizeof *k);
    if (!k)
        return NULL;
    k->sections = sections;
    k->ends = tni_arena_take_array(arena, items, sizeof *k->ends);
    k->unplaced = tni_arena_take_array(arena, items / 64 + 1, sizeof *k->unplaced);
    // A placed item leaves two more at most.
    k->plateaus = tni_arena_take_array(arena, 2 * items + 1, sizeof *k->plateaus);
    if (!k->ends || !k->unplaced || !k->plateaus ||
        !tni_plan_ceiling_make(sections, arena, &k->ceiling))
        return NULL;
    for (size_t i = 0; i < items; i++)
        k->ends[i] = sections->items[i].end;
    return k;
}

// --------------------------------------------------------------------------------------- plateaus

static uint32_t take_plateau(tni_plan_skyline *k)
{
    uint32_t taken = k->free_plateau;
    if (taken == TNP_NONE)
        return k->plateau_count++;
    k->free_plateau = k->plateaus[taken].next;
    return taken;
}

// Joins a plateau to the one before it.
static void join_previous(tni_plan_skyline *k, uint32_t at)
{
    plateau *s = &k->plateaus[at];
    uint32_t gone = s->previous;
    s->first = k->plateaus[gone].first;
    s->previous = k->plateaus[gone].previous;
    if (s->previous != TNP_NONE)
        k->plateaus[s->previous].next = at;
    k->plateaus[gone].next = k->free_plateau;
    k->free_plateau = gone;
}

static uint64_t floor_of(const tni_plan_skyline *k, uint32_t at)
{
    return at == TNP_NONE ? NO_HEIGHT : k->plateaus[at].floor;
}

static void join_equals(tni_plan_skyline *k, uint32_t at)
{
    const plateau *s = &k->plateaus[at];
    if (floor_of(k, s->previous) == s->floor)
        join_previous(k, at);
    if (floor_of(k, s->next) == s->floor) {
        uint32_t next = s->next;
        join_previous(k, next);
    }
}

// Puts the sections [first, end) of a valley at a new floor. Returns a plateau to go on from.
static uint32_t lift(tni_plan_skyline *k, uint32_t valley, uint32_t first, uint32_t end,
                     uint64_t floor)
{
    plateau old = k->plateaus[valley];
    uint32_t left = TNP_NONE, right = TNP_NONE;
    if (old.first < first) {
        left = take_plateau(k);
        k->plateaus[left] = (plateau){ old.first, first, old.previous, valley, old.floor };
        if (old.previous != TNP_NONE)
            k->plateaus[old.previous].next = left;
    }
    if (end < old.end) {
        right = take_plateau(k);
        k->plateaus[right] = (plateau){ end, old.end, valley, old.next, old.floor };
        if (old.next != TNP_NONE)
            k->plateaus[old.next].previous = right;
    }
    k->plateaus[valley] = (plateau){ first, end, left == TNP_NONE ? old.previous : left,
                                     right == TNP_NONE ? old.next : right, floor };
    if (left != TNP_NONE || right != TNP_NONE) {
        uint32_t rest = left != TNP_NONE ? left : right;
        join_equals(k, valley);
        return rest;
    }
    uint32_t next = k->plateaus[valley].next;
    bool joins_next = floor_of(k, next) == floor;
    join_equals(k, valley);
    return joins_next ? next : valley;
}

static uint32_t descend(const tni_plan_skyline *k, uint32_t at)
{
    for (;;) {
        const plateau *s = &k->plateaus[at];
        if (floor_of(k, s->previous) < s->floor)
            at = s->previous;
        else if (floor_of(k, s->next) < s->floor)
            at = s->next;
        else
            return at;
    }
}

// -------------------------------------------------------------------------------------------- pass

// The most urgent of the unplaced items [begin, end) that fit into the valley; TNP_NONE.
static uint32_t most_urgent_of(const tni_plan_skyline *k, const plateau *valley, uint32_t begin,
                               uint32_t end, const float *urgency)
{
    uint32_t best = TNP_NONE;
    float best_urgency = -1;
    for (uint32_t word = begin / 64; word * 64 < end; word++) {
        uint64_t bits = k->unplaced[word];
        if (word == begin / 64)
            bits &= ~UINT64_C(0) << begin % 64;
        if (word == end / 64)
            bits &= (UINT64_C(1) << end % 64) - 1;
        for (; bits; bits &= bits - 1) {
            uint32_t i = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (urgency[i] <= best_urgency || k->ends[i] > valley->end)
                continue;
            const tni_item *item = &k->sections->items[i];
            if (tni_plan_ceiling_hits(&k->ceiling, item, valley->floor + item->bytes))
                continue;
            best = i;
            best_urgency = urgency[i];
        }
    }
    return best;
}

// In a wide valley the first part that holds something will do.
static uint32_t most_urgent(const tni_plan_skyline *k, const plateau *valley, const float *urgency)
{
    const tni_plan_sections *in = k->sections;
    uint32_t begin = in->begin[valley->first], end = in->begin[valley->end], best = TNP_NONE;
    while (best == TNP_NONE && begin < end) {
        uint32_t part = end - begin < MOST_ITEMS ? end - begin : MOST_ITEMS;
        best = most_urgent_of(k, valley, begin, begin + part, urgency);
        begin += part;
    }
    return best;
}

static uint32_t place_fixed(tni_plan_skyline *k, uint32_t valley, uint32_t fixed)
{
    const tni_fixed_item *f = &k->ceiling.fixed[fixed];
    const tni_item *item = &k->sections->items[f->item];
    tni_plan_ceiling_take(&k->ceiling, fixed);
    return lift(k, valley, item->first, item->end, f->offset + item->bytes);
}

uint64_t tni_plan_skyline_run(tni_plan_skyline *k, const float *urgency, const bool *is_fixed,
                              uint64_t *offsets)
{
    const tni_plan_sections *in = k->sections;
    uint32_t left = 0, at = 0;
    uint64_t highest = 0;
    memset(k->unplaced, 0, (in->item_count / 64 + 1) * sizeof *k->unplaced);
    for (uint32_t i = 0; i < in->item_count; i++) {
        if (is_fixed[i]) {
            uint64_t end = offsets[i] + in->items[i].bytes;
            highest = end > highest ? end : highest;
        } else {
            k->unplaced[i / 64] |= UINT64_C(1) << i % 64;
            left++;
        }
    }
    tni_plan_ceiling_hang(&k->ceiling, is_fixed, offsets);
    k->free_plateau = TNP_NONE;
    k->plateau_count = 1;
    k->plateaus[0] = (plateau){ 0, in->count, TNP_NONE, TNP_NONE, 0 };
    while (left) {
        at = descend(k, at);
        const plateau *valley = &k->plateaus[at];
        uint64_t before = floor_of(k, valley->previous), after = floor_of(k, valley->next);
        uint64_t wall = before < after ? before : after;
        uint32_t item = most_urgent(k, valley, urgency);
        if (item != TNP_NONE) {
            uint64_t top = valley->floor + in->items[item].bytes;
            k->unplaced[item / 64] &= ~(UINT64_C(1) << item % 64);
            left--;
            offsets[item] = valley->floor;
            highest = top > highest ? top : highest;
            at = lift(k, at, in->items[item].first, in->items[item].end, top);
            continue;
        }
        // The lowest fixed item lies within the valley if it begins below the walls.
        uint32_t fixed = tni_plan_ceiling_lowest(&k->ceiling, valley->first, valley->end);
        if (tni_plan_ceiling_height(&k->ceiling, fixed) < wall)
            at = place_fixed(k, at, fixed);
        else
            at = lift(k, at, valley->first, valley->end, wall);
    }
    return highest;
}
