// resident.c: the constants that a claim has resident on its place: as they are, unless the device
// uses them where they lie, and packed.
#include <stdlib.h>

#include "sched/sched_internal.h"

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int tni_resident_bytes_compare(const void *left, const void *right)
{
    const tni_resident_bytes *a = left, *b = right;
    int sign = compare(a->place, b->place);
    sign = sign ? sign : compare((uintptr_t)a->data, (uintptr_t)b->data);
    sign = sign ? sign : compare(a->run_bytes, b->run_bytes);
    sign = sign ? sign : compare(a->layout, b->layout);
    sign = sign ? sign : compare(a->group_rows, b->group_rows);
    return sign ? sign : compare(a->bytes, b->bytes);
}

uint32_t tni_resident_bytes_sort(tni_resident_bytes *list, uint32_t count)
{
    uint32_t left = 0;
    if (count)
        qsort(list, count, sizeof *list, tni_resident_bytes_compare);
    for (uint32_t i = 0; i < count; i++)
        if (left == 0 || tni_resident_bytes_compare(&list[left - 1], &list[i]) != 0)
            list[left++] = list[i];
    return left;
}

uint32_t tni_resident_bytes_find(const tni_resident_bytes *sorted, uint32_t count,
                                 const tni_resident_bytes *what)
{
    const tni_resident_bytes *at = count ? bsearch(what, sorted, count, sizeof *sorted,
                                                   tni_resident_bytes_compare)
                                         : NULL;
    return at ? (uint32_t)(at - sorted) : TNP_NONE;
}

static uint64_t whole(const tni_memories *how, uint32_t place, uint64_t bytes)
{
    uint64_t alignment = how->alignments ? how->alignments[place] : 1;
    return bytes > UINT64_MAX - alignment ? bytes : (bytes + alignment - 1) / alignment * alignment;
}

bool tni_is_mapped(const tni_memories *how, uint32_t storage, uint32_t place)
{
    return how->mapped && storage < how->mapped_count && (how->mapped[storage] >> place & 1);
}

uint32_t tni_resident_bytes_of(const tn_graph *graph, const tni_claim *claim,
                               const tni_memories *how, tni_resident_bytes *out)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < claim->node_count; i++) {
        uint32_t reads[TNI_MAX_READS];
        uint32_t count = tni_node_reads(graph, &graph->nodes[claim->nodes[i]], reads);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t storage = graph->values[reads[k]].storage;
            if (tni_storage_source(graph, storage) != TNI_WEIGHT ||
                tni_is_mapped(how, storage, claim->place))
                continue;
            const tni_value *owner = &graph->values[graph->storages[storage].owner];
            if (out)
                out[found] = (tni_resident_bytes){ .place = claim->place,
                                                   .data = owner->data,
                                                   .run_bytes = owner->run_bytes,
                                                   .bytes = whole(how, claim->place,
                                                                  graph->storages[storage].bytes) };
            found++;
        }
    }
    for (uint32_t p = 0; p < claim->pack_count; p++) {
        const tni_pack *pack = &claim->packs[p];
        const tni_value *value = &graph->values[pack->value];
        const tni_value *owner = &graph->values[graph->storages[value->storage].owner];
        if (pack->flags & TNP_PACK_BAKED)
            continue;
        if (out)
            out[found] = (tni_resident_bytes){ .place = claim->place,
                                               .layout = pack->layout,
                                               .data = (const unsigned char *)owner->data +
                                                       value->offset,
                                               .run_bytes = owner->run_bytes,
                                               .group_rows = pack->group_rows,
                                               .bytes = whole(how, claim->place, pack->bytes) };
        found++;
    }
    return found;
}
