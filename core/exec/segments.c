// segments.c: the schedules of a session in numbers: segments, copies, and what links are reckoned
// to cost (tenon/schedule.h, tenon/tune.h).
#include <math.h>

#include <tenon/tune.h>

#include "base/error.h"
#include "base/options.h"
#include "exec/explain.h"

double tni_copy_ns(const tni_schedule *schedule, uint32_t transfer)
{
    const tni_transfer *t = &schedule->transfers[transfer];
    return tni_links_cost_ns(schedule->links, t->from, t->to,
                             schedule->graph->storages[t->storage].bytes);
}

static double copies_ns(const tni_schedule *schedule, uint64_t *out_bytes)
{
    double sum = 0;
    *out_bytes = 0;
    for (uint32_t t = 0; t < schedule->transfer_count; t++) {
        *out_bytes += schedule->graph->storages[schedule->transfers[t].storage].bytes;
        sum += tni_copy_ns(schedule, t);
    }
    return sum;
}

tn_status tn_session_graph_schedule(const tn_session *session, uint32_t graph,
                                    tn_graph_schedule *out_schedule, tn_error *err)
{
    tni_compiled *compiled = NULL;
    tn_status status = tni_need(err, __func__, "session", session, "out_schedule", out_schedule,
                                NULL);
    if (status == TN_OK)
        status = tni_check_size(out_schedule, __func__, "out_schedule", err);
    if (status == TN_OK)
        status = tni_graphs_planned(session, graph, __func__, &compiled, err);
    tn_graph_schedule schedule = { .size = sizeof schedule };
    if (status == TN_OK) {
        const tni_schedule *s = &compiled->schedule;
        schedule.is_proved_optimal = s->is_proved_optimal;
        schedule.node_count = s->graph->node_count;
        schedule.step_count = s->unit_count;
        schedule.segment_count = s->segment_count;
        schedule.copy_count = s->transfer_count;
        schedule.method = s->method ? s->method : "";
        schedule.cost_ns = s->cost_ns;
        schedule.bound_ns = s->bound_ns;
        schedule.greedy_ns = isfinite(s->greedy_ns) ? s->greedy_ns : 0;
        schedule.greedy_fits = s->greedy_fits;
        schedule.copies_ns = copies_ns(s, &schedule.copy_bytes);
    }
    tni_give_struct(out_schedule, &schedule, sizeof schedule);
    return status;
}

static void tell_segment(const tn_session *session, const tni_compiled *compiled,
                         const tni_offers *offers, uint32_t index, const tn_segment_sink *sink)
{
    const tni_schedule *schedule = &compiled->schedule;
    const tni_segment *segment = &schedule->segments[index];
    tni_boundary boundary = tni_boundary_of(offers, index);
    char reason[TNI_REASON_BYTES];
    tni_boundary_text(session, compiled, offers, index, reason, sizeof reason);
    const char *refusal = boundary.why == TN_BEGINS_UNSUPPORTED
                              ? tni_refusal_of(offers, boundary.node, boundary.before)
                              : NULL;
    tn_segment told = {
        .size = sizeof told,
        .device = session->lanes[segment->place].number,
        .first_step = segment->first_unit,
        .step_count = segment->unit_count,
        .why = boundary.why,
        .first_node = schedule->graph->nodes[schedule->units[segment->first_unit]->nodes[0]].name,
        .reason = reason,
        .op = tni_op_find(schedule->graph->nodes[boundary.node].op)->name,
        .refusal = refusal ? refusal : "",
        .more_ns = boundary.why == TN_BEGINS_COST ? boundary.move.more_ns : 0,
    };
    for (uint32_t u = segment->first_unit; u < segment->first_unit + segment->unit_count; u++) {
        told.node_count += schedule->units[u]->node_count;
        told.cost_ns += schedule->units[u]->cost_ns;
    }
    sink->take(sink->context, &told);
}

tn_status tn_session_segments(const tn_session *session, uint32_t graph,
                              const tn_segment_sink *sink, tn_error *err)
{
    tni_compiled *compiled = NULL;
    tn_status status = tni_need(err, __func__, "session", session, "sink", sink, NULL);
    if (status == TN_OK && !sink->take)
        status = tni_fail(err, TN_E_ARG, "%s: sink->take is NULL", __func__);
    if (status == TN_OK)
        status = tni_graphs_planned(session, graph, __func__, &compiled, err);
    if (status != TN_OK)
        return status;
    tni_arena arena;
    tni_offers offers;
    tni_arena_init(&arena, &session->arena.allocator);
    if (!tni_offers_make(&compiled->schedule, &arena, &offers))
        status = tni_fail_memory(err, "the reasons of a schedule",
                                 compiled->graph->node_count * sizeof(uint32_t));
    for (uint32_t i = 0; i < compiled->schedule.segment_count && status == TN_OK; i++)
        tell_segment(session, compiled, &offers, i, sink);
    tni_arena_finish(&arena);
    return status;
}

tn_status tn_session_copies(const tn_session *session, uint32_t graph,
                            const tn_segment_copy_sink *sink, tn_error *err)
{
    tni_compiled *compiled = NULL;
    tn_status status = tni_need(err, __func__, "session", session, "sink", sink, NULL);
    if (status == TN_OK && !sink->take)
        status = tni_fail(err, TN_E_ARG, "%s: sink->take is NULL", __func__);
    if (status == TN_OK)
        status = tni_graphs_planned(session, graph, __func__, &compiled, err);
    if (status != TN_OK)
        return status;
    const tni_schedule *schedule = &compiled->schedule;
    for (uint32_t t = 0; t < schedule->transfer_count; t++) {
        const tni_transfer *transfer = &schedule->transfers[t];
        const tni_storage *storage = &schedule->graph->storages[transfer->storage];
        const tn_segment_copy told = {
            .size = sizeof told,
            .from = session->lanes[transfer->from].number,
            .to = session->lanes[transfer->to].number,
            .segment = transfer->segment,
            .value = schedule->graph->values[storage->owner].name,
            .bytes = storage->bytes,
            .cost_ns = tni_copy_ns(schedule, t),
        };
        sink->take(sink->context, &told);
    }
    return TN_OK;
}

tn_status tn_session_link(const tn_session *session, uint32_t from, uint32_t to,
                          tn_link_cost *out_link, tn_error *err)
{
    tn_status status = tni_need(err, __func__, "session", session, "out_link", out_link, NULL);
    if (status == TN_OK)
        status = tni_check_size(out_link, __func__, "out_link", err);
    tn_link_cost link = { .size = sizeof link };
    if (status == TN_OK &&
        (from == to || from >= session->candidate_count || to >= session->candidate_count))
        status = tni_fail(err, TN_E_ARG, "%s: from device %u to %u is asked, the session has %u",
                          __func__, from, to, session->candidate_count);
    uint32_t from_place = status == TN_OK ? tni_session_place_of(session, from) : TNP_NONE;
    uint32_t to_place = status == TN_OK ? tni_session_place_of(session, to) : TNP_NONE;
    if (from_place != TNP_NONE && to_place != TNP_NONE) {
        size_t at = (size_t)from_place * session->lane_count + to_place;
        link.known_by = TN_KNOWN_BY_DEFAULT + session->links.known_by[at];
        link.latency_ns = session->links.latency_ns[at];
        link.bytes_per_s = 1e9 / session->links.ns_per_byte[at];
    }
    tni_give_struct(out_link, &link, sizeof link);
    return status;
}
