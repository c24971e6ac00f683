#include "plan/skyline.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = 256 };   // of a valley that are looked at together

#define NO_HEIGHT UINT64_MAX
#define NONE      UINT32_MAX

// Sections of one floor; those before and after it have another.
typedef struct plateau {
    uint32_t first, end;
    uint32_t previous, next;   // NONE: it is the first or last
    uint64_t floor;
} plateau;

// Part of what a fixed item hides: sections above it, up to the next fixed item.
typedef struct cover {
    uint32_t first, end;
    int32_t hanging;
} cover;

typedef struct fixed_item {
    uint32_t item;
    uint32_t first_cover, cover_count;
    uint64_t offset;
} fixed_item;

struct tni_plan_skyline {
    const tni_plan_sections *sections;
    uint32_t *ends;       // by item
    uint64_t *unplaced;   // bits, by item
    plateau *plateaus;
    uint32_t plateau_count, free_plateau;

    fixed_item *fixed;   // those above the floors, highest first at the start
    uint32_t fixed_count;
    cover *covers;
    int32_t *hanging;      // by section: one more than the lowest fixed item above it; 0 = none
    uint32_t *fixed_sum;   // by section: how many before it have fixed items at the start
};

tni_plan_skyline *tni_plan_skyline_make(const tni_plan_sections *sections, tni_arena *arena)
{
    size_t items = sections->item_count, count = sections->count;
    tni_plan_skyline *k = tni_arena_take(arena, sizeof *k);
    if (!k)
        return NULL;
    k->sections = sections;
    k->ends = tni_arena_take_array(arena, items, sizeof *k->ends);
    k->unplaced = tni_arena_take_array(arena, items / 64 + 1, sizeof *k->unplaced);
    // A placed item leaves two more at most; a fixed item two covers more than it hides.
    k->plateaus = tni_arena_take_array(arena, 2 * items + 1, sizeof *k->plateaus);
    k->fixed = tni_arena_take_array(arena, items, sizeof *k->fixed);
    k->covers = tni_arena_take_array(arena, 4 * items, sizeof *k->covers);
    k->hanging = tni_arena_take_array(arena, count, sizeof *k->hanging);
    k->fixed_sum = tni_arena_take_array(arena, count + 1, sizeof *k->fixed_sum);
    if (!k->ends || !k->unplaced || !k->plateaus || !k->fixed || !k->covers || !k->hanging ||
        !k->fixed_sum)
        return NULL;
    for (size_t i = 0; i < items; i++)
        k->ends[i] = sections->items[i].end;
    return k;
}

// ------------------------------------------------------------------------------------- fixed items

static int highest_first(const void *a, const void *b)
{
    const fixed_item *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset > y->offset ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static void hang(tni_plan_skyline *k, uint32_t first, uint32_t end, int32_t hanging)
{
    for (uint32_t s = first; s < end; s++)
        k->hanging[s] = hanging;
}

// From the highest down, each notes what it hides, to be uncovered when the floor has come up to
// it.
static void hang_fixed_items(tni_plan_skyline *k, const bool *is_fixed, const uint64_t *offsets)
{
    const tni_plan_sections *in = k->sections;
    uint32_t cover_count = 0;
    k->fixed_count = 0;
    hang(k, 0, in->count, 0);
    for (uint32_t i = 0; i < in->item_count; i++)
        if (is_fixed[i])
            k->fixed[k->fixed_count++] = (fixed_item){ .item = i, .offset = offsets[i] };
    qsort(k->fixed, k->fixed_count, sizeof *k->fixed, highest_first);
    for (uint32_t f = 0; f < k->fixed_count; f++) {
        const tni_item *item = &in->items[k->fixed[f].item];
        k->fixed[f].first_cover = cover_count;
        for (uint32_t s = item->first; s < item->end;) {
            cover c = { s, s + 1, k->hanging[s] };
            while (c.end < item->end && k->hanging[c.end] == c.hanging)
                c.end++;
            k->covers[cover_count++] = c;
            s = c.end;
        }
        k->fixed[f].cover_count = cover_count - k->fixed[f].first_cover;
        hang(k, item->first, item->end, (int32_t)f + 1);
    }
    k->fixed_sum[0] = 0;
    for (uint32_t s = 0; s < in->count; s++)
        k->fixed_sum[s + 1] = k->fixed_sum[s] + (k->hanging[s] != 0);
}

static bool has_fixed(const tni_plan_skyline *k, uint32_t first, uint32_t end)
{
    return k->fixed_count && k->fixed_sum[end] > k->fixed_sum[first];
}

// The lowest fixed item above some sections, which is the last of them; NONE.
static uint32_t lowest_fixed(const tni_plan_skyline *k, uint32_t first, uint32_t end)
{
    int32_t last = 0;
    for (uint32_t s = first; s < end; s++)
        last = k->hanging[s] > last ? k->hanging[s] : last;
    return (uint32_t)last - 1;
}

static uint64_t height_of(const tni_plan_skyline *k, uint32_t fixed)
{
    return fixed == NONE ? NO_HEIGHT : k->fixed[fixed].offset;
}

static bool hits_fixed(const tni_plan_skyline *k, const tni_item *item, uint64_t top)
{
    return top > height_of(k, (uint32_t)k->hanging[item->first] - 1) ||
           top > height_of(k, (uint32_t)k->hanging[item->end - 1] - 1) ||
           top > height_of(k, lowest_fixed(k, item->first, item->end));
}

// --------------------------------------------------------------------------------------- plateaus

static uint32_t take_plateau(tni_plan_skyline *k)
{
    uint32_t taken = k->free_plateau;
    if (taken == NONE)
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
    if (s->previous != NONE)
        k->plateaus[s->previous].next = at;
    k->plateaus[gone].next = k->free_plateau;
    k->free_plateau = gone;
}

static uint64_t floor_of(const tni_plan_skyline *k, uint32_t at)
{
    return at == NONE ? NO_HEIGHT : k->plateaus[at].floor;
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
    uint32_t left = NONE, right = NONE;
    if (old.first < first) {
        left = take_plateau(k);
        k->plateaus[left] = (plateau){ old.first, first, old.previous, valley, old.floor };
        if (old.previous != NONE)
            k->plateaus[old.previous].next = left;
    }
    if (end < old.end) {
        right = take_plateau(k);
        k->plateaus[right] = (plateau){ end, old.end, valley, old.next, old.floor };
        if (old.next != NONE)
            k->plateaus[old.next].previous = right;
    }
    k->plateaus[valley] = (plateau){ first, end, left == NONE ? old.previous : left,
                                     right == NONE ? old.next : right, floor };
    if (left != NONE || right != NONE) {
        uint32_t rest = left != NONE ? left : right;
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

// The most urgent of the unplaced items [begin, end) that fit into the valley; NONE.
static uint32_t most_urgent_of(const tni_plan_skyline *k, const plateau *valley, uint32_t begin,
                               uint32_t end, const float *urgency)
{
    uint32_t best = NONE;
    float best_urgency = -1;
    bool is_under_fixed = has_fixed(k, valley->first, valley->end);
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
            if (is_under_fixed && hits_fixed(k, item, valley->floor + item->bytes))
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
    uint32_t begin = in->begin[valley->first], end = in->begin[valley->end], best = NONE;
    while (best == NONE && begin < end) {
        uint32_t part = end - begin < MOST_ITEMS ? end - begin : MOST_ITEMS;
        best = most_urgent_of(k, valley, begin, begin + part, urgency);
        begin += part;
    }
    return best;
}

static uint32_t place_fixed(tni_plan_skyline *k, uint32_t valley, uint32_t fixed)
{
    const fixed_item *f = &k->fixed[fixed];
    const tni_item *item = &k->sections->items[f->item];
    for (uint32_t c = f->first_cover; c < f->first_cover + f->cover_count; c++)
        hang(k, k->covers[c].first, k->covers[c].end, k->covers[c].hanging);
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
    hang_fixed_items(k, is_fixed, offsets);
    k->free_plateau = NONE;
    k->plateau_count = 1;
    k->plateaus[0] = (plateau){ 0, in->count, NONE, NONE, 0 };
    while (left) {
        at = descend(k, at);
        const plateau *valley = &k->plateaus[at];
        uint64_t before = floor_of(k, valley->previous), after = floor_of(k, valley->next);
        uint64_t wall = before < after ? before : after;
        uint32_t item = most_urgent(k, valley, urgency);
        if (item != NONE) {
            uint64_t top = valley->floor + in->items[item].bytes;
            k->unplaced[item / 64] &= ~(UINT64_C(1) << item % 64);
            left--;
            offsets[item] = valley->floor;
            highest = top > highest ? top : highest;
            at = lift(k, at, in->items[item].first, in->items[item].end, top);
            continue;
        }
        uint32_t fixed = has_fixed(k, valley->first, valley->end)
                             ? lowest_fixed(k, valley->first, valley->end)
                             : NONE;
        if (height_of(k, fixed) < wall)
            at = place_fixed(k, at, fixed);
        else
            at = lift(k, at, valley->first, valley->end, wall);
    }
    return highest;
}
