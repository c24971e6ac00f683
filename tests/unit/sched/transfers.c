// What is copied between devices before which segment.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sched_test.h"

static rig r;

static int begin(void **state)
{
    (void)state;
    rig_begin(&r, 2);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rig_end(&r);
    return 0;
}

// One copy a value and device, however many read it and in however many segments.
static void a_value_is_copied_once_to_each_device(void **state)
{
    (void)state;
    rig_end(&r);
    rig_begin(&r, 3);
    tn_value x = rig_input(&r, "x"), v = rig_op(&r, TNP_OP_GELU, x), sum = v;   // on device 2
    for (int i = 0; i < 5; i++) {   // each read by devices 0 and 1 in turn
        sum = tn_graph_mul(r.graph, sum, v);
        sum = tn_graph_add(r.graph, sum, v);
    }
    rig_finish(&r, sum);
    r.fakes[0].refused_ops[0] = r.fakes[1].refused_ops[0] = TNP_OP_GELU;
    r.fakes[0].refused_ops[1] = r.fakes[2].refused_ops[1] = TNP_OP_ADD;
    r.fakes[1].refused_ops[1] = r.fakes[2].refused_ops[0] = TNP_OP_MUL;
    rig_schedule(&r, NULL);
    assert_string_equal(rig_segments(&r), "20101010101");
    assert_int_equal(rig_transfers(&r, v, 0), 1);
    assert_int_equal(rig_transfers(&r, v, 1), 1);
    assert_int_equal(rig_transfers(&r, x, 0), 0);   // an input is fed, not copied
    assert_int_equal(r.schedule.transfer_count, 2 + 9);
    double want = 11 * 1000 + 11 * rig_copy_ns(&r, 48);
    assert_true(r.schedule.cost_ns > want - 1 && r.schedule.cost_ns < want + 1);
}

static void operands_on_three_devices_meet_on_one(void **state)
{
    (void)state;
    rig_end(&r);
    rig_begin(&r, 3);
    tn_value x = rig_input(&r, "x");
    tn_value a = rig_op(&r, TNP_OP_NEG, x), b = rig_op(&r, TNP_OP_EXP, x),
             c = rig_op(&r, TNP_OP_TANH, x);
    tn_value sum = tn_graph_add(r.graph, tn_graph_add(r.graph, a, b), c);
    rig_finish(&r, sum);
    static const tnp_op only[3] = { TNP_OP_NEG, TNP_OP_EXP, TNP_OP_TANH };
    for (int i = 0; i < 3; i++)
        for (int j = 0, k = 0; j < 3; j++)
            if (j != i)
                r.fakes[i].refused_ops[k++] = only[j];
    rig_schedule(&r, NULL);
    assert_int_equal(r.schedule.segment_count >= 3, 1);
    assert_int_equal(r.schedule.transfer_count, 2);
}

static void a_length_that_is_made_elsewhere_is_copied_too(void **state)
{
    (void)state;
    tn_value lengths = tn_graph_input(r.graph, "lengths", TN_DTYPE_I32, 2, (int64_t[]){ 1, 5 });
    tn_value index = tn_graph_input(r.graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value n = tn_graph_get_rows(r.graph, lengths, index);
    tn_value y = rig_op(&r, TNP_OP_EXP, tn_graph_limit(r.graph, rig_input(&r, "x"), 1, n));
    rig_finish(&r, y);
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    r.fakes[1].refused_ops[0] = TNP_OP_GET_ROWS;
    rig_schedule(&r, NULL);
    assert_string_equal(rig_segments(&r), "01");
    assert_int_equal(rig_transfers(&r, n, 1), 1);
}

// By hand: a value that is made on 0 is read on 1, written through on 0, and read on 1 again. (No
// schedule has it so: what is written through stays on one place with all that read it.)
static void bytes_that_were_written_again_are_copied_again(void **state)
{
    (void)state;
    tn_value index = tn_graph_input(r.graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value x = rig_input(&r, "x"), table = rig_op(&r, TNP_OP_NEG, x);
    tn_graph_output(r.graph, "before", rig_op(&r, TNP_OP_EXP, table));
    tn_value written = tn_graph_set_rows(r.graph, table, x, index);
    rig_finish(&r, rig_op(&r, TNP_OP_EXP, written));
    assert_int_equal(r.graph->node_count, 4);
    static const uint32_t nodes[] = { 0, 1, 2, 3 };
    tni_claim claims[4];
    const tni_claim *units[4];
    tni_segment segments[4];
    for (uint32_t i = 0; i < 4; i++) {
        claims[i] = (tni_claim){ .place = i % 2, .node_count = 1, .nodes = &nodes[i] };
        units[i] = &claims[i];
        segments[i] = (tni_segment){ i % 2, i, 1 };
    }
    tni_schedule s = {
        .graph = r.graph, .unit_count = 4, .units = units, .segment_count = 4, .segments = segments
    };
    assert_int_equal(tni_find_transfers(&s, &r.arena, &r.arena, &r.err), TN_OK);
    assert_int_equal(s.transfer_count, 2);
    for (uint32_t t = 0; t < 2; t++) {
        assert_int_equal(s.transfers[t].storage, rig_storage(&r, table));
        assert_int_equal(s.transfers[t].from, 0);
        assert_int_equal(s.transfers[t].to, 1);
        assert_int_equal(s.transfers[t].segment, t ? 3 : 1);
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_value_is_copied_once_to_each_device),
        CASE(operands_on_three_devices_meet_on_one),
        CASE(a_length_that_is_made_elsewhere_is_copied_too),
        CASE(bytes_that_were_written_again_are_copied_again),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
