// What a session needs: bytes taken in place, the report, the plan in words, limits of a memory,
// and compiling again and again.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counting_alloc.h"
#include "session_rig.h"

static tn_runtime *runtime;

static int make_runtime(void **state)
{
    (void)state;
    runtime = rig_runtime(
        true, (const char *[]){ "plugin.partial.memory=1000", "plugin.partial.largest=600", NULL });
    return 0;
}

static int drop_runtime(void **state)
{
    (void)state;
    tn_runtime_destroy(runtime);
    return 0;
}

static tn_memory_report report_of(tn_graph *graph)
{
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    tn_memory_report report = rig_memory(session);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    return report;
}

static void what_is_read_otherwise_is_not_overwritten(void **state)
{
    (void)state;
    enum { BYTES = 4096 };
    static const struct {
        const char *says;
        uint64_t values;   // alive at most, beside the input
    } cases[] = { { "a later reader", 2 },
                  { "an output", 2 },
                  { "another view in the same op", 2 },
                  { "nothing of this", 1 } };
    for (int i = 0; i < 4; i++) {
        tn_graph *graph = rig_graph();
        tn_value x = rig_input(graph, "x", 2, 32, 32, 0), y = rig_op(graph, TNP_OP_TANH, x), z;
        if (i == 0) {
            z = tn_graph_mul(graph, tn_graph_scale(graph, y, 2), y);
        } else if (i == 1) {
            tn_graph_output(graph, "y", y);
            z = tn_graph_scale(graph, y, 2);
        } else if (i == 2) {
            z = tn_graph_add(graph, y, tn_graph_permute(graph, y, 2, (uint32_t[]){ 1, 0 }));
        } else {
            z = tn_graph_scale(graph, y, 2);
        }
        rig_finish(graph, z);
        tn_memory_report report = report_of(graph);
        if (report.arena_bytes != (1 + cases[i].values) * BYTES)
            fail_msg("%s: %" PRIu64 " bytes", cases[i].says, report.arena_bytes);
    }
}

static void the_report_adds_up(void **state)
{
    (void)state;
    static const float weight[64];
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 2, 8, 5, 0);
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, (int64_t[]){ 8, 8 }, weight,
                                 sizeof weight);
    tn_value s = tn_graph_state(graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 8, 100 });
    tn_value index = tn_graph_input(graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 5 });
    tn_value y = x;
    for (int i = 0; i < 10; i++)
        y = tn_graph_add(graph, tn_graph_matmul(graph, y, w), x);
    tn_graph_set_rows(graph, s, y, index);
    rig_finish(graph, y);
    tn_memory_report report = report_of(graph);
    assert_int_equal(report.size, sizeof report);
    assert_int_equal(report.segment_count, 1);
    assert_int_equal(report.state_bytes, 3200);
    assert_int_equal(report.weight_mapped_bytes + report.weight_copied_bytes,
                     sizeof weight);   // once
    assert_true(report.arena_bytes >= report.arena_bound_bytes);
    assert_true(report.arena_bound_bytes > 0);
    assert_true(report.unshared_bytes > 3 * report.arena_bytes);
    tn_memory_report small = { .size = offsetof(tn_memory_report, state_bytes), .state_bytes = 77 };
    graph = rig_graph();
    rig_finish(graph, rig_op(graph, TNP_OP_NEG, rig_input(graph, "x", 1, 4, 0, 0)));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    tn_session_memory(session, &small);   // only what there is room for
    assert_int_equal(small.state_bytes, 77);
    assert_true(small.arena_bytes > 0);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

static void the_plan_is_told_in_words(void **state)
{
    (void)state;
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 1, 4, 0, 0);
    tn_value s = tn_graph_state(graph, "a state", TN_DTYPE_F32, 1, (int64_t[]){ 4 });
    rig_finish(graph, tn_graph_add(graph, rig_op(graph, TNP_OP_NEG, x), s));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    const char *text = rig_explain(session);
    static const char *const parts[] = { "graph 0, x F32 {4}: 2 nodes, 1 segment, 0 copies",
                                         "segment 0 on cpu0: steps 0 to 1", "cpu0: arena of ",
                                         "1 state of 16 bytes\n" };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!strstr(text, parts[i]))
            fail_msg("\"%s\" does not say \"%s\"", text, parts[i]);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

static int64_t resident_anonymous_bytes(void)
{
    char line[256];
    long long kib = -1;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && kib < 0 && fgets(line, sizeof line, file))
        (void)sscanf(line, "RssAnon: %lld kB", &kib);
    if (file)
        fclose(file);
    assert_true(kib >= 0);
    return kib * 1024;
}

static void a_state_takes_memory_only_where_it_was_written(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip();   // the sanitizer keeps as much again about every byte that is touched
#endif
    enum { BYTES = 64 << 20, MOST = BYTES / 4, ROW = 1024 };
    const int64_t dims[] = { ROW, BYTES / ROW / 4 };
    tn_graph *graph = rig_graph();
    tn_value table = tn_graph_state(graph, "large", TN_DTYPE_F32, 2, dims);
    tn_value row = rig_input(graph, "row", 2, ROW, 1, 0);
    tn_value index = tn_graph_input(graph, "index", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value written = tn_graph_set_rows(graph, table, row, index);
    rig_finish(graph, tn_graph_get_rows(graph, written, index));
    int64_t before = resident_anonymous_bytes();
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    float ones[ROW], got[ROW];
    for (int i = 0; i < ROW; i++)
        ones[i] = 1;
    for (int32_t at = 0; at < dims[1]; at += 1000)
        rig_run(session, 0, graph, "row", ones, sizeof ones, "index", &at, sizeof at, NULL);
    assert_true(resident_anonymous_bytes() - before < MOST);
    assert_int_equal(tn_session_reset(session, NULL), TN_OK);
    assert_true(resident_anonymous_bytes() - before < MOST);
    rig_run(session, 0, graph, "row", ones, sizeof ones, "index", (int32_t[]){ 1 }, (size_t)4,
            NULL);
    rig_read(session, 0, graph, "out", got, sizeof got);
    assert_memory_equal(got, ones, sizeof ones);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

// 1,000 bytes are free, 600 in one buffer, of which an arena uses 576: its alignment is 32. An
// arena has two values at a time, each rounded up to that.
static void what_a_memory_does_not_hold_is_refused_with_the_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        int64_t floats, state_floats;
        const char *words[2];   // NULL = it fits
    } cases[] = {
        { "what fits", 64, 64, { NULL, NULL } },
        { "a state larger than a buffer", 16, 151, { "'big' needs 604", "600" } },
        { "as large as a buffer", 16, 150, { NULL, NULL } },
        { "an arena larger than a buffer", 80, 4, { NULL, NULL } },
        { "a value larger than a buffer", 145, 4, { "'x' needs 580", "has 576" } },
        { "both fit, together they do not", 70, 148, { "1184 bytes are needed", "1000 are free" } },
        { "far too much", 16, 1 << 20, { "4194432 bytes are needed", "1000 are free" } },
    };
    tn_graph *small = rig_graph();
    rig_finish(small, rig_op(small, TNP_OP_NEG, rig_input(small, "x", 1, 4, 0, 0)));
    tn_session *first = rig_session(runtime, (const tn_graph *[]){ small }, 1,
                                    (const char *[]){ "partial0", NULL });
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_graph *graph = rig_graph();
        tn_value s = tn_graph_state(graph, "big", TN_DTYPE_F32, 1, &cases[i].state_floats);
        tn_value y = tn_graph_add(
            graph, rig_op(graph, TNP_OP_NEG, rig_input(graph, "x", 1, cases[i].floats, 0, 0)),
            tn_graph_slice(graph, s, 0, 0, 1));
        rig_finish(graph, y);
        tn_device *devices[] = { rig_device(runtime, "partial0") };
        tn_session_options options = { .size = sizeof options,
                                       .device_count = 1,
                                       .devices = devices };
        tn_session *session = NULL;
        tn_error err = { 0 };
        tn_status status = tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options,
                                             &session, &err);
        if (status != (cases[i].words[0] ? TN_E_DEVICE_MEMORY : TN_OK))
            fail_msg("%s: %s %s", cases[i].says, tn_status_name(status), err.text);
        for (int k = 0; k < 2 && cases[i].words[k]; k++)
            if (!strstr(err.text, cases[i].words[k]) || !strstr(err.text, "partial0: "))
                fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].says, err.text,
                         cases[i].words[k]);
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        float got[4];   // the one that was there still runs
        rig_run(first, 0, small, "x", (float[]){ 1, 2, 3, 4 }, (size_t)16, NULL);
        rig_read(first, 0, small, "out", got, sizeof got);
        assert_memory_equal(got, ((float[]){ -1, -2, -3, -4 }), sizeof got);
    }
    tn_session_destroy(first);
    tn_graph_destroy(small);
}

// --------------------------------------------------------------------------------- again and again

// The same plan, the same bytes, no growth, of everything that libtenon and the plugin
// take.
static void a_graph_is_compiled_and_dropped_a_thousand_times_without_growth(void **state)
{
    (void)state;
    counting_alloc c;
    counting_alloc_init(&c);
    static const char *const paths[] = { CPU_PLUGIN_PATH };
    tn_runtime_options options = { .size = sizeof options,
                                   .threads = 1,
                                   .plugin_paths = paths,
                                   .plugin_path_count = 1,
                                   .allocator = &c.allocator };
    tn_runtime *own = NULL;
    tn_graph *graph = NULL;
    tn_error err = { 0 };
    assert_int_equal(tn_runtime_create(&options, &own, &err), TN_OK);
    assert_int_equal(tn_graph_create(&c.allocator, &graph, &err), TN_OK);
    static const float weight[16];
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, (int64_t[]){ 4, 4 }, weight,
                                 sizeof weight);
    tn_value s = tn_graph_state(graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 2 });
    tn_value y = rig_input(graph, "x", 2, 4, 2, 0);
    for (int i = 0; i < 5; i++)
        y = tn_graph_add(graph, tn_graph_matmul(graph, y, w), s);
    rig_finish(graph, y);
    int64_t bytes = 0, most = 0, pieces = 0;
    char *plan = NULL;
    for (int i = 0; i < 1000; i++) {
        tn_session *session = NULL;
        c.most = c.bytes;
        assert_int_equal(
            tn_session_create(own, (const tn_graph *[]){ graph }, 1, NULL, &session, &err), TN_OK);
        if (i % 100 == 0)
            rig_run(session, 0, graph, NULL);
        int64_t now = c.most;
        if (i == 0)
            plan = strdup(rig_plan(session, 0));
        assert_string_equal(rig_plan(session, 0), plan);
        tn_session_destroy(session);
        if (i == 1)   // the first opens the device
            bytes = c.bytes, most = now, pieces = c.pieces;
        if (i > 1 && (c.bytes != bytes || c.pieces != pieces || now != most))
            fail_msg("round %d: %lld bytes in %lld pieces, at most %lld; at first %lld, %lld, %lld",
                     i, (long long)c.bytes, (long long)c.pieces, (long long)now, (long long)bytes,
                     (long long)pieces, (long long)most);
    }
    free(plan);
    tn_graph_destroy(graph);
    tn_runtime_destroy(own);
    assert_int_equal(c.pieces, 0);
    assert_int_equal(c.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_otherwise_is_not_overwritten),
        cmocka_unit_test(the_report_adds_up),
        cmocka_unit_test(the_plan_is_told_in_words),
        cmocka_unit_test(a_state_takes_memory_only_where_it_was_written),
        cmocka_unit_test(what_a_memory_does_not_hold_is_refused_with_the_numbers),
        cmocka_unit_test(a_graph_is_compiled_and_dropped_a_thousand_times_without_growth),
    };
    return cmocka_run_group_tests(tests, make_runtime, drop_runtime);
}
