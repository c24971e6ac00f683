// explain_name.c: what the schedule of a graph has to do with a node, a value, an op or a device.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "base/sink.h"
#include "exec/explain.h"

enum { MOST_NAMES = 6, NEAR = 3 };   // told of one kind

typedef struct telling {
    const tn_session *session;
    const tni_schedule *schedule;
    const tni_compiled *compiled;
    const tn_graph *graph;
    tni_offers offers;
    const char *name;
    const tn_sink *sink;
    uint32_t found;   // in how many ways something has the name
} telling;

static const char *device(const telling *t, uint32_t place)
{
    return t->session->lanes[place].device->name;
}

static bool is_it(const telling *t, const char *name)
{
    return strcmp(t->name, name) == 0;
}

static const char *op_name(const telling *t, uint32_t node)
{
    return tni_op_find(t->graph->nodes[node].op)->name;
}

// "'a', 'b' and 3 more": one more name; say_rest is called behind the last.
static void say_listed(const tn_sink *sink, uint32_t index, const char *name)
{
    if (index < MOST_NAMES)
        tni_say(sink, "%s'%s'", index ? ", " : " ", name);
}

static void say_rest(const tn_sink *sink, uint32_t count)
{
    if (count > MOST_NAMES)
        tni_say(sink, " and %u more", count - MOST_NAMES);
}

// ---------------------------------------------------------------------------------------- a value

static bool reads(const telling *t, uint32_t node, uint32_t storage)
{
    uint32_t values[TNI_MAX_READS];
    uint32_t count = tni_node_reads(t->graph, &t->graph->nodes[node], values);
    bool is_read = false;
    for (uint32_t i = 0; i < count; i++)
        is_read |= t->graph->values[values[i]].storage == storage;
    return is_read;
}

static void say_readers(const telling *t, uint32_t value)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < t->graph->node_count; n++) {
        if (!reads(t, n, t->graph->values[value].storage))
            continue;
        if (!count)
            tni_say(t->sink, "  read by");
        say_listed(t->sink, count++, t->graph->nodes[n].name);
    }
    say_rest(t->sink, count);
    tni_say(t->sink, count ? "\n" : "  read by no node\n");
}

// A weight is on each device that reads it.
static void say_weight_places(const telling *t, uint32_t storage)
{
    uint64_t places = 0;
    for (uint32_t n = 0; n < t->graph->node_count; n++)
        if (reads(t, n, storage))
            places |= UINT64_C(1) << t->schedule->places[n];
    tni_say(t->sink,
            places ? "a weight, kept where it is read: on" : "a weight that no node reads");
    for (uint32_t place = 0, told = 0; place < t->session->lane_count; place++)
        if (places >> place & 1)
            tni_say(t->sink, "%s %s", told++ ? " and" : "", device(t, place));
}

// Where the bytes of a storage are, beside copies of them.
static void say_home(const telling *t, uint32_t storage)
{
    const tni_value *owner = &t->graph->values[t->graph->storages[storage].owner];
    uint32_t state = t->compiled->state_of[storage];
    switch (owner->source) {
    case TNI_INPUT:
        tni_say(t->sink, "an input, sent to where it is read");
        break;
    case TNI_WEIGHT:
        say_weight_places(t, storage);
        break;
    case TNI_STATE:
        if (state == TNP_NONE || t->session->states[state].place == TNP_NONE)
            tni_say(t->sink, "a state that no node touches");
        else
            tni_say(t->sink, "a state, lives on %s", device(t, t->session->states[state].place));
        break;
    default:
        tni_say(t->sink, "made on %s at step %u by '%s'",
                device(t, t->schedule->places[owner->node]), t->schedule->steps[owner->node],
                t->graph->nodes[owner->node].name);
    }
}

static void say_copies_of(const telling *t, uint32_t storage)
{
    char time[24];
    for (uint32_t i = 0; i < t->schedule->transfer_count; i++) {
        const tni_transfer *transfer = &t->schedule->transfers[i];
        if (transfer->storage == storage)
            tni_say(t->sink, "  copied from %s to %s before segment %u: %" PRIu64 " bytes, %s\n",
                    device(t, transfer->from), device(t, transfer->to), transfer->segment,
                    t->graph->storages[storage].bytes,
                    tni_time_text(tni_copy_ns(t->schedule, i), time, sizeof time));
    }
}

static void say_value(const telling *t, uint32_t index)
{
    const tni_value *value = &t->graph->values[index];
    char text[160];
    tni_say(t->sink, "value '%s': %s", value->name, tni_value_text(value, text, sizeof text));
    if (value->source == TNI_VIEW)
        tni_say(t->sink, ", a view of '%s'",
                t->graph->values[t->graph->storages[value->storage].owner].name);
    tni_say(t->sink, ", %" PRIu64 " bytes, ", t->graph->storages[value->storage].bytes);
    say_home(t, value->storage);
    tni_say(t->sink, "\n");
    say_readers(t, index);
    say_copies_of(t, value->storage);
}

// ----------------------------------------------------------------------------------------- a node

static void say_claim(const telling *t, uint32_t node, const tni_claim *claim)
{
    char time[24];
    bool is_chosen = t->schedule->units[t->schedule->steps[node]] == claim;
    tni_say(t->sink, "    %s: %s", device(t, claim->place),
            tni_time_text(claim->cost_ns, time, sizeof time));
    if (claim->node_count > 1) {
        tni_say(t->sink, " as '%s', with", claim->name);
        for (uint32_t i = 0, told = 0; i < claim->node_count; i++)
            if (claim->nodes[i] != node)
                say_listed(t->sink, told++, t->graph->nodes[claim->nodes[i]].name);
        say_rest(t->sink, claim->node_count - 1);
    }
    tni_say(t->sink, is_chosen ? ", chosen\n" : "\n");
}

static void say_offers(const telling *t, uint32_t node)
{
    const tni_answers *answers = t->schedule->answers;
    tni_say(t->sink, "  claims\n");
    for (uint32_t i = t->offers.first_claim[node]; i < t->offers.first_claim[node + 1]; i++)
        say_claim(t, node, &answers->claims[t->offers.claims[i]]);
    for (uint32_t i = t->offers.first_refusal[node]; i < t->offers.first_refusal[node + 1]; i++) {
        const tni_refusal *refusal = &answers->refusals[t->offers.refusals[i]];
        tni_say(t->sink, "    %s refused it: %s\n", device(t, refusal->place), refusal->reason);
    }
}

// Why the claim that was chosen is the one: what each other device would make of it.
static void say_why(const telling *t, uint32_t node)
{
    const tni_claim *unit = t->schedule->units[t->schedule->steps[node]];
    static const char *const rules[] = {
        [TNI_WHY_COST] = NULL,
        [TNI_WHY_PINNED] = "it, or what it touches, is pinned there",
        [TNI_WHY_LAYER] = "its layer was given to it",
        [TNI_WHY_STATE] = "a state that it touches is there",
        [TNI_WHY_MEMORY] = "a weight that it reads is there already, and memory is short",
    };
    const tni_bars *bars = &t->schedule->bars;
    tni_why why = tni_step_rule(&t->offers, t->schedule->steps[node]);
    const char *rule = why == TNI_WHY_MEMORY && !bars->barred[node] ? NULL : rules[why];
    uint32_t taking = 0;
    char time[24];
    tni_say(t->sink, "  on %s because\n", device(t, unit->place));
    if (rule)
        tni_say(t->sink, "    %s\n", rule);
    for (uint32_t place = 0; place < t->session->lane_count; place++)
        if (bars->roomless[node] >> place & 1)
            tni_say(t->sink, "    there is no room for it on %s\n", device(t, place));
    for (uint32_t place = 0; place < t->session->lane_count; place++) {
        if (place == unit->place)
            continue;
        tni_move move = tni_move_of(&t->offers, t->schedule->steps[node], place);
        if (!move.is_taken)
            continue;
        taking++;
        tni_say(t->sink, "    on %s the whole would cost %s %s", device(t, place),
                tni_time_text(move.more_ns < 0 ? -move.more_ns : move.more_ns, time, sizeof time),
                move.more_ns < 0 ? "less" : "more");
        if (move.tied != TNP_NONE)
            tni_say(t->sink, ", but it touches '%s', which lives on %s with all that touches it",
                    t->graph->values[t->graph->storages[move.tied].owner].name,
                    device(t, unit->place));
        tni_say(t->sink, "\n");
    }
    if (!taking)
        tni_say(t->sink, "    no other device takes it\n");
}

static void say_operands(const telling *t, uint32_t node)
{
    const tni_node *n = &t->graph->nodes[node];
    char text[160];
    tni_say(t->sink, "  operands\n");
    for (uint32_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] == TNP_NONE)
            continue;
        const tni_value *value = &t->graph->values[n->inputs[i]];
        tni_say(t->sink, "    '%s' %s, ", value->name, tni_value_text(value, text, sizeof text));
        say_home(t, value->storage);
        for (uint32_t c = 0; c < t->schedule->transfer_count; c++)
            if (t->schedule->transfers[c].storage == value->storage &&
                t->schedule->transfers[c].to == t->schedule->places[node])
                tni_say(t->sink, ", copied from there");
        tni_say(t->sink, "\n");
    }
}

static uint32_t segment_of(const telling *t, uint32_t step)
{
    uint32_t segment = 0;
    while (segment + 1 < t->schedule->segment_count &&
           t->schedule->segments[segment + 1].first_unit <= step)
        segment++;
    return segment;
}

static void say_node(const telling *t, uint32_t node)
{
    const tni_node *n = &t->graph->nodes[node];
    uint32_t step = t->schedule->steps[node], segment = segment_of(t, step);
    char reason[TNI_REASON_BYTES];
    tni_say(t->sink, "node '%s': %s", n->name, op_name(t, node));
    if (n->mark.layer != TN_NO_LAYER)
        tni_say(t->sink, " of layer %u", n->mark.layer);
    tni_say(t->sink, ", step %u of %u, on %s in segment %u\n", step, t->schedule->unit_count,
            device(t, t->schedule->places[node]), segment);
    say_offers(t, node);
    say_why(t, node);
    if (step == t->schedule->segments[segment].first_unit) {
        tni_boundary_text(t->session, t->compiled, &t->offers, segment, reason, sizeof reason);
        tni_say(t->sink, "  segment %u begins here: %s\n", segment, reason);
    }
    say_operands(t, node);
}

// A node of the application's graph that others stand for.
static void say_decomposed(const telling *t, uint32_t node)
{
    const tn_graph *given = t->schedule->given;
    const tni_answers *answers = &t->schedule->given_answers;
    uint32_t count = 0;
    tni_say(t->sink, "node '%s': %s, decomposed into", given->nodes[node].name,
            tni_op_find(given->nodes[node].op)->name);
    for (uint32_t m = 0; m < t->graph->node_count; m++)
        if (t->graph->nodes[m].origin == node)
            say_listed(t->sink, count++, t->graph->nodes[m].name);
    say_rest(t->sink, count);
    tni_say(t->sink, "\n");
    for (uint32_t r = 0; r < answers->refusal_count; r++)
        if (answers->refusals[r].node == node)
            tni_say(t->sink, "    %s refused it: %s\n", device(t, answers->refusals[r].place),
                    answers->refusals[r].reason);
}

static bool is_decomposed(const telling *t, uint32_t node)
{
    return t->schedule->own_graph && t->schedule->decomposed[node];
}

// ---------------------------------------------------------------------------------- ops, devices

// Each reason of a device, with how often it was given. op: of nodes of this op; TNP_NONE = of all.
static void say_refusals(const telling *t, const tn_graph *graph, const tni_answers *answers,
                         uint32_t place, uint32_t op)
{
    const tni_refusal *reasons[TNI_MOST_REASONS];
    uint32_t count = tni_reasons_of(answers, graph, place, op, reasons);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t alike = 0;
        for (uint32_t r = 0; r < answers->refusal_count; r++)
            alike += tni_refuses_alike(&answers->refusals[r], reasons[i]) &&
                     (op == TNP_NONE || graph->nodes[answers->refusals[r].node].op == op);
        tni_say(t->sink, "  %s refused %u, '%s' the first: %s\n", device(t, place), alike,
                graph->nodes[reasons[i]->node].name, reasons[i]->reason);
    }
}

// Segments that begin because a device refused a node of an op; of which the op is the first.
static void say_boundaries_of_op(const telling *t, uint32_t op)
{
    uint32_t begins = 0, ends = 0;
    for (uint32_t s = 1; s < t->schedule->segment_count; s++) {
        tni_boundary b = tni_boundary_of(&t->offers, s);
        if (b.why == TN_BEGINS_UNSUPPORTED && t->graph->nodes[b.node].op == op)
            begins++;
        const tni_segment *before = &t->schedule->segments[s - 1];
        const tni_claim *last = t->schedule->units[before->first_unit + before->unit_count - 1];
        ends += t->graph->nodes[last->nodes[last->node_count - 1]].op == op;
    }
    if (begins || ends)
        tni_say(t->sink, "  %u segment%s begin%s because it is refused, %u end%s with it\n", begins,
                tni_plural(begins), begins == 1 ? "s" : "", ends, ends == 1 ? "s" : "");
}

static void say_op(const telling *t, uint32_t op)
{
    const tni_schedule *s = t->schedule;
    uint32_t count = 0, given = 0, decomposed = 0;
    for (uint32_t n = 0; n < t->graph->node_count; n++)
        count += t->graph->nodes[n].op == op;
    for (uint32_t n = 0; n < s->given->node_count; n++)
        if (s->given->nodes[n].op == op) {
            given++;
            decomposed += is_decomposed(t, n);
        }
    tni_say(t->sink, "op %s: %u node%s", t->name, count + decomposed,
            tni_plural(count + decomposed));
    if (decomposed)
        tni_say(t->sink, ", %u of them decomposed", decomposed);
    for (uint32_t place = 0; place < t->session->lane_count; place++) {
        uint32_t here = 0;
        for (uint32_t n = 0; n < t->graph->node_count; n++)
            here += t->graph->nodes[n].op == op && s->places[n] == place;
        if (here)
            tni_say(t->sink, ", %u on %s", here, device(t, place));
    }
    tni_say(t->sink, "\n");
    for (uint32_t place = 0; place < t->session->lane_count; place++)
        say_refusals(t, given ? s->given : t->graph, given ? &s->given_answers : s->answers, place,
                     op);
    say_boundaries_of_op(t, op);
}

static void say_device(const telling *t, uint32_t place)
{
    const tni_schedule *s = t->schedule;
    const tni_lane *lane = &t->session->lanes[place];
    uint32_t claims = 0, nodes = 0, segments = 0;
    double cost_ns = 0;
    char time[24];
    for (uint32_t c = 0; c < s->answers->claim_count; c++)
        claims += s->answers->claims[c].place == place;
    for (uint32_t n = 0; n < t->graph->node_count; n++)
        nodes += s->places[n] == place;
    for (uint32_t i = 0; i < s->segment_count; i++)
        segments += s->segments[i].place == place;
    for (uint32_t u = 0; u < s->unit_count; u++)
        cost_ns += s->units[u]->place == place ? s->units[u]->cost_ns : 0;
    tni_say(t->sink, "device %s: %s, %u claim%s, gets %u of %u nodes in %u segment%s, %s\n",
            lane->device->name, lane->device->info.name, claims, tni_plural(claims), nodes,
            t->graph->node_count, segments, tni_plural(segments),
            tni_time_text(cost_ns, time, sizeof time));
    tni_say(t->sink,
            lane->device->measured.claim_ppm ? "  its claims count %.3f times, as measured\n"
                                             : "  its claims count as it says\n",
            tni_measured_claim_factor(&lane->device->measured));
    for (int is_out = 0; is_out < 2; is_out++) {
        uint32_t count = 0;
        uint64_t bytes = 0;
        double ns = 0;
        for (uint32_t i = 0; i < s->transfer_count; i++)
            if ((is_out ? s->transfers[i].from : s->transfers[i].to) == place) {
                count++;
                bytes += t->graph->storages[s->transfers[i].storage].bytes;
                ns += tni_copy_ns(s, i);
            }
        tni_say(t->sink, "  copies %s: %u, %" PRIu64 " bytes, %s\n", is_out ? "out" : "in", count,
                bytes, tni_time_text(ns, time, sizeof time));
    }
    tni_say(t->sink, "  arena %" PRIu64 " bytes; memory %" PRIu64 " bytes\n", lane->arena_bytes,
            lane->memory.total_bytes);
    say_refusals(t, s->given, &s->given_answers, place, TNP_NONE);
}

// One that the session was given and does not use any more.
static void say_left_out(const telling *t, const tn_device *out)
{
    const char *why = "it failed";
    for (uint32_t i = 0; i < t->session->event_count; i++) {
        const tn_session_event *event = &t->session->events[i];
        if (event->kind == TN_EVENT_LEFT_OUT && event->device && is_it(t, event->device))
            why = event->text;
    }
    tni_say(t->sink, "device %s: left out: %s\n", out->name, why);
}

// ----------------------------------------------------------------------------------------- by name

static void say_all(telling *t)
{
    const tni_schedule *s = t->schedule;
    for (uint32_t n = 0; n < t->graph->node_count; n++)
        if (is_it(t, t->graph->nodes[n].name) && ++t->found)
            say_node(t, n);
    for (uint32_t n = 0; n < s->given->node_count; n++)
        if (is_decomposed(t, n) && is_it(t, s->given->nodes[n].name) && ++t->found)
            say_decomposed(t, n);
    for (uint32_t v = 0; v < t->graph->value_count; v++)
        if (is_it(t, t->graph->values[v].name) && ++t->found)
            say_value(t, v);
    for (uint32_t o = 0; o < t->graph->output_count; o++)
        if (is_it(t, t->graph->outputs[o].name) &&
            !is_it(t, t->graph->values[t->graph->outputs[o].value].name) && ++t->found) {
            tni_say(t->sink, "output '%s': ", t->name);
            say_value(t, t->graph->outputs[o].value);
        }
    for (uint32_t place = 0; place < t->session->lane_count; place++)
        if (is_it(t, device(t, place)) && ++t->found)
            say_device(t, place);
    for (uint32_t c = 0; c < t->session->candidate_count; c++) {
        const tni_candidate *candidate = &t->session->candidates[c];
        if (candidate->standing == TNI_LEFT_OUT && is_it(t, candidate->device->name) && ++t->found)
            say_left_out(t, candidate->device);
    }
    for (int pass = 0; pass < 2; pass++) {   // an op of the graph that runs, or of the given one
        const tn_graph *graph = pass ? s->given : t->graph;
        for (uint32_t n = 0; n < graph->node_count; n++)
            if (is_it(t, tni_op_find(graph->nodes[n].op)->name)) {
                t->found++;
                say_op(t, graph->nodes[n].op);
                return;
            }
    }
}

// A word, unless it is one of those that were found before.
static void try_other(tni_nearest *nearest, const char *const *before, uint32_t count,
                      const char *word)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(before[i], word) == 0)
            return;
    tni_nearest_try(nearest, word);
}

static tn_status fail_not_found(const telling *t, tn_error *err)
{
    const char *near[NEAR];
    char list[3 * TNI_NEAREST_BYTES + 40] = "";
    uint32_t count = 0;
    for (tni_nearest nearest; count < NEAR; near[count++] = nearest.word) {
        nearest = tni_nearest_to(t->name);
        for (uint32_t p = 0; p < t->session->lane_count; p++)
            try_other(&nearest, near, count, device(t, p));
        for (uint32_t n = 0; n < t->graph->node_count; n++) {
            try_other(&nearest, near, count, op_name(t, n));
            try_other(&nearest, near, count, t->graph->nodes[n].name);
        }
        for (uint32_t v = 0; v < t->graph->value_count; v++)
            try_other(&nearest, near, count, t->graph->values[v].name);
        for (uint32_t o = 0; o < t->graph->output_count; o++)
            try_other(&nearest, near, count, t->graph->outputs[o].name);
        if (!nearest.word)
            break;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s'%s'", count ? ", " : "; near it are ",
                 nearest.word);
    }
    return tni_fail(err, TN_E_NOT_FOUND, "no node, value, output, op or device has the name '%s'%s",
                    t->name, list);
}

tn_status tn_session_explain_name(const tn_session *session, uint32_t graph, const char *name,
                                  const tn_sink *sink, tn_error *err)
{
    tni_compiled *compiled = NULL;
    tn_status status = tni_need(err, __func__, "session", session, "name", name, "sink", sink,
                                NULL);
    if (status == TN_OK)
        status = tni_graphs_planned(session, graph, __func__, &compiled, err);
    if (status != TN_OK)
        return status;
    telling t = { .session = session,
                  .schedule = &compiled->schedule,
                  .compiled = compiled,
                  .graph = compiled->schedule.graph,
                  .name = name,
                  .sink = sink };
    tni_arena arena;
    tni_arena_init(&arena, &session->arena.allocator);
    if (tni_offers_make(t.schedule, &arena, &t.offers))
        say_all(&t);
    else
        status = tni_fail_memory(err, "the reasons of a schedule",
                                 compiled->graph->node_count * sizeof(uint32_t));
    if (status == TN_OK && !t.found)
        status = fail_not_found(&t, err);
    tni_arena_finish(&arena);
    return status;
}
