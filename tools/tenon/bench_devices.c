// bench_devices.c: on which devices the tests of `tenon bench` ran, and what failed meanwhile.
#include <stdlib.h>
#include <string.h>
#include <tenon/schedule.h>

#include "bench.h"
#include "events.h"

static int fail_memory(void)
{
    return cli_fail(CLI_MEMORY, "not enough memory for the results");
}

int bench_list_devices(bench_report *report, const tn_runtime *runtime)
{
    uint32_t count = tn_runtime_device_count(runtime);
    report->devices = calloc((size_t)count + 1, sizeof *report->devices);
    if (!report->devices)
        return fail_memory();
    report->device_count = count;
    bool is_whole = true;
    for (uint32_t d = 0; d < count; d++) {
        tn_device_info info = { .size = sizeof info };
        tn_device_describe(tn_runtime_device(runtime, d), &info);
        bench_device *device = &report->devices[d];
        *device = (bench_device){ strdup(info.name), strdup(info.plugin),
                                  strdup(info.description) };
        is_whole &= device->name && device->plugin && device->description;
    }
    return is_whole ? CLI_OK : fail_memory();
}

// ------------------------------------------------------------------------------------- who has run

typedef struct marking {
    const bench_report *report;
    const tn_session *session;
    bool *has_run;
} marking;

// A session numbers the devices that it may use, the report all of the runtime: names are what both
// have.
static void mark(void *context, const tn_segment *segment)
{
    marking *m = context;
    tn_device_memory device = { .size = sizeof device };
    tn_error err;
    if (tn_session_device_memory(m->session, segment->device, &device, &err) != TN_OK)
        return;
    for (uint32_t d = 0; d < m->report->device_count; d++)
        m->has_run[d] |= strcmp(m->report->devices[d].name, device.name) == 0;
}

// The smallest graph that takes so many ids, else the largest.
static uint32_t graph_of(const tlm_context *context, uint32_t graphs, uint32_t count)
{
    uint32_t graph = 0;
    while (graph + 1 < graphs && tlm_context_batch(context, graph) < count)
        graph++;
    return graph;
}

int bench_tell_devices(const bench_report *report, const tlm_context *context, uint32_t count,
                       uint32_t first_event, bench_result *test)
{
    const tn_session *session = tlm_context_session(context);
    uint32_t graphs = tn_session_graph_count(session);
    uint32_t largest = tlm_context_batch(context, graphs - 1), rest = count % largest;
    tn_error err = { 0 };
    test->has_run = calloc((size_t)report->device_count + 1, sizeof *test->has_run);
    test->events = cli_events(session, first_event);
    if (!test->has_run || !test->events)
        return fail_memory();
    marking m = { report, session, test->has_run };
    tn_status status = TN_OK;
    if (count >= largest)
        status = tn_session_segments(session, graphs - 1, &(tn_segment_sink){ &m, mark }, &err);
    if (status == TN_OK && rest)
        status = tn_session_segments(session, graph_of(context, graphs, rest),
                                     &(tn_segment_sink){ &m, mark }, &err);
    return status == TN_OK ? CLI_OK : cli_fail_status(&err);
}

bool bench_has_run(const bench_report *report, uint32_t device)
{
    bool has_run = false;
    for (uint32_t i = 0; i < report->result_count; i++)
        has_run |= report->results[i].has_run[device];
    return has_run;
}

void bench_drop_devices(bench_report *report)
{
    for (uint32_t d = 0; d < report->device_count; d++) {
        free(report->devices[d].name);
        free(report->devices[d].plugin);
        free(report->devices[d].description);
    }
    free(report->devices);
}
