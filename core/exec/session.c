// session.c: from graphs to a session, phase by phase. What a phase made is given back by
// tn_session_destroy, however far creation came.
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/options.h"
#include "exec/exec_internal.h"

// To load, after a device had less memory than it said: a little less at first, then half.
enum { MOST_TRIES = 12, SMALL_STEPS = 4 };

// ----------------------------------------------------------------------------------------- devices

static tn_status open_given(tn_session *session, tn_device *const *devices, uint32_t count,
                            tn_error *err)
{
    session->lane_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++)
            if (devices[j] == devices[i])
                return tni_fail(err, TN_E_ARG, "device %s is given twice", devices[i]->name);
        tn_status status = tni_lane_open(&session->lanes[session->lane_count], devices[i], err);
        if (status != TN_OK)
            return status;
        session->lane_count++;
    }
    return TN_OK;
}

// No device is left: what the last one said, or why the first plugin that was meant for here is
// out.
static tn_status fail_no_device(const tn_runtime *runtime, const tn_error *last, tn_error *err)
{
    if (last->status != TN_OK)
        return tni_fail(err, TN_E_NOT_FOUND, "no device can be used: %s", last->text);
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        if (*info.name && info.state != TN_PLUGIN_LOADED)
            return tni_fail(err, TN_E_NOT_FOUND, "no device can be used: plugin '%s' is out: %s",
                            info.name, info.reason);
    }
    return tni_fail(err, TN_E_NOT_FOUND,
                    "no device can be used: no plugin offers one, see tenon plugins --why");
}

// Every device that is not software; one that cannot be opened is passed over with a warning. When
// there are more than a session takes, the CPUs keep their room: what no other takes runs there.
static tn_status open_default(tn_session *session, tn_error *err)
{
    const tni_log *log = tni_runtime_log(session->runtime);
    uint32_t count = tn_runtime_device_count(session->runtime), cpus_to_come = 0, left_out = 0;
    tn_error last = { TN_OK, "" };
    session->lane_count = 0;
    for (uint32_t i = 0; i < count; i++)
        cpus_to_come += tn_runtime_device(session->runtime, i)->info.kind == TNP_KIND_CPU;
    for (uint32_t i = 0; i < count; i++) {
        tn_device *device = tn_runtime_device(session->runtime, i);
        bool is_cpu = device->info.kind == TNP_KIND_CPU;
        if (device->info.kind == TNP_KIND_SOFTWARE)
            continue;
        cpus_to_come -= is_cpu;
        if (session->lane_count + (is_cpu ? 0 : cpus_to_come) >= TNI_MAX_PLACES)
            left_out++;
        else if (tni_lane_open(&session->lanes[session->lane_count], device, &last) == TN_OK)
            session->lane_count++;
        else
            tni_log_line(log, TN_LOG_WARNING, "%s is not used: %s", device->name, last.text);
    }
    if (left_out)
        tni_log_line(log, TN_LOG_WARNING, "%u devices are not used: a session takes %d", left_out,
                     TNI_MAX_PLACES);
    return session->lane_count ? TN_OK : fail_no_device(session->runtime, &last, err);
}

static tn_status open_lanes(tn_session *session, const tn_session_options *options, tn_error *err)
{
    uint32_t most = options->device_count ? options->device_count
                                          : tn_runtime_device_count(session->runtime);
    session->lanes = tni_arena_take_array(&session->arena, most, sizeof *session->lanes);
    session->devices = tni_arena_take_array(&session->arena, most, sizeof *session->devices);
    if (!session->lanes || !session->devices)
        return tni_fail_memory(err, "a session", most * sizeof *session->lanes);
    tn_status status = options->device_count
                           ? open_given(session, options->devices, options->device_count, err)
                           : open_default(session, err);
    for (uint32_t i = 0; i < session->lane_count; i++)
        session->devices[i] = session->lanes[i].device;
    return status;
}

// ------------------------------------------------------------------------------------------ phases

static tn_status find_states(tn_session *session, tn_error *err)
{
    tn_status status = tni_states_make_table(session, err);
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++)
        status = tni_states_collect(session, session->graphs[g], err);
    return status;
}

static tn_status allocate_arenas(tn_session *session, tn_error *err)
{
    for (uint32_t i = 0; i < session->lane_count; i++) {
        tn_status status = tni_lane_allocate_arena(&session->lanes[i], &session->arena, err);
        if (status == TN_E_DEVICE_MEMORY)
            session->fit.full_place = i;
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
        mixed = (mixed ^ session->graphs[g]->fingerprint) * UINT64_C(1099511628211);
    return mixed;
}

// Lanes, states, a placement that fits: nothing is allocated on a device.
static tn_status plan(tn_session *session, const tn_graph *const *graphs, uint32_t graph_count,
                      const tn_session_options *options, const uint64_t *most_bytes, tn_error *err)
{
    tn_status status = open_lanes(session, options, err);
    if (status == TN_OK)
        status = tni_placement_take(options->placement, session->devices, session->lane_count,
                                    &session->arena, &session->placement, err);
    for (uint32_t g = 0; g < graph_count && status == TN_OK; g++)
        if (!tni_graphs_add(session, graphs[g], err))
            status = TN_E_HOST_MEMORY;
    if (status == TN_OK)
        status = find_states(session, err);
    return status == TN_OK ? tni_session_fit(session, most_bytes, err) : status;
}

static tn_status load(tn_session *session, tn_error *err)
{
    tn_status status = tni_queues_make(session, err);
    if (status == TN_OK)
        status = allocate_arenas(session, err);
    if (status == TN_OK)
        status = tni_states_allocate(session, err);
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++)
        status = tni_programs_make(session, session->graphs[g], err);
    session->is_reserved = true;
    session->fingerprint = fingerprint(session);
    return status;
}

static tn_status check_arguments(const tn_runtime *runtime, const tn_graph *const *graphs,
                                 uint32_t graph_count, const tn_session_options *given,
                                 tn_session_options *out_options, tn_error *err)
{
    tn_status status = tni_take_options(out_options, sizeof *out_options, given,
                                        "tn_session_create", err);
    if (status == TN_OK)
        status = tni_check_allocator(out_options->allocator, "tn_session_create", err);
    if (status != TN_OK)
        return status;
    if (graph_count == 0)
        return tni_fail(err, TN_E_ARG, "tn_session_create: no graph is given");
    for (uint32_t g = 0; g < graph_count; g++) {
        if (!graphs[g])
            return tni_fail(err, TN_E_ARG, "tn_session_create: graph %u is NULL", g);
        if (!graphs[g]->is_finished)
            return tni_fail(err, TN_E_GRAPH, "tn_session_create: graph %u is not finished", g);
    }
    for (uint32_t i = 0; i < out_options->device_count; i++) {
        const tn_device *device = out_options->devices ? out_options->devices[i] : NULL;
        if (!device)
            return tni_fail(err, TN_E_ARG, "tn_session_create: device %u is NULL", i);
        if (device->runtime != runtime)
            return tni_fail(err, TN_E_ARG, "tn_session_create: device %s is of another runtime",
                            device->name);
    }
    return TN_OK;
}

// A session that is planned and no more. *out_session is to be destroyed also after an error, where
// it is not NULL.
static tn_status begin(tn_runtime *runtime, const tn_graph *const *graphs, uint32_t graph_count,
                       const tn_session_options *options, const uint64_t *most_bytes,
                       tn_session **out_session, tn_error *err)
{
    tn_allocator allocator = options->allocator ? *options->allocator
                                                : *tni_runtime_allocator(runtime);
    tn_session *session = *out_session = tni_alloc_zeroed(&allocator, 1, sizeof *session);
    if (!session)
        return tni_fail_memory(err, "a session", sizeof *session);
    tni_arena_init(&session->arena, &allocator);
    session->runtime = runtime;
    session->last_graph = TNP_NONE;
    session->failed_lane = TNP_NONE;
    session->fit.full_place = TNP_NONE;
    tni_relays_init(&session->relays);
    return plan(session, graphs, graph_count, options, most_bytes, err);
}

// An allocation failed although it was to fit: the next time this device gets less. false: it gets
// nothing as it is.
static bool give_less(const tn_session *session, uint32_t try, uint64_t *most_bytes)
{
    uint32_t place = session->fit.full_place;
    if (place == TNP_NONE || session->lane_count == 1 || session->fit.needed[place] == 0)
        return false;
    uint64_t needed = session->fit.needed[place];
    most_bytes[place] = needed - needed / (try < SMALL_STEPS ? 8 : 2) - 1;
    return true;
}

static tn_status create(tn_runtime *runtime, const tn_graph *const *graphs, uint32_t graph_count,
                        const tn_session_options *options, tn_session **out_session, tn_error *err)
{
    uint64_t most_bytes[TNI_MAX_PLACES];
    tn_error first = { 0 }, last;   // first: of an allocation, which says what is to be known
    for (uint32_t i = 0; i < TNI_MAX_PLACES; i++)
        most_bytes[i] = UINT64_MAX;
    for (uint32_t try = 0;; try++) {
        tn_session *session = NULL;
        last = (tn_error){ 0 };
        tn_status status = begin(runtime, graphs, graph_count, options, most_bytes, &session,
                                 &last);
        bool is_planned = status == TN_OK;
        if (is_planned)
            status = load(session, &last);
        if (status == TN_OK) {
            *out_session = session;
            return TN_OK;
        }
        if (try == 0 || is_planned)
            first = last;
        bool again = is_planned && status == TN_E_DEVICE_MEMORY && try < MOST_TRIES &&
                     give_less(session, try, most_bytes);
        if (again)
            tni_log_line(tni_runtime_log(runtime), TN_LOG_WARNING,
                         "out of memory while loading, less is placed there: %s", last.text);
        tn_session_destroy(session);
        if (!again)
            break;
    }
    if (err)
        *err = first;
    return first.status;
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
        status = check_arguments(runtime, graphs, graph_count, given, &options, err);
    if (status != TN_OK)
        return status;

    return create(runtime, graphs, graph_count, &options, out_session, err);
}

tn_status tn_session_fits(tn_runtime *runtime, const tn_graph *const *graphs, uint32_t graph_count,
                          const tn_session_options *given, tn_error *err)
{
    tn_session_options options;
    tn_session *session = NULL;
    tn_status status = tni_need(err, __func__, "runtime", runtime, "graphs", graphs, NULL);
    if (status == TN_OK)
        status = check_arguments(runtime, graphs, graph_count, given, &options, err);
    if (status == TN_OK)
        status = begin(runtime, graphs, graph_count, &options, NULL, &session, err);
    tn_session_destroy(session);
    return status;
}

void tn_session_destroy(tn_session *session)
{
    if (!session)
        return;
    while (session->graph_count)
        tni_graphs_remove(session, session->graph_count - 1);
    tni_states_release(session);
    for (uint32_t i = 0; i < session->lane_count; i++)
        tni_lane_close(&session->lanes[i]);
    tn_allocator allocator = session->arena.allocator;
    tni_free(&allocator, session->graphs);
    tni_free(&allocator, session->residents);
    tni_free(&allocator, session->fit.kept);
    tni_arena_finish(&session->arena);
    tni_relays_finish(&session->relays);
    tni_free(&allocator, session);
}

tn_status tn_session_reset(tn_session *session, tn_error *err)
{
    tn_status status = tni_need(err, __func__, "session", session, NULL);
    return status == TN_OK ? tni_states_clear(session, err) : status;
}

void tn_session_memory(const tn_session *session, tn_memory_report *out_report)
{
    if (!session)
        return;
    tn_memory_report report = { .size = sizeof report,
                                .weight_mapped_bytes = session->weight_mapped_bytes,
                                .weight_copied_bytes = session->weight_copied_bytes };
    for (uint32_t g = 0; g < session->graph_count; g++)
        report.segment_count += session->graphs[g]->schedule.segment_count;
    for (uint32_t i = 0; i < session->lane_count; i++) {
        report.arena_bytes += session->lanes[i].arena_bytes;
        report.arena_bound_bytes += session->lanes[i].plan.bound_bytes;
        report.unshared_bytes += session->lanes[i].plan.unshared_bytes;
    }
    for (uint32_t i = 0; i < session->state_count; i++)
        report.state_bytes += session->states[i].bytes;
    tni_give_struct(out_report, &report, sizeof report);
}
