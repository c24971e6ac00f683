// Where bytes that stay on one place may be, by what the devices say to one graph.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sched_test.h"

static rig r;

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

// places: by storage, as they are before; what is left of them after.
static void narrow(uint64_t allowed, uint64_t *places)
{
    uint64_t wishes[16];
    memset(wishes, 0xff, sizeof wishes);
    tni_answers answers;
    assert_int_equal(tni_ask(r.graph, r.list, r.device_count, false, &r.arena, &answers, &r.err),
                     TN_OK);
    tni_schedule_request request = { .graph = r.graph,
                                     .devices = r.list,
                                     .device_count = r.device_count,
                                     .places = allowed,
                                     .answers = &answers };
    tni_answers failed = { 0 };
    assert_int_equal(tni_schedule_narrow(&request, &r.arena, places, wishes, &failed, &r.err),
                     TN_OK);
    assert_true(failed.failed_places == 0);
    tni_answers_finish(&answers);
}

static void a_state_may_be_where_every_node_that_touches_it_is_taken(void **state)
{
    (void)state;
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value x = rig_input(&r, "x"), elsewhere = rig_op(&r, TNP_OP_ABS, x);
    tn_graph_output(r.graph, "elsewhere", elsewhere);
    tn_graph_output(r.graph, "exp", rig_op(&r, TNP_OP_EXP, s));
    rig_finish(&r, rig_op(&r, TNP_OP_NEG, s));
    r.fakes[0].refused_ops[0] = TNP_OP_EXP;   // of the state
    r.fakes[1].refused_ops[0] = TNP_OP_ABS;   // of something else
    uint64_t places[16];
    const struct {
        uint64_t allowed, before, after;
    } cases[] = {
        { 0, UINT64_MAX, 6 }, { 0, 3, 2 }, { 0, 1, 0 }, { 5, UINT64_MAX, 4 }, { 2, 6, 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(places, 0xff, sizeof places);
        places[rig_storage(&r, s)] = cases[i].before;
        narrow(cases[i].allowed, places);
        if (places[rig_storage(&r, s)] != cases[i].after)
            fail_msg("case %zu: places %#llx", i, (unsigned long long)places[rig_storage(&r, s)]);
        assert_true(places[rig_storage(&r, x)] == UINT64_MAX);   // nothing that stays
        assert_true(places[rig_storage(&r, elsewhere)] == UINT64_MAX);
    }
}

static void states_that_a_node_touches_together_are_narrowed_together(void **state)
{
    (void)state;
    tn_value a = tn_graph_state(r.graph, "a", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value b = tn_graph_state(r.graph, "b", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_graph_output(r.graph, "exp", rig_op(&r, TNP_OP_EXP, a));
    rig_finish(&r, tn_graph_add(r.graph, a, b));
    r.fakes[1].refused_ops[0] = TNP_OP_EXP;
    uint64_t places[16];
    memset(places, 0xff, sizeof places);
    places[rig_storage(&r, b)] = 3;
    narrow(0, places);
    assert_true(places[rig_storage(&r, a)] == 1);
    assert_true(places[rig_storage(&r, b)] == 1);
}

// silu: of what stands for it, an exp and the division touch s.
static void a_node_is_taken_whole_or_as_what_it_is_decomposed_into(void **state)
{
    (void)state;
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    rig_finish(&r, rig_op(&r, TNP_OP_SILU, s));
    r.devices[0].info.kind = TNP_KIND_GPU;
    r.devices[1].info.kind = r.devices[2].info.kind = TNP_KIND_CPU;
    r.fakes[0].refused_ops[0] = TNP_OP_SILU;
    static const struct {
        const char *says;
        tnp_op also_refused;
        uint64_t allowed, before, after;
    } cases[] = {
        { "as two nodes by the first, whole by the others", TNP_OP_SILU, 0, UINT64_MAX, 7 },
        { "the first does not take one of the two", TNP_OP_DIV, 0, UINT64_MAX, 6 },
        { "the bytes may be on the first alone, which takes the two", TNP_OP_SILU, 0, 1, 1 },
        { "and does not", TNP_OP_DIV, 0, 1, 0 },
        { "only the first may be used", TNP_OP_SILU, 1, UINT64_MAX, UINT64_MAX },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t places[16];
        r.fakes[0].refused_ops[1] = cases[i].also_refused;
        memset(places, 0xff, sizeof places);
        places[rig_storage(&r, s)] = cases[i].before;
        narrow(cases[i].allowed, places);
        if (places[rig_storage(&r, s)] != cases[i].after)
            fail_msg("%s: places %#llx instead of %#llx", cases[i].says,
                     (unsigned long long)places[rig_storage(&r, s)],
                     (unsigned long long)cases[i].after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_state_may_be_where_every_node_that_touches_it_is_taken,
                                        begin, end),
        cmocka_unit_test_setup_teardown(states_that_a_node_touches_together_are_narrowed_together,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_node_is_taken_whole_or_as_what_it_is_decomposed_into,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
