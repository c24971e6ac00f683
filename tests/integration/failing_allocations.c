// Every allocation of libtenon fails in turn: a status, nothing left over, and no crash.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/model.h>
#include <tenon/schedule.h>

#include "failing_alloc.h"
#include "session_rig.h"

static void need_clean(tn_status status, const tn_error *err)
{
    if (status != TN_OK && (status != TN_E_HOST_MEMORY || !*err->text))
        fail_msg("%s: \"%s\"", tn_status_name(status), err->text);
}

// All kinds of values, and enough of them that tables grow.
static tn_status build(const tn_allocator *allocator, tn_graph **out_graph, tn_error *err)
{
    static const float weight[64];
    static const unsigned char blocks[2][11 * 34];   // Q8_0, which the CPU plugin has packed
    tn_status status = tn_graph_create(allocator, out_graph, err);
    if (status != TN_OK)
        return status;
    tn_graph *graph = *out_graph;
    tn_value x = rig_input(graph, "x", 2, 8, 3, 0);
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, (int64_t[]){ 8, 8 }, weight,
                                 sizeof weight);
    tn_value s = tn_graph_state(graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 8, 9 });
    tn_value index = tn_graph_input(graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value large = rig_input(graph, "large", 1, 400000, 0, 0);   // more than an update holds
    tn_value wide = rig_input(graph, "wide", 2, 32, 3, 0), packed[2];
    for (int i = 0; i < 2; i++)
        packed[i] = tn_graph_matmul(graph, wide,
                                    tn_graph_weight(graph, i ? "q" : "p", TN_DTYPE_Q8_0, 2,
                                                    (int64_t[]){ 32, 11 }, blocks[i],
                                                    sizeof blocks[i]));
    tn_graph_output(graph, "packed", tn_graph_add(graph, packed[0], packed[1]));
    for (int i = 0; i < 12; i++)
        x = tn_graph_add(graph, tn_graph_scale(graph, tn_graph_matmul(graph, x, w), 0.5f), x);
    tn_value written = tn_graph_set_rows(graph, s, x, index);
    tn_graph_output(graph, "large",
                    tn_graph_slice(graph, rig_op(graph, TNP_OP_NEG, large), 0, 0, 8));
    tn_graph_output(graph, "out", tn_graph_get_rows(graph, written, index));
    return tn_graph_finish(graph, err);
}

static tn_status build_alone(const tn_allocator *allocator, void *context)
{
    (void)context;
    tn_graph *graph = NULL;
    tn_error err = { 0 };
    tn_status status = build(allocator, &graph, &err);
    need_clean(status, &err);
    tn_graph_destroy(graph);
    return status;
}

static void building_a_graph(void **state)
{
    (void)state;
    for_each_failing_allocation(build_alone, NULL);
}

static tn_status run_once(tn_session *session, uint32_t number, const tn_graph *graph,
                          tn_error *err)
{
    const float ones[24] = { 1, 1, 1, 1 };
    const int32_t index[3] = { 0, 1, 2 };
    const tn_feed feeds[] = { { tn_graph_find(graph, "x"), ones, sizeof ones },
                              { tn_graph_find(graph, "i"), index, sizeof index } };
    float out[24];
    tn_status status = tn_session_run(session, number, feeds, 2, err);
    return status != TN_OK ? status
                           : tn_session_read(session, number, tn_graph_find(graph, "out"), out,
                                             sizeof out, err);
}

static void take_value(void *context, const tn_planned_value *value)
{
    (void)context, (void)value;
}

static void take_segment(void *context, const tn_segment *segment)
{
    (void)context, (void)segment;
}

static void take_text(void *context, const char *text, size_t bytes)
{
    (void)context, (void)text, (void)bytes;
}

static tn_status report(const tn_session *session, tn_error *err)
{
    tn_graph_memory memory = { .size = sizeof memory };
    tn_status status = tn_session_check(session, err);
    if (status == TN_OK)
        status = tn_session_graph_memory(session, 0, 1, &memory, err);
    if (status == TN_OK)
        status = tn_session_values(session, 0, 1, &(tn_planned_value_sink){ .take = take_value },
                                   err);
    if (status == TN_OK)
        status = tn_session_segments(session, 0, &(tn_segment_sink){ .take = take_segment }, err);
    if (status == TN_OK)
        status = tn_session_explain_name(session, 0, "out", &(tn_sink){ .write = take_text }, err);
    if (status == TN_E_NOT_FOUND)   // "out" is an output's name, of no value
        status = TN_OK;
    tn_session_explain(session, &(tn_sink){ .write = take_text });
    return status;
}

typedef struct fixture {
    tn_runtime *runtime;
    tn_graph *graph;
    tn_device *devices[2];
} fixture;

static tn_status make_session(const tn_allocator *allocator, void *context)
{
    const fixture *f = context;
    tn_session_options options = {
        .size = sizeof options, .device_count = 2, .devices = f->devices, .allocator = allocator
    };
    tn_session *session = NULL;
    tn_error err = { 0 };
    tn_status status = tn_session_create(f->runtime, (const tn_graph *[]){ f->graph }, 1, &options,
                                         &session, &err);
    assert_int_equal(session != NULL, status == TN_OK);
    if (status == TN_OK) {
        failing_alloc *failing = (failing_alloc *)allocator->context;
        uint64_t calls = failing->calls;
        status = run_once(session, 0, f->graph, &err);
        assert_int_equal(failing->calls, calls);   // a run allocates nothing
    }
    if (status == TN_OK)
        status = report(session, &err);
    need_clean(status, &err);
    tn_session_destroy(session);
    return status;
}

// The session stays as it was where the graph does not come in.
static tn_status add_a_graph(const tn_allocator *allocator, void *context)
{
    const fixture *f = context;
    tn_session_options options = {
        .size = sizeof options, .device_count = 2, .devices = f->devices, .allocator = allocator
    };
    tn_session *session = NULL;
    tn_error err = { 0 };
    uint32_t index;
    tn_status status = tn_session_create(f->runtime, (const tn_graph *[]){ f->graph }, 1, &options,
                                         &session, &err);
    if (status == TN_OK) {
        status = tn_session_add(session, f->graph, &index, &err);
        need_clean(status, &err);
        assert_int_equal(run_once(session, 0, f->graph, &err), TN_OK);
        if (status == TN_OK) {
            failing_alloc *failing = (failing_alloc *)allocator->context;
            uint64_t calls = failing->calls;
            assert_int_equal(run_once(session, index, f->graph, &err), TN_OK);
            assert_int_equal(failing->calls, calls);   // nor does a run of what came later
            status = tn_session_drop(session, index, &err);
        }
    }
    need_clean(status, &err);
    tn_session_destroy(session);
    return status;
}

static void over_two_devices(tn_status (*run_case)(const tn_allocator *, void *))
{
    tn_error err = { 0 };
    fixture f = { .runtime = rig_runtime(true,
                                         (const char *[]){ "plugin.partial.refuse=32",
                                                           "plugin.partial.cost=0.0001",
                                                           "plugin.partial.hidden=1", NULL }) };
    f.devices[0] = rig_device(f.runtime, "partial0");
    f.devices[1] = rig_device(f.runtime, "cpu0");
    assert_int_equal(build(NULL, &f.graph, &err), TN_OK);
    for_each_failing_allocation(run_case, &f);
    tn_graph_destroy(f.graph);
    tn_runtime_destroy(f.runtime);
    assert_null(strstr(rig_log(), "not given back"));   // nor has the plugin kept anything
}

static void creating_a_session_over_two_devices(void **state)
{
    (void)state;
    over_two_devices(make_session);
}

static void adding_a_graph_to_a_session(void **state)
{
    (void)state;
    over_two_devices(add_a_graph);
}

static void say_nothing(void *context, int32_t level, const char *text)
{
    (void)context, (void)level, (void)text;
}

// The plugin's own allocations too.
static tn_status make_all(const tn_allocator *allocator, void *context)
{
    static const char *const paths[] = { CPU_PLUGIN_PATH };
    tn_runtime_options options = { .size = sizeof options,
                                   .threads = 2,
                                   .plugin_paths = paths,
                                   .plugin_path_count = 1,
                                   .allocator = allocator,
                                   .log = say_nothing };
    tn_runtime *runtime = NULL;
    tn_graph *graph = NULL;
    tn_session *session = NULL;
    tn_error err = { 0 };
    (void)context;
    tn_status status = tn_runtime_create(&options, &runtime, &err);
    bool is_plugin = status ==
                     TN_E_PLUGIN;   // the plugin that is named did not start, or was not kept
    if (status == TN_OK) {
        status = build(allocator, &graph, &err);
        need_clean(status, &err);
    }
    if (status == TN_OK)
        status = tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, NULL, &session, &err);
    if (status == TN_OK)
        status = run_once(session, 0, graph, &err);
    if (status == TN_E_NOT_FOUND || is_plugin)   // a device that could not be opened is passed over
        assert_non_null(strstr(err.text, "memory"));
    else if (status != TN_E_DEVICE_MEMORY)   // the CPU's buffers are the host's memory
        need_clean(status, &err);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    return status;
}

static void a_runtime_with_all_that_is_made_of_it(void **state)
{
    (void)state;
    for_each_failing_allocation(make_all, NULL);
}

static tn_status open_model(const tn_allocator *allocator, void *context)
{
    tn_model_options options = { .size = sizeof options,
                                 .flags = *(const uint32_t *)context,
                                 .allocator = allocator };
    tn_model *model = NULL;
    tn_error err = { 0 };
    tn_status status = tn_model_open(TEST_MODEL, &options, &model, &err);
    assert_int_equal(model != NULL, status == TN_OK);
    need_clean(status, &err);
    tn_model_close(model);
    return status;
}

static void opening_a_model_mapped_or_read(void **state)
{
    (void)state;
    for (uint32_t flags = 0; flags <= TN_MODEL_IN_MEMORY; flags += TN_MODEL_IN_MEMORY)
        for_each_failing_allocation(open_model, &flags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(building_a_graph),
        cmocka_unit_test(creating_a_session_over_two_devices),
        cmocka_unit_test(adding_a_graph_to_a_session),
        cmocka_unit_test(a_runtime_with_all_that_is_made_of_it),
        cmocka_unit_test(opening_a_model_mapped_or_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
