// The order of units, cut into segments.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
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

static void units_that_can_run_on_the_device_at_hand_go_first(void **state)
{
    (void)state;
    tn_value x = rig_input(&r, "x"), sum = TN_NO_VALUE;
    for (int i = 0; i < 6; i++) {   // independent pairs, built in turn
        tn_value y = rig_op(&r, TNP_OP_EXP, rig_op(&r, TNP_OP_NEG, x));
        sum = tn_value_is_none(sum) ? y : tn_graph_add(r.graph, sum, y);
    }
    rig_finish(&r, sum);
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    r.fakes[1].refused_ops[0] = TNP_OP_NEG;
    r.fakes[0].refused_ops[1] = TNP_OP_ADD;
    rig_schedule(&r, NULL);
    assert_string_equal(rig_segments(&r), "01");
    assert_int_equal(r.schedule.transfer_count, 6);
}

// a → b → c → d on one device: a and c together wait for b, which waits for them.
static void units_that_wait_for_each_other_are_told(void **state)
{
    (void)state;
    tn_value y = rig_input(&r, "x");
    for (int i = 0; i < 4; i++)
        y = rig_op(&r, TNP_OP_NEG, y);
    rig_finish(&r, y);
    static const uint32_t nodes[] = { 0, 2, 1, 3 };
    static const uint32_t alone[] = { 0, 1, 2, 3 };
    tni_claim claims[6] = { { .node_count = 2, .nodes = nodes },
                            { .node_count = 2, .nodes = nodes + 2 } };
    for (uint32_t n = 0; n < 4; n++)
        claims[2 + n] = (tni_claim){ .node_count = 1, .nodes = &alone[n] };
    const tni_answers answers = { .claim_count = TN_COUNT_OF(claims), .claims = claims };
    tni_schedule s = { .graph = r.graph, .answers = &answers };
    static const uint32_t in_a_circle[] = { 0, 1, 0, 1 }, one_by_one[] = { 2, 3, 4, 5 };
    assert_int_equal(tni_partition(in_a_circle, &r.arena, &r.arena, &s, &r.err), TN_E_INTERNAL);
    assert_int_equal(tni_partition(one_by_one, &r.arena, &r.arena, &s, &r.err), TN_OK);
    assert_int_equal(s.unit_count, 4);
    assert_int_equal(s.segment_count, 1);
    for (uint32_t n = 0; n < 4; n++)
        assert_int_equal(s.steps[n], n);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(units_that_can_run_on_the_device_at_hand_go_first),
        CASE(units_that_wait_for_each_other_are_told),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
