#include "plan/repair.h"

#include <string.h>

#include "plan/radix.h"

enum {
    MOST_OUT = 64,         // at a time: of what is repaired in the end hardly any has more
    HEAVIER_PARTS = 4,     // of its weight that an item gains when it is taken out
    LEAST_BUCKETS = 512,   // of heights, for sorting; twice as many as what is sorted,
    MOST_BUCKETS = 8192,
    FEW = 32,           // in a bucket
    LEAST_STRIDE = 64   // sections
};

// Weights are whole numbers, whose sums up and down come out right: 2^28 is that of an item which
// fills one section to the bound.
#define WEIGHT_UNIT 0x1p28f

// Of twice a height a sort can tell two kinds of one.
#define MOST_LIMIT ((uint64_t)INT64_MAX)

struct tni_plan_repair {
    const tni_plan_sections *sections;
    const float *length;
    // Every so many sections a list of the items that cover that one and the one before it.
    uint32_t stride;
    uint32_t *lists;   // where each begins in `across`, and one more: where the last ends
    uint32_t *across;
    bool has_lists;
    uint64_t *offsets;
    bool *is_out;
    uint32_t *out;   // items
    uint32_t out_count;
    uint32_t *times_out;   // by item
    uint32_t *beside;      // items that have their place and are live with the one to be put in
    uint32_t beside_count;
    float unit;                  // of weight
    tni_keyed *events, *spare;   // scratch, two for each of those
};

// So that the lists have no more than two entries an item. Returns how many they have.
static uint32_t choose_stride(const tni_plan_sections *in, uint32_t *out_stride)
{
    for (*out_stride = LEAST_STRIDE;; *out_stride *= 2) {
        uint64_t entries = 0;
        for (uint32_t i = 0; i < in->item_count; i++)
            entries += (in->items[i].end - 1) / *out_stride - in->items[i].first / *out_stride;
        if (entries <= 2 * (uint64_t)in->item_count)
            return (uint32_t)entries;
    }
}

// Only where something is repaired at all.
static void make_lists(tni_plan_repair *r)
{
    const tni_plan_sections *in = r->sections;
    uint32_t *next = r->lists + 1;   // where the next entry goes; then the end
    for (uint32_t i = 0; i < in->item_count; i++)
        for (uint32_t l = in->items[i].first / r->stride + 1;
             l <= (in->items[i].end - 1) / r->stride; l++)
            next[l + 1]++;
    for (uint32_t l = 0; l <= in->count / r->stride; l++)
        next[l + 1] += next[l];
    for (uint32_t i = 0; i < in->item_count; i++)
        for (uint32_t l = in->items[i].first / r->stride + 1;
             l <= (in->items[i].end - 1) / r->stride; l++)
            r->across[next[l]++] = i;
    r->has_lists = true;
}

tni_plan_repair *tni_plan_repair_make(const tni_plan_sections *sections, const float *length,
                                      tni_arena *arena)
{
    size_t items = sections->item_count;
    tni_plan_repair *r = tni_arena_take(arena, sizeof *r);
    if (!r)
        return NULL;
    r->sections = sections;
    r->length = length;
    r->unit = WEIGHT_UNIT / (float)sections->bound;
    uint32_t entries = choose_stride(sections, &r->stride);
    r->lists = tni_arena_take_array(arena, sections->count / r->stride + 3, sizeof *r->lists);
    r->across = tni_arena_take_array(arena, entries, sizeof *r->across);
    r->offsets = tni_arena_take_array(arena, items, sizeof *r->offsets);
    r->is_out = tni_arena_take_array(arena, items, sizeof *r->is_out);
    r->out = tni_arena_take_array(arena, items, sizeof *r->out);
    r->times_out = tni_arena_take_array(arena, items, sizeof *r->times_out);
    r->beside = tni_arena_take_array(arena, items, sizeof *r->beside);
    r->events = tni_arena_take_array(arena, 2 * items, sizeof *r->events);
    r->spare = tni_arena_take_array(arena, 2 * items, sizeof *r->spare);
    if (!r->lists || !r->across || !r->offsets || !r->is_out || !r->out || !r->times_out ||
        !r->beside || !r->events || !r->spare)
        return NULL;
    return r;
}

static uint64_t end_of(const tni_plan_repair *r, uint32_t item)
{
    return r->offsets[item] + r->sections->items[item].bytes;
}

static uint64_t weight(const tni_plan_repair *r, uint32_t item)
{
    uint64_t own = 1 +
                   (uint64_t)(r->length[item] * (float)r->sections->items[item].bytes * r->unit);
    return own + own / HEAVIER_PARTS * r->times_out[item];
}

static void take_out(tni_plan_repair *r, uint32_t item)
{
    r->is_out[item] = true;
    r->out[r->out_count++] = item;
}

// The heaviest, as if none had been taken out before.
static uint32_t choose(tni_plan_repair *r)
{
    const tni_plan_sections *in = r->sections;
    uint32_t at = 0;
    float most = -1;
    for (uint32_t k = 0; k < r->out_count; k++) {
        float own = r->length[r->out[k]] * (float)in->items[r->out[k]].bytes;
        if (own > most) {
            most = own;
            at = k;
        }
    }
    uint32_t item = r->out[at];
    r->out[at] = r->out[--r->out_count];
    r->is_out[item] = false;
    return item;
}

static uint32_t add_beside(tni_plan_repair *r, uint32_t item, uint32_t other, uint32_t count)
{
    const tni_item *items = r->sections->items;
    r->beside[count] = other;
    return count + (items[other].end > items[item].first && other != item && !r->is_out[other]);
}

// Returns how many were looked at.
static uint32_t find_beside(tni_plan_repair *r, uint32_t item)
{
    const tni_plan_sections *in = r->sections;
    const tni_item *it = &in->items[item];
    uint32_t list = it->first / r->stride, count = 0;
    uint32_t first = in->begin[list * r->stride], end = in->begin[it->end];
    for (uint32_t e = r->lists[list]; e < r->lists[list + 1]; e++)
        count = add_beside(r, item, r->across[e], count);
    for (uint32_t i = first; i < end; i++)
        count = add_beside(r, item, i, count);
    r->beside_count = count;
    return end - first + r->lists[list + 1] - r->lists[list];
}

// By key, all of which are below the limit: into buckets, and those one into the others.
static const tni_keyed *sort(tni_keyed *events, tni_keyed *spare, uint32_t count, uint64_t limit)
{
    uint32_t begin[MOST_BUCKETS + 1], buckets = LEAST_BUCKETS, shift = 0, most = 0;
    while (buckets < 2 * count && buckets < MOST_BUCKETS)
        buckets *= 2;
    memset(begin, 0, (buckets + 1) * sizeof *begin);
    while (limit >> shift >= buckets)
        shift++;
    for (uint32_t k = 0; k < count; k++)
        begin[(events[k].key >> shift) + 1]++;
    for (uint32_t b = 0; b < buckets; b++) {
        most = begin[b + 1] > most ? begin[b + 1] : most;
        begin[b + 1] += begin[b];
    }
    if (most > FEW)
        return tni_plan_sort(events, spare, count);
    for (uint32_t k = 0; k < count; k++)
        spare[begin[events[k].key >> shift]++] = events[k];
    for (uint32_t k = 1; k < count; k++) {
        tni_keyed moved = spare[k];
        uint32_t at = k;
        for (; at > 0 && spare[at - 1].key > moved.key; at--)
            spare[at] = spare[at - 1];
        spare[at] = moved;
    }
    return spare;
}

// The offset at which what lies in the way weighs least, of those the lowest. An item is in the way
// of offsets between its own less `bytes` and its end, both not included: only at these can there
// be a least.
static uint64_t find_place(tni_plan_repair *r, uint64_t bytes, uint64_t limit)
{
    enum { ENDS, BEGINS };   // in this order at one offset
    uint64_t top = limit - bytes, in_the_way = 0;
    uint32_t count = 0;
    for (uint32_t k = 0; k < r->beside_count; k++) {
        uint32_t item = r->beside[k];
        uint64_t offset = r->offsets[item], end = end_of(r, item), own = weight(r, item);
        if (offset < bytes)
            in_the_way += own;
        else if (offset - bytes <= top)
            r->events[count++] = (tni_keyed){ 2 * (offset - bytes) + BEGINS, own };
        if (end <= top)
            r->events[count++] = (tni_keyed){ 2 * end + ENDS, own };
    }
    const tni_keyed *sorted = sort(r->events, r->spare, count, 2 * limit);
    uint64_t least = UINT64_MAX, best = 0, at = 0;
    for (uint32_t k = 0; k < count && least; k++) {
        uint64_t next = sorted[k].key / 2;
        bool begins = sorted[k].key % 2 == BEGINS;
        if ((next > at || begins) && in_the_way < least) {
            least = in_the_way;
            best = at;
        }
        at = next;
        in_the_way = begins ? in_the_way + sorted[k].what : in_the_way - sorted[k].what;
    }
    return in_the_way < least ? at : best;
}

static void put_in(tni_plan_repair *r, uint32_t item, uint64_t offset)
{
    r->offsets[item] = offset;
    for (uint32_t k = 0; k < r->beside_count; k++) {
        uint32_t other = r->beside[k];
        if (r->offsets[other] >= end_of(r, item) || end_of(r, other) <= offset)
            continue;
        take_out(r, other);
        r->times_out[other]++;
    }
}

const uint64_t *tni_plan_repair_run(tni_plan_repair *r, const uint64_t *offsets, uint64_t limit,
                                    uint64_t work)
{
    const tni_plan_sections *in = r->sections;
    if (offsets != r->offsets)
        memcpy(r->offsets, offsets, in->item_count * sizeof *offsets);
    memset(r->is_out, 0, in->item_count * sizeof *r->is_out);
    memset(r->times_out, 0, in->item_count * sizeof *r->times_out);
    r->out_count = 0;
    if (limit > MOST_LIMIT)
        return NULL;
    if (!r->has_lists)
        make_lists(r);
    for (uint32_t i = 0; i < in->item_count; i++)
        if (end_of(r, i) > limit)
            take_out(r, i);
    while (r->out_count > 0) {
        if (r->out_count > MOST_OUT || work == 0)
            return NULL;
        uint32_t item = choose(r), looked_at = find_beside(r, item);
        put_in(r, item, find_place(r, in->items[item].bytes, limit));
        work -= looked_at < work ? looked_at : work;
    }
    return r->offsets;
}
