// fit_words.c: what fitting came to, in words.
#include <inttypes.h>
#include <string.h>

#include <tenon/schedule.h>

#include "base/error.h"
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
        .is_by_memory = session->fit.is_short || session->fit.try_count,
    };
    tni_give_struct(out_report, &report, sizeof report);
    if (sink)
        tell_compared(session, sink->take, sink->context);
    return TN_OK;
}

// "a would need 300 bytes, 100 are free; b …": the devices of the split that are short of what they
// were asked to get.
static void name_short(const tn_session *session, char *out, size_t bytes)
{
    const tni_fit *fit = &session->fit;
    size_t used = 0;
    out[0] = '\0';
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

// What there was no room for, and where it is. false: there was room for all.
static bool tell_room(const tn_session *session, char *out, size_t bytes)
{
    const tni_fit *fit = &session->fit;
    char names[300];
    uint32_t offloaded = tni_fit_count_offloaded(session);
    bool is_fewer = session->layers.offloaded < fit->asked_layers ||
                    (fit->is_spread && offloaded < fit->asked_layers);
    name_short(session, names, sizeof names);
    if (is_fewer)
        tni_format_text(out, bytes,
                        "placement: %" PRIu32 " of the %" PRIu32
                        " layers fit the memory that is free, the others are on the CPU%s",
                        offloaded, fit->asked_layers, names);
    else if (fit->is_spread)
        tni_format_text(out, bytes, "placement: what has no room is on other devices%s", names);
    return is_fewer || fit->is_spread;
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
    char text[500];
    bool is_asked = tni_placement_is_of_layers(&session->asked);
    if (tell_no_gpu(session, text, sizeof text))
        say(to, text);
    if (is_asked && session->layers.count && session->graph_count &&
        tell_room(session, text, sizeof text))
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
    if (fit->is_short || fit->try_count)
        tni_say(sink, "placement: by memory: what is fastest does not fit what is free\n");
    tell_compared(session, say_compared, (void *)sink);
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
