// Which steps of a lane happen before which: on one device a line; over several as queues and waits
// say, and no more.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "exec/session.h"
#include "session_rig.h"

enum { FLOATS = 64 };

typedef struct found {
    tn_runtime *runtime;
    tn_graph *graph;
    tn_session *session;
    tni_arena arena;
    tni_lane_order order;
} found;

static tn_value input(tn_graph *graph)
{
    return rig_input(graph, "x", 1, FLOATS, 0, 0);
}

static void find(found *f, const char *devices, const char *const *names, uint32_t place)
{
    tn_error err = { 0 };
    f->runtime = rig_simulated(devices, NULL);
    f->session = rig_session(f->runtime, (const tn_graph *[]){ f->graph }, 1, names);
    tni_arena_init(&f->arena, &f->session->arena.allocator);
    const tni_compiled *compiled = f->session->graphs[0];
    const uint32_t *done;
    if (tni_order_of_works(f->session, compiled, &f->arena, &done, &err) != TN_OK ||
        tni_order_find(f->session, compiled, done, place, &f->arena, &f->order, &err) != TN_OK)
        fail_msg("%s", err.text);
}

static void drop(found *f)
{
    tni_arena_finish(&f->arena);
    tn_session_destroy(f->session);
    tn_graph_destroy(f->graph);
    tn_runtime_destroy(f->runtime);
}

// Whether step a has ended when step b begins.
static bool is_before(const found *f, uint32_t a, uint32_t b)
{
    const tni_plan_order *o = &f->order.order;
    return a < o->done[(size_t)b * o->track_count + o->track[a]];
}

static void on_one_device_the_units_are_a_line(void **state)
{
    (void)state;
    found f = { .graph = rig_graph() };
    tn_value y = rig_op(f.graph, TNP_OP_TANH, input(f.graph));
    rig_finish(f.graph, rig_op(f.graph, TNP_OP_NEG, rig_op(f.graph, TNP_OP_ABS, y)));
    find(&f, "[{\"name\":\"a\"}]", (const char *[]){ "a", NULL }, 0);
    assert_true(f.order.is_line);
    assert_int_equal(f.order.order.step_count, 3);
    assert_int_equal(f.order.order.track_count, 1);
    for (uint32_t u = 0; u < 3; u++) {
        assert_int_equal(f.order.of_unit[u], u);
        assert_int_equal(f.order.unit_of[u], u);
    }
    assert_int_equal(f.order.of_work[0], 0);   // of the program: its first unit
    drop(&f);
}

// a: tanh, then abs, which needs nothing of b and takes so long that it is a program of its own.
// What tanh made is copied out meanwhile.
static found fork_on(uint32_t place)
{
    static const char devices[] =
        "[{\"name\":\"a\",\"only\":[\"tanh\",\"abs\"],\"gflops\":0.001,"
        "\"latency_us\":0.001,\"link_gbps\":1000},"
        "{\"name\":\"b\",\"only\":[\"sigmoid\"],\"latency_us\":0.001,\"link_gbps\":1000}]";
    found f = { .graph = rig_graph() };
    tn_value y = rig_op(f.graph, TNP_OP_TANH, input(f.graph));
    tn_graph_output(f.graph, "far", rig_op(f.graph, TNP_OP_SIGMOID, y));
    rig_finish(f.graph, rig_op(f.graph, TNP_OP_ABS, y));
    find(&f, devices, (const char *[]){ "a", "b", NULL }, place);
    return f;
}

static void a_copy_out_comes_after_its_maker_and_beside_the_rest(void **state)
{
    (void)state;
    found f = fork_on(0);
    const tni_works *works = &f.session->graphs[0]->way.works;
    const tni_segment *segments = f.session->graphs[0]->schedule.segments;
    uint32_t out = 0, tanh = f.order.of_unit[0], last = TNP_NONE;
    while (works->list[out].kind != TNI_WORK_OUT)
        out++;
    uint32_t copy = f.order.of_work[out];
    assert_int_not_equal(copy, TNP_NONE);
    assert_true(is_before(&f, tanh, copy));
    assert_false(is_before(&f, copy, tanh));
    for (uint32_t u = 0; u < f.session->graphs[0]->schedule.unit_count; u++)
        last = f.order.of_unit[u] != TNP_NONE ? f.order.of_unit[u] : last;
    assert_int_not_equal(last, tanh);
    assert_false(is_before(&f, copy, last));
    assert_false(f.order.is_line);
    // People see it with the end of what made its bytes.
    const tni_segment *maker = &segments[works->list[out].segment];
    assert_int_equal(f.order.unit_of[copy], maker->first_unit + maker->unit_count - 1);
    drop(&f);
}

static void a_lane_sees_what_touches_its_arena_alone(void **state)
{
    (void)state;
    found f = fork_on(1);
    const tni_works *works = &f.session->graphs[0]->way.works;
    uint32_t seen = 0;
    for (uint32_t w = 0; w < works->count; w++) {
        bool is_here = works->list[w].queue / TNI_QUEUES == 1;
        assert_int_equal(f.order.of_work[w] != TNP_NONE, is_here);
        seen += is_here;
    }
    assert_int_equal(seen, 2);   // the copy in, the program
    assert_int_equal(f.order.order.step_count, 2);
    assert_true(f.order.is_line);   // the program waits for the copy
    assert_true(is_before(&f, 0, 1));
    drop(&f);
}

static void staged_bytes_have_an_order_of_their_own(void **state)
{
    (void)state;
    found f = fork_on(TNI_STAGING);
    assert_int_equal(f.order.order.step_count, 2);   // out, in
    assert_int_equal(f.order.order.track_count, 2);
    assert_true(is_before(&f, 0, 1));
    assert_false(is_before(&f, 1, 0));
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_one_device_the_units_are_a_line),
        cmocka_unit_test(a_copy_out_comes_after_its_maker_and_beside_the_rest),
        cmocka_unit_test(a_lane_sees_what_touches_its_arena_alone),
        cmocka_unit_test(staged_bytes_have_an_order_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
