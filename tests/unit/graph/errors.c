// Errors stick: the first one wins and is told at finish. Foreign handles, names, what may not be
// done to a finished graph.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "graph_test.h"

static void the_first_error_wins_and_later_calls_answer_no_value(void **state)
{
    (void)state;
    static const float data[4];
    const tnp_rope_attr rope = { .size = sizeof rope, .rot_dims = 2, .base = 1, .scale = 1 };
    const tnp_attention_attr attention = { .size = sizeof attention, .scale = 1 };
    const int64_t dims[] = { 4 };
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F32 {4}"), y = test_value(graph, "y", "F32 {3}");
    tn_value n = test_value(graph, "n", "I32 {1}");
    tn_graph_output(graph, "out", x);
    assert_true(tn_value_is_none(tn_graph_add(graph, x, y)));   // the first
    const tn_value later[] = {
        tn_graph_op(graph, 9999, NULL, &x, 1, NULL),
        tn_graph_input(graph, "z", TN_DTYPE_F32, 1, dims),
        tn_graph_weight(graph, "w", TN_DTYPE_F32, 1, dims, data, sizeof data),
        tn_graph_weight_part(graph, x, 0, 0, 1),
        tn_graph_state(graph, "s", TN_DTYPE_F32, 1, dims),
        tn_graph_add(graph, x, x),
        tn_graph_mul(graph, x, x),
        tn_graph_swiglu(graph, x, x),
        tn_graph_scale(graph, x, 1),
        tn_graph_rms_norm(graph, x, TN_NO_VALUE, 0),
        tn_graph_matmul(graph, x, x),
        tn_graph_rope(graph, x, n, TN_NO_VALUE, &rope),
        tn_graph_attention(graph, x, x, x, n, TN_NO_VALUE, &attention),
        tn_graph_get_rows(graph, x, n),
        tn_graph_set_rows(graph, x, x, n),
        tn_graph_convert(graph, x, TN_DTYPE_F16),
        tn_graph_reshape(graph, x, 1, dims),
        tn_graph_permute(graph, x, 1, (uint32_t[]){ 0 }),
        tn_graph_slice(graph, x, 0, 0, 1),
        tn_graph_broadcast(graph, x, 1, dims),
        tn_graph_limit(graph, x, 0, n),
    };
    uint32_t values = graph->value_count;
    for (size_t i = 0; i < TN_COUNT_OF(later); i++)
        if (!tn_value_is_none(later[i]))
            fail_msg("call %zu after an error gives a value", i);
    tn_graph_expect(graph, n, 1, 2);
    tn_graph_output(graph, "", TN_NO_VALUE);
    assert_int_equal(graph->value_count, values);
    tn_error err = { 0 };
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(tn_graph_finish(graph, &err), TN_E_SHAPE);
        assert_non_null(strstr(err.text, "a is F32 {4}, b is F32 {3}"));
    }
    assert_int_equal(tn_graph_finish(graph, NULL), TN_E_SHAPE);
    tn_graph_destroy(graph);
}

static void an_operand_that_is_an_error_does_not_hide_it(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F32 {4}"), y = test_value(graph, "y", "F32 {3}");
    tn_value out = tn_graph_scale(graph, tn_graph_add(graph, x, tn_graph_mul(graph, x, y)), 2);
    tn_graph_output(graph, "out", out);
    test_refused(graph, "a chain", TN_E_SHAPE, (const char *[]){ "mul '", NULL });
}

static void a_handle_of_another_graph_is_an_error(void **state)
{
    (void)state;
    tn_graph *other = test_graph();
    tn_value foreign = test_value(other, "x", "F32 {4}");
    static const struct {
        const char *says;
        int call;
    } cases[] = { { "an operand", 0 }, { "a slice", 1 }, { "an output", 2 }, { "a length", 3 } };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++)
        for (int kind = 0; kind < 3; kind++) {
            tn_graph *graph = test_graph();
            tn_value x = test_value(graph, "x", "F32 {4}");
            tn_value bad = kind == 0 ? foreign : x;
            bad.index = kind == 1 ? 1 : kind == 2 ? UINT32_MAX - 1 : bad.index;
            if (cases[i].call == 0)
                tn_graph_add(graph, x, bad);
            else if (cases[i].call == 1)
                tn_graph_slice(graph, bad, 0, 0, 1);
            else if (cases[i].call == 2)
                tn_graph_output(graph, "out", bad);
            else
                tn_graph_expect(graph, bad, 1, 2);
            test_refused(graph, cases[i].says, TN_E_ARG,
                         (const char *[]){ "is not a value of this graph", NULL });
        }
    tn_graph *graph = test_graph();
    tn_value_info info = { .size = sizeof info };
    tn_error err = { 0 };
    assert_int_equal(tn_graph_value_info(graph, foreign, &info, &err), TN_E_ARG);
    assert_int_equal(tn_graph_value_info(graph, TN_NO_VALUE, &info, &err), TN_E_ARG);
    assert_int_equal(graph->first_error.status, TN_OK);   // a question is no step of building
    tn_graph_destroy(graph);
    tn_graph_destroy(other);
}

static void graphs_have_generations_of_their_own(void **state)
{
    (void)state;
    tn_graph *a = test_graph(), *b = test_graph();
    tn_value x = test_value(a, "x", "F32 {4}"), y = test_value(b, "x", "F32 {4}");
    assert_int_equal(x.index, y.index);
    assert_int_not_equal(x.generation, y.generation);
    tn_graph_destroy(a);
    tn_graph_destroy(b);
    tn_graph_destroy(NULL);
}

static void names_are_needed_and_unique(void **state)
{
    (void)state;
    static const int64_t dims[] = { 4 };
    for (int i = 0; i < 8; i++) {
        tn_graph *graph = test_graph();
        tn_value x = tn_graph_input(graph, "x", TN_DTYPE_F32, 1, dims);
        tn_graph_output(graph, "out", x);
        tn_status status = TN_E_ARG;
        const char *words = "without a name";
        switch (i) {
        case 0:
            tn_graph_input(graph, "", TN_DTYPE_F32, 1, dims);
            break;
        case 1:
            tn_graph_state(graph, NULL, TN_DTYPE_F32, 1, dims);
            break;
        case 2:
            tn_graph_output(graph, "", x);
            break;
        case 3:
            tn_graph_output(graph, NULL, x);
            break;
        case 4:
            tn_graph_output(graph, "out", x);
            words = "two outputs are named 'out'";
            break;
        case 5:
            tn_graph_input(graph, "x", TN_DTYPE_I32, 1, dims);
            words = "two inputs are named 'x'";
            status = TN_E_GRAPH;
            break;
        case 6:
            tn_graph_state(graph, "s", TN_DTYPE_F32, 1, dims);
            tn_graph_state(graph, "s", TN_DTYPE_F32, 1, dims);
            words = "two states are named 's'";
            status = TN_E_GRAPH;
            break;
        default:   // kinds have names of their own
            tn_graph_state(graph, "x", TN_DTYPE_F32, 1, dims);
            tn_graph_output(graph, "x", x);
            status = TN_OK;
            words = "";
        }
        test_refused(graph, "names", status, (const char *[]){ words, NULL });
    }
}

static void a_graph_needs_an_output_and_is_finished_once(void **state)
{
    (void)state;
    tn_error err = { 0 };
    tn_graph *graph = test_graph();
    assert_int_equal(tn_graph_finish(graph, &err), TN_E_GRAPH);
    assert_string_equal(err.text, "the graph has no output");
    assert_int_equal(tn_graph_finish(graph, &err), TN_E_GRAPH);   // it stays so
    assert_string_equal(err.text, "the graph has no output");
    tn_graph_destroy(graph);

    graph = test_graph();
    test_finish(graph, test_value(graph, "x", "F32 {4}"));
    assert_int_equal(tn_graph_finish(graph, &err), TN_E_GRAPH);
    assert_string_equal(err.text, "the graph is finished already");
    tn_value x = tn_graph_find(graph, "x");
    assert_true(tn_value_is_none(tn_graph_add(graph, x, x)));
    assert_true(tn_value_is_none(tn_graph_slice(graph, x, 0, 0, 1)));
    assert_int_equal(graph->value_count, 1);
    assert_true(graph->is_finished);
    tn_graph_destroy(graph);
}

static void an_op_is_one_of_the_table(void **state)
{
    (void)state;
    static const tnp_op numbers[] = { 0, 4095, 0x80000000u, UINT32_MAX };
    for (size_t i = 0; i < TN_COUNT_OF(numbers); i++) {
        tn_graph *graph = test_graph();
        tn_value x = test_value(graph, "x", "F32 {4}");
        tn_graph_op(graph, numbers[i], "odd", &x, 1, NULL);
        test_refused(graph, "a number", TN_E_ARG, (const char *[]){ "is no op", NULL });
    }
}

static void expectations_are_of_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *says, *shape;
        int64_t likely, at_most;
        bool is_fine;
    } cases[] = {
        { "a length", "I32 {1}", 3, 9, true },
        { "a length whose most is not known", "I32 {1}", 3, 0, true },
        { "a length that is likely what it is at most", "I32 {1}", 9, 9, true },
        { "nothing known", "I32 {1}", 0, 0, true },
        { "a number of another type", "F32 {1}", 3, 9, false },
        { "more likely than possible", "I32 {1}", 10, 9, false },
        { "below zero", "I32 {1}", -1, 9, false },
        { "at most below zero", "I32 {1}", 0, -1, false },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_graph *graph = test_graph();
        tn_value n = test_value(graph, "n", cases[i].shape);
        tn_graph_expect(graph, n, cases[i].likely, cases[i].at_most);
        if (cases[i].is_fine) {
            test_finish(graph, n);
            assert_int_equal(test_at(graph, n)->likely, cases[i].likely);
            assert_int_equal(test_at(graph, n)->at_most, cases[i].at_most);
            tn_graph_destroy(graph);
        } else {
            tn_graph_output(graph, "out", n);
            test_refused(graph, cases[i].says, TN_E_ARG,
                         (const char *[]){ "input 'n': a length is", NULL });
        }
    }
}

// Names as long as they like to be: the sentence stays UTF-8 and keeps its rule.
static void a_long_name_does_not_break_the_sentence(void **state)
{
    (void)state;
    for (size_t count = 40; count < 200; count++) {
        char name[3 * 200 + 1];
        for (size_t i = 0; i < count; i++)
            memcpy(name + 3 * i, "\xe2\x82\xac", 4);
        tn_graph *graph = test_graph();
        tn_value x = tn_graph_input(graph, name, TN_DTYPE_F32, 1, (int64_t[]){ 4 });
        tn_graph_op(graph, TNP_OP_LIMIT, name, (tn_value[]){ x, x }, 2,
                    &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 });
        tn_error err = { 0 };
        assert_int_equal(tn_graph_finish(graph, &err), TN_E_DTYPE);
        for (const unsigned char *at = (const unsigned char *)err.text; *at;) {
            size_t more = *at < 0x80 ? 0 : *at >= 0xe0 && *at < 0xf0 ? 2 : 9;
            for (size_t i = 1; i <= more; i++)
                if ((at[i] & 0xc0) != 0x80)
                    fail_msg("a name of %zu characters: a character is cut", count);
            at += 1 + more;
        }
        tn_graph_destroy(graph);
    }
}

static tn_status build(const tn_allocator *allocator, void *context)
{
    (void)context;
    tn_graph *graph;
    tn_error err = { 0 };
    tn_status status = tn_graph_create(allocator, &graph, &err);
    if (status != TN_OK) {
        assert_null(graph);
        assert_int_equal(status, TN_E_HOST_MEMORY);
        return status;
    }
    tn_value state = tn_graph_state(graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 9 });
    tn_value index = tn_graph_input(graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value x = tn_graph_input(graph, "x", TN_DTYPE_F32, 2, (int64_t[]){ 4, 1 });
    for (int i = 0; i < 40; i++)
        x = tn_graph_scale(graph, x, 2);
    tn_value written = tn_graph_set_rows(graph, state, x, index);
    tn_value empty = tn_graph_slice(graph, x, 1, 0, 0);
    x = tn_graph_op(graph, TNP_OP_CONCAT, NULL, (tn_value[]){ x, empty }, 2,
                    &(tnp_axis_attr){ sizeof(tnp_axis_attr), 1 });
    tn_graph_output(graph, "a", tn_graph_get_rows(graph, written, index));
    tn_graph_output(graph, "b", x);
    status = tn_graph_finish(graph, &err);
    if (status != TN_OK) {
        assert_int_equal(status, TN_E_HOST_MEMORY);
        assert_non_null(strstr(err.text, "not enough memory"));
    }
    tn_graph_destroy(graph);
    return status;
}

static void an_allocation_that_fails_is_a_status_at_finish(void **state)
{
    (void)state;
    for_each_failing_allocation(build, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_error_wins_and_later_calls_answer_no_value),
        cmocka_unit_test(an_operand_that_is_an_error_does_not_hide_it),
        cmocka_unit_test(a_handle_of_another_graph_is_an_error),
        cmocka_unit_test(graphs_have_generations_of_their_own),
        cmocka_unit_test(names_are_needed_and_unique),
        cmocka_unit_test(a_graph_needs_an_output_and_is_finished_once),
        cmocka_unit_test(an_op_is_one_of_the_table),
        cmocka_unit_test(expectations_are_of_lengths),
        cmocka_unit_test(a_long_name_does_not_break_the_sentence),
        cmocka_unit_test(an_allocation_that_fails_is_a_status_at_finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
