// The graph as text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "graph_test.h"

typedef struct text {
    char bytes[8192];
    size_t used;
} text;

static void append(void *context, const char *bytes, size_t count)
{
    text *t = context;
    if (t->used + count >= sizeof t->bytes)
        fail_msg("the text is too long");
    memcpy(t->bytes + t->used, bytes, count);
    t->used += count;
    t->bytes[t->used] = 0;
}

static void need_text(const tn_graph *graph, const char *want)
{
    text got = { .used = 0 };
    tn_graph_print(graph, &(tn_sink){ &got, append });
    assert_string_equal(got.bytes, want);
}

static void a_line_a_value_and_a_node_in_the_order_they_run(void **state)
{
    (void)state;
    static const float data[4];
    tn_graph *graph = test_graph();
    tn_value s = tn_graph_state(graph, "cache", TN_DTYPE_F32, 2, (int64_t[]){ 4, 9 });
    tn_value x = test_value(graph, "x", "F32 {4, 3 of n}");
    tn_value index = test_value(graph, "index", "I32 {3}");
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 1, (int64_t[]){ 4 }, data, 16);
    tn_value y = tn_graph_rms_norm(graph, x, TN_NO_VALUE, 0);
    y = tn_graph_op(graph, TNP_OP_MUL, "weighted", (tn_value[]){ y, w }, 2, NULL);
    tn_graph_op(graph, TNP_OP_NEG, "dead", &y, 1, NULL);
    tn_graph_set_rows(graph, s, y, index);
    test_finish(graph, y);
    need_text(graph,
              "graph: 10 values, 3 nodes, 8 storages\n"
              "leaves and views\n"
              "  %0     state      cache                        F32 {4, 9}\n"
              "  %1     input      x                            F32 {4, 3}\n"
              "  %2     input      n                            I32 {1}\n"
              "  %3     limit      limit.3                      F32 {4, 3 of n}  <- %1\n"
              "  %4     input      index                        I32 {3}\n"
              "  %5     weight     w                            F32 {4}\n"
              "nodes, in the order they run\n"
              "    0  rms_norm   %6     rms_norm.6                   F32 {4, 3 of n}  <- %3 -\n"
              "    1  mul        %7     weighted                     F32 {4, 3 of n}  <- %6 %5\n"
              "    2  set_rows   %9     set_rows.9                   F32 {4, 9}  through %0 %7 %4\n"
              "outputs\n"
              "  out = %7\n");
    tn_graph_destroy(graph);
}

static void a_graph_without_nodes_prints_too(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    test_finish(graph, test_value(graph, "x", "F32 {}"));
    need_text(graph, "graph: 1 values, 0 nodes, 1 storages\n"
                     "leaves and views\n"
                     "  %0     input      x                            F32 {}\n"
                     "nodes, in the order they run\n"
                     "outputs\n"
                     "  out = %0\n");
    tn_graph_destroy(graph);
}

static void a_name_of_any_length_is_printed(void **state)
{
    (void)state;
    char name[2001];
    memset(name, 'n', 2000);
    name[2000] = 0;
    tn_graph *graph = test_graph();
    test_finish(graph, tn_graph_input(graph, name, TN_DTYPE_F32, 1, (int64_t[]){ 4 }));
    text got = { .used = 0 };
    tn_graph_print(graph, &(tn_sink){ &got, append });
    assert_non_null(strstr(got.bytes, "F32 {4}\n"));
    assert_non_null(strstr(got.bytes, "  out = %0\n"));
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_a_value_and_a_node_in_the_order_they_run),
        cmocka_unit_test(a_graph_without_nodes_prints_too),
        cmocka_unit_test(a_name_of_any_length_is_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
