// divide.c: segments divided where that lets devices work at the same time.
//
// A segment begins when all is there that it reads from elsewhere, and only when it has ended is
// there what others read of it. So one that has much to do before it needs a value of another
// device, or much to do after it has made a value for another, is better two:
//
//   a  ──── made ───────────        a  ──── made │ ───────────
//   b                        needs  b            needs
//
// Values that one segment makes come together. A part of less than WORTH_NS is not worth a submit
// of its own.
#include <string.h>

#include "base/error.h"
#include "sched/sched_internal.h"

static const double WORTH_NS = 25e3;

typedef struct dividing {
    tni_schedule *schedule;
    uint64_t *leaves;    // by storage: places that a transfer takes it from, a bit each
    uint32_t *made_in;   // by storage: one past the segment that wrote it last; 0 = none
    uint32_t arrived[TNI_MAX_PLACES];   // by place: up to where the part at hand waits for it
    tni_segment *segments;              // divided
    uint32_t count;
    uint32_t transfer;   // the next one that a unit needs
} dividing;

static bool reads(const tni_schedule *s, uint32_t unit, uint32_t storage)
{
    const tn_graph *graph = s->graph;
    for (uint32_t i = 0; i < s->units[unit]->node_count; i++) {
        uint32_t values[TNI_MAX_READS];
        uint32_t count = tni_node_reads(graph, &graph->nodes[s->units[unit]->nodes[i]], values);
        for (uint32_t k = 0; k < count; k++)
            if (graph->values[values[k]].storage == storage)
                return true;
    }
    return false;
}

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
    for (uint32_t u = unit + 1; u < end && cost < WORTH_NS; u++) {
        cost += d->schedule->units[u]->cost_ns;
        if (makes_for_others(d, u))
            break;
    }
    return cost;
}

static void begin_segment(dividing *d, uint32_t place, uint32_t unit)
{
    memset(d->arrived, 0, sizeof d->arrived);
    d->segments[d->count++] = (tni_segment){ .place = place, .first_unit = unit };
}

// The transfers of a segment are in the order of the units that need them. How many this one does;
// *out_waits: for more than the part at hand waits for already.
static uint32_t count_needs(const dividing *d, uint32_t segment, uint32_t unit, bool *out_waits)
{
    const tni_schedule *s = d->schedule;
    uint32_t t = d->transfer;
    *out_waits = false;
    for (; t < s->transfer_count && s->transfers[t].segment == segment &&
           reads(s, unit, s->transfers[t].storage);
         t++)
        *out_waits |= d->made_in[s->transfers[t].storage] > d->arrived[s->transfers[t].from];
    return t - d->transfer;
}

static void take_unit(dividing *d, uint32_t unit, uint32_t needs)
{
    const tni_claim *claim = d->schedule->units[unit];
    const tn_graph *graph = d->schedule->graph;
    for (; needs; needs--, d->transfer++) {
        tni_transfer *t = &d->schedule->transfers[d->transfer];
        if (d->made_in[t->storage] > d->arrived[t->from])
            d->arrived[t->from] = d->made_in[t->storage];
        t->segment = d->count - 1;
    }
    for (uint32_t i = 0; i < claim->node_count; i++)
        d->made_in[graph->values[graph->nodes[claim->nodes[i]].output].storage] = d->count;
    d->segments[d->count - 1].unit_count++;
}

static void divide(dividing *d, uint32_t segment)
{
    tni_schedule *s = d->schedule;
    const tni_segment whole = s->segments[segment];
    uint32_t end = whole.first_unit + whole.unit_count;
    double part_ns = 0, rest_ns = 0;
    bool is_due = false;
    for (uint32_t u = whole.first_unit; u < end; u++)
        rest_ns += s->units[u]->cost_ns;
    begin_segment(d, whole.place, whole.first_unit);
    for (uint32_t u = whole.first_unit; u < end; u++) {
        bool waits;
        uint32_t needs = count_needs(d, segment, u, &waits);
        if (is_due || (waits && part_ns >= WORTH_NS)) {
            begin_segment(d, whole.place, u);
            part_ns = 0;
        }
        take_unit(d, u, needs);
        part_ns += s->units[u]->cost_ns;
        rest_ns -= s->units[u]->cost_ns;
        is_due = rest_ns >= WORTH_NS && makes_for_others(d, u) &&
                 (part_ns >= WORTH_NS || cost_until_next(d, u, end) >= WORTH_NS);
    }
}

tn_status tni_divide_segments(tni_schedule *schedule, tni_arena *arena, tni_arena *scratch,
                              tn_error *err)
{
    dividing d = { .schedule = schedule };
    if (schedule->transfer_count == 0)
        return TN_OK;
    d.leaves = tni_arena_take_array(scratch, schedule->graph->storage_count, sizeof *d.leaves);
    d.segments = tni_arena_take_array(arena, schedule->unit_count, sizeof *d.segments);
    d.made_in = tni_arena_take_array(scratch, schedule->graph->storage_count, sizeof *d.made_in);
    if (!d.leaves || !d.made_in || !d.segments)
        return tni_fail_memory(err, "segments", schedule->unit_count * sizeof *d.segments);
    for (uint32_t t = 0; t < schedule->transfer_count; t++)
        d.leaves[schedule->transfers[t].storage] |= UINT64_C(1) << schedule->transfers[t].from;
    for (uint32_t s = 0; s < schedule->segment_count; s++)
        divide(&d, s);
    schedule->segments = d.segments;
    schedule->segment_count = d.count;
    return TN_OK;
}
