#include "session_rig.h"

#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "places.h"

enum { Q8_0_BLOCK = 32, Q8_0_BYTES = 34 };

static char log_text[8192];
static char told_text[65536];
static char explained[16384];
static char planned[16384];

static void keep_line(void *context, int32_t level, const char *text)   // on any thread
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    bool is_bad = level <= TN_LOG_WARNING;
    char *to = is_bad ? log_text : told_text;
    (void)context;
    pthread_mutex_lock(&lock);
    size_t room = is_bad ? sizeof log_text : sizeof told_text, used = strlen(to);
    snprintf(to + used, room - used, "%s\n", text);
    pthread_mutex_unlock(&lock);
}

const char *rig_log(void)
{
    return log_text;
}

const char *rig_told(void)
{
    return told_text;
}

tn_runtime *rig_runtime(bool with_partial, const char *const *settings)
{
    return rig_runtime_on(NULL, with_partial, settings);
}

static tn_runtime *make_runtime(const tn_allocator *allocator, const char *second_plugin,
                                const char *const *first_settings, const char *const *settings)
{
    const char *paths[] = { CPU_PLUGIN_PATH, second_plugin };
    const char *all[16];
    tn_runtime_options options = { .size = sizeof options,
                                   .threads = 1,
                                   .plugin_paths = paths,
                                   .plugin_path_count = second_plugin ? 2 : 1,
                                   .settings = all,
                                   .allocator = allocator,
                                   .log = keep_line };
    tn_runtime *runtime = NULL;
    tn_error err = { 0 };
    for (; *first_settings; first_settings++)
        all[options.setting_count++] = *first_settings;
    for (; settings && *settings; settings++)
        if (strncmp(*settings, "threads=", 8) == 0)
            options.threads = (uint32_t)strtoul(*settings + 8, NULL, 10);
        else
            all[options.setting_count++] = *settings;
    test_places();
    log_text[0] = told_text[0] = 0;
    if (tn_runtime_create(&options, &runtime, &err) != TN_OK)
        fail_msg("%s", err.text);
    return runtime;
}

tn_runtime *rig_runtime_on(const tn_allocator *allocator, bool with_partial,
                           const char *const *settings)
{
    static const char *const plain[] = { "plugin.cpu.activations=f32",
                                         "plugin.partial.activations=f32", NULL };
    return make_runtime(allocator, with_partial ? PARTIAL_PLUGIN_PATH : NULL, plain, settings);
}

tn_runtime *rig_simulated(const char *devices, const char *const *settings)
{
    static char setting[8192];
    snprintf(setting, sizeof setting, "plugin.sim.devices=%s", devices);
    const char *const first[] = { "plugin.cpu.activations=f32", "plugin.sim.activations=f32",
                                  setting, NULL };
    return make_runtime(NULL, SIM_PLUGIN_PATH, first, settings);
}

tn_device *rig_device(tn_runtime *runtime, const char *name)
{
    tn_device *device = tn_runtime_find_device(runtime, name);
    if (!device)
        fail_msg("no device is named %s", name);
    return device;
}

tn_session *rig_session(tn_runtime *runtime, const tn_graph *const *graphs, uint32_t count,
                        const char *const *devices)
{
    tn_device *list[8];
    tn_session_options options = { .size = sizeof options, .devices = list };
    tn_session *session = NULL;
    tn_error err = { 0 };
    for (; devices && devices[options.device_count]; options.device_count++)
        list[options.device_count] = rig_device(runtime, devices[options.device_count]);
    if (tn_session_create(runtime, graphs, count, &options, &session, &err) != TN_OK)
        fail_msg("%s", err.text);
    return session;
}

tn_graph *rig_graph(void)
{
    tn_graph *graph = NULL;
    if (tn_graph_create(NULL, &graph, NULL) != TN_OK)
        fail_msg("no memory for a graph");
    return graph;
}

tn_value rig_input(tn_graph *graph, const char *name, uint32_t rank, int64_t d0, int64_t d1,
                   int64_t d2)
{
    return tn_graph_input(graph, name, TN_DTYPE_F32, rank, (int64_t[]){ d0, d1, d2 });
}

tn_value rig_op(tn_graph *graph, tnp_op op, tn_value x)
{
    return tn_graph_op(graph, op, NULL, &x, 1, NULL);
}

tn_value rig_products(tn_graph *graph, tn_value x, const unsigned char *weights, int64_t row,
                      int64_t out, uint32_t from, uint32_t to)
{
    const size_t bytes = (size_t)(out * row / Q8_0_BLOCK * Q8_0_BYTES);
    tn_value sum = TN_NO_VALUE;
    for (uint32_t i = from; i < to; i++) {
        char name[8];
        snprintf(name, sizeof name, "w.%u", i);
        tn_value w = tn_graph_weight(graph, name, TN_DTYPE_Q8_0, 2, (int64_t[]){ row, out },
                                     weights + i * bytes, bytes);
        tn_value y = tn_graph_matmul(graph, x, w);
        sum = i == from ? y : tn_graph_add(graph, tn_graph_scale(graph, sum, 0.5f), y);
    }
    return sum;
}

void rig_finish(tn_graph *graph, tn_value out)
{
    tn_error err = { 0 };
    tn_graph_output(graph, "out", out);
    if (tn_graph_finish(graph, &err) != TN_OK)
        fail_msg("%s", err.text);
}

void rig_run(tn_session *session, uint32_t number, const tn_graph *graph, ...)
{
    tn_feed feeds[64];
    uint32_t count = 0;
    va_list arguments;
    va_start(arguments, graph);
    for (const char *name; (name = va_arg(arguments, const char *));) {
        feeds[count].input = tn_graph_find(graph, name);
        feeds[count].data = va_arg(arguments, const void *);
        feeds[count++].bytes = va_arg(arguments, size_t);
    }
    va_end(arguments);
    tn_error err = { 0 };
    if (tn_session_run(session, number, feeds, count, &err) != TN_OK)
        fail_msg("%s", err.text);
}

void rig_read(tn_session *session, uint32_t number, const tn_graph *graph, const char *name,
              void *to, uint64_t bytes)
{
    tn_error err = { 0 };
    if (tn_session_read(session, number, tn_graph_find(graph, name), to, bytes, &err) != TN_OK)
        fail_msg("%s", err.text);
}

void rig_fill(float *to, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        to[i] = (float)(int32_t)seed / 2147483648.0f;
    }
}

void rig_fill_q8_0(unsigned char *to, size_t bytes, uint32_t seed)
{
    for (size_t b = 0; b < bytes; b++)
        to[b] = b % Q8_0_BYTES == 0   ? (unsigned char)seed
                : b % Q8_0_BYTES == 1 ? 0x2c
                                      : (unsigned char)(b * 37 + seed * 11 + b / 1000);
}

static void append(void *context, const char *text, size_t bytes)
{
    size_t *used = context;
    size_t room = sizeof explained - 1 - *used;
    memcpy(explained + *used, text, bytes < room ? bytes : room);
    *used += bytes < room ? bytes : room;
    explained[*used] = 0;
}

const char *rig_explain(const tn_session *session)
{
    size_t used = 0;
    explained[0] = 0;
    tn_session_explain(session, &(tn_sink){ &used, append });
    return explained;
}

tn_memory_report rig_memory(const tn_session *session)
{
    tn_memory_report report = { .size = sizeof report };
    tn_session_memory(session, &report);
    return report;
}

static void append_value(void *context, const tn_planned_value *value)
{
    size_t used = strlen(planned);
    snprintf(planned + used, sizeof planned - used,
             "%s: %s %u to %u at %" PRIu64 ", %" PRIu64 " bytes\n", (const char *)context,
             value->name, value->first_step, value->last_step, value->offset, value->bytes);
}

const char *rig_plan(const tn_session *session, uint32_t number)
{
    tn_error err = { 0 };
    planned[0] = 0;
    for (uint32_t d = 0; d < tn_session_device_count(session); d++) {
        char place[32];
        snprintf(place, sizeof place, "device %u", d);
        if (tn_session_values(session, number, d, &(tn_planned_value_sink){ place, append_value },
                              &err) != TN_OK)
            fail_msg("%s", err.text);
    }
    return planned;
}
