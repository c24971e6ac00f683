// Which places have a claim on each node, and where that is too large for any buffer.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "sched_test.h"

static rig r;

static int begin(void **state)
{
    (void)state;
    rig_begin(&r, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rig_end(&r);
    return 0;
}

// Of two nodes: 0 is taken alone on places 0 and 1, 1 only together with 0, on places 1 and 2.
static void fusions_count_where_nobody_takes_the_node_alone(void **state)
{
    (void)state;
    rig_finish(&r, rig_op(&r, TNP_OP_EXP, rig_op(&r, TNP_OP_NEG, rig_input(&r, "x"))));
    static const uint32_t nodes[] = { 0, 1 };
    tni_claim claims[] = {
        { .place = 0, .node_count = 1, .nodes = nodes, .scratch_bytes = 100 },
        { .place = 1, .node_count = 1, .nodes = nodes },
        { .place = 1, .node_count = 2, .nodes = nodes, .scratch_bytes = 100 },
        { .place = 2, .node_count = 2, .nodes = nodes, .scratch_bytes = 99 },
    };
    const tni_answers answers = { .claim_count = TN_COUNT_OF(claims), .claims = claims };
    const uint64_t largest[] = { 99, 99, 99 };
    tni_takers takers;
    tni_schedule_request request = { .memories = { .largest = largest } };
    assert_true(tni_find_takers(r.graph, &answers, &request, &r.arena, &takers));
    assert_int_equal(takers.any[0], 7);
    assert_int_equal(takers.alone[0], 3);
    assert_int_equal(tni_takers_of(&takers, 0), 3);
    assert_int_equal(takers.any[1], 6);
    assert_int_equal(takers.alone[1], 0);
    assert_int_equal(tni_takers_of(&takers, 1), 6);
    assert_int_equal(takers.cramped[0], 1);   // the fusion on place 1 does not count
    assert_int_equal(takers.cramped[1], 2);
    request.places = 5;
    assert_true(tni_find_takers(r.graph, &answers, &request, &r.arena, &takers));
    assert_int_equal(takers.any[0], 5);
    assert_int_equal(takers.any[1], 4);
}

static void a_pack_needs_a_buffer_unless_it_is_part_of_the_program(void **state)
{
    (void)state;
    const uint64_t largest[] = { 99 };
    const tni_memories memories = { .largest = largest }, endless = { 0 };
    for (uint64_t bytes = 99; bytes <= 100; bytes++)
        for (uint32_t flags = 0; flags <= TNP_PACK_BAKED; flags += TNP_PACK_BAKED) {
            const tni_pack pack = { .flags = flags, .bytes = bytes };
            const tni_claim claim = { .pack_count = 1, .packs = &pack };
            assert_int_equal(tni_claim_is_cramped(&memories, &claim), bytes == 100 && !flags);
            assert_false(tni_claim_is_cramped(&endless, &claim));
        }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(fusions_count_where_nobody_takes_the_node_alone),
        CASE(a_pack_needs_a_buffer_unless_it_is_part_of_the_program),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
