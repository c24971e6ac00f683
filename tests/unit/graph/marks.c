// Where nodes belong: as it was said when they were made, and so in what they are decomposed into.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "graph/decompose.h"
#include "graph_test.h"

static void check_mark(const tn_graph *graph, uint32_t node, uint32_t layer, uint32_t part)
{
    assert_int_equal(layer, graph->nodes[node].mark.layer);
    assert_int_equal(part, graph->nodes[node].mark.part);
}

// One node before any mark, one of layer 3, one of part 1 of layer 3, one after the marks.
static tn_graph *build(void)
{
    tn_graph *graph;
    assert_int_equal(TN_OK, tn_graph_create(NULL, &graph, NULL));
    tn_value x = tn_graph_input(graph, "x", TN_DTYPE_F32, 1, (int64_t[]){ 8 });
    x = tn_graph_scale(graph, x, 2.0f);
    tn_graph_mark(graph, 3, TN_NO_PART);
    x = tn_graph_swiglu(graph, x, x);
    tn_graph_mark(graph, 3, 1);
    x = tn_graph_swiglu(graph, x, x);
    tn_graph_mark(graph, TN_NO_LAYER, TN_NO_PART);
    tn_graph_output(graph, "y", tn_graph_scale(graph, x, 2.0f));
    assert_int_equal(TN_OK, tn_graph_finish(graph, NULL));
    return graph;
}

static void test_nodes_belong_where_it_was_said(void **state)
{
    (void)state;
    tn_graph *graph = build();
    check_mark(graph, 0, TN_NO_LAYER, TN_NO_PART);
    check_mark(graph, 1, 3, TN_NO_PART);
    check_mark(graph, 2, 3, 1);
    check_mark(graph, 3, TN_NO_LAYER, TN_NO_PART);
    tn_graph_destroy(graph);
}

static void test_steps_belong_where_their_composite_did(void **state)
{
    (void)state;
    tn_graph *graph = build(), *made = NULL;
    tni_composites into[4];
    for (uint32_t n = 0; n < 4; n++)
        into[n] = ~(tni_composites)0;
    assert_int_equal(TN_OK, tni_graph_decompose(graph, into, NULL, &made, NULL));
    assert_true(made->node_count > graph->node_count);
    for (uint32_t n = 0; n < made->node_count; n++) {
        tni_mark mark = graph->nodes[made->nodes[n].origin].mark;
        check_mark(made, n, mark.layer, mark.part);
    }
    tn_graph_destroy(made);
    tn_graph_destroy(graph);
}

static void test_a_part_is_of_a_layer(void **state)
{
    (void)state;
    tn_graph *graph;
    tn_error err;
    assert_int_equal(TN_OK, tn_graph_create(NULL, &graph, NULL));
    tn_graph_mark(graph, TN_NO_LAYER, 1);
    assert_int_equal(TN_E_ARG, tn_graph_finish(graph, &err));
    assert_string_equal("tn_graph_mark: part 1 is of no layer", err.text);
    tn_graph_destroy(graph);
    tn_graph_mark(NULL, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_belong_where_it_was_said),
        cmocka_unit_test(test_steps_belong_where_their_composite_did),
        cmocka_unit_test(test_a_part_is_of_a_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
