// Attribute structs of other releases: a longer one with a zero tail works, one with more to say is
// refused, a shorter one means zeros.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "graph_test.h"

static tn_value scale_by(tn_graph *graph, const void *attr)
{
    tn_value x = test_value(graph, "x", "F32 {4}");
    return tn_graph_op(graph, TNP_OP_SCALE, "s", &x, 1, attr);
}

static const tnp_scale_attr *attr_of(const tn_graph *graph, tn_value value)
{
    return graph->nodes[test_at(graph, value)->node].attr;
}

typedef struct longer_attr {   // as a later release may have it
    tnp_scale_attr known;
    uint64_t later[3];
} longer_attr;

static void a_longer_struct_with_a_zero_tail_is_the_one_that_is_known(void **state)
{
    (void)state;
    longer_attr attr = { .known = { .size = sizeof attr, .scale = 2, .bias = 3 } };
    tn_graph *graph = test_graph();
    tn_value y = scale_by(graph, &attr);
    test_finish(graph, y);
    assert_int_equal(attr_of(graph, y)->size, sizeof(tnp_scale_attr));
    assert_true(attr_of(graph, y)->scale == 2 && attr_of(graph, y)->bias == 3);
    assert_int_equal(graph->nodes[0].attr_bytes, sizeof(tnp_scale_attr));
    tn_graph_destroy(graph);
}

static void a_tail_that_says_more_is_refused(void **state)
{
    (void)state;
    for (size_t at = sizeof(tnp_scale_attr); at < sizeof(longer_attr); at++) {
        longer_attr attr = { .known = { .size = sizeof attr, .scale = 2 } };
        ((unsigned char *)&attr)[at] = 1;
        tn_graph *graph = test_graph();
        assert_true(tn_value_is_none(scale_by(graph, &attr)));
        test_refused(graph, "a tail", TN_E_UNSUPPORTED,
                     (const char *[]){ "scale 's'", "fields set that this release", NULL });
    }
}

static void a_shorter_struct_means_zeros(void **state)
{
    (void)state;
    const tnp_scale_attr attr = { .size = offsetof(tnp_scale_attr, bias), .scale = 2, .bias = 99 };
    tn_graph *graph = test_graph();
    tn_value y = scale_by(graph, &attr);
    test_finish(graph, y);
    assert_true(attr_of(graph, y)->scale == 2);
    assert_true(attr_of(graph, y)->bias == 0);
    tn_graph_destroy(graph);
}

static void a_struct_is_copied(void **state)
{
    (void)state;
    tnp_scale_attr attr = { .size = sizeof attr, .scale = 2 };
    tn_graph *graph = test_graph();
    tn_value y = scale_by(graph, &attr);
    memset(&attr, 0xff, sizeof attr);
    assert_true(attr_of(graph, y)->scale == 2);
    tn_graph_destroy(graph);
}

static void a_struct_without_a_size_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        uint32_t size;
    } cases[] = {
        { "no size", 0 },
        { "a size alone", 4 },
        { "less than a field", 7 },
        { "a wild size", 4097 },
        { "the largest size", UINT32_MAX },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_graph *graph = test_graph();
        scale_by(graph, &(tnp_scale_attr){ .size = cases[i].size, .scale = 2 });
        test_refused(graph, cases[i].says, TN_E_ARG,
                     (const char *[]){ "scale 's'", "missing, or its size is not set", NULL });
    }
    tn_graph *graph = test_graph();
    scale_by(graph, NULL);
    test_refused(graph, "no struct", TN_E_ARG, (const char *[]){ "scale 's'", "missing", NULL });
}

// What is reserved would else make another fingerprint of the same graph.
static void what_is_reserved_is_0(void **state)
{
    (void)state;
    static const struct {
        tnp_op op;
        size_t at, bytes;
    } cases[] = {
#define CASE(NAME, name)                                                                           \
    { TNP_OP_##NAME, offsetof(tnp_##name##_attr, reserved), sizeof(tnp_##name##_attr) }
        CASE(SCALE, scale),     CASE(CLAMP, clamp),         CASE(GROUP_NORM, group_norm),
        CASE(SOFTMAX, softmax), CASE(ATTENTION, attention), CASE(PAD, pad),
#undef CASE
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        union {
            uint32_t size;
            unsigned char bytes[256];
        } attr = { .size = (uint32_t)cases[i].bytes };
        attr.bytes[cases[i].at] = 9;
        tn_graph *graph = test_graph();
        tn_value x = test_value(graph, "x", "F32 {4}"), inputs[] = { x, x, x, x, x };
        const tni_op *op = tni_op_find(cases[i].op);
        tn_graph_op(graph, cases[i].op, "r", inputs, op->inputs_min, &attr);
        test_refused(graph, op->name, TN_E_ARG,
                     (const char *[]){ "'r'", "reserved of its attributes is 9", NULL });
    }
}

static void an_op_without_attributes_takes_none(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F32 {4}");
    tn_graph_op(graph, TNP_OP_NEG, "n", &x, 1, &(tnp_scale_attr){ .size = sizeof(tnp_scale_attr) });
    test_refused(graph, "attributes of neg", TN_E_ARG,
                 (const char *[]){ "neg 'n'", "it has no attributes", NULL });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_longer_struct_with_a_zero_tail_is_the_one_that_is_known),
        cmocka_unit_test(a_tail_that_says_more_is_refused),
        cmocka_unit_test(a_shorter_struct_means_zeros),
        cmocka_unit_test(a_struct_is_copied),
        cmocka_unit_test(a_struct_without_a_size_is_refused),
        cmocka_unit_test(what_is_reserved_is_0),
        cmocka_unit_test(an_op_without_attributes_takes_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
