// transfers.c: what is copied between devices, by the segments as they are: before the first one
// that reads it on a place where it is not, from the place that wrote it last.
#include <string.h>

#include "base/error.h"
#include "sched/sched_internal.h"

typedef struct moving {
    const tni_schedule *schedule;
    uint64_t *holds;    // by storage: places where its bytes are up to date
    uint32_t *holder;   // by storage: the place that wrote it last
    uint32_t segment;   // at hand
    uint32_t count;
    tni_transfer *transfers;   // NULL = count only
} moving;

static void need_here(moving *m, uint32_t value, uint32_t place)
{
    const tn_graph *graph = m->schedule->graph;
    uint32_t storage = graph->values[value].storage;
    uint64_t here = UINT64_C(1) << place;
    if (tni_storage_source(graph, storage) != TNI_MADE || (m->holds[storage] & here) ||
        !m->holds[storage])
        return;
    m->holds[storage] |= here;
    if (m->transfers)
        m->transfers[m->count] = (tni_transfer){ storage, m->holder[storage], place, m->segment };
    m->count++;
}

static void walk_segments(moving *m)
{
    const tni_schedule *s = m->schedule;
    const tn_graph *graph = s->graph;
    memset(m->holds, 0, graph->storage_count * sizeof *m->holds);
    m->count = 0;
    for (m->segment = 0; m->segment < s->segment_count; m->segment++) {
        const tni_segment *segment = &s->segments[m->segment];
        for (uint32_t u = segment->first_unit; u < segment->first_unit + segment->unit_count; u++)
            for (uint32_t i = 0; i < s->units[u]->node_count; i++) {
                const tni_node *node = &graph->nodes[s->units[u]->nodes[i]];
                uint32_t reads[TNI_MAX_READS], count = tni_node_reads(graph, node, reads);
                for (uint32_t k = 0; k < count; k++)
                    need_here(m, reads[k], segment->place);
                uint32_t written = graph->values[node->output].storage;
                m->holds[written] = UINT64_C(1) << segment->place;
                m->holder[written] = segment->place;
            }
    }
}

tn_status tni_find_transfers(tni_schedule *schedule, tni_arena *arena, tni_arena *scratch,
                             tn_error *err)
{
    uint32_t storages = schedule->graph->storage_count;
    moving m = { .schedule = schedule,
                 .holds = tni_arena_take_array(scratch, storages, sizeof *m.holds),
                 .holder = tni_arena_take_array(scratch, storages, sizeof *m.holder) };
    if (m.holds && m.holder) {
        walk_segments(&m);   // counts
        m.transfers = tni_arena_take_array(arena, m.count, sizeof *m.transfers);
    }
    if (!m.transfers)
        return tni_fail_memory(err, "copies", (uint64_t)storages * sizeof *m.holds);
    walk_segments(&m);
    schedule->transfers = m.transfers;
    schedule->transfer_count = m.count;
    return TN_OK;
}
