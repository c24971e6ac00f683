// Slices: a part of a graph in the words of the contract.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "sched_test.h"

static rig r;
static tni_slice made;

static int begin(void **state)
{
    (void)state;
    rig_begin(&r, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rig_end(&r);
    return 0;
}

static void make(const uint32_t *nodes, uint32_t count, uint64_t at_submit)
{
    if (tni_slice_make(r.graph, nodes, count, at_submit, &r.arena, &made, &r.err) != TN_OK)
        fail_msg("%s", r.err.text);
    assert_int_equal(made.slice.node_count, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(made.graph_node[i], nodes[i]);
        assert_int_equal(made.slice_node[nodes[i]], i);
    }
    for (uint32_t i = 0; i < made.slice.value_count; i++) {
        const tnp_value *value = made.slice.values[i];
        const tni_value *from = &r.graph->values[made.graph_value[i]];
        assert_int_equal(made.slice_value[made.graph_value[i]], i);
        assert_int_equal(value->size, sizeof *value);
        assert_int_equal(value->dtype, from->dtype);
        assert_int_equal(value->rank, from->rank);
        assert_int_equal(value->offset, from->offset);
        assert_memory_equal(value->dims, from->dims, sizeof value->dims);
        assert_memory_equal(value->strides, from->strides, sizeof value->strides);
        assert_string_equal(value->name, from->name);
        assert_true(value->storage < made.slice.storage_count);
        assert_int_equal(made.graph_storage[value->storage], from->storage);
        for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)   // a length is described before what it limits
            assert_true(value->extent[d] <= i);
    }
}

static uint32_t flags_of(tn_value value)
{
    uint32_t storage = made.slice_storage[rig_storage(&r, value)];
    assert_int_not_equal(storage, TNP_NONE);
    return made.slice.storages[storage]->flags;
}

enum {
    CONSTANT = TNP_STORAGE_CONSTANT | TNP_STORAGE_ENTERS,
    READ_STATE = TNP_STORAGE_STATE | TNP_STORAGE_ENTERS,
    WRITTEN_STATE = READ_STATE | TNP_STORAGE_LEAVES,
};

static void storages_tell_what_enters_and_what_leaves(void **state)
{
    (void)state;
    static const float data[4];
    tn_value x = rig_input(&r, "x"),
             index = tn_graph_input(r.graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value w = tn_graph_weight(r.graph, "w", TN_DTYPE_F32, 1, (int64_t[]){ 4 }, data, 16);
    tn_value written = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 9 });
    tn_value read = tn_graph_state(r.graph, "t", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value a = tn_graph_mul(r.graph, x, w);        // 0
    tn_value b = tn_graph_add(r.graph, a, read);     // 1
    tn_value c = rig_op(&r, TNP_OP_NEG, b);          // 2
    tn_graph_set_rows(r.graph, written, c, index);   // 3
    tn_value d = rig_op(&r, TNP_OP_NEG, c);          // 4
    rig_finish(&r, d);

    make((uint32_t[]){ 0, 1, 2, 3, 4 }, 5, 256);
    assert_int_equal(flags_of(x), TNP_STORAGE_ENTERS);
    assert_int_equal(flags_of(w), CONSTANT);
    assert_int_equal(flags_of(read), READ_STATE);
    assert_int_equal(flags_of(written), WRITTEN_STATE);
    assert_int_equal(flags_of(a), 0);
    assert_int_equal(flags_of(c), 0);
    assert_int_equal(flags_of(d), TNP_STORAGE_LEAVES);
    assert_ptr_equal(made.slice.storages[made.slice_storage[rig_storage(&r, w)]]->data, data);
    assert_int_equal(made.slice.storages[made.slice_storage[rig_storage(&r, written)]]->bytes, 144);

    make((uint32_t[]){ 1, 2 }, 2, 256);   // the middle
    assert_int_equal(flags_of(a), TNP_STORAGE_ENTERS);
    assert_int_equal(flags_of(b), 0);
    assert_int_equal(flags_of(c), TNP_STORAGE_LEAVES);
    assert_int_equal(made.slice_storage[rig_storage(&r, x)], TNP_NONE);
    assert_int_equal(made.slice_storage[rig_storage(&r, d)], TNP_NONE);

    make((uint32_t[]){ 0, 4 }, 2, 256);   // two ends
    assert_int_equal(flags_of(a), TNP_STORAGE_LEAVES);
    assert_int_equal(flags_of(c), TNP_STORAGE_ENTERS);
}

static void views_of_one_storage_stay_together(void **state)
{
    (void)state;
    tn_value x = rig_op(&r, TNP_OP_NEG, rig_input(&r, "x"));
    tn_value upper = tn_graph_slice(r.graph, x, 1, 1, 2),
             lower = tn_graph_slice(r.graph, x, 1, 0, 2);
    tn_value sum = tn_graph_add(r.graph, upper, lower);
    rig_finish(&r, sum);
    make((uint32_t[]){ 1 }, 1, 256);
    assert_int_equal(made.slice.value_count, 3);
    assert_int_equal(made.slice.storage_count, 2);
    const tnp_node *node = made.slice.nodes[0];
    assert_int_equal(node->op, TNP_OP_ADD);
    assert_int_equal(made.slice.values[node->inputs[0]]->offset, 16);
    assert_int_equal(made.slice.values[node->inputs[1]]->offset, 0);
    assert_int_equal(flags_of(x), TNP_STORAGE_ENTERS);
    // An output that is seen through a view leaves.
    make((uint32_t[]){ 0, 1 }, 2, 256);
    assert_int_equal(flags_of(x), 0);
}

static void lengths_come_with_what_they_limit(void **state)
{
    (void)state;
    tn_value n = tn_graph_input(r.graph, "n", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_graph_expect(r.graph, n, 2, 3);
    tn_value x = tn_graph_limit(r.graph, rig_input(&r, "x"), 1, n);
    tn_value y = rig_op(&r, TNP_OP_NEG, x);
    rig_finish(&r, y);
    make((uint32_t[]){ 0 }, 1, 256);
    const tnp_value *in = made.slice.values[made.slice.nodes[0]->inputs[0]];
    const tnp_value *length = made.slice.values[in->extent[1] - 1];
    assert_string_equal(length->name, "n");
    assert_int_equal(length->likely, 2);
    assert_int_equal(length->at_most, 3);
    assert_int_equal(length->flags, TNP_VALUE_AT_SUBMIT);
    assert_int_equal(in->extent[0], 0);
    assert_int_equal(made.slice.values[made.slice.nodes[0]->outputs[0]]->extent[1], in->extent[1]);
}

static void nodes_tell_op_operands_and_attributes(void **state)
{
    (void)state;
    tn_value x = rig_input(&r, "x");
    tn_value y = tn_graph_rms_norm(r.graph, x, TN_NO_VALUE, 0.5f);
    rig_finish(&r, rig_op(&r, TNP_OP_NEG, y));
    make((uint32_t[]){ 0, 1 }, 2, 256);
    const tnp_node *norm = made.slice.nodes[0], *neg = made.slice.nodes[1];
    assert_int_equal(norm->size, sizeof *norm);
    assert_int_equal(norm->input_count, 2);
    assert_int_equal(norm->inputs[1], TNP_NONE);
    assert_int_equal(norm->output_count, 1);
    assert_int_equal(norm->outputs[0], neg->inputs[0]);
    assert_true(((const tnp_norm_attr *)norm->attributes)->eps == 0.5f);
    assert_null(neg->attributes);
}

static void the_smallest_inputs_come_with_the_submit(void **state)
{
    (void)state;
    static const int64_t columns[] = { 10, 1, 100, 1, 5 };   // 40, 4, 400, 4, 20 bytes
    static const struct {
        uint64_t room;
        bool comes[5];
    } cases[] = {
        { 0, { 0 } },
        { 3, { 0 } },
        { 4, { 0, 1 } },   // of equals the first
        { 8, { 0, 1, 0, 1 } },
        { 27, { 0, 1, 0, 1 } },
        { 28, { 0, 1, 0, 1, 1 } },
        { 68, { 1, 1, 0, 1, 1 } },
        { 467, { 1, 1, 0, 1, 1 } },
        { 468, { 1, 1, 1, 1, 1 } },
        { UINT64_MAX, { 1, 1, 1, 1, 1 } },
    };
    tn_value sum = rig_op(&r, TNP_OP_NEG,
                          tn_graph_state(r.graph, "s", TN_DTYPE_F32, 1, (int64_t[]){ 1 }));
    tn_value in[5];
    for (int i = 0; i < 5; i++)
        in[i] = tn_graph_input(r.graph, (char[]){ (char)('a' + i), 0 }, TN_DTYPE_F32, 1,
                               &columns[i]);
    rig_finish(&r, sum);
    for (size_t c = 0; c < TN_COUNT_OF(cases); c++)
        for (int i = 0; i < 5; i++)
            if (tni_comes_at_submit(r.graph, rig_storage(&r, in[i]), cases[c].room) !=
                cases[c].comes[i])
                fail_msg("%llu bytes of room: input %d", (unsigned long long)cases[c].room, i);
    assert_false(tni_comes_at_submit(r.graph, 0, UINT64_MAX));   // a state is no input
}

static tn_status make_with(const tn_allocator *allocator, void *context)
{
    (void)context;
    tni_arena arena;
    tni_arena_init(&arena, allocator);
    tn_error err = { 0 };
    static uint32_t nodes[200];
    for (uint32_t i = 0; i < 200; i++)
        nodes[i] = i;
    tn_status status = tni_slice_make(r.graph, nodes, 200, 256, &arena, &made, &err);
    assert_true(status == TN_OK || status == TN_E_HOST_MEMORY);
    tni_arena_finish(&arena);
    return status;
}

static void memory_that_is_not_there_is_a_status(void **state)
{
    (void)state;
    tn_value x = rig_input(&r, "x");
    for (int i = 0; i < 200; i++)
        x = rig_op(&r, TNP_OP_NEG, x);
    rig_finish(&r, x);
    for_each_failing_allocation(make_with, NULL);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(storages_tell_what_enters_and_what_leaves),
        CASE(views_of_one_storage_stay_together),
        CASE(lengths_come_with_what_they_limit),
        CASE(nodes_tell_op_operands_and_attributes),
        CASE(the_smallest_inputs_come_with_the_submit),
        CASE(memory_that_is_not_there_is_a_status),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
