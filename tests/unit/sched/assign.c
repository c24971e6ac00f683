// Which claim gets each node: fusions where they are cheaper, and states on one device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

static tn_value chain(tn_value x, const tnp_op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x = rig_op(&r, ops[i], x);
    return x;
}

// ----------------------------------------------------------------------------------------- fusions

static void a_fusion_is_chosen_when_it_is_cheaper_than_its_parts(void **state)
{
    (void)state;
    static const tnp_op ops[] = { TNP_OP_NEG, TNP_OP_EXP, TNP_OP_NEG };
    tn_value out = chain(rig_input(&r, "x"), ops, 3);
    rig_finish(&r, out);
    r.device_count = 1;
    static const struct {
        const char *says;
        fake_claim claims[3];
        uint32_t units;
    } cases[] = {
        { "no fusion", { { 0 } }, 3 },
        { "a cheaper one", { { 2, { 0, 1 }, 1999 } }, 2 },
        { "a dearer one", { { 2, { 0, 1 }, 2001 } }, 3 },
        { "one over all", { { 3, { 0, 1, 2 }, 1500 } }, 1 },
        { "the better of two", { { 2, { 0, 1 }, 1900 }, { 3, { 0, 1, 2 }, 2000 } }, 1 },
        { "one that begins later", { { 2, { 1, 2 }, 1000 } }, 2 },
        { "two that overlap", { { 2, { 0, 1 }, 1000 }, { 2, { 1, 2 }, 1000 } }, 2 },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        memcpy(r.fakes[0].claims, cases[i].claims, sizeof cases[i].claims);
        rig_schedule(&r, NULL);
        if (r.schedule.unit_count != cases[i].units)
            fail_msg("%s: %u units, not %u", cases[i].says, r.schedule.unit_count, cases[i].units);
    }
}

static void a_fusion_is_the_only_way_where_no_part_is_claimed(void **state)
{
    (void)state;
    static const tnp_op ops[] = { TNP_OP_NEG, TNP_OP_EXP, TNP_OP_NEG };
    rig_finish(&r, chain(rig_input(&r, "x"), ops, 3));
    r.device_count = 1;
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    r.fakes[0].claims[0] = (fake_claim){ 2,
                                         { 0, 1 },
                                         1e9 };   // dear, and nothing else takes node 1
    rig_schedule(&r, NULL);
    assert_int_equal(r.schedule.unit_count, 2);
}

// Each fusion is convex; together they wait for each other: 0 -> 2 and 1 -> 3 cross.
static void fusions_that_wait_for_each_other_are_not_chosen_together(void **state)
{
    (void)state;
    tn_value x = rig_input(&r, "x"), y = rig_input(&r, "y");
    tn_value a = rig_op(&r, TNP_OP_NEG, x), b = rig_op(&r, TNP_OP_NEG, y);
    tn_value c = rig_op(&r, TNP_OP_NEG, a), d = rig_op(&r, TNP_OP_NEG, b);
    rig_finish(&r, tn_graph_add(r.graph, c, d));
    r.device_count = 1;
    r.fakes[0].claims[0] = (fake_claim){ 2, { 0, 3 }, 10 };
    r.fakes[0].claims[1] = (fake_claim){ 2, { 1, 2 }, 10 };
    rig_schedule(&r, NULL);
    assert_int_equal(r.schedule.unit_count, 4);
    assert_true(r.schedule.cost_ns == 3010);
    assert_true(r.schedule.is_proved_optimal);
    for (int cheaper = 0; cheaper < 2; cheaper++) {   // whichever it is, it stays
        r.fakes[0].claims[cheaper].cost_ns = 9;
        r.fakes[0].claims[!cheaper].cost_ns = 10;
        rig_schedule(&r, NULL);
        assert_true(r.schedule.cost_ns == 3009);
        assert_int_equal(r.schedule.units[r.schedule.steps[cheaper]]->node_count, 2);
    }
    r.fakes[0].claims[1] = (fake_claim){ 0 };   // one alone is fine
    rig_schedule(&r, NULL);
    assert_int_equal(r.schedule.unit_count, 4);
}

// ------------------------------------------------------------------------------------------ states

static void every_node_that_touches_a_state_runs_where_it_is(void **state)
{
    (void)state;
    tn_value table = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 9 });
    tn_value index = tn_graph_input(r.graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value x = rig_input(&r, "x");
    tn_value first = tn_graph_get_rows(r.graph, table, index);   // the first device is cheaper, but
    tn_value y = rig_op(&r, TNP_OP_EXP, first);                  // cannot write
    tn_graph_set_rows(r.graph, table, tn_graph_add(r.graph, y, x), index);
    tn_value last = tn_graph_get_rows(r.graph, table, index);
    rig_finish(&r, last);
    r.fakes[0].cost_ns = 1;
    r.fakes[0].refused_ops[0] = TNP_OP_SET_ROWS;
    rig_schedule(&r, NULL);   // checks that no state is touched on two devices
    assert_int_equal(rig_place(&r, first), 1);
    assert_int_equal(rig_place(&r, last), 1);
}

static void a_state_that_is_only_read_lies_where_all_its_readers_can_run(void **state)
{
    (void)state;
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value a = rig_op(&r, TNP_OP_NEG, s), b = rig_op(&r, TNP_OP_EXP, s);
    rig_finish(&r, tn_graph_add(r.graph, a, b));
    r.fakes[0].cost_ns = 1;   // cheaper for the first reader, and cannot do the second
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    rig_schedule(&r, NULL);
    assert_int_equal(rig_place(&r, a), 1);
    assert_int_equal(rig_place(&r, b), 1);
}

static void states_that_a_node_touches_together_lie_together(void **state)
{
    (void)state;
    tn_value k = tn_graph_state(r.graph, "k", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value v = tn_graph_state(r.graph, "v", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value first = rig_op(&r, TNP_OP_NEG, k), second = rig_op(&r, TNP_OP_EXP, v);
    tn_value both = tn_graph_add(r.graph, k, v);
    rig_finish(&r, tn_graph_add(r.graph, tn_graph_add(r.graph, first, second), both));
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;   // so v is not there, and k cannot be
    rig_schedule(&r, NULL);
    assert_int_equal(rig_place(&r, first), 1);
    assert_int_equal(rig_place(&r, second), 1);
    assert_int_equal(rig_place(&r, both), 1);
}

static void a_state_that_is_a_length_lies_where_it_is_used(void **state)
{
    (void)state;
    tn_value n = tn_graph_state(r.graph, "n", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value a = rig_op(&r, TNP_OP_NEG, tn_graph_limit(r.graph, rig_input(&r, "x"), 1, n));
    tn_value b = rig_op(&r, TNP_OP_EXP, tn_graph_limit(r.graph, rig_input(&r, "y"), 1, n));
    tn_graph_output(r.graph, "a", a);
    rig_finish(&r, b);
    r.fakes[0].cost_ns = 1;
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;
    rig_schedule(&r, NULL);
    assert_int_equal(rig_place(&r, a), 1);
    assert_int_equal(rig_place(&r, b), 1);
}

static void a_storage_that_is_pinned_stays(void **state)
{
    (void)state;
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value a = rig_op(&r, TNP_OP_NEG, s);
    rig_finish(&r, a);
    for (uint32_t place = 0; place < 2; place++) {
        uint64_t pins[8];
        memset(pins, 0xff, sizeof pins);
        pins[rig_storage(&r, s)] = UINT64_C(1) << place;
        rig_schedule(&r, pins);
        assert_int_equal(rig_place(&r, a), place);
    }
}

static void what_is_written_through_stays_too(void **state)
{
    (void)state;
    tn_value index = tn_graph_input(r.graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value x = rig_input(&r, "x"), table = rig_op(&r, TNP_OP_NEG, x);   // no state: a value
    tn_value written = tn_graph_set_rows(r.graph, table, x, index);
    tn_value y = rig_op(&r, TNP_OP_EXP, written);
    rig_finish(&r, y);
    r.fakes[0].cost_ns = 1;
    r.fakes[0].refused_ops[0] = TNP_OP_SET_ROWS;
    rig_schedule(&r, NULL);
    assert_int_equal(rig_place(&r, table), 1);
    assert_int_equal(rig_place(&r, written), 1);
    assert_int_equal(rig_place(&r, y), 1);
}

// ------------------------------------------------------------------------------------------ memory

enum { WEIGHT_BYTES = 48 };

static const float weight_data[3][12];

static tn_value rig_weight(const char *name)
{
    return tn_graph_weight(r.graph, name, TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 },
                           weight_data[*name - 'a'], WEIGHT_BYTES);
}

static tn_status schedule_within(const uint64_t *limits, const uint64_t *arena_bytes,
                                 uint64_t maps_weights)
{
    uint64_t mapped[16];
    tni_schedule_finish(&r.schedule);
    for (size_t i = 0; i < TN_COUNT_OF(mapped); i++)
        mapped[i] = maps_weights;
    tni_schedule_request request = { .graph = r.graph,
                                     .devices = r.list,
                                     .device_count = r.device_count,
                                     .limits = limits,
                                     .arena_bytes = arena_bytes,
                                     .memories = { .mapped = mapped,
                                                   .mapped_count = TN_COUNT_OF(mapped) } };
    tn_status status = tni_schedule_make(&request, &r.arena, &r.schedule, &r.err);
    if (status == TN_OK)
        rig_check(&r);
    return status;
}

static uint32_t nodes_on(uint32_t place)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < r.graph->node_count; n++)
        count += r.schedule.places[n] == place;
    return count;
}

// A chain of four, a weight each but the last, which has that of the third.
static void make_weighted_chain(void)
{
    tn_value w[3] = { rig_weight("a"), rig_weight("b"), rig_weight("c") }, x = rig_input(&r, "x");
    for (int i = 0; i < 4; i++)
        x = tn_graph_mul(r.graph, x, w[i < 3 ? i : 2]);
    rig_finish(&r, x);
    r.fakes[1].cost_ns = 1e6;
}

// A schedule that is to be like another has its units, though others cost less, where they are
// offered.
static void what_is_to_be_like_another_is_where_that_is(void **state)
{
    (void)state;
    make_weighted_chain();
    tni_schedule_request request = { .graph = r.graph,
                                     .devices = r.list,
                                     .device_count = r.device_count };
    const uint64_t limits[RIG_DEVICES] = { WEIGHT_BYTES, UINT64_MAX, UINT64_MAX, UINT64_MAX };
    assert_int_equal(schedule_within(limits, NULL, 0), TN_OK);
    tni_schedule like = r.schedule;
    uint32_t on_first = nodes_on(0);
    for (int is_offered = 0; is_offered < 2; is_offered++) {
        r.schedule = (tni_schedule){ 0 };
        request.like = is_offered ? &like : NULL;
        assert_int_equal(tni_schedule_make(&request, &r.arena, &r.schedule, &r.err), TN_OK);
        assert_int_equal(nodes_on(0), is_offered ? on_first : 4);
        rig_check(&r);
        tni_schedule_finish(&r.schedule);
    }
    assert_int_equal(on_first, 2);
    r.fakes[1].refused_ops[0] = TNP_OP_MUL;
    assert_int_equal(tni_schedule_make(&request, &r.arena, &r.schedule, &r.err), TN_OK);
    assert_int_equal(nodes_on(0), 4);
    tni_schedule_finish(&like);
}

static void weights_go_where_they_fit(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        uint64_t limit, arena_bytes, maps_weights;
        uint32_t on_first;
    } cases[] = {
        { "room for all", 3 * WEIGHT_BYTES, 0, 0, 4 },
        { "room for one: that of two nodes", WEIGHT_BYTES, 0, 0, 2 },
        { "room for two", 2 * WEIGHT_BYTES, 0, 0, 3 },
        { "the arena takes a part", 2 * WEIGHT_BYTES, 1, 0, 2 },
        { "weights stay where they lie", 0, 0, 1, 4 },
        { "no room", 0, 0, 2, 0 },
    };
    make_weighted_chain();
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        uint64_t limits[] = { cases[i].limit, UINT64_MAX }, arenas[] = { cases[i].arena_bytes, 0 };
        if (schedule_within(limits, arenas, cases[i].maps_weights) != TN_OK)
            fail_msg("%s: %s", cases[i].says, r.err.text);
        if (nodes_on(0) != cases[i].on_first)
            fail_msg("%s: %u nodes, not %u", cases[i].says, nodes_on(0), cases[i].on_first);
        assert_true(r.schedule.is_proved_optimal);
        assert_true(r.schedule.bound_ns <= r.schedule.cost_ns * (1 + 1e-9));
    }
}

static void states_of_a_group_count_on_their_place(void **state)
{
    (void)state;
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value a = rig_op(&r, TNP_OP_NEG, s);
    rig_finish(&r, a);
    r.fakes[1].cost_ns = 1e6;
    assert_int_equal(schedule_within((uint64_t[]){ 48, 48 }, NULL, 0), TN_OK);
    assert_int_equal(rig_place(&r, a), 0);
    assert_int_equal(schedule_within((uint64_t[]){ 47, 48 }, NULL, 0), TN_OK);
    assert_int_equal(rig_place(&r, a), 1);
}

static void equal_offers_go_to_the_first_device(void **state)
{
    (void)state;
    tn_value y = rig_op(&r, TNP_OP_NEG, rig_input(&r, "x"));
    rig_finish(&r, y);
    rig_schedule(&r, NULL);
    assert_int_equal(rig_place(&r, y), 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_fusion_is_chosen_when_it_is_cheaper_than_its_parts),
        CASE(a_fusion_is_the_only_way_where_no_part_is_claimed),
        CASE(fusions_that_wait_for_each_other_are_not_chosen_together),
        CASE(every_node_that_touches_a_state_runs_where_it_is),
        CASE(a_state_that_is_only_read_lies_where_all_its_readers_can_run),
        CASE(states_that_a_node_touches_together_lie_together),
        CASE(a_state_that_is_a_length_lies_where_it_is_used),
        CASE(a_storage_that_is_pinned_stays),
        CASE(what_is_written_through_stays_too),
        CASE(what_is_to_be_like_another_is_where_that_is),
        CASE(weights_go_where_they_fit),
        CASE(states_of_a_group_count_on_their_place),
        CASE(equal_offers_go_to_the_first_device),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
