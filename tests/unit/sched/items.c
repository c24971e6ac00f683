// What claims keep, each once for the solver.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

static void what_several_claims_keep_is_one_item_of_a_place(void **state)
{
    (void)state;
    rig_products p = rig_make_products(&r);
    const uint32_t nodes[] = { rig_node(&r, p.y[0]), rig_node(&r, p.y[1]), rig_node(&r, p.y[2]) };
    tni_claim claims[] = {
        { .place = 0, .node_count = 1, .nodes = &nodes[0] },
        { .place = 0, .node_count = 2, .nodes = &nodes[0] },   // w twice: once for it
        { .place = 1, .node_count = 1, .nodes = &nodes[1] },
        { .place = 0, .node_count = 1, .nodes = &nodes[2] },
    };
    const tni_answers answers = { .claim_count = 4, .claims = claims };
    tni_resident_bytes there = { .place = 0, .data = p.weights[1], .bytes = 64 };
    const tni_memories memories = { .there = &there, .there_count = 1 };
    const tni_items_request request = { r.graph, &answers, &memories };
    tni_problem_claim out[4] = { 0 };
    tni_problem problem = { 0 };
    assert_true(tni_list_items(&request, &r.arena, out, &problem));
    assert_int_equal(problem.item_count, 3);   // w on each place, v on the first
    for (int c = 0; c < 4; c++)
        assert_int_equal(out[c].item_count, 1);
    uint32_t item[4];
    for (int c = 0; c < 4; c++)
        item[c] = problem.claim_items[out[c].first_item];
    assert_int_equal(item[0], item[1]);
    assert_int_not_equal(item[0], item[2]);
    assert_int_not_equal(item[0], item[3]);
    assert_int_equal(problem.item_bytes[item[0]], 64);
    assert_int_equal(problem.item_bytes[item[3]], 0);   // it is there already
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_several_claims_keep_is_one_item_of_a_place, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
