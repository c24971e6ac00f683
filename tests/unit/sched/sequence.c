// Segments of a device run in the order in which they can begin, those first that most hangs on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sched_test.h"

static rig r;
static tn_value a, b;   // on device 0: of what device 1 makes, and of what device 2 makes

static int begin(void **state)
{
    (void)state;
    rig_begin(&r, 3);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rig_end(&r);
    return 0;
}

// Device 0 refines what devices 1 and 2 make, each in a time of its own.
static void schedule(double first_ns, double second_ns)
{
    rig_end(&r);
    rig_begin(&r, 3);
    tn_value x = rig_input(&r, "x");
    a = rig_op(&r, TNP_OP_GELU, rig_op(&r, TNP_OP_EXP, x));
    b = rig_op(&r, TNP_OP_GELU, rig_op(&r, TNP_OP_TANH, x));
    tn_graph_output(r.graph, "a", a);
    rig_finish(&r, b);
    static const tnp_op refused[3][2] = { { TNP_OP_EXP, TNP_OP_TANH },
                                          { TNP_OP_TANH, TNP_OP_GELU },
                                          { TNP_OP_EXP, TNP_OP_GELU } };
    const double ns[3] = { 50000, first_ns, second_ns };
    for (int i = 0; i < 3; i++) {
        memcpy(r.fakes[i].refused_ops, refused[i], sizeof refused[i]);
        r.fakes[i].cost_ns = ns[i];
    }
    rig_schedule(&r, NULL);
}

static uint32_t step_of(tn_value value)
{
    return r.schedule.steps[rig_node(&r, value)];
}

static void what_can_begin_first_comes_first(void **state)
{
    (void)state;
    schedule(2000, 2000000);
    assert_true(step_of(a) < step_of(b));
    schedule(2000000, 2000);
    assert_true(step_of(b) < step_of(a));
}

// Both can begin at once: of device 0 the one goes first that device 1 has long work after.
static void what_most_hangs_on_comes_first(void **state)
{
    (void)state;
    for (int is_first = 0; is_first < 2; is_first++) {
        rig_end(&r);
        rig_begin(&r, 3);
        tn_value x = rig_input(&r, "x");
        tn_value start = rig_op(&r, TNP_OP_TANH, x);   // on 2, so that 0 waits for it
        a = rig_op(&r, TNP_OP_GELU, start);
        b = rig_op(&r, TNP_OP_GELU, start);
        tn_value after_a = rig_op(&r, is_first ? TNP_OP_EXP : TNP_OP_NEG, a);
        tn_value after_b = rig_op(&r, is_first ? TNP_OP_NEG : TNP_OP_EXP, b);
        tn_graph_output(r.graph, "a", after_a);
        rig_finish(&r, after_b);
        static const tnp_op refused[3][3] = { { TNP_OP_EXP, TNP_OP_TANH, TNP_OP_NEG },
                                              { TNP_OP_TANH, TNP_OP_GELU, TNP_OP_NEG },
                                              { TNP_OP_EXP, TNP_OP_GELU } };
        const double ns[3] = { 50000, 900000, 2000 };
        for (int i = 0; i < 3; i++) {
            memcpy(r.fakes[i].refused_ops, refused[i], sizeof refused[i]);
            r.fakes[i].cost_ns = ns[i];
        }
        rig_schedule(&r, NULL);
        assert_true(is_first ? step_of(a) < step_of(b) : step_of(b) < step_of(a));
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(what_can_begin_first_comes_first),
        CASE(what_most_hangs_on_comes_first),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
