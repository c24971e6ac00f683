// Units in order, segments, and copies between devices: by hand, and for random graphs over devices
// that take random ops.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "failing_alloc.h"
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

// [heavy, only on 1, cheap ops, only on 1, heavy]: a round trip for the cheap ones costs
// more than to run them where the bytes are.
static void cheap_ops_between_two_that_move_stay_where_the_bytes_are(void **state)
{
    (void)state;
    for (int cheap = 1; cheap <= 4; cheap++) {
        rig_end(&r);
        rig_begin(&r, 2);
        tn_value x = rig_op(&r, TNP_OP_GELU, rig_input(&r, "x"));
        x = rig_op(&r, TNP_OP_EXP, x);
        for (int i = 0; i < cheap; i++)
            x = rig_op(&r, TNP_OP_NEG, x);
        x = rig_op(&r, TNP_OP_GELU, rig_op(&r, TNP_OP_EXP, x));
        rig_finish(&r, x);
        r.fakes[0].cost_ns = 100;   // the fast one, without exp
        r.fakes[0].refused_ops[0] = TNP_OP_EXP;
        r.fakes[1].cost_ns = 1e6;
        r.fakes[1].cheap_op = TNP_OP_NEG;
        r.fakes[1].cheap_ns = 200;
        rig_schedule(&r, NULL);
        assert_string_equal(rig_segments(&r), "010");
        assert_int_equal(r.schedule.transfer_count, 2);
    }
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

// A copy is of the bytes after the last write, and made anew after another write.
static void bytes_that_were_written_again_are_copied_again(void **state)
{
    (void)state;
    tn_value index = tn_graph_input(r.graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value x = rig_input(&r, "x"), table = rig_op(&r, TNP_OP_NEG, x);
    tn_value before = rig_op(&r, TNP_OP_EXP, table);
    tn_value written = tn_graph_set_rows(r.graph, table, x, index);
    tn_value after = rig_op(&r, TNP_OP_EXP, written);
    tn_graph_output(r.graph, "before", before);
    rig_finish(&r, after);
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    r.fakes[1].refused_ops[0] = TNP_OP_SET_ROWS;
    r.fakes[1].refused_ops[1] = TNP_OP_NEG;
    // What is written through is pinned to the writer, and so are its readers: no device takes
    // this.
    tn_status status = rig_try(&r, NULL);
    if (status == TN_OK) {
        rig_check(&r);
        assert_int_equal(rig_transfers(&r, table, 1), 2);
    } else {
        assert_int_equal(status, TN_E_UNSUPPORTED);
        assert_non_null(strstr(r.err.text, "it would have to move '"));
    }
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

static void a_graph_without_nodes_has_no_segments(void **state)
{
    (void)state;
    rig_finish(&r, rig_input(&r, "x"));
    rig_schedule(&r, NULL);
    assert_int_equal(r.schedule.unit_count, 0);
    assert_int_equal(r.schedule.segment_count, 0);
    assert_true(r.schedule.cost_ns == 0);
}

// ------------------------------------------------------------------------------------------ random

enum { GRAPHS = 400, STEPS = 40 };

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void build(uint32_t *seed)
{
    static const tnp_op ops[] = { TNP_OP_NEG, TNP_OP_EXP, TNP_OP_TANH, TNP_OP_GELU };
    tn_value values[STEPS + 2] = { rig_input(&r, "x"), tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2,
                                                                      (int64_t[]){ 4, 3 }) };
    tn_value index = tn_graph_input(r.graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 }),
             state = values[1];
    uint32_t count = 2, steps = 1 + next_random(seed) % STEPS;
    for (uint32_t i = 0; i < steps; i++) {
        tn_value x = values[next_random(seed) % count], y = values[next_random(seed) % count];
        switch (next_random(seed) % 4) {
        case 0:
            x = tn_graph_add(r.graph, x, y);
            break;
        case 1:
            if (next_random(seed) % 3 ||
                r.graph->values[x.index].storage == r.graph->values[state.index].storage)
                x = tn_graph_mul(r.graph, x, y);
            else
                x = tn_graph_set_rows(r.graph, state, x, index);
            break;
        default:
            x = rig_op(&r, ops[next_random(seed) % 4], x);
        }
        values[count++] = x;
        char name[16];
        snprintf(name, sizeof name, "o%u", i);
        if (next_random(seed) % 6 == 0)
            tn_graph_output(r.graph, name, x);
    }
    rig_finish(&r, values[count - 1]);
}

static void script(uint32_t *seed)
{
    static const tnp_op ops[] = { TNP_OP_NEG,  TNP_OP_EXP, TNP_OP_TANH,
                                  TNP_OP_GELU, TNP_OP_ADD, TNP_OP_MUL };
    for (uint32_t i = 0; i < r.device_count; i++) {
        uint32_t refused = 0;
        r.fakes[i].cost_ns = 1 + next_random(seed) % 20000;
        for (size_t k = 0; k < TN_COUNT_OF(ops) && i; k++)   // the first takes everything
            if (next_random(seed) % 3 == 0)
                r.fakes[i].refused_ops[refused++] = ops[k];
        for (uint32_t k = 0; k < 10;
             k++) {   // fusions, of which those that are not convex are dropped
            uint32_t nodes = r.graph->node_count, first = nodes ? next_random(seed) % nodes : 0;
            fake_claim *claim = &r.fakes[i].claims[k];
            *claim = (fake_claim){ 2,
                                   { first, first + 1 + next_random(seed) % 3 },
                                   1 + next_random(seed) % 20000 };
        }
    }
}

static void random_graphs_over_random_devices_have_right_schedules(void **state)
{
    (void)state;
    uint32_t seed = 1, several = 0, fused = 0, segments = 0;
    for (int i = 0; i < GRAPHS; i++) {
        rig_end(&r);
        rig_begin(&r, 3);
        build(&seed);
        script(&seed);
        rig_schedule(&r, NULL);
        several += r.schedule.transfer_count > 0;
        fused += r.schedule.unit_count < r.graph->node_count;
        segments += r.schedule.segment_count;
    }
    assert_true(several > GRAPHS / 20);   // the cases are worth the name
    assert_true(fused > GRAPHS / 4);
    assert_true(segments > GRAPHS);
}

static tn_status schedule_with(const tn_allocator *allocator, void *context)
{
    (void)context;
    tni_arena arena;
    tni_arena_init(&arena, allocator);
    tni_schedule schedule;
    tn_error err = { 0 };
    tn_status status = tni_schedule_make(
        &(tni_schedule_request){ .graph = r.graph, .devices = r.list, .device_count = 2 }, &arena,
        &schedule, &err);
    assert_true(status == TN_OK || status == TN_E_HOST_MEMORY);
    tni_schedule_finish(&schedule);
    tni_schedule_finish(&schedule);
    tni_arena_finish(&arena);
    return status;
}

static void memory_that_is_not_there_is_a_status(void **state)
{
    (void)state;
    tn_value x = rig_input(&r, "x");
    for (int i = 0; i < 60; i++)
        x = rig_op(&r, i % 2 ? TNP_OP_NEG : TNP_OP_EXP, x);
    rig_finish(&r, x);
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    for_each_failing_allocation(schedule_with, NULL);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(cheap_ops_between_two_that_move_stay_where_the_bytes_are),
        CASE(a_value_is_copied_once_to_each_device),
        CASE(operands_on_three_devices_meet_on_one),
        CASE(bytes_that_were_written_again_are_copied_again),
        CASE(units_that_can_run_on_the_device_at_hand_go_first),
        CASE(a_length_that_is_made_elsewhere_is_copied_too),
        CASE(a_graph_without_nodes_has_no_segments),
        CASE(random_graphs_over_random_devices_have_right_schedules),
        CASE(memory_that_is_not_there_is_a_status),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
