// split.c: y = silu(a + b) * c on two devices: one that lacks silu and the template, whose memory
// the host cannot see. Called as `split TEMPLATE.so LACKING.so`.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/tenon.h>

enum { COLUMNS = 1000, ROWS = 9 };

static const char *plugins[2];
static const int64_t dims[] = { COLUMNS, ROWS };
static float a[ROWS][COLUMNS], b[ROWS][COLUMNS], c[ROWS][COLUMNS];

// is_limited: a fourth input, `rows`, tells how many rows of a count; silu inherits that.
typedef struct rig {
    tn_runtime *runtime;
    tn_graph *graph;
    tn_session *session;
    bool is_limited;
} rig;

static void succeed(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static void make(rig *r, bool is_limited, const char *const *devices, uint32_t count)
{
    tn_error err = { 0 };
    tn_device *found[2];
    tn_runtime_options options = {
        .size = sizeof options, .threads = 2, .plugin_paths = plugins, .plugin_path_count = 2
    };
    *r = (rig){ .is_limited = is_limited };
    succeed(tn_runtime_create(&options, &r->runtime, &err), &err);
    succeed(tn_graph_create(NULL, &r->graph, &err), &err);
    tn_value x = tn_graph_input(r->graph, "a", TN_DTYPE_F32, 2, dims);
    tn_value y = tn_graph_input(r->graph, "b", TN_DTYPE_F32, 2, dims);
    tn_value z = tn_graph_input(r->graph, "c", TN_DTYPE_F32, 2, dims);
    if (is_limited) {
        tn_value rows = tn_graph_input(r->graph, "rows", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
        tn_graph_expect(r->graph, rows, 4, ROWS);
        x = tn_graph_limit(r->graph, x, 1, rows);
    }
    tn_value sum = tn_graph_add(r->graph, x, y);
    tn_value activated = tn_graph_op(r->graph, TNP_OP_SILU, "activation", &sum, 1, NULL);
    tn_graph_output(r->graph, "y", tn_graph_mul(r->graph, activated, z));
    succeed(tn_graph_finish(r->graph, &err), &err);
    for (uint32_t i = 0; i < count; i++) {
        found[i] = tn_runtime_find_device(r->runtime, devices[i]);
        if (!found[i])
            fail_msg("there is no device %s", devices[i]);
    }
    const tn_graph *graphs[] = { r->graph };
    tn_session_options how = { .size = sizeof how, .device_count = count, .devices = found };
    succeed(tn_session_create(r->runtime, graphs, 1, &how, &r->session, &err), &err);
}

static void make_split(rig *r, bool is_limited)
{
    make(r, is_limited, (const char *const[]){ "template0", "lacking0" }, 2);
}

static void release(rig *r)
{
    tn_session_destroy(r->session);
    tn_graph_destroy(r->graph);
    tn_runtime_destroy(r->runtime);
}

// Numbers of every size and sign, other ones each time.
static void fill(float round)
{
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < COLUMNS; i++) {
            a[row][i] = 0.02f * (float)(i - COLUMNS / 2) + round;
            b[row][i] = 0.5f * (float)(row - ROWS / 2);
            c[row][i] = 1.0f + (float)(i % 7);
        }
}

static tn_status run(rig *r, int32_t rows, float (*y)[COLUMNS], tn_error *err)
{
    tn_feed feeds[] = { { tn_graph_find(r->graph, "a"), a, sizeof a },
                        { tn_graph_find(r->graph, "b"), b, sizeof b },
                        { tn_graph_find(r->graph, "c"), c, sizeof c },
                        { tn_graph_find(r->graph, "rows"), &rows, sizeof rows } };
    tn_status status = tn_session_run(r->session, 0, feeds, r->is_limited ? 4 : 3, err);
    if (status != TN_OK)
        return status;
    return tn_session_read(r->session, 0, tn_graph_find(r->graph, "y"), y,
                           sizeof(float[ROWS][COLUMNS]), err);
}

// Both are within a few units of the last place of the true value; so they differ by no more.
static void assert_close(float (*got)[COLUMNS], float (*want)[COLUMNS], int rows)
{
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < COLUMNS; i++)
            if (!(fabsf(got[row][i] - want[row][i]) <= 2e-6f * fabsf(want[row][i])))
                fail_msg("y[%d][%d] is %.9g, the cpu alone gives %.9g", row, i, (double)got[row][i],
                         (double)want[row][i]);
}

static void keep_text(void *context, const char *text, size_t bytes)
{
    strncat(context, text, bytes);
}

static void the_graph_is_cut_into_three_segments(void **state)
{
    (void)state;
    rig r;
    char text[4096] = "";
    tn_sink sink = { text, keep_text };
    make_split(&r, false);
    tn_session_explain(r.session, &sink);
    release(&r);
    static const char *const lines[] = {
        "3 nodes, 3 segments, 2 copies", "segment 0 on lacking0", "segment 1 on template0",
        "this device lacks silu",          "segment 2 on lacking0", "this device computes silu only"
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text, lines[i]))
            fail_msg("'%s' is not in: %s", lines[i], text);
}

static void run_after_run_the_numbers_are_those_of_the_cpu(void **state)
{
    (void)state;
    static float got[ROWS][COLUMNS], want[ROWS][COLUMNS];
    tn_error err = { 0 };
    rig split, alone;
    make_split(&split, false);
    make(&alone, false, (const char *const[]){ "cpu0" }, 1);
    for (int round = 0; round < 5; round++) {
        fill((float)round);
        succeed(run(&split, 0, got, &err), &err);
        succeed(run(&alone, 0, want, &err), &err);
        assert_close(got, want, ROWS);
    }
    release(&split);
    release(&alone);
}

static void only_the_rows_that_count_are_computed(void **state)
{
    (void)state;
    static float got[ROWS][COLUMNS], want[ROWS][COLUMNS];
    tn_error err = { 0 };
    rig split, alone;
    make_split(&split, true);
    make(&alone, true, (const char *const[]){ "cpu0" }, 1);
    fill(0);
    for (int rows = ROWS; rows >= 0; rows -= 3) {
        succeed(run(&split, rows, got, &err), &err);
        succeed(run(&alone, rows, want, &err), &err);
        assert_close(got, want, rows);
    }
    release(&split);
    release(&alone);
}

static void a_length_out_of_range_fails_and_the_next_run_works(void **state)
{
    (void)state;
    static float y[ROWS][COLUMNS];
    tn_error err = { 0 };
    rig r;
    make_split(&r, true);
    fill(0);
    assert_int_equal(run(&r, ROWS + 1, y, &err), TN_E_DATA);
    assert_int_equal(run(&r, -1, y, &err), TN_E_DATA);
    succeed(run(&r, ROWS, y, &err), &err);
    release(&r);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    plugins[0] = argv[1];
    plugins[1] = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_graph_is_cut_into_three_segments),
        cmocka_unit_test(run_after_run_the_numbers_are_those_of_the_cpu),
        cmocka_unit_test(only_the_rows_that_count_are_computed),
        cmocka_unit_test(a_length_out_of_range_fails_and_the_next_run_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
