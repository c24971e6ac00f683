// Sessions on simulated devices that fail: results are those of a session whose devices do not,
// what was done is told, and what nobody can do is a status.
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <tenon/tune.h>

#include "failing_alloc.h"
#include "session_rig.h"

enum { WIDTH = 32, ROWS = 24, LARGE = 3, SMALL = 1, MOST_OUTPUTS = 64, MOST_EVENTS = 32 };

static float weight[WIDTH * WIDTH];
static const char *snapshot_path;
static tn_snapshot *kept;   // what a session has no use for that refuses all

static int begin(void **state)
{
    static char path[] = "/tmp/tenon-failover-XXXXXX";
    (void)state;
    rig_fill(weight, WIDTH * WIDTH, 1);
    for (size_t i = 0; i < WIDTH * WIDTH; i++)
        weight[i] *= 0.2f;
    int file = mkstemp(path);
    snapshot_path = path;
    return file < 0 ? 1 : close(file);
}

static int end(void **state)
{
    (void)state;
    tn_snapshot_close(kept);
    return unlink(snapshot_path);
}

// Each row of the cache comes from the one before it: {rows} new ones are x * w + bias + before.
static tn_graph *make_graph(int64_t rows)
{
    tn_graph *graph = rig_graph();
    const int64_t square[] = { WIDTH, WIDTH };
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, square, weight, sizeof weight);
    tn_value cache = tn_graph_state(graph, "cache", TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, ROWS });
    tn_value index = tn_graph_input(graph, "index", TN_DTYPE_I32, 1, &rows);
    tn_value before = tn_graph_input(graph, "before", TN_DTYPE_I32, 1, &rows);
    tn_value y = tn_graph_matmul(graph, rig_input(graph, "x", 2, WIDTH, rows, 0), w);
    y = tn_graph_add(graph, y, rig_input(graph, "bias", 1, WIDTH, 0, 0));
    y = tn_graph_add(graph, rig_op(graph, TNP_OP_TANH, y), tn_graph_get_rows(graph, cache, before));
    y = tn_graph_set_rows(graph, cache, y, index);
    rig_finish(graph, tn_graph_scale(graph, tn_graph_get_rows(graph, y, index), 0.75f));
    return graph;
}

typedef struct events {
    uint32_t count;
    uint32_t kinds[MOST_EVENTS];
    char devices[MOST_EVENTS][8];
    uint64_t repeated;   // of the last that tells
} events;

static void take_event(void *context, const tn_session_event *event)
{
    events *e = context;
    assert_int_equal(event->size, sizeof *event);
    assert_true(e->count < MOST_EVENTS && *event->text);
    assert_int_equal(event->status == TN_OK, event->kind == TN_EVENT_REPEATED);
    snprintf(e->devices[e->count], sizeof e->devices[0], "%s", event->device ? event->device : "");
    e->kinds[e->count++] = event->kind;
    if (event->kind == TN_EVENT_REPEATED)
        e->repeated = event->repeated_runs;
}

static events events_of(const tn_session *session)
{
    events e = { 0 };
    assert_int_equal(tn_session_events(session, &(tn_session_event_sink){ &e, take_event }, NULL),
                     TN_OK);
    return e;
}

// A session with a graph for LARGE rows and one for SMALL, and where it stands.
typedef struct play {
    tn_runtime *runtime;
    tn_graph *graphs[2];
    uint32_t numbers[2];
    tn_session *session;
    int32_t position;
    uint32_t run_count;
    int32_t starts[ROWS + 1];   // of the runs that the rows come from
    uint32_t seed;
    uint32_t output_count;
    float outputs[MOST_OUTPUTS][WIDTH];
    tn_error err;
} play;

static const int64_t rows_of[2] = { LARGE, SMALL };

static uint32_t draw(uint32_t *seed, uint32_t count)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 16) % count;
}

// names: up to NULL; none = all.
static tn_status start(play *p, const char *devices, const char *const *names, uint32_t flags,
                       uint64_t journal_bytes)
{
    tn_device *list[8];
    tn_session_options options = {
        .size = sizeof options, .devices = list, .flags = flags, .journal_bytes = journal_bytes
    };
    *p = (play){ .numbers = { 0, 1 } };
    p->runtime = rig_simulated(devices, NULL);
    for (int i = 0; i < 2; i++)
        p->graphs[i] = make_graph(rows_of[i]);
    for (; names && names[options.device_count]; options.device_count++)
        list[options.device_count] = rig_device(p->runtime, names[options.device_count]);
    return tn_session_create(p->runtime, (const tn_graph *const *)p->graphs, 2, &options,
                             &p->session, &p->err);
}

static void stop(play *p)
{
    tn_session_destroy(p->session);
    for (int i = 0; i < 2; i++)
        tn_graph_destroy(p->graphs[i]);
    tn_runtime_destroy(p->runtime);
    if (strstr(rig_log(), "not given back"))
        fail_msg("%s", rig_log());
}

// As many new rows as graph g makes, and the last of them to the outputs. with_bias: it is fed.
static tn_status step(play *p, int g, bool with_bias)
{
    float x[WIDTH * LARGE], bias[WIDTH], out[WIDTH * LARGE];
    int32_t index[LARGE], before[LARGE];
    size_t rows = (size_t)rows_of[g];
    rig_fill(x, WIDTH * rows, 100 + (uint32_t)p->position + 50 * p->seed);
    rig_fill(bias, WIDTH, 1000 + p->output_count);
    for (size_t r = 0; r < rows; r++) {
        index[r] = p->position + (int32_t)r;
        before[r] = p->position ? p->position - 1 : 0;
    }
    const tn_graph *graph = p->graphs[g];
    tn_feed feeds[] = { { tn_graph_find(graph, "x"), x, rows * WIDTH * sizeof *x },
                        { tn_graph_find(graph, "index"), index, rows * sizeof *index },
                        { tn_graph_find(graph, "before"), before, rows * sizeof *before },
                        { tn_graph_find(graph, "bias"), bias, sizeof bias } };
    tn_status status = tn_session_run(p->session, p->numbers[g], feeds, with_bias ? 4 : 3, &p->err);
    if (status == TN_OK) {
        p->starts[p->run_count++] = p->position;
        p->position += (int32_t)rows;
        status = tn_session_read(p->session, p->numbers[g], tn_graph_find(graph, "out"), out,
                                 rows * WIDTH * sizeof *out, &p->err);
    }
    if (status == TN_OK && p->output_count < MOST_OUTPUTS)
        memcpy(p->outputs[p->output_count++], out + (rows - 1) * WIDTH, sizeof p->outputs[0]);
    return status;
}

static tn_status steps(play *p, int count)
{
    tn_status status = TN_OK;
    for (int i = 0; i < count && status == TN_OK; i++)
        status = step(p, i % 3 == 0 ? 0 : 1, i % 2 == 0);
    return status;
}

static tn_status reset(play *p)
{
    p->position = 0;
    p->run_count = 0;
    return tn_session_reset(p->session, &p->err);
}

static void go_back(play *p, int32_t position)
{
    uint32_t runs = 0;
    for (; p->run_count && p->starts[p->run_count - 1] >= position; p->run_count--)
        runs++;
    p->position = position;
    tn_session_forget(p->session, runs);
}

static tn_status save_and_restore(play *p)
{
    tn_snapshot *snapshot = NULL;
    tn_status status = tn_session_save(p->session, snapshot_path, NULL, &p->err);
    if (status == TN_OK)
        status = tn_snapshot_open(snapshot_path, NULL, &snapshot, &p->err);
    if (status == TN_OK)
        status = tn_session_restore(p->session, snapshot, NULL, &p->err);
    tn_snapshot_close(snapshot);
    p->run_count = 0;
    return status;
}

static tn_status drop_and_add(play *p)
{
    tn_status status = tn_session_drop(p->session, p->numbers[1], &p->err);
    do   // a device may say that it has no memory, once
        if (status == TN_OK)
            status = tn_session_add(p->session, p->graphs[1], &p->numbers[1], &p->err);
    while (status == TN_E_DEVICE_MEMORY && strstr(p->err.text, "as it is told to") &&
           (status = TN_OK) == TN_OK);
    p->run_count = 0;
    return status;
}

static void is_same(const play *want, const play *got, const char *what)
{
    if (got->output_count != want->output_count ||
        memcmp(want->outputs, got->outputs, want->output_count * sizeof got->outputs[0]) != 0)
        fail_msg("%s: the results are others\n%s", what, rig_log());
}

static void need(tn_status status, const play *p)
{
    if (status != TN_OK)
        fail_msg("%s: %s\n%s", tn_status_name(status), p->err.text, rig_log());
}

// ----------------------------------------------------------------------------------------- scripts

static tn_status perform(play *p, uint32_t seed)
{
    tn_status status = TN_OK;
    p->seed = seed;
    for (int i = 0; i < 24 && status == TN_OK; i++) {
        uint32_t what = draw(&seed, 12);
        bool with_bias = draw(&seed, 2);
        if (p->position + LARGE > ROWS || what == 0)
            status = reset(p);
        else if (what == 1)
            status = save_and_restore(p);
        else if (what == 2)
            status = drop_and_add(p);
        else if (what <= 4 && p->position > 1)   // row 0 may come from no other
            go_back(p, 1 + (int32_t)draw(&seed, (uint32_t)p->position - 1));
        else
            status = step(p, what % 2, with_bias);
    }
    return status;
}

// Up to two faults on each of two devices.
static void describe(char *text, size_t room, uint32_t seed, bool with_faults)
{
    static const char *const calls[] = { "queue_submit", "queue_copy",   "semaphore_wait",
                                         "work",         "buffer_alloc", "compile",
                                         "bind",         "memory_info",  "semaphore_create",
                                         "claim",        "open",         "queue_create" };
    char faults[4][80];
    for (int i = 0; i < 4; i++) {
        const char *call = calls[draw(&seed, i % 2 ? 4 : 12)];
        snprintf(faults[i], sizeof faults[i], "{\"call\":\"%s\",\"at\":%u,\"lost\":%s}", call,
                 1 + draw(&seed, i % 2 ? 120 : 12), draw(&seed, 2) ? "true" : "false");
    }
    snprintf(
        text, room,
        "[{\"name\":\"a\",\"except\":[\"get_rows\"],\"host_visible\":false,\"latency_us\":0.01,"
        "\"link_gbps\":1000,\"fail\":[%s%s%s]},{\"name\":\"b\",\"gflops\":1000,\"gbps\":100,"
        "\"latency_us\":0.01,\"link_gbps\":1000,\"fail\":[%s%s%s]}]",
        with_faults ? faults[0] : "", with_faults ? "," : "", with_faults ? faults[1] : "",
        with_faults ? faults[2] : "", with_faults ? "," : "", with_faults ? faults[3] : "");
}

static void whatever_is_done_devices_may_fail_at_any_time(void **state)
{
    (void)state;
    static play want, got;
    uint32_t fired = 0, repeated = 0;
    for (uint32_t seed = 1; seed <= 300; seed++) {
        char devices[900];
        describe(devices, sizeof devices, seed, false);
        need(start(&want, devices, NULL, 0, 0), &want);
        need(perform(&want, seed), &want);
        assert_int_equal(events_of(want.session).count, 0);
        stop(&want);
        describe(devices, sizeof devices, seed, true);
        // The journal of every second one is full after a few runs.
        need(start(&got, devices, NULL, 0, seed % 2 ? 0 : 2500), &got);
        if (perform(&got, seed) != TN_OK)
            fail_msg("seed %u: %s\n%s\n%s", seed, got.err.text, devices, rig_log());
        events e = events_of(got.session);
        stop(&got);
        is_same(&want, &got, devices);
        fired += strstr(rig_told(), "fails now") != NULL;
        for (uint32_t i = 0; i < e.count; i++)
            repeated += e.kinds[i] == TN_EVENT_REPEATED;
    }
    assert_in_range(fired, 200, 300);
    assert_in_range(repeated, 200, 2000);
}

// ------------------------------------------------------------------------------------------- cases

static const char *const a_and_b[] = { "a", "b", NULL };
static const char *const only_a[] = { "a", NULL };

static void want_steps(play *want, int count)
{
    need(start(want, "[]", NULL, 0, 0), want);
    need(steps(want, count), want);
    stop(want);
}

static void has_events(const play *p, const char *const *lines)
{
    static const char *const kinds[] = { [TN_EVENT_TRIED_AGAIN] = "again",
                                         [TN_EVENT_LEFT_OUT] = "out",
                                         [TN_EVENT_REPEATED] = "repeated",
                                         [TN_EVENT_STOPPED] = "stopped" };
    events e = events_of(p->session);
    uint32_t i = 0;
    for (; i < e.count && lines[i]; i++) {
        char line[40];
        snprintf(line, sizeof line, "%s%s%s", e.devices[i], *e.devices[i] ? " " : "",
                 kinds[e.kinds[i]]);
        assert_string_equal(line, lines[i]);
    }
    assert_int_equal(i, e.count);
    assert_null(lines[i]);
}

static void a_device_that_fails_while_runs_are_repeated_is_left_out_too(void **state)
{
    (void)state;
    static play want, got;
    want_steps(&want, 9);
    static const struct {
        const char *devices;
        const char *events[8];
    } cases[] = {
        { "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":6,\"lost\":true}},"
          "{\"name\":\"b\",\"fail\":{\"call\":\"queue_submit\",\"at\":3,\"lost\":true}}]",
          { "a out", "b out", "repeated" } },
        { "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":6,\"lost\":true}},"
          "{\"name\":\"b\",\"fail\":{\"call\":\"work\",\"at\":3}}]",
          { "a out", "b again", "repeated" } },
        { "[{\"name\":\"a\",\"fail\":[{\"call\":\"queue_submit\",\"at\":6},"
          "{\"call\":\"queue_submit\",\"at\":9}]},{\"name\":\"b\"}]",
          { "a again", "a out", "repeated" } },
        { "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":6,\"lost\":true}},"
          "{\"name\":\"b\",\"fail\":{\"call\":\"compile\"}}]",
          { "a out", "b out", "repeated" } },
        { "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":6,\"lost\":true}},"
          "{\"name\":\"b\",\"fail\":{\"call\":\"queue_submit\",\"at\":8,\"lost\":true}}]",
          { "a out", "repeated", "b out", "repeated" } },
        { "[{\"name\":\"a\",\"fail\":[{\"call\":\"work\",\"at\":4},{\"call\":\"work\",\"at\":12}]}"
          "]",
          { "a again", "repeated", "a again", "repeated" } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        need(start(&got, cases[i].devices, NULL, 0, 0), &got);
        need(steps(&got, 9), &got);
        is_same(&want, &got, cases[i].devices);
        has_events(&got, cases[i].events);
        stop(&got);
    }
}

static void a_device_that_fails_while_a_session_is_made_is_left_out(void **state)
{
    (void)state;
    static play want, got;
    want_steps(&want, 4);
    static const struct {
        const char *fault;
        const char *events[4];   // without another device
    } cases[] = {
        { "\"fail\":{\"call\":\"open\"}", { "a out", NULL } },
        { "\"fail\":{\"call\":\"claim\"}", { "a out", NULL } },
        { "\"fail\":{\"call\":\"compile\",\"lost\":true}", { "a out", NULL } },
        { "\"fail\":{\"call\":\"buffer_alloc\",\"at\":2,\"status\":\"IO\"}", { "a out", NULL } },
        { "\"fail\":{\"call\":\"bind\",\"at\":2}", { "a out", NULL } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char devices[200];
        snprintf(devices, sizeof devices, "[{\"name\":\"a\",%s},{\"name\":\"b\"}]", cases[i].fault);
        need(start(&got, devices, a_and_b, 0, 0), &got);
        need(steps(&got, 4), &got);
        is_same(&want, &got, devices);
        has_events(&got, cases[i].events);
        assert_non_null(strstr(rig_log(), "; a is left out"));
        assert_int_equal(tn_session_device_count(got.session), 2);
        stop(&got);
    }
}

static void need_device(const play *p, uint32_t number, const char *name, bool is_left_out)
{
    tn_error err = { 0 };
    tn_device_memory memory = { .size = sizeof memory };
    tn_graph_memory plan = { .size = sizeof plan };
    if (tn_session_device_memory(p->session, number, &memory, &err) != TN_OK ||
        tn_session_graph_memory(p->session, p->numbers[0], number, &plan, &err) != TN_OK)
        fail_msg("%s", err.text);
    assert_string_equal(memory.name, name);
    assert_int_equal(memory.is_left_out, is_left_out);
    assert_int_equal(memory.peak_bytes > 0, !is_left_out);
    assert_int_equal(plan.peak_bytes > 0, !is_left_out);
    for (uint32_t to = 0; to < 3; to++) {
        tn_link_cost link = { .size = sizeof link };
        if (to == number || (is_left_out && to == 0))
            continue;
        assert_int_equal(tn_session_link(p->session, number, to, &link, &err), TN_OK);
        assert_int_equal(link.known_by != 0, !is_left_out && to != 0);
    }
}

static void take_segment(void *context, const tn_segment *segment)
{
    uint32_t *seen = context;
    assert_in_range(segment->device, 1, 2);
    assert_non_null(strstr(segment->reason, tn_begins_name(segment->why)));
    *seen |= 1u << segment->device;
}

static void take_copy(void *context, const tn_segment_copy *copy)
{
    ++*(uint32_t *)context;
    assert_in_range(copy->from, 1, 2);
    assert_int_equal(copy->from + copy->to, 3);
}

static void take_number(void *context, const tn_session_event *event)
{
    (void)context;
    assert_int_equal(event->number, event->device ? 0 : UINT32_MAX);
}

static void devices_keep_their_numbers_when_one_is_left_out(void **state)
{
    (void)state;
    static play p;
    need(start(&p,
               "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":3,\"lost\":true}},"
               "{\"name\":\"b\",\"except\":[\"get_rows\"]},"
               "{\"name\":\"c\",\"only\":[\"get_rows\",\"set_rows\"]}]",
               (const char *const[]){ "a", "b", "c", NULL }, 0, 0),
         &p);
    need(steps(&p, 6), &p);
    has_events(&p, (const char *[]){ "a out", "repeated", NULL });
    assert_int_equal(tn_session_device_count(p.session), 3);
    need_device(&p, 0, "a", true);
    need_device(&p, 1, "b", false);
    need_device(&p, 2, "c", false);
    uint32_t seen = 0, copies = 0;
    tn_error err = { 0 };
    assert_int_equal(tn_session_segments(p.session, p.numbers[0],
                                         &(tn_segment_sink){ &seen, take_segment }, &err),
                     TN_OK);
    assert_int_equal(seen, 1u << 1 | 1u << 2);
    assert_int_equal(tn_session_copies(p.session, p.numbers[0],
                                       &(tn_segment_copy_sink){ &copies, take_copy }, &err),
                     TN_OK);
    assert_true(copies > 0);
    assert_int_equal(
        tn_session_events(p.session, &(tn_session_event_sink){ NULL, take_number }, &err), TN_OK);
    assert_string_equal(tn_begins_name(0), "");
    assert_string_equal(tn_begins_name(99), "");
    stop(&p);
}

static void a_device_with_too_little_memory_gets_less(void **state)
{
    (void)state;
    static play want, got;
    want_steps(&want, 4);
    static const char *const lacks[] = { "\"memory_bytes\":4000", "\"max_alloc_bytes\":100",
                                         "\"fail\":{\"call\":\"buffer_alloc\",\"at\":2}" };
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++) {
        char devices[200];
        snprintf(devices, sizeof devices, "[{\"name\":\"a\",%s},{\"name\":\"b\"}]", lacks[i]);
        need(start(&got, devices, a_and_b, 0, 0), &got);
        need(steps(&got, 4), &got);
        is_same(&want, &got, devices);
        assert_int_equal(events_of(got.session).count, i == 2);
        assert_int_equal(i == 2, strstr(rig_log(), "less is placed there") != NULL);
        assert_int_equal(tn_session_device_count(got.session), 2);
        stop(&got);
    }
}

static void a_device_that_the_others_need_gets_another_try(void **state)
{
    (void)state;
    static play want, got;
    want_steps(&want, 4);
    need(start(&got,
               "[{\"name\":\"a\",\"except\":[\"get_rows\"],\"fail\":{\"call\":\"compile\"}},"
               "{\"name\":\"b\",\"only\":[\"get_rows\",\"set_rows\"]}]",
               a_and_b, 0, 0),
         &got);
    need(steps(&got, 4), &got);
    is_same(&want, &got, "a is needed");
    has_events(&got, (const char *[]){ "a out", "a again", NULL });
    stop(&got);
}

// What speaks of a plan when there is none any more.
static void takes_nothing(void *context, const void *told)
{
    (void)context, (void)told;
    fail_msg("something is told of a plan");
}

static void take_no_segment(void *context, const tn_segment *told)
{
    takes_nothing(context, told);
}

static void take_no_copy(void *context, const tn_segment_copy *told)
{
    takes_nothing(context, told);
}

static void take_no_value(void *context, const tn_planned_value *told)
{
    takes_nothing(context, told);
}

static void take_no_text(void *context, const char *text, size_t bytes)
{
    (void)bytes;
    takes_nothing(context, text);
}

enum { CALLS_THAT_REFUSE = 15 };

// Of the states of a session whose device does not fail.
static void take_snapshot(void)
{
    static play p;
    if (kept)
        return;
    need(start(&p, "[{\"name\":\"a\"}]", only_a, 0, 0), &p);
    need(steps(&p, 2), &p);
    need(tn_session_save(p.session, snapshot_path, NULL, &p.err), &p);
    need(tn_snapshot_open(snapshot_path, NULL, &kept, &p.err), &p);
    stop(&p);
}

// Each public call that uses devices or speaks of a schedule.
static tn_status call(play *p, int which)
{
    tn_session *session = p->session;
    const tn_sink words = { NULL, take_no_text };
    tn_graph_schedule schedule = { .size = sizeof schedule };
    uint32_t number, graph = p->numbers[0];
    float byte;
    switch (which) {
    case 0:
        return step(p, 0, true);
    case 1:
        return reset(p);
    case 2:
        return tn_session_save(session, snapshot_path, NULL, &p->err);
    case 3:
        return tn_session_add(session, p->graphs[1], &number, &p->err);
    case 4:
        return step(p, 1, true);
    case 5:
        return tn_session_read(session, graph, tn_graph_find(p->graphs[0], "out"), &byte,
                               sizeof byte, &p->err);
    case 6:
        return tn_session_restore(session, kept, NULL, &p->err);
    case 7:
        return tn_session_check(session, &p->err);
    case 8:
        return tn_session_graph_schedule(session, graph, &schedule, &p->err);
    case 9:
        return tn_session_segments(session, graph, &(tn_segment_sink){ NULL, take_no_segment },
                                   &p->err);
    case 10:
        return tn_session_copies(session, graph, &(tn_segment_copy_sink){ NULL, take_no_copy },
                                 &p->err);
    case 11:
        return tn_session_explain_name(session, graph, "a", &words, &p->err);
    case 12:
        return tn_session_explain_name(session, graph, "cache", &words, &p->err);
    case 13:
        return tn_session_explain_name(session, graph, "nothing", &words, &p->err);
    default:
        return tn_session_explain_name(session, p->numbers[1], "matmul", &words, &p->err);
    }
}

static void refuses_all(play *p, tn_status want, const char *words)
{
    for (int i = 0; i < CALLS_THAT_REFUSE; i++) {
        p->err = (tn_error){ 0 };
        tn_status status = call(p, i);
        if (status != want || !strstr(p->err.text, words))
            fail_msg("%d: %s %s", i, tn_status_name(status), p->err.text);
    }
}

// The calls that tell of devices, and of what is planned on each: all are left out.
static void tells_of_no_device(play *p)
{
    tn_memory_report memory = { .size = sizeof memory };
    tn_placement_report placement = { .size = sizeof placement };
    tn_session_memory(p->session, &memory);
    assert_int_equal(memory.arena_bytes + memory.state_bytes + memory.segment_count, 0);
    assert_int_equal(tn_session_placement(p->session, &placement, NULL, &p->err), TN_OK);
    assert_int_equal(placement.layer_count + placement.is_by_memory, 0);
    assert_int_equal(tn_session_graph_count(p->session), 2);
    for (uint32_t d = 0; d < tn_session_device_count(p->session); d++) {
        tn_device_memory device = { .size = sizeof device };
        tn_graph_memory graph = { .size = sizeof graph };
        tn_link_cost link = { .size = sizeof link };
        const tn_planned_value_sink values = { NULL, take_no_value };
        assert_int_equal(tn_session_device_memory(p->session, d, &device, &p->err), TN_OK);
        assert_int_equal(device.is_left_out, 1);
        assert_int_equal(tn_session_graph_memory(p->session, 0, d, &graph, &p->err), TN_OK);
        assert_int_equal(graph.peak_bytes + graph.step_count, 0);
        assert_int_equal(tn_session_values(p->session, 0, d, &values, &p->err), TN_OK);
        if (d)
            assert_int_equal(tn_session_link(p->session, 0, d, &link, &p->err), TN_OK);
        assert_int_equal(link.known_by, 0);
    }
    tn_session_forget(p->session, 1);
}

static void a_session_without_a_device_that_could_go_on_refuses_all(void **state)
{
    (void)state;
    static play p;
    static const struct {
        const char *devices;
        const char *const *names;
        tn_status status;
        const char *words[2];
    } cases[] = {
        { "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":3,\"lost\":true}}]",
          only_a,
          TN_E_DEVICE_LOST,
          { "call 3 of device a", "the device is lost" } },
        { "[{\"name\":\"a\",\"fail\":[{\"call\":\"work\",\"at\":5,\"status\":\"IO\"},"
          "{\"call\":\"work\",\"at\":6}]}]",
          only_a,
          TN_E_INTERNAL,
          { "call 5 of device a", "" } },
        { "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":3,\"lost\":true}},"
          "{\"name\":\"b\",\"fail\":{\"call\":\"queue_submit\",\"at\":2,\"lost\":true}}]",
          a_and_b,
          TN_E_DEVICE_LOST,
          { "call 3 of device a", "call 2 of device b" } },
        { "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":3,\"lost\":true}},"
          "{\"name\":\"b\",\"only\":[\"tanh\"]}]",
          a_and_b,
          TN_E_DEVICE_LOST,
          { "call 3 of device a", "b: this device has no" } },
        { "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":3,\"lost\":true}},"
          "{\"name\":\"b\",\"memory_bytes\":7000}]",
          a_and_b,
          TN_E_DEVICE_LOST,
          { "call 3 of device a",
            "7000 are free; a and b are the only devices that may be used" } },
    };
    take_snapshot();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        need(start(&p, cases[i].devices, cases[i].names, 0, 0), &p);
        tn_status status = steps(&p, 9);
        if (status != cases[i].status || !strstr(p.err.text, cases[i].words[0]) ||
            !strstr(p.err.text, cases[i].words[1]))
            fail_msg("%zu: %s %s", i, tn_status_name(status), p.err.text);
        refuses_all(&p, cases[i].status, cases[i].words[0]);
        events e = events_of(p.session);
        assert_int_equal(e.kinds[e.count - 1], TN_EVENT_STOPPED);
        assert_int_equal(tn_session_device_count(p.session), cases[i].names == only_a ? 1 : 2);
        assert_non_null(strstr(rig_explain(p.session), cases[i].words[0]));
        tells_of_no_device(&p);
        assert_int_equal(tn_session_drop(p.session, p.numbers[0], &p.err), TN_OK);
        stop(&p);
    }
}

// The run that meets the loss is wrong in itself: that is what it answers, and the session goes on.
static void a_wrong_index_stays_the_answer_when_a_device_is_lost(void **state)
{
    (void)state;
    for (int is_lost = 0; is_lost <= 1; is_lost++) {
        char devices[120];
        snprintf(
            devices, sizeof devices,
            "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":2%s}},{\"name\":\"b\"}]",
            is_lost ? ",\"lost\":true" : "");
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_graph *graph = rig_graph();
        static float table[16], got[4];
        tn_value rows = rig_input(graph, "x", 2, 4, 4, 1);
        tn_value index = tn_graph_input(graph, "index", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
        rig_finish(graph, tn_graph_get_rows(graph, rows, index));
        tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                          (const char *[]){ "a", "b", "cpu0", NULL });
        const int32_t indices[] = { 1, 99, 2 };
        rig_fill(table, 16, 1);
        for (int i = 0; i < 3; i++) {
            const tn_feed feeds[] = { { rows, table, sizeof table },
                                      { index, &indices[i], sizeof indices[i] } };
            tn_error err = { 0 };
            tn_status status = tn_session_run(session, 0, feeds, 2, &err);
            if (status != (i == 1 ? TN_E_DATA : TN_OK))
                fail_msg("run %d: %s", i, err.text);
        }
        rig_read(session, 0, graph, "out", got, sizeof got);
        assert_memory_equal(got, table + 8, sizeof got);
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        tn_runtime_destroy(runtime);
    }
}

static void without_failover_the_first_failure_is_the_answer(void **state)
{
    (void)state;
    static play p;
    need(start(&p, "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":3}}]", NULL,
               TN_SESSION_NO_FAILOVER, 0),
         &p);
    assert_int_equal(steps(&p, 9), TN_E_INTERNAL);
    assert_string_equal(p.err.text, "a: submit: queue_submit: call 3 of device a fails, as it is "
                                    "told to");
    assert_int_equal(events_of(p.session).count, 0);
    need(reset(&p), &p);   // goes on as it did
    need(steps(&p, 3), &p);
    stop(&p);
    static const char *const faults[] = { "open", "claim", "compile", "buffer_alloc" };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char devices[100], words[60];
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"fail\":{\"call\":\"%s\",\"status\":\"IO\"}}]", faults[i]);
        snprintf(words, sizeof words, "%s: call 1 of device a", faults[i]);
        assert_int_not_equal(start(&p, devices, NULL, TN_SESSION_NO_FAILOVER, 0), TN_OK);
        if (!strstr(p.err.text, words))
            fail_msg("%s", p.err.text);
        stop(&p);
    }
    assert_int_equal(start(&p, "[]", NULL, 1u << 7, 0), TN_E_ARG);
    stop(&p);
}

static void a_full_journal_begins_anew_with_the_states_as_they_are(void **state)
{
    (void)state;
    static play want, got;
    want_steps(&want, 9);
    const char
        *devices = "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":8,\"lost\":true}}]";
    need(start(&got, devices, NULL, 0, 1200), &got);   // two runs
    need(steps(&got, 9), &got);
    is_same(&want, &got, "a small journal");
    events e = events_of(got.session);
    if (e.repeated < 1 || e.repeated > 2)
        fail_msg("%" PRIu64 " runs were repeated: %s", e.repeated, rig_log());
    stop(&got);
    // One run is more than it holds: then there is nothing to go on from, until a reset.
    need(start(&got,
               "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":3,\"lost\":true}}]",
               NULL, 0, 64),
         &got);
    assert_int_equal(steps(&got, 9), TN_E_DEVICE_LOST);
    assert_non_null(strstr(got.err.text, "cannot be repeated"));
    assert_non_null(strstr(rig_log(), "more than the journal"));
    got.output_count = 0;
    tn_session_forget(got.session, 1);   // inputs are as if never fed
    need(reset(&got), &got);
    need(steps(&got, 9), &got);
    is_same(&want, &got, "after a reset");
    stop(&got);
}

// Without states the latest run is all that there is to repeat, whatever size is asked for.
static void without_states_the_smallest_journal_will_do(void **state)
{
    (void)state;
    enum { RUNS = 5 };
    float x[WIDTH], out[WIDTH];
    tn_graph *graph = rig_graph();
    rig_finish(graph, rig_op(graph, TNP_OP_TANH, rig_input(graph, "x", 1, WIDTH, 1, 1)));
    for (uint64_t bytes = 1; bytes < 40; bytes++) {
        const tn_session_options options = { .size = sizeof options, .journal_bytes = bytes };
        tn_runtime *runtime = rig_simulated(
            "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":3,\"lost\":true}}]", NULL);
        tn_session *session = NULL;
        tn_error err = { 0 };
        assert_int_equal(tn_session_create(runtime, (const tn_graph *const[]){ graph }, 1, &options,
                                           &session, &err),
                         TN_OK);
        for (uint32_t i = 0; i < RUNS; i++) {
            rig_fill(x, WIDTH, i);
            rig_run(session, 0, graph, "x", x, sizeof x, NULL);
            rig_read(session, 0, graph, "out", out, sizeof out);
            for (size_t k = 0; k < WIDTH; k++)
                assert_float_equal(out[k], tanhf(x[k]), 1e-6);
        }
        assert_true(events_of(session).count > 0);
        tn_session_destroy(session);
        tn_runtime_destroy(runtime);
    }
    tn_graph_destroy(graph);
}

static void outputs_from_before_a_reset_are_lost_with_their_device(void **state)
{
    (void)state;
    static play p;
    float out[WIDTH * LARGE];
    need(start(&p,
               "[{\"name\":\"a\",\"host_visible\":false,"
               "\"fail\":{\"call\":\"queue_copy\",\"at\":8,\"lost\":true}}]",
               NULL, 0, 0),
         &p);
    need(step(&p, 0, true), &p);
    need(reset(&p), &p);
    tn_value value = tn_graph_find(p.graphs[0], "out");
    tn_status status = TN_OK;
    for (int i = 0; i < 9 && status == TN_OK; i++)
        status = tn_session_read(p.session, 0, value, out, sizeof out, &p.err);
    assert_int_equal(status, TN_E_DEVICE_LOST);
    assert_non_null(strstr(p.err.text, "the run was before a reset"));
    need(steps(&p, 6), &p);   // the session goes on
    stop(&p);
}

// An allocation of the session fails, perhaps while it goes on.
static tn_status fail_over(const tn_allocator *allocator, void *context)
{
    const play *want = context;
    static play p;
    static const char devices[] =
        "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":4,\"lost\":true}}]";
    p = (play){ .runtime = rig_simulated(devices, NULL), .numbers = { 0, 1 } };
    tn_session_options options = { .size = sizeof options, .allocator = allocator };
    for (int i = 0; i < 2; i++)
        p.graphs[i] = make_graph(rows_of[i]);
    tn_status status = tn_session_create(p.runtime, (const tn_graph *const *)p.graphs, 2, &options,
                                         &p.session, &p.err);
    if (status == TN_OK)
        status = steps(&p, 9);
    if (status == TN_OK)
        is_same(want, &p, "all has its memory");
    else if (p.session)
        refuses_all(&p, status, "");
    if (status != TN_OK && status != TN_E_HOST_MEMORY && !strstr(p.err.text, "memory"))
        fail_msg("%s %s", tn_status_name(status), p.err.text);
    stop(&p);
    return status;
}

static void any_allocation_may_fail_meanwhile(void **state)
{
    (void)state;
    static play want;
    take_snapshot();
    want_steps(&want, 9);
    for_each_failing_allocation(fail_over, &want);
}

// ----------------------------------------------------------------------------------------- threads

typedef struct user {
    tn_runtime *runtime;
    play p;
    tn_status status;
} user;

static void *use(void *context)
{
    user *u = context;
    tn_session_options options = { .size = sizeof options };
    play *p = &u->p;
    u->status = tn_session_create(u->runtime, (const tn_graph *const *)p->graphs, 2, &options,
                                  &p->session, &p->err);
    if (u->status == TN_OK)
        u->status = steps(p, 9);
    return NULL;
}

static void sessions_on_one_device_that_is_lost_go_on_each_for_itself(void **state)
{
    (void)state;
    static play want;
    static user users[2];
    want_steps(&want, 9);
    for (unsigned at = 1; at < 40; at += 4) {
        char devices[100];
        pthread_t threads[2];
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":%u,\"lost\":true}}]",
                 at);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        for (int i = 0; i < 2; i++) {
            users[i] = (user){ .runtime = runtime, .p.numbers = { 0, 1 } };
            for (int g = 0; g < 2; g++)
                users[i].p.graphs[g] = make_graph(rows_of[g]);
        }
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, use, &users[i]), 0);
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < 2; i++) {
            need(users[i].status, &users[i].p);
            is_same(&want, &users[i].p, devices);
            tn_session_destroy(users[i].p.session);
            for (int g = 0; g < 2; g++)
                tn_graph_destroy(users[i].p.graphs[g]);
        }
        tn_runtime_destroy(runtime);
        assert_null(strstr(rig_log(), "not given back"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_done_devices_may_fail_at_any_time),
        cmocka_unit_test(a_device_that_fails_while_runs_are_repeated_is_left_out_too),
        cmocka_unit_test(a_device_that_fails_while_a_session_is_made_is_left_out),
        cmocka_unit_test(devices_keep_their_numbers_when_one_is_left_out),
        cmocka_unit_test(a_device_with_too_little_memory_gets_less),
        cmocka_unit_test(a_device_that_the_others_need_gets_another_try),
        cmocka_unit_test(a_session_without_a_device_that_could_go_on_refuses_all),
        cmocka_unit_test(a_wrong_index_stays_the_answer_when_a_device_is_lost),
        cmocka_unit_test(without_failover_the_first_failure_is_the_answer),
        cmocka_unit_test(a_full_journal_begins_anew_with_the_states_as_they_are),
        cmocka_unit_test(without_states_the_smallest_journal_will_do),
        cmocka_unit_test(outputs_from_before_a_reset_are_lost_with_their_device),
        cmocka_unit_test(any_allocation_may_fail_meanwhile),
        cmocka_unit_test(sessions_on_one_device_that_is_lost_go_on_each_for_itself),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
