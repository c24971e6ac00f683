// schedule.c: ask, decompose, assign, partition, find transfers, divide, sequence.
#include "base/error.h"
#include "sched/sched_internal.h"

// Those of the request, or found now. false: out of memory.
static bool take_links(const tni_schedule_request *request, tni_arena *arena, tni_schedule *s)
{
    tni_links *found = request->links ? NULL : tni_arena_take(arena, sizeof *found);
    s->links = request->links ? request->links : found;
    return request->links ||
           (found && tni_links_find(request->devices, request->device_count, arena, found));
}

// What runs at the same time.
static tn_status overlap_segments(tni_schedule *s, tni_arena *arena, tni_arena *scratch,
                                  tn_error *err)
{
    tn_status status = tni_divide_segments(s, arena, scratch, err);
    if (status == TN_OK)
        status = tni_sequence_segments(s, arena, scratch, err);
    return status == TN_OK ? tni_find_transfers(s, arena, scratch, err) : status;
}

static tn_status assign_and_partition(const tni_schedule_request *request, tni_arena *arena,
                                      tni_arena *scratch, tni_schedule *s, tn_error *err)
{
    s->graph = s->own_graph ? s->own_graph : s->given;
    s->answers = s->own_graph ? &s->own_answers : &s->given_answers;
    uint32_t *chosen = tni_arena_take_array(scratch, s->graph->node_count, sizeof *chosen);
    s->bars = (tni_bars){
        .why = tni_arena_take_array(arena, s->graph->node_count, sizeof *s->bars.why),
        .barred = tni_arena_take_array(arena, s->graph->node_count, sizeof *s->bars.barred),
        .roomless = tni_arena_take_array(arena, s->graph->node_count, sizeof *s->bars.roomless),
    };
    if (!chosen || !s->bars.why || !s->bars.barred || !s->bars.roomless ||
        !take_links(request, arena, s))
        return tni_fail_memory(err, "a schedule", (uint64_t)s->graph->node_count * sizeof *chosen);
    tni_solution solution = { 0 };
    tni_assign_request assign = { .of = request,
                                  .graph = s->graph,
                                  .answers = s->answers,
                                  .links = s->links,
                                  .is_decomposed = s->own_graph != NULL };
    tn_status status = tni_assign(&assign, scratch, chosen, &s->bars, &solution, err);
    if (status == TN_OK)
        status = tni_partition(chosen, arena, scratch, s, err);
    if (status == TN_OK)
        status = tni_find_transfers(s, arena, scratch, err);
    if (status == TN_OK && s->transfer_count)   // else nothing waits for another device
        status = overlap_segments(s, arena, scratch, err);
    s->cost_ns = solution.cost_ns;
    s->bound_ns = solution.bound_ns;
    s->greedy_ns = solution.greedy_ns;
    s->greedy_fits = solution.greedy_fits;
    s->is_proved_optimal = solution.is_proved_optimal;
    s->method = solution.method;
    s->work += solution.work;
    return status;
}

tn_status tni_schedule_make(const tni_schedule_request *request, tni_arena *arena,
                            tni_schedule *out_schedule, tn_error *err)
{
    *out_schedule = (tni_schedule){ .given = request->graph, .graph = request->graph };
    out_schedule->answers = &out_schedule->given_answers;
    if (request->device_count > TNI_MAX_PLACES)
        return tni_fail(err, TN_E_ARG, "%u devices are given, at most %d are possible",
                        request->device_count, TNI_MAX_PLACES);
    tni_arena scratch;
    tni_arena_init(&scratch, &arena->allocator);
    tn_status status = TN_OK;
    if (request->answers) {
        out_schedule->given_answers = *request->answers;
        *request->answers = (tni_answers){ 0 };
    } else {
        status = tni_ask(request->graph, request->devices, request->device_count, false, &scratch,
                         &out_schedule->given_answers, err);
    }
    if (status == TN_OK)
        status = tni_choose_decompositions(request, arena, out_schedule, err);
    // Each time around, fewer nodes are decomposed.
    bool has_changed = true;
    while (has_changed && status == TN_OK) {
        status = assign_and_partition(request, arena, &scratch, out_schedule, err);
        if (status == TN_OK)
            status = tni_drop_useless_decompositions(request, out_schedule, &has_changed, err);
    }
    tni_arena_finish(&scratch);
    if (status != TN_OK) {
        tni_answers own = { .failed_places = out_schedule->own_answers.failed_places,
                            .failure = out_schedule->own_answers.failure };
        uint64_t work = out_schedule->work;
        tni_schedule_finish(out_schedule);
        out_schedule->work = work;
        out_schedule->own_answers = own;   // who failed is still to be known
    }
    return status;
}

void tni_schedule_drop_graph(tni_schedule *schedule)
{
    tni_answers_finish(&schedule->own_answers);
    tn_graph_destroy(schedule->own_graph);
    schedule->own_graph = NULL;
}

void tni_schedule_finish(tni_schedule *schedule)
{
    tni_schedule_drop_graph(schedule);
    tni_answers_finish(&schedule->given_answers);
    *schedule = (tni_schedule){ 0 };
}
