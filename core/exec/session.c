// session.c: from graphs to a session, phase by phase. What a phase made is given back by
// tn_session_destroy, however far creation came.
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/options.h"
#include "exec/hang.h"
#include "exec/session.h"

// ----------------------------------------------------------------------------------------- devices

static void add_candidate(tn_session *session, tn_device *device)
{
    session->candidates[session->candidate_count++] = (tni_candidate){ .device = device,
                                                                       .most_bytes = UINT64_MAX };
}

static tn_status take_given(tn_session *session, const tn_session_options *options, tn_error *err)
{
    for (uint32_t i = 0; i < options->device_count; i++) {
        for (uint32_t j = 0; j < i; j++)
            if (options->devices[j] == options->devices[i])
                return tni_fail(err, TN_E_ARG, "device %s is given twice",
                                options->devices[i]->name);
        add_candidate(session, options->devices[i]);
    }
    return TN_OK;
}

// Why the first plugin that was meant for here is out.
static tn_status fail_no_device(const tn_runtime *runtime, tn_error *err)
{
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        bool is_quarantined = info.state == TN_PLUGIN_QUARANTINED;
        if (*info.name && info.state != TN_PLUGIN_LOADED)
            return tni_fail(
                err,
                tni_runtime_plugin_status(runtime, i) == TN_E_HOST_MEMORY ? TN_E_HOST_MEMORY
                                                                          : TN_E_NOT_FOUND,
                "no device can be used: plugin '%s' is out: %s%s%s%s", info.name, info.reason,
                is_quarantined ? " (tenon plugins retry " : "", is_quarantined ? info.path : "",
                is_quarantined ? " tries it again)" : "");
    }
    return tni_fail(err, TN_E_NOT_FOUND,
                    "no device can be used: no plugin offers one, see tenon plugins --why");
}

// Every one that is used unnamed. When there are more than a session takes, the CPUs keep their
// room: what no other takes runs there.
static tn_status take_default(tn_session *session, tn_error *err)
{
    uint32_t count = tn_runtime_device_count(session->runtime), cpus_to_come = 0, passed_over = 0;
    for (uint32_t i = 0; i < count; i++)
        cpus_to_come += tni_is_cpu(tn_runtime_device(session->runtime, i));
    for (uint32_t i = 0; i < count; i++) {
        tn_device *device = tn_runtime_device(session->runtime, i);
        bool is_cpu = tni_is_cpu(device);
        if (!tn_device_is_default(device))
            continue;
        cpus_to_come -= is_cpu;
        if (session->candidate_count + (is_cpu ? 0 : cpus_to_come) >= TNI_MAX_PLACES)
            passed_over++;
        else
            add_candidate(session, device);
    }
    if (passed_over)
        tni_log_line(tni_session_log(session), TN_LOG_WARNING,
                     "%u device%s not used: a session takes %d", passed_over,
                     passed_over == 1 ? " is" : "s are", TNI_MAX_PLACES);
    return session->candidate_count ? TN_OK : fail_no_device(session->runtime, err);
}

static tn_status take_candidates(tn_session *session, const tn_session_options *options,
                                 tn_error *err)
{
    uint32_t most = options->device_count ? options->device_count
                                          : tn_runtime_device_count(session->runtime);
    session->are_named = options->device_count > 0;
    session->candidates = tni_arena_take_array(&session->lasting, most,
                                               sizeof *session->candidates);
    if (!session->candidates)
        return tni_fail_memory(err, "a session", most * sizeof *session->candidates);
    return session->are_named ? take_given(session, options, err) : take_default(session, err);
}

static tn_status open_lanes(tn_session *session, tn_error *err)
{
    uint32_t most = session->candidate_count;
    session->lanes = tni_arena_take_array(&session->arena, most, sizeof *session->lanes);
    session->devices = tni_arena_take_array(&session->arena, most, sizeof *session->devices);
    if (!session->lanes || !session->devices)
        return tni_fail_memory(err, "a session", most * sizeof *session->lanes);
    for (uint32_t i = 0; i < most; i++) {
        if (session->candidates[i].standing != TNI_USED)
            continue;
        tn_device *device = session->candidates[i].device;
        tni_lane *lane = &session->lanes[session->lane_count];
        tn_status status = tni_lane_open(lane, device, &session->arena, err);
        lane->device = session->devices[session->lane_count] = device;
        lane->place = session->lane_count;
        lane->number = i;
        lane->session = session;
        lane->blamed = &session->blamed;
        lane->most_bytes = session->candidates[i].most_bytes;
        if (status != TN_OK)
            return tni_lane_blame(lane, status);
        session->lane_count++;
    }
    if (!tni_links_find(session->devices, session->lane_count, &session->arena, &session->links))
        return tni_fail_memory(err, "the links of devices",
                               (uint64_t)most * most * sizeof *session->links.latency_ns);
    return TN_OK;
}

// ------------------------------------------------------------------------------------------ phases

static tn_status find_states(tn_session *session, tn_error *err)
{
    tn_status status = session->states ? TN_OK : tni_states_make_table(session, err);
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++)
        status = tni_states_collect(session, session->graphs[g], err);
    return status;
}

static tn_status allocate_arenas(tn_session *session, tn_error *err)
{
    for (uint32_t i = 0; i < session->lane_count; i++) {
        tn_status status = tni_lane_allocate_arena(&session->lanes[i], &session->arena, err);
        if (status != TN_OK)
            return status;
    }
    return TN_OK;
}

// Of the graphs given at creation, in their order.
static uint64_t fingerprint(const tn_session *session)
{
    uint64_t mixed = session->graph_count;
    for (uint32_t g = 0; g < session->graph_count; g++)
        mixed = (mixed ^ session->graphs[g]->given.fingerprint) * UINT64_C(1099511628211);
    return mixed;
}

// Lanes, states, a placement that fits: nothing is allocated on a device.
static tn_status plan(tn_session *session, tn_error *err)
{
    tn_status status = open_lanes(session, err);
    session->placement = session->asked;
    if (status == TN_OK)
        status = find_states(session, err);
    return status == TN_OK ? tni_session_fit(session, err) : status;
}

static tn_status load(tn_session *session, tn_error *err)
{
    tn_status status = tni_queues_make(session, err);
    if (status == TN_OK)
        status = allocate_arenas(session, err);
    if (status == TN_OK)
        status = tni_states_allocate(session, err);
    if (status == TN_OK)
        status = tni_programs_make(session, session->graphs, session->graph_count, err);
    session->is_reserved = true;
    return status;
}

tn_status tni_session_try(tn_session *session, bool *out_is_planned, tn_error *err)
{
    session->is_reserved = false;
    tn_status status = plan(session, err);
    *out_is_planned = status == TN_OK;
    return status == TN_OK && !session->is_plan_only ? load(session, err) : status;
}

void tni_session_unmake(tn_session *session)
{
    const tn_allocator allocator = session->arena.allocator;
    for (uint32_t g = 0; g < session->graph_count; g++)
        tni_graphs_unmake(session, session->graphs[g]);
    tni_states_release(session);
    bool is_touched = tni_hang_is_any(session);
    for (uint32_t i = 0; i < session->lane_count; i++)
        tni_lane_close(&session->lanes[i], is_touched && session->lanes[i].is_host);
    session->lane_count = 0;
    session->lanes = NULL;
    session->devices = NULL;
    session->links = (tni_links){ 0 };
    session->layers = (tni_layers){ 0 };
    tni_free(&allocator, session->fit.resident);
    session->fit = (tni_fit){ 0 };
    session->last_graph = TNP_NONE;
    tni_arena_finish(&session->arena);
    tni_arena_init(&session->arena, &allocator);
}

uint32_t tni_session_place_of(const tn_session *session, uint32_t number)
{
    for (uint32_t i = 0; i < session->lane_count; i++)
        if (session->lanes[i].number == number)
            return i;
    return TNP_NONE;
}

static tn_status check_arguments(const tn_runtime *runtime, const tn_graph *const *graphs,
                                 uint32_t graph_count, const tn_session_options *given,
                                 const char *call, tn_session_options *out_options, tn_error *err)
{
    tn_status status = tni_take_options(out_options, sizeof *out_options,
                                        TNI_UP_TO(tn_session_options, graph_runs), given, call,
                                        err);
    if (status == TN_OK)
        status = tni_check_allocator(out_options->allocator, call, err);
    if (status != TN_OK)
        return status;
    if (out_options->flags & ~(uint32_t)TN_SESSION_NO_FAILOVER)
        return tni_fail(err, TN_E_ARG, "%s: flags 0x%" PRIx32 " are not known", call,
                        out_options->flags);
    if (out_options->reserved)
        return tni_fail(err, TN_E_ARG, "%s: reserved is %" PRIu32 ", 0 is expected", call,
                        out_options->reserved);
    if (graph_count == 0)
        return tni_fail(err, TN_E_ARG, "%s: no graph is given", call);
    for (uint32_t g = 0; g < graph_count; g++) {
        if (!graphs[g])
            return tni_fail(err, TN_E_ARG, "%s: graph %u is NULL", call, g);
        if (!graphs[g]->is_finished)
            return tni_fail(err, TN_E_GRAPH, "%s: graph %u is not finished", call, g);
        double runs = out_options->graph_runs ? out_options->graph_runs[g] : 1;
        if (!(runs >= 0) || !isfinite(runs))
            return tni_fail(err, TN_E_ARG,
                            "%s: graph_runs: graph %u is to run %g times: that is finite and not "
                            "negative",
                            call, g, runs);
    }
    for (uint32_t i = 0; i < out_options->device_count; i++) {
        const tn_device *device = out_options->devices ? out_options->devices[i] : NULL;
        if (!device)
            return tni_fail(err, TN_E_ARG, "%s: device %u is NULL", call, i);
        if (device->runtime != runtime)
            return tni_fail(err, TN_E_ARG, "%s: device %s is of another runtime", call,
                            device->name);
    }
    return TN_OK;
}

static tn_status take_placement(tn_session *session, const tn_placement *placement, tn_error *err)
{
    uint32_t count = session->candidate_count;
    tn_device **devices = tni_arena_take_array(&session->lasting, count, sizeof *devices);
    if (!devices)
        return tni_fail_memory(err, "a session", count * sizeof *devices);
    for (uint32_t i = 0; i < count; i++)
        devices[i] = session->candidates[i].device;
    return tni_placement_take(placement, devices, count, &session->lasting, &session->asked, err);
}

// A session that has its graphs and knows its devices: nothing of a device is touched.
// *out_session is to be destroyed also after an error, where it is not NULL.
static tn_status begin(tn_runtime *runtime, const tn_graph *const *graphs, uint32_t graph_count,
                       const tn_session_options *options, bool is_plan_only,
                       tn_session **out_session, tn_error *err)
{
    tn_allocator allocator = options->allocator ? *options->allocator
                                                : *tni_runtime_allocator(runtime);
    tn_session *session = *out_session = tni_alloc_zeroed(&allocator, 1, sizeof *session);
    if (!session)
        return tni_fail_memory(err, "a session", sizeof *session);
    tni_arena_init(&session->lasting, &allocator);
    tni_arena_init(&session->arena, &allocator);
    atomic_init(&session->blamed, TNP_NONE);
    session->runtime = runtime;
    (void)tni_runtime_sessions(runtime, 1);
    session->flags = options->flags;
    session->is_plan_only = is_plan_only;
    session->last_graph = TNP_NONE;
    tni_relays_init(&session->relays);
    tn_status status = take_candidates(session, options, err);
    if (status == TN_OK)
        status = take_placement(session, options->placement, err);
    for (uint32_t g = 0; g < graph_count && status == TN_OK; g++)
        if (!tni_graphs_add(session, graphs[g], err))
            status = TN_E_HOST_MEMORY;
        else if (options->graph_runs)
            session->graphs[g]->given.runs = options->graph_runs[g];
    session->fingerprint = fingerprint(session);
    return status;
}

tn_status tn_session_create(tn_runtime *runtime, const tn_graph *const *graphs,
                            uint32_t graph_count, const tn_session_options *given,
                            tn_session **out_session, tn_error *err)
{
    tn_session_options options;
    if (out_session)
        *out_session = NULL;
    tn_status status = tni_need(err, __func__, "runtime", runtime, "graphs", graphs, "out_session",
                                out_session, NULL);
    if (status == TN_OK)
        status = check_arguments(runtime, graphs, graph_count, given, __func__, &options, err);
    if (status != TN_OK)
        return status;

    tn_session *session = NULL;
    status = begin(runtime, graphs, graph_count, &options, false, &session, err);
    if (status == TN_OK)
        status = tni_session_make(session, err);
    if (status == TN_OK && !(session->flags & TN_SESSION_NO_FAILOVER))
        status = tni_journal_init(session, options.journal_bytes, err);
    if (status != TN_OK) {
        tn_session_destroy(session);
        return status;
    }
    *out_session = session;
    return TN_OK;
}

tn_status tn_session_fits(tn_runtime *runtime, const tn_graph *const *graphs, uint32_t graph_count,
                          const tn_session_options *given, tn_error *err)
{
    tn_session_options options;
    tn_session *session = NULL;
    tn_status status = tni_need(err, __func__, "runtime", runtime, "graphs", graphs, NULL);
    if (status == TN_OK)
        status = check_arguments(runtime, graphs, graph_count, given, __func__, &options, err);
    if (status == TN_OK)
        status = begin(runtime, graphs, graph_count, &options, true, &session, err);
    if (status == TN_OK) {
        status = tni_session_make(session, err);
        if (status == TN_E_DEVICE_MEMORY && !session->lacks_memory)
            status = tn_error_set(err, TN_E_INTERNAL, err ? err->text : "");
    }
    tn_session_destroy(session);
    return status;
}

void tn_session_destroy(tn_session *session)
{
    if (!session)
        return;
    tni_session_unmake(session);
    while (session->graph_count)
        tni_graphs_remove(session, session->graph_count - 1);
    tni_journal_finish(session);
    tn_allocator allocator = session->arena.allocator;
    tni_free(&allocator, session->graphs);
    tni_free(&allocator, session->uses);
    tni_free(&allocator, session->events);
    tni_arena_finish(&session->lasting);
    tni_relays_finish(&session->relays);
    (void)tni_runtime_sessions(session->runtime, -1);
    tni_free(&allocator, session);
}

static tn_status reset(tn_session *session, tni_attempt *attempt, tn_error *err)
{
    attempt->is_run = true;
    tni_journal_clear(session);
    return tni_states_clear(session, err);
}

tn_status tn_session_reset(tn_session *session, tn_error *err)
{
    tni_attempt attempt = { .call = reset };
    tn_status status = tni_need(err, __func__, "session", session, NULL);
    return status == TN_OK ? tni_failover_attempt(session, &attempt, err) : status;
}
