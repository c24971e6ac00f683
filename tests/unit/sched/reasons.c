// Why a schedule is as it is: what the whole would cost with one unit elsewhere, held against sums
// made anew; and why segments begin.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "sched_test.h"

enum { DEVICES = 3, MOST_NODES = 64 };

static rig r;

static int begin(void **state)
{
    (void)state;
    rig_begin(&r, DEVICES);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rig_end(&r);
    return 0;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b)) + 1e-3;
}

static double fake_ns(uint32_t device, tnp_op op)
{
    const fake_device *fake = &r.fakes[device];
    return fake->cheap_op == op ? fake->cheap_ns : fake->cost_ns;
}

static bool refuses(uint32_t device, tnp_op op)
{
    for (int i = 0; r.fakes[device].refused_ops[i]; i++)
        if (r.fakes[device].refused_ops[i] == op)
            return true;
    return false;
}

// Claims on single nodes, and each value once to each other place where it is read.
static double total_ns(const uint32_t *places)
{
    double sum = 0;
    for (uint32_t n = 0; n < r.graph->node_count; n++) {
        uint32_t out = r.graph->nodes[n].output;
        bool reads[DEVICES] = { false };
        sum += fake_ns(places[n], r.graph->nodes[n].op);
        for (uint32_t m = 0; m < r.graph->node_count; m++)
            for (uint32_t i = 0; i < r.graph->nodes[m].input_count; i++)
                reads[places[m]] |= r.graph->nodes[m].inputs[i] == out;
        for (uint32_t p = 0; p < DEVICES; p++)
            if (reads[p] && p != places[n])
                sum += rig_copy_ns(&r, 48);
    }
    return sum;
}

static void random_graph(unsigned seed, uint32_t nodes)
{
    static const tnp_op ops[] = { TNP_OP_NEG, TNP_OP_EXP, TNP_OP_GELU, TNP_OP_ADD, TNP_OP_MUL };
    tn_value values[MOST_NODES + 1] = { rig_input(&r, "x") }, sum;
    srand(seed);
    for (uint32_t i = 1; i <= nodes; i++) {
        tnp_op op = ops[rand() % 5];
        tn_value a = values[(uint32_t)rand() % i], b = values[(uint32_t)rand() % i];
        values[i] = op == TNP_OP_ADD   ? tn_graph_add(r.graph, a, b)
                    : op == TNP_OP_MUL ? tn_graph_mul(r.graph, a, b)
                                       : rig_op(&r, op, a);
    }
    sum = values[1];
    for (uint32_t i = 2; i <= nodes; i++)   // nothing is dead
        sum = tn_graph_add(r.graph, sum, values[i]);
    rig_finish(&r, sum);
    for (uint32_t d = 0; d < DEVICES; d++) {
        r.fakes[d].cost_ns = 1000 + rand() % 20000;
        r.fakes[d].cheap_op = ops[rand() % 5];
        r.fakes[d].cheap_ns = 100 + rand() % 1000;
        r.fakes[d].refused_ops[0] = d ? ops[rand() % 3] : 0;   // somebody takes all
    }
}

static void a_move_costs_the_difference_of_the_sums(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 40; seed++) {
        rig_end(&r);
        rig_begin(&r, DEVICES);
        random_graph(seed, 4 + seed % 20);
        rig_schedule(&r, NULL);
        tni_offers offers;
        assert_true(tni_offers_make(&r.schedule, &r.arena, &offers));
        uint32_t places[2 * MOST_NODES];
        memcpy(places, r.schedule.places, r.graph->node_count * sizeof *places);
        double before = total_ns(places);
        assert_true(is_near(before, r.schedule.cost_ns));
        for (uint32_t step = 0; step < r.schedule.unit_count; step++)
            for (uint32_t p = 0; p < DEVICES; p++) {
                uint32_t node = r.schedule.units[step]->nodes[0];
                tni_move move = tni_move_of(&offers, step, p);
                assert_int_equal(move.tied, TNP_NONE);
                assert_int_equal(move.is_taken, !refuses(p, r.graph->nodes[node].op));
                if (!move.is_taken) {
                    assert_int_equal(move.lacking, node);
                    assert_non_null(tni_refusal_of(&offers, node, p));
                    continue;
                }
                places[node] = p;
                if (!is_near(move.more_ns + before, total_ns(places)))
                    fail_msg("seed %u, step %u to %u: %g, not %g", seed, step, p, move.more_ns,
                             total_ns(places) - before);
                assert_true(!r.schedule.is_proved_optimal || move.more_ns > -1e-3);
                places[node] = r.schedule.places[node];
            }
    }
}

static void a_unit_of_several_nodes_moves_to_the_same_or_to_single_claims(void **state)
{
    (void)state;
    tn_value x = rig_input(&r, "x"), y = rig_op(&r, TNP_OP_EXP, rig_op(&r, TNP_OP_NEG, x));
    rig_finish(&r, rig_op(&r, TNP_OP_GELU, y));
    r.fakes[0].claims[0] = (fake_claim){ 2, { 0, 1 }, 10 };
    r.fakes[1].claims[0] = (fake_claim){ 2, { 0, 1 }, 60 };
    r.fakes[2].cost_ns = 5000;
    r.fakes[0].cost_ns = r.fakes[1].cost_ns = 2000;
    rig_schedule(&r, NULL);
    tni_offers offers;
    assert_true(tni_offers_make(&r.schedule, &r.arena, &offers));
    assert_int_equal(r.schedule.units[0]->node_count, 2);
    const double copy = rig_copy_ns(&r, 48);
    tni_move same = tni_move_of(&offers, 0, 1), single = tni_move_of(&offers, 0, 2);
    assert_true(is_near(same.there_ns, 60) && is_near(same.more_ns, 50 + copy));
    assert_true(is_near(single.there_ns, 10000) && is_near(single.more_ns, 9990 + copy));
    r.fakes[2].refused_ops[0] = TNP_OP_EXP;
    rig_schedule(&r, NULL);
    assert_true(tni_offers_make(&r.schedule, &r.arena, &offers));
    single = tni_move_of(&offers, 0, 2);
    assert_false(single.is_taken);
    assert_int_equal(single.lacking, 1);
}

static void a_segment_begins_for_a_reason(void **state)
{
    (void)state;
    tn_value x = rig_op(&r, TNP_OP_NEG, rig_input(&r, "x"));
    tn_value index = tn_graph_input(r.graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 8 });
    x = rig_op(&r, TNP_OP_EXP, x);                                // refused by 0
    x = rig_op(&r, TNP_OP_GELU, x);                               // dear on 1
    tn_value written = tn_graph_set_rows(r.graph, s, x, index);   // the state is on 1
    tn_value got = tn_graph_get_rows(r.graph, written, index);
    rig_finish(&r, rig_op(&r, TNP_OP_NEG, got));
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    r.fakes[0].reason = "no exp here";
    r.fakes[1].cost_ns = 400000;
    r.fakes[1].cheap_op = TNP_OP_EXP;
    r.fakes[1].cheap_ns = 10;
    r.fakes[2].refused_ops[0] = TNP_OP_EXP;
    r.fakes[2].cost_ns = 900000;
    uint64_t may_be[16];
    for (int i = 0; i < 16; i++)
        may_be[i] = UINT64_MAX;
    may_be[rig_storage(&r, s)] = 1 << 1;
    rig_schedule(&r, may_be);
    assert_string_equal(rig_segments(&r), "01010");
    static const struct {
        uint32_t why;
        tnp_op op;
    } want[] = { { TN_BEGINS_FIRST, TNP_OP_NEG },
                 { TN_BEGINS_UNSUPPORTED, TNP_OP_EXP },
                 { TN_BEGINS_COST, TNP_OP_GELU },
                 { TN_BEGINS_STATE, TNP_OP_SET_ROWS },
                 { TN_BEGINS_COST, TNP_OP_NEG } };
    tni_offers offers;
    assert_true(tni_offers_make(&r.schedule, &r.arena, &offers));
    for (uint32_t i = 0; i < 5; i++) {
        tni_boundary b = tni_boundary_of(&offers, i);
        assert_int_equal(b.why, want[i].why);
        assert_int_equal(r.graph->nodes[b.node].op, want[i].op);
    }
    tni_boundary refused = tni_boundary_of(&offers, 1), state_there = tni_boundary_of(&offers, 3);
    assert_string_equal(tni_refusal_of(&offers, refused.node, refused.before), "no exp here");
    assert_int_equal(state_there.move.tied, rig_storage(&r, s));
}

// Where both cost the same, what waits for something elsewhere begins a segment without a cost.
static void a_boundary_that_costs_nothing_is_a_matter_of_order(void **state)
{
    (void)state;
    tn_value x = rig_op(&r, TNP_OP_NEG, rig_input(&r, "x"));
    tn_value y = rig_op(&r, TNP_OP_EXP, rig_input(&r, "y"));
    tn_graph_output(r.graph, "x out", x);
    rig_finish(&r, y);
    r.fakes[0].cost_ns = r.fakes[1].cost_ns = 500;
    uint64_t may_be[16];
    for (int i = 0; i < 16; i++)
        may_be[i] = UINT64_MAX;
    may_be[rig_storage(&r, y)] = 1 << 1;
    rig_schedule(&r, may_be);
    assert_string_equal(rig_segments(&r), "01");
    tni_offers offers;
    assert_true(tni_offers_make(&r.schedule, &r.arena, &offers));
    assert_int_equal(tni_boundary_of(&offers, 1).why, TN_BEGINS_ORDER);
}

static void a_segment_that_was_divided_goes_on_where_it_was(void **state)
{
    (void)state;
    rig_finish(&r, rig_op(&r, TNP_OP_EXP, rig_op(&r, TNP_OP_NEG, rig_input(&r, "x"))));
    rig_schedule(&r, NULL);
    assert_int_equal(r.schedule.segment_count, 1);
    tni_segment halves[] = { { r.schedule.segments[0].place, 0, 1 },
                             { r.schedule.segments[0].place, 1, 1 } };
    r.schedule.segments = halves;
    r.schedule.segment_count = 2;
    tni_offers offers;
    assert_true(tni_offers_make(&r.schedule, &r.arena, &offers));
    assert_int_equal(tni_boundary_of(&offers, 1).why, TN_BEGINS_OVERLAP);
}

static tn_status make_offers(const tn_allocator *allocator, void *context)
{
    (void)context;
    tni_arena arena;
    tni_offers offers;
    tni_arena_init(&arena, allocator);
    bool is_made = tni_offers_make(&r.schedule, &arena, &offers);
    tni_arena_finish(&arena);
    return is_made ? TN_OK : TN_E_HOST_MEMORY;
}

static void without_memory_there_are_none(void **state)
{
    (void)state;
    random_graph(7, 40);
    rig_schedule(&r, NULL);
    for_each_failing_allocation(make_offers, NULL);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_move_costs_the_difference_of_the_sums),
        CASE(a_unit_of_several_nodes_moves_to_the_same_or_to_single_claims),
        CASE(a_segment_begins_for_a_reason),
        CASE(a_boundary_that_costs_nothing_is_a_matter_of_order),
        CASE(a_segment_that_was_divided_goes_on_where_it_was),
        CASE(without_memory_there_are_none),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
