// kept.c: bytes that stay on one place.
#include "sched/sched_internal.h"

static bool is_kept(const tn_graph *graph, const bool *is_written_through, uint32_t storage)
{
    return is_written_through[storage] || tni_storage_source(graph, storage) == TNI_STATE;
}

// The least storage of its group; paths become shorter on the way (path halving: Tarjan and van
// Leeuwen, 1984).
static uint32_t first_of(uint32_t *groups, uint32_t storage)
{
    while (groups[storage] != storage)
        storage = groups[storage] = groups[groups[storage]];
    return storage;
}

static void join(uint32_t *groups, uint32_t a, uint32_t b)
{
    a = first_of(groups, a);
    b = first_of(groups, b);
    if (a < b)
        groups[b] = a;
    else
        groups[a] = b;
}

bool tni_find_kept(const tn_graph *graph, tni_arena *arena, tni_kept *out)
{
    out->is_kept = tni_arena_take_array(arena, graph->storage_count, sizeof *out->is_kept);
    out->groups = tni_arena_take_array(arena, graph->storage_count, sizeof *out->groups);
    if (!out->is_kept || !out->groups)
        return false;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tni_value *made = &graph->values[graph->nodes[n].output];
        out->is_kept[made->storage] |= made->base != TNP_NONE;
    }
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        out->is_kept[s] = is_kept(graph, out->is_kept, s);
        out->groups[s] = s;
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t values[TNI_MAX_READS + 1], first = TNP_NONE;
        uint32_t count = tni_node_touches(graph, &graph->nodes[n], values);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t storage = graph->values[values[i]].storage;
            if (!out->is_kept[storage])
                continue;
            if (first != TNP_NONE)
                join(out->groups, first, storage);
            first = storage;
        }
    }
    for (uint32_t s = 0; s < graph->storage_count; s++)
        out->groups[s] = first_of(out->groups, s);
    return true;
}

void tni_kept_begin(const tn_graph *graph, const tni_kept *kept, const uint64_t *places,
                    uint32_t count, uint64_t *holds)
{
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        if (kept->groups[s] == s)   // the least of its group comes first
            holds[s] = UINT64_MAX;
        if (s < count)
            holds[kept->groups[s]] &= places[s];
    }
}

void tni_kept_narrow(const tn_graph *graph, const tni_kept *kept, uint32_t node, uint64_t places,
                     uint64_t *holds)
{
    uint32_t values[TNI_MAX_READS + 1];
    uint32_t count = tni_node_touches(graph, &graph->nodes[node], values);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t storage = graph->values[values[i]].storage;
        if (kept->is_kept[storage])
            holds[kept->groups[storage]] &= places;
    }
}
