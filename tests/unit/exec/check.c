// The check of a session's plan: plans as they are made pass, and each that is made wrong by hand
// is found out, by what the graph, the schedule and the claims say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "counting_alloc.h"
#include "exec/session.h"
#include "failing_alloc.h"
#include "session_rig.h"

static uint64_t *offset_of(tn_session *session, uint32_t place, const char *name)
{
    const tni_compiled *compiled = session->graphs[0];
    for (uint32_t s = 0; s < compiled->graph->storage_count; s++)
        if (strcmp(compiled->graph->values[compiled->graph->storages[s].owner].name, name) == 0)
            return &compiled->way.offsets[place][s];
    fail_msg("there is no value '%s'", name);
    return NULL;
}

static void need_right(const tn_session *session)
{
    tn_error err = { 0 };
    if (tn_session_check(session, &err) != TN_OK)
        fail_msg("%s", err.text);
}

static void need_wrong(const tn_session *session, const char *says, const char *words)
{
    tn_error err = { 0 };
    if (tn_session_check(session, &err) != TN_E_INTERNAL || !strstr(err.text, words))
        fail_msg("%s: \"%s\" does not say \"%s\"", says, err.text, words);
}

static tn_value op(tn_graph *graph, tnp_op number, const char *name, tn_value a, tn_value b)
{
    const tn_value inputs[] = { a, b };
    return tn_graph_op(graph, number, name, inputs, tn_value_is_none(b) ? 1 : 2, NULL);
}

//   step   0   1   2   3   4
//   x      ├───────────────┤
//   a      ├───┤
//   b          ├───┤           in place of a
//   c              ├───┤       reads b twice, transposed: not in place
//   d                  ├───┤   in place of c; an output
//   e                      ├   a second output; reads d, which stays
static tn_graph *make_chain(void)
{
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 2, 16, 16, 0);
    tn_value a = op(graph, TNP_OP_TANH, "a", x, TN_NO_VALUE);
    tn_value b = op(graph, TNP_OP_NEG, "b", a, TN_NO_VALUE);
    tn_value c = op(graph, TNP_OP_ADD, "c", b, tn_graph_permute(graph, b, 2, (uint32_t[]){ 1, 0 }));
    tn_value d = op(graph, TNP_OP_NEG, "d", c, TN_NO_VALUE);
    tn_graph_output(graph, "d", d);
    rig_finish(graph, op(graph, TNP_OP_ABS, "e", d, TN_NO_VALUE));
    return graph;
}

static void a_value_where_it_may_not_lie_is_found_out(void **state)
{
    (void)state;
    static const struct {
        const char *says, *moved, *onto;   // onto NULL: at `by`
        uint64_t by;
        const char *words;
    } cases[] = {
        { "as it is", "b", "a", 0, NULL },
        { "on what is read otherwise", "c", "b", 0, "live together and share bytes" },
        { "on an input that comes with each run", "c", "x", 0, "live together and share bytes" },
        { "on an output that was made before", "e", "d", 0, "live together and share bytes" },
        { "half on what it may take", "b", "a", (uint64_t)-32, "live together and share bytes" },
        { "nowhere", "c", NULL, TNI_NO_OFFSET, "'c' lives from step 2 to 3 and has no place" },
        { "between two addresses", "d", NULL, 1, "lies at 1, not a multiple of 32" },
        { "above the arena", "a", NULL, 1 << 20, "above the peak" },
    };
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *graph = make_chain();
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                          (const char *[]){ "cpu0", NULL });
        need_right(session);
        uint64_t at = cases[i].onto ? *offset_of(session, 0, cases[i].onto) : 0;
        *offset_of(session, 0, cases[i].moved) = at + cases[i].by;
        if (cases[i].words)
            need_wrong(session, cases[i].says, cases[i].words);
        else
            need_right(session);
        tn_session_destroy(session);
    }
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

static void bytes_are_taken_only_where_the_claim_permits_it(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *graph = make_chain();
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    tni_claim claim = *session->graphs[0]->schedule.units[1];
    assert_true(claim.in_place_count > 0);
    claim.in_place_count = 0;
    session->graphs[0]->schedule.units[1] = &claim;
    need_wrong(session, "b on a", "live together and share bytes");
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

static tn_value read_twice(tn_graph *graph, tn_value y)
{
    return op(graph, TNP_OP_ADD, "z", y, tn_graph_permute(graph, y, 2, (uint32_t[]){ 1, 0 }));
}

static tn_value in_another_order(tn_graph *graph, tn_value y)
{
    return op(graph, TNP_OP_NEG, "z", tn_graph_permute(graph, y, 2, (uint32_t[]){ 1, 0 }),
              TN_NO_VALUE);
}

static tn_value by_an_op_that_reads_later(tn_graph *graph, tn_value y)
{
    return op(graph, TNP_OP_MATMUL, "z", y, y);
}

static tn_value read_once_more(tn_graph *graph, tn_value y)
{
    tn_value z = op(graph, TNP_OP_NEG, "z", y, TN_NO_VALUE);
    return op(graph, TNP_OP_MUL, "product", z, y);
}

// z is laid on y, and its unit's claim made to name both.
static void a_claim_does_not_permit_what_op_or_lives_forbid(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        tn_value (*make)(tn_graph *graph, tn_value y);
    } cases[] = {
        { "read twice, once transposed", read_twice },
        { "transposed", in_another_order },
        { "by matmul", by_an_op_that_reads_later },
        { "read once more", read_once_more },
    };
    tn_runtime *runtime = rig_runtime(false, NULL);
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_graph *graph = rig_graph();
        tn_value y = op(graph, TNP_OP_TANH, "y", rig_input(graph, "x", 2, 16, 16, 0), TN_NO_VALUE);
        rig_finish(graph, cases[i].make(graph, y));
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                          (const char *[]){ "cpu0", NULL });
        need_right(session);
        const tni_node *node = &graph->nodes[1];
        tni_claim claim = *session->graphs[0]->schedule.units[1];
        claim.in_place_count = 1;
        claim.in_place = &(tnp_in_place){ node->output, node->inputs[0] };
        session->graphs[0]->schedule.units[1] = &claim;
        *offset_of(session, 0, "z") = *offset_of(session, 0, "y");
        need_wrong(session, cases[i].says, "live together and share bytes");
        tn_session_destroy(session);
        tn_graph_destroy(graph);
    }
    tn_runtime_destroy(runtime);
}

// y is made on partial0, and read on cpu0 after w was made there: it stays until it is copied.
static void a_value_stays_until_it_is_copied(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(true, (const char *[]){ "plugin.partial.refuse=37",
                                                              "plugin.partial.cost=0.0001",
                                                              "plugin.partial.link_ns=1", NULL });
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 2, 64, 64, 0);
    tn_value y = op(graph, TNP_OP_TANH, "y", x, TN_NO_VALUE);
    tn_value w = op(graph, TNP_OP_EXP, "w", x, TN_NO_VALUE);
    tn_value z = op(graph, TNP_OP_MUL, "z", w, tn_graph_permute(graph, w, 2, (uint32_t[]){ 1, 0 }));
    tn_value s = op(graph, TNP_OP_SIGMOID, "s", y, TN_NO_VALUE);
    rig_finish(graph, op(graph, TNP_OP_ADD, "sum", s, z));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "partial0", "cpu0", NULL });
    const tni_schedule *schedule = &session->graphs[0]->schedule;
    assert_int_equal(schedule->transfer_count, 2);
    assert_int_equal(schedule->units[1]->place, 0);
    need_right(session);
    *offset_of(session, 0, "w") = *offset_of(session, 0, "y");
    need_wrong(session, "w on y", "live together and share bytes");
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// n says how many of x and y count: nothing may lie on it while they are read.
static void a_length_stays_as_long_as_what_it_is_of(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *graph = rig_graph();
    tn_value lengths = tn_graph_input(graph, "lengths", TN_DTYPE_I32, 2, (int64_t[]){ 1, 3 });
    tn_value which = tn_graph_input(graph, "which", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value n = op(graph, TNP_OP_GET_ROWS, "n", lengths, which);
    tn_value x = tn_graph_limit(graph, rig_input(graph, "x", 1, 5, 0, 0), 0, n);
    tn_value y = op(graph, TNP_OP_NEG, "y", x, TN_NO_VALUE);
    rig_finish(graph, tn_graph_op(graph, TNP_OP_SUM, "sum", &y, 1,
                                  &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 }));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    need_right(session);
    uint64_t at = *offset_of(session, 0, "sum");
    *offset_of(session, 0, "sum") = *offset_of(session, 0, "n");
    need_wrong(session, "sum on n", "live together and share bytes");
    *offset_of(session, 0, "sum") = at;
    need_right(session);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

static void scratch_is_its_unit_s_alone(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *graph = make_chain();
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    tni_claim claim = *session->graphs[0]->schedule.units[2];
    claim.scratch_bytes = 64;
    session->graphs[0]->schedule.units[2] = &claim;
    need_wrong(session, "scratch", "the scratch of step 2 has no place");
    session->graphs[0]->way.scratch[0][2] = *offset_of(session, 0, "c") + 32;
    need_wrong(session, "scratch on c", "live together and share bytes");
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

static tn_status check_with(const tn_allocator *allocator, void *context)
{
    tn_session *session = context;
    tni_arena scratch;
    tn_error err = { 0 };
    tni_arena_init(&scratch, allocator);
    tn_status status = tni_check_plan(session, session->graphs[0], 0, &scratch, &err);
    tni_arena_finish(&scratch);
    return status;
}

// Bytes that the check of a chain takes where so many devices are left idle.
static int64_t bytes_of_check(int idle)
{
    enum { NODES = 500 };
    counting_alloc counts;
    counting_alloc_init(&counts);
    char devices[1000] = "[";
    for (int i = 0; i < idle; i++)
        snprintf(devices + strlen(devices), sizeof devices - strlen(devices),
                 "%s{\"latency_us\":1e6}", i ? "," : "");
    strcat(devices, "]");
    tn_runtime *runtime = rig_simulated(devices, NULL);
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 1, 4, 0, 0);
    for (int i = 0; i < NODES; i++)
        x = rig_op(graph, TNP_OP_NEG, x);
    rig_finish(graph, x);
    tn_session_options options = { .size = sizeof options, .allocator = &counts.allocator };
    tn_session *session = NULL;
    assert_int_equal(
        tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options, &session, NULL),
        TN_OK);
    counts.most = counts.bytes;
    int64_t before = counts.bytes;
    need_right(session);
    int64_t taken = counts.most - before;
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    return taken;
}

static void devices_without_work_take_no_memory(void **state)
{
    (void)state;
    assert_in_range(bytes_of_check(20), 1, 2 * bytes_of_check(1));
}

static void memory_that_is_not_there_is_a_status(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *graph = make_chain();
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    for_each_failing_allocation(check_with, session);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_where_it_may_not_lie_is_found_out),
        cmocka_unit_test(bytes_are_taken_only_where_the_claim_permits_it),
        cmocka_unit_test(a_claim_does_not_permit_what_op_or_lives_forbid),
        cmocka_unit_test(a_value_stays_until_it_is_copied),
        cmocka_unit_test(a_length_stays_as_long_as_what_it_is_of),
        cmocka_unit_test(scratch_is_its_unit_s_alone),
        cmocka_unit_test(devices_without_work_take_no_memory),
        cmocka_unit_test(memory_that_is_not_there_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
