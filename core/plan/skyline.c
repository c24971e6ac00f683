#include "plan/skyline.h"

#include <string.h>

#include "plan/ceiling.h"

enum {
    MOST_ITEMS = 256,   // of a valley that are looked at together: more made plans no lower
    WORD = 64           // bits
};

#define NO_HEIGHT UINT64_MAX

// Sections of one floor; those before and after it have another.
typedef struct plateau {
    uint32_t first, end;
    uint32_t previous, next;   // TNP_NONE: it is the first or last
    uint64_t floor;
} plateau;

struct tni_plan_skyline {
    const tni_plan_sections *sections;
    uint64_t chunk_bytes;
    uint32_t *ends;            // by item
    uint64_t *unplaced;        // bits, by item
    uint32_t *least_end;       // by word of bits: of its items
    uint32_t *next_open;       // by word, and one more: itself while a bit is set; else a later one
    uint64_t *blocked;         // bits, by item: those that wait
    uint32_t *first_waiting;   // by fixed item: what reaches into it, until it is taken
    uint32_t *next_waiting;    // by item
    plateau *plateaus;
    uint32_t plateau_count, free_plateau;
    tni_plan_ceiling ceiling;
};

tni_plan_skyline *tni_plan_skyline_make(const tni_plan_sections *sections, uint64_t chunk_bytes,
                                        tni_arena *arena)
{
    size_t items = sections->item_count, words = items / WORD + 1;
    tni_plan_skyline *k = tni_arena_take(arena, sizeof *k);
    if (!k)
        return NULL;
    k->sections = sections;
    k->chunk_bytes = chunk_bytes;
    k->ends = tni_arena_take_array(arena, items, sizeof *k->ends);
    k->unplaced = tni_arena_take_array(arena, words, sizeof *k->unplaced);
    k->least_end = tni_arena_take_indices(arena, words);
    k->next_open = tni_arena_take_array(arena, words + 1, sizeof *k->next_open);
    k->blocked = tni_arena_take_array(arena, words, sizeof *k->blocked);
    k->first_waiting = tni_arena_take_indices(arena, items);
    k->next_waiting = tni_arena_take_array(arena, items, sizeof *k->next_waiting);
    // A placed item leaves two more at most.
    k->plateaus = tni_arena_take_array(arena, 2 * items + 1, sizeof *k->plateaus);
    if (!k->ends || !k->unplaced || !k->least_end || !k->next_open || !k->blocked ||
        !k->first_waiting || !k->next_waiting || !k->plateaus ||
        !tni_plan_ceiling_make(sections, arena, &k->ceiling))
        return NULL;
    for (size_t i = 0; i < items; i++) {
        uint32_t *least = &k->least_end[i / WORD];
        k->ends[i] = sections->items[i].end;
        *least = k->ends[i] < *least ? k->ends[i] : *least;
    }
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

// The first word from this one on that has a bit set. Halves the way for the next time.
static uint32_t find_open(tni_plan_skyline *k, uint32_t word)
{
    while (k->next_open[word] != word) {
        k->next_open[word] = k->next_open[k->next_open[word]];
        word = k->next_open[word];
    }
    return word;
}

// The floor only rises, so what reaches into a fixed item does so until that is taken. (Apart from
// the loop that calls it, which is faster so.)
__attribute__((noinline)) static void wait_for_fixed(tni_plan_skyline *k, uint32_t item,
                                                     uint64_t top)
{
    const tni_item *it = &k->sections->items[item];
    uint32_t fixed = (uint32_t)k->ceiling.hanging[it->first] - 1;
    if (top <= tni_plan_ceiling_height(&k->ceiling, fixed))
        fixed = tni_plan_ceiling_lowest(&k->ceiling, it->first, it->end);
    k->blocked[item / WORD] |= UINT64_C(1) << item % WORD;
    k->next_waiting[item] = k->first_waiting[fixed];
    k->first_waiting[fixed] = item;
}

static void wait_no_more(tni_plan_skyline *k, uint32_t fixed)
{
    for (uint32_t i = k->first_waiting[fixed]; i != TNP_NONE; i = k->next_waiting[i])
        k->blocked[i / WORD] &= ~(UINT64_C(1) << i % WORD);
    k->first_waiting[fixed] = TNP_NONE;
}

// The bits of a word that belong to the items [begin, end) and wait for nothing.
static uint64_t open_bits(const tni_plan_skyline *k, uint32_t word, uint32_t begin, uint32_t end)
{
    uint64_t bits = k->unplaced[word] & ~k->blocked[word];
    if (word == begin / WORD)
        bits &= ~UINT64_C(0) << begin % WORD;
    if (word == end / WORD)
        bits &= (UINT64_C(1) << end % WORD) - 1;
    return bits;
}

static bool crosses_chunks(const tni_plan_skyline *k, uint64_t floor, uint64_t bytes)
{
    return k->chunk_bytes && bytes > k->chunk_bytes - floor % k->chunk_bytes;
}

// The most urgent of the unplaced items [begin, end) that fit into the valley; TNP_NONE.
static uint32_t most_urgent_of(tni_plan_skyline *k, const plateau *valley, uint32_t begin,
                               uint32_t end, const float *urgency)
{
    uint32_t best = TNP_NONE;
    float best_urgency = -1;
    for (uint32_t word = find_open(k, begin / WORD); word * WORD < end;
         word = find_open(k, word + 1)) {
        if (k->least_end[word] > valley->end)
            continue;
        for (uint64_t bits = open_bits(k, word, begin, end); bits; bits &= bits - 1) {
            uint32_t i = word * WORD + (uint32_t)__builtin_ctzll(bits);
            if (urgency[i] <= best_urgency || k->ends[i] > valley->end)
                continue;
            const tni_item *item = &k->sections->items[i];
            if (crosses_chunks(k, valley->floor, item->bytes))
                continue;
            uint64_t top = valley->floor + item->bytes;
            if (tni_plan_ceiling_hits(&k->ceiling, item, top)) {
                wait_for_fixed(k, i, top);
                continue;
            }
            best = i;
            best_urgency = urgency[i];
        }
    }
    return best;
}

// In a wide valley the first part that holds something will do.
static uint32_t most_urgent(tni_plan_skyline *k, const plateau *valley, const float *urgency)
{
    const tni_plan_sections *in = k->sections;
    uint32_t begin = in->begin[valley->first], end = in->begin[valley->end], best = TNP_NONE;
    while (best == TNP_NONE && begin < end) {
        uint32_t open = find_open(k, begin / WORD) * WORD;
        begin = open > begin ? open : begin;
        uint32_t part_end = begin + MOST_ITEMS < end ? begin + MOST_ITEMS : end;
        best = most_urgent_of(k, valley, begin, part_end, urgency);
        begin = part_end;
    }
    return best;
}

static void close_item(tni_plan_skyline *k, uint32_t item)
{
    uint32_t word = item / WORD;
    k->unplaced[word] &= ~(UINT64_C(1) << item % WORD);
    if (k->unplaced[word] == 0)
        k->next_open[word] = word + 1;
}

// Opens what is not fixed. Returns how many that are.
static uint32_t open_items(tni_plan_skyline *k, const bool *is_fixed)
{
    uint32_t count = k->sections->item_count, words = count / WORD + 1, open = 0;
    memset(k->unplaced, 0, words * sizeof *k->unplaced);
    memset(k->blocked, 0, words * sizeof *k->blocked);
    memset(k->first_waiting, 0xff, count * sizeof *k->first_waiting);
    for (uint32_t i = 0; i < count; i++) {
        k->unplaced[i / WORD] |= (uint64_t)!is_fixed[i] << i % WORD;
        open += !is_fixed[i];
    }
    for (uint32_t w = 0; w < words; w++)
        k->next_open[w] = w + (k->unplaced[w] == 0);
    k->next_open[words] = words;
    return open;
}

static uint32_t place_fixed(tni_plan_skyline *k, uint32_t valley, uint32_t fixed)
{
    const tni_fixed_item *f = &k->ceiling.fixed[fixed];
    const tni_item *item = &k->sections->items[f->item];
    tni_plan_ceiling_take(&k->ceiling, fixed);
    wait_no_more(k, fixed);
    return lift(k, valley, item->first, item->end, f->offset + item->bytes);
}

// The end of the chunk is as good as a wall.
static uint64_t raised_floor(const tni_plan_skyline *k, const plateau *valley, uint64_t wall)
{
    if (k->chunk_bytes == 0)
        return wall;
    uint64_t room = k->chunk_bytes - valley->floor % k->chunk_bytes;
    return room < wall - valley->floor ? valley->floor + room : wall;
}

uint64_t tni_plan_skyline_run(tni_plan_skyline *k, const float *urgency, const bool *is_fixed,
                              uint64_t *offsets)
{
    const tni_plan_sections *in = k->sections;
    uint32_t left = open_items(k, is_fixed), at = 0;
    uint64_t highest = 0;
    for (uint32_t i = 0; i < in->item_count; i++)
        if (is_fixed[i] && offsets[i] + in->items[i].bytes > highest)
            highest = offsets[i] + in->items[i].bytes;
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
            close_item(k, item);
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
            at = lift(k, at, valley->first, valley->end, raised_floor(k, valley, wall));
    }
    return highest;
}
