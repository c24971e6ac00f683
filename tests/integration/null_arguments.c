// NULL for each pointer of each public call of libtenon: TN_E_ARG that names it, or nothing done.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

#include <cmocka.h>

#include "folder.h"
#include "refused.h"
#include "session_rig.h"

static test_folder folder;
static tn_runtime *runtime;
static tn_model *model;
static tn_graph *graph;
static tn_session *session;
static tn_snapshot *snapshot;
static tn_value input;
static const int64_t dims[] = { 4 };

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static int make_all(void **state)
{
    (void)state;
    tn_error err = { 0 };
    test_folder_make(&folder);
    runtime = rig_runtime(false, (const char *[]){ NULL });
    need(tn_model_open(TEST_MODEL, NULL, &model, &err), &err);
    graph = rig_graph();
    input = tn_graph_input(graph, "x", TN_DTYPE_F32, 1, dims);
    tn_value kept = tn_graph_state(graph, "kept", TN_DTYPE_F32, 1, dims);
    tn_graph_output(graph, "y", tn_graph_add(graph, input, kept));
    need(tn_graph_finish(graph, &err), &err);
    need(tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, NULL, &session, &err), &err);
    need(tn_session_save(session, test_folder_path(&folder, "states"), NULL, &err), &err);
    need(tn_snapshot_open(test_folder_path(&folder, "states"), NULL, &snapshot, &err), &err);
    return 0;
}

static int drop_all(void **state)
{
    (void)state;
    tn_snapshot_close(snapshot);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
    test_folder_remove(&folder);
    return 0;
}

static tn_error err;

// ---------------------------------------------------------------- calls with a status, by module

static void graphs_name_what_is_null(void **state)
{
    (void)state;
    tn_value_info value = { .size = sizeof value };

    REFUSED("out_runtime", tn_runtime_create, NULL, NULL);
    REFUSED("out_graph", tn_graph_create, NULL, NULL);
    check_refused("tn_graph_finish", "graph", tn_graph_finish(NULL, &err), &err);
    REFUSED("graph", tn_graph_value_info, NULL, input, &value);
    REFUSED("out_info", tn_graph_value_info, graph, input, NULL);
    assert_int_equal(tn_runtime_create(NULL, NULL, NULL), TN_E_ARG);   // err may be NULL
}

static void plans_name_what_is_null(void **state)
{
    (void)state;
    tn_plan_interval interval = { 0, 1, 1 };
    tn_plan_result result = { .size = sizeof result };
    uint64_t offset = 0;

    REFUSED("intervals", tn_plan_intervals, NULL, 1, NULL, &offset, &result);
    REFUSED("out_offsets", tn_plan_intervals, &interval, 1, NULL, NULL, &result);
    REFUSED("intervals", tn_plan_check, NULL, 1, NULL, &offset, &result);
    REFUSED("offsets", tn_plan_check, &interval, 1, NULL, NULL, &result);
    REFUSED("result", tn_plan_check, &interval, 1, NULL, &offset, NULL);
    assert_int_equal(tn_plan_intervals(NULL, 0, NULL, NULL, NULL, NULL), TN_OK);
}

static void schedules_name_what_is_null(void **state)
{
    (void)state;
    tn_graph_schedule schedule = { .size = sizeof schedule };
    tn_segment_sink segments = { 0 };
    tn_segment_copy_sink copies = { 0 };
    tn_sink sink = { 0 };
    tn_link_cost link = { .size = sizeof link };

    tn_placement_report placement = { .size = sizeof placement };
    REFUSED("session", tn_session_placement, NULL, &placement, NULL);
    REFUSED("out_report", tn_session_placement, session, NULL, NULL);
    REFUSED("session", tn_session_graph_schedule, NULL, 0, &schedule);
    REFUSED("out_schedule", tn_session_graph_schedule, session, 0, NULL);
    REFUSED("session", tn_session_segments, NULL, 0, &segments);
    REFUSED("sink", tn_session_segments, session, 0, NULL);
    REFUSED("session", tn_session_copies, NULL, 0, &copies);
    REFUSED("sink", tn_session_copies, session, 0, NULL);
    REFUSED("session", tn_session_link, NULL, 0, 1, &link);
    REFUSED("out_link", tn_session_link, session, 0, 1, NULL);
    REFUSED("runtime", tn_tune, NULL, NULL, NULL);
    REFUSED("session", tn_session_explain_name, NULL, 0, "x", &sink);
    REFUSED("name", tn_session_explain_name, session, 0, NULL, &sink);
    REFUSED("sink", tn_session_explain_name, session, 0, "x", NULL);
}

static void reports_name_what_is_null(void **state)
{
    (void)state;
    tn_device_memory device_memory = { .size = sizeof device_memory };
    tn_graph_memory graph_memory = { .size = sizeof graph_memory };
    tn_planned_value_sink values = { 0 };
    const tn_session_event_sink nobody = { .context = NULL };

    REFUSED("session", tn_session_device_memory, NULL, 0, &device_memory);
    REFUSED("out_memory", tn_session_device_memory, session, 0, NULL);
    REFUSED("session", tn_session_graph_memory, NULL, 0, 0, &graph_memory);
    REFUSED("out_memory", tn_session_graph_memory, session, 0, 0, NULL);
    REFUSED("session", tn_session_values, NULL, 0, 0, &values);
    REFUSED("sink", tn_session_values, session, 0, 0, NULL);
    REFUSED("session", tn_session_events, NULL, &nobody);
    REFUSED("sink", tn_session_events, session, NULL);
    REFUSED("sink->take", tn_session_events, session, &nobody);
    REFUSED("sink->take", tn_session_values, session, 0, 0, &values);
    check_refused("tn_session_check", "session", tn_session_check(NULL, &err), &err);
}

static void snapshots_name_what_is_null(void **state)
{
    (void)state;
    const char *path = test_folder_path(&folder, "other");
    tn_snapshot *new_snapshot;

    REFUSED("session", tn_session_save, NULL, path, NULL);
    REFUSED("path", tn_session_save, session, NULL, NULL);
    REFUSED("path", tn_snapshot_open, NULL, NULL, &new_snapshot);
    REFUSED("out_snapshot", tn_snapshot_open, path, NULL, NULL);
    REFUSED("session", tn_session_restore, NULL, snapshot, NULL);
    REFUSED("snapshot", tn_session_restore, session, NULL, NULL);
}

static void sessions_name_what_is_null(void **state)
{
    (void)state;
    const tn_graph *graphs[] = { graph };
    tn_session *new_session;
    uint32_t index;
    float floats[4] = { 0 };

    REFUSED("runtime", tn_session_create, NULL, graphs, 1, NULL, &new_session);
    REFUSED("graphs", tn_session_create, runtime, NULL, 1, NULL, &new_session);
    REFUSED("out_session", tn_session_create, runtime, graphs, 1, NULL, NULL);
    REFUSED("session", tn_session_add, NULL, graph, &index);
    REFUSED("graph", tn_session_add, session, NULL, &index);
    REFUSED("out_number", tn_session_add, session, graph, NULL);
    check_refused("tn_session_drop", "session", tn_session_drop(NULL, 0, &err), &err);
    REFUSED("session", tn_session_run, NULL, 0, NULL, 0);
    REFUSED("feeds", tn_session_run, session, 0, NULL, 1);
    REFUSED("session", tn_session_read, NULL, 0, input, floats, sizeof floats);
    REFUSED("to", tn_session_read, session, 0, input, NULL, sizeof floats);
    check_refused("tn_session_reset", "session", tn_session_reset(NULL, &err), &err);
}

static void models_name_what_is_null(void **state)
{
    (void)state;
    const char *key = "general.architecture";
    tn_model *new_model;
    tn_model_key found_key = { .size = sizeof found_key };
    tn_model_part part = { .size = sizeof part };
    tn_model_tensor tensor = { .size = sizeof tensor };

    REFUSED("path", tn_model_open, NULL, NULL, &new_model);
    REFUSED("out_model", tn_model_open, TEST_MODEL, NULL, NULL);
    check_refused("tn_model_check", "model", tn_model_check(NULL, &err), &err);
    REFUSED("model", tn_model_part_at, NULL, 0, &part);
    REFUSED("out_part", tn_model_part_at, model, 0, NULL);
    REFUSED("model", tn_model_key_at, NULL, 0, &found_key);
    REFUSED("out_key", tn_model_key_at, model, 0, NULL);
    REFUSED("model", tn_model_find_key, NULL, key, &found_key);
    REFUSED("name", tn_model_find_key, model, NULL, &found_key);
    REFUSED("out_key", tn_model_find_key, model, key, NULL);
    REFUSED("model", tn_model_tensor_at, NULL, 0, &tensor);
    REFUSED("out_tensor", tn_model_tensor_at, model, 0, NULL);
    REFUSED("model", tn_model_find_tensor, NULL, "output.weight", &tensor);
    REFUSED("name", tn_model_find_tensor, model, NULL, &tensor);
    REFUSED("out_tensor", tn_model_find_tensor, model, "output.weight", NULL);
}

static void values_of_keys_name_what_is_null(void **state)
{
    (void)state;
    const char *key = "general.architecture", *text;
    int64_t whole;
    double real;
    bool truth;

    REFUSED("model", tn_model_get_i64, NULL, key, &whole);
    REFUSED("name", tn_model_get_i64, model, NULL, &whole);
    REFUSED("out", tn_model_get_i64, model, key, NULL);
    REFUSED("model", tn_model_get_f64, NULL, key, &real);
    REFUSED("name", tn_model_get_f64, model, NULL, &real);
    REFUSED("out", tn_model_get_f64, model, key, NULL);
    REFUSED("model", tn_model_get_bool, NULL, key, &truth);
    REFUSED("name", tn_model_get_bool, model, NULL, &truth);
    REFUSED("out", tn_model_get_bool, model, key, NULL);
    REFUSED("model", tn_model_get_string, NULL, key, &text, NULL);
    REFUSED("name", tn_model_get_string, model, NULL, &text, NULL);
    REFUSED("out_text", tn_model_get_string, model, key, NULL, NULL);
    REFUSED("model", tn_model_get_i64_at, NULL, key, 0, &whole);
    REFUSED("name", tn_model_get_i64_at, model, NULL, 0, &whole);
    REFUSED("out", tn_model_get_i64_at, model, key, 0, NULL);
    REFUSED("model", tn_model_get_f64_at, NULL, key, 0, &real);
    REFUSED("name", tn_model_get_f64_at, model, NULL, 0, &real);
    REFUSED("out", tn_model_get_f64_at, model, key, 0, NULL);
    REFUSED("model", tn_model_get_bool_at, NULL, key, 0, &truth);
    REFUSED("name", tn_model_get_bool_at, model, NULL, 0, &truth);
    REFUSED("out", tn_model_get_bool_at, model, key, 0, NULL);
    REFUSED("model", tn_model_get_string_at, NULL, key, 0, &text, NULL);
    REFUSED("name", tn_model_get_string_at, model, NULL, 0, &text, NULL);
    REFUSED("out_text", tn_model_get_string_at, model, key, 0, NULL, NULL);
}

static void every_other_call_does_nothing(void **state)
{
    (void)state;
    tn_memory_report report = { .size = sizeof report };
    tn_device_info device = { .size = sizeof device };
    tn_plugin_info plugin = { .size = sizeof plugin };
    tn_place_info place = { .size = sizeof place };
    tn_model_info info = { .size = sizeof info };
    tn_sink nowhere = { 0 };
    uint64_t bytes = 1;

    assert_int_equal(tn_error_set(NULL, TN_E_IO, "x"), TN_E_IO);
    assert_int_equal(tn_error_set(&err, TN_E_IO, NULL), TN_E_IO);
    tn_runtime_destroy(NULL);
    assert_int_equal(tn_runtime_threads(NULL), 0);
    assert_int_equal(tn_runtime_device_count(NULL), 0);
    assert_null(tn_runtime_device(NULL, 0));
    assert_null(tn_runtime_find_device(NULL, "cpu0"));
    assert_null(tn_runtime_find_device(runtime, NULL));
    tn_device_describe(NULL, &device);
    assert_true(tn_device_claim_factor(NULL, NULL) == 1);
    tn_device_describe(tn_runtime_device(runtime, 0), NULL);
    assert_int_equal(tn_runtime_plugin_count(NULL), 0);
    tn_runtime_plugin(NULL, 0, &plugin);
    tn_runtime_plugin(runtime, 0, NULL);
    assert_int_equal(tn_runtime_place_count(NULL), 0);
    tn_runtime_place(NULL, 0, &place);
    tn_runtime_place(runtime, 0, NULL);

    tn_graph_destroy(NULL);
    assert_true(tn_value_is_none(tn_graph_find(NULL, "x")));
    assert_true(tn_value_is_none(tn_graph_find(graph, NULL)));
    tn_graph_print(NULL, &nowhere);
    tn_graph_print(graph, NULL);
    tn_graph_print(graph, &nowhere);

    tn_session_destroy(NULL);
    tn_session_forget(NULL, 1);
    assert_int_equal(tn_session_device_count(NULL), 0);
    assert_int_equal(tn_session_graph_count(NULL), 0);
    tn_session_memory(NULL, &report);
    tn_session_memory(session, NULL);
    tn_session_explain(NULL, &nowhere);
    tn_session_explain(session, NULL);
    tn_snapshot_close(NULL);
    assert_null(tn_snapshot_note(NULL, &bytes));
    assert_int_equal(bytes, 0);
    assert_non_null(tn_snapshot_note(snapshot, NULL));
    assert_int_equal(tn_snapshot_extent(NULL, "kept"), -1);
    assert_int_equal(tn_snapshot_extent(snapshot, NULL), 4);

    tn_model_close(NULL);
    tn_model_describe(NULL, &info);
    tn_model_describe(model, NULL);
    assert_null(tn_model_problem(NULL, 0));
}

// Of a graph that is built: the error sticks, and a graph that is NULL has none to keep.
#define NO_VALUE(call, ...)                                                                        \
    do {                                                                                           \
        tn_graph *g = rig_graph();                                                                 \
        tn_value x = tn_graph_input(g, "x", TN_DTYPE_F32, 1, dims);                                \
        tn_graph_output(g, "y", tn_graph_scale(g, x, 1));                                          \
        assert_true(tn_value_is_none(call(g, __VA_ARGS__)));                                       \
        assert_int_equal(tn_graph_finish(g, &err), TN_E_ARG);                                      \
        tn_graph_destroy(g);                                                                       \
    } while (0)

static void a_builder_keeps_the_error(void **state)
{
    (void)state;
    NO_VALUE(tn_graph_input, NULL, TN_DTYPE_F32, 1, dims);
    NO_VALUE(tn_graph_input, "z", TN_DTYPE_F32, 1, NULL);
    NO_VALUE(tn_graph_state, NULL, TN_DTYPE_F32, 1, dims);
    NO_VALUE(tn_graph_state, "z", TN_DTYPE_F32, 1, NULL);
    NO_VALUE(tn_graph_weight, NULL, TN_DTYPE_F32, 1, dims, dims, 16);
    NO_VALUE(tn_graph_weight, "z", TN_DTYPE_F32, 1, NULL, dims, 16);
    NO_VALUE(tn_graph_weight, "z", TN_DTYPE_F32, 1, dims, NULL, 16);
    NO_VALUE(tn_graph_op, TNP_OP_NEG, NULL, NULL, 1, NULL);
    NO_VALUE(tn_graph_op, TNP_OP_SCALE, NULL, &x, 1, NULL);
    NO_VALUE(tn_graph_rope, x, x, x, NULL);
    NO_VALUE(tn_graph_attention, x, x, x, x, x, NULL);
    NO_VALUE(tn_graph_reshape, x, 1, NULL);
    NO_VALUE(tn_graph_permute, x, 1, NULL);
    NO_VALUE(tn_graph_broadcast, x, 1, NULL);
    tn_graph *g = rig_graph();
    tn_graph_output(g, NULL, tn_graph_input(g, "x", TN_DTYPE_F32, 1, dims));
    assert_int_equal(tn_graph_finish(g, &err), TN_E_ARG);
    tn_graph_destroy(g);

    const tn_value x = input;
    const tn_value none[] = {
        tn_graph_input(NULL, "x", TN_DTYPE_F32, 1, dims),
        tn_graph_state(NULL, "x", TN_DTYPE_F32, 1, dims),
        tn_graph_weight(NULL, "x", TN_DTYPE_F32, 1, dims, dims, 16),
        tn_graph_weight_part(NULL, TN_NO_VALUE, 0, 0, 1),
        tn_graph_op(NULL, TNP_OP_NEG, NULL, &x, 1, NULL),
        tn_graph_add(NULL, x, x),
        tn_graph_mul(NULL, x, x),
        tn_graph_swiglu(NULL, x, x),
        tn_graph_scale(NULL, x, 1),
        tn_graph_rms_norm(NULL, x, x, 1),
        tn_graph_matmul(NULL, x, x),
        tn_graph_rope(NULL, x, x, x, NULL),
        tn_graph_attention(NULL, x, x, x, x, x, NULL),
        tn_graph_get_rows(NULL, x, x),
        tn_graph_set_rows(NULL, x, x, x),
        tn_graph_convert(NULL, x, TN_DTYPE_F16),
        tn_graph_reshape(NULL, x, 1, dims),
        tn_graph_permute(NULL, x, 1, NULL),
        tn_graph_slice(NULL, x, 0, 0, 1),
        tn_graph_broadcast(NULL, x, 1, dims),
        tn_graph_limit(NULL, x, 0, x),
    };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_true(tn_value_is_none(none[i]));
    tn_graph_expect(NULL, x, 1, 1);
    tn_graph_output(NULL, "x", x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_name_what_is_null),
        cmocka_unit_test(sessions_name_what_is_null),
        cmocka_unit_test(snapshots_name_what_is_null),
        cmocka_unit_test(reports_name_what_is_null),
        cmocka_unit_test(schedules_name_what_is_null),
        cmocka_unit_test(plans_name_what_is_null),
        cmocka_unit_test(models_name_what_is_null),
        cmocka_unit_test(values_of_keys_name_what_is_null),
        cmocka_unit_test(every_other_call_does_nothing),
        cmocka_unit_test(a_builder_keeps_the_error),
    };
    return cmocka_run_group_tests(tests, make_all, drop_all);
}
