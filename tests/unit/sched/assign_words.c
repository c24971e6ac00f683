// Words for what cannot be assigned.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

static void a_node_that_no_device_takes_is_named_with_each_reason(void **state)
{
    (void)state;
    tn_value x = rig_input(&r, "x");
    tn_value y = tn_graph_op(r.graph, TNP_OP_EXP, "the odd one", &x, 1, NULL);
    rig_finish(&r, rig_op(&r, TNP_OP_NEG, y));
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    r.fakes[0].reason = "no exponents here";
    r.fakes[1].cost_ns = 0;   // says nothing at all
    assert_int_equal(rig_try(&r, NULL), TN_E_UNSUPPORTED);
    assert_string_equal(
        r.err.text,
        "no device takes exp 'the odd one' (fake0: no exponents here; fake1: no claim)");
    assert_int_equal(r.schedule.unit_count, 0);
}

static void a_device_that_takes_a_node_but_may_get_none_is_named_with_why(void **state)
{
    (void)state;
    rig_finish(&r, rig_op(&r, TNP_OP_EXP, rig_input(&r, "x")));
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    r.fakes[0].reason = "no exponents here";
    const tni_schedule_request request = { .graph = r.graph,
                                           .devices = r.list,
                                           .device_count = r.device_count,
                                           .places = 1,
                                           .closed_why = "it is full" };
    assert_int_equal(tni_schedule_make(&request, &r.arena, &r.schedule, &r.err), TN_E_UNSUPPORTED);
    assert_non_null(strstr(r.err.text, "(fake0: no exponents here; fake1: it is full)"));
}

static void a_state_that_would_have_to_move_is_told_as_the_reason(void **state)
{
    (void)state;
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    rig_finish(&r, rig_op(&r, TNP_OP_EXP, s));
    uint64_t pins[8];
    memset(pins, 0xff, sizeof pins);
    pins[rig_storage(&r, s)] = 2;   // the second place
    r.fakes[1].refused_ops[0] = TNP_OP_EXP;
    r.fakes[1].reason = "no exponents";
    assert_int_equal(rig_try(&r, pins), TN_E_UNSUPPORTED);
    assert_non_null(
        strstr(r.err.text, "fake0: it would have to move 's' there; fake1: no exponents"));
}

// Every node is ordered to be on the first device, which takes the first two.
static void what_is_ordered_and_cannot_be_is_told(void **state)
{
    (void)state;
    rig_products p = rig_make_products(&r);   // 64 bytes a weight
    const uint64_t roomy[] = { 1000, 1000 }, small[] = { 63, 1000 };
    static const struct {
        const char *by;
        bool is_small, is_refused;
        const char *words;
    } cases[] = {
        { NULL, false, true, "no device takes matmul '" },
        { NULL, false, true, "fake0: no products; fake1: it is ordered to be elsewhere" },
        { "pins", false, true, "placement: pins: no device takes matmul '" },
        { NULL, true, false,
          "is ordered to be on fake0, but 'w' has 64 bytes, and a buffer there "
          "has at most 63" },
        { "pins", true, false, "placement: pins: '" },
    };
    (void)p;
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tni_rule rules[8];
        for (int n = 0; n < 8; n++)
            rules[n] = (tni_rule){ 1, UINT64_MAX, TNI_WHY_COST, cases[i].by };
        r.fakes[0].refused_ops[0] = cases[i].is_refused ? TNP_OP_MATMUL : 0;
        r.fakes[0].reason = "no products";
        tni_schedule_request request = {
            .graph = r.graph,
            .devices = r.list,
            .device_count = 2,
            .rules = rules,
            .memories = { .largest = cases[i].is_small ? small : roomy },
        };
        assert_int_equal(tni_schedule_make(&request, &r.arena, &r.schedule, &r.err),
                         cases[i].is_small ? TN_E_DEVICE_MEMORY : TN_E_UNSUPPORTED);
        if (!strstr(r.err.text, cases[i].words))
            fail_msg("\"%s\" does not say \"%s\"", r.err.text, cases[i].words);
    }
}

// A state that is ordered to be where another node that touches it is not taken.
static void who_keeps_a_state_away_is_named(void **state)
{
    (void)state;
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value y = tn_graph_op(r.graph, TNP_OP_NEG, "one", &s, 1, NULL);
    tn_value z = tn_graph_op(r.graph, TNP_OP_EXP, "the other", &s, 1, NULL);
    tn_graph_output(r.graph, "y", y);
    rig_finish(&r, z);
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    r.fakes[0].reason = "no exponents";
    tni_rule rules[2];
    for (uint32_t n = 0; n < 2; n++)
        rules[n] = (tni_rule){ UINT64_MAX, UINT64_MAX, TNI_WHY_COST, NULL };
    rules[rig_node(&r, y)] = (tni_rule){ 1, UINT64_MAX, TNI_WHY_COST, "kv_device" };
    tni_schedule_request request = {
        .graph = r.graph, .devices = r.list, .device_count = 2, .rules = rules
    };
    assert_int_equal(tni_schedule_make(&request, &r.arena, &r.schedule, &r.err), TN_E_UNSUPPORTED);
    assert_string_equal(r.err.text, "placement: kv_device: 's' is ordered to be on fake0, which "
                                    "does not take exp 'the other' with it: no exponents");
}

static void what_fits_nowhere_is_told_with_the_device_and_the_bytes(void **state)
{
    (void)state;
    rig_make_products(&r);
    const uint64_t limits[] = { 64, 64 };
    tni_schedule_request request = {
        .graph = r.graph, .devices = r.list, .device_count = 1, .limits = limits
    };
    assert_int_equal(tni_schedule_make(&request, &r.arena, &r.schedule, &r.err),
                     TN_E_DEVICE_MEMORY);
    assert_string_equal(r.err.text, "weights and states do not fit: at least 128 bytes would be on "
                                    "fake0, 64 are free, 64 are lacking");
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_node_that_no_device_takes_is_named_with_each_reason),
        CASE(a_device_that_takes_a_node_but_may_get_none_is_named_with_why),
        CASE(a_state_that_would_have_to_move_is_told_as_the_reason),
        CASE(what_is_ordered_and_cannot_be_is_told),
        CASE(who_keeps_a_state_away_is_named),
        CASE(what_fits_nowhere_is_told_with_the_device_and_the_bytes),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
