// The works of a run: which there are, what waits for what, and what happens when a call on their
// way fails.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "exec/session.h"
#include "session_rig.h"

enum { FLOATS = 96 };

static float numbers[FLOATS];

static int fill(void **state)
{
    (void)state;
    rig_fill(numbers, FLOATS, 3);
    return 0;
}

// Kind, places, and in brackets what it waits for: "0 P a, 1 O ab (0), 2 I ab (1), 3 P b (2)".
static const char *works_of(const tn_session *session)
{
    static char text[1024];
    const tni_works *works = &session->graphs[0]->way.works;
    size_t used = 0;
    text[0] = 0;
    for (uint32_t w = 0; w < works->count; w++) {
        const tni_work *work = &works->list[w];
        const char *const names[] = { session->lanes[work->queue / TNI_QUEUES].device->name,
                                      session->lanes[work->from].device->name,
                                      session->lanes[work->to].device->name };
        bool is_program = work->kind == TNI_WORK_PROGRAM;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u %c %.1s%.1s", w ? ", " : "",
                                 w, "POI"[work->kind], names[is_program ? 0 : 1],
                                 is_program ? "" : names[2]);
        for (uint32_t i = 0; i < work->wait_count; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, " (%u)",
                                     works->waits[work->first_wait + i].waits_for);
    }
    return text;
}

static tn_value input(tn_graph *graph)
{
    return rig_input(graph, "x", 1, FLOATS, 0, 0);
}

// On a: tanh, neg. On b: sigmoid, add. On the CPU: abs.
static tn_graph *make_chain(void)
{
    tn_graph *graph = rig_graph();
    rig_finish(graph, rig_op(graph, TNP_OP_SIGMOID, rig_op(graph, TNP_OP_TANH, input(graph))));
    return graph;
}

static tn_graph *make_return(void)
{
    tn_graph *graph = rig_graph();
    tn_value y = rig_op(graph, TNP_OP_SIGMOID, rig_op(graph, TNP_OP_TANH, input(graph)));
    rig_finish(graph, rig_op(graph, TNP_OP_TANH, y));
    return graph;
}

static tn_graph *make_two_values(void)
{
    tn_graph *graph = rig_graph();
    tn_value y = rig_op(graph, TNP_OP_TANH, input(graph));
    rig_finish(graph, tn_graph_add(graph, y, rig_op(graph, TNP_OP_NEG, y)));
    return graph;
}

static tn_graph *make_by_the_cpu(void)
{
    tn_graph *graph = rig_graph();
    tn_value y = rig_op(graph, TNP_OP_ABS, rig_op(graph, TNP_OP_TANH, input(graph)));
    rig_finish(graph, rig_op(graph, TNP_OP_SIGMOID, y));
    return graph;
}

// What b makes of what a made is needed by a after more of its own.
static tn_graph *make_detour(void)
{
    tn_graph *graph = rig_graph();
    tn_value y = rig_op(graph, TNP_OP_TANH, input(graph));
    tn_value z = rig_op(graph, TNP_OP_SIGMOID, y);
    rig_finish(graph,
               tn_graph_add(graph, rig_op(graph, TNP_OP_TANH, z), rig_op(graph, TNP_OP_NEG, y)));
    return graph;
}

// Links that are worth it.
static tn_runtime *make_runtime(const char *of_a, const char *of_b)
{
    static const char near[] = "\"latency_us\":0.001,\"link_gbps\":1000";
    char text[1024];
    snprintf(text, sizeof text,
             "[{\"name\":\"a\",\"only\":[\"tanh\",\"neg\"],%s%s},"
             "{\"name\":\"b\",\"only\":[\"sigmoid\",\"add\"],%s%s}]",
             near, of_a, near, of_b);
    return rig_simulated(text, NULL);
}

static const char *const all_names[] = { "a", "b", "cpu0", NULL };

static tn_session *make_session(tn_runtime *runtime, const tn_graph *graph)
{
    return rig_session(runtime, &graph, 1, all_names);
}

static void works_wait_only_for_what_no_queue_orders(void **state)
{
    (void)state;
    static const struct {
        tn_graph *(*make)(void);
        const char *more, *works;
    } cases[] = {
        { make_chain, "", "0 P a, 1 O ab (0), 2 I ab (1), 3 P b (2)" },
        { make_chain, ",\"peer\":true", "0 P a, 1 O ab (0), 2 P b (1)" },
        { make_return, "",
          "0 P a, 1 O ab (0), 2 I ab (1), 3 P b (2), 4 O ba (3), 5 I ba (4), 6 P a (5)" },
        { make_return, ",\"peer\":true", "0 P a, 1 O ab (0), 2 P b (1), 3 O ba (2), 4 P a (3)" },
        { make_two_values, "", "0 P a, 1 O ab (0), 2 I ab (1), 3 P b (2)" },   // in one call
        { make_by_the_cpu, "", "0 P a, 1 O ac (0), 2 P c (1), 3 I cb (2), 4 P b (3)" },
        { make_detour, "",   // 2 comes after 1, which waited; 10 after 9, which waits for both
          "0 P a, 1 O ab (0), 2 O ab, 3 I ab (1), 4 P b (3), 5 O ba (4), 6 I ba (5), 7 P a (6), "
          "8 O ab (7), 9 I ab (2), 10 I ab (8), 11 P b (10)" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_runtime *runtime = make_runtime(cases[i].more, cases[i].more);
        tn_graph *graph = cases[i].make();
        tn_session *session = make_session(runtime, graph);
        if (strcmp(works_of(session), cases[i].works) != 0)
            fail_msg("case %zu: %s", i, works_of(session));
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        tn_runtime_destroy(runtime);
    }
}

// ----------------------------------------------------------------------------------------- running

static void run(tn_session *session, const tn_graph *graph, float *out)
{
    rig_run(session, 0, graph, "x", numbers, sizeof numbers, NULL);
    rig_read(session, 0, graph, "out", out, FLOATS * sizeof *out);
}

static void run_on_the_cpu(tn_runtime *runtime, const tn_graph *graph, float *out)
{
    tn_session *session = rig_session(runtime, &graph, 1, (const char *[]){ "cpu0", NULL });
    run(session, graph, out);
    tn_session_destroy(session);
}

static tn_graph *(*const makers[])(void) = { make_chain, make_return, make_two_values,
                                             make_by_the_cpu, make_detour };

// Then the calling thread waits where notices would come.
static void a_plugin_without_notices_does(void **state)
{
    (void)state;
    static const char *const orders[] = { "submitted", "late", "reverse" };
    for (size_t i = 0; i < TN_COUNT_OF(makers) * TN_COUNT_OF(orders); i++) {
        char more[64];
        float want[FLOATS], got[FLOATS];
        snprintf(more, sizeof more, ",\"order\":\"%s\"", orders[i % TN_COUNT_OF(orders)]);
        tn_runtime *runtime = make_runtime(more, more);
        tn_graph *graph = makers[i / TN_COUNT_OF(orders)]();
        tn_error err;   // opened, so that they have a table
        assert_int_equal(tni_device_open(rig_device(runtime, "a"), &err), TN_OK);
        assert_int_equal(tni_device_open(rig_device(runtime, "b"), &err), TN_OK);
        tnp_plugin table = *rig_device(runtime, "a")->table;
        table.semaphore_notify = NULL;
        rig_device(runtime, "a")->table = rig_device(runtime, "b")->table = &table;
        tn_session *session = make_session(runtime, graph);
        run_on_the_cpu(runtime, graph, want);
        run(session, graph, got);
        run(session, graph, got);
        assert_memory_equal(want, got, sizeof want);
        assert_int_equal(atomic_load(&session->blamed), TNP_NONE);
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
}

// More works than a queue holds: then the calling thread first does what is its own to do.
static void full_queues_are_waited_for(void **state)
{
    (void)state;
    static const char *const manners[] = { "", ",\"peer\":true", ",\"order\":\"late\"" };
    for (size_t i = 0; i < TN_COUNT_OF(manners) * 2; i++) {
        float want[FLOATS], got[FLOATS];
        tn_runtime *runtime = make_runtime(manners[i / 2], manners[i / 2]);
        tn_graph *graph = rig_graph();
        tn_value y = input(graph);
        for (int round = 0; round < 300; round++) {
            y = rig_op(graph, TNP_OP_SIGMOID, rig_op(graph, TNP_OP_TANH, y));
            y = i % 2 ? rig_op(graph, TNP_OP_ABS, y) : y;   // by the CPU
        }
        rig_finish(graph, y);
        tn_session *session = make_session(runtime, graph);
        assert_in_range(session->lanes[0].queues[TNI_COMPUTE].options.pending, 1, 299);
        run_on_the_cpu(runtime, graph, want);
        run(session, graph, got);
        run(session, graph, got);
        assert_memory_equal(want, got, sizeof want);
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
}

// ---------------------------------------------------------------------------------------- failures

// The k-th call of a kind on one device fails within the first two runs. Answers whether it did.
static bool fail_at(tn_graph *graph, const char *device, const char *call, int at, bool is_lost,
                    const char *more)
{
    char with_fault[256];
    float want[FLOATS], got[FLOATS];
    snprintf(with_fault, sizeof with_fault, "%s,\"fail\":{\"call\":\"%s\",\"at\":%d%s}", more, call,
             at, is_lost ? ",\"lost\":true" : "");
    tn_runtime *runtime = make_runtime(*device == 'a' ? with_fault : more,
                                       *device == 'b' ? with_fault : more);
    tn_session *session = make_session(runtime, graph);
    session->flags |= TN_SESSION_NO_FAILOVER;
    run_on_the_cpu(runtime, graph, want);
    tn_feed feed = { tn_graph_find(graph, "x"), numbers, sizeof numbers };
    for (int i = 0; i < 2; i++) {
        tn_error err = { 0 };
        if (tn_session_run(session, 0, &feed, 1, &err) == TN_OK) {
            assert_int_equal(atomic_load(&session->blamed), TNP_NONE);
            continue;
        }
        assert_true(atomic_load(&session->blamed) < session->lane_count);
        const char *name = session->lanes[atomic_load(&session->blamed)].device->name;
        if (strcmp(name, device) != 0 || !strstr(err.text, device))
            fail_msg("%s %d of %s%s: %s failed, \"%s\"", call, at, device, more, name, err.text);
    }
    bool has_fired = strstr(rig_told(), "fails now") != NULL;
    if (has_fired && !is_lost) {
        run(session, graph, got);
        assert_memory_equal(want, got, sizeof want);
    }
    tn_session_destroy(session);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
    return has_fired;
}

static void any_call_may_fail_and_its_device_is_told(void **state)
{
    (void)state;
    static const char *const calls[] = { "queue_submit",   "queue_copy",       "work",
                                         "semaphore_wait", "semaphore_signal", "semaphore_notify" };
    static const char *const manners[] = { "", ",\"peer\":true,\"order\":\"late\"" };
    int fired = 0;
    for (size_t i = 0; i < TN_COUNT_OF(makers); i++) {
        tn_graph *graph = makers[i]();
        for (size_t c = 0; c < TN_COUNT_OF(calls) * 4; c++)
            for (size_t m = 0; m < TN_COUNT_OF(manners); m++)
                for (int at = 1;
                     fail_at(graph, c & 1 ? "b" : "a", calls[c / 4], at, c & 2, manners[m]); at++)
                    fired++;
        tn_graph_destroy(graph);
    }
    assert_true(fired > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(works_wait_only_for_what_no_queue_orders),
        cmocka_unit_test(a_plugin_without_notices_does),
        cmocka_unit_test(full_queues_are_waited_for),
        cmocka_unit_test(any_call_may_fail_and_its_device_is_told),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
