// explain.c: the plan of a session in words.
#include <inttypes.h>
#include <string.h>

#include "base/sink.h"
#include "exec/explain.h"

// --------------------------------------------------------------------------------------- refusals

bool tni_refuses_alike(const tni_refusal *a, const tni_refusal *b)
{
    return a->place == b->place && strcmp(a->reason, b->reason) == 0;
}

uint32_t tni_reasons_of(const tni_answers *answers, const tn_graph *graph, uint32_t place,
                        uint32_t op, const tni_refusal *out[TNI_MOST_REASONS])
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < answers->refusal_count && count < TNI_MOST_REASONS; r++) {
        const tni_refusal *refusal = &answers->refusals[r];
        bool is_new = refusal->place == place &&
                      (op == TNP_NONE || graph->nodes[refusal->node].op == op);
        for (uint32_t i = 0; i < count && is_new; i++)
            is_new = !tni_refuses_alike(out[i], refusal);
        if (is_new)
            out[count++] = refusal;
    }
    return count;
}

// ---------------------------------------------------------------------------------------- a graph

// offers NULL: there was no memory to find out why.
static void say_segment(const tn_session *session, const tni_compiled *compiled,
                        const tni_offers *offers, uint32_t index, const tn_sink *sink)
{
    const tni_schedule *schedule = &compiled->schedule;
    const tni_segment *segment = &schedule->segments[index];
    double cost_ns = 0;
    char time[24];
    for (uint32_t u = segment->first_unit; u < segment->first_unit + segment->unit_count; u++)
        cost_ns += schedule->units[u]->cost_ns;
    tni_say(sink, "  segment %u on %s: steps %u to %u, %.3f ms\n", index,
            session->lanes[segment->place].device->name, segment->first_unit,
            segment->first_unit + segment->unit_count - 1, cost_ns / 1e6);
    char reason[TNI_REASON_BYTES];
    if (offers) {
        tni_boundary_text(session, compiled, offers, index, reason, sizeof reason);
        tni_say(sink, "      %s\n", reason);
    }
    for (uint32_t t = 0; t < schedule->transfer_count; t++) {
        const tni_transfer *transfer = &schedule->transfers[t];
        const tni_storage *storage = &schedule->graph->storages[transfer->storage];
        if (transfer->segment == index)
            tni_say(sink, "      after a copy of '%s' from %s, %" PRIu64 " bytes, %s\n",
                    schedule->graph->values[storage->owner].name,
                    session->lanes[transfer->from].device->name, storage->bytes,
                    tni_time_text(tni_copy_ns(schedule, t), time, sizeof time));
    }
}

// What a device offered, and how much of it was taken.
static void say_device(const tn_session *session, const tni_schedule *schedule, uint32_t place,
                       const tn_sink *sink)
{
    uint32_t claims = 0, nodes = 0;
    double offered_ns = 0;
    for (uint32_t c = 0; c < schedule->answers->claim_count; c++)
        if (schedule->answers->claims[c].place == place) {
            claims++;
            offered_ns += schedule->answers->claims[c].cost_ns;
        }
    for (uint32_t n = 0; n < schedule->graph->node_count; n++)
        nodes += schedule->places[n] == place;
    tni_say(sink, "  %s: %u claim%s, %.3f ms together; gets %u node%s\n",
            session->lanes[place].device->name, claims, tni_plural(claims), offered_ns / 1e6, nodes,
            tni_plural(nodes));
    const tni_refusal *reasons[TNI_MOST_REASONS];
    uint32_t reason_count = tni_reasons_of(schedule->answers, schedule->graph, place, TNP_NONE,
                                           reasons);
    for (uint32_t i = 0; i < reason_count; i++)
        tni_say(sink, "      refused '%s': %s\n", schedule->graph->nodes[reasons[i]->node].name,
                reasons[i]->reason);
}

// Why a node was decomposed: what the first device that refused it said.
static const tni_refusal *why_decomposed(const tni_schedule *schedule, uint32_t node)
{
    return tni_find_refusal(&schedule->given_answers, node, TNP_NONE);
}

static bool is_same_reason(const tni_refusal *a, const tni_refusal *b)
{
    return a == b || (a && b && tni_refuses_alike(a, b));
}

// Nodes of one op that were decomposed for one reason, with the first of them.
static void say_decomposed_like(const tn_session *session, const tni_schedule *schedule,
                                uint32_t first, const tn_sink *sink)
{
    const tn_graph *given = schedule->given, *made = schedule->graph;
    const tni_refusal *why = why_decomposed(schedule, first);
    uint32_t alike = 0, steps = 0;
    for (uint32_t n = 0; n < given->node_count; n++) {
        if (!schedule->decomposed[n] || given->nodes[n].op != given->nodes[first].op ||
            !is_same_reason(why, why_decomposed(schedule, n)))
            continue;
        if (n < first)   // told with that one
            return;
        alike++;
    }
    for (uint32_t m = 0; m < made->node_count; m++)
        steps += made->nodes[m].origin == first;
    const char *op = tni_op_find(given->nodes[first].op)->name;
    tni_say(sink, "  decomposed %u %s, '%s' into %u node%s: ", alike, op, given->nodes[first].name,
            steps, tni_plural(steps));
    if (why)
        tni_say(sink, "%s refused it: %s\n", session->lanes[why->place].device->name, why->reason);
    else
        tni_say(sink, "no device claimed it\n");
}

static void say_decomposed(const tn_session *session, const tni_schedule *schedule,
                           const tn_sink *sink)
{
    for (uint32_t n = 0; schedule->own_graph && n < schedule->given->node_count; n++)
        if (schedule->decomposed[n])
            say_decomposed_like(session, schedule, n, sink);
}

static void say_graph(const tn_session *session, const tni_compiled *compiled, const tn_sink *sink)
{
    const tni_schedule *schedule = &compiled->schedule;
    const tn_graph *graph = schedule->graph;
    char text[160];
    tni_say(sink, "graph %u", compiled->given.number);
    for (uint32_t v = 0; v < graph->value_count; v++)
        if (graph->values[v].source == TNI_INPUT) {
            tni_say(sink, ", %s %s", graph->values[v].name,
                    tni_value_text(&graph->values[v], text, sizeof text));
            break;
        }
    tni_say(sink, ": %u node%s, %u segment%s, %u %s, %.3f ms by the cost model", graph->node_count,
            tni_plural(graph->node_count), schedule->segment_count,
            tni_plural(schedule->segment_count), schedule->transfer_count,
            schedule->transfer_count == 1 ? "copy" : "copies", schedule->cost_ns / 1e6);
    // Other places for what is kept were compared by fitting, not by this schedule.
    const char *where = session->lane_count > 1 ? " with states and weights where they are" : "";
    if (schedule->is_proved_optimal)
        tni_say(sink, ", the least there is%s\n", where);
    else
        tni_say(sink, ", none is below %.3f ms%s\n", schedule->bound_ns / 1e6, where);
    say_decomposed(session, schedule, sink);
    for (uint32_t place = 0; place < session->lane_count; place++)
        say_device(session, schedule, place, sink);
    tni_arena arena;
    tni_offers offers;
    tni_arena_init(&arena, &session->arena.allocator);
    bool is_known = tni_offers_make(schedule, &arena, &offers);
    for (uint32_t s = 0; s < schedule->segment_count; s++)
        say_segment(session, compiled, is_known ? &offers : NULL, s, sink);
    tni_arena_finish(&arena);
}

static void say_memory(const tn_session *session, uint32_t place, const tn_sink *sink)
{
    const tni_lane *lane = &session->lanes[place];
    uint64_t state_bytes;
    uint32_t states = tni_states_on(session, place, &state_bytes);
    tni_say(sink,
            "%s: arena of %" PRIu64 " bytes (no plan is below %" PRIu64 "; without sharing %" PRIu64
            "), %u state%s of %" PRIu64 " bytes%s\n",
            lane->device->name, lane->arena_bytes, lane->plan.bound_bytes,
            lane->plan.unshared_bytes, states, tni_plural(states), state_bytes,
            states > 1 ? " together" : "");
}

static void say_cached(const tn_session *session, const tn_sink *sink)
{
    uint64_t cached = 0, made = 0;
    for (uint32_t i = 0; i < session->lane_count; i++) {
        tni_weight_bytes weights;
        tni_weights_report(session, i, &weights);
        cached += weights.cached;
        made += weights.made;
    }
    if (cached)
        tni_say(sink, ", %" PRIu64 " packed in the user's cache, of these %" PRIu64 " made now",
                cached, made);
}

void tn_session_explain(const tn_session *session, const tn_sink *sink)
{
    if (!session)
        return;
    if (session->failure.status != TN_OK) {
        tni_say(sink, "there is no plan any more: %s\n", session->failure.text);
        return;
    }
    for (uint32_t g = 0; g < session->graph_count; g++)
        say_graph(session, session->graphs[g], sink);
    for (uint32_t i = 0; i < session->lane_count; i++)
        say_memory(session, i, sink);
    tni_fit_explain(session, sink);
    tn_memory_report memory = { .size = sizeof memory };
    tn_session_memory(session, &memory);
    tni_say(sink, "weights: %" PRIu64 " bytes where the application has them, %" PRIu64 " copied",
            memory.weight_mapped_bytes, memory.weight_copied_bytes);
    if (memory.weight_shared_bytes)
        tni_say(sink, ", of these %" PRIu64 " shared with other sessions",
                memory.weight_shared_bytes);
    say_cached(session, sink);
    tni_say(sink, "\n");
}
