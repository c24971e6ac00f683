// order_bound.c: what no plan can be smaller than when steps do not run in a line.
//
// Blocks no two of which may share bytes need the sum of their bytes. "One is over before the other
// begins" is a partial order of the blocks; such a set is an antichain of it, and the heaviest
// weighs as much as the least number of bytes of memory handed on from block to block that serve
// all (Dilworth 1950, with weights). That is the sum of all minus the most that can be handed on, a
// largest flow:
//
//   source ──bytes──► block ──► begin of the first step of each track before which it is over
//                               begin of a step ──► its end ──► begin of steps that come after it
//                               begin of a step ──bytes of all blocks from there──► sink
//
// An edge to what can be reached by way of others is left out. Most blocks are over when one step
// has ended: they are edges from the source to that end, and need no node. So the network grows
// with steps and waits, and not with their product with the tracks.
//
// Found by Dinic's algorithm, without recursion. It is a clique of what may not share bytes, and so
// exact as far as pairs go; steps of a line have no larger one than their largest sum of live
// bytes.
#include <string.h>

#include "base/integer.h"
#include "plan/plan_internal.h"

enum { MOST_WORK = 10000000 };   // edges looked at, some 30 ms

#define NO_END UINT64_MAX   // of the room of an edge; sums of bytes stay below

typedef struct edge {
    uint32_t to, next;   // of the edges from the same node
    uint64_t room;       // or NO_END
} edge;

// Nodes are the begins of all steps, their ends, the blocks, source and sink.
typedef struct network {
    uint32_t step_count, source, sink, node_count;
    edge *edges;   // each beside its reverse
    uint32_t edge_count;
    uint32_t *head;       // by node: its first edge; TNP_NONE
    uint32_t *distance;   // from the source; TNP_NONE
    uint32_t *at;         // by node: the edge that is tried next
    uint32_t *queue;      // nodes; then the edges of a path
    uint64_t work;
} network;

// Before there is room for them edges are counted.
static void add_edge(network *n, uint32_t from, uint32_t to, uint64_t room)
{
    if (n->edges) {
        n->edges[n->edge_count] = (edge){ to, n->head[from], room };
        n->head[from] = n->edge_count;
        n->edges[n->edge_count + 1] = (edge){ from, n->head[to], 0 };
        n->head[to] = n->edge_count + 1;
    }
    n->edge_count += 2;
}

// By step: those of other tracks that it comes right after. What these, or the one before it on
// its own track, come after is left out.
typedef struct arrivals {
    uint32_t *begin;   // by step, and one more: in list
    uint32_t *list;
} arrivals;

static void come_after(const tni_plan_order *order, uint32_t step, uint32_t *known)
{
    const uint32_t *done = order->done + (size_t)step * order->track_count;
    for (uint32_t t = 0; t < order->track_count; t++)
        known[t] = tni_larger_u32(known[t], done[t]);
    known[order->track[step]] = tni_larger_u32(known[order->track[step]], step + 1);
}

// The latest first: it may have come after the others. `known`: scratch, by track. Answers how
// many; writes them where there is room.
static uint32_t find_arrivals_of(const tni_plan_order *order, const tni_tracks *by_track,
                                 uint32_t step, uint32_t *known, uint32_t *list)
{
    uint32_t own = order->track[step], at = by_track->at[step], count = 0;
    const uint32_t *done = order->done + (size_t)step * order->track_count;
    memset(known, 0, order->track_count * sizeof *known);
    if (at > by_track->begin[own])
        come_after(order, by_track->steps[at - 1], known);
    while (true) {
        uint32_t latest = 0;
        for (uint32_t t = 0; t < order->track_count; t++)
            if (t != own && done[t] > known[t])
                latest = tni_larger_u32(latest, done[t]);
        if (latest == 0)
            return count;
        come_after(order, latest - 1, known);
        if (list)
            list[count] = latest - 1;
        count++;
    }
}

static bool find_arrivals(const tni_plan_order *order, const tni_tracks *by_track, tni_arena *arena,
                          arrivals *out)
{
    uint32_t *known = tni_arena_take_array(arena, order->track_count, sizeof *known);
    out->begin = tni_arena_take_array(arena, (size_t)order->step_count + 1, sizeof *out->begin);
    if (!known || !out->begin)
        return false;
    for (uint32_t s = 0; s < order->step_count; s++)
        out->begin[s + 1] = out->begin[s] + find_arrivals_of(order, by_track, s, known, NULL);
    out->list = tni_arena_take_array(arena, out->begin[order->step_count], sizeof *out->list);
    for (uint32_t s = 0; out->list && s < order->step_count; s++)
        (void)find_arrivals_of(order, by_track, s, known, out->list + out->begin[s]);
    return out->list;
}

// Whether a block is over before a step since it is before one that the step begins after. `over`:
// by track, where in its steps the first is before which the block is over.
static bool is_implied(const tni_plan_order *order, const tni_tracks *by_track, const arrivals *a,
                       const uint32_t *over, uint32_t step)
{
    for (uint32_t i = a->begin[step]; i < a->begin[step + 1]; i++)
        if (by_track->at[a->list[i]] >= over[order->track[a->list[i]]])
            return true;
    return false;
}

// The step whose end a block waits for, since all else that it waits for ends before; TNP_NONE.
static uint32_t last_step_of(const tni_block_rules *rules, uint32_t block)
{
    const tni_plan_order *order = rules->given->order;
    const tni_block_end *ends = rules->ends + rules->first_end[block], *last = ends;
    uint32_t count = rules->first_end[block + 1] - rules->first_end[block];
    for (uint32_t i = 0; i < count; i++)
        last = ends[i].end > last->end ? &ends[i] : last;
    if (count == 0 || order->track[last->end - 1] != last->track)
        return TNP_NONE;
    const uint32_t *done = order->done + (size_t)(last->end - 1) * order->track_count;
    for (uint32_t i = 0; i < count; i++)
        if (&ends[i] != last && ends[i].end > done[ends[i].track])
            return TNP_NONE;
    return last->end - 1;
}

static void add_block_edges(network *n, const tni_block_rules *rules, const tni_tracks *by_track,
                            const arrivals *a, uint32_t block, uint32_t *over)
{
    const tni_plan_order *order = rules->given->order;
    for (uint32_t t = 0; t < order->track_count; t++)
        over[t] = tni_plan_first_over(rules, by_track, block, t);
    for (uint32_t t = 0; t < order->track_count; t++)
        if (over[t] < by_track->begin[t + 1] &&
            !is_implied(order, by_track, a, over, by_track->steps[over[t]]))
            add_edge(n, 2 * n->step_count + block, by_track->steps[over[t]], NO_END);
}

static void add_edges(network *n, const tni_block *blocks, uint32_t count,
                      const tni_block_rules *rules, const tni_tracks *by_track, const arrivals *a,
                      uint64_t *begins, uint32_t *over)
{
    n->edge_count = 0;
    for (uint32_t b = 0; b < count; b++) {
        if (blocks[b].bytes == 0)
            continue;
        uint32_t last = last_step_of(rules, b), block = 2 * n->step_count + b;
        add_edge(n, n->source, last == TNP_NONE ? block : n->step_count + last, blocks[b].bytes);
        if (last == TNP_NONE)
            add_block_edges(n, rules, by_track, a, b, over);
    }
    for (uint32_t s = 0; s < n->step_count; s++) {
        uint32_t at = by_track->at[s];
        add_edge(n, s, n->step_count + s, NO_END);
        if (at > by_track->begin[rules->given->order->track[s]])
            add_edge(n, n->step_count + by_track->steps[at - 1], s, NO_END);
        for (uint32_t i = a->begin[s]; i < a->begin[s + 1]; i++)
            add_edge(n, n->step_count + a->list[i], s, NO_END);
        if (begins[s])
            add_edge(n, s, n->sink, begins[s]);
    }
}

static bool make_network(network *n, const tni_block *blocks, uint32_t count,
                         const tni_block_rules *rules, tni_arena *arena)
{
    const tni_plan_order *order = rules->given->order;
    size_t steps = order->step_count, tracks = order->track_count;
    tni_tracks by_track;
    arrivals a;
    *n = (network){ .step_count = order->step_count };
    if (2 * (steps + count) * (tracks + 2) >= TNP_NONE)
        return true;   // no nodes: too many steps to find it
    n->source = 2 * order->step_count + count;
    n->sink = n->source + 1;
    n->node_count = n->sink + 1;
    n->head = tni_arena_take_indices(arena, n->node_count);
    n->distance = tni_arena_take_array(arena, n->node_count, sizeof *n->distance);
    n->at = tni_arena_take_array(arena, n->node_count, sizeof *n->at);
    n->queue = tni_arena_take_array(arena, n->node_count, sizeof *n->queue);
    uint64_t *begins = tni_arena_take_array(arena, steps, sizeof *begins);
    uint32_t *over = tni_arena_take_array(arena, tracks, sizeof *over);
    if (!n->head || !n->distance || !n->at || !n->queue || !begins || !over ||
        !tni_plan_tracks_make(order, arena, &by_track) ||
        !find_arrivals(order, &by_track, arena, &a))
        return false;
    for (uint32_t b = 0; b < count; b++)
        begins[blocks[b].first] += blocks[b].bytes;
    add_edges(n, blocks, count, rules, &by_track, &a, begins, over);
    n->edges = tni_arena_take_array(arena, n->edge_count, sizeof *n->edges);
    if (!n->edges)
        return false;
    add_edges(n, blocks, count, rules, &by_track, &a, begins, over);
    return true;
}

// How far each node is from the source over edges with room; whether the sink can be reached.
static bool find_distances(network *n)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < n->node_count; i++)
        n->distance[i] = TNP_NONE;
    n->distance[n->source] = 0;
    n->queue[0] = n->source;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = n->queue[i];
        for (uint32_t e = n->head[node]; e != TNP_NONE; e = n->edges[e].next) {
            n->work++;
            if (n->edges[e].room == 0 || n->distance[n->edges[e].to] != TNP_NONE)
                continue;
            n->distance[n->edges[e].to] = n->distance[node] + 1;
            n->queue[count++] = n->edges[e].to;
        }
    }
    return n->distance[n->sink] != TNP_NONE;
}

// Fills shortest ways from source to sink, until none is left. The path so far is in the queue.
static uint64_t fill_shortest(network *n)
{
    uint64_t filled = 0;
    uint32_t length = 0, node = n->source;
    for (uint32_t i = 0; i < n->node_count; i++)
        n->at[i] = n->head[i];
    while (n->work < MOST_WORK) {
        n->work++;
        if (node == n->sink) {
            uint64_t room = NO_END;
            for (uint32_t i = 0; i < length; i++)
                room = n->edges[n->queue[i]].room < room ? n->edges[n->queue[i]].room : room;
            for (uint32_t i = length; i-- > 0;) {
                edge *e = &n->edges[n->queue[i]], *reverse = &n->edges[n->queue[i] ^ 1];
                e->room -= e->room == NO_END ? 0 : room;
                reverse->room += reverse->room == NO_END ? 0 : room;
                if (e->room == 0) {   // go on from where the way is full
                    length = i;
                    node = reverse->to;
                }
            }
            n->work += length;
            filled += room;
            continue;
        }
        uint32_t e = n->at[node];
        if (e == TNP_NONE) {   // no way from here
            if (node == n->source)
                break;
            node = n->edges[n->queue[--length] ^ 1].to;
            n->at[node] = n->edges[n->at[node]].next;
        } else if (n->edges[e].room && n->distance[n->edges[e].to] == n->distance[node] + 1) {
            n->queue[length++] = e;
            node = n->edges[e].to;
        } else {
            n->at[node] = n->edges[e].next;
        }
    }
    return filled;
}

bool tni_plan_order_bound(const tni_block *blocks, uint32_t count, const tni_block_rules *rules,
                          tni_arena *arena, uint64_t *bound)
{
    network n;
    uint64_t sum = 0, handed_on = 0;
    if (!make_network(&n, blocks, count, rules, arena))
        return false;
    for (uint32_t b = 0; b < count; b++)
        sum += blocks[b].bytes;
    while (n.node_count && n.work < MOST_WORK && find_distances(&n))
        handed_on += fill_shortest(&n);
    if (n.node_count && n.work < MOST_WORK && sum - handed_on > *bound)
        *bound = sum - handed_on;
    return true;
}
