// layers.c: which layers the graphs of a session have, what they keep, and where a placement wants
// them.
#include <stdlib.h>

#include "base/error.h"
#include "sched/placement.h"

static int compare_marks(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

uint32_t tni_layers_index(const tni_layers *layers, uint32_t mark)
{
    const uint32_t *at = layers->count ? bsearch(&mark, layers->marks, layers->count, sizeof mark,
                                                 compare_marks)
                                       : NULL;
    return at ? (uint32_t)(at - layers->marks) : TNP_NONE;
}

// Adds up what each layer keeps in one graph, into bytes {count}, zero before.
static bool weigh(const tn_graph *graph, const tni_layers *layers, tni_arena *scratch,
                  uint64_t *bytes)
{
    uint32_t *layer_of = tni_arena_take_indices(scratch, graph->storage_count);
    for (uint32_t n = 0; n < graph->node_count && layer_of; n++) {
        uint32_t values[TNI_MAX_READS + 1];
        uint32_t layer = tni_layers_index(layers, graph->nodes[n].mark.layer);
        uint32_t count = tni_node_touches(graph, &graph->nodes[n], values);
        for (uint32_t i = 0; i < count && layer != TNP_NONE; i++) {
            uint32_t storage = graph->values[values[i]].storage;
            tni_source source = tni_storage_source(graph, storage);
            if ((source == TNI_WEIGHT || source == TNI_STATE) && layer < layer_of[storage])
                layer_of[storage] = layer;
        }
    }
    for (uint32_t s = 0; s < graph->storage_count && layer_of; s++)
        if (layer_of[s] != TNP_NONE)
            bytes[layer_of[s]] += graph->storages[s].bytes;
    return layer_of != NULL;
}

tn_status tni_layers_find(const tn_graph *const *graphs, uint32_t graph_count, tni_arena *arena,
                          tni_layers *out, tn_error *err)
{
    size_t most = 0;
    uint32_t found = 0;
    *out = (tni_layers){ .main_place = TNP_NONE };
    for (uint32_t g = 0; g < graph_count; g++)
        most += graphs[g]->node_count;
    uint32_t *marks = tni_arena_take_array(arena, most, sizeof *marks);
    for (uint32_t g = 0; g < graph_count && marks; g++)
        for (uint32_t n = 0; n < graphs[g]->node_count; n++)
            if (graphs[g]->nodes[n].mark.layer != TN_NO_LAYER)
                marks[found++] = graphs[g]->nodes[n].mark.layer;
    if (found)
        qsort(marks, found, sizeof *marks, compare_marks);
    for (uint32_t i = 0; i < found; i++)
        if (i == 0 || marks[i] != marks[out->count - 1])
            marks[out->count++] = marks[i];
    out->marks = marks;
    out->bytes = tni_arena_take_array(arena, out->count, sizeof *out->bytes);
    out->wishes = tni_arena_take_array(arena, out->count, sizeof *out->wishes);
    bool has_memory = marks && out->bytes && out->wishes;
    for (uint32_t g = 0; g < graph_count && has_memory; g++) {
        uint64_t *bytes = tni_arena_take_array(arena, out->count, sizeof *bytes);
        has_memory = bytes && weigh(graphs[g], out, arena, bytes);
        for (uint32_t i = 0; i < out->count && has_memory; i++)
            out->bytes[i] = bytes[i] > out->bytes[i] ? bytes[i] : out->bytes[i];
    }
    return has_memory ? TN_OK : tni_fail_memory(err, "a placement", most * sizeof *marks);
}

// The split, the CPUs beside it, and the main device, of the devices that are there.
static void find_places(const tni_placement *p, tn_device *const *devices, uint32_t device_count,
                        tni_layers *layers)
{
    layers->split_places = layers->rest_places = 0;
    layers->main_place = TNP_NONE;
    for (uint32_t i = 0; i < p->split_count; i++) {
        uint32_t place = tni_place_of(devices, device_count, p->split[i]);
        if (place == TNP_NONE)
            continue;
        layers->split_places |= UINT64_C(1) << place;
        if (layers->main_place == TNP_NONE)
            layers->main_place = place;
    }
    for (uint32_t i = 0; i < device_count; i++)
        if (tni_is_cpu(devices[i]) && !(layers->split_places >> i & 1))
            layers->rest_places |= UINT64_C(1) << i;
    uint32_t wanted = p->main_device ? tni_place_of(devices, device_count, p->main_device)
                                     : TNP_NONE;
    layers->main_place = wanted == TNP_NONE ? layers->main_place : wanted;
}

// Whole layers over the devices of the split that have a share.
static bool divide_layers(const tni_placement *p, tn_device *const *devices, uint32_t device_count,
                          const uint64_t *free_bytes, tni_arena *scratch, tni_layers *layers)
{
    uint32_t first = layers->count - layers->offloaded, count = 0;
    uint32_t places[TNI_MAX_PLACES], ends[TNI_MAX_PLACES];
    double shares[TNI_MAX_PLACES];
    bool is_told = true;
    for (uint32_t i = 0; i < p->split_count; i++) {
        uint32_t place = tni_place_of(devices, device_count, p->split[i]);
        double share = p->shares ? p->shares[i] : place == TNP_NONE ? 0 : (double)free_bytes[place];
        if (place == TNP_NONE || (p->shares && !(share > 0)))
            continue;
        is_told &= share > 0;
        places[count] = place;
        shares[count++] = share;
    }
    for (uint32_t i = 0; i < count && !is_told; i++)
        shares[i] = 1;
    if (count == 0)   // the devices with a share are gone
        return true;
    if (!tni_apportion(layers->bytes + first, layers->offloaded, shares, count, scratch, ends))
        return false;
    for (uint32_t d = 0, i = 0; d < count; d++)
        for (; i < ends[d]; i++)
            layers->wishes[first + i] = UINT64_C(1) << places[d];
    return true;
}

tn_status tni_layers_place(const tni_placement *placement, tn_device *const *devices,
                           uint32_t device_count, const uint64_t *free_bytes, uint32_t offloaded,
                           tni_arena *scratch, tni_layers *layers, tn_error *err)
{
    find_places(placement, devices, device_count, layers);
    layers->offloaded = offloaded < layers->count ? offloaded : layers->count;
    uint32_t first = layers->count - layers->offloaded;
    bool are_all_cpus = layers->main_place != TNP_NONE && tni_is_cpu(devices[layers->main_place]);
    if (first && !layers->rest_places && !are_all_cpus)
        return tni_fail(err, TN_E_ARG,
                        "placement: %u of %u layers are not for the devices of the split, and "
                        "there is no CPU beside them for these",
                        first, layers->count);
    for (uint32_t i = 0; i < layers->count; i++)
        layers->wishes[i] = i < first && layers->rest_places ? layers->rest_places
                                                             : layers->split_places;
    if (placement->split_mode == TN_SPLIT_LAYER)
        return divide_layers(placement, devices, device_count, free_bytes, scratch, layers)
                   ? TN_OK
                   : tni_fail_memory(err, "a placement", layers->count * sizeof *layers->wishes);
    for (uint32_t i = first; i < layers->count && placement->split_mode != TN_SPLIT_FREE; i++)
        if (layers->main_place != TNP_NONE)
            layers->wishes[i] = UINT64_C(1) << layers->main_place;
    return TN_OK;
}
