// machinery_queue.c: queues, semaphores, copies and lost devices of the CPU plugin.
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "machinery_rig.h"

static float *floats(const test_rig *rig, uint64_t offset)
{
    return (float *)(void *)(rig->bytes + offset);
}

static void fill_floats(const test_rig *rig, uint64_t offset, float value)
{
    for (int i = 0; i < 64; i++)
        floats(rig, offset)[i] = value;
}

static tnp_status wait_for(test_rig *rig, tnp_semaphore *semaphore, uint64_t value)
{
    return rig->plugin->semaphore_wait(semaphore, value, UINT64_MAX, &rig->err);
}

static uint64_t value_of(test_rig *rig, tnp_semaphore *semaphore)
{
    uint64_t value = UINT64_MAX;
    assert_ok(rig->plugin->semaphore_read(semaphore, &value, &rig->err));
    return value;
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

// A device with a sum, a semaphore of the queue and one of the host.
typedef struct scene {
    test_rig rig;
    rig_sum sum;
    tnp_semaphore *done, *gate;
} scene;

static void scene_start(scene *s, uint32_t workers)
{
    rig_start(&s->rig, workers);
    rig_sum_make(&s->rig, &s->sum, 64, false, 0);
    fill_floats(&s->rig, 0, 0);
    fill_floats(&s->rig, 4096, 1);
    s->done = rig_semaphore(&s->rig, 0, 0);
    s->gate = rig_semaphore(&s->rig, TNP_SEMAPHORE_HOST, 0);
}

static void scene_stop(scene *s)
{
    s->rig.plugin->semaphore_destroy(s->done);
    s->rig.plugin->semaphore_destroy(s->gate);
    rig_sum_drop(&s->rig, &s->sum);
    rig_stop(&s->rig);
}

// The sum, waiting for `wait` of the gate (0 = at once) and raising done to `signal`.
static tnp_status submit_sum(scene *s, uint64_t wait, uint64_t signal, uint32_t flags)
{
    const tnp_point gate = { s->gate, wait }, done = { s->done, signal };
    return rig_submit(&s->rig, s->rig.queue, s->sum.bound, flags, wait ? &gate : NULL, &done, NULL,
                      0);
}

// ------------------------------------------------------------------------------------------- order

static void a_thousand_submits_without_a_wait_give_the_serial_result(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 2);
    tnp_queue *queue = rig_queue(&s.rig, s.rig.device, 1000);
    const uint32_t before = test_host_given(&s.rig.host);
    for (uint64_t i = 1; i <= 1000; i++) {
        const tnp_point done = { s.done, i };
        assert_ok(rig_submit(&s.rig, queue, s.sum.bound, 0, NULL, &done, NULL, 0));
    }
    assert_ok(wait_for(&s.rig, s.done, 1000));
    assert_int_equal(test_host_given(&s.rig.host), before);
    for (int i = 0; i < 64; i++)
        assert_true(floats(&s.rig, 0)[i] == 1000);
    s.rig.plugin->queue_destroy(queue);
    scene_stop(&s);
}

static void work_inside_the_call_is_done_when_it_returns(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 3);
    const uint32_t before = test_host_given(&s.rig.host);
    for (uint64_t i = 1; i <= 100; i++) {
        assert_ok(submit_sum(&s, 0, i, TNP_SUBMIT_INLINE));
        assert_int_equal(value_of(&s.rig, s.done), i);
    }
    assert_int_equal(test_host_given(&s.rig.host), before);
    assert_true(floats(&s.rig, 0)[63] == 100);
    scene_stop(&s);
}

static void inline_work_behind_pending_work_waits_its_turn(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 2);
    assert_ok(submit_sum(&s, 1, 1, 0));
    assert_ok(submit_sum(&s, 0, 2, TNP_SUBMIT_INLINE));
    assert_int_equal(value_of(&s.rig, s.done), 0);
    assert_ok(s.rig.plugin->semaphore_signal(s.gate, 1, &s.rig.err));
    assert_ok(wait_for(&s.rig, s.done, 2));
    assert_true(floats(&s.rig, 0)[0] == 2);
    scene_stop(&s);
}

static void a_submit_behind_an_unreached_wait_returns_at_once(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 2);
    double begin = now_ms();
    assert_ok(submit_sum(&s, 5, 1, 0));
    assert_true(now_ms() - begin < 100);
    assert_int_equal(s.rig.plugin->semaphore_wait(s.done, 1, 0, &s.rig.err), TNP_E_TIMEOUT);
    assert_int_equal(s.rig.plugin->semaphore_wait(s.done, 1, 1000000, &s.rig.err), TNP_E_TIMEOUT);
    assert_ok(s.rig.plugin->semaphore_signal(s.gate, 4, &s.rig.err));
    assert_int_equal(s.rig.plugin->semaphore_wait(s.done, 1, 1000000, &s.rig.err), TNP_E_TIMEOUT);
    assert_ok(s.rig.plugin->semaphore_signal(s.gate, 5, &s.rig.err));
    assert_ok(wait_for(&s.rig, s.done, 1));
    scene_stop(&s);
}

// Two queues hand the sum back and forth.
static void semaphores_order_two_queues(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 2);
    tnp_queue *queues[2] = { rig_queue(&s.rig, s.rig.device, 100),
                             rig_queue(&s.rig, s.rig.device, 100) };
    tnp_semaphore *turns[2] = { rig_semaphore(&s.rig, 0, 0), rig_semaphore(&s.rig, 0, 0) };
    for (uint64_t i = 1; i <= 100; i++) {
        const tnp_point last = { turns[1], i - 1 }, first = { turns[0], i },
                        second = { turns[1], i };
        assert_ok(rig_submit(&s.rig, queues[0], s.sum.bound, 0, &last, &first, NULL, 0));
        assert_ok(rig_submit(&s.rig, queues[1], s.sum.bound, 0, &first, &second, NULL, 0));
    }
    assert_ok(wait_for(&s.rig, turns[1], 100));
    assert_true(floats(&s.rig, 0)[5] == 200);
    for (int i = 0; i < 2; i++) {
        s.rig.plugin->queue_destroy(queues[i]);
        s.rig.plugin->semaphore_destroy(turns[i]);
    }
    scene_stop(&s);
}

static void a_full_queue_takes_nothing(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 2);
    for (uint64_t i = 1; i <= RIG_PENDING; i++)
        assert_ok(submit_sum(&s, 1, i, 0));
    assert_int_equal(submit_sum(&s, 1, RIG_PENDING + 1, 0), TNP_E_BUSY);
    assert_ok(s.rig.plugin->semaphore_signal(s.gate, 1, &s.rig.err));
    for (uint64_t i = 1; i <= 100; i++) {   // a signal makes room for one more
        assert_ok(wait_for(&s.rig, s.done, i));
        assert_ok(submit_sum(&s, 0, RIG_PENDING + i, 0));
    }
    assert_ok(wait_for(&s.rig, s.done, RIG_PENDING + 100));
    assert_true(floats(&s.rig, 0)[0] == RIG_PENDING + 100);
    scene_stop(&s);
}

static void more_than_the_queue_was_made_for_is_refused(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 1);
    const tnp_point points[RIG_POINTS + 1] = { { s.done, 1 }, { s.done, 2 }, { s.done, 3 } };
    char data[RIG_UPDATE_BYTES + 4] = { 0 };
    const tnp_update updates[RIG_UPDATES + 1] = { { 0, 4, 0, data },
                                                  { 0, 4, 0, data },
                                                  { 0, 4, 0, data } };
    const tnp_update large = { 0, sizeof data, 0, data }, outside = { 0, 8, 252, data },
                     nowhere = { 9, 4, 0, data };
    tnp_sync sync = { .size = sizeof sync, .signal_count = RIG_POINTS + 1, .signals = points };
    tnp_submit submit = { .size = sizeof submit, .sync = &sync };
    const tnp_submit *submits[RIG_PENDING + 1] = { &submit, &submit, &submit, &submit, &submit };
    assert_int_equal(s.rig.plugin->queue_submit(s.rig.queue, submits, 1, &s.rig.err), TNP_E_ARG);
    sync.signal_count = 0;
    assert_int_equal(s.rig.plugin->queue_submit(s.rig.queue, submits, RIG_PENDING + 1, &s.rig.err),
                     TNP_E_ARG);
    assert_int_equal(rig_submit(&s.rig, s.rig.queue, s.sum.bound, 0, NULL, NULL, updates, 3),
                     TNP_E_ARG);
    assert_int_equal(rig_submit(&s.rig, s.rig.queue, s.sum.bound, 0, NULL, NULL, &large, 1),
                     TNP_E_ARG);
    assert_int_equal(rig_submit(&s.rig, s.rig.queue, s.sum.bound, 0, NULL, NULL, &outside, 1),
                     TNP_E_ARG);
    assert_int_equal(rig_submit(&s.rig, s.rig.queue, s.sum.bound, 0, NULL, NULL, &nowhere, 1),
                     TNP_E_ARG);
    submit.flags = 1u << 20;
    assert_int_equal(s.rig.plugin->queue_submit(s.rig.queue, submits, 1, &s.rig.err),
                     TNP_E_UNSUPPORTED);
    const tnp_point wrong = { s.gate, 1 };
    assert_int_equal(rig_submit(&s.rig, s.rig.queue, NULL, 0, NULL, &wrong, NULL, 0), TNP_E_ARG);
    scene_stop(&s);
}

// ---------------------------------------------------------------------------------------- failures

static void a_failure_passes_to_what_waits_and_no_further(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 2);
    tnp_semaphore *other = rig_semaphore(&s.rig, 0, 0);
    const tnp_point gate = { s.gate, 1 }, first = { s.done, 1 }, second = { other, 1 };
    assert_ok(rig_submit(&s.rig, s.rig.queue, s.sum.bound, 0, &gate, &first, NULL, 0));
    assert_ok(rig_submit(&s.rig, s.rig.queue, s.sum.bound, 0, NULL, &second, NULL, 0));
    assert_ok(s.rig.plugin->semaphore_fail(s.gate, TNP_E_IO, "the source is gone", &s.rig.err));
    assert_int_equal(wait_for(&s.rig, s.done, 1), TNP_E_IO);
    assert_string_equal(s.rig.err.text, "the source is gone");
    assert_ok(wait_for(&s.rig, other, 1));
    assert_true(floats(&s.rig, 0)[0] == 1);
    uint64_t value;
    assert_int_equal(s.rig.plugin->semaphore_read(s.done, &value, &s.rig.err), TNP_E_IO);
    assert_ok(s.rig.plugin->semaphore_fail(s.done, TNP_E_INTERNAL, "later", &s.rig.err));
    assert_int_equal(wait_for(&s.rig, s.done, 1), TNP_E_IO);   // the first failure stays
    assert_ok(wait_for(&s.rig, s.done, 0));                    // and what was reached was
    assert_ok(s.rig.plugin->semaphore_signal(s.gate, 1, &s.rig.err));
    assert_int_equal(wait_for(&s.rig, s.gate, 1), TNP_E_IO);
    s.rig.plugin->semaphore_destroy(other);
    scene_stop(&s);
}

static void work_whose_signal_has_failed_never_starts(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 2);
    tnp_semaphore *other = rig_semaphore(&s.rig, 0, 0);
    const tnp_point second = { other, 1 };
    assert_ok(submit_sum(&s, 1, 1, 0));   // waits for ever
    assert_ok(rig_submit(&s.rig, s.rig.queue, s.sum.bound, 0, NULL, &second, NULL, 0));
    assert_ok(s.rig.plugin->semaphore_fail(s.done, TNP_E_CANCELLED, "given up", &s.rig.err));
    assert_int_equal(wait_for(&s.rig, s.done, 1), TNP_E_CANCELLED);
    assert_ok(wait_for(&s.rig, other, 1));
    assert_true(floats(&s.rig, 0)[0] == 1);
    assert_ok(submit_sum(&s, 0, 2, 0));   // taken, and never started
    const tnp_point third = { other, 2 };
    assert_ok(rig_submit(&s.rig, s.rig.queue, NULL, 0, NULL, &third, NULL, 0));
    assert_ok(wait_for(&s.rig, other, 2));
    assert_true(floats(&s.rig, 0)[0] == 1);
    s.rig.plugin->semaphore_destroy(other);
    scene_stop(&s);
}

typedef struct test_failer { test_rig *rig; tnp_semaphore *semaphore; } test_failer;

static void *fail_it(void *argument)
{
    test_failer *failer = argument;
    tnp_error err = { .size = sizeof err };
    (void)failer->rig->plugin->semaphore_fail(failer->semaphore, TNP_E_CANCELLED, "given up", &err);
    return NULL;
}

// Whoever sees the failure may free all that the work uses, so it must be seen late enough.
static void a_failure_is_seen_when_nothing_runs_any_more(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 1);
    for (int round = 0; round < 200; round++) {
        rig_sum sum;
        pthread_t thread;
        tnp_semaphore *done = rig_semaphore(&s.rig, 0, 0);
        test_failer failer = { &s.rig, done };
        rig_sum_make(&s.rig, &sum, 512, false, 0);
        assert_int_equal(pthread_create(&thread, NULL, fail_it, &failer), 0);
        for (uint64_t i = 1; i <= RIG_PENDING; i++) {
            const tnp_point signal = { done, i };
            assert_ok(rig_submit(&s.rig, s.rig.queue, sum.bound, 0, NULL, &signal, NULL, 0));
            if (round % 3 == 0)
                sched_yield();
        }
        tnp_status status = wait_for(&s.rig, done, RIG_PENDING);
        assert_true(status == TNP_OK || status == TNP_E_CANCELLED);
        rig_sum_drop(&s.rig, &sum);
        pthread_join(thread, NULL);
        s.rig.plugin->semaphore_destroy(done);
        // The work let go still leaves the queue.
        for (tnp_status idle = TNP_E_BUSY; idle == TNP_E_BUSY;) {
            const tnp_point signal = { s.done, (uint64_t)round + 1 };
            idle = rig_submit(&s.rig, s.rig.queue, NULL, 0, NULL, &signal, NULL, 0);
        }
        assert_ok(wait_for(&s.rig, s.done, (uint64_t)round + 1));
    }
    scene_stop(&s);
}

static void a_long_reason_is_cut_at_a_character(void **state)
{
    scene s;
    char text[1200] = "";
    (void)state;
    scene_start(&s, 1);
    for (int i = 0; i < 300; i++)
        strcat(text, "\xe2\x82\xac");   // the euro sign: 503 is no multiple of its three bytes
    assert_ok(s.rig.plugin->semaphore_fail(s.gate, TNP_E_IO, text, &s.rig.err));
    assert_int_equal(wait_for(&s.rig, s.gate, 1), TNP_E_IO);
    assert_int_equal(strlen(s.rig.err.text), 501);
    scene_stop(&s);
}

static void a_destroyed_queue_fails_what_has_not_started(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 2);
    tnp_queue *queue = rig_queue(&s.rig, s.rig.device, 8);
    tnp_semaphore *others[3];
    for (int i = 0; i < 3; i++) {
        others[i] = rig_semaphore(&s.rig, 0, 0);
        const tnp_point wait = { s.gate, 1 }, signal = { others[i], 1 };
        assert_ok(
            rig_submit(&s.rig, queue, s.sum.bound, 0, i == 0 ? &wait : NULL, &signal, NULL, 0));
    }
    s.rig.plugin->queue_destroy(queue);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(s.rig.plugin->semaphore_wait(others[i], 1, 0, &s.rig.err),
                         TNP_E_CANCELLED);
        s.rig.plugin->semaphore_destroy(others[i]);
    }
    assert_true(floats(&s.rig, 0)[0] == 0);
    scene_stop(&s);
}

// ----------------------------------------------------------------------------------------- notices

typedef struct test_told { atomic_int calls; tnp_status status; char text[64]; } test_told;

static void reached(tnp_notice *notice, tnp_status status, const char *text)
{
    test_told *told = notice->argument;
    told->status = status;
    strncpy(told->text, text, sizeof told->text - 1);
    atomic_fetch_add(&told->calls, 1);
}

static tnp_notice notice_for(test_told *told, uint64_t value)
{
    return (tnp_notice){
        .size = sizeof(tnp_notice), .value = value, .reached = reached, .argument = told
    };
}

static void a_notice_comes_once_and_on_failure_too(void **state)
{
    scene s;
    test_told tolds[4] = { 0 };
    tnp_notice notices[4] = { notice_for(&tolds[0], 0), notice_for(&tolds[1], 1),
                              notice_for(&tolds[2], 2), notice_for(&tolds[3], 2) };
    (void)state;
    scene_start(&s, 2);
    for (int i = 0; i < 4; i++)
        assert_ok(s.rig.plugin->semaphore_notify(s.done, &notices[i], &s.rig.err));
    assert_int_equal(tolds[0].calls, 1);
    assert_int_equal(tolds[1].calls, 0);
    assert_ok(submit_sum(&s, 0, 1, TNP_SUBMIT_INLINE));
    assert_int_equal(tolds[1].calls, 1);
    assert_int_equal(tolds[1].status, TNP_OK);
    assert_int_equal(tolds[2].calls, 0);
    assert_ok(s.rig.plugin->semaphore_fail(s.done, TNP_E_IO, "gone", &s.rig.err));
    for (int i = 0; i < 4; i++)
        assert_int_equal(tolds[i].calls, 1);
    assert_int_equal(tolds[3].status, TNP_E_IO);
    assert_string_equal(tolds[3].text, "gone");
    test_told late[2] = { 0 };
    tnp_notice late_notices[2] = { notice_for(&late[0], 1), notice_for(&late[1], 2) };
    for (int i = 0; i < 2; i++)
        assert_ok(s.rig.plugin->semaphore_notify(s.done, &late_notices[i], &s.rig.err));
    assert_int_equal(late[0].status, TNP_OK);
    assert_int_equal(late[1].status, TNP_E_IO);
    scene_stop(&s);
}

// A semaphore may go as soon as a wait for its last signal returns; the notice still comes.
static void a_notice_outlives_its_semaphore(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 1);
    for (int i = 0; i < 200; i++) {
        test_told told = { 0 };
        tnp_notice notice = notice_for(&told, 1);
        tnp_semaphore *once = rig_semaphore(&s.rig, 0, 0);
        const tnp_point signal = { once, 1 };
        assert_ok(s.rig.plugin->semaphore_notify(once, &notice, &s.rig.err));
        assert_ok(rig_submit(&s.rig, s.rig.queue, s.sum.bound, 0, NULL, &signal, NULL, 0));
        assert_ok(wait_for(&s.rig, once, 1));
        s.rig.plugin->semaphore_destroy(once);
        while (atomic_load(&told.calls) == 0)
            sched_yield();
        assert_int_equal(told.status, TNP_OK);
    }
    scene_stop(&s);
}

// ------------------------------------------------------------------------------------------ copies

static void copies_take_rows_and_zeros(void **state)
{
    scene s;
    char from[64], to[64];
    (void)state;
    scene_start(&s, 1);
    for (int i = 0; i < 64; i++)
        from[i] = (char)i;
    memset(to, 9, sizeof to);
    const uint32_t before = test_host_given(&s.rig.host);
    const tnp_copy in = { .size = sizeof in,
                          .to_buffer = s.rig.buffer,
                          .from_host = from,
                          .to_offset = 100,
                          .bytes = 4,
                          .rows = 3,
                          .from_pitch = 16,
                          .to_pitch = 8 };
    const tnp_copy zeros = {
        .size = sizeof zeros, .to_buffer = s.rig.buffer, .to_offset = 200, .bytes = 16, .rows = 1
    };
    const tnp_copy out = { .size = sizeof out,
                           .from_buffer = s.rig.buffer,
                           .from_offset = 100,
                           .to_host = to,
                           .bytes = 20,
                           .rows = 1 };
    const tnp_copy *first[] = { &in, &zeros }, *second[] = { &out };
    const tnp_point done[] = { { s.done, 1 }, { s.done, 2 } };
    tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &done[0] };
    memset(s.rig.bytes + 100, 7, 200);
    assert_ok(s.rig.plugin->queue_copy(s.rig.queue, first, 2, &sync, &s.rig.err));
    sync.signals = &done[1];
    assert_ok(s.rig.plugin->queue_copy(s.rig.queue, second, 1, &sync, &s.rig.err));
    assert_ok(wait_for(&s.rig, s.done, 2));
    assert_int_equal(test_host_given(&s.rig.host), before);
    static const char expected[] = { 0,  1, 2, 3, 7, 7,  7,  7,  16, 17, 18,
                                     19, 7, 7, 7, 7, 32, 33, 34, 35, 9 };
    assert_memory_equal(to, expected, sizeof expected);
    assert_int_equal(s.rig.bytes[199], 7);
    assert_int_equal(s.rig.bytes[200], 0);
    assert_int_equal(s.rig.bytes[216], 7);
    scene_stop(&s);
}

static void a_copy_outside_a_buffer_is_refused(void **state)
{
    static const struct {
        const char *says;
        uint64_t offset, bytes, rows, pitch;
        tnp_status status;
    } cases[] = {
        { "the last byte", RIG_BUFFER_BYTES - 1, 1, 1, 0, TNP_OK },
        { "one byte too many", RIG_BUFFER_BYTES - 1, 2, 1, 0, TNP_E_ARG },
        { "a last row outside", 0, 1, 3, RIG_BUFFER_BYTES / 2, TNP_E_ARG },
        { "no bytes", 0, 0, 1, 0, TNP_E_ARG },
        { "no rows", 0, 1, 0, 0, TNP_E_ARG },
        { "rows that wrap around", 0, 1, 3, (uint64_t)1 << 63, TNP_E_ARG },
        { "an offset that wraps around", UINT64_MAX, 2, 1, 0, TNP_E_ARG },
    };
    scene s;
    char byte[RIG_BUFFER_BYTES] = { 0 };
    (void)state;
    scene_start(&s, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tnp_copy copy = { .size = sizeof copy,
                                .to_buffer = s.rig.buffer,
                                .from_host = byte,
                                .to_offset = cases[i].offset,
                                .bytes = cases[i].bytes,
                                .rows = cases[i].rows,
                                .to_pitch = cases[i].pitch };
        const tnp_copy *copies[] = { &copy };
        const tnp_sync sync = { .size = sizeof sync };
        tnp_status status = s.rig.plugin->queue_copy(s.rig.queue, copies, 1, &sync, &s.rig.err);
        if (status != cases[i].status)
            fail_msg("%s: %d %s", cases[i].says, status, s.rig.err.text);
    }
    scene_stop(&s);
}

// ------------------------------------------------------------------------------------ lost devices

static void an_abandoned_device_fails_what_is_pending(void **state)
{
    scene s;
    test_told told = { 0 };
    tnp_notice notice = notice_for(&told, 1);
    (void)state;
    scene_start(&s, 2);
    assert_ok(s.rig.plugin->semaphore_notify(s.done, &notice, &s.rig.err));
    assert_ok(submit_sum(&s, 1, 1, 0));
    assert_ok(submit_sum(&s, 0, 2, 0));
    s.rig.plugin->abandon(s.rig.device);
    assert_int_equal(told.status, TNP_E_DEVICE_LOST);
    assert_int_equal(wait_for(&s.rig, s.done, 2), TNP_E_DEVICE_LOST);
    assert_int_equal(submit_sum(&s, 0, 3, 0), TNP_E_DEVICE_LOST);
    const tnp_alloc alloc = { .size = sizeof alloc, .bytes = 64 };
    tnp_buffer *buffer;
    assert_int_equal(s.rig.plugin->buffer_alloc(s.rig.device, &alloc, &buffer, &s.rig.err),
                     TNP_E_DEVICE_LOST);
    tnp_semaphore *semaphore;
    const tnp_semaphore_options options = { .size = sizeof options };
    assert_int_equal(s.rig.plugin->semaphore_create(s.rig.device, &options, &semaphore, &s.rig.err),
                     TNP_E_DEVICE_LOST);
    assert_true(floats(&s.rig, 0)[0] == 0);
    scene_stop(&s);
}

static void another_device_goes_on_when_one_is_lost(void **state)
{
    scene s;
    (void)state;
    scene_start(&s, 1);
    const tnp_open open = { .size = sizeof open };
    tnp_device *other;
    assert_ok(s.rig.plugin->open(s.rig.instance, &open, &other, &s.rig.err));
    s.rig.plugin->abandon(other);
    s.rig.plugin->close(other);
    assert_ok(submit_sum(&s, 0, 1, 0));
    assert_ok(wait_for(&s.rig, s.done, 1));
    scene_stop(&s);
}

// The host's trace hangs. Nothing of this device waits for it, and what the thread may still touch
// is left alone.
static void work_that_hangs_holds_nobody_up(void **state)
{
    static scene s;   // the thread left over looks at it after the test
    (void)state;
    scene_start(&s, 1);
    rig_sum traced;
    rig_sum_make(&s.rig, &traced, 64, false, TNP_BIND_TRACE);
    const tnp_point done = { s.done, 1 };
    pthread_mutex_lock(&s.rig.host.trace_gate);
    assert_ok(rig_submit(&s.rig, s.rig.queue, traced.bound, 0, NULL, &done, NULL, 0));
    while (atomic_load(&s.rig.host.in_trace) == 0)
        sched_yield();
    assert_ok(s.rig.plugin->semaphore_fail(s.done, TNP_E_CANCELLED, "given up", &s.rig.err));
    // It still runs.
    assert_int_equal(s.rig.plugin->semaphore_wait(s.done, 1, 1000000, &s.rig.err), TNP_E_TIMEOUT);
    s.rig.plugin->abandon(s.rig.device);
    assert_int_equal(wait_for(&s.rig, s.done, 1), TNP_E_CANCELLED);
    s.rig.plugin->semaphore_destroy(s.done);
    s.rig.plugin->semaphore_destroy(s.gate);
    rig_sum_drop(&s.rig, &traced);
    rig_sum_drop(&s.rig, &s.sum);
    s.rig.plugin->buffer_free(s.rig.buffer);
    s.rig.plugin->queue_destroy(s.rig.queue);
    s.rig.plugin->close(s.rig.device);
    s.rig.plugin->stop(s.rig.instance);
    assert_true(test_host_live(&s.rig.host) > 0);
    pthread_mutex_unlock(&s.rig.host.trace_gate);
    usleep(20000);
    assert_int_equal(atomic_load(&s.rig.host.in_trace), 1);
}

static void a_queue_leaves_the_signal_mask_alone(void **state)
{
    test_rig rig;
    sigset_t before, after;
    (void)state;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    rig_start(&rig, 1);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_memory_equal(&before, &after, sizeof before);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_submits_without_a_wait_give_the_serial_result),
        cmocka_unit_test(work_inside_the_call_is_done_when_it_returns),
        cmocka_unit_test(inline_work_behind_pending_work_waits_its_turn),
        cmocka_unit_test(a_submit_behind_an_unreached_wait_returns_at_once),
        cmocka_unit_test(semaphores_order_two_queues),
        cmocka_unit_test(a_full_queue_takes_nothing),
        cmocka_unit_test(more_than_the_queue_was_made_for_is_refused),
        cmocka_unit_test(a_failure_passes_to_what_waits_and_no_further),
        cmocka_unit_test(work_whose_signal_has_failed_never_starts),
        cmocka_unit_test(a_failure_is_seen_when_nothing_runs_any_more),
        cmocka_unit_test(a_long_reason_is_cut_at_a_character),
        cmocka_unit_test(a_destroyed_queue_fails_what_has_not_started),
        cmocka_unit_test(a_notice_comes_once_and_on_failure_too),
        cmocka_unit_test(a_notice_outlives_its_semaphore),
        cmocka_unit_test(copies_take_rows_and_zeros),
        cmocka_unit_test(a_copy_outside_a_buffer_is_refused),
        cmocka_unit_test(an_abandoned_device_fails_what_is_pending),
        cmocka_unit_test(another_device_goes_on_when_one_is_lost),
        cmocka_unit_test(work_that_hangs_holds_nobody_up),
        cmocka_unit_test(a_queue_leaves_the_signal_mask_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
