// partition.c: the order of the units, cut into segments.
//
// Of the units that can run next the one on the device at hand is taken, so that segments are few;
// of those the one that comes first in the graph. Ready units wait in a heap a place.
#include "base/error.h"
#include "base/heap.h"
#include "base/lists.h"
#include "sched/sched_internal.h"

typedef struct partition {
    const tn_graph *graph;
    tni_arena *arena;
    tni_schedule *schedule;
    const tni_claim **claims;   // by unit, numbered by their first node
    uint32_t *unit_of;          // by node
    uint32_t unit_count;
    uint32_t *waits;         // by unit: units it still waits for, counted by edge
    uint32_t *after_first;   // units that wait for unit u: after[after_first[u]] …
                             // after[after_first[u + 1] - 1]
    uint32_t *after;
    tni_heap *ready;   // by place: units, the first in the graph first
    uint32_t place_count;
} partition;

static bool make_units(partition *p, const uint32_t *chosen)
{
    const tn_graph *graph = p->graph;
    p->claims = tni_arena_take_array(p->arena, graph->node_count, sizeof *p->claims);
    p->unit_of = tni_arena_take_array(p->arena, graph->node_count, sizeof *p->unit_of);
    if (!p->claims || !p->unit_of)
        return false;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tni_claim *claim = &p->schedule->answers->claims[chosen[n]];
        if (claim->nodes[0] == n) {
            p->claims[p->unit_count] = claim;
            p->unit_of[n] = p->unit_count++;
            p->place_count = claim->place >= p->place_count ? claim->place + 1 : p->place_count;
        } else {
            p->unit_of[n] = p->unit_of[claim->nodes[0]];
        }
    }
    return true;
}

// Counts edges between units, then lists them by where they come from.
static bool make_edges(partition *p)
{
    const tni_order *order = &p->graph->order;
    uint32_t edge_count = order->first[p->graph->node_count];
    p->waits = tni_arena_take_array(p->arena, p->unit_count, sizeof *p->waits);
    p->after_first = tni_lists_begin(p->arena, p->unit_count);
    p->after = tni_arena_take_array(p->arena, edge_count, sizeof *p->after);
    if (!p->waits || !p->after_first || !p->after)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t n = 0; n < p->graph->node_count; n++)
            for (uint32_t e = order->first[n]; e < order->first[n + 1]; e++) {
                uint32_t from = p->unit_of[order->before[e]], to = p->unit_of[n];
                if (from == to)
                    continue;
                if (pass == 0) {
                    tni_lists_count(p->after_first, from);
                    p->waits[to]++;
                } else {
                    p->after[tni_lists_next(p->after_first, from)] = to;
                }
            }
        if (pass == 0)
            tni_lists_sum(p->after_first, p->unit_count);
    }
    return true;
}

static bool make_heaps(partition *p)
{
    uint32_t *units_on = tni_arena_take_array(p->arena, p->place_count, sizeof *units_on);
    for (uint32_t u = 0; units_on && u < p->unit_count; u++)
        units_on[p->claims[u]->place]++;
    p->ready = units_on ? tni_heaps_take(p->arena, units_on, p->place_count) : NULL;
    return p->ready;
}

static void make_ready(partition *p, uint32_t unit)
{
    tni_heap_push(&p->ready[p->claims[unit]->place], unit, unit);
}

static uint32_t next_place(const partition *p, uint32_t at_hand)
{
    if (at_hand < p->place_count && p->ready[at_hand].count)
        return at_hand;
    uint32_t best = TNP_NONE;
    for (uint32_t i = 0; i < p->place_count; i++)
        if (p->ready[i].count &&
            (best == TNP_NONE || p->ready[i].entries[0].item < p->ready[best].entries[0].item))
            best = i;
    return best;
}

// Fills units, segments, steps and places; false: not all units could be reached.
static bool order_units(partition *p)
{
    tni_schedule *s = p->schedule;
    for (uint32_t u = 0; u < p->unit_count; u++)
        if (p->waits[u] == 0)
            make_ready(p, u);
    uint32_t place = TNP_NONE;
    for (uint32_t next; (next = next_place(p, place)) != TNP_NONE;) {
        if (next != place)
            s->segments[s->segment_count++] = (tni_segment){ .place = next,
                                                             .first_unit = s->unit_count };
        place = next;
        uint32_t unit = tni_heap_pop(&p->ready[place]);
        const tni_claim *claim = p->claims[unit];
        for (uint32_t i = 0; i < claim->node_count; i++) {
            s->steps[claim->nodes[i]] = s->unit_count;
            s->places[claim->nodes[i]] = place;
        }
        s->units[s->unit_count++] = claim;
        s->segments[s->segment_count - 1].unit_count++;
        for (uint32_t e = p->after_first[unit]; e < p->after_first[unit + 1]; e++)
            if (--p->waits[p->after[e]] == 0)
                make_ready(p, p->after[e]);
    }
    return s->unit_count == p->unit_count;
}

tn_status tni_partition(const uint32_t *chosen, tni_arena *arena, tni_arena *scratch,
                        tni_schedule *schedule, tn_error *err)
{
    const tn_graph *graph = schedule->graph;
    partition p = { .graph = graph, .arena = scratch, .schedule = schedule };
    schedule->unit_count = schedule->segment_count = 0;
    schedule->units = tni_arena_take_array(arena, graph->node_count, sizeof *schedule->units);
    schedule->segments = tni_arena_take_array(arena, graph->node_count, sizeof *schedule->segments);
    schedule->steps = tni_arena_take_array(arena, graph->node_count, sizeof *schedule->steps);
    schedule->places = tni_arena_take_array(arena, graph->node_count, sizeof *schedule->places);
    if (!schedule->units || !schedule->segments || !schedule->steps || !schedule->places ||
        !make_units(&p, chosen) || !make_edges(&p) || !make_heaps(&p))
        return tni_fail(err, TN_E_HOST_MEMORY, "not enough memory to order %u nodes",
                        graph->node_count);
    if (!order_units(&p))
        return tni_fail(err, TN_E_INTERNAL, "the claims chosen wait for each other");
    return TN_OK;
}
