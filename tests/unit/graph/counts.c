// Graphs of every size around powers of two: no internal capacity shows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "graph_test.h"

static void chains_of_every_length_work(void **state)
{
    (void)state;
    for (uint32_t power = 1; power <= 8192; power *= 2)
        for (uint32_t count = power - (power > 1); count <= power + 1; count++) {
            tn_graph *graph = test_graph();
            tn_value x = test_value(graph, "x", "F32 {4}");
            for (uint32_t i = 0; i < count; i++)
                x = tn_graph_scale(graph, x, (float)i);
            test_finish(graph, x);
            assert_int_equal(graph->node_count, count);
            for (uint32_t n = 0; n < count; n++) {
                const tnp_scale_attr *attr = graph->nodes[n].attr;
                assert_true(attr->scale == (float)n);
                assert_int_equal(graph->order.first[n + 1] - graph->order.first[n], n ? 1 : 0);
            }
            tn_graph_destroy(graph);
        }
}

static void any_number_of_leaves_and_outputs_works(void **state)
{
    (void)state;
    for (uint32_t power = 1; power <= 512; power *= 2)
        for (uint32_t count = power - (power > 1); count <= power + 1; count++) {
            tn_graph *graph = test_graph();
            tn_value sum = test_value(graph, "x", "F32 {4}");
            char name[16];
            for (uint32_t i = 0; i < count; i++) {
                snprintf(name, sizeof name, "%u", i);
                tn_value leaf = i % 2 ? test_value(graph, name, "F32 {4}")
                                      : tn_graph_state(graph, name, TN_DTYPE_F32, 1,
                                                       (int64_t[]){ 4 });
                sum = tn_graph_add(graph, sum, leaf);
                snprintf(name, sizeof name, "out%u", i);
                tn_graph_output(graph, name, sum);
            }
            test_finish(graph, sum);
            assert_int_equal(graph->output_count, count + 1);
            assert_int_equal(graph->node_count, count);
            snprintf(name, sizeof name, "out%u", count - 1);
            assert_int_equal(tn_graph_find(graph, name).index, sum.index);
            tn_graph_destroy(graph);
        }
}

// Many readers of one state, then one writer: it waits for each of them.
static void any_number_of_readers_is_waited_for(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 1025; count = count * 2 + (count % 3 == 0)) {
        tn_graph *graph = test_graph();
        tn_value table = tn_graph_state(graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 9 });
        tn_value rows = test_value(graph, "rows", "F32 {4, 3}"), sum = rows;
        tn_value index = test_value(graph, "index", "I32 {3}");
        for (uint32_t i = 0; i < count; i++)
            sum = tn_graph_add(graph, sum, tn_graph_slice(graph, table, 1, i % 7, 3));
        tn_value written = tn_graph_set_rows(graph, table, rows, index);
        test_finish(graph, sum);
        uint32_t writer = test_node(graph, written);
        assert_int_equal(graph->order.first[writer + 1] - graph->order.first[writer], count);
        tn_graph_destroy(graph);
    }
}

static void eight_dims_and_every_operand_are_in_use(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F32 {2, 2, 2, 2, 2, 2, 2, 3}");
    uint32_t axes[8];
    for (uint32_t i = 0; i < 8; i++)
        axes[i] = 7 - i;
    tn_value y = tn_graph_add(graph, tn_graph_permute(graph, x, 8, axes),
                              test_value(graph, "b", "F32 {3, 1, 1, 1, 1, 1, 1, 2}"));
    assert_string_equal(test_shape(graph, y), "F32 {3, 2, 2, 2, 2, 2, 2, 2}");
    test_finish(graph, y);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_every_length_work),
        cmocka_unit_test(any_number_of_leaves_and_outputs_works),
        cmocka_unit_test(any_number_of_readers_is_waited_for),
        cmocka_unit_test(eight_dims_and_every_operand_are_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
