// Which bytes are tied to one place, and which of them to each other.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sched_test.h"

static rig r;
static tni_ties ties;

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

static tn_value state_of(const char *name)
{
    return tn_graph_state(r.graph, name, TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
}

static uint32_t least_of(tn_value value)
{
    return ties.tied_to[rig_storage(&r, value)];
}

// a with b, and b with c, each by a node of its own; d alone; x is free.
static void states_are_tied_to_what_is_touched_beside_them(void **state)
{
    (void)state;
    tn_value a = state_of("a"), b = state_of("b"), c = state_of("c"), d = state_of("d");
    tn_value x = rig_input(&r, "x");
    tn_graph_output(r.graph, "cb", tn_graph_add(r.graph, c, b));
    tn_graph_output(r.graph, "ba", tn_graph_add(r.graph, b, a));
    tn_value dx = tn_graph_add(r.graph, d, x);
    rig_finish(&r, dx);
    assert_true(tni_ties_find(r.graph, &r.arena, &ties));
    uint32_t least = least_of(a);
    assert_true(least <= rig_storage(&r, b) && least <= rig_storage(&r, c));
    assert_int_equal(least_of(b), least);
    assert_int_equal(least_of(c), least);
    assert_int_equal(least_of(d), rig_storage(&r, d));
    assert_int_equal(least_of(x), rig_storage(&r, x));
    assert_true(ties.is_tied[rig_storage(&r, a)] && ties.is_tied[rig_storage(&r, d)]);
    assert_false(ties.is_tied[rig_storage(&r, x)]);
    assert_int_equal(tni_ties_touched(r.graph, ties.is_tied, rig_node(&r, dx)), rig_storage(&r, d));
}

static void what_is_written_through_is_tied(void **state)
{
    (void)state;
    tn_value index = tn_graph_input(r.graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_value x = rig_input(&r, "x"), table = rig_op(&r, TNP_OP_NEG, x);
    tn_value written = tn_graph_set_rows(r.graph, table, x, index);
    tn_value y = rig_op(&r, TNP_OP_EXP, written), z = rig_op(&r, TNP_OP_NEG, y);
    rig_finish(&r, z);
    assert_true(tni_ties_find(r.graph, &r.arena, &ties));
    assert_true(ties.is_tied[rig_storage(&r, table)]);
    assert_false(ties.is_tied[rig_storage(&r, y)]);
    assert_int_equal(tni_ties_touched(r.graph, ties.is_tied, rig_node(&r, y)),
                     rig_storage(&r, table));
    assert_int_equal(tni_ties_touched(r.graph, ties.is_tied, rig_node(&r, z)), TNP_NONE);
}

// What one of them is narrowed to holds for the others, and for the nodes that touch them.
static void what_is_tied_is_narrowed_together(void **state)
{
    (void)state;
    tn_value a = state_of("a"), b = state_of("b"), x = rig_input(&r, "x");
    tn_value both = tn_graph_add(r.graph, a, b), of_b = rig_op(&r, TNP_OP_NEG, b);
    tn_value free = rig_op(&r, TNP_OP_NEG, x);
    tn_graph_output(r.graph, "both", both);
    tn_graph_output(r.graph, "of b", of_b);
    rig_finish(&r, free);
    assert_true(tni_ties_find(r.graph, &r.arena, &ties));
    uint64_t places[16], holds[16];
    for (uint32_t s = 0; s < 16; s++)
        places[s] = UINT64_MAX;
    places[rig_storage(&r, b)] = 7;
    tni_ties_begin(r.graph, &ties, places, r.graph->storage_count, holds);
    assert_int_equal(holds[least_of(a)], 7);
    tni_ties_narrow(r.graph, &ties, rig_node(&r, of_b), 13, holds);
    assert_int_equal(tni_ties_places(r.graph, &ties, rig_node(&r, both), holds), 5);
    tni_ties_narrow(r.graph, &ties, rig_node(&r, free), 1, holds);   // touches nothing that is tied
    assert_true(tni_ties_places(r.graph, &ties, rig_node(&r, free), holds) == UINT64_MAX);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(states_are_tied_to_what_is_touched_beside_them),
        CASE(what_is_written_through_is_tied),
        CASE(what_is_tied_is_narrowed_together),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
