// What a caller may get wrong beside NULL, in each public call of libtenon that takes it: structs
// whose size was not set, allocators that lack a call, values that there are not; and that a run
// which is refused leaves everything as it was.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>
#include <tenon/tune.h>

#include <cmocka.h>

#include "refused.h"
#include "session_rig.h"

static tn_runtime *runtime;
static tn_model *model;
static tn_graph *graph;
static tn_session *session;
static tn_value input, output;
static tn_error err;
static const float ones[4] = { 1, 1, 1, 1 };

static int make_all(void **state)
{
    (void)state;
    runtime = rig_runtime(false, (const char *[]){ NULL });
    if (tn_model_open(TEST_MODEL, NULL, &model, &err) != TN_OK)
        fail_msg("%s", err.text);
    graph = rig_graph();
    input = rig_input(graph, "x", 1, 4, 0, 0);
    output = rig_op(graph, TNP_OP_NEG, input);
    rig_finish(graph, output);
    session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    return 0;
}

static int drop_all(void **state)
{
    (void)state;
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
    return 0;
}

static void need_words(tn_status status, const char *words)
{
    if (status != TN_E_ARG || !strstr(err.text, words))
        fail_msg("status %d: \"%s\" does not say \"%s\"", (int)status, err.text, words);
    err = (tn_error){ 0 };
}

// ------------------------------------------------------------------------------------------- sizes

#define SIZE_REFUSED(name, call, ...)                                                              \
    need_words(call(__VA_ARGS__, &err), #call ": the size of " name " is 0, sizeof is expected")

static void a_struct_to_fill_without_a_size_is_refused(void **state)
{
    (void)state;
    const tn_plan_interval one = { 0, 1, 1 };
    uint64_t offset = 0;
    tn_plan_result result = { 0 };
    tn_plan_options plan_options = { 0 };
    tn_device_memory device_memory = { 0 };
    tn_graph_memory graph_memory = { 0 };
    tn_graph_schedule schedule = { 0 };
    tn_placement_report placement = { 0 };
    tn_value_info value = { 0 };
    tn_model_part part = { 0 };
    tn_model_key key = { 0 };
    tn_model_tensor tensor = { 0 };

    SIZE_REFUSED("out_result", tn_plan_intervals, &one, 1, NULL, &offset, &result);
    SIZE_REFUSED("out_result", tn_plan_intervals, NULL, 0, NULL, NULL, &result);
    SIZE_REFUSED("result", tn_plan_check, &one, 1, NULL, &offset, &result);
    SIZE_REFUSED("its options", tn_plan_intervals, &one, 1, &plan_options, &offset, NULL);
    SIZE_REFUSED("out_memory", tn_session_device_memory, session, 0, &device_memory);
    SIZE_REFUSED("out_memory", tn_session_graph_memory, session, 0, 0, &graph_memory);
    SIZE_REFUSED("out_report", tn_session_placement, session, &placement, NULL);
    SIZE_REFUSED("out_schedule", tn_session_graph_schedule, session, 0, &schedule);
    SIZE_REFUSED("out_info", tn_graph_value_info, graph, input, &value);
    SIZE_REFUSED("out_part", tn_model_part_at, model, 0, &part);
    SIZE_REFUSED("out_key", tn_model_key_at, model, 0, &key);
    SIZE_REFUSED("out_key", tn_model_find_key, model, "general.architecture", &key);
    SIZE_REFUSED("out_tensor", tn_model_tensor_at, model, 0, &tensor);
    SIZE_REFUSED("out_tensor", tn_model_find_tensor, model, "output.weight", &tensor);
}

// Options of every size: one that ends within the struct cuts what it points to, or lacks what
// every header had. So the call would look at half a pointer.
#define ANY_SIZE(type, ...)                                                                        \
    do {                                                                                           \
        type given;                                                                                \
        memset(&given, 0xff, sizeof given);                                                        \
        for (uint32_t bytes = 0; bytes < sizeof given + 8;                                         \
             bytes += bytes == sizeof given - 1 ? 2 : 1) {                                         \
            given.size = bytes;                                                                    \
            char words[80];                                                                        \
            snprintf(words, sizeof words, "is %" PRIu32 ", sizeof is expected", bytes);            \
            need_words(__VA_ARGS__, words);                                                        \
        }                                                                                          \
    } while (0)

static void options_of_any_other_size_are_refused(void **state)
{
    (void)state;
    tn_runtime *other_runtime = NULL;
    tn_model *other_model = NULL;
    tn_session *other = NULL;
    const tn_graph *graphs[] = { graph };
    const tn_plan_interval interval = { .bytes = 64 };
    uint64_t offset;
    tn_plan_result result = { .size = sizeof result };
    ANY_SIZE(tn_runtime_options, tn_runtime_create(&given, &other_runtime, &err));
    ANY_SIZE(tn_model_options, tn_model_open(TEST_MODEL, &given, &other_model, &err));
    ANY_SIZE(tn_session_options, tn_session_create(runtime, graphs, 1, &given, &other, &err));
    ANY_SIZE(tn_session_options, tn_session_fits(runtime, graphs, 1, &given, &err));
    ANY_SIZE(tn_placement,
             tn_session_create(
                 runtime, graphs, 1,
                 &(tn_session_options){ .size = sizeof(tn_session_options), .placement = &given },
                 &other, &err));
    ANY_SIZE(tn_save_options, tn_session_save(session, "/nowhere/states", &given, &err));
    ANY_SIZE(tn_tune_options, tn_tune(runtime, &given, NULL, &err));
    ANY_SIZE(tn_plan_options, tn_plan_intervals(&interval, 1, &given, &offset, &result, &err));
}

static void what_is_reserved_is_0(void **state)
{
    (void)state;
    const tn_graph *graphs[] = { graph };
    const tn_session_options options = { .size = sizeof options, .reserved = 1 };
    tn_session *other;
    need_words(tn_session_create(runtime, graphs, 1, &options, &other, &err),
               "tn_session_create: reserved is 1, 0 is expected");
    need_words(tn_session_fits(runtime, graphs, 1, &options, &err),
               "tn_session_fits: reserved is 1, 0 is expected");
}

// A size that no header ever had: what was never set. Nothing is written so far behind the struct.
static void a_size_beyond_every_struct_is_as_none(void **state)
{
    (void)state;
    static const unsigned char zeros[512];
    struct {
        tn_memory_report report;
        unsigned char behind[512];
    } room = { .report = { .size = UINT32_MAX } };
    tn_device_memory device_memory = { .size = 1 << 20 };
    tn_session_memory(session, &room.report);
    assert_int_equal(room.report.arena_bytes, 0);
    assert_memory_equal(room.behind, zeros, sizeof zeros);
    need_words(tn_session_device_memory(session, 0, &device_memory, &err),
               "the size of out_memory is 1048576, sizeof is expected");
}

static void a_call_without_a_status_fills_nothing(void **state)
{
    (void)state;
    tn_memory_report report = { 0 };
    tn_device_info device = { 0 };
    tn_plugin_info plugin = { 0 };
    tn_place_info place = { 0 };
    tn_model_info info = { 0 };
    tn_session_memory(session, &report);
    tn_device_describe(tn_runtime_device(runtime, 0), &device);
    tn_runtime_plugin(runtime, 0, &plugin);
    tn_runtime_place(runtime, 0, &place);
    tn_model_describe(model, &info);
    assert_int_equal(report.segment_count, 0);
    assert_null(device.name);
    assert_null(plugin.name);
    assert_null(place.path);
    assert_int_equal(info.tensor_count, 0);
}

// -------------------------------------------------------------------------------------- allocators

static void *give(void *context, size_t bytes, size_t alignment_bytes)
{
    (void)context;
    (void)alignment_bytes;
    return malloc(bytes);
}

static void take_back(void *context, void *pointer)
{
    (void)context;
    free(pointer);
}

static void an_allocator_that_lacks_a_call_is_refused(void **state)
{
    (void)state;
    static const tn_allocator lacking[] = { { NULL, NULL, take_back }, { NULL, give, NULL } };
    static const char *const names[] = { "allocator->alloc", "allocator->free" };
    const tn_graph *graphs[] = { graph };
    const tn_plan_interval one = { 0, 1, 1 };
    uint64_t offset = 0;
    for (int i = 0; i < 2; i++) {
        const tn_allocator *a = &lacking[i];
        const tn_runtime_options runtime_options = { .size = sizeof runtime_options,
                                                     .allocator = a };
        const tn_session_options session_options = { .size = sizeof session_options,
                                                     .allocator = a };
        const tn_model_options model_options = { .size = sizeof model_options, .allocator = a };
        const tn_plan_options plan_options = { .size = sizeof plan_options, .allocator = a };
        tn_plan_result result = { .size = sizeof result };
        tn_runtime *new_runtime;
        tn_graph *new_graph;
        tn_session *new_session;
        tn_snapshot *new_snapshot;
        tn_model *new_model;
        REFUSED(names[i], tn_runtime_create, &runtime_options, &new_runtime);
        assert_null(new_runtime);
        REFUSED(names[i], tn_graph_create, a, &new_graph);
        assert_null(new_graph);
        REFUSED(names[i], tn_session_create, runtime, graphs, 1, &session_options, &new_session);
        assert_null(new_session);
        REFUSED(names[i], tn_snapshot_open, "none", a, &new_snapshot);
        assert_null(new_snapshot);
        REFUSED(names[i], tn_model_open, TEST_MODEL, &model_options, &new_model);
        assert_null(new_model);
        REFUSED(names[i], tn_plan_intervals, &one, 1, &plan_options, &offset, &result);
        REFUSED(names[i], tn_plan_check, &one, 1, &plan_options, &offset, &result);
    }
}

// ------------------------------------------------------------------------------------------ values

static void a_name_looked_up_in_vain_is_told_as_that(void **state)
{
    (void)state;
    float got[4];
    tn_value_info info = { .size = sizeof info };
    const tn_value misspelt = tn_graph_find(graph, "X");
    const tn_feed feed = { misspelt, ones, sizeof ones };
    need_words(tn_session_run(session, 0, &feed, 1, &err),
               "tn_session_run: the value is TN_NO_VALUE: graph 0 has none of the name that was");
    need_words(tn_session_read(session, 0, misspelt, got, sizeof got, &err),
               "tn_session_read: the value is TN_NO_VALUE: graph 0 has none of the name that was");
    need_words(tn_graph_value_info(graph, misspelt, &info, &err),
               "tn_graph_value_info: the value is TN_NO_VALUE: the graph has none of the name");
}

static void outputs_of_the_last_run_stay_when_a_run_is_refused(void **state)
{
    (void)state;
    float got[4];
    const tn_feed wrong[] = { { input, (float[]){ 7, 7, 7, 7 }, 16 }, { output, ones, 16 } };
    rig_run(session, 0, graph, "x", ones, sizeof ones, NULL);
    need_words(tn_session_run(session, 0, wrong, 2, &err), "is no input");
    need_words(tn_session_run(session, 1, NULL, 0, &err), "there is no graph 1");
    rig_read(session, 0, graph, "out", got, sizeof got);
    assert_memory_equal(got, ((float[]){ -1, -1, -1, -1 }), sizeof got);
    rig_run(session, 0, graph, NULL);   // nothing of the refused feeds was taken
    rig_read(session, 0, graph, "out", got, sizeof got);
    assert_memory_equal(got, ((float[]){ -1, -1, -1, -1 }), sizeof got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_struct_to_fill_without_a_size_is_refused),
        cmocka_unit_test(options_of_any_other_size_are_refused),
        cmocka_unit_test(what_is_reserved_is_0),
        cmocka_unit_test(a_size_beyond_every_struct_is_as_none),
        cmocka_unit_test(a_call_without_a_status_fills_nothing),
        cmocka_unit_test(an_allocator_that_lacks_a_call_is_refused),
        cmocka_unit_test(a_name_looked_up_in_vain_is_told_as_that),
        cmocka_unit_test(outputs_of_the_last_run_stay_when_a_run_is_refused),
    };
    return cmocka_run_group_tests(tests, make_all, drop_all);
}
