// divide.c: segments divided where that lets devices work at the same time.
//
// A segment begins when all is there that it reads from elsewhere, and only when it has ended is
// there what others read of it. So one that has much to do before it needs a value of another
// device, or much to do after it has made a value for another, is better two:
//
//   a  ──── made ───────────        a  ──── made │ ───────────
//   b                        needs  b            needs
//
// What needs nothing of others comes first, then what needs what was made first, and so on: the
// level of a unit is the latest segment that it waits for, by itself or by what it reads. Of one
// level, what leads to something for others comes before the rest. Values that one segment makes
// come together. A part of less work than a submit costs on its place (links.h) is not worth one of
// its own.
#include <string.h>

#include "base/error.h"
#include "base/integer.h"
#include "sched/sched_internal.h"

typedef struct dividing {
    tni_schedule *schedule;
    uint64_t *leaves;           // by storage: places that a transfer takes it from, a bit each
    uint32_t *made_in;          // by storage: one past the segment that wrote it last; 0 = none
    bool *arrives;              // by storage: it is copied to the segment at hand
    uint32_t *levels;           // by node of the segment at hand
    bool *leads;                // likewise: what it makes, or what is made of it, leaves
    uint32_t *unit_levels;      // by unit
    const tni_claim **sorted;   // units of a segment, by level
    tni_segment *segments;      // divided
    uint32_t count;
    double worth_ns;   // of the place at hand: a submit
} dividing;

static bool makes_for_others(const dividing *d, uint32_t unit)
{
    const tni_claim *claim = d->schedule->units[unit];
    const tn_graph *graph = d->schedule->graph;
    for (uint32_t i = 0; i < claim->node_count; i++) {
        const tni_value *made = &graph->values[graph->nodes[claim->nodes[i]].output];
        if (d->leaves[made->storage] >> claim->place & 1)
            return true;
    }
    return false;
}

// Up to the next unit that makes something for others, or the end of the segment.
static double cost_until_next(const dividing *d, uint32_t unit, uint32_t end)
{
    double cost = 0;
    for (uint32_t u = unit + 1; u < end && cost < d->worth_ns; u++) {
        cost += d->schedule->units[u]->cost_ns;
        if (makes_for_others(d, u))
            break;
    }
    return cost;
}

// ------------------------------------------------------------------------------------------ levels

static uint32_t level_of(const dividing *d, const tni_claim *unit, uint32_t first_unit)
{
    const tni_schedule *s = d->schedule;
    const tn_graph *graph = s->graph;
    uint32_t level = 0;
    for (uint32_t i = 0; i < unit->node_count; i++) {
        uint32_t node = unit->nodes[i], reads[TNI_MAX_READS];
        uint32_t count = tni_node_reads(graph, &graph->nodes[node], reads);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t storage = graph->values[reads[k]].storage;
            if (d->arrives[storage])
                level = tni_larger_u32(level, d->made_in[storage]);
        }
        for (uint32_t e = graph->order.first[node]; e < graph->order.first[node + 1]; e++)
            if (s->steps[graph->order.before[e]] >= first_unit)   // of this segment, and done
                level = tni_larger_u32(level, d->levels[graph->order.before[e]]);
    }
    return level;
}

static void find_leads(dividing *d, const tni_segment *segment)
{
    const tni_schedule *s = d->schedule;
    const tni_order *order = &s->graph->order;
    for (uint32_t u = segment->first_unit + segment->unit_count; u-- > segment->first_unit;) {
        const tni_claim *unit = s->units[u];
        bool leads = makes_for_others(d, u);
        for (uint32_t i = 0; i < unit->node_count; i++)
            leads |= d->leads[unit->nodes[i]];
        for (uint32_t i = 0; i < unit->node_count; i++) {
            uint32_t node = unit->nodes[i];
            d->leads[node] = leads;
            for (uint32_t e = order->first[node]; leads && e < order->first[node + 1]; e++)
                if (s->steps[order->before[e]] >= segment->first_unit)
                    d->leads[order->before[e]] = true;
        }
    }
}

static uint32_t key_of(const dividing *d, const tni_claim *unit)
{
    return 2 * d->levels[unit->nodes[0]] + !d->leads[unit->nodes[0]];
}

// The units of a segment by level; those that are alike stay in their order. By a merge of runs.
static void sort_units(dividing *d, const tni_segment *segment)
{
    tni_schedule *s = d->schedule;
    const tni_claim **units = s->units + segment->first_unit, **to = d->sorted;
    uint32_t count = segment->unit_count;
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t begin = 0; begin < count; begin += 2 * width) {
            uint32_t middle = begin + width < count ? begin + width : count;
            uint32_t end = middle + width < count ? middle + width : count;
            for (uint32_t a = begin, b = middle, at = begin; at < end; at++) {
                bool is_left = a < middle &&
                               (b == end || key_of(d, units[a]) <= key_of(d, units[b]));
                to[at] = units[is_left ? a++ : b++];
            }
        }
        memcpy(units, to, count * sizeof *units);
    }
    for (uint32_t u = segment->first_unit; u < segment->first_unit + count; u++) {
        d->unit_levels[u] = d->levels[s->units[u]->nodes[0]];
        for (uint32_t i = 0; i < s->units[u]->node_count; i++)
            s->steps[s->units[u]->nodes[i]] = u;
    }
}

static void find_levels(dividing *d, const tni_segment *segment)
{
    bool is_sorted = true;
    uint32_t before = 0;
    find_leads(d, segment);
    for (uint32_t u = segment->first_unit; u < segment->first_unit + segment->unit_count; u++) {
        const tni_claim *unit = d->schedule->units[u];
        uint32_t level = level_of(d, unit, segment->first_unit);
        for (uint32_t i = 0; i < unit->node_count; i++)
            d->levels[unit->nodes[i]] = level;
        d->unit_levels[u] = level;
        is_sorted &= key_of(d, unit) >= before;
        before = key_of(d, unit);
    }
    if (!is_sorted)
        sort_units(d, segment);
}

// ---------------------------------------------------------------------------------------- segments

static void begin_segment(dividing *d, uint32_t place, uint32_t unit)
{
    d->segments[d->count++] = (tni_segment){ .place = place, .first_unit = unit };
}

static void take_unit(dividing *d, const tni_claim *unit)
{
    const tn_graph *graph = d->schedule->graph;
    for (uint32_t i = 0; i < unit->node_count; i++)
        d->made_in[graph->values[graph->nodes[unit->nodes[i]].output].storage] = d->count;
    d->segments[d->count - 1].unit_count++;
}

static void divide(dividing *d, const tni_segment *whole)
{
    const tni_schedule *s = d->schedule;
    uint32_t end = whole->first_unit + whole->unit_count, level = 0;
    double part_ns = 0, rest_ns = 0;
    bool is_due = false;
    d->worth_ns = tni_links_submit_ns(s->links, whole->place);
    find_levels(d, whole);
    for (uint32_t u = whole->first_unit; u < end; u++)
        rest_ns += s->units[u]->cost_ns;
    begin_segment(d, whole->place, whole->first_unit);
    for (uint32_t u = whole->first_unit; u < end; u++) {
        if (is_due || (d->unit_levels[u] > level && part_ns >= d->worth_ns)) {
            begin_segment(d, whole->place, u);
            part_ns = 0;
        }
        level = d->unit_levels[u];
        take_unit(d, s->units[u]);
        part_ns += s->units[u]->cost_ns;
        rest_ns -= s->units[u]->cost_ns;
        is_due = rest_ns >= d->worth_ns && makes_for_others(d, u) &&
                 (part_ns >= d->worth_ns || cost_until_next(d, u, end) >= d->worth_ns);
    }
}

tn_status tni_divide_segments(tni_schedule *schedule, tni_arena *arena, tni_arena *scratch,
                              tn_error *err)
{
    const tn_graph *graph = schedule->graph;
    dividing d = { .schedule = schedule };
    d.leaves = tni_arena_take_array(scratch, graph->storage_count, sizeof *d.leaves);
    d.made_in = tni_arena_take_array(scratch, graph->storage_count, sizeof *d.made_in);
    d.arrives = tni_arena_take_array(scratch, graph->storage_count, sizeof *d.arrives);
    d.levels = tni_arena_take_array(scratch, graph->node_count, sizeof *d.levels);
    d.leads = tni_arena_take_array(scratch, graph->node_count, sizeof *d.leads);
    d.unit_levels = tni_arena_take_array(scratch, schedule->unit_count, sizeof *d.unit_levels);
    d.sorted = tni_arena_take_array(scratch, schedule->unit_count, sizeof *d.sorted);
    d.segments = tni_arena_take_array(arena, schedule->unit_count, sizeof *d.segments);
    if (!d.leaves || !d.made_in || !d.arrives || !d.levels || !d.leads || !d.unit_levels ||
        !d.sorted || !d.segments)
        return tni_fail_memory(err, "segments", schedule->unit_count * sizeof *d.segments);
    const tni_transfer *t = schedule->transfers, *end = t + schedule->transfer_count;
    for (const tni_transfer *one = t; one < end; one++)
        d.leaves[one->storage] |= UINT64_C(1) << one->from;
    for (uint32_t s = 0; s < schedule->segment_count; s++) {
        const tni_transfer *first = t;
        for (; t < end && t->segment == s; t++)
            d.arrives[t->storage] = true;
        divide(&d, &schedule->segments[s]);
        for (; first < t; first++)
            d.arrives[first->storage] = false;
    }
    schedule->segments = d.segments;
    schedule->segment_count = d.count;
    return TN_OK;
}
