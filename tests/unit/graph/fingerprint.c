// The fingerprint: the same for graphs that one plan fits, another for those that it does not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "graph_test.h"

// What a case changes of the graph that all others are held against.
typedef struct recipe {
    const char *says;
    bool is_same;      // as the first
    int concat_with;   // operand of the concat: 'a' or 'b'
    int64_t columns;
    tn_dtype dtype;
    float scale;
    int64_t slice_at;
    bool is_turned;   // a permutation with the same dims
    bool is_limited;
    uint32_t rank;
    int output;   // 0: the sum, 1: the concat
    tnp_op op;
    const char *name;
    float weight;
    bool has_dead_node;
    bool has_mask;
} recipe;

static uint64_t make(const recipe *r)
{
    tn_graph *graph = test_graph();
    const int64_t dims[] = { 4, r->columns, 1, 1 };
    float data[4] = { r->weight };
    tn_value n = test_value(graph, "n", "I32 {1}");
    tn_value a = tn_graph_input(graph, r->name, r->dtype, r->rank, dims);
    tn_value b = tn_graph_input(graph, "b", r->dtype, r->rank, dims);
    tn_value c = tn_graph_scale(graph, a, r->scale);
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 1, (int64_t[]){ 4 }, data, sizeof data);
    tn_value d = tn_graph_op(graph, TNP_OP_CONCAT, NULL,
                             (tn_value[]){ c, r->concat_with == 'a' ? a : b }, 2,
                             &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 });
    tn_value view = tn_graph_slice(graph, d, 0, r->slice_at, 4);
    view = tn_graph_permute(graph, view, 4, (uint32_t[]){ r->is_turned, !r->is_turned, 2, 3 });
    view = r->is_limited ? tn_graph_limit(graph, view, 1, n) : view;
    view = tn_graph_op(graph, r->op, NULL, (tn_value[]){ view, w }, 2, NULL);
    view = tn_graph_op(graph, TNP_OP_SOFTMAX, NULL,
                       (tn_value[]){ view, r->has_mask ? w : TN_NO_VALUE }, 2,
                       &(tnp_softmax_attr){ .size = sizeof(tnp_softmax_attr), .scale = 1 });
    if (r->has_dead_node)
        tn_graph_scale(graph, view, 3);
    test_finish(graph, r->output ? d : view);
    uint64_t fingerprint = graph->fingerprint;
    tn_graph_destroy(graph);
    return fingerprint;
}

static void what_a_plan_depends_on_changes_the_fingerprint(void **state)
{
    (void)state;
#define BASE                                                                                       \
    .concat_with = 'b', .columns = 4, .dtype = TN_DTYPE_F32, .scale = 2, .rank = 2,                \
    .op = TNP_OP_ADD, .name = "a"
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Woverride-init\"");
    static const recipe cases[] = {
        { BASE, .says = "the graph itself", .is_same = true },
        { BASE, .says = "once more", .is_same = true },
        { BASE, .says = "another name", .is_same = true, .name = "z" },
        { BASE, .says = "other bytes of a weight", .is_same = true, .weight = 7 },
        { BASE, .says = "same counts and sizes, another operand", .concat_with = 'a' },
        { BASE, .says = "other dims", .columns = 5 },
        { BASE, .says = "another type", .dtype = TN_DTYPE_F16 },
        { BASE, .says = "another attribute", .scale = 3 },
        { BASE, .says = "another offset", .slice_at = 4 },
        { BASE, .says = "other strides", .is_turned = true },
        { BASE, .says = "an extent", .is_limited = true },
        { BASE, .says = "another rank", .rank = 3 },
        { BASE, .says = "another output", .output = 1 },
        { BASE, .says = "another op", .op = TNP_OP_SUB },
        { BASE, .says = "an optional operand", .has_mask = true },
    };
    _Pragma("GCC diagnostic pop");
#undef BASE
    uint64_t made[TN_COUNT_OF(cases)];
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        made[i] = make(&cases[i]);
        for (size_t j = 0; j < i; j++)
            if ((made[i] == made[j]) != (cases[i].is_same && cases[j].is_same))
                fail_msg("\"%s\" and \"%s\": the fingerprints are %s", cases[i].says, cases[j].says,
                         made[i] == made[j] ? "the same" : "different");
    }
}

// d = concat(c, b) and d = concat(c, a), all counts and sizes the same.
static void graphs_of_one_size_that_are_wired_differently_are_told_apart(void **state)
{
    (void)state;
    uint64_t made[2];
    for (int i = 0; i < 2; i++) {
        tn_graph *graph = test_graph();
        tn_value a = test_value(graph, "a", "F32 {8}"), b = test_value(graph, "b", "F32 {8}");
        tn_value c = tn_graph_add(graph, a, b);
        test_finish(graph, tn_graph_op(graph, TNP_OP_CONCAT, NULL, (tn_value[]){ c, i ? a : b }, 2,
                                       &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 }));
        made[i] = graph->fingerprint;
        tn_graph_destroy(graph);
    }
    assert_true(made[0] != made[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_plan_depends_on_changes_the_fingerprint),
        cmocka_unit_test(graphs_of_one_size_that_are_wired_differently_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
