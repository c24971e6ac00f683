// Parts of weights in sessions: a device holds no more than the parts that are used on it, and what
// is computed with them is what it is with views of the whole.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"

enum { COLUMNS = 768, ROWS = 48, TOKENS = 5 };

static float matrix[16 * 16], x[COLUMNS * TOKENS];

typedef struct part {
    uint32_t axis;
    int64_t begin, count;
} part;

static const part parts[] = {
    { 1, 0, ROWS / 2 }, { 1, ROWS / 3, ROWS / 3 }, { 0, 256, 512 }, { 0, 0, 256 }, { 1, 0, ROWS },
};

// x times a part of the weight, as a constant of its own or as a view of the whole.
static tn_graph *make(tn_dtype dtype, const void *data, uint64_t bytes, const part *p,
                      bool is_slice)
{
    tn_graph *graph = rig_graph();
    tn_value w = tn_graph_weight(graph, "w", dtype, 2, (int64_t[]){ COLUMNS, ROWS }, data, bytes);
    w = is_slice ? tn_graph_slice(graph, w, p->axis, p->begin, p->count)
                 : tn_graph_weight_part(graph, w, p->axis, p->begin, p->count);
    tn_value in = rig_input(graph, "x", 2, p->axis == 0 ? p->count : COLUMNS, TOKENS, 0);
    rig_finish(graph, tn_graph_matmul(graph, in, w));
    return graph;
}

// Any bytes below 0x3c: whatever the type makes of them, its scales are finite.
static void *make_bytes(uint64_t bytes)
{
    unsigned char *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(data);
    uint32_t random = 1;
    for (uint64_t i = 0; i < bytes; i++) {
        random = random * 1664525 + 1013904223;
        data[i] = (unsigned char)((random >> 24) % 0x3c);
    }
    return data;
}

static void run(tn_runtime *runtime, const tn_graph *graph, const part *p, const char *device,
                float *out, uint64_t *out_weight_bytes)
{
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ device, NULL });
    uint64_t columns = p->axis == 0 ? (uint64_t)p->count : COLUMNS,
             rows = p->axis == 1 ? (uint64_t)p->count : ROWS;
    rig_run(session, 0, graph, "x", x, columns * TOKENS * sizeof(float), NULL);
    rig_read(session, 0, graph, "out", out, rows * TOKENS * sizeof(float));
    tn_memory_report report = rig_memory(session);
    *out_weight_bytes = report.weight_mapped_bytes + report.weight_copied_bytes;
    tn_session_destroy(session);
}

static void a_device_holds_the_part_and_computes_as_with_a_view(void **state)
{
    (void)state;
    static const tn_dtype dtypes[] = { TN_DTYPE_F32,   TN_DTYPE_F16,  TN_DTYPE_Q4_0, TN_DTYPE_Q4_1,
                                       TN_DTYPE_Q5_0,  TN_DTYPE_Q5_1, TN_DTYPE_Q8_0, TN_DTYPE_Q2_K,
                                       TN_DTYPE_Q3_K,  TN_DTYPE_Q4_K, TN_DTYPE_Q5_K, TN_DTYPE_Q6_K,
                                       TN_DTYPE_IQ4_NL };
    static const char *const settings[][2] = {
        { "[{\"name\":\"a\"}]", "cpu0" },
        { "[{\"name\":\"a\"}]", "a" },
        { "[{\"name\":\"a\",\"import\":true}]", "a" },
        { "[{\"name\":\"a\",\"host_visible\":false}]", "a" },
    };
    static float want[ROWS * TOKENS], got[ROWS * TOKENS];
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        uint64_t bytes = tn_dtype_bytes(dtypes[d], COLUMNS) * ROWS, held;
        void *data = make_bytes(bytes);
        for (size_t s = 0; s < sizeof settings / sizeof settings[0]; s++) {
            tn_runtime *runtime = rig_simulated(settings[s][0], NULL);
            for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
                const part *p = &parts[i];
                tn_graph *slice = make(dtypes[d], data, bytes, p, true);
                tn_graph *own = make(dtypes[d], data, bytes, p, false);
                run(runtime, slice, p, settings[s][1], want, &held);
                assert_int_equal(held, bytes);
                run(runtime, own, p, settings[s][1], got, &held);
                int64_t whole = p->axis ? ROWS : COLUMNS;
                assert_int_equal(held, bytes * (uint64_t)p->count / (uint64_t)whole);
                size_t floats = (size_t)(p->axis ? p->count : ROWS) * TOKENS;
                if (memcmp(want, got, floats * sizeof(float)) != 0)
                    fail_msg("%s: part %zu on %s has other bits", tn_dtype_name(dtypes[d]), i,
                             settings[s][0]);
                tn_graph_destroy(slice);
                tn_graph_destroy(own);
            }
            tn_runtime_destroy(runtime);
            assert_string_equal(rig_log(), "");
        }
        free(data);
    }
}

// A pack of a part, and a part that a program keeps, are of the part's bytes.
static void a_part_is_packed_as_a_whole_weight_is(void **state)
{
    (void)state;
    static const char *const settings[][3] = {
        { "plugin.partial.pack=1", NULL },
        { "plugin.partial.pack=7", NULL },
        { "plugin.partial.pack=7", "plugin.partial.hidden=1", NULL },
        { "plugin.partial.pack=baked", NULL },
    };
    static float want[ROWS * TOKENS], got[ROWS * TOKENS];
    uint64_t bytes = tn_dtype_bytes(TN_DTYPE_Q8_0, COLUMNS) * ROWS, held;
    void *data = make_bytes(bytes);
    for (size_t s = 0; s < sizeof settings / sizeof settings[0]; s++) {
        tn_runtime *runtime = rig_runtime(true, settings[s]);
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
            const part *p = &parts[i];
            tn_graph *own = make(TN_DTYPE_Q8_0, data, bytes, p, false);
            run(runtime, own, p, "cpu0", want, &held);
            run(runtime, own, p, "partial0", got, &held);
            size_t floats = (size_t)(p->axis ? p->count : ROWS) * TOKENS;
            if (memcmp(want, got, floats * sizeof(float)) != 0)
                fail_msg("%s: part %zu has other bits", settings[s][0], i);
            tn_graph_destroy(own);
        }
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
    free(data);
}

// Parts that begin at one address and have as many bytes are still two.
static void parts_are_told_apart(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\"}]", NULL);
    tn_graph *graph = rig_graph();
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, (int64_t[]){ 16, 16 }, matrix,
                                 sizeof matrix);
    tn_value rows = tn_graph_weight_part(graph, w, 1, 0, 8),
             columns = tn_graph_weight_part(graph, w, 0, 0, 8);
    tn_graph_output(graph, "rows", tn_graph_scale(graph, rows, 1));
    tn_graph_output(graph, "columns", tn_graph_scale(graph, columns, 1));
    tn_graph_output(graph, "weight", columns);   // as it is, without a node
    tn_error err = { 0 };
    assert_int_equal(tn_graph_finish(graph, &err), TN_OK);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "a", NULL });
    rig_run(session, 0, graph, NULL);
    float got[3][8 * 16];
    rig_read(session, 0, graph, "rows", got[0], sizeof got[0]);
    rig_read(session, 0, graph, "columns", got[1], sizeof got[1]);
    rig_read(session, 0, graph, "weight", got[2], sizeof got[2]);
    assert_memory_equal(got[0], matrix, sizeof got[0]);
    for (int r = 0; r < 16; r++)
        assert_memory_equal(got[1] + r * 8, matrix + r * 16, 8 * sizeof(float));
    assert_memory_equal(got[2], got[1], sizeof got[1]);
    assert_int_equal(rig_memory(session).weight_copied_bytes, 2 * sizeof got[0]);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

static int fill(void **state)
{
    (void)state;
    rig_fill(matrix, 16 * 16, 3);
    rig_fill(x, COLUMNS * TOKENS, 4);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_holds_the_part_and_computes_as_with_a_view),
        cmocka_unit_test(a_part_is_packed_as_a_whole_weight_is),
        cmocka_unit_test(parts_are_told_apart),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
