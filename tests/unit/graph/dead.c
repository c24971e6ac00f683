// What is dropped at finish: nodes that nothing needs, nodes without elements; and graphs at the
// edge: one node, views only, an input that is an output.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "graph_test.h"

static tn_value neg(tn_graph *graph, tn_value x)
{
    return tn_graph_op(graph, TNP_OP_NEG, NULL, &x, 1, NULL);
}

static tn_value concat(tn_graph *graph, tn_value a, tn_value b, uint32_t axis)
{
    return tn_graph_op(graph, TNP_OP_CONCAT, NULL, (tn_value[]){ a, b }, 2,
                       &(tnp_axis_attr){ sizeof(tnp_axis_attr), axis });
}

static void nodes_that_no_output_needs_are_dropped(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F32 {4}");
    tn_value dead = neg(graph, x);
    tn_value dead_too = neg(graph, dead);
    tn_value a = neg(graph, x);
    tn_value b = neg(graph, a);
    tn_value dead_last = tn_graph_add(graph, a, b);
    test_finish(graph, b);
    assert_int_equal(graph->node_count, 2);
    assert_int_equal(test_node(graph, dead), TNP_NONE);
    assert_int_equal(test_node(graph, dead_too), TNP_NONE);
    assert_int_equal(test_node(graph, dead_last), TNP_NONE);
    assert_int_equal(test_node(graph, a), 0);
    assert_int_equal(test_node(graph, b), 1);
    tn_value_info info = { .size = sizeof info };   // a value stays a value
    assert_int_equal(tn_graph_value_info(graph, dead, &info, NULL), TN_OK);
    tn_graph_destroy(graph);
}

static void what_an_output_sees_through_views_is_kept(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F32 {4, 3}");
    tn_value y = neg(graph, x);
    tn_value view = tn_graph_slice(graph, tn_graph_reshape(graph, y, 1, (int64_t[]){ 12 }), 0, 2,
                                   3);
    test_finish(graph, view);
    assert_int_equal(graph->node_count, 1);
    tn_graph_destroy(graph);
}

static void what_makes_a_length_is_kept(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value table = test_value(graph, "table", "I32 {1, 5}");
    tn_value n = tn_graph_get_rows(graph, table, test_value(graph, "i", "I32 {1}"));
    tn_value y = neg(graph, tn_graph_limit(graph, test_value(graph, "x", "F32 {4}"), 0, n));
    test_finish(graph, y);
    assert_int_equal(graph->node_count, 2);
    assert_true(test_is_after(graph, test_node(graph, y), test_node(graph, n)));
    tn_graph_destroy(graph);
}

static void a_write_to_a_value_that_nobody_reads_later_is_dropped(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value table = neg(graph, test_value(graph, "x", "F32 {4, 9}"));
    tn_value rows = test_value(graph, "rows", "F32 {4, 3}");
    tn_value index = test_value(graph, "index", "I32 {3}");
    tn_value read = neg(graph, table);
    tn_value written = tn_graph_set_rows(graph, table, rows, index);
    test_finish(graph, read);
    assert_int_equal(graph->node_count, 2);
    assert_int_equal(test_node(graph, written), TNP_NONE);
    tn_graph_destroy(graph);
}

static void writers_of_states_are_kept_with_all_they_need(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value table = tn_graph_state(graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 9 });
    tn_value rows = neg(graph, test_value(graph, "rows", "F32 {4, 3}"));
    tn_value index = test_value(graph, "index", "I32 {3}");
    tn_value written = tn_graph_set_rows(graph, table, rows, index);
    tn_value dead = neg(graph, written);   // reads a state and is read by nobody
    test_finish(graph, index);
    assert_int_equal(graph->node_count, 2);
    assert_int_equal(test_node(graph, written), 1);
    assert_int_equal(test_node(graph, dead), TNP_NONE);
    tn_graph_destroy(graph);
}

// ------------------------------------------------------------------------------------- no elements

// No node that is kept may look at a value without elements: a device never sees one.
static void need_no_empty_operand(const tn_graph *graph, const char *says)
{
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const tni_node *node = &graph->nodes[n];
        for (uint32_t i = 0; i <= node->input_count; i++) {
            uint32_t value = i < node->input_count ? node->inputs[i] : node->output;
            if (value != TNP_NONE && tni_value_elements(&graph->values[value]) == 0)
                fail_msg("%s: %s '%s' looks at '%s', which has no elements", says,
                         tni_op_find(node->op)->name, node->name, graph->values[value].name);
        }
    }
}

static void nodes_without_elements_are_dropped(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F32 {4, 0}");
    tn_value a = neg(graph, x), b = tn_graph_add(graph, a, a);
    tn_value w = test_value(graph, "w", "F32 {4, 5}");
    tn_value c = tn_graph_matmul(graph, b, w);
    test_finish(graph, c);
    assert_int_equal(graph->node_count, 0);
    tn_graph_destroy(graph);
}

static void of_a_concat_with_nothing_a_copy_is_left(void **state)
{
    (void)state;
    for (int is_first = 0; is_first < 2; is_first++) {
        tn_graph *graph = test_graph();
        tn_value empty = test_value(graph, "empty", "F32 {4, 0}");
        tn_value x = test_value(graph, "x", "F32 {4, 3 of n}");
        tn_value turned = tn_graph_permute(graph, test_value(graph, "y", "F32 {0, 4}"), 2,
                                           (uint32_t[]){ 1, 0 });
        tn_value whole = test_value(graph, "whole", "F32 {4, 3}");
        tn_value out = is_first ? concat(graph, neg(graph, empty), whole, 1)
                                : concat(graph, whole, turned, 1);
        tn_graph_output(graph, "other", neg(graph, x));
        test_finish(graph, out);
        need_no_empty_operand(graph, "concat");
        assert_int_equal(graph->node_count, 2);
        const tni_node *node = &graph->nodes[test_node(graph, out)];
        assert_int_equal(node->op, TNP_OP_CONVERT);
        assert_int_equal(node->input_count, 1);
        assert_int_equal(node->inputs[0], whole.index);
        assert_int_equal(((const tnp_convert_attr *)node->attr)->dtype, TN_DTYPE_F32);
        assert_int_equal(node->attr_bytes, sizeof(tnp_convert_attr));
        tn_graph_destroy(graph);
    }
    tn_graph *graph = test_graph();   // nothing with nothing
    tn_value empty = test_value(graph, "empty", "F32 {4, 0}");
    test_finish(graph, concat(graph, empty, empty, 1));
    assert_int_equal(graph->node_count, 0);
    tn_graph_destroy(graph);
}

static void a_write_of_no_rows_is_dropped(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value table = tn_graph_state(graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 9 });
    tn_value rows = test_value(graph, "rows", "F32 {4, 0}"),
             index = test_value(graph, "index", "I32 {0}");
    tn_value written = tn_graph_set_rows(graph, table, rows, index);
    tn_value y = neg(graph, written);
    test_finish(graph, y);
    need_no_empty_operand(graph, "set_rows");
    assert_int_equal(graph->node_count, 1);
    assert_int_equal(test_node(graph, y), 0);
    tn_graph_destroy(graph);
}

// ------------------------------------------------------------------------------ graphs at the edge

static void a_graph_may_be_one_node_or_none(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    test_finish(graph, neg(graph, test_value(graph, "x", "F32 {4}")));
    assert_int_equal(graph->node_count, 1);
    assert_int_equal(graph->order.first[1], 0);
    tn_graph_destroy(graph);

    graph = test_graph();   // views only
    tn_value x = test_value(graph, "x", "F32 {4, 3}");
    test_finish(graph, tn_graph_permute(graph, x, 2, (uint32_t[]){ 1, 0 }));
    assert_int_equal(graph->node_count, 0);
    tn_graph_destroy(graph);

    graph = test_graph();   // an input that is also an output, under two names
    x = test_value(graph, "x", "F32 {4}");
    tn_graph_output(graph, "again", x);
    tn_graph_output(graph, "x", x);
    test_finish(graph, x);
    assert_int_equal(graph->node_count, 0);
    assert_int_equal(tn_graph_find(graph, "again").index, x.index);
    tn_graph_destroy(graph);

    graph = test_graph();   // a state and a weight as outputs
    static const float data[4];
    tn_graph_output(graph, "s", tn_graph_state(graph, "s", TN_DTYPE_F32, 0, NULL));
    test_finish(graph, tn_graph_weight(graph, "w", TN_DTYPE_F32, 1, (int64_t[]){ 4 }, data, 16));
    tn_graph_destroy(graph);
}

static void things_are_found_by_name(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F32 {4}");
    tn_value s = tn_graph_state(graph, "s", TN_DTYPE_F32, 0, NULL);
    static const float data[4];
    tn_graph_weight(graph, "w", TN_DTYPE_F32, 1, (int64_t[]){ 4 }, data, 16);
    tn_value y = tn_graph_op(graph, TNP_OP_NEG, "y", &x, 1, NULL);
    tn_graph_output(graph, "x", y);   // an output goes before an input of its name
    test_finish(graph, y);
    assert_int_equal(tn_graph_find(graph, "x").index, y.index);
    assert_int_equal(tn_graph_find(graph, "s").index, s.index);
    assert_int_equal(tn_graph_find(graph, "out").index, y.index);
    assert_true(tn_value_is_none(tn_graph_find(graph, "w")));
    assert_true(tn_value_is_none(tn_graph_find(graph, "y")));
    assert_true(tn_value_is_none(tn_graph_find(graph, "")));
    tn_graph_destroy(graph);
}

static void questions_about_a_value_fill_the_room_given(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "Q8_0 {64, 3, 2}");
    tn_value_info info = { .size = sizeof info };
    assert_int_equal(tn_graph_value_info(graph, x, &info, NULL), TN_OK);
    assert_int_equal(info.bytes, 68 * 6);
    assert_int_equal(info.rank, 3);
    assert_int_equal(info.dims[7], 1);
    assert_int_equal(info.is_view, 0);
    assert_string_equal(info.name, "x");
    info = (tn_value_info){ .size = offsetof(tn_value_info, bytes), .bytes = 77 };
    assert_int_equal(tn_graph_value_info(graph, x, &info, NULL), TN_OK);
    assert_int_equal(info.bytes, 77);
    assert_int_equal(info.dims[0], 64);
    tn_value scalar = test_value(graph, "scalar", "F32 {}");
    info.size = sizeof info;
    assert_int_equal(tn_graph_value_info(graph, scalar, &info, NULL), TN_OK);
    assert_int_equal(info.bytes, 4);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_no_output_needs_are_dropped),
        cmocka_unit_test(what_an_output_sees_through_views_is_kept),
        cmocka_unit_test(what_makes_a_length_is_kept),
        cmocka_unit_test(a_write_to_a_value_that_nobody_reads_later_is_dropped),
        cmocka_unit_test(writers_of_states_are_kept_with_all_they_need),
        cmocka_unit_test(nodes_without_elements_are_dropped),
        cmocka_unit_test(of_a_concat_with_nothing_a_copy_is_left),
        cmocka_unit_test(a_write_of_no_rows_is_dropped),
        cmocka_unit_test(a_graph_may_be_one_node_or_none),
        cmocka_unit_test(things_are_found_by_name),
        cmocka_unit_test(questions_about_a_value_fill_the_room_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
