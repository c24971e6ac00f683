// schedule.c: ask, assign, partition.
#include "base/error.h"
#include "sched/sched_internal.h"

tn_status tni_schedule_make(const tn_graph *graph, tn_device *const *devices, uint32_t device_count,
                            const uint32_t *storage_places, tni_arena *arena,
                            tni_schedule *out_schedule, tn_error *err)
{
    *out_schedule = (tni_schedule){ .graph = graph };
    tni_arena scratch;
    tni_arena_init(&scratch, &arena->allocator);
    uint32_t *chosen = tni_arena_take_array(&scratch, graph->node_count, sizeof *chosen);
    tn_status status = chosen ? tni_ask(graph, devices, device_count, arena, &scratch,
                                        &out_schedule->answers, err)
                              : tni_fail_memory(err, "a schedule",
                                                (uint64_t)graph->node_count * sizeof *chosen);
    // Two fusions, each convex, may still wait for each other. Then each node goes alone: always
    // possible, rarely needed.
    bool is_cyclic = true;
    for (int alone = 0; alone < 2 && is_cyclic && status == TN_OK; alone++) {
        tni_assign_request request = { graph, devices,        device_count,
                                       alone, storage_places, &out_schedule->answers };
        status = tni_assign(&request, &scratch, chosen, err);
        if (status == TN_OK)
            status = tni_partition(chosen, arena, &scratch, out_schedule, &is_cyclic, err);
    }
    if (status == TN_OK && is_cyclic)
        status = tni_fail(err, TN_E_INTERNAL, "the claims on single nodes wait for each other");
    tni_arena_finish(&scratch);
    if (status != TN_OK)
        tni_schedule_finish(out_schedule);
    return status;
}

void tni_schedule_finish(tni_schedule *schedule)
{
    tni_answers_finish(&schedule->answers);
    *schedule = (tni_schedule){ 0 };
}
