// session.c: from graphs to a session, phase by phase. What a phase made is given back by
// tn_session_destroy, however far creation came.
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/options.h"
#include "exec/exec_internal.h"

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
    if (!session->lanes)
        return tni_fail_memory(err, "a session", most * sizeof *session->lanes);
    return options->device_count ? open_given(session, options->devices, options->device_count, err)
                                 : open_default(session, err);
}

// ------------------------------------------------------------------------------------------ phases

static tn_device *const *device_list(tn_session *session)
{
    tn_device **list = tni_arena_take_array(&session->arena, session->lane_count, sizeof *list);
    for (uint32_t i = 0; list && i < session->lane_count; i++)
        list[i] = session->lanes[i].device;
    return list;
}

static tn_status schedule_and_plan(tn_session *session, const tn_graph *const *graphs,
                                   tn_error *err)
{
    tn_status status = tni_states_collect(session, graphs, err);
    tn_device *const *devices = device_list(session);
    if (!devices)
        return tni_fail_memory(err, "a session", session->lane_count * sizeof *devices);
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++) {
        status = tni_session_schedule(session, &session->graphs[g], devices, err);
        if (status == TN_OK)
            status = tni_layout(session, &session->graphs[g], err);
    }
    for (uint32_t i = 0; i < session->state_count; i++)
        if (session->states[i].place == TNP_NONE)   // no node touches it: any place does
            session->states[i].place = 0;
    return status;
}

// Whether work is ever given to this lane: a segment, or a state to clear or read.
static bool has_work(const tn_session *session, uint32_t place)
{
    for (uint32_t g = 0; g < session->graph_count; g++)
        for (uint32_t s = 0; s < session->graphs[g].schedule.segment_count; s++)
            if (session->graphs[g].schedule.segments[s].place == place)
                return true;
    for (uint32_t i = 0; i < session->state_count; i++)
        if (session->states[i].place == place)
            return true;
    return false;
}

static tn_status make_queues(tn_session *session, tn_error *err)
{
    for (uint32_t i = 0; i < session->lane_count; i++) {
        tni_lane *lane = &session->lanes[i];
        if (!has_work(session, i))
            continue;
        uint64_t most_bytes = 0;
        uint32_t most = 0;
        for (uint32_t g = 0; g < session->graph_count; g++) {
            const tn_graph *graph = session->graphs[g].graph;
            uint64_t bytes = 0;
            uint32_t count = 0;
            for (uint32_t s = 0; s < graph->storage_count; s++)
                if (tni_comes_at_submit(graph, s, lane->device->info.update_bytes)) {
                    bytes += graph->storages[s].bytes;
                    count++;
                }
            most_bytes = bytes > most_bytes ? bytes : most_bytes;
            most = count > most ? count : most;
        }
        tn_status status = tni_lane_make_queue(lane, most_bytes, most, err);
        if (status != TN_OK)
            return status;
    }
    return TN_OK;
}

// Before anything is allocated: arena and states of each lane against what is
// free, so that a machine which promises more than it has does not find out later.
static tn_status check_memory(const tn_session *session, tn_error *err)
{
    for (uint32_t i = 0; i < session->lane_count; i++) {
        const tni_lane *lane = &session->lanes[i];
        uint64_t needed = lane->arena_bytes, free_bytes = lane->memory.free_bytes;
        bool fits = true;
        for (uint32_t s = 0; s < session->state_count && fits; s++)
            if (session->states[s].place == i)
                fits = tni_add_u64(needed, session->states[s].bytes, &needed);
        if (!fits || (free_bytes && needed > free_bytes))
            return tni_fail(err, TN_E_DEVICE_MEMORY,
                            "%s: %" PRIu64 " bytes are needed for states and the arena, %" PRIu64
                            " are free: "
                            "a shorter context or smaller types need less",
                            lane->device->name, fits ? needed : UINT64_MAX, free_bytes);
    }
    return TN_OK;
}

static tn_status allocate_arenas(tn_session *session, tn_error *err)
{
    for (uint32_t i = 0; i < session->lane_count; i++) {
        tni_lane *lane = &session->lanes[i];
        if (lane->arena_bytes == 0)   // no segment here: nothing is allocated
            continue;
        tn_status status = tni_lane_allocate(lane, lane->arena_bytes, "the arena", &lane->arena,
                                             &lane->arena_map, err);
        if (status != TN_OK)
            return status;
    }
    return TN_OK;
}

static tn_status make(tn_session *session, const tn_graph *const *graphs,
                      const tn_session_options *options, tn_error *err)
{
    tn_status status = open_lanes(session, options, err);
    if (status == TN_OK)
        status = schedule_and_plan(session, graphs, err);
    if (status == TN_OK)
        status = make_queues(session, err);
    if (status == TN_OK)
        status = check_memory(session, err);
    if (status == TN_OK)
        status = allocate_arenas(session, err);
    if (status == TN_OK)
        status = tni_states_allocate(session, err);
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++)
        status = tni_programs_make(session, &session->graphs[g], err);
    return status;
}

static tn_status check_arguments(const tn_runtime *runtime, const tn_graph *const *graphs,
                                 uint32_t graph_count, const tn_session_options *given,
                                 tn_session_options *out_options, tn_error *err)
{
    tn_status status = tni_take_options(out_options, sizeof *out_options, given,
                                        "tn_session_create", err);
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

    tn_allocator allocator = options.allocator ? *options.allocator
                                               : *tni_runtime_allocator(runtime);
    tn_session *session = tni_alloc_zeroed(&allocator, 1, sizeof *session);
    if (!session)
        return tni_fail_memory(err, "a session", sizeof *session);
    tni_arena_init(&session->arena, &allocator);
    session->runtime = runtime;
    session->last_graph = TNP_NONE;
    session->graphs = tni_arena_take_array(&session->arena, graph_count, sizeof *session->graphs);
    session->graph_count = session->graphs ? graph_count : 0;
    status = session->graphs
                 ? make(session, graphs, &options, err)
                 : tni_fail_memory(err, "a session", graph_count * sizeof *session->graphs);
    if (status != TN_OK) {
        tn_session_destroy(session);
        return status;
    }
    *out_session = session;
    return TN_OK;
}

void tn_session_destroy(tn_session *session)
{
    if (!session)
        return;
    for (uint32_t g = 0; g < session->graph_count; g++)
        tni_programs_release(session, &session->graphs[g]);
    tni_weights_release(session);
    tni_states_release(session);
    for (uint32_t i = 0; i < session->lane_count; i++)
        tni_lane_close(&session->lanes[i]);
    for (uint32_t g = 0; g < session->graph_count; g++)
        tni_schedule_finish(&session->graphs[g].schedule);
    tn_allocator allocator = session->arena.allocator;
    tni_arena_finish(&session->arena);
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
        report.segment_count += session->graphs[g].schedule.segment_count;
    for (uint32_t i = 0; i < session->lane_count; i++) {
        report.arena_bytes += session->lanes[i].arena_bytes;
        report.arena_bound_bytes += session->lanes[i].bound_bytes;
        report.unshared_bytes += session->lanes[i].unshared_bytes;
    }
    for (uint32_t i = 0; i < session->state_count; i++)
        report.state_bytes += session->states[i].bytes;
    tni_give_struct(out_report, &report, sizeof report);
}
