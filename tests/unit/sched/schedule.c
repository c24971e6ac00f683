// Whole schedules: what goes where, at random, within memory.
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

static void a_graph_without_nodes_has_no_segments(void **state)
{
    (void)state;
    rig_finish(&r, rig_input(&r, "x"));
    rig_schedule(&r, NULL);
    assert_int_equal(r.schedule.unit_count, 0);
    assert_int_equal(r.schedule.segment_count, 0);
    assert_true(r.schedule.cost_ns == 0);
}

static void more_devices_than_can_be_counted_are_refused(void **state)
{
    (void)state;
    rig_finish(&r, rig_op(&r, TNP_OP_NEG, rig_input(&r, "x")));
    tn_device *list[65];
    for (int i = 0; i < 65; i++)
        list[i] = &r.devices[0];
    tni_schedule schedule;
    assert_int_equal(
        tni_schedule_make(
            &(tni_schedule_request){ .graph = r.graph, .devices = list, .device_count = 65 },
            &r.arena, &schedule, &r.err),
        TN_E_ARG);
    assert_int_equal(
        tni_schedule_make(
            &(tni_schedule_request){ .graph = r.graph, .devices = list, .device_count = 64 },
            &r.arena, &schedule, &r.err),
        TN_OK);
    tni_schedule_finish(&schedule);
    assert_int_equal(
        tni_schedule_make(
            &(tni_schedule_request){ .graph = r.graph, .devices = list, .device_count = 0 },
            &r.arena, &schedule, &r.err),
        TN_E_UNSUPPORTED);
}

// ------------------------------------------------------------------------------------------ memory

// A device without a buffer as large as a weight, a value or a state does not get what touches it,
// unless there is no other.
static void what_is_larger_than_a_buffer_goes_elsewhere(void **state)
{
    (void)state;
    rig_end(&r);
    rig_begin(&r, 3);
    tn_value out[RIG_LAYERS];
    rig_make_layers(&r, out);   // 48 bytes each
    r.fakes[0].cost_ns = 1;
    static const struct {
        uint64_t largest[3];
        uint64_t mapped;
        uint32_t place;
    } cases[] = {
        { { 49, 100, 100 }, 0, 0 }, { { 48, 100, 100 }, 0, 0 }, { { 47, 48, 47 }, 0, 1 },
        { { 47, 47, 48 }, 0, 2 },   { { 47, 47, 47 }, 0, 0 },   { { 47, 47, 48 }, 1, 2 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        uint64_t mapped[16];
        for (size_t k = 0; k < TN_COUNT_OF(mapped); k++)
            mapped[k] = cases[i].mapped;
        tni_schedule_request request = { .graph = r.graph,
                                         .devices = r.list,
                                         .device_count = 3,
                                         .memories = { .mapped = mapped,
                                                       .mapped_count = TN_COUNT_OF(mapped),
                                                       .largest = cases[i].largest } };
        tni_schedule_finish(&r.schedule);
        assert_int_equal(tni_schedule_make(&request, &r.arena, &r.schedule, &r.err), TN_OK);
        for (uint32_t k = 0; k < RIG_LAYERS; k++) {
            if (rig_place(&r, out[k]) != cases[i].place)
                fail_msg("case %zu: layer %u is on %u", i, k, rig_place(&r, out[k]));
            assert_int_equal(r.schedule.bars.why[rig_node(&r, out[k])],
                             cases[i].place ? TNI_WHY_MEMORY : TNI_WHY_COST);
        }
    }
}

// What is there of an earlier graph is not counted again.
static void weights_that_are_there_take_nothing(void **state)
{
    (void)state;
    rig_end(&r);
    rig_begin(&r, 3);
    tn_value out[RIG_LAYERS];
    rig_make_layers(&r, out);
    r.fakes[1].cost_ns = r.fakes[2].cost_ns = 1e6;
    tni_resident_bytes there[RIG_LAYERS];
    for (uint32_t i = 0; i < RIG_LAYERS; i++)
        there[i] = (tni_resident_bytes){ .place = 0, .data = rig_layer_weights[i], .bytes = 48 };
    for (uint32_t count = 0; count <= RIG_LAYERS; count++) {
        uint64_t limits[] = { 48, UINT64_MAX, UINT64_MAX };
        tni_schedule_request request = { .graph = r.graph,
                                         .devices = r.list,
                                         .device_count = 3,
                                         .limits = limits,
                                         .memories = { .there = there, .there_count = count } };
        uint32_t on_first = 0;
        assert_int_equal(tni_resident_bytes_sort(there, count), count);
        tni_schedule_finish(&r.schedule);
        assert_int_equal(tni_schedule_make(&request, &r.arena, &r.schedule, &r.err), TN_OK);
        for (uint32_t k = 0; k < RIG_LAYERS; k++)
            on_first += rig_place(&r, out[k]) == 0;
        assert_int_equal(on_first, count < RIG_LAYERS ? count + 1 : RIG_LAYERS);
    }
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
        CASE(a_graph_without_nodes_has_no_segments),
        CASE(more_devices_than_can_be_counted_are_refused),
        CASE(what_is_larger_than_a_buffer_goes_elsewhere),
        CASE(weights_that_are_there_take_nothing),
        CASE(random_graphs_over_random_devices_have_right_schedules),
        CASE(memory_that_is_not_there_is_a_status),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
