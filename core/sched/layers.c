// layers.c: which layers the graphs of a session have, what they keep, and where a placement wants
// them.
#include <stdlib.h>
#include <string.h>

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

// Adds up what each part of a layer keeps in one graph, into bytes {part_count + 1, count}, zero
// before.
static bool weigh(const tn_graph *graph, const tni_layers *layers, tni_arena *scratch,
                  uint64_t *bytes)
{
    uint32_t slots = layers->part_count + 1;
    uint32_t *slot_of = tni_arena_take_indices(scratch, graph->storage_count);
    for (uint32_t n = 0; n < graph->node_count && slot_of; n++) {
        uint32_t values[TNI_MAX_READS + 1], part = graph->nodes[n].mark.part;
        uint32_t layer = tni_layers_index(layers, graph->nodes[n].mark.layer);
        uint32_t count = tni_node_touches(graph, &graph->nodes[n], values);
        for (uint32_t i = 0; i < count && layer != TNP_NONE; i++) {
            uint32_t storage = graph->values[values[i]].storage;
            tni_source source = tni_storage_source(graph, storage);
            bool is_first = slot_of[storage] == TNP_NONE || layer < slot_of[storage] / slots;
            if ((source == TNI_WEIGHT || source == TNI_STATE) && is_first)
                slot_of[storage] = layer * slots +
                                   (part < layers->part_count ? part : layers->part_count);
        }
    }
    for (uint32_t s = 0; s < graph->storage_count && slot_of; s++)
        if (slot_of[s] != TNP_NONE)
            bytes[slot_of[s]] += graph->storages[s].bytes;
    return slot_of != NULL;
}

// The most that any graph has of each.
static bool weigh_all(const tn_graph *const *graphs, uint32_t graph_count, tni_arena *arena,
                      tni_layers *layers)
{
    size_t slots = (size_t)layers->part_count + 1, all = slots * layers->count;
    for (uint32_t g = 0; g < graph_count; g++) {
        uint64_t *bytes = tni_arena_take_array(arena, all, sizeof *bytes);
        if (!bytes || !weigh(graphs[g], layers, arena, bytes))
            return false;
        for (size_t i = 0; i < all; i++)
            if (bytes[i] > layers->part_bytes[i])
                layers->part_bytes[i] = bytes[i];
    }
    for (size_t i = 0; i < all; i++)
        layers->bytes[i / slots] += layers->part_bytes[i];
    return true;
}

tn_status tni_layers_find(const tn_graph *const *graphs, uint32_t graph_count,
                          const tni_placement *placement, tni_arena *arena, tni_layers *out,
                          tn_error *err)
{
    size_t most = 0;
    uint32_t found = 0;
    *out = (tni_layers){ .main_place = TNP_NONE,
                         .part_count = tni_placement_has_parts(placement) ? placement->split_count
                                                                          : 0 };
    memset(out->most_bytes, 0xff, sizeof out->most_bytes);
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
    size_t parts = (size_t)out->count * out->part_count;
    out->marks = marks;
    out->bytes = tni_arena_take_array(arena, out->count, sizeof *out->bytes);
    out->wishes = tni_arena_take_array(arena, out->count, sizeof *out->wishes);
    out->part_bytes = tni_arena_take_array(arena, parts + out->count, sizeof *out->part_bytes);
    out->part_wishes = tni_arena_take_array(arena, parts, sizeof *out->part_wishes);
    bool has_memory = marks && out->bytes && out->wishes && out->part_bytes && out->part_wishes;
    return has_memory && weigh_all(graphs, graph_count, arena, out)
               ? TN_OK
               : tni_fail_memory(err, "a placement", most * sizeof *marks);
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

tn_status tni_layers_place(const tni_placement *placement, tn_device *const *devices,
                           uint32_t device_count, const uint64_t *free_bytes, uint32_t offloaded,
                           tni_arena *scratch, tni_layers *layers, tn_error *err)
{
    find_places(placement, devices, device_count, layers);
    layers->offloaded = offloaded < layers->count ? offloaded : layers->count;
    memset(layers->given_bytes, 0, sizeof layers->given_bytes);
    uint32_t first = layers->count - layers->offloaded;
    bool are_all_cpus = layers->main_place != TNP_NONE && tni_is_cpu(devices[layers->main_place]);
    if (first && !layers->rest_places && !are_all_cpus)
        return tni_fail(
            err, TN_E_ARG,
            "placement: gpu_layers: %u of %u layers are not for the devices of the split, and "
            "there is no CPU beside them for these",
            first, layers->count);
    for (uint32_t i = 0; i < layers->count; i++)
        layers->wishes[i] = i < first && layers->rest_places ? layers->rest_places
                                                             : layers->split_places;
    tni_spread spread = TNI_SPREAD_DONE;
    if (placement->split_mode == TN_SPLIT_LAYER)
        spread = tni_spread_layers(placement, devices, device_count, free_bytes, scratch, layers);
    else if (tni_placement_has_parts(placement))
        spread = tni_spread_parts(placement, devices, device_count, layers);
    bool is_one = placement->split_mode == TN_SPLIT_NONE ||
                  (placement->split_mode == TN_SPLIT_FREE &&
                   layers->split_places == UINT64_C(1) << layers->main_place % TNI_MAX_PLACES);
    for (uint32_t i = first; i < layers->count && is_one && layers->main_place != TNP_NONE; i++) {
        layers->wishes[i] = UINT64_C(1) << layers->main_place;
        layers->given_bytes[layers->main_place] += layers->bytes[i];
    }
    if (spread == TNI_SPREAD_FULL)
        return tni_fail(err, TN_E_DEVICE_MEMORY,
                        "%u layers do not fit what the devices have room for", layers->offloaded);
    return spread == TNI_SPREAD_DONE
               ? TN_OK
               : tni_fail_memory(err, "a placement", layers->count * sizeof *layers->wishes);
}
