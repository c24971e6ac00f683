// timeline.c: queues and semaphores of a plugin, without any program: order, failure, notices, what
// may be destroyed when. Called as `timeline PLUGIN.so`.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <tenon/plugin.h>

#include "small_host.h"

enum { PENDING = 4 };

static const tnp_plugin *table;

typedef struct rig {
    tnp_instance *instance;
    tnp_device *device;
    tnp_queue *queue;
    tnp_semaphore *gate;   // of the host
    tnp_semaphore *done;
    tnp_error err;
} rig;

#define assert_ok(status) assert_int_equal((status), TNP_OK)

static tnp_semaphore *semaphore(rig *r, uint32_t flags)
{
    tnp_semaphore_options how = { .size = sizeof how, .flags = flags };
    tnp_semaphore *made;
    assert_ok(table->semaphore_create(r->device, &how, &made, &r->err));
    return made;
}

static tnp_queue *queue(rig *r)
{
    tnp_queue_options how = {
        .size = sizeof how, .kind = TNP_QUEUE_COMPUTE, .pending = PENDING, .points = 2, .copies = 2
    };
    tnp_queue *made;
    assert_ok(table->queue_create(r->device, &how, &made, &r->err));
    return made;
}

static void start(rig *r)
{
    tnp_device_info info = { .size = sizeof info };
    *r = (rig){ .err = { .size = sizeof r->err } };
    assert_ok(table->start(&host, &r->instance, &r->err));
    assert_ok(table->device_info(r->instance, 0, &info, &r->err));
    tnp_open what = { .size = sizeof what, .id = info.id };
    assert_ok(table->open(r->instance, &what, &r->device, &r->err));
    r->queue = queue(r);
    r->gate = semaphore(r, TNP_SEMAPHORE_HOST);
    r->done = semaphore(r, 0);
}

static void stop(rig *r)
{
    if (r->queue)
        table->queue_destroy(r->queue);
    table->semaphore_destroy(r->gate);
    table->semaphore_destroy(r->done);
    table->close(r->device);
    table->stop(r->instance);
}

// A piece of work that only waits and signals. A semaphore of NULL: none.
static tnp_status submit(rig *r, tnp_queue *q, tnp_semaphore *wait, uint64_t value,
                         tnp_semaphore *signal, uint64_t to)
{
    tnp_point waits = { wait, value }, signals = { signal, to };
    tnp_sync sync = { .size = sizeof sync,
                      .wait_count = wait != NULL,
                      .signal_count = signal != NULL,
                      .waits = &waits,
                      .signals = &signals };
    tnp_submit work = { .size = sizeof work, .sync = &sync };
    const tnp_submit *works[] = { &work };
    return table->queue_submit(q, works, 1, &r->err);
}

static tnp_status wait_for(rig *r, tnp_semaphore *s, uint64_t value)
{
    return table->semaphore_wait(s, value, UINT64_C(5000000000), &r->err);
}

static void a_submit_behind_an_unreached_wait_returns_and_runs_when_it_is_reached(void **state)
{
    (void)state;
    rig r;
    uint64_t value = 9;
    start(&r);
    assert_ok(submit(&r, r.queue, r.gate, 3, r.done, 7));
    assert_int_equal(table->semaphore_wait(r.done, 7, 0, &r.err), TNP_E_TIMEOUT);
    assert_int_equal(table->semaphore_wait(r.done, 7, 1000000, &r.err), TNP_E_TIMEOUT);
    assert_ok(table->semaphore_read(r.done, &value, &r.err));
    assert_int_equal(value, 0);
    assert_ok(table->semaphore_signal(r.gate, 3, &r.err));
    assert_ok(wait_for(&r, r.done, 7));
    assert_ok(table->semaphore_read(r.done, &value, &r.err));
    assert_int_equal(value, 7);
    assert_ok(table->semaphore_signal(r.gate, 2, &r.err));   // reached already: changes nothing
    assert_ok(table->semaphore_read(r.gate, &value, &r.err));
    assert_int_equal(value, 3);
    assert_int_equal(table->semaphore_signal(r.done, 8, &r.err), TNP_E_ARG);
    stop(&r);
}

static void a_full_queue_takes_nothing_and_has_room_after_a_signal(void **state)
{
    (void)state;
    rig r;
    start(&r);
    for (uint64_t round = 1; round <= 200; round++) {
        uint64_t base = (round - 1) * PENDING;
        for (uint64_t i = 1; i <= PENDING; i++)
            assert_ok(submit(&r, r.queue, r.gate, round, r.done, base + i));
        assert_int_equal(submit(&r, r.queue, NULL, 0, r.done, base + 99), TNP_E_BUSY);
        assert_ok(table->semaphore_signal(r.gate, round, &r.err));
        assert_ok(wait_for(&r, r.done, base + PENDING));
    }
    stop(&r);
}

static void two_queues_are_ordered_by_semaphores(void **state)
{
    (void)state;
    rig r;
    start(&r);
    tnp_queue *other = queue(&r);
    tnp_semaphore *back = semaphore(&r, 0);
    for (uint64_t i = 1; i <= 500; i++) {
        assert_ok(submit(&r, r.queue, i > 1 ? back : NULL, i - 1, r.done, i));
        assert_ok(submit(&r, other, r.done, i, back, i));
        assert_ok(wait_for(&r, back, i));
    }
    table->queue_destroy(other);
    table->semaphore_destroy(back);
    stop(&r);
}

static void a_failure_passes_to_what_waits_and_no_further(void **state)
{
    (void)state;
    rig r;
    start(&r);
    tnp_queue *other = queue(&r);
    tnp_semaphore *second = semaphore(&r, 0), *third = semaphore(&r, 0);
    assert_ok(submit(&r, r.queue, r.gate, 1, r.done, 1));
    assert_ok(submit(&r, other, r.done, 1, second, 1));
    assert_ok(submit(&r, other, NULL, 0, third, 1));
    assert_ok(table->semaphore_fail(r.gate, TNP_E_DATA, "a bad index", &r.err));
    assert_int_equal(wait_for(&r, second, 1), TNP_E_DATA);
    assert_string_equal(r.err.text, "a bad index");
    assert_int_equal(wait_for(&r, r.done, 1), TNP_E_DATA);
    assert_ok(wait_for(&r, third, 1));
    assert_ok(table->semaphore_fail(r.done, TNP_E_IO, "later", &r.err));   // the first stays
    uint64_t value;
    assert_int_equal(table->semaphore_read(r.done, &value, &r.err), TNP_E_DATA);
    table->semaphore_destroy(second);
    table->semaphore_destroy(third);
    table->queue_destroy(other);
    stop(&r);
}

// All signals of a piece of work have failed: what it names is not in use any more, even though it
// is still in the queue.
static void what_failed_work_names_may_be_destroyed_before_its_turn(void **state)
{
    (void)state;
    rig r;
    start(&r);
    tnp_semaphore *gate = semaphore(&r, TNP_SEMAPHORE_HOST), *signal = semaphore(&r, 0);
    tnp_alloc ask = { .size = sizeof ask, .bytes = 4096 };
    tnp_buffer *buffer;
    assert_ok(table->buffer_alloc(r.device, &ask, &buffer, &r.err));
    assert_ok(submit(&r, r.queue, r.gate, 1, r.done, 1));   // holds the queue up
    tnp_point waits = { gate, 1 }, signals = { signal, 1 };
    tnp_sync sync = { .size = sizeof sync,
                      .wait_count = 1,
                      .signal_count = 1,
                      .waits = &waits,
                      .signals = &signals };
    tnp_copy copy = { .size = sizeof copy, .to_buffer = buffer, .bytes = 4096, .rows = 1 };
    const tnp_copy *copies[] = { &copy };
    assert_ok(table->queue_copy(r.queue, copies, 1, &sync, &r.err));
    assert_ok(table->semaphore_fail(signal, TNP_E_CANCELLED, "given up", &r.err));
    assert_int_equal(wait_for(&r, signal, 1), TNP_E_CANCELLED);
    table->semaphore_destroy(gate);
    table->semaphore_destroy(signal);
    table->buffer_free(buffer);
    assert_ok(table->semaphore_signal(r.gate, 1, &r.err));
    assert_ok(wait_for(&r, r.done, 1));
    assert_ok(submit(&r, r.queue, NULL, 0, r.done, 2));   // its turn has come and gone
    assert_ok(wait_for(&r, r.done, 2));
    stop(&r);
}

typedef struct heard {
    atomic_int count;
    tnp_status status;
    char text[64];
    rig *rig;
} heard;

// Calls back into the plugin, which must hold no lock.
static void hear(tnp_notice *notice, tnp_status status, const char *text)
{
    heard *h = notice->argument;
    uint64_t value;
    tnp_error err = { .size = sizeof err };
    (void)table->semaphore_read(h->rig->gate, &value, &err);
    h->status = status;
    snprintf(h->text, sizeof h->text, "%s", text);
    atomic_fetch_add(&h->count, 1);
}

static void wait_heard(const heard *h, tnp_status status, const char *text)
{
    for (int i = 0; i < 5000 && atomic_load(&h->count) == 0; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    assert_int_equal(atomic_load(&h->count), 1);
    assert_int_equal(h->status, status);
    assert_string_equal(h->text, text);
}

static void a_notice_comes_once_for_each_end(void **state)
{
    (void)state;
    rig r;
    start(&r);
    if (!table->semaphore_notify) {
        stop(&r);
        skip();
    }
    heard told[4] = { { .rig = &r }, { .rig = &r }, { .rig = &r }, { .rig = &r } };
    tnp_notice notice[4];
    tnp_semaphore *doomed = semaphore(&r, 0);
    for (int i = 0; i < 4; i++)
        notice[i] = (tnp_notice){
            .size = sizeof *notice, .value = i == 1 ? 2 : 1, .reached = hear, .argument = &told[i]
        };
    assert_ok(submit(&r, r.queue, r.gate, 1, r.done, 1));
    assert_ok(table->semaphore_notify(r.done, &notice[0], &r.err));
    assert_ok(table->semaphore_notify(r.done, &notice[1], &r.err));
    assert_ok(table->semaphore_notify(doomed, &notice[2], &r.err));
    assert_int_equal(atomic_load(&told[0].count), 0);
    assert_ok(table->semaphore_signal(r.gate, 1, &r.err));
    wait_heard(&told[0], TNP_OK, "");
    assert_ok(table->semaphore_notify(r.done, &notice[3], &r.err));   // reached already
    wait_heard(&told[3], TNP_OK, "");
    assert_ok(table->semaphore_fail(r.done, TNP_E_IO, "no more", &r.err));
    wait_heard(&told[1], TNP_E_IO, "no more");
    table->semaphore_destroy(doomed);
    for (int i = 0; i < 5000 && atomic_load(&told[2].count) == 0; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    assert_int_equal(atomic_load(&told[2].count), 1);
    assert_int_equal(told[2].status, TNP_E_CANCELLED);
    assert_int_equal(atomic_load(&told[0].count), 1);
    stop(&r);
}

static void a_destroyed_queue_fails_what_has_not_started(void **state)
{
    (void)state;
    rig r;
    start(&r);
    assert_ok(submit(&r, r.queue, r.gate, 1, r.done, 1));
    table->queue_destroy(r.queue);
    r.queue = NULL;
    assert_int_equal(wait_for(&r, r.done, 1), TNP_E_CANCELLED);
    stop(&r);
}

static void an_abandoned_device_answers_so_and_can_be_closed(void **state)
{
    (void)state;
    rig r;
    uint64_t value;
    tnp_buffer *buffer = NULL;
    tnp_alloc ask = { .size = sizeof ask, .bytes = 64 };
    start(&r);
    assert_ok(submit(&r, r.queue, r.gate, 1, r.done, 1));
    table->abandon(r.device);
    assert_int_equal(wait_for(&r, r.done, 1), TNP_E_DEVICE_LOST);
    assert_int_equal(table->semaphore_read(r.gate, &value, &r.err), TNP_E_DEVICE_LOST);
    assert_int_equal(submit(&r, r.queue, NULL, 0, r.done, 2), TNP_E_DEVICE_LOST);
    assert_int_equal(table->buffer_alloc(r.device, &ask, &buffer, &r.err), TNP_E_DEVICE_LOST);
    assert_null(buffer);
    stop(&r);
}

static void copies_take_rows_and_zeros(void **state)
{
    (void)state;
    rig r;
    start(&r);
    char from[4][8], to[4][8];
    for (int i = 0; i < 32; i++)
        from[i / 8][i % 8] = (char)(i + 1);
    memset(to, 99, sizeof to);
    tnp_alloc ask = { .size = sizeof ask, .bytes = 64 };
    tnp_buffer *buffer;
    assert_ok(table->buffer_alloc(r.device, &ask, &buffer, &r.err));
    tnp_copy zero = { .size = sizeof zero, .to_buffer = buffer, .bytes = 64, .rows = 1 };
    tnp_copy in = { .size = sizeof in,
                    .to_buffer = buffer,
                    .from_host = from,
                    .to_offset = 1,
                    .bytes = 3,
                    .rows = 4,
                    .from_pitch = 8,
                    .to_pitch = 5 };
    tnp_copy out = { .size = sizeof out,
                     .from_buffer = buffer,
                     .to_host = to,
                     .from_offset = 1,
                     .bytes = 5,
                     .rows = 4,
                     .from_pitch = 5,
                     .to_pitch = 8 };
    const tnp_copy *all[] = { &zero, &in, &out };
    for (uint64_t i = 0; i < 3; i++) {
        tnp_point point = { r.done, i + 1 };
        tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &point };
        assert_ok(table->queue_copy(r.queue, &all[i], 1, &sync, &r.err));
    }
    assert_ok(wait_for(&r, r.done, 3));
    for (int row = 0; row < 4; row++) {
        assert_memory_equal(to[row], from[row], 3);
        assert_int_equal(to[row][3] | to[row][4], 0);
        assert_int_equal(to[row][5], 99);
    }
    in.to_offset = 50;   // the last row ends at 50 + 3 * 5 + 3
    tnp_sync none = { .size = sizeof none };
    assert_int_equal(table->queue_copy(r.queue, &all[1], 1, &none, &r.err), TNP_E_ARG);
    in.to_pitch = UINT64_MAX / 2;
    assert_int_equal(table->queue_copy(r.queue, &all[1], 1, &none, &r.err), TNP_E_ARG);
    table->queue_destroy(r.queue);
    r.queue = NULL;
    table->buffer_free(buffer);
    stop(&r);
}

int main(int argc, char **argv)
{
    table = argc == 2 ? load_plugin(argv[1]) : NULL;
    if (!table)
        return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_submit_behind_an_unreached_wait_returns_and_runs_when_it_is_reached),
        cmocka_unit_test(a_full_queue_takes_nothing_and_has_room_after_a_signal),
        cmocka_unit_test(two_queues_are_ordered_by_semaphores),
        cmocka_unit_test(a_failure_passes_to_what_waits_and_no_further),
        cmocka_unit_test(what_failed_work_names_may_be_destroyed_before_its_turn),
        cmocka_unit_test(a_notice_comes_once_for_each_end),
        cmocka_unit_test(a_destroyed_queue_fails_what_has_not_started),
        cmocka_unit_test(an_abandoned_device_answers_so_and_can_be_closed),
        cmocka_unit_test(copies_take_rows_and_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
