// Which output may take the bytes of which operand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "plan/plan.h"

static tn_graph *graph;
static tn_value x;   // a value that a node made: F32 {4, 3}

static int begin(void **state)
{
    (void)state;
    if (tn_graph_create(NULL, &graph, NULL) != TN_OK)
        return 1;
    tn_value in = tn_graph_input(graph, "in", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    x = tn_graph_op(graph, TNP_OP_TANH, NULL, &in, 1, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tn_graph_destroy(graph);
    return 0;
}

// Whether the output of the unit, the nodes of the values given, may take the bytes of `input`.
static bool may(tn_value output, tn_value input, const tn_value *unit, uint32_t count)
{
    uint32_t nodes[8];
    for (uint32_t i = 0; i < count; i++) {
        if (tn_value_is_none(unit[i]))
            fail_msg("%s", graph->first_error.text);
        nodes[i] = graph->values[unit[i].index].node;
    }
    return tni_plan_may_overwrite(graph, nodes, count, output.index, input.index);
}

static bool may_alone(tn_value output, tn_value input)
{
    return may(output, input, &output, 1);
}

static tn_value op2(tnp_op op, tn_value a, tn_value b, const void *attr)
{
    return tn_graph_op(graph, op, NULL, (tn_value[]){ a, b }, 2, attr);
}

static void ops_take_the_operands_that_their_table_says(void **state)
{
    (void)state;
    tn_value y = op2(TNP_OP_ADD, x, x, NULL);   // another value of this shape
    const tnp_softmax_attr softmax = { .size = sizeof softmax, .scale = 1 };
    const tnp_axis_attr axis = { sizeof axis, 0 };
    const tnp_rope_attr rope = { .size = sizeof rope, .rot_dims = 2, .base = 1, .scale = 1 };
    tn_value position = tn_graph_input(graph, "p", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value square = tn_graph_matmul(graph, x, y);   // {3, 3}
    tn_value index = tn_graph_input(graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    const struct {
        const char *says;
        tn_value output, input;
        bool may;
    } cases[] = {
        { "scale", tn_graph_scale(graph, x, 2), x, true },
        { "the first of add", op2(TNP_OP_ADD, x, y, NULL), x, true },
        { "the second of add", op2(TNP_OP_ADD, y, x, NULL), x, true },
        { "both of add", op2(TNP_OP_ADD, x, x, NULL), x, true },
        { "the first of div", op2(TNP_OP_DIV, x, y, NULL), x, true },
        { "gate", tn_graph_swiglu(graph, x, y), x, true },
        { "up", tn_graph_swiglu(graph, y, x), x, true },
        { "rms_norm", tn_graph_rms_norm(graph, x, TN_NO_VALUE, 0), x, true },
        { "softmax", tn_graph_op(graph, TNP_OP_SOFTMAX, NULL, &x, 1, &softmax), x, true },
        { "the mask of softmax", op2(TNP_OP_SOFTMAX, y, x, &softmax), x, false },
        { "x and mask of softmax", op2(TNP_OP_SOFTMAX, x, x, &softmax), x, false },
        { "rope", tn_graph_rope(graph, x, position, TN_NO_VALUE, &rope), x, true },
        { "convert to the same size", tn_graph_convert(graph, x, TN_DTYPE_I32), x, true },
        { "convert to a smaller type", tn_graph_convert(graph, x, TN_DTYPE_F16), x, false },
        { "convert to a larger type", tn_graph_convert(graph, x, TN_DTYPE_I64), x, false },
        { "matmul", tn_graph_matmul(graph, square, square), square, false },
        { "get_rows", tn_graph_get_rows(graph, x, index), x, false },
        { "sum", tn_graph_op(graph, TNP_OP_SUM, NULL, &x, 1, &axis), x, false },
        { "concat", op2(TNP_OP_CONCAT, x, y, &axis), x, false },
        { "an operand of another node", tn_graph_scale(graph, y, 2), x, false },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++)
        if (may_alone(cases[i].output, cases[i].input) != cases[i].may)
            fail_msg("%s: it should be %s", cases[i].says, cases[i].may ? "allowed" : "refused");
}

static void a_smaller_operand_is_not_taken(void **state)
{
    (void)state;
    tn_value row = tn_graph_scale(graph, tn_graph_slice(graph, x, 1, 0, 1), 1);   // {4, 1}
    tn_value out = op2(TNP_OP_ADD, x, row, NULL);
    assert_false(may_alone(out, row));
    assert_true(may_alone(out, x));
    // A broadcast has the dims and not the strides.
    tn_value wide = tn_graph_broadcast(graph, row, 2, (int64_t[]){ 4, 3 });
    assert_false(may_alone(op2(TNP_OP_ADD, x, wide, NULL), wide));
}

static void views_are_taken_when_they_lie_as_the_output_does(void **state)
{
    (void)state;
    tn_value flat = tn_graph_reshape(graph, x, 1, (int64_t[]){ 12 });
    assert_true(may_alone(tn_graph_scale(graph, flat, 2), flat));
    tn_value turned = tn_graph_permute(graph, x, 2, (uint32_t[]){ 1, 0 });
    assert_false(may_alone(tn_graph_scale(graph, turned, 2), turned));
    tn_value upper = tn_graph_reshape(graph, tn_graph_slice(graph, x, 1, 1, 2), 1,
                                      (int64_t[]){ 8 });   // the end of the storage
    assert_true(may_alone(tn_graph_scale(graph, upper, 2), upper));
    tn_value narrow = tn_graph_slice(graph, x, 0, 0, 2);
    assert_false(may_alone(tn_graph_scale(graph, narrow, 2), narrow));
}

static void bytes_that_the_unit_sees_differently_are_not_taken(void **state)
{
    (void)state;
    tn_value lower = tn_graph_slice(graph, x, 1, 0, 2), upper = tn_graph_slice(graph, x, 1, 1, 2);
    tn_value out = op2(TNP_OP_ADD, lower, upper,
                       NULL);   // element j of one is element j + 4 of the other
    assert_false(may_alone(out, lower));
    assert_false(may_alone(out, upper));
    tn_value row = tn_graph_slice(graph, x, 1, 0, 1);
    assert_false(may_alone(op2(TNP_OP_ADD, x, row, NULL), x));
    tn_value flat = tn_graph_reshape(graph, lower, 1, (int64_t[]){ 8 });
    tn_value again = tn_graph_reshape(graph, lower, 1,
                                      (int64_t[]){ 8 });   // the same view, made twice
    assert_true(may_alone(op2(TNP_OP_ADD, flat, again, NULL), flat));
}

static void inputs_weights_and_states_are_not_taken(void **state)
{
    (void)state;
    static const float data[12];
    const int64_t dims[] = { 4, 3 };
    const tn_value leaves[] = {
        tn_graph_input(graph, "leaf", TN_DTYPE_F32, 2, dims),
        tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, dims, data, sizeof data),
        tn_graph_state(graph, "s", TN_DTYPE_F32, 2, dims),
    };
    for (size_t i = 0; i < TN_COUNT_OF(leaves); i++) {
        assert_false(may_alone(tn_graph_scale(graph, leaves[i], 2), leaves[i]));
        tn_value flat = tn_graph_reshape(graph, leaves[i], 1, (int64_t[]){ 12 });
        assert_false(may_alone(tn_graph_scale(graph, flat, 2), flat));
    }
}

static void what_is_written_through_takes_no_other_bytes(void **state)
{
    (void)state;
    tn_value index = tn_graph_input(graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value y = tn_graph_scale(graph, x, 2);
    tn_value written = tn_graph_set_rows(graph, y, x, index);
    assert_false(may_alone(written, x));
    assert_false(may_alone(written, y));
}

static void a_unit_of_several_nodes_takes_what_all_of_it_sees_alike(void **state)
{
    (void)state;
    tn_value a = tn_graph_scale(graph, x, 2), b = op2(TNP_OP_ADD, a, x, NULL);
    tn_value both[] = { a, b };
    assert_true(may(b, x, both, 2));
    assert_false(may(b, a, both, 2));   // made in the unit: it has no bytes
    tn_value row = tn_graph_scale(graph, tn_graph_slice(graph, x, 1, 0, 1), 2);
    tn_value c = op2(TNP_OP_ADD, x, row, NULL);
    assert_false(may(c, x, (tn_value[]){ row, c }, 2));   // the unit reads another view of x
    assert_true(may(c, x, &c, 1));                        // alone it does not
    tn_value index = tn_graph_input(graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value y = tn_graph_scale(graph, x, 3);
    tn_value written = tn_graph_set_rows(graph, y, x, index), d = tn_graph_scale(graph, y, 1);
    assert_false(may(d, y, (tn_value[]){ written, d }, 2));   // written in the unit
}

// A length whose bytes were overwritten would tell a wrong extent to the rest of the unit.
static void a_length_that_the_unit_still_needs_is_not_taken(void **state)
{
    (void)state;
    tn_value table = tn_graph_input(graph, "t", TN_DTYPE_I32, 2, (int64_t[]){ 1, 5 });
    tn_value index = tn_graph_input(graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value length = tn_graph_get_rows(graph, table, index);   // I32 {1, 1}
    tn_value as_float = tn_graph_convert(graph, length, TN_DTYPE_F32);
    assert_true(may_alone(as_float, length));
    tn_value limited = tn_graph_scale(graph, tn_graph_limit(graph, x, 1, length), 2);
    assert_false(may(as_float, length, (tn_value[]){ as_float, limited }, 2));
    tn_value view = tn_graph_limit(graph, x, 1, length);   // its sum has no extent itself
    tn_value sum = tn_graph_op(graph, TNP_OP_SUM, NULL, &view, 1,
                               &(tnp_axis_attr){ sizeof(tnp_axis_attr), 1 });
    assert_false(may(as_float, length, (tn_value[]){ as_float, sum }, 2));
    tn_value self = tn_graph_convert(graph, tn_graph_limit(graph, length, 0, length), TN_DTYPE_F32);
    assert_false(may_alone(self, length));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(ops_take_the_operands_that_their_table_says),
        CASE(a_smaller_operand_is_not_taken),
        CASE(views_are_taken_when_they_lie_as_the_output_does),
        CASE(bytes_that_the_unit_sees_differently_are_not_taken),
        CASE(inputs_weights_and_states_are_not_taken),
        CASE(what_is_written_through_takes_no_other_bytes),
        CASE(a_unit_of_several_nodes_takes_what_all_of_it_sees_alike),
        CASE(a_length_that_the_unit_still_needs_is_not_taken),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
