// fit_words.c: what fitting came to, in words.
#include <inttypes.h>
#include <string.h>

#include <tenon/schedule.h>

#include "base/error.h"
#include "base/integer.h"
#include "base/log.h"
#include "base/options.h"
#include "base/sink.h"
#include "exec/fit_internal.h"

static void name_strategy(const tn_session *session, const tni_fit_try *t, char *out, size_t bytes)
{
    static const char *const names[] = {
        [TNI_FIT_NODES] = "each node where it costs least",
        [TNI_FIT_OFFLOADED] = "whole layers off the CPU",
        [TNI_FIT_CUT] = "layers cut by free memory",
        [TNI_FIT_FILLED] = "layers cut with as many as fit on ",
        [TNI_FIT_ONE] = "all layers on ",
    };
    char held[120] = "";
    if (t->held != TNP_NONE)
        tni_format_text(held, sizeof held, " with '%.60s' on %s", session->fit.held->name,
                        session->devices[t->held]->name);
    tni_format_text(out, bytes, "%s%s%s%s%s", names[t->strategy],
                    t->one == TNP_NONE ? "" : session->devices[t->one]->name, held,
                    t->without == TNP_NONE ? "" : " without ",
                    t->without == TNP_NONE ? "" : session->devices[t->without]->name);
}

typedef void take_compared(void *context, const tn_compared_placement *compared);

// The chosen one first.
static void tell_compared(const tn_session *session, take_compared *take, void *context)
{
    const tni_fit *fit = &session->fit;
    char name[200];
    for (uint32_t i = 0; i < fit->try_count; i++) {
        const tni_fit_try *t = &fit->tries[(fit->chosen + i) % fit->try_count];
        double least = fit->tries[fit->chosen].cost_ns;
        bool has_cost = t->status == TN_OK || t->is_dearer;
        if (!t->is_tried)
            continue;
        name_strategy(session, t, name, sizeof name);
        take(context, &(tn_compared_placement){ .size = sizeof(tn_compared_placement),
                                                .name = name,
                                                .outcome = i == 0               ? TN_COMPARED_CHOSEN
                                                           : t->status == TN_OK ? TN_COMPARED_DEARER
                                                           : t->is_dearer       ? TN_COMPARED_BOUND
                                                                          : TN_COMPARED_NO_ROOM,
                                                .times = !has_cost   ? 0
                                                         : least > 0 ? t->cost_ns / least
                                                                     : 1 });
    }
}

// What was chosen where nobody said, and what it was chosen over.
static void say_compared(void *context, const tn_compared_placement *c)
{
    const tn_sink *sink = context;
    if (c->outcome == TN_COMPARED_CHOSEN)
        tni_say(sink, "placement: chosen by cost: %s", c->name);
    else if (c->outcome == TN_COMPARED_NO_ROOM)
        tni_say(sink, "; %s: does not fit", c->name);
    else
        tni_say(sink, "; %s: %s%.3f times as long", c->name,
                c->outcome == TN_COMPARED_BOUND ? "at least " : "", c->times);
}

// "a and b", or "100 and 200": of the devices of the split.
typedef void tell_device(const tn_session *session, uint32_t place, char *out, size_t bytes);

static void tell_name(const tn_session *session, uint32_t place, char *out, size_t bytes)
{
    tni_format_text(out, bytes, "%s", session->lanes[place].device->name);
}

static void tell_free(const tn_session *session, uint32_t place, char *out, size_t bytes)
{
    tni_format_text(out, bytes, "%" PRIu64, session->fit.free_bytes[place]);
}

// Answers how many devices they are, of which a few are listed.
static uint32_t list_split(const tn_session *session, tell_device *tell, char *out, size_t bytes)
{
    enum { MOST_NAMES = 4 };
    uint32_t count = 0, listed = 0;
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t p = 0; p < session->lane_count; p++)
        count += (uint32_t)(session->layers.split_places >> p & 1);
    for (uint32_t p = 0; p < session->lane_count && listed < MOST_NAMES; p++) {
        if (!(session->layers.split_places >> p & 1))
            continue;
        tni_format_text(out + used, bytes - used, "%s",
                        listed == 0           ? ""
                        : listed + 1 == count ? " and "
                                              : ", ");
        used += strlen(out + used);
        tell(session, p, out + used, bytes - used);
        used += strlen(out + used);
        listed++;
    }
    if (count > listed)
        tni_format_text(out + used, bytes - used, " and %" PRIu32 " more", count - listed);
    return count;
}

// Where the solver divides between devices, none of them was to get a part of its own: "a and b
// would need 300 bytes together, 100 and 50 are free". false: it is not so, or they have room.
static bool name_together(const tn_session *session, char *out, size_t bytes)
{
    const tni_fit *fit = &session->fit;
    uint64_t needed = 0;
    bool is_any_short = false;
    char names[300], room[150];
    uint32_t count = list_split(session, tell_name, names, sizeof names);
    for (uint32_t p = 0; p < session->lane_count; p++)
        if (session->layers.split_places >> p & 1) {
            is_any_short |= fit->asked_bytes[p] > fit->free_bytes[p];
            if (fit->free_bytes[p] == UINT64_MAX ||
                !tni_add_u64(needed, fit->asked_bytes[p], &needed))
                return false;
        }
    list_split(session, tell_free, room, sizeof room);
    if (count < 2 || session->asked.split_mode != TN_SPLIT_FREE || !is_any_short)
        return false;
    tni_format_text(out, bytes, ": %s would need %" PRIu64 " bytes together, %s are free", names,
                    needed, room);
    return true;
}

// "a would need 300 bytes, 100 are free; b …": the devices of the split that are short of what they
// were asked to get.
static void name_short(const tn_session *session, char *out, size_t bytes)
{
    const tni_fit *fit = &session->fit;
    size_t used = 0;
    out[0] = '\0';
    if (name_together(session, out, bytes))
        return;
    for (uint32_t p = 0; p < session->lane_count; p++) {
        if (!(session->layers.split_places >> p & 1) || fit->asked_bytes[p] <= fit->free_bytes[p])
            continue;
        tni_format_text(out + used, bytes - used,
                        "%s%s would need %" PRIu64 " bytes, %" PRIu64 " %s free",
                        used ? "; " : ": ", session->lanes[p].device->name, fit->asked_bytes[p],
                        fit->free_bytes[p], fit->free_bytes[p] == 1 ? "is" : "are");
        used += strlen(out + used);
    }
}

// The largest of what a node touches.
static uint32_t largest_touched(const tn_graph *graph, uint32_t node)
{
    uint32_t values[TNI_MAX_READS + 1], largest = TNP_NONE;
    uint32_t count = tni_node_touches(graph, &graph->nodes[node], values);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t s = graph->values[values[i]].storage;
        if (largest == TNP_NONE || graph->storages[s].bytes > graph->storages[largest].bytes)
            largest = s;
    }
    return largest;
}

// What is not on the split since no device of it has a buffer as large: "'w' has 300 bytes, the
// largest buffer of a and b 100". false: there is none, in layers that were asked to be there.
static bool name_roomless(const tn_session *session, char *out, size_t bytes)
{
    const tni_layers *layers = &session->layers;
    const tni_schedule *s = &session->graphs[0]->schedule;
    const tn_graph *graph = s->graph;
    uint64_t largest = 0, most = 0;
    const char *name = "";
    char names[300];
    for (uint32_t p = 0; p < session->lane_count; p++)
        if ((layers->split_places >> p & 1) && session->fit.largest[p] > most)
            most = session->fit.largest[p];
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t layer = tni_layers_index(layers, graph->nodes[n].mark.layer);
        uint32_t touched = largest_touched(graph, n);
        if (layer == TNP_NONE || layer + session->fit.asked_layers < layers->count ||
            (layers->split_places >> s->places[n] & 1) || touched == TNP_NONE ||
            !(s->bars.roomless[n] & layers->split_places) ||
            graph->storages[touched].bytes <= largest || graph->storages[touched].bytes <= most)
            continue;
        largest = graph->storages[touched].bytes;
        name = graph->values[graph->storages[touched].owner].name;
    }
    uint32_t count = list_split(session, tell_name, names, sizeof names);
    tni_format_text(out, bytes, ": '%.60s' has %" PRIu64 " bytes, %s%s room for %" PRIu64 "%s",
                    name, largest, names, count == 1 ? " has" : " have", most,
                    count == 1 ? "" : " at most");
    return largest > 0;
}

// What there was no room for, and where it is. false: there was room for all.
static bool tell_room(const tn_session *session, char *out, size_t bytes)
{
    const tni_fit *fit = &session->fit;
    char names[500], piece[500];
    uint32_t offloaded = tni_fit_count_offloaded(session);
    bool is_roomless = name_roomless(session, piece, sizeof piece);
    bool is_fewer = offloaded < fit->asked_layers &&
                    (session->layers.offloaded < fit->asked_layers || fit->is_spread ||
                     is_roomless);
    bool is_all_else_there = session->layers.offloaded == fit->asked_layers && !fit->is_spread;
    name_short(session, names, sizeof names);
    if (is_fewer)
        tni_format_text(out, bytes,
                        "placement: %" PRIu32 " of the %" PRIu32
                        " layers fit the memory that is free, the others are on the CPU%s",
                        offloaded, fit->asked_layers,
                        is_roomless && (is_all_else_there || !names[0]) ? piece : names);
    else if (fit->is_spread)
        tni_format_text(out, bytes, "placement: what has no room is on other devices%s", names);
    return is_fewer || fit->is_spread;
}

static bool lacks_room(const tn_session *session, char *out, size_t bytes)
{
    return tni_placement_is_of_layers(&session->asked) && session->layers.count &&
           session->graph_count && tell_room(session, out, bytes);
}

// Whether memory decided where something is.
static bool is_by_memory(const tn_session *session)
{
    char text[1000];
    return session->fit.is_short || session->fit.try_count ||
           lacks_room(session, text, sizeof text);
}

tn_status tn_session_placement(const tn_session *session, tn_placement_report *out_report,
                               const tn_placement_sink *sink, tn_error *err)
{
    tn_status status = tni_need(err, __func__, "session", session, "out_report", out_report, NULL);
    if (status == TN_OK)
        status = tni_check_size(out_report, __func__, "out_report", err);
    if (status == TN_OK && sink && !sink->take)
        status = tni_fail(err, TN_E_ARG, "%s: sink: take is NULL", __func__);
    if (status != TN_OK)
        return status;
    uint32_t counts[TNI_MAX_PLACES];
    tn_placement_report report = {
        .size = sizeof report,
        .layer_count = session->graph_count ? session->layers.count : 0,
        .divided_count = session->graph_count ? tni_fit_count_layers(session, counts) : 0,
        .is_by_memory = is_by_memory(session),
    };
    tni_give_struct(out_report, &report, sizeof report);
    if (sink)
        tell_compared(session, sink->take, sink->context);
    return TN_OK;
}

// Layers that were asked to be on GPUs, and cannot: there is none, or the main device is a CPU.
static bool tell_no_gpu(const tn_session *session, char *out, size_t bytes)
{
    const tni_placement *asked = &session->asked;
    const tn_device *main_device = asked->main_device;
    bool is_asked = asked->layer_rule == TN_LAYERS_ALL || asked->gpu_layers, has_any = false;
    for (uint32_t p = 0; p < session->lane_count; p++)
        has_any |= !tni_is_cpu(session->devices[p]);
    bool is_main = has_any && asked->split_mode == TN_SPLIT_NONE && main_device &&
                   tni_is_cpu(main_device);
    if (is_main)
        tni_format_text(out, bytes,
                        "placement: layers are asked to be on a GPU, and the main device, %s, is a "
                        "CPU: they are there",
                        main_device->name);
    else if (!has_any)
        tni_format_text(out, bytes,
                        "placement: layers are asked to be on GPUs, and there is none: they are on "
                        "the CPU");
    return is_asked && (is_main || !has_any);
}

// What is elsewhere than it was asked to be, and why.
static void say_elsewhere(const tn_session *session, tni_fit_say *say, const void *to)
{
    char text[1000];
    if (tell_no_gpu(session, text, sizeof text))
        say(to, text);
    if (lacks_room(session, text, sizeof text))
        say(to, text);
    tni_fit_say_states(session, say, to);
}

static void warn(const void *to, const char *line)
{
    tni_log_line(tni_session_log(to), TN_LOG_WARNING, "%s", line);
}

static void explain(const void *to, const char *line)
{
    tni_say(to, "%s\n", line);
}

void tni_fit_tell(const tn_session *session)
{
    say_elsewhere(session, warn, session);
}

void tni_fit_explain(const tn_session *session, const tn_sink *sink)
{
    const tni_fit *fit = &session->fit;
    const tni_layers *layers = &session->layers;
    uint32_t counts[TNI_MAX_PLACES];
    bool is_said = session->graph_count &&
                   (tni_placement_is_of_layers(&session->asked) || fit->is_short || fit->try_count);
    uint32_t divided = is_said ? tni_fit_count_layers(session, counts) : 0;
    for (uint32_t p = 0; p < session->lane_count && is_said; p++)
        if (counts[p])
            tni_say(sink, "placement: %s gets %" PRIu32 " of %" PRIu32 " layers\n",
                    session->lanes[p].device->name, counts[p], layers->count);
    if (divided)
        tni_say(sink, "placement: %" PRIu32 " of %" PRIu32 " layers are divided over devices\n",
                divided, layers->count);
    say_elsewhere(session, explain, sink);
    if (is_by_memory(session))
        tni_say(sink, "placement: by memory: what is fastest does not fit what is free\n");
    tell_compared(session, say_compared, (void *)sink);
    if (fit->untried_count)
        tni_say(sink, "; %" PRIu32 " more: not tried, planning was long enough",
                fit->untried_count);
    if (fit->try_count)
        tni_say(sink, "\n");
    for (uint32_t p = 0; p < session->lane_count; p++) {
        if (fit->needed[p] == 0)
            continue;
        tni_say(sink,
                "%s: needs %" PRIu64 " bytes: %" PRIu64 " for weights, %" PRIu64
                " for states, %" PRIu64 " for the arena; ",
                session->lanes[p].device->name, fit->needed[p],
                fit->weights[p] + fit->program_bytes[p], tni_fit_state_bytes(session, p, NULL),
                tni_fit_arena_bytes(session, p));
        if (fit->there[p])
            tni_say(sink, "%" PRIu64 " bytes of weights were there already; ", fit->there[p]);
        if (fit->free_bytes[p] == UINT64_MAX)
            tni_say(sink, "how much was free is not known\n");
        else
            tni_say(sink, "%" PRIu64 " were free\n", fit->free_bytes[p]);
    }
}
