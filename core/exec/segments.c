// segments.c: the schedules of a session in numbers: segments, why they begin where they do, and
// copies (tenon/schedule.h).
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "base/macros.h"
#include "base/options.h"
#include "exec/explain.h"

// --------------------------------------------------------------------------------------- in words

const char *tni_time_text(double ns, char *text, size_t room)
{
    double size = fabs(ns);
    if (size < 1e3)
        tni_format_text(text, room, "%.0f ns", ns);
    else if (size < 1e6)
        tni_format_text(text, room, "%.3f us", ns / 1e3);
    else
        tni_format_text(text, room, "%.3f ms", ns / 1e6);
    return text;
}

const char *tn_begins_name(uint32_t why)
{
    static const char *const names[] = {
        [TN_BEGINS_FIRST] = "first",     [TN_BEGINS_UNSUPPORTED] = "unsupported",
        [TN_BEGINS_STATE] = "state",     [TN_BEGINS_COST] = "cost",
        [TN_BEGINS_ORDER] = "order",     [TN_BEGINS_PIN] = "pin",
        [TN_BEGINS_LAYER] = "layer",     [TN_BEGINS_MEMORY] = "memory",
        [TN_BEGINS_OVERLAP] = "overlap",
    };
    return why < TN_COUNT_OF(names) && names[why] ? names[why] : "";
}

static const char *name_of_storage(const tn_graph *graph, uint32_t storage)
{
    return graph->values[graph->storages[storage].owner].name;
}

static void say_cost(const tn_session *session, const tni_boundary *b, const char *name, char *text,
                     size_t room)
{
    char here[24], there[24], more[24];
    const char *before = session->lanes[b->before].device->name;
    tni_time_text(b->move.here_ns, here, sizeof here);
    tni_time_text(b->move.there_ns, there, sizeof there);
    tni_time_text(b->move.more_ns, more, sizeof more);
    if (b->why == TN_BEGINS_COST)
        tni_format_text(text, room,
                        "'%s' takes %s here and %s on %s; with its copies the "
                        "whole would cost %s more",
                        name, here, there, before, more);
    else
        tni_format_text(text, room,
                        "'%s' takes %s here and %s on %s; the whole would cost "
                        "no more",
                        name, here, there, before);
}

static void say_layer(const tni_node *node, const char *here, char *text, size_t room)
{
    if (node->mark.layer == TN_NO_LAYER)
        tni_format_text(text, room, "'%s' belongs to the layers on %s", node->name, here);
    else
        tni_format_text(text, room, "layer %u, with '%s', was given to %s", node->mark.layer,
                        node->name, here);
}

void tni_boundary_text(const tn_session *session, const tni_compiled *compiled,
                       const tni_offers *offers, uint32_t segment, char *text, size_t room)
{
    const tn_graph *graph = compiled->schedule.graph;
    tni_boundary b = tni_boundary_of(offers, segment);
    const tni_node *node = &graph->nodes[b.node];
    const char *here = session->lanes[compiled->schedule.segments[segment].place].device->name;
    const char *before = session->lanes[b.before].device->name;
    const char *refusal;
    char words[TNI_REASON_BYTES], plain[TNI_REASON_BYTES];
    switch (b.why) {
    case TN_BEGINS_FIRST:
        tni_format_text(words, sizeof words, "the graph begins");
        break;
    case TN_BEGINS_OVERLAP:
        tni_format_text(words, sizeof words,
                        "divided at '%s', so that another device can work meanwhile", node->name);
        break;
    case TN_BEGINS_UNSUPPORTED:
        refusal = tni_refusal_of(offers, b.node, b.before);
        tni_format_text(words, sizeof words,
                        refusal ? "%s refused %s '%s': %s" : "%s made no claim on %s '%s' alone",
                        before, tni_op_find(node->op)->name, node->name, refusal);
        break;
    case TN_BEGINS_PIN:
        tni_format_text(words, sizeof words, "'%s', or what it touches, is pinned to %s",
                        node->name, here);
        break;
    case TN_BEGINS_LAYER:
        say_layer(node, here, words, sizeof words);
        break;
    case TN_BEGINS_MEMORY:
        if (b.is_roomless)
            tni_format_text(words, sizeof words, "there is no room for '%s' on %s", node->name,
                            before);
        else
            tni_format_text(words, sizeof words,
                            "a weight of '%s' is on %s already, and memory is short", node->name,
                            here);
        break;
    case TN_BEGINS_STATE:
        tni_format_text(words, sizeof words, "'%s' touches '%s', which lives on %s", node->name,
                        name_of_storage(graph, b.move.tied), here);
        break;
    default:
        say_cost(session, &b, node->name, words, sizeof words);
    }
    tni_format_text(plain, sizeof plain, "%s: %s", tn_begins_name(b.why), words);
    tni_text_make_safe(text, room, plain, sizeof plain);   // names may come from a file
}

// -------------------------------------------------------------------------------------- in numbers

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

double tni_copy_ns(const tni_schedule *schedule, uint32_t transfer)
{
    const tni_transfer *t = &schedule->transfers[transfer];
    return tni_links_cost_ns(schedule->links, t->from, t->to,
                             schedule->graph->storages[t->storage].bytes);
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
        status = tni_graphs_compiled(session, graph, __func__, &compiled, err);
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
        status = tni_graphs_compiled(session, graph, __func__, &compiled, err);
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
        status = tni_graphs_compiled(session, graph, __func__, &compiled, err);
    if (status != TN_OK)
        return status;
    const tni_schedule *schedule = &compiled->schedule;
    for (uint32_t t = 0; t < schedule->transfer_count; t++) {
        const tni_transfer *transfer = &schedule->transfers[t];
        const tn_segment_copy told = {
            .size = sizeof told,
            .from = session->lanes[transfer->from].number,
            .to = session->lanes[transfer->to].number,
            .segment = transfer->segment,
            .value = name_of_storage(schedule->graph, transfer->storage),
            .bytes = schedule->graph->storages[transfer->storage].bytes,
            .cost_ns = tni_copy_ns(schedule, t),
        };
        sink->take(sink->context, &told);
    }
    return TN_OK;
}
