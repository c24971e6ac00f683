// schedule.c: ask, assign, partition.
#include "base/error.h"
#include "sched/sched_internal.h"

tn_status tni_schedule_make(const tn_graph *graph, tn_device *const *devices, uint32_t device_count,
                            const uint32_t *storage_places, tni_arena *arena,
                            tni_schedule *out_schedule, tn_error *err)
{
    *out_schedule = (tni_schedule){ .graph = graph };
    uint32_t *chosen = tni_arena_take_array(arena, graph->node_count, sizeof *chosen);
    if (!chosen)
        return tni_fail_memory(err, "a schedule", (uint64_t)graph->node_count * sizeof *chosen);
    tn_status status = tni_ask(graph, devices, device_count, arena, &out_schedule->answers, err);
    // Two fusions, each convex, may still wait for each other. Then each node goes alone: always
    // possible, rarely needed.
    bool is_cyclic = true;
    for (int alone = 0; alone < 2 && is_cyclic && status == TN_OK; alone++) {
        tni_assign_request request = { graph, devices,        device_count,
                                       alone, storage_places, &out_schedule->answers };
        status = tni_assign(&request, arena, chosen, err);
        if (status == TN_OK)
            status = tni_partition(chosen, arena, out_schedule, &is_cyclic, err);
    }
    if (status == TN_OK && is_cyclic)
        status = tni_fail(err, TN_E_INTERNAL, "the claims on single nodes wait for each other");
    if (status != TN_OK)
        tni_schedule_finish(out_schedule);
    return status;
}

void tni_schedule_finish(tni_schedule *schedule)
{
    tni_answers_finish(&schedule->answers);
    *schedule = (tni_schedule){ 0 };
}
