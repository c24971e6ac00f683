// validate.c: is this plan right? Shares no code with what made it.
//
// Steps in a line: goes through time with a tree over the intervals by address that knows the
// highest end of those that live below each node. What begins asks for one that begins below its
// end and ends above its beginning. n log n. What takes the place of another comes after all else
// that begins in its step, and takes the other out.
//
// Under an order of tracks there is no time to go through: goes through the addresses, and asks for
// every two that share bytes whether one of them is over before the other begins.
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "plan/plan.h"

// An interval, under what it is sorted by.
typedef struct place {
    uint64_t key, second;
    uint32_t interval;
} place;

typedef struct check {
    const tni_interval *intervals;
    uint32_t count;
    const tni_plan_rules *rules;
    const tni_plan *plan;
    tni_arena *scratch;
    tn_error *err;
} check;

static int by_key(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->second != y->second)
        return x->second < y->second ? -1 : 1;
    return x->interval < y->interval ? -1 : x->interval > y->interval;
}

static tn_status fail_pair(const check *c, uint32_t a, uint32_t b)
{
    return tni_fail(c->err, TN_E_INTERNAL,
                    "plan: intervals %u and %u live together and share bytes", a < b ? a : b,
                    a < b ? b : a);
}

// ------------------------------------------------------------------------------------- each alone

static bool is_over_before(const tni_plan_order *order, uint32_t interval, uint32_t step)
{
    bool is_over = true;
    for (uint32_t t = 0; t < order->track_count; t++)
        is_over &= order->ends[(size_t)interval * order->track_count + t] <=
                   order->done[(size_t)step * order->track_count + t];
    return is_over;
}

static bool may_take_place(const check *c, uint32_t i)
{
    const tni_interval *x = &c->intervals[i];
    if (x->in_place_of >= i)
        return false;
    const tni_interval *old = &c->intervals[x->in_place_of];
    const uint64_t *offsets = c->plan->offsets;
    if (old->last != x->first || offsets[i] != offsets[x->in_place_of] + x->in_place_offset ||
        x->in_place_offset > old->bytes || x->bytes > old->bytes - x->in_place_offset)
        return false;
    if (old->in_place_of != TNP_NONE && old->first == x->first)
        return false;   // what that one took over lives in this step too
    const tni_plan_order *order = c->rules->order;
    bool is_free = true;
    for (uint32_t t = 0; order && t < order->track_count; t++) {
        uint32_t end = order->ends[(size_t)x->in_place_of * order->track_count + t];
        bool is_here = order->track[x->first] == t && end == x->first + 1;
        is_free &= is_here || end <= order->done[(size_t)x->first * order->track_count + t];
    }
    return is_free;
}

static tn_status check_alone(const check *c, uint32_t i)
{
    const tni_interval *x = &c->intervals[i];
    uint64_t begin = c->plan->offsets[i], end = begin + x->bytes, chunk = c->rules->chunk_bytes;
    if (x->first > x->last || (c->rules->order && x->first >= c->rules->order->step_count))
        return tni_fail(c->err, TN_E_INTERNAL, "plan: interval %u is used before it is made", i);
    if (end < begin)
        return tni_fail(c->err, TN_E_INTERNAL,
                        "plan: interval %u begins at %" PRIu64 " and ends at 2^64 or above", i,
                        begin);
    if (end > c->plan->peak_bytes)
        return tni_fail(c->err, TN_E_INTERNAL,
                        "plan: interval %u ends at %" PRIu64 ", above the peak of %" PRIu64, i, end,
                        c->plan->peak_bytes);
    if (x->in_place_of == TNP_NONE && begin % c->rules->alignment)
        return tni_fail(c->err, TN_E_INTERNAL,
                        "plan: interval %u lies at %" PRIu64 ", not a multiple of %" PRIu64, i,
                        begin, c->rules->alignment);
    if (chunk && x->bytes && begin / chunk != (end - 1) / chunk)
        return tni_fail(c->err, TN_E_INTERNAL,
                        "plan: interval %u lies at %" PRIu64 " with %" PRIu64
                        " bytes, across chunks of %" PRIu64,
                        i, begin, x->bytes, chunk);
    if (x->in_place_of != TNP_NONE && !may_take_place(c, i))
        return tni_fail(c->err, TN_E_INTERNAL, "plan: interval %u cannot take the place of %u", i,
                        x->in_place_of);
    return TN_OK;
}

static tn_status check_pins(const check *c)
{
    for (uint32_t p = 0; p < c->rules->pin_count; p++) {
        const tni_pin *pin = &c->rules->pins[p];
        if (pin->interval >= c->count || c->plan->offsets[pin->interval] != pin->offset)
            return tni_fail(c->err, TN_E_INTERNAL,
                            "plan: interval %u does not lie at %" PRIu64 ", where it is pinned",
                            pin->interval, pin->offset);
    }
    return TN_OK;
}

// ------------------------------------------------------------------------------- steps in a line

typedef struct timeline {
    place *by_offset, *by_first, *by_last;
    uint32_t count, leaves;
    uint32_t *leaf_of;          // by interval
    uint64_t *highest;          // by node of the tree: the highest end of those that live
    uint64_t *held;             // by interval: bytes of the first whose place it has, rounded up
    bool *is_taken;             // by interval: another has its place
    uint64_t live, most_live;   // bytes; what takes a place holds all that the first one had
} timeline;

static bool make_timeline(const check *c, timeline *t)
{
    t->by_offset = tni_arena_take_array(c->scratch, c->count, sizeof *t->by_offset);
    t->by_first = tni_arena_take_array(c->scratch, c->count, sizeof *t->by_first);
    t->by_last = tni_arena_take_array(c->scratch, c->count, sizeof *t->by_last);
    t->leaf_of = tni_arena_take_array(c->scratch, c->count, sizeof *t->leaf_of);
    for (t->leaves = 1; t->leaves < c->count;)
        t->leaves *= 2;
    t->highest = tni_arena_take_array(c->scratch, 2 * (size_t)t->leaves, sizeof *t->highest);
    t->held = tni_arena_take_array(c->scratch, c->count, sizeof *t->held);
    t->is_taken = tni_arena_take_array(c->scratch, c->count, sizeof *t->is_taken);
    if (!t->by_offset || !t->by_first || !t->by_last || !t->leaf_of || !t->highest || !t->held ||
        !t->is_taken)
        return false;
    for (uint32_t i = 0; i < c->count; i++) {
        const tni_interval *x = &c->intervals[i];
        if (x->bytes == 0)
            continue;
        t->by_offset[t->count] = (place){ c->plan->offsets[i], 0, i };
        t->by_first[t->count] = (place){ x->first, x->in_place_of != TNP_NONE, i };
        t->by_last[t->count++] = (place){ x->last, 0, i };
    }
    if (t->count == 0)
        return true;
    qsort(t->by_offset, t->count, sizeof *t->by_offset, by_key);
    qsort(t->by_first, t->count, sizeof *t->by_first, by_key);
    qsort(t->by_last, t->count, sizeof *t->by_last, by_key);
    for (uint32_t i = 0; i < t->count; i++)
        t->leaf_of[t->by_offset[i].interval] = i;
    return true;
}

// end: of the interval while it lives, else 0.
static void set_end(timeline *t, uint32_t interval, uint64_t end)
{
    uint32_t node = t->leaves + t->leaf_of[interval];
    t->highest[node] = end;
    while ((node /= 2) > 0) {
        uint64_t left = t->highest[2 * node], right = t->highest[2 * node + 1];
        t->highest[node] = left > right ? left : right;
    }
}

// One that lives and shares bytes with [begin, end), or TNP_NONE.
static uint32_t find_overlap(const timeline *t, uint64_t begin, uint64_t end)
{
    uint32_t below = 0, high = t->count;   // how many begin below the end
    while (below < high) {
        uint32_t middle = below + (high - below) / 2;
        if (t->by_offset[middle].key < end)
            below = middle + 1;
        else
            high = middle;
    }
    for (uint64_t low = t->leaves, top = (uint64_t)t->leaves + below; low < top;
         low = (low + 1) / 2, top /= 2) {
        uint64_t nodes[2] = { low % 2 ? low : 0, top % 2 ? top - 1 : 0 };
        for (int i = 0; i < 2; i++) {
            uint64_t node = nodes[i];
            if (node == 0 || t->highest[node] <= begin)
                continue;
            while (node < t->leaves)
                node = t->highest[2 * node] > begin ? 2 * node : 2 * node + 1;
            return t->by_offset[node - t->leaves].interval;
        }
    }
    return TNP_NONE;
}

static void finish(timeline *t, uint32_t interval)
{
    set_end(t, interval, 0);
    if (!t->is_taken[interval])
        t->live -= t->held[interval];
}

static void begin_life(const check *c, timeline *t, uint32_t interval)
{
    const tni_interval *x = &c->intervals[interval];
    uint64_t alignment = c->rules->alignment;
    if (x->in_place_of != TNP_NONE) {
        set_end(t, x->in_place_of, 0);
        t->is_taken[x->in_place_of] = true;
        t->held[interval] = t->held[x->in_place_of];
        return;
    }
    t->held[interval] = (x->bytes + alignment - 1) / alignment * alignment;
    t->live += t->held[interval];
    t->most_live = t->live > t->most_live ? t->live : t->most_live;
}

// A bound that is too high would call a plan optimal that is not.
static tn_status check_bound(const check *c, uint64_t most_live)
{
    uint64_t most = most_live;
    for (uint32_t p = 0; p < c->rules->pin_count; p++) {
        const tni_pin *pin = &c->rules->pins[p];
        uint64_t end = pin->offset + c->intervals[pin->interval].bytes;
        most = end > most ? end : most;
    }
    most += c->rules->pin_count ? c->rules->alignment - 1 : 0;   // ends of pins are rounded up
    if (c->plan->bound_bytes <= most)
        return TN_OK;
    return tni_fail(c->err, TN_E_INTERNAL,
                    "plan: a bound of %" PRIu64 ", and no more than %" PRIu64 " bytes are live",
                    c->plan->bound_bytes, most);
}

static tn_status check_timeline(const check *c)
{
    timeline t = { 0 };
    if (!make_timeline(c, &t))
        return tni_fail_memory(c->err, "checking a memory plan", c->count * sizeof(place));
    uint32_t ended = 0;
    for (uint32_t i = 0; i < t.count; i++) {
        uint32_t own = t.by_first[i].interval;
        const tni_interval *x = &c->intervals[own];
        uint64_t begin = c->plan->offsets[own];
        for (; t.by_last[ended].key < x->first; ended++)
            finish(&t, t.by_last[ended].interval);
        begin_life(c, &t, own);
        uint32_t other = find_overlap(&t, begin, begin + x->bytes);
        if (other != TNP_NONE)
            return fail_pair(c, own, other);
        set_end(&t, own, begin + x->bytes);
    }
    return check_bound(c, t.most_live);
}

// -------------------------------------------------------------------------------- under an order

static bool may_share(const check *c, uint32_t a, uint32_t b)
{
    const tni_interval *x = &c->intervals[a], *y = &c->intervals[b];
    return x->in_place_of == b || y->in_place_of == a ||
           is_over_before(c->rules->order, a, y->first) ||
           is_over_before(c->rules->order, b, x->first);
}

static tn_status check_addresses(const check *c)
{
    place *by_offset = tni_arena_take_array(c->scratch, c->count, sizeof *by_offset);
    uint32_t *open = tni_arena_take_array(c->scratch, c->count, sizeof *open);
    uint32_t count = 0, open_count = 0;
    if (!by_offset || !open)
        return tni_fail_memory(c->err, "checking a memory plan", c->count * sizeof *by_offset);
    for (uint32_t i = 0; i < c->count; i++)
        if (c->intervals[i].bytes)
            by_offset[count++] = (place){ c->plan->offsets[i], 0, i };
    if (count)
        qsort(by_offset, count, sizeof *by_offset, by_key);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t kept = 0;
        for (uint32_t o = 0; o < open_count; o++) {
            uint32_t other = open[o];
            if (c->plan->offsets[other] + c->intervals[other].bytes <= by_offset[i].key)
                continue;
            open[kept++] = other;
            if (!may_share(c, by_offset[i].interval, other))
                return fail_pair(c, by_offset[i].interval, other);
        }
        open[kept] = by_offset[i].interval;
        open_count = kept + 1;
    }
    return TN_OK;
}

tn_status tni_plan_validate(const tni_interval *intervals, uint32_t count,
                            const tni_plan_rules *rules, const tni_plan *plan, tni_arena *scratch,
                            tn_error *err)
{
    const check c = { intervals, count, rules, plan, scratch, err };
    tn_status status = check_pins(&c);
    for (uint32_t i = 0; i < count && status == TN_OK; i++)
        status = check_alone(&c, i);
    if (status == TN_OK && plan->bound_bytes > plan->peak_bytes)
        status = tni_fail(err, TN_E_INTERNAL,
                          "plan: the peak of %" PRIu64 " is below its bound of %" PRIu64,
                          plan->peak_bytes, plan->bound_bytes);
    if (status == TN_OK)
        status = rules->order ? check_addresses(&c) : check_timeline(&c);
    return status;
}
