// ties.c: bytes that stay on one place, and which of them together.
#include "sched/sched_internal.h"

static bool is_tied(const tn_graph *graph, const bool *is_written_through, uint32_t storage)
{
    return is_written_through[storage] || tni_storage_source(graph, storage) == TNI_STATE;
}

// The least storage that it is tied to; paths become shorter on the way (path halving: Tarjan and
// van Leeuwen, 1984).
static uint32_t first_of(uint32_t *tied_to, uint32_t storage)
{
    while (tied_to[storage] != storage)
        storage = tied_to[storage] = tied_to[tied_to[storage]];
    return storage;
}

static void join(uint32_t *tied_to, uint32_t a, uint32_t b)
{
    a = first_of(tied_to, a);
    b = first_of(tied_to, b);
    if (a < b)
        tied_to[b] = a;
    else
        tied_to[a] = b;
}

bool tni_ties_find(const tn_graph *graph, tni_arena *arena, tni_ties *out)
{
    out->is_tied = tni_arena_take_array(arena, graph->storage_count, sizeof *out->is_tied);
    out->tied_to = tni_arena_take_array(arena, graph->storage_count, sizeof *out->tied_to);
    if (!out->is_tied || !out->tied_to)
        return false;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tni_value *made = &graph->values[graph->nodes[n].output];
        out->is_tied[made->storage] |= made->base != TNP_NONE;
    }
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        out->is_tied[s] = is_tied(graph, out->is_tied, s);
        out->tied_to[s] = s;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t values[TNI_MAX_READS + 1], first = TNP_NONE;
        uint32_t count = tni_node_touches(graph, &graph->nodes[n], values);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t storage = graph->values[values[i]].storage;
            if (!out->is_tied[storage])
                continue;
            if (first != TNP_NONE)
                join(out->tied_to, first, storage);
            first = storage;
        }
    }
    for (uint32_t s = 0; s < graph->storage_count; s++)
        out->tied_to[s] = first_of(out->tied_to, s);
    return true;
}

void tni_ties_begin(const tn_graph *graph, const tni_ties *ties, const uint64_t *places,
                    uint32_t count, uint64_t *holds)
{
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        if (ties->tied_to[s] == s)   // the least comes first
            holds[s] = UINT64_MAX;
        if (s < count)
            holds[ties->tied_to[s]] &= places[s];
    }
}

void tni_ties_narrow(const tn_graph *graph, const tni_ties *ties, uint32_t node, uint64_t places,
                     uint64_t *holds)
{
    uint32_t values[TNI_MAX_READS + 1];
    uint32_t count = tni_node_touches(graph, &graph->nodes[node], values);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t storage = graph->values[values[i]].storage;
        if (ties->is_tied[storage])
            holds[ties->tied_to[storage]] &= places;
    }
}

uint64_t tni_ties_places(const tn_graph *graph, const tni_ties *ties, uint32_t node,
                         const uint64_t *holds)
{
    uint32_t values[TNI_MAX_READS + 1];
    uint32_t count = tni_node_touches(graph, &graph->nodes[node], values);
    uint64_t places = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++)
        places &= holds[ties->tied_to[graph->values[values[i]].storage]];
    return places;
}

uint32_t tni_ties_touched(const tn_graph *graph, const bool *is_tied, uint32_t node)
{
    uint32_t values[TNI_MAX_READS + 1];
    uint32_t count = tni_node_touches(graph, &graph->nodes[node], values);
    for (uint32_t i = 0; i < count; i++)
        if (is_tied[graph->values[values[i]].storage])
            return graph->values[values[i]].storage;
    return TNP_NONE;
}
