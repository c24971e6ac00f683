// Ops that write through an operand: where their output lies, what they may write, and how they are
// ordered against those who read the same bytes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "graph_test.h"

typedef struct cache {
    tn_graph *graph;
    tn_value state, rows, index;
} cache;

static cache make_cache(void)
{
    cache c = { .graph = test_graph() };
    c.state = tn_graph_state(c.graph, "state", TN_DTYPE_F32, 2, (int64_t[]){ 4, 9 });
    c.rows = test_value(c.graph, "rows", "F32 {4, 3}");
    c.index = test_value(c.graph, "index", "I32 {3}");
    return c;
}

static tn_value neg(tn_graph *graph, tn_value x)
{
    return tn_graph_op(graph, TNP_OP_NEG, NULL, &x, 1, NULL);
}

static void the_output_is_the_operand_after_the_write(void **state)
{
    (void)state;
    cache c = make_cache();
    tn_value half = tn_graph_slice(c.graph, c.state, 1, 4, 5);
    tn_value out = tn_graph_set_rows(c.graph, half, c.rows, c.index);
    const tni_value *value = test_at(c.graph, out), *target = test_at(c.graph, half);
    assert_int_equal(value->storage, target->storage);
    assert_int_equal(value->offset, 64);
    assert_memory_equal(value->strides, target->strides, sizeof value->strides);
    assert_int_equal(value->base, half.index);
    assert_string_equal(test_shape(c.graph, out), "F32 {4, 5}");
    tn_value_info info = { .size = sizeof info };
    assert_int_equal(tn_graph_value_info(c.graph, out, &info, NULL), TN_OK);
    assert_int_equal(info.is_view, 1);
    test_finish(c.graph, out);
    tn_graph_destroy(c.graph);
}

static void rows_are_written_by_index(void **state)
{
    (void)state;
    static const struct {
        const char *says, *table, *rows, *index;
        tn_status status;
        const char *words;
    } cases[] = {
        { "F32 rows into F32", "F32 {4, 9}", "F32 {4, 3}", "I32 {3}", TN_OK, "" },
        { "into F16", "F16 {4, 9}", "F32 {4, 3}", "I32 {3}", TN_OK, "" },
        { "into blocks", "Q8_0 {32, 9}", "F32 {32, 3}", "I32 {3}", TN_OK, "" },
        { "a number of rows that is told by the run", "F32 {4, 9}", "F32 {4, 3 of n}",
          "I32 {3 of n}", TN_OK, "" },
        { "no rows", "F32 {4, 9}", "F32 {4, 0}", "I32 {0}", TN_OK, "" },
        { "rows of another type", "F32 {4, 9}", "F16 {4, 3}", "I32 {3}", TN_E_SHAPE,
          "rows is F16 {4, 3}, table is F32 {4, 9}" },
        { "wider rows", "F32 {4, 9}", "F32 {5, 3}", "I32 {3}", TN_E_SHAPE,
          "rows is F32 {5, 3}, table is F32 {4, 9}" },
        { "more rows than indices", "F32 {4, 9}", "F32 {4, 3}", "I32 {2}", TN_E_SHAPE,
          "one for each index" },
        { "an index of another type", "F32 {4, 9}", "F32 {4, 3}", "I64 {3}", TN_E_DTYPE,
          "index must be I32" },
        { "a table of three dims", "F32 {4, 9, 2}", "F32 {4, 3}", "I32 {3}", TN_E_SHAPE,
          "the table must have two dims" },
        { "rows of three dims", "F32 {4, 9}", "F32 {4, 3, 2}", "I32 {3}", TN_E_SHAPE,
          "rows must have two dims" },
        { "a table that is limited", "F32 {4, 9 of n}", "F32 {4, 3}", "I32 {3}", TN_E_SHAPE,
          "dim 1 of the table has an extent" },
        { "rows that are limited across", "F32 {4, 9}", "F32 {4 of n, 3}", "I32 {3}", TN_E_SHAPE,
          "dim 0 of rows has an extent" },
        { "two numbers of rows", "F32 {4, 9}", "F32 {4, 3 of n}", "I32 {3 of m}", TN_E_SHAPE,
          "different extents" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_graph *graph = test_graph();
        // A copy of the input, to have bytes that may be written.
        tn_value shape = test_value(graph, "table", cases[i].table);
        const tni_value *like = test_at(graph, shape);
        tn_value table = tn_graph_convert(graph, shape, like->dtype);
        tn_value out = tn_graph_op(graph, TNP_OP_SET_ROWS, "set",
                                   (tn_value[]){ table, test_value(graph, "rows", cases[i].rows),
                                                 test_value(graph, "index", cases[i].index) },
                                   3, NULL);
        if (cases[i].status == TN_OK) {
            if (tn_value_is_none(out))
                fail_msg("%s: %s", cases[i].says, graph->first_error.text);
            test_finish(graph, out);
            tn_graph_destroy(graph);
        } else {
            test_refused(graph, cases[i].says, cases[i].status,
                         (const char *[]){ "set_rows 'set': ", cases[i].words, NULL });
        }
    }
}

static void weights_inputs_and_broadcasts_are_not_written(void **state)
{
    (void)state;
    static const float data[36];
    for (int i = 0; i < 4; i++) {
        cache c = make_cache();
        const char *words = "";
        tn_value table = TN_NO_VALUE;
        if (i == 0) {
            table = tn_graph_weight(c.graph, "w", TN_DTYPE_F32, 2, (int64_t[]){ 4, 9 }, data,
                                    sizeof data);
            words = "it would write through 'w', a weight";
        } else if (i == 1) {
            table = test_value(c.graph, "in", "F32 {4, 9}");
            words = "it would write through 'in', an input";
        } else if (i == 2) {   // also through a view of it
            table = tn_graph_slice(c.graph, test_value(c.graph, "in", "F32 {4, 9}"), 1, 1, 5);
            words = "an input";
        } else {
            tn_value one = tn_graph_state(c.graph, "one", TN_DTYPE_F32, 1, (int64_t[]){ 4 });
            table = tn_graph_broadcast(c.graph, one, 2, (int64_t[]){ 4, 9 });
            words = "a broadcast";
        }
        assert_true(tn_value_is_none(tn_graph_set_rows(c.graph, table, c.rows, c.index)));
        test_refused(c.graph, "a write", TN_E_ARG, (const char *[]){ "set_rows '", words, NULL });
    }
}

static void rows_of_the_table_itself_are_refused(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value table = tn_graph_state(graph, "table", TN_DTYPE_F32, 2, (int64_t[]){ 4, 9 });
    tn_value index = test_value(graph, "index", "I32 {3}");
    tn_value rows = tn_graph_slice(graph, table, 1, 0, 3);
    assert_true(tn_value_is_none(tn_graph_set_rows(graph, table, rows, index)));
    test_refused(graph, "a write", TN_E_ARG, (const char *[]){ "the bytes of the table", NULL });
}

static void a_write_waits_for_those_who_read_before_it(void **state)
{
    (void)state;
    cache c = make_cache();
    tn_value before = neg(c.graph, c.state);
    tn_value part = neg(c.graph,
                        tn_graph_slice(c.graph, c.state, 1, 8, 1));   // no byte is shared: still
    tn_value written = tn_graph_set_rows(c.graph, c.state, c.rows, c.index);
    tn_value after = neg(c.graph, written);
    tn_value old_handle = neg(c.graph, c.state);   // built after the write, so it sees it
    tn_value other = neg(c.graph, c.rows);
    const tn_value outputs[] = { before, part, after, old_handle, other };
    for (size_t i = 0; i < TN_COUNT_OF(outputs); i++)
        tn_graph_output(c.graph, (char[]){ (char)('a' + i), 0 }, outputs[i]);
    tn_error err = { 0 };
    assert_int_equal(tn_graph_finish(c.graph, &err), TN_OK);
    uint32_t write = test_node(c.graph, written);
    assert_true(test_is_after(c.graph, write, test_node(c.graph, before)));
    assert_true(test_is_after(c.graph, write, test_node(c.graph, part)));
    assert_true(test_is_after(c.graph, test_node(c.graph, after), write));
    assert_true(test_is_after(c.graph, test_node(c.graph, old_handle), write));
    assert_false(test_is_after(c.graph, test_node(c.graph, other), write));
    assert_false(test_is_after(c.graph, test_node(c.graph, part), test_node(c.graph, before)));
    tn_graph_destroy(c.graph);
}

static void writes_follow_each_other(void **state)
{
    (void)state;
    cache c = make_cache();
    tn_value first = tn_graph_set_rows(c.graph, c.state, c.rows, c.index);
    tn_value second = tn_graph_set_rows(c.graph, c.state, c.rows, c.index);
    tn_value third = tn_graph_set_rows(c.graph, second, c.rows, c.index);
    test_finish(c.graph, c.rows);
    assert_int_equal(c.graph->node_count,
                     3);   // writers of states are kept though no output reads them
    assert_true(test_is_after(c.graph, test_node(c.graph, second), test_node(c.graph, first)));
    assert_true(test_is_after(c.graph, test_node(c.graph, third), test_node(c.graph, second)));
    tn_graph_destroy(c.graph);
}

static void a_length_in_a_state_is_read_before_it_is_written(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value count = tn_graph_state(graph, "count", TN_DTYPE_I32, 2, (int64_t[]){ 1, 1 });
    tn_value limited = tn_graph_limit(graph, test_value(graph, "x", "F32 {4, 3}"), 1, count);
    tn_value y = neg(graph, limited);
    tn_value one = test_value(graph, "one", "F32 {1, 1}");
    tn_value written = tn_graph_set_rows(graph, count, one, test_value(graph, "index", "I32 {1}"));
    test_finish(graph, y);
    assert_true(test_is_after(graph, test_node(graph, written), test_node(graph, y)));
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_the_table_itself_are_refused),
        cmocka_unit_test(the_output_is_the_operand_after_the_write),
        cmocka_unit_test(rows_are_written_by_index),
        cmocka_unit_test(weights_inputs_and_broadcasts_are_not_written),
        cmocka_unit_test(a_write_waits_for_those_who_read_before_it),
        cmocka_unit_test(writes_follow_each_other),
        cmocka_unit_test(a_length_in_a_state_is_read_before_it_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
