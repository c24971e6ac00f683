#include "plan/skyline.h"

#include <string.h>

#include "plan/ceiling.h"
#include "plan/open_items.h"

enum {
    WIDE = 1024,        // sections of a valley above which what hangs is sought at once
    MOST_ITEMS = 256,   // of a valley that are looked at together: more made plans no lower
    GROUP = TNI_OPEN_GROUP
};

#define NO_HEIGHT UINT64_MAX
#define NOT_KNOWN (TNP_NONE - 1)   // of fixed items, larger than any

// Sections of one floor; those before and after it have another.
typedef struct plateau {
    uint32_t first, end;
    uint32_t previous, next;   // TNP_NONE: it is the first or last
    uint64_t floor;
    uint32_t lowest;   // fixed item above it; NOT_KNOWN
    bool is_woken;     // of each fixed item in the list of the taken, all sections are in such ones
} plateau;

// Sections of a fixed item.
typedef struct taken_item {
    uint32_t first, end;
    uint32_t fixed;
} taken_item;

struct tni_plan_skyline {
    const tni_plan_sections *sections;
    uint64_t chunk_bytes;
    tni_plan_open_items open;
    uint32_t *next_waiting;    // by item
    uint32_t *first_waiting;   // by fixed item: what reaches into it, until it is taken
    taken_item *taken;         // those for which something still waits
    uint32_t taken_count;
    plateau *plateaus;
    uint32_t plateau_count, free_plateau;
    tni_plan_ceiling ceiling;
};

tni_plan_skyline *tni_plan_skyline_make(const tni_plan_sections *sections, uint64_t chunk_bytes,
                                        tni_arena *arena)
{
    size_t items = sections->item_count;
    tni_plan_skyline *k = tni_arena_take(arena, sizeof *k);
    if (!k)
        return NULL;
    k->sections = sections;
    k->chunk_bytes = chunk_bytes;
    k->next_waiting = tni_arena_take_array(arena, items, sizeof *k->next_waiting);
    k->first_waiting = tni_arena_take_array(arena, items, sizeof *k->first_waiting);
    k->taken = tni_arena_take_array(arena, items, sizeof *k->taken);
    // A placed item leaves two more at most.
    k->plateaus = tni_arena_take_array(arena, 2 * items + 1, sizeof *k->plateaus);
    if (!k->next_waiting || !k->first_waiting || !k->taken || !k->plateaus ||
        !tni_plan_open_items_make(sections, arena, &k->open) ||
        !tni_plan_ceiling_make(sections, arena, &k->ceiling))
        return NULL;
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

// Fixed items are numbered from the highest one on.
static uint32_t lower_fixed(uint32_t a, uint32_t b)
{
    if (a == TNP_NONE || b == TNP_NONE)
        return a == TNP_NONE ? b : a;
    return a > b ? a : b;
}

// What is known of the lowest fixed item above some sections from that above more.
static uint32_t lowest_of_part(const tni_plan_skyline *k, uint32_t lowest, uint32_t first,
                               uint32_t end)
{
    if (lowest == TNP_NONE || lowest == NOT_KNOWN)
        return lowest;
    const tni_item *item = &k->sections->items[k->ceiling.fixed[lowest].item];
    return item->first < end && first < item->end ? lowest : NOT_KNOWN;
}

static plateau part_of(const tni_plan_skyline *k, const plateau *whole, uint32_t first,
                       uint32_t end)
{
    plateau part = *whole;
    part.first = first;
    part.end = end;
    part.lowest = lowest_of_part(k, whole->lowest, first, end);
    return part;
}

// Joins a plateau to the one before it.
static void join_previous(tni_plan_skyline *k, uint32_t at)
{
    plateau *s = &k->plateaus[at];
    uint32_t gone = s->previous;
    s->first = k->plateaus[gone].first;
    s->previous = k->plateaus[gone].previous;
    s->lowest = lower_fixed(s->lowest, k->plateaus[gone].lowest);
    s->is_woken |= k->plateaus[gone].is_woken;
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

// Puts a whole valley at a new floor. Returns a plateau to go on from.
static uint32_t lift_whole(tni_plan_skyline *k, uint32_t valley, uint64_t floor)
{
    k->plateaus[valley].floor = floor;
    uint32_t next = k->plateaus[valley].next;
    bool joins_next = floor_of(k, next) == floor;
    join_equals(k, valley);
    return joins_next ? next : valley;
}

// The same for the sections [first, end) of it.
static uint32_t lift(tni_plan_skyline *k, uint32_t valley, uint32_t first, uint32_t end,
                     uint64_t floor)
{
    plateau old = k->plateaus[valley];
    if (first == old.first && end == old.end)
        return lift_whole(k, valley, floor);
    uint32_t left = TNP_NONE, right = TNP_NONE;
    if (old.first < first) {
        left = take_plateau(k);
        k->plateaus[left] = part_of(k, &old, old.first, first);
        k->plateaus[left].next = valley;
        if (old.previous != TNP_NONE)
            k->plateaus[old.previous].next = left;
    }
    if (end < old.end) {
        right = take_plateau(k);
        k->plateaus[right] = part_of(k, &old, end, old.end);
        k->plateaus[right].previous = valley;
        if (old.next != TNP_NONE)
            k->plateaus[old.next].previous = right;
    }
    plateau *lifted = &k->plateaus[valley];
    *lifted = part_of(k, &old, first, end);
    lifted->floor = floor;
    lifted->previous = left == TNP_NONE ? old.previous : left;
    lifted->next = right == TNP_NONE ? old.next : right;
    join_equals(k, valley);
    return left != TNP_NONE ? left : right;
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

static bool hits_fixed(const tni_plan_skyline *k, uint32_t item, uint64_t floor)
{
    const tni_item *it = &k->sections->items[item];
    return tni_plan_ceiling_hit(&k->ceiling, it, floor + it->bytes) != TNP_NONE;
}

// The floor only rises, so what reaches into a fixed item does so until that is taken.
static bool waits_at(const tni_plan_skyline *k, uint32_t item, uint64_t floor)
{
    const tni_item *it = &k->sections->items[item];
    uint32_t fixed = tni_plan_ceiling_hit(&k->ceiling, it, floor + it->bytes);
    if (fixed == TNP_NONE)
        return false;
    k->next_waiting[item] = k->first_waiting[fixed];
    k->first_waiting[fixed] = item;
    return true;
}

// A fixed item was taken: what waited for it is open, or waits for another one.
static void wake_waiting(tni_plan_skyline *k, uint32_t fixed)
{
    uint64_t floor = k->ceiling.fixed[fixed].end;
    for (uint32_t i = k->first_waiting[fixed], next; i != TNP_NONE; i = next) {
        next = k->next_waiting[i];
        if (!waits_at(k, i, floor))
            tni_plan_open_items_reopen(&k->open, i);
    }
    k->first_waiting[fixed] = TNP_NONE;
}

// Before the items of a valley are looked at, and not sooner: fixed items that lie on each other
// are all taken before.
static void wake(tni_plan_skyline *k, plateau *valley)
{
    for (uint32_t t = 0; valley->is_woken && t < k->taken_count;) {
        taken_item taken = k->taken[t];
        if (taken.first >= valley->end || valley->first >= taken.end) {
            t++;
            continue;
        }
        k->taken[t] = k->taken[--k->taken_count];
        wake_waiting(k, taken.fixed);
    }
    valley->is_woken = false;
}

// To the end of the chunk.
static uint64_t room_in_chunk(const tni_plan_skyline *k, uint64_t floor)
{
    return k->chunk_bytes ? k->chunk_bytes - floor % k->chunk_bytes : NO_HEIGHT - floor;
}

// Of the open items that were looked at, those wait that reach into a fixed one: mostly all do
// where one does.
static void let_wait(const tni_plan_skyline *k, const plateau *valley, uint32_t begin, uint32_t end)
{
    int32_t last = (int32_t)valley->end;
    for (uint32_t at = begin / GROUP; at * GROUP < end; at++) {
        if (k->open.groups[at].least_end > last)
            continue;
        uint32_t first = at * GROUP, behind = first + GROUP;
        for (uint32_t i = first > begin ? first : begin; i < behind; i++)
            if (k->open.keys[i] && k->open.ends[i] <= last && waits_at(k, i, valley->floor))
                k->open.keys[i] = 0;
        tni_plan_open_items_sum_up(&k->open, at);
    }
}

// In a wide valley the first part that holds something will do.
static uint32_t most_urgent(const tni_plan_skyline *k, const plateau *valley)
{
    const tni_plan_sections *in = k->sections;
    uint32_t begin = in->begin[valley->first], end = in->begin[valley->end];
    uint64_t room = valley->lowest == NOT_KNOWN
                        ? 0
                        : tni_plan_ceiling_height(&k->ceiling, valley->lowest) - valley->floor;
    uint64_t most_bytes = k->chunk_bytes ? room_in_chunk(k, valley->floor) : UINT64_MAX;
    while (begin < end) {
        uint32_t part_end = end;
        if (end - begin > MOST_ITEMS) {
            uint32_t open = tni_plan_open_items_next(&k->open, begin / GROUP) * GROUP;
            begin = open > begin ? open : begin;
            part_end = begin + MOST_ITEMS < end ? begin + MOST_ITEMS : end;
        }
        uint32_t best = tni_plan_open_items_best(&k->open, begin, part_end, valley->end,
                                                 most_bytes);
        if (best == TNP_NONE)
            begin = part_end;
        else if (in->items[best].bytes <= room || !hits_fixed(k, best, valley->floor))
            return best;
        else
            let_wait(k, valley, begin, part_end);
    }
    return TNP_NONE;
}

// The lowest fixed item above a valley. It lies within if it begins below the walls.
static uint32_t find_lowest(const tni_plan_skyline *k, plateau *valley)
{
    if (valley->lowest == NOT_KNOWN)
        valley->lowest = tni_plan_ceiling_lowest(&k->ceiling, valley->first, valley->end);
    return valley->lowest;
}

// A fixed item that lies on the floor; TNP_NONE. Of a wide valley the first part will do.
static uint32_t find_on_floor(const tni_plan_skyline *k, plateau *valley)
{
    bool is_wide = valley->lowest == NOT_KNOWN && valley->end - valley->first > WIDE;
    uint32_t fixed = is_wide
                         ? tni_plan_ceiling_lowest(&k->ceiling, valley->first, valley->first + WIDE)
                         : find_lowest(k, valley);
    return tni_plan_ceiling_height(&k->ceiling, fixed) == valley->floor ? fixed : TNP_NONE;
}

static uint32_t place_fixed(tni_plan_skyline *k, uint32_t valley, uint32_t fixed)
{
    const tni_fixed_item *f = &k->ceiling.fixed[fixed];
    const tni_item *item = &k->sections->items[f->item];
    tni_plan_ceiling_take(&k->ceiling, fixed);
    k->plateaus[valley].lowest = NOT_KNOWN;
    if (k->first_waiting[fixed] != TNP_NONE) {
        k->taken[k->taken_count++] = (taken_item){ item->first, item->end, fixed };
        k->plateaus[valley].is_woken = true;
    }
    return lift(k, valley, item->first, item->end, f->end);
}

// The end of the chunk is as good as a wall.
static uint64_t raised_floor(const tni_plan_skyline *k, const plateau *valley, uint64_t wall)
{
    uint64_t room = room_in_chunk(k, valley->floor);
    return room < wall - valley->floor ? valley->floor + room : wall;
}

uint64_t tni_plan_skyline_run(tni_plan_skyline *k, const float *urgency, const bool *is_fixed,
                              uint64_t *offsets)
{
    const tni_plan_sections *in = k->sections;
    uint32_t left = tni_plan_open_items_reset(&k->open, urgency, is_fixed), at = 0;
    uint64_t highest = 0;
    for (uint32_t i = 0; i < in->item_count; i++)
        if (is_fixed[i] && offsets[i] + in->items[i].bytes > highest)
            highest = offsets[i] + in->items[i].bytes;
    tni_plan_ceiling_hang(&k->ceiling, is_fixed, offsets);
    memset(k->first_waiting, 0xff, k->ceiling.count * sizeof *k->first_waiting);
    k->taken_count = 0;
    k->free_plateau = TNP_NONE;
    k->plateau_count = 1;
    k->plateaus[0] = (plateau){
        .end = in->count, .previous = TNP_NONE, .next = TNP_NONE, .lowest = NOT_KNOWN
    };
    while (left) {
        at = descend(k, at);
        plateau *valley = &k->plateaus[at];
        uint64_t before = floor_of(k, valley->previous), after = floor_of(k, valley->next);
        uint64_t wall = before < after ? before : after;
        uint32_t fixed = find_on_floor(k, valley);
        if (fixed != TNP_NONE) {
            at = place_fixed(k, at, fixed);
            continue;
        }
        wake(k, valley);
        uint32_t item = most_urgent(k, valley);
        if (item != TNP_NONE) {
            uint64_t top = valley->floor + in->items[item].bytes;
            tni_plan_open_items_place(&k->open, item);
            left--;
            offsets[item] = valley->floor;
            highest = top > highest ? top : highest;
            at = lift(k, at, in->items[item].first, in->items[item].end, top);
            continue;
        }
        fixed = find_lowest(k, valley);
        if (tni_plan_ceiling_height(&k->ceiling, fixed) < wall)
            at = place_fixed(k, at, fixed);
        else
            at = lift_whole(k, at, raised_floor(k, valley, wall));
    }
    return highest;
}
