// Segments are divided where another device can then work meanwhile, and a part is worth a submit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

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

// Device 0 makes something for device 1 and has five ops more of its own, each of own_ns; both meet
// on device 0. submit_ns: as measured of device 0; 0 = it was not.
static const char *segments_of(double own_ns, uint64_t submit_ns)
{
    rig_end(&r);
    rig_begin(&r, 2);
    tn_value x = rig_input(&r, "x"), own = x;
    for (int i = 0; i < 5; i++)
        own = rig_op(&r, TNP_OP_GELU, own);
    tn_value there = rig_op(&r, TNP_OP_EXP, rig_op(&r, TNP_OP_NEG, x));
    rig_finish(&r, tn_graph_add(r.graph, own, there));
    r.fakes[0].cheap_op = TNP_OP_GELU;
    r.fakes[0].cheap_ns = own_ns;
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    r.fakes[1].cost_ns = 300000;   // so that it had better begin soon
    r.fakes[1].refused_ops[0] = TNP_OP_NEG;
    r.fakes[1].refused_ops[1] = TNP_OP_GELU;
    r.fakes[1].refused_ops[2] = TNP_OP_ADD;
    r.devices[0].measured = (tni_measured){ .is_there = submit_ns > 0,
                                            .claim_ppm = 1000000,
                                            .submit_ns = submit_ns };
    rig_schedule(&r, NULL);
    return rig_segments(&r);
}

// What the other waits for comes first, and is a segment of its own.
static void the_other_device_need_not_wait_for_what_it_does_not_read(void **state)
{
    (void)state;
    assert_string_equal(segments_of(20000, 0), "0010");
    assert_int_equal(r.schedule.segments[0].unit_count, 1);
    assert_int_equal(r.graph->nodes[r.schedule.units[0]->nodes[0]].op, TNP_OP_NEG);
}

static void a_part_below_a_submit_is_not_worth_one(void **state)
{
    (void)state;
    assert_string_equal(segments_of(4000, 0), "010");   // 20 us; a submit is taken for 25
    assert_string_equal(segments_of(6000, 0), "0010");
}

static void the_measured_submit_decides(void **state)
{
    (void)state;
    assert_string_equal(segments_of(4000, 10000), "0010");
    assert_string_equal(segments_of(20000, 200000), "010");
}

static void one_device_alone_is_never_divided(void **state)
{
    (void)state;
    rig_end(&r);
    rig_begin(&r, 1);
    tn_value x = rig_input(&r, "x");
    for (int i = 0; i < 5; i++)
        x = rig_op(&r, TNP_OP_GELU, x);
    rig_finish(&r, x);
    r.fakes[0].cost_ns = 1e6;
    rig_schedule(&r, NULL);
    assert_string_equal(rig_segments(&r), "0");
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(the_other_device_need_not_wait_for_what_it_does_not_read),
        CASE(a_part_below_a_submit_is_not_worth_one),
        CASE(the_measured_submit_decides),
        CASE(one_device_alone_is_never_divided),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
