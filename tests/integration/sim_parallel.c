// What runs at the same time on simulated devices: by their virtual clock, against what no run can
// beat; and that bytes are used again only when nobody needs them any more, in whatever order the
// devices work.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "session_rig.h"
#include "trace.h"

enum { FLOATS = 4096, MOST_PIECES = 256, MOST_OUTPUTS = 8 };

static float numbers[FLOATS];

static int fill(void **state)
{
    (void)state;
    rig_fill(numbers, FLOATS, 7);
    return 0;
}

// ------------------------------------------------------------------------------------------ graphs

static tn_value many(tn_graph *graph, tnp_op op, tn_value x, int count)
{
    for (int i = 0; i < count; i++)
        x = rig_op(graph, op, x);
    return x;
}

static void output(tn_graph *graph, int number, tn_value value)
{
    char name[16];
    snprintf(name, sizeof name, "out.%d", number);
    tn_graph_output(graph, name, value);
}

static tn_graph *finish(tn_graph *graph)
{
    tn_error err = { 0 };
    if (tn_graph_finish(graph, &err) != TN_OK)
        fail_msg("%s", err.text);
    return graph;
}

static tn_value input(tn_graph *graph)
{
    return rig_input(graph, "x", 1, FLOATS, 0, 0);
}

// Two branches that nobody joins.
static tn_graph *make_apart(void)
{
    tn_graph *graph = rig_graph();
    tn_value x = input(graph);
    output(graph, 0, many(graph, TNP_OP_TANH, x, 8));
    output(graph, 1, many(graph, TNP_OP_SIGMOID, x, 8));
    return finish(graph);
}

// Two branches; what comes of the first is needed at the end of the second.
static tn_graph *make_joined(void)
{
    tn_graph *graph = rig_graph();
    tn_value x = input(graph);
    tn_value a = many(graph, TNP_OP_TANH, x, 8), b = many(graph, TNP_OP_SIGMOID, x, 8);
    output(graph, 0, many(graph, TNP_OP_SIGMOID, tn_graph_add(graph, a, b), 2));
    return finish(graph);
}

// What the second device makes of the first branch comes before its own branch, as people write.
static tn_graph *make_held_up(void)
{
    tn_graph *graph = rig_graph();
    tn_value x = input(graph);
    output(graph, 0, many(graph, TNP_OP_SIGMOID, many(graph, TNP_OP_TANH, x, 8), 2));
    output(graph, 1, many(graph, TNP_OP_SIGMOID, x, 8));
    return finish(graph);
}

// What the second device waits for comes after what nobody does.
static tn_graph *make_urgent(void)
{
    tn_graph *graph = rig_graph();
    tn_value x = input(graph);
    output(graph, 0, many(graph, TNP_OP_TANH, x, 8));
    output(
        graph, 1,
        many(graph, TNP_OP_SIGMOID, many(graph, TNP_OP_TANH, tn_graph_scale(graph, x, 2), 1), 10));
    return finish(graph);
}

// Two devices wait for one; of the second much hangs on what it gets.
static tn_graph *make_long_chain(void)
{
    tn_graph *graph = rig_graph();
    tn_value x = input(graph);
    tn_value p = many(graph, TNP_OP_TANH, x, 3);
    tn_value q = many(graph, TNP_OP_TANH, tn_graph_scale(graph, x, 2), 2);
    output(graph, 0, rig_op(graph, TNP_OP_SIGMOID, p));
    output(graph, 1, many(graph, TNP_OP_SIN, q, 10));
    return finish(graph);
}

// Chunks, each first on one device and then on the other.
static tn_graph *make_pipeline(void)
{
    tn_graph *graph = rig_graph();
    tn_value x = input(graph);
    for (int chunk = 0; chunk < 6; chunk++) {
        tn_value y = tn_graph_scale(graph, x, 1 + (float)chunk / 8);
        y = many(graph, TNP_OP_TANH, y, 3);
        output(graph, chunk, many(graph, TNP_OP_SIGMOID, y, 4));
    }
    return finish(graph);
}

// Chunks again, of which one sum is kept. The first may be more work for the second device.
static tn_graph *make_summed(int first, int others)
{
    tn_graph *graph = rig_graph();
    tn_value x = input(graph), sum = x;
    for (int chunk = 0; chunk < 8; chunk++) {
        tn_value y = many(graph, TNP_OP_TANH, tn_graph_scale(graph, x, 1 + (float)chunk / 8), 1);
        sum = tn_graph_add(graph, sum, many(graph, TNP_OP_SIGMOID, y, chunk ? others : first));
    }
    output(graph, 0, sum);
    return finish(graph);
}

// A value goes to the other device; what comes after reads nothing of it and wants its bytes.
static tn_graph *make_forgetful(void)
{
    tn_graph *graph = rig_graph();
    tn_value x = input(graph), sum = rig_op(graph, TNP_OP_SIGMOID, x);
    for (int i = 0; i < 4; i++) {
        tn_value gone = rig_op(graph, TNP_OP_TANH, tn_graph_scale(graph, x, (float)(i + 1)));
        tn_value other = many(graph, TNP_OP_TANH, tn_graph_scale(graph, x, (float)-i - 1), 2);
        sum = tn_graph_add(graph, sum, gone);
        output(graph, i, other);
    }
    output(graph, 4, sum);
    return finish(graph);
}

// A value goes to the other device, and its maker's device writes on in its place.
static tn_graph *make_overwriting(void)
{
    tn_graph *graph = rig_graph();
    tn_value y = input(graph), sum = rig_op(graph, TNP_OP_SIGMOID, y);
    for (int i = 0; i < 6; i++) {
        y = rig_op(graph, TNP_OP_TANH, y);
        sum = tn_graph_add(graph, sum, y);
        if (i == 3)
            output(graph, 0, y);   // is kept, and read by the other device too
    }
    output(graph, 1, sum);
    output(graph, 2, y);
    return finish(graph);
}

// An op that reads from three devices, values that are read often.
static tn_graph *make_meeting(void)
{
    static const tnp_norm_attr norm = { .size = sizeof norm, .eps = 1e-5f };
    tn_graph *graph = rig_graph();
    tn_value x = input(graph), y = rig_op(graph, TNP_OP_TANH, x),
             w = rig_op(graph, TNP_OP_SIGMOID, x);
    tn_value b = rig_op(graph, TNP_OP_TANH, rig_op(graph, TNP_OP_ABS, w));
    for (int i = 0; i < 3; i++)
        y = tn_graph_op(graph, TNP_OP_LAYER_NORM, NULL, (tn_value[]){ y, w, b }, 3, &norm);
    output(graph, 0, tn_graph_mul(graph, tn_graph_mul(graph, y, w), b));
    return finish(graph);
}

// Any op on any earlier values, by the seed.
static tn_graph *make_random(uint32_t seed)
{
    static const tnp_op ops[] = { TNP_OP_TANH, TNP_OP_SIGMOID, TNP_OP_ABS, TNP_OP_SIN };
    enum { NODES = 40 };
    tn_graph *graph = rig_graph();
    tn_value made[NODES + 1] = { input(graph) };
    for (int i = 0; i < NODES; i++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t near = i < 6 ? (uint32_t)i + 1 : 7;
        tn_value x = made[(uint32_t)i - (seed >> 8) % near],
                 y = made[(uint32_t)i - (seed >> 16) % near];
        made[i + 1] = seed >> 28 < 5 ? tn_graph_add(graph, x, y)
                                     : rig_op(graph, ops[seed >> 30], x);
        if (seed >> 20 & 1 && i % 8 == 0)
            output(graph, i / 8, made[i + 1]);
    }
    output(graph, NODES / 8 + 1, made[NODES]);
    return finish(graph);
}

// ------------------------------------------------------------------------------------------- runs

static void run_once(tn_session *session, const tn_graph *graph)
{
    rig_run(session, 0, graph, "x", numbers, sizeof numbers, NULL);
}

static void compare(tn_runtime *runtime, tn_session *session, const tn_graph *graph)
{
    static float want[FLOATS], got[FLOATS];
    tn_session *alone = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                    (const char *[]){ "cpu0", NULL });
    run_once(alone, graph);
    for (int i = 0; i < MOST_OUTPUTS; i++) {
        char name[16];
        snprintf(name, sizeof name, "out.%d", i);
        if (tn_value_is_none(tn_graph_find(graph, name)))
            continue;
        rig_read(alone, 0, graph, name, want, sizeof want);
        rig_read(session, 0, graph, name, got, sizeof got);
        if (memcmp(want, got, sizeof want) != 0)
            fail_msg("'%s' has other bytes: %s", name, rig_explain(session));
    }
    tn_session_destroy(alone);
}

typedef struct run {
    tn_runtime *runtime;
    tn_graph *graph;
    tn_session *session;
    traced pieces[MOST_PIECES];   // of the first run
    uint32_t count;
} run;

// `more` is added to what all devices have. What is tanh runs on a, sin on c, the rest on b.
static void begin(run *r, tn_graph *graph, const char *more)
{
    char devices[1024];
    tn_error err = { 0 };
    snprintf(devices, sizeof devices,
             "[{\"name\":\"a\",\"only\":[\"tanh\",\"scale\"],\"gbps\":1,\"trace\":true%s},"
             "{\"name\":\"b\",\"except\":[\"tanh\",\"scale\",\"sin\"],\"gbps\":1,\"trace\":true%s},"
             "{\"name\":\"c\",\"only\":[\"sin\"],\"gbps\":1,\"trace\":true%s}]",
             more, more, more);
    *r = (run){ .runtime = rig_simulated(devices, NULL), .graph = graph };
    r->session = rig_session(r->runtime, (const tn_graph *[]){ graph }, 1,
                             (const char *[]){ "a", "b", "c", NULL });
    if (tn_session_check(r->session, &err) != TN_OK)
        fail_msg("%s", err.text);
    run_once(r->session, graph);
    r->count = trace_read(rig_told(), 1, r->pieces, MOST_PIECES);
    assert_in_range(r->count, 1, MOST_PIECES - 1);
}

static void end(run *r)
{
    run_once(r->session, r->graph);
    compare(r->runtime, r->session, r->graph);
    tn_session_destroy(r->session);
    tn_graph_destroy(r->graph);
    tn_runtime_destroy(r->runtime);
    assert_string_equal(rig_log(), "");
}

static uint64_t length(const run *r, const char *device, bool is_copy, uint32_t nth)
{
    const traced *piece = trace_find(r->pieces, r->count, device, is_copy, nth);
    if (!piece)
        fail_msg("%s has no %s %u: %s", device, is_copy ? "copy" : "program", nth, rig_told());
    return piece->end_ns - piece->begin_ns;
}

// No run takes less than the busiest device, the busiest link, and the longest chain of what waits
// for each other; this one takes no more than the largest of them.
static void assert_is_bound(const run *r, uint64_t chain_ns)
{
    uint64_t took = trace_makespan_ns(r->pieces, r->count), bound = chain_ns;
    for (int is_copy = 0; is_copy < 2; is_copy++) {
        uint64_t busiest = trace_busiest_ns(r->pieces, r->count, is_copy);
        bound = busiest > bound ? busiest : bound;
    }
    if (took != bound)
        fail_msg("it takes %llu ns, the bound is %llu: %s", (unsigned long long)took,
                 (unsigned long long)bound, rig_told());
}

static const char *const manners[] = {
    "",
    ",\"host_visible\":false",
    ",\"order\":\"late\"",
    ",\"peer\":true",
    ",\"peer\":true,\"order\":\"late\",\"host_visible\":false",
};
enum { MANNERS = sizeof manners / sizeof manners[0] };

static void independent_branches_take_as_long_as_the_longer(void **state)
{
    (void)state;
    for (int i = 0; i < MANNERS; i++) {
        run r;
        begin(&r, make_apart(), manners[i]);
        assert_is_bound(&r, 0);
        end(&r);
    }
}

static void a_branch_runs_until_it_needs_the_other(void **state)
{
    (void)state;
    for (int i = 0; i < MANNERS; i++) {
        run r;
        begin(&r, make_joined(), manners[i]);
        uint64_t copies = length(&r, "a", true, 0);
        if (!strstr(manners[i], "peer"))
            copies += length(&r, "b", true, 0);
        assert_is_bound(&r, length(&r, "a", false, 0) + copies + length(&r, "b", false, 1));
        end(&r);
    }
}

static void what_waits_does_not_hold_up_what_can_run(void **state)
{
    (void)state;
    for (int i = 0; i < MANNERS; i++) {
        run r;
        begin(&r, make_held_up(), manners[i]);
        uint64_t copies = length(&r, "a", true, 0);
        if (!strstr(manners[i], "peer"))
            copies += length(&r, "b", true, 0);
        assert_is_bound(&r, length(&r, "a", false, 0) + copies + length(&r, "b", false, 1));
        end(&r);
    }
}

static void what_others_wait_for_comes_first(void **state)
{
    (void)state;
    for (int i = 0; i < MANNERS; i++) {
        run r;
        begin(&r, make_urgent(), manners[i]);
        uint64_t copies = length(&r, "a", true, 0);
        if (!strstr(manners[i], "peer"))
            copies += length(&r, "b", true, 0);
        assert_is_bound(&r, length(&r, "a", false, 0) + copies + length(&r, "b", false, 0));
        assert_true(length(&r, "a", false, 0) < length(&r, "a", false, 1) / 2);
        end(&r);
    }
}

static void what_most_hangs_on_comes_first(void **state)
{
    (void)state;
    for (int i = 0; i < MANNERS; i++) {
        run r;
        begin(&r, make_long_chain(), manners[i]);
        uint64_t copies = length(&r, "a", true, 0);
        if (!strstr(manners[i], "peer"))
            copies += length(&r, "c", true, 0);
        assert_is_bound(&r, length(&r, "a", false, 0) + copies + length(&r, "c", false, 0));
        end(&r);
    }
}

// The first chunk has to come; from then on the device that has more to do never waits.
static void copies_hide_behind_what_is_computed_meanwhile(void **state)
{
    (void)state;
    for (int i = 0; i < MANNERS; i++) {
        run r;
        char more[128];   // a copy takes nearly as long as a chunk
        snprintf(more, sizeof more, ",\"link_gbps\":0.2%s", manners[i]);
        begin(&r, make_pipeline(), more);
        uint64_t copies = length(&r, "a", true, 0);
        if (!strstr(manners[i], "peer"))
            copies += length(&r, "b", true, 0);
        assert_is_bound(&r, length(&r, "a", false, 0) + copies +
                                trace_busy_ns(r.pieces, r.count, "b", false));
        assert_true(length(&r, "a", false, 5) < trace_busy_ns(r.pieces, r.count, "a", false) / 5);
        assert_true(trace_busy_ns(r.pieces, r.count, "a", true) >
                    trace_busy_ns(r.pieces, r.count, "b", false) / 2);
        end(&r);
    }
}

static uint64_t peak_bytes(const run *r, uint32_t device)
{
    tn_device_memory memory = { .size = sizeof memory };
    assert_int_equal(tn_session_device_memory(r->session, device, &memory, NULL), TN_OK);
    return memory.peak_bytes;
}

// Where the first chunk holds up the second device, more are brought meanwhile.
static void two_buffers_do_unless_more_are_faster(void **state)
{
    (void)state;
    static const struct {
        int first, others;
        const char *link;
        uint64_t values;   // that the second device holds: x, the sum, and chunks
    } cases[] = { { 3, 3, "0.4", 4 }, { 60, 1, "0.1", 9 } };
    for (size_t c = 0; c < 2; c++)
        for (int i = 0; i < MANNERS; i++) {
            run r;
            char more[128];
            snprintf(more, sizeof more, ",\"link_gbps\":%s%s", cases[c].link, manners[i]);
            begin(&r, make_summed(cases[c].first, cases[c].others), more);
            assert_int_equal(peak_bytes(&r, 1), cases[c].values * sizeof numbers);
            uint64_t copies = length(&r, "a", true, 0);
            if (!strstr(manners[i], "peer"))
                copies += length(&r, "b", true, 0);
            assert_is_bound(&r, length(&r, "a", false, 0) + copies +
                                    trace_busy_ns(r.pieces, r.count, "b", false));
            end(&r);
        }
}

static void two_buffers_do_where_more_do_not_fit(void **state)
{
    (void)state;
    run r;
    begin(&r, make_summed(60, 1), ",\"link_gbps\":0.1,\"memory_bytes\":131072");
    assert_int_equal(peak_bytes(&r, 1), 4 * sizeof numbers);
    end(&r);
}

// ------------------------------------------------------------------------------------------ order

static const char *const devices[] = {
    "\"host_visible\":%s,\"order\":\"%s\",\"gbps\":%d",
    "\"host_visible\":%s,\"order\":\"%s\",\"gbps\":%d,\"peer\":true",
    "\"host_visible\":%s,\"order\":\"%s\",\"gbps\":%d,\"update_bytes\":256,\"link_gbps\":0.1",
};

// On devices that differ in what they take; the last takes all that the others do not.
static void compare_in_all_manners(tn_graph *(*make)(uint32_t), uint32_t seed)
{
    static const char *const orders[] = { "submitted", "late", "reverse" };
    static const char *const all[] = { "a", "b", "c", "cpu0", NULL };
    for (size_t d = 0; d < sizeof devices / sizeof devices[0]; d++)
        for (int o = 0; o < 3; o++)
            for (int with_cpu = 0; with_cpu < (d ? 1 : 2); with_cpu++) {
                char common[256], text[1024];
                tn_error err = { 0 };
                snprintf(common, sizeof common, devices[d], with_cpu ? "true" : "false", orders[o],
                         with_cpu ? 1000 : 1);
                snprintf(
                    text, sizeof text,
                    "[{\"name\":\"a\",\"only\":[\"tanh\",\"scale\"],%s},"
                    "{\"name\":\"b\",\"only\":[\"sigmoid\",\"add\"],%s},"
                    "{\"name\":\"c\",\"except\":[\"tanh\",\"scale\",\"sigmoid\",\"add\"%s],%s}]",
                    common, common, with_cpu ? ",\"abs\",\"layer_norm\"" : "", common);
                tn_runtime *runtime = rig_simulated(text, NULL);
                tn_graph *graph = make(seed);
                const char *some[] = { "a", "b", "c", NULL };
                tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                                  with_cpu ? all : some);
                if (tn_session_check(session, &err) != TN_OK)
                    fail_msg("%s", err.text);
                run_once(session, graph);
                run_once(session, graph);
                compare(runtime, session, graph);
                tn_session_destroy(session);
                tn_graph_destroy(graph);
                tn_runtime_destroy(runtime);
                assert_string_equal(rig_log(), "");
            }
}

static tn_graph *make_numbered(uint32_t number)
{
    static tn_graph *(*const makers[])(void) = { make_apart,     make_joined,      make_pipeline,
                                                 make_forgetful, make_overwriting, make_meeting,
                                                 make_held_up,   make_urgent };
    return makers[number]();
}

static void bytes_are_used_again_only_when_nobody_needs_them(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 8; i++)
        compare_in_all_manners(make_numbered, i);
}

static void random_graphs_have_the_bits_of_one_device(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 3; seed++)
        compare_in_all_manners(make_random, seed);
}

// ---------------------------------------------------------------------------------------- sessions

static void a_run_over_devices_allocates_nothing(void **state)
{
    (void)state;
    failing_alloc counting;
    failing_alloc_init(&counting, 0);
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"only\":[\"tanh\",\"scale\"]},"
                                        "{\"name\":\"b\",\"only\":[\"add\"]}]",
                                        NULL);
    tn_graph *graph = make_joined();
    tn_device *list[] = { rig_device(runtime, "a"), rig_device(runtime, "b"),
                          rig_device(runtime, "cpu0") };
    tn_session_options options = {
        .size = sizeof options, .device_count = 3, .devices = list, .allocator = &counting.allocator
    };
    tn_session *session = NULL;
    assert_int_equal(
        tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options, &session, NULL),
        TN_OK);
    uint64_t before = atomic_load(&counting.calls);
    run_once(session, graph);
    run_once(session, graph);
    assert_int_equal(atomic_load(&counting.calls), before);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

typedef struct sharing {
    tn_session *session;
    tn_graph *graph;
    float want[FLOATS];
    bool has_failed;
} sharing;

static void *run_often(void *argument)
{
    enum { TIMES = 20 };
    sharing *s = argument;
    static _Thread_local float got[FLOATS];
    tn_feed feed = { tn_graph_find(s->graph, "x"), numbers, sizeof numbers };
    tn_value out = tn_graph_find(s->graph, "out.1");
    for (int i = 0; i < TIMES && !s->has_failed; i++)
        s->has_failed = tn_session_run(s->session, 0, &feed, 1, NULL) != TN_OK ||
                        tn_session_read(s->session, 0, out, got, sizeof got, NULL) != TN_OK ||
                        memcmp(s->want, got, sizeof got) != 0;
    return NULL;
}

static void sessions_share_devices_from_several_threads(void **state)
{
    (void)state;
    enum { SESSIONS = 4 };
    static const char *const orders[] = { "submitted", "late", "reverse" };
    static const char *const names[] = { "a", "b", "cpu0", NULL };
    static sharing all[SESSIONS];
    for (int o = 0; o < 3; o++) {
        char text[512];
        snprintf(text, sizeof text,
                 "[{\"name\":\"a\",\"only\":[\"tanh\",\"scale\"],\"order\":\"%s\",\"host_visible\":"
                 "false},{\"name\":\"b\",\"only\":[\"sigmoid\"],\"order\":\"%s\"}]",
                 orders[o], orders[o]);
        tn_runtime *runtime = rig_simulated(text, NULL);
        pthread_t threads[SESSIONS];
        for (int i = 0; i < SESSIONS; i++) {
            all[i] = (sharing){ .graph = i % 2 ? make_overwriting() : make_pipeline() };
            all[i].session = rig_session(runtime, (const tn_graph *[]){ all[i].graph }, 1, names);
            run_once(all[i].session, all[i].graph);
            rig_read(all[i].session, 0, all[i].graph, "out.1", all[i].want, sizeof all[i].want);
        }
        for (int i = 0; i < SESSIONS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, run_often, &all[i]), 0);
        for (int i = 0; i < SESSIONS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < SESSIONS; i++) {
            assert_false(all[i].has_failed);
            tn_session_destroy(all[i].session);
            tn_graph_destroy(all[i].graph);
        }
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_branches_take_as_long_as_the_longer),
        cmocka_unit_test(a_branch_runs_until_it_needs_the_other),
        cmocka_unit_test(what_waits_does_not_hold_up_what_can_run),
        cmocka_unit_test(what_others_wait_for_comes_first),
        cmocka_unit_test(what_most_hangs_on_comes_first),
        cmocka_unit_test(copies_hide_behind_what_is_computed_meanwhile),
        cmocka_unit_test(two_buffers_do_unless_more_are_faster),
        cmocka_unit_test(two_buffers_do_where_more_do_not_fit),
        cmocka_unit_test(bytes_are_used_again_only_when_nobody_needs_them),
        cmocka_unit_test(random_graphs_have_the_bits_of_one_device),
        cmocka_unit_test(a_run_over_devices_allocates_nothing),
        cmocka_unit_test(sessions_share_devices_from_several_threads),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
