// Views: dims, strides, offset and extents over the bytes of another value, and what they refuse.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "graph_test.h"

typedef struct view_case {
    const char *says;
    tnp_op op;
    const void *attr;
    const char *x;
    const char *out;   // NULL = refused:
    int64_t strides[4];
    uint64_t offset;
    tn_status status;
    const char *words;
} view_case;

#define DIMS(count, ...)                                                                           \
    (&(const tnp_dims_attr){                                                                       \
        .size = sizeof(tnp_dims_attr), .rank = (count), .dims = { __VA_ARGS__ } })
#define AXES(count, ...)                                                                           \
    (&(const tnp_permute_attr){                                                                    \
        .size = sizeof(tnp_permute_attr), .rank = (count), .axes = { __VA_ARGS__ } })
#define SLICE2(b0, b1, c0, c1, s0, s1)                                                             \
    (&(const tnp_slice_attr){ .size = sizeof(tnp_slice_attr),                                      \
                              .rank = 2,                                                           \
                              .begin = { (b0), (b1) },                                             \
                              .count = { (c0), (c1) },                                             \
                              .step = { (s0), (s1) } })

static void check(const view_case *c)
{
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", c->x);
    tn_value out = tn_graph_op(graph, c->op, "this view", &x, 1, c->attr);
    if (!c->out) {
        if (!tn_value_is_none(out))
            fail_msg("%s: %s, and should be refused", c->says, test_shape(graph, out));
        char head[64];
        snprintf(head, sizeof head, "%s 'this view': ", tni_op_find(c->op)->name);
        test_refused(graph, c->says, c->status, (const char *[]){ head, c->words, NULL });
        return;
    }
    if (tn_value_is_none(out))
        fail_msg("%s: %s", c->says, graph->first_error.text);
    const tni_value *view = test_at(graph, out), *base = test_at(graph, x);
    if (strcmp(test_shape(graph, out), c->out) != 0)
        fail_msg("%s: %s, not %s", c->says, test_shape(graph, out), c->out);
    for (uint32_t i = 0; i < 4 && i < view->rank; i++)
        if (view->strides[i] != c->strides[i])
            fail_msg("%s: stride %u is %lld, not %lld", c->says, i, (long long)view->strides[i],
                     (long long)c->strides[i]);
    if (view->offset != c->offset)
        fail_msg("%s: offset %llu, not %llu", c->says, (unsigned long long)view->offset,
                 (unsigned long long)c->offset);
    assert_int_equal(view->storage, base->storage);
    assert_int_equal(view->source, TNI_VIEW);
    tn_value_info info = { .size = sizeof info };
    assert_int_equal(tn_graph_value_info(graph, out, &info, NULL), TN_OK);
    assert_int_equal(info.is_view, 1);
    test_finish(graph, out);   // verify finds what lies outside its storage
    assert_int_equal(graph->node_count, 0);
    tn_graph_destroy(graph);
}

static void check_all(const view_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check(&cases[i]);
}

static void a_reshape_has_the_same_elements_in_order(void **state)
{
    (void)state;
    const view_case cases[] = {
        { "two dims merged",
          TNP_OP_RESHAPE,
          DIMS(1, 12),
          "F32 {4, 3}",
          "F32 {12}",
          { 4 },
          0,
          0,
          0 },
        { "one dim split",
          TNP_OP_RESHAPE,
          DIMS(3, 2, 2, 3),
          "F32 {4, 3}",
          "F32 {2, 2, 3}",
          { 4, 8, 16 },
          0,
          0,
          0 },
        { "ones put in",
          TNP_OP_RESHAPE,
          DIMS(4, 4, 1, 3, 1),
          "F32 {4, 3}",
          "F32 {4, 1, 3, 1}",
          { 4, 16, 16, 48 },
          0,
          0,
          0 },
        { "to no dims", TNP_OP_RESHAPE, DIMS(0, 0), "F16 {1, 1}", "F16 {}", { 0 }, 0, 0, 0 },
        { "from no dims",
          TNP_OP_RESHAPE,
          DIMS(2, 1, 1),
          "F16 {}",
          "F16 {1, 1}",
          { 2, 2 },
          0,
          0,
          0 },
        { "whole blocks",
          TNP_OP_RESHAPE,
          DIMS(2, 32, 4),
          "Q8_0 {64, 2}",
          "Q8_0 {32, 4}",
          { 34, 34 },
          0,
          0,
          0 },
        { "no elements",
          TNP_OP_RESHAPE,
          DIMS(2, 0, 7),
          "F32 {4, 0}",
          "F32 {0, 7}",
          { 4, 4 },
          0,
          0,
          0 },
        { "an extent on top that stays",
          TNP_OP_RESHAPE,
          DIMS(3, 2, 2, 3),
          "F32 {4, 3 of n}",
          "F32 {2, 2, 3 of n}",
          { 4, 8, 16 },
          0,
          0,
          0 },
        { "an extent below that stays",
          TNP_OP_RESHAPE,
          DIMS(3, 4, 3, 2),
          "F32 {4 of n, 6}",
          "F32 {4 of n, 3, 2}",
          { 4, 16, 48 },
          0,
          0,
          0 },
        { "an extent on a dim of 1 among others",
          TNP_OP_RESHAPE,
          DIMS(3, 1, 1, 4),
          "F32 {1 of n, 4 of m}",
          "F32 {1, 1 of n, 4 of m}",
          { 4, 4, 4 },
          0,
          0,
          0 },
        { "two extents on dims of 1",
          TNP_OP_RESHAPE,
          DIMS(3, 1, 1, 4),
          "F32 {1 of n, 1 of m, 4}",
          "F32 {1 of n, 1 of m, 4}",
          { 4, 4, 4 },
          0,
          0,
          0 },
        { "two extents on dims of 1 that become one",
          TNP_OP_RESHAPE,
          DIMS(2, 1, 4),
          "F32 {1 of n, 1 of m, 4}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "has an extent and would be split or merged" },
        { "an extent on a dim of 1 that goes",
          TNP_OP_RESHAPE,
          DIMS(1, 4),
          "F32 {4, 1 of n}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "dim 1 of 'limit.2' has an extent" },
        { "an extent that would be split",
          TNP_OP_RESHAPE,
          DIMS(2, 2, 6),
          "F32 {4 of n, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "dim 0 of" },
        { "an extent that would be merged",
          TNP_OP_RESHAPE,
          DIMS(1, 12),
          "F32 {4, 3 of n}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "dim 1 of" },
        { "too many elements",
          TNP_OP_RESHAPE,
          DIMS(1, 13),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "13 elements are asked of F32 {4, 3}" },
        { "too few elements",
          TNP_OP_RESHAPE,
          DIMS(1, 11),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "11 elements are asked of F32 {4, 3}" },
        { "half a block",
          TNP_OP_RESHAPE,
          DIMS(2, 16, 4),
          "Q8_0 {32, 2}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "whole blocks" },
        { "a negative dim",
          TNP_OP_RESHAPE,
          DIMS(2, -4, -3),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "dim 0 is -4" },
        { "a product that wraps to 12",
          TNP_OP_RESHAPE,
          DIMS(3, 1ll << 62, 4, 3),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "too large" },
        { "9 dims",
          TNP_OP_RESHAPE,
          DIMS(9, 12),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "9 dims, at most 8" },
    };
    check_all(cases, TN_COUNT_OF(cases));
}

static void a_slice_begins_steps_and_ends_inside(void **state)
{
    (void)state;
    const view_case cases[] = {
        { "all of it",
          TNP_OP_SLICE,
          SLICE2(0, 0, 4, 3, 1, 1),
          "F32 {4, 3}",
          "F32 {4, 3}",
          { 4, 16 },
          0,
          0,
          0 },
        { "the last column",
          TNP_OP_SLICE,
          SLICE2(0, 2, 4, 1, 1, 1),
          "F32 {4, 3}",
          "F32 {4, 1}",
          { 4, 16 },
          32,
          0,
          0 },
        { "the middle",
          TNP_OP_SLICE,
          SLICE2(1, 1, 2, 1, 1, 1),
          "F32 {4, 3}",
          "F32 {2, 1}",
          { 4, 16 },
          20,
          0,
          0 },
        { "every second",
          TNP_OP_SLICE,
          SLICE2(1, 0, 2, 2, 2, 2),
          "F32 {4, 3}",
          "F32 {2, 2}",
          { 8, 32 },
          4,
          0,
          0 },
        { "nothing",
          TNP_OP_SLICE,
          SLICE2(0, 1, 4, 0, 1, 1),
          "F32 {4, 3}",
          "F32 {4, 0}",
          { 4, 16 },
          0,
          0,
          0 },
        { "nothing at the end",
          TNP_OP_SLICE,
          SLICE2(0, 3, 4, 0, 1, 1),
          "F32 {4, 3}",
          "F32 {4, 0}",
          { 4, 16 },
          0,
          0,
          0 },
        { "one element by a step beyond all bounds",
          TNP_OP_SLICE,
          SLICE2(2, 0, 1, 3, INT64_MAX, 1),
          "F32 {4, 3}",
          "F32 {1, 3}",
          { 4, 16 },
          8,
          0,
          0 },
        { "whole blocks",
          TNP_OP_SLICE,
          SLICE2(32, 1, 32, 2, 1, 1),
          "Q8_0 {64, 3}",
          "Q8_0 {32, 2}",
          { 34, 68 },
          34 + 68,
          0,
          0 },
        { "dims beyond the rank of the attributes",
          TNP_OP_SLICE,
          SLICE2(1, 0, 2, 3, 1, 1),
          "F32 {4, 3, 2}",
          "F32 {2, 3, 2}",
          { 4, 16, 48 },
          4,
          0,
          0 },
        { "beside a dim with an extent",
          TNP_OP_SLICE,
          SLICE2(1, 0, 2, 3, 1, 1),
          "F32 {4, 3 of n}",
          "F32 {2, 3 of n}",
          { 4, 16 },
          4,
          0,
          0 },
        { "of a dim with an extent",
          TNP_OP_SLICE,
          SLICE2(0, 0, 4, 2, 1, 1),
          "F32 {4, 3 of n}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "has an extent and cannot be cut" },
        { "past the end",
          TNP_OP_SLICE,
          SLICE2(0, 1, 4, 3, 1, 1),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "3 elements from 1 by 1 leave dim 1 of 3" },
        { "past the end by its step",
          TNP_OP_SLICE,
          SLICE2(0, 0, 3, 3, 2, 1),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "3 elements from 0 by 2 leave dim 0 of 4" },
        { "past the end by far",
          TNP_OP_SLICE,
          SLICE2(0, 0, INT64_MAX, 3, INT64_MAX, 1),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "leave dim 0" },
        { "from beyond the end",
          TNP_OP_SLICE,
          SLICE2(5, 0, 0, 3, 1, 1),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "leave dim 0" },
        { "one element at the end",
          TNP_OP_SLICE,
          SLICE2(4, 0, 1, 3, 1, 1),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "leave dim 0" },
        { "from before the beginning",
          TNP_OP_SLICE,
          SLICE2(-1, 0, 1, 3, 1, 1),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "leave dim 0" },
        { "a negative count",
          TNP_OP_SLICE,
          SLICE2(0, 0, -1, 3, 1, 1),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "leave dim 0" },
        { "no step",
          TNP_OP_SLICE,
          SLICE2(0, 0, 4, 3, 0, 1),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "leave dim 0" },
        { "backwards",
          TNP_OP_SLICE,
          SLICE2(3, 0, 4, 3, -1, 1),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "leave dim 0" },
        { "into a block",
          TNP_OP_SLICE,
          SLICE2(16, 0, 32, 3, 1, 1),
          "Q8_0 {64, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "multiples of 32" },
        { "a part of a block",
          TNP_OP_SLICE,
          SLICE2(0, 0, 16, 3, 1, 1),
          "Q8_0 {64, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "multiples of 32" },
        { "steps over blocks",
          TNP_OP_SLICE,
          SLICE2(0, 0, 32, 3, 2, 1),
          "Q8_0 {64, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "multiples of 32" },
    };
    check_all(cases, TN_COUNT_OF(cases));
}

static void a_permutation_moves_dims_with_their_strides_and_extents(void **state)
{
    (void)state;
    const view_case cases[] = {
        { "a transposition",
          TNP_OP_PERMUTE,
          AXES(2, 1, 0),
          "F32 {4, 3}",
          "F32 {3, 4}",
          { 16, 4 },
          0,
          0,
          0 },
        { "three dims round",
          TNP_OP_PERMUTE,
          AXES(3, 2, 0, 1),
          "F32 {4, 3, 2}",
          "F32 {2, 4, 3}",
          { 48, 4, 16 },
          0,
          0,
          0 },
        { "dims with extents",
          TNP_OP_PERMUTE,
          AXES(2, 1, 0),
          "F32 {4 of k, 3 of n}",
          "F32 {3 of n, 4 of k}",
          { 16, 4 },
          0,
          0,
          0 },
        { "more axes than dims",
          TNP_OP_PERMUTE,
          AXES(3, 2, 1, 0),
          "F32 {4, 3}",
          "F32 {1, 3, 4}",
          { 48, 16, 4 },
          0,
          0,
          0 },
        { "no dims", TNP_OP_PERMUTE, AXES(0, 0), "F32 {}", "F32 {}", { 0 }, 0, 0, 0 },
        { "upper dims of blocks",
          TNP_OP_PERMUTE,
          AXES(3, 0, 2, 1),
          "Q8_0 {32, 3, 2}",
          "Q8_0 {32, 2, 3}",
          { 34, 102, 34 },
          0,
          0,
          0 },
        { "dim 0 of blocks",
          TNP_OP_PERMUTE,
          AXES(2, 1, 0),
          "Q8_0 {32, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "dim 0 of a block type stays" },
        { "an axis twice",
          TNP_OP_PERMUTE,
          AXES(2, 0, 0),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_ARG,
          "no permutation of 0 to 1" },
        { "an axis beyond",
          TNP_OP_PERMUTE,
          AXES(2, 0, 2),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_ARG,
          "no permutation of 0 to 1" },
        { "an axis far beyond",
          TNP_OP_PERMUTE,
          AXES(2, 0, UINT32_MAX),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_ARG,
          "no permutation" },
        { "too few axes",
          TNP_OP_PERMUTE,
          AXES(1, 0),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "1 axes are given for 2 dims" },
        { "too many axes",
          TNP_OP_PERMUTE,
          AXES(9, 0),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "9 axes" },
    };
    check_all(cases, TN_COUNT_OF(cases));
}

static void a_broadcast_repeats_dims_of_1_by_stride_0(void **state)
{
    (void)state;
    const view_case cases[] = {
        { "a new dim",
          TNP_OP_BROADCAST,
          DIMS(2, 4, 3),
          "F32 {4}",
          "F32 {4, 3}",
          { 4, 0 },
          0,
          0,
          0 },
        { "a dim of 1",
          TNP_OP_BROADCAST,
          DIMS(3, 4, 5, 3),
          "F32 {4, 1, 3}",
          "F32 {4, 5, 3}",
          { 4, 0, 16 },
          0,
          0,
          0 },
        { "one element",
          TNP_OP_BROADCAST,
          DIMS(2, 4, 3),
          "F32 {}",
          "F32 {4, 3}",
          { 0, 0 },
          0,
          0,
          0 },
        { "nothing to repeat",
          TNP_OP_BROADCAST,
          DIMS(2, 4, 3),
          "F32 {4, 3}",
          "F32 {4, 3}",
          { 4, 16 },
          0,
          0,
          0 },
        { "no times", TNP_OP_BROADCAST, DIMS(2, 4, 0), "F32 {4}", "F32 {4, 0}", { 4, 0 }, 0, 0, 0 },
        { "blocks",
          TNP_OP_BROADCAST,
          DIMS(2, 32, 3),
          "Q8_0 {32}",
          "Q8_0 {32, 3}",
          { 34, 0 },
          0,
          0,
          0 },
        { "beside an extent",
          TNP_OP_BROADCAST,
          DIMS(2, 4, 3),
          "F32 {4 of n}",
          "F32 {4 of n, 3}",
          { 4, 0 },
          0,
          0,
          0 },
        { "a dim of 2",
          TNP_OP_BROADCAST,
          DIMS(2, 4, 4),
          "F32 {4, 2}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "dim 1 is 2 and cannot become 4" },
        { "fewer dims",
          TNP_OP_BROADCAST,
          DIMS(1, 4),
          "F32 {4, 3}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "dim 1 is 3 and cannot become 1" },
        { "a dim of 1 with an extent",
          TNP_OP_BROADCAST,
          DIMS(2, 4, 3),
          "F32 {4, 1 of n}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "cannot become 3" },
        { "a negative dim",
          TNP_OP_BROADCAST,
          DIMS(2, 4, -3),
          "F32 {4}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "dim 1 is -3" },
        { "more elements than can be counted",
          TNP_OP_BROADCAST,
          DIMS(3, 1, 1ll << 40, 1ll << 40),
          "F32 {}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "too large" },
        { "more bytes than can be counted",
          TNP_OP_BROADCAST,
          DIMS(1, 1ll << 61),
          "F32 {1}",
          NULL,
          { 0 },
          0,
          TN_E_SHAPE,
          "too large" },
    };
    check_all(cases, TN_COUNT_OF(cases));
}

// ------------------------------------------------------------------------------------------ limits

static void a_limit_puts_a_length_on_a_dim(void **state)
{
    (void)state;
    static const struct {
        const char *says, *x, *length;
        uint32_t axis;
        const char *out;   // NULL = refused:
        tn_status status;
        const char *words;
    } cases[] = {
        { "the upper dim", "F32 {4, 3}", "I32 {1}", 1, "F32 {4, 3 of length}", 0, 0 },
        { "the lower dim", "Q8_0 {64, 3}", "I32 {}", 0, "Q8_0 {64 of length, 3}", 0, 0 },
        { "a length in many dims", "F32 {4}", "I32 {1, 1, 1}", 0, "F32 {4 of length}", 0, 0 },
        { "a second dim", "F32 {4 of n, 3}", "I32 {1}", 1, "F32 {4 of n, 3 of length}", 0, 0 },
        { "a dim that is not there", "F32 {4, 3}", "I32 {1}", 2, NULL, TN_E_ARG,
          "axis 2 of 2 dims" },
        { "of no dims", "F32 {}", "I32 {1}", 0, NULL, TN_E_ARG, "axis 0 of 0 dims" },
        { "a length of another type", "F32 {4}", "I64 {1}", 0, NULL, TN_E_DTYPE,
          "the length 'length' must be one I32" },
        { "two lengths", "F32 {4}", "I32 {2}", 0, NULL, TN_E_DTYPE, "must be one I32" },
        { "no length", "F32 {4}", "I32 {0}", 0, NULL, TN_E_DTYPE, "must be one I32" },
        { "a dim that has another", "F32 {4 of n}", "I32 {1}", 0, NULL, TN_E_SHAPE,
          "has an extent already" },
        { "a length that has one itself", "F32 {4}", "I32 {1 of n}", 0, NULL, TN_E_SHAPE,
          "has an extent itself" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_graph *graph = test_graph();
        tn_value x = test_value(graph, "x", cases[i].x);
        tn_value length = test_value(graph, "length", cases[i].length);
        tn_value out = tn_graph_limit(graph, x, cases[i].axis, length);
        if (!cases[i].out) {
            test_refused(graph, cases[i].says, cases[i].status,
                         (const char *[]){ "limit '", cases[i].words, NULL });
            continue;
        }
        assert_string_equal(test_shape(graph, out), cases[i].out);
        // The same limit again changes nothing.
        assert_string_equal(test_shape(graph, tn_graph_limit(graph, out, cases[i].axis, length)),
                            cases[i].out);
        test_finish(graph, out);
        tn_graph_destroy(graph);
    }
}

static void the_shorthands_say_the_same(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F32 {4, 3, 2}");
    const int64_t dims[] = { 12, 2 };
    const uint32_t axes[] = { 2, 0, 1 };
    assert_string_equal(test_shape(graph, tn_graph_reshape(graph, x, 2, dims)), "F32 {12, 2}");
    assert_string_equal(test_shape(graph, tn_graph_permute(graph, x, 3, axes)), "F32 {2, 4, 3}");
    assert_string_equal(test_shape(graph, tn_graph_slice(graph, x, 1, 1, 2)), "F32 {4, 2, 2}");
    assert_string_equal(
        test_shape(graph, tn_graph_broadcast(graph, x, 4, (int64_t[]){ 4, 3, 2, 9 })),
        "F32 {4, 3, 2, 9}");
    assert_true(tn_value_is_none(tn_graph_slice(graph, x, 8, 0, 1)));
    test_refused(graph, "an axis of slice", TN_E_ARG, (const char *[]){ "axis 8", "'x'", NULL });
    graph = test_graph();
    x = test_value(graph, "x", "F32 {4}");
    assert_true(tn_value_is_none(tn_graph_reshape(graph, x, 9, (int64_t[9]){ 4 })));
    tn_graph_destroy(graph);
    graph = test_graph();
    x = test_value(graph, "x", "F32 {4}");
    assert_true(tn_value_is_none(tn_graph_permute(graph, x, 9, (uint32_t[9]){ 0 })));
    tn_graph_destroy(graph);
}

// A view of a view of a view: one storage, offsets that add up.
static void views_of_views_add_up(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F32 {8, 6, 5}");
    tn_value a = tn_graph_slice(graph, x, 2, 1, 4);                        // + 192
    tn_value b = tn_graph_slice(graph, a, 1, 2, 3);                        // + 64
    tn_value c = tn_graph_permute(graph, b, 3, (uint32_t[]){ 2, 1, 0 });   // {4, 3, 8}
    tn_value d = tn_graph_slice(graph, c, 2, 5, 2);                        // + 20
    const tni_value *view = test_at(graph, d);
    assert_int_equal(view->offset, 192 + 64 + 20);
    assert_int_equal(view->storage, test_at(graph, x)->storage);
    assert_string_equal(test_shape(graph, d), "F32 {4, 3, 2}");
    assert_int_equal(view->strides[0], 192);
    assert_int_equal(view->strides[1], 32);
    assert_int_equal(view->strides[2], 4);
    assert_false(tni_value_is_contiguous(view));
    assert_true(tni_value_is_contiguous(test_at(graph, a)));
    assert_false(tni_value_is_contiguous(test_at(graph, b)));
    assert_true(tn_value_is_none(tn_graph_reshape(graph, b, 1, (int64_t[]){ 96 })));
    test_refused(graph, "a reshape of what is strided", TN_E_SHAPE,
                 (const char *[]){ "is strided: convert makes it contiguous", NULL });
}

static void an_op_makes_strided_operands_contiguous(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F32 {4, 3}");
    tn_value t = tn_graph_permute(graph, x, 2, (uint32_t[]){ 1, 0 });
    tn_value y = tn_graph_op(graph, TNP_OP_NEG, NULL, &t, 1, NULL);
    const tni_value *value = test_at(graph, y);
    assert_true(tni_value_is_contiguous(value));
    assert_int_equal(value->strides[1], 12);
    assert_int_equal(value->offset, 0);
    assert_int_equal(graph->storages[value->storage].bytes, 48);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reshape_has_the_same_elements_in_order),
        cmocka_unit_test(a_slice_begins_steps_and_ends_inside),
        cmocka_unit_test(a_permutation_moves_dims_with_their_strides_and_extents),
        cmocka_unit_test(a_broadcast_repeats_dims_of_1_by_stride_0),
        cmocka_unit_test(a_limit_puts_a_length_on_a_dim),
        cmocka_unit_test(the_shorthands_say_the_same),
        cmocka_unit_test(views_of_views_add_up),
        cmocka_unit_test(an_op_makes_strided_operands_contiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
