#include "plan/open_items.h"

#include <string.h>

enum { GROUP = TNI_OPEN_GROUP };

bool tni_plan_open_items_make(const tni_plan_sections *sections, tni_arena *arena,
                              tni_plan_open_items *out)
{
    size_t count = sections->item_count, groups = count / GROUP + 1;
    *out = (tni_plan_open_items){ .sections = sections };
    out->keys = tni_arena_take_array(arena, count + GROUP, sizeof *out->keys);
    out->ends = tni_arena_take_array(arena, count + GROUP, sizeof *out->ends);
    out->groups = tni_arena_take_array(arena, groups + 1, sizeof *out->groups);
    if (!out->keys || !out->ends || !out->groups)
        return false;
    for (size_t i = 0; i < count; i++)
        out->ends[i] = (int32_t)sections->items[i].end;
    return true;
}

// Items at a time, in plain words for vectors of any machine.
enum { LANES = 4 };
typedef int32_t lanes __attribute__((vector_size(LANES * sizeof(int32_t))));

static inline lanes load(const int32_t *from)
{
    lanes to;
    memcpy(&to, from, sizeof to);
    return to;
}

static inline lanes choose(lanes is_a, lanes a, lanes b)
{
    return (a & is_a) | (b & ~is_a);
}

static inline lanes larger(lanes a, lanes b)
{
    return choose(a > b, a, b);
}

static inline int32_t largest(lanes all)
{
    int32_t most = all[0];
    for (int i = 1; i < LANES; i++)
        most = all[i] > most ? all[i] : most;
    return most;
}

void tni_plan_open_items_sum_up(const tni_plan_open_items *o, uint32_t at)
{
    const int32_t *keys = o->keys + at * GROUP, *ends = o->ends + at * GROUP;
    lanes highest = { 0 }, latest = { 0 };   // of ends, as what is left to the largest number
    for (int i = 0; i < GROUP; i += LANES) {
        lanes own = load(keys + i);
        highest = larger(highest, own);
        latest = larger(latest, (INT32_MAX - load(ends + i)) & (own > 0));
    }
    o->groups[at].highest_key = largest(highest);
    o->groups[at].least_end = INT32_MAX - largest(latest);
}

// Positive numbers are in the order of their bits. The last ones, which hardly count, tell the item
// within its group: the first has the highest.
static int32_t key_of(const tni_plan_open_items *o, uint32_t item)
{
    uint32_t bits;
    memcpy(&bits, &o->urgency[item], sizeof bits);
    return (int32_t)(bits / GROUP * GROUP + 2 * GROUP - 1 - item % GROUP);
}

static uint32_t item_of(uint32_t at, int32_t key)
{
    return at * GROUP + GROUP - 1 - (uint32_t)key % GROUP;
}

uint32_t tni_plan_open_items_reset(tni_plan_open_items *o, const float *urgency,
                                   const bool *is_fixed)
{
    uint32_t count = o->sections->item_count, groups = count / GROUP + 1, open = 0;
    o->urgency = urgency;
    memset(o->groups, 0, (groups + 1) * sizeof *o->groups);
    for (uint32_t i = 0; i < count; i++) {
        o->keys[i] = is_fixed[i] ? 0 : key_of(o, i);
        o->groups[i / GROUP].unplaced += !is_fixed[i];
        open += !is_fixed[i];
    }
    for (uint32_t at = 0; at < groups; at++) {
        tni_plan_open_items_sum_up(o, at);
        o->groups[at].next = at + (o->groups[at].unplaced == 0);
    }
    o->groups[groups].next = groups;
    return open;
}

static void set_key(const tni_plan_open_items *o, uint32_t item, int32_t key)
{
    o->keys[item] = key;
    tni_plan_open_items_sum_up(o, item / GROUP);
}

void tni_plan_open_items_reopen(const tni_plan_open_items *o, uint32_t item)
{
    set_key(o, item, key_of(o, item));
}

void tni_plan_open_items_place(const tni_plan_open_items *o, uint32_t item)
{
    uint32_t at = item / GROUP;
    set_key(o, item, 0);
    if (--o->groups[at].unplaced == 0)
        o->groups[at].next = at + 1;
}

// Halves the way for the next time.
uint32_t tni_plan_open_items_next(const tni_plan_open_items *o, uint32_t at)
{
    tni_open_group *groups = o->groups;
    while (groups[at].next != at) {
        groups[at].next = groups[groups[at].next].next;
        at = groups[at].next;
    }
    return at;
}

// The highest key of a group's items from `begin` on that are over by `last`.
static int32_t highest_key(const tni_plan_open_items *o, uint32_t at, uint32_t begin, int32_t last)
{
    lanes highest = { 0 }, item = { 0, 1, 2, 3 };
    for (uint32_t i = at * GROUP; i < (at + 1) * GROUP; i += LANES) {
        lanes is_in = (load(o->ends + i) <= last) & (item + (int32_t)i >= (int32_t)begin);
        highest = larger(highest, load(o->keys + i) & is_in);
    }
    return largest(highest);
}

// Of those that have at most so many bytes.
static int32_t highest_key_of_small(const tni_plan_open_items *o, uint32_t at, uint32_t begin,
                                    int32_t last, uint64_t most_bytes)
{
    int32_t highest = 0;
    for (uint32_t i = at * GROUP; i < (at + 1) * GROUP; i++)
        if (o->keys[i] > highest && i >= begin && o->ends[i] <= last &&
            o->sections->items[i].bytes <= most_bytes)
            highest = o->keys[i];
    return highest;
}

uint32_t tni_plan_open_items_best(const tni_plan_open_items *o, uint32_t begin, uint32_t end,
                                  uint32_t last_section, uint64_t most_bytes)
{
    uint32_t best = TNP_NONE;
    int32_t best_key = 0, last = (int32_t)last_section;
    for (uint32_t at = begin / GROUP; at * GROUP < end; at++) {
        const tni_open_group *g = &o->groups[at];
        if (g->least_end > last && g->unplaced == 0)
            at = tni_plan_open_items_next(o, at) - 1;
        if (g->least_end > last || g->highest_key <= best_key)
            continue;
        int32_t key = most_bytes == UINT64_MAX
                          ? highest_key(o, at, begin, last)
                          : highest_key_of_small(o, at, begin, last, most_bytes);
        if (key > best_key) {
            best = item_of(at, key);
            best_key = key | (GROUP - 1);   // what is as urgent comes later
        }
    }
    return best;
}
