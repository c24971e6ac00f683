// order_bound.c: what no plan can be smaller than when steps do not run in a line.
//
// Blocks no two of which may share bytes need the sum of their bytes. "One is over before the other
// begins" is a partial order of the blocks; such a set is an antichain of it, and the heaviest
// weighs as much as the least number of bytes of memory handed on from block to block that serve
// all (Dilworth 1950, with weights). That is the sum of all minus the most that can be handed on, a
// largest flow:
//
//   source ──bytes──► block ──► first step of each track before which it is over
//                               step ──► steps that begin after it
//                               step ──bytes of all that begin there──► sink
//
// Found by Dinic's algorithm, without recursion. It is a clique of what may not share bytes, and so
// exact as far as pairs go; steps of a line have no larger one than their largest sum of live
// bytes.
#include "plan/plan_internal.h"

enum { MOST_WORK = 10000000 };   // edges looked at, some 30 ms

#define NO_END UINT64_MAX   // of the room of an edge; sums of bytes stay below

typedef struct edge {
    uint32_t to, next;   // of the edges from the same node
    uint64_t room;       // or NO_END
} edge;

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

static void add_edge(network *n, uint32_t from, uint32_t to, uint64_t room)
{
    n->edges[n->edge_count] = (edge){ to, n->head[from], room };
    n->head[from] = n->edge_count++;
    n->edges[n->edge_count] = (edge){ from, n->head[to], 0 };
    n->head[to] = n->edge_count++;
}

static bool make_network(network *n, const tni_block *blocks, uint32_t count,
                         const tni_block_rules *rules, tni_arena *arena)
{
    const tni_plan_order *order = rules->given->order;
    size_t steps = order->step_count, tracks = order->track_count;
    size_t edges = 2 * (steps * (tracks + 1) + (size_t)count * (tracks + 1));
    tni_tracks by_track;
    *n = (network){ .step_count = order->step_count };
    if (edges >= TNP_NONE || steps + count + 2 >= TNP_NONE)
        return true;   // no nodes: too many steps to find it
    n->source = order->step_count + count;
    n->sink = n->source + 1;
    n->node_count = n->sink + 1;
    n->edges = tni_arena_take_array(arena, edges, sizeof *n->edges);
    n->head = tni_arena_take_indices(arena, n->node_count);
    n->distance = tni_arena_take_array(arena, n->node_count, sizeof *n->distance);
    n->at = tni_arena_take_array(arena, n->node_count, sizeof *n->at);
    n->queue = tni_arena_take_array(arena, n->node_count, sizeof *n->queue);
    uint64_t *begins = tni_arena_take_array(arena, steps, sizeof *begins);
    if (!n->edges || !n->head || !n->distance || !n->at || !n->queue || !begins ||
        !tni_plan_tracks_make(order, arena, &by_track))
        return false;
    for (uint32_t b = 0; b < count; b++) {
        const uint32_t *ends = rules->ends + b * tracks;
        begins[blocks[b].first] += blocks[b].bytes;
        if (blocks[b].bytes == 0)
            continue;
        add_edge(n, n->source, order->step_count + b, blocks[b].bytes);
        for (uint32_t t = 0; t < order->track_count; t++) {
            uint32_t over = tni_plan_first_over(order, &by_track, ends, t);
            if (over < by_track.begin[t + 1])
                add_edge(n, order->step_count + b, by_track.steps[over], NO_END);
        }
    }
    for (uint32_t s = 0; s < order->step_count; s++) {
        for (uint32_t t = 0; t < order->track_count; t++)
            if (order->done[s * tracks + t])
                add_edge(n, order->done[s * tracks + t] - 1, s, NO_END);
        if (begins[s])
            add_edge(n, s, n->sink, begins[s]);
    }
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
