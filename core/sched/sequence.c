// sequence.c: segments in the order in which they can begin.
//
// Work of a device runs in the order of its segments, so that one that waits for another device
// holds up all behind it. Of those that can run when a device is free, the one comes next that the
// longest chain of work hangs on, copies between devices counted; where none can, the one that can
// first. That is the second half of HEFT (Topcuoglu, Hariri and Wu 2002); the first, the places, is
// given.
#include "base/error.h"
#include "base/heap.h"
#include "base/lists.h"
#include "sched/sched_internal.h"

typedef struct sequencing {
    tni_schedule *schedule;
    tni_arena *scratch;
    uint32_t *segment_of;   // by node
    uint32_t
        *after_first;   // segments that wait for s: after[after_first[s]] … [after_first[s + 1]]
    uint32_t *after;
    double *arrive_ns;   // beside after: from the end of s until its bytes are there
    uint32_t *waits;     // by segment: how many it still waits for
    double *cost_ns, *rank_ns, *ready_ns;   // by segment
    uint32_t place_count;
    double *free_ns;                 // by place
    tni_heap *waiting, *available;   // by place: segments, by when they can begin; by rank
    uint32_t *sequence;              // segments, in the order that is looked for
} sequencing;

// ------------------------------------------------------------------------------------------ tables

static bool take_tables(sequencing *q)
{
    const tni_schedule *s = q->schedule;
    uint32_t count = s->segment_count, edges = s->graph->order.first[s->graph->node_count];
    tni_arena *arena = q->scratch;
    for (uint32_t i = 0; i < count; i++)
        q->place_count = s->segments[i].place >= q->place_count ? s->segments[i].place + 1
                                                                : q->place_count;
    q->segment_of = tni_arena_take_array(arena, s->graph->node_count, sizeof *q->segment_of);
    q->after_first = tni_lists_begin(arena, count);
    q->after = tni_arena_take_array(arena, edges, sizeof *q->after);
    q->arrive_ns = tni_arena_take_array(arena, edges, sizeof *q->arrive_ns);
    q->waits = tni_arena_take_array(arena, count, sizeof *q->waits);
    q->cost_ns = tni_arena_take_array(arena, count, sizeof *q->cost_ns);
    q->rank_ns = tni_arena_take_array(arena, count, sizeof *q->rank_ns);
    q->ready_ns = tni_arena_take_array(arena, count, sizeof *q->ready_ns);
    q->free_ns = tni_arena_take_array(arena, q->place_count, sizeof *q->free_ns);
    q->sequence = tni_arena_take_array(arena, count, sizeof *q->sequence);
    if (!q->segment_of || !q->after_first || !q->after || !q->arrive_ns || !q->waits ||
        !q->cost_ns || !q->rank_ns || !q->ready_ns || !q->free_ns || !q->sequence)
        return false;
    uint32_t *of_place = tni_arena_take_array(arena, q->place_count, sizeof *of_place);
    for (uint32_t i = 0; of_place && i < count; i++)
        of_place[s->segments[i].place]++;
    q->waiting = of_place ? tni_heaps_take(arena, of_place, q->place_count) : NULL;
    q->available = of_place ? tni_heaps_take(arena, of_place, q->place_count) : NULL;
    return q->waiting && q->available;
}

static void find_segments(sequencing *q)
{
    const tni_schedule *s = q->schedule;
    for (uint32_t i = 0; i < s->segment_count; i++)
        for (uint32_t k = 0; k < s->segments[i].unit_count; k++) {
            const tni_claim *unit = s->units[s->segments[i].first_unit + k];
            q->cost_ns[i] += unit->cost_ns;
            for (uint32_t n = 0; n < unit->node_count; n++)
                q->segment_of[unit->nodes[n]] = i;
        }
}

// Edges between segments, listed by where they come from: each as often as nodes make it.
static void find_edges(sequencing *q)
{
    const tni_schedule *s = q->schedule;
    const tn_graph *graph = s->graph;
    const tni_order *order = &graph->order;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t n = 0; n < graph->node_count; n++)
            for (uint32_t e = order->first[n]; e < order->first[n + 1]; e++) {
                uint32_t before = order->before[e];
                uint32_t from = q->segment_of[before], to = q->segment_of[n];
                if (from == to)
                    continue;
                if (pass == 0) {
                    tni_lists_count(q->after_first, from);
                    q->waits[to]++;
                    continue;
                }
                uint32_t storage = graph->values[graph->nodes[before].output].storage;
                uint32_t at = tni_lists_next(q->after_first, from);
                q->after[at] = to;
                q->arrive_ns[at] = tni_links_cost_ns(s->links, s->segments[from].place,
                                                     s->segments[to].place,
                                                     graph->storages[storage].bytes);
            }
        if (pass == 0)
            tni_lists_sum(q->after_first, s->segment_count);
    }
}

// The longest chain from the beginning of a segment to the end of all. Segments are in an order in
// which they can run.
static void find_ranks(sequencing *q)
{
    for (uint32_t i = q->schedule->segment_count; i-- > 0;) {
        double most = 0;
        for (uint32_t e = q->after_first[i]; e < q->after_first[i + 1]; e++) {
            double chain = q->arrive_ns[e] + q->rank_ns[q->after[e]];
            most = chain > most ? chain : most;
        }
        q->rank_ns[i] = q->cost_ns[i] + most;
    }
}

// ---------------------------------------------------------------------------------------- sequence

static void make_ready(sequencing *q, uint32_t segment)
{
    tni_heap_push(&q->waiting[q->schedule->segments[segment].place], q->ready_ns[segment], segment);
}

// When the next segment of a place can begin. What is available can when the place is free.
static double next_begin(const sequencing *q, uint32_t place)
{
    const tni_heap *waiting = &q->waiting[place];
    double begin = q->free_ns[place];
    if (q->available[place].count == 0 && waiting->count && waiting->entries[0].key > begin)
        begin = waiting->entries[0].key;
    return begin;
}

// What can begin by then is available: only where one of them does begin, since others that can
// earlier may still come.
static uint32_t take_available(sequencing *q, uint32_t place, double begin)
{
    tni_heap *waiting = &q->waiting[place], *available = &q->available[place];
    while (waiting->count && waiting->entries[0].key <= begin) {
        uint32_t segment = tni_heap_pop(waiting);
        tni_heap_push(available, -q->rank_ns[segment], segment);
    }
    return tni_heap_pop(available);
}

static void run_segment(sequencing *q, uint32_t segment, double begin)
{
    double end = begin + q->cost_ns[segment];
    q->free_ns[q->schedule->segments[segment].place] = end;
    for (uint32_t e = q->after_first[segment]; e < q->after_first[segment + 1]; e++) {
        uint32_t other = q->after[e];
        double there = end + q->arrive_ns[e];
        q->ready_ns[other] = there > q->ready_ns[other] ? there : q->ready_ns[other];
        if (--q->waits[other] == 0)
            make_ready(q, other);
    }
}

static void find_sequence(sequencing *q)
{
    for (uint32_t i = 0; i < q->schedule->segment_count; i++)
        if (q->waits[i] == 0)
            make_ready(q, i);
    for (uint32_t done = 0; done < q->schedule->segment_count; done++) {
        uint32_t best = 0;
        double best_begin = -1;
        for (uint32_t p = 0; p < q->place_count; p++) {
            if (q->waiting[p].count + q->available[p].count == 0)
                continue;
            double begin = next_begin(q, p);
            if (best_begin < 0 || begin < best_begin) {
                best = p;
                best_begin = begin;
            }
        }
        q->sequence[done] = take_available(q, best, best_begin);
        run_segment(q, q->sequence[done], best_begin);
    }
}

// ------------------------------------------------------------------------------------------ result

// Segments and units in their new order.
static bool put_segments(sequencing *q, tni_arena *arena)
{
    tni_schedule *s = q->schedule;
    tni_segment *segments = tni_arena_take_array(arena, s->segment_count, sizeof *segments);
    const tni_claim **units = tni_arena_take_array(arena, s->unit_count, sizeof *units);
    if (!segments || !units)
        return false;
    uint32_t unit = 0;
    for (uint32_t i = 0; i < s->segment_count; i++) {
        const tni_segment *old = &s->segments[q->sequence[i]];
        segments[i] = (tni_segment){ old->place, unit, old->unit_count };
        for (uint32_t k = 0; k < old->unit_count; k++, unit++) {
            units[unit] = s->units[old->first_unit + k];
            for (uint32_t n = 0; n < units[unit]->node_count; n++)
                s->steps[units[unit]->nodes[n]] = unit;
        }
    }
    s->segments = segments;
    s->units = units;
    return true;
}

tn_status tni_sequence_segments(tni_schedule *schedule, tni_arena *arena, tni_arena *scratch,
                                tn_error *err)
{
    sequencing q = { .schedule = schedule, .scratch = scratch };
    if (!take_tables(&q))
        return tni_fail_memory(err, "segments", schedule->segment_count * sizeof(tni_segment));
    find_segments(&q);
    find_edges(&q);
    find_ranks(&q);
    find_sequence(&q);
    if (!put_segments(&q, arena))
        return tni_fail_memory(err, "segments", schedule->segment_count * sizeof(tni_segment));
    return TN_OK;
}
