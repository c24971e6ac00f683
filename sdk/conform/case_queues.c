// case_queues.c: order, room, failure, cancelling, abandoning: what queues do with work.
#include "conform_internal.h"

static void signal_gate(kit_rig *r, uint64_t value)
{
    KIT_OK_OF(r->t->semaphore_signal(r->gate, value, &r->err), &r->err, "semaphore_signal");
}

static void submit_ok(kit_rig *r, tnp_queue *queue, tnp_semaphore *wait, uint64_t value,
                      tnp_semaphore *signal, uint64_t to)
{
    KIT_OK_OF(kit_submit(r, queue, NULL, wait, value, signal, to), &r->err, "queue_submit");
}

static void expect_value(kit_rig *r, tnp_semaphore *s, uint64_t want, const char *when)
{
    uint64_t value = UINT64_MAX;
    KIT_OK_OF(r->t->semaphore_read(s, &value, &r->err), &r->err, "semaphore_read");
    if (value != want)
        kit_fail(kit_text("a value of %llu, %s", (unsigned long long)want, when), "%llu",
                 (unsigned long long)value);
}

// The median of several: one may be late because the machine is busy.
static void a_submit_behind_an_unreached_wait_returns_within_a_millisecond(const kit_case *c)
{
    uint64_t times[9], slow = 0;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    for (int i = 0; i < 9; i++) {
        uint64_t begin = kit_now_ns(), value = (uint64_t)i + 1;
        submit_ok(&r, r.queue, r.gate, value, r.done, value);
        times[i] = kit_now_ns() - begin;
        slow += times[i] > 1000000;
        expect_value(&r, r.done, value - 1, "while the work waits");
        signal_gate(&r, value);
        kit_wait_ok(&r, r.done, value, "work whose wait is reached");
    }
    if (slow > 4)
        kit_fail("a submit behind a wait returns within 1 ms", "%llu of 9 took longer",
                 (unsigned long long)slow);
    kit_rig_close(&r);
}

static void signals_come_when_the_work_is_done_and_not_before(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    submit_ok(&r, r.queue, r.gate, 1, r.done, 1);
    submit_ok(&r, r.queue, NULL, 0, r.done, 2);   // behind it, although it waits for nothing
    kit_sleep_ms(20);
    expect_value(&r, r.done, 0, "while the first work of the queue waits");
    signal_gate(&r, 1);
    kit_wait_ok(&r, r.done, 2, "the second work");
    kit_rig_close(&r);
}

// The bytes are there when the signal is: the copy behind the gate is large.
static void a_signal_means_that_the_bytes_are_there(const kit_case *c)
{
    enum { BYTES = 4 << 20 };
    unsigned char *from = kit_new(BYTES), *to = kit_new(BYTES);
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_buffer *buffer = kit_buffer(&r, BYTES);
    for (uint64_t round = 1; round <= 5; round++) {
        memset(from, (int)round, BYTES);
        memset(to, 0, BYTES);
        tnp_copy in = {
            .size = sizeof in, .from_host = from, .to_buffer = buffer, .bytes = BYTES, .rows = 1
        };
        tnp_copy out = {
            .size = sizeof out, .from_buffer = buffer, .to_host = to, .bytes = BYTES, .rows = 1
        };
        KIT_OK_OF(kit_copy(&r, r.queue, &in, r.gate, round, r.done, 2 * round - 1), &r.err,
                  "queue_copy");
        KIT_OK_OF(kit_copy(&r, r.queue, &out, NULL, 0, r.done, 2 * round), &r.err, "queue_copy");
        signal_gate(&r, round);
        kit_wait_ok(&r, r.done, 2 * round, "a copy there and back");
        for (int i = BYTES - 1; i >= 0; i -= 4093)
            if (to[i] != round)
                kit_fail("all bytes are there when the signal is raised", "byte %d is not", i);
    }
    r.t->buffer_free(buffer);
    kit_rig_close(&r);
}

static void a_full_queue_takes_nothing_and_has_room_after_a_signal(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    for (uint64_t round = 1; round <= 50; round++) {
        uint64_t base = (round - 1) * KIT_PENDING;
        for (uint64_t i = 1; i <= KIT_PENDING; i++)
            submit_ok(&r, r.queue, r.gate, round, r.done, base + i);
        kit_want(kit_submit(&r, r.queue, NULL, NULL, 0, r.done, base + 99), TNP_E_BUSY, &r.err,
                 "queue_submit on a full queue");
        signal_gate(&r, round);
        kit_wait_ok(&r, r.done, base + KIT_PENDING, "the last of a full queue");
        expect_value(&r, r.done, base + KIT_PENDING, "what was refused as busy was not taken");
    }
    kit_rig_close(&r);
}

// Several works in one call: all or none.
static void a_call_takes_all_of_its_work_or_none(const kit_case *c)
{
    tnp_point signals[KIT_PENDING + 1];
    tnp_sync sync[KIT_PENDING + 1];
    tnp_submit work[KIT_PENDING + 1];
    const tnp_submit *works[KIT_PENDING + 1];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    for (uint32_t i = 0; i <= KIT_PENDING; i++) {
        signals[i] = (tnp_point){ r.done, i + 1 };
        sync[i] = (tnp_sync){ .size = sizeof *sync, .signal_count = 1, .signals = &signals[i] };
        work[i] = (tnp_submit){ .size = sizeof *work, .sync = &sync[i] };
        works[i] = &work[i];
    }
    kit_want(r.t->queue_submit(r.queue, works, KIT_PENDING + 1, &r.err), TNP_E_ARG, &r.err,
             "queue_submit of more works than the queue was made for");
    tnp_point many[KIT_POINTS + 1];
    for (int i = 0; i <= KIT_POINTS; i++)
        many[i] = (tnp_point){ r.gate, 1 };
    sync[1].waits = many;
    sync[1].wait_count = KIT_POINTS + 1;
    kit_want(r.t->queue_submit(r.queue, works, 2, &r.err), TNP_E_ARG, &r.err,
             "queue_submit of two works of which the second has too many waits");
    sync[1].wait_count = 0;
    expect_value(&r, r.done, 0, "nothing of a refused call is taken");
    tnp_semaphore *other = kit_semaphore(&r, 0);
    for (int i = 0; i < 4; i++)
        submit_ok(&r, r.queue, r.gate, 1, other, (uint64_t)i + 1);
    kit_want(r.t->queue_submit(r.queue, works, KIT_PENDING - 2, &r.err), TNP_E_BUSY, &r.err,
             "queue_submit of more works than there is room for");
    signal_gate(&r, 1);
    kit_wait_ok(&r, other, 4, "what was there before");
    expect_value(&r, r.done, 0, "nothing of a busy call is taken");
    KIT_OK_OF(r.t->queue_submit(r.queue, works, KIT_PENDING, &r.err), &r.err, "queue_submit");
    kit_wait_ok(&r, r.done, KIT_PENDING, "the last of a call");
    r.t->semaphore_destroy(other);
    kit_rig_close(&r);
}

// a then b, by a semaphore, the bytes of one going through the other.
static void two_queues_are_ordered_by_semaphores(const kit_case *c)
{
    enum { ROUNDS = 200 };
    uint64_t number, got = 0;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_queue *other = kit_queue(&r, TNP_QUEUE_COPY);
    tnp_semaphore *back = kit_semaphore(&r, 0);
    tnp_buffer *buffer = kit_buffer(&r, 64);
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        number = i;
        tnp_copy in = { .size = sizeof in,
                        .from_host = &number,
                        .to_buffer = buffer,
                        .bytes = sizeof number,
                        .rows = 1 };
        tnp_copy out = { .size = sizeof out,
                         .from_buffer = buffer,
                         .to_host = &got,
                         .bytes = sizeof got,
                         .rows = 1 };
        // The second one first to have a chance: its queue is idle.
        KIT_OK_OF(kit_copy(&r, r.queue, &in, i > 1 ? back : NULL, i - 1, r.done, i), &r.err,
                  "queue_copy");
        KIT_OK_OF(kit_copy(&r, other, &out, r.done, i, back, i), &r.err, "queue_copy");
        kit_wait_ok(&r, back, i, "a copy that waits for another queue");
        if (got != i)
            kit_fail(
                kit_text("the copy sees what the other queue wrote, %llu", (unsigned long long)i),
                "%llu", (unsigned long long)got);
    }
    r.t->queue_destroy(other);
    r.t->buffer_free(buffer);
    r.t->semaphore_destroy(back);
    kit_rig_close(&r);
}

static void a_wait_holds_back_another_queue(const kit_case *c)
{
    unsigned char ones[64], got[64];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_queue *other = kit_queue(&r, TNP_QUEUE_COMPUTE);
    tnp_semaphore *second = kit_semaphore(&r, 0);
    tnp_buffer *buffer = kit_buffer(&r, 64);
    memset(ones, 1, 64);
    memset(got, 9, 64);
    kit_upload(&r, buffer, 0, ones, 64);
    tnp_copy zeros = { .size = sizeof zeros, .to_buffer = buffer, .bytes = 64, .rows = 1 };
    tnp_copy out = {
        .size = sizeof out, .from_buffer = buffer, .to_host = got, .bytes = 64, .rows = 1
    };
    uint64_t at = r.signal + 1;
    KIT_OK_OF(kit_copy(&r, r.queue, &zeros, r.gate, 1, r.done, at), &r.err, "queue_copy");
    KIT_OK_OF(kit_copy(&r, other, &out, r.done, at, second, 1), &r.err, "queue_copy");
    kit_sleep_ms(20);
    kit_want(r.t->semaphore_wait(second, 1, 0, &r.err), TNP_E_TIMEOUT, &r.err,
             "a wait for work that waits for another queue");
    if (got[0] != 9)
        kit_fail("a copy begins when what it waits for is reached", "it began before");
    signal_gate(&r, 1);
    kit_wait_ok(&r, second, 1, "a copy that waits for another queue");
    if (got[63] != 0)
        kit_fail("the copy sees what the other queue wrote", "what was there before");
    r.t->queue_destroy(other);
    r.t->buffer_free(buffer);
    r.t->semaphore_destroy(second);
    kit_rig_close(&r);
}

// ----------------------------------------------------------------------------------------- failure

static void a_failure_passes_to_what_waits_and_no_further(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_queue *other = kit_queue(&r, TNP_QUEUE_COMPUTE);
    tnp_semaphore *second = kit_semaphore(&r, 0), *third = kit_semaphore(&r, 0),
                  *fourth = kit_semaphore(&r, 0);
    submit_ok(&r, r.queue, r.gate, 1, r.done, 1);
    submit_ok(&r, other, r.done, 1, second, 1);
    submit_ok(&r, other, NULL, 0, third, 1);
    submit_ok(&r, r.queue, NULL, 0, fourth, 1);
    KIT_OK_OF(r.t->semaphore_fail(r.gate, TNP_E_DATA, "a bad index", &r.err), &r.err,
              "semaphore_fail");
    kit_want(kit_wait(&r, second, 1), TNP_E_DATA, &r.err, "a wait for what waits for a failure");
    if (strcmp(r.err.text, "a bad index") != 0)
        kit_fail("the text of the first failure", "'%.100s'", r.err.text);
    kit_want(kit_wait(&r, r.done, 1), TNP_E_DATA, &r.err, "a wait for what waits for a failure");
    kit_wait_ok(&r, third, 1, "other work of the queue");
    kit_wait_ok(&r, fourth, 1, "work behind what failed");
    r.t->queue_destroy(other);
    r.t->semaphore_destroy(second);
    r.t->semaphore_destroy(third);
    r.t->semaphore_destroy(fourth);
    kit_rig_close(&r);
}

static void cancelled_work_never_starts(const kit_case *c)
{
    unsigned char ones[64], got[64];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_semaphore *signal = kit_semaphore(&r, 0);
    tnp_buffer *buffer = kit_buffer(&r, 64);
    memset(ones, 1, 64);
    kit_upload(&r, buffer, 0, ones, 64);
    uint64_t at = r.signal + 1;
    submit_ok(&r, r.queue, r.gate, 1, r.done, at);
    tnp_copy zeros = { .size = sizeof zeros, .to_buffer = buffer, .bytes = 64, .rows = 1 };
    KIT_OK_OF(kit_copy(&r, r.queue, &zeros, NULL, 0, signal, 1), &r.err, "queue_copy");
    KIT_OK_OF(r.t->semaphore_fail(signal, TNP_E_CANCELLED, "given up", &r.err), &r.err,
              "semaphore_fail");
    kit_want(kit_wait(&r, signal, 1), TNP_E_CANCELLED, &r.err, "a wait for what was given up");
    signal_gate(&r, 1);
    kit_wait_ok(&r, r.done, at, "the work before");
    r.signal = at;
    kit_download(&r, buffer, 0, got, 64);
    if (memcmp(got, ones, 64) != 0)
        kit_fail("pending work whose signal was failed never starts", "it has run");
    r.t->semaphore_destroy(signal);
    r.t->buffer_free(buffer);
    kit_rig_close(&r);
}

// How many of some places in the middle a copy of zeros has reached: it may begin anywhere. To look
// at it while it is at work is a race, on purpose.
__attribute__((noinline, no_sanitize("thread"))) static int
reached(const volatile unsigned char *to, int bytes)
{
    int count = 0;
    for (int i = 1; i < 32; i++)
        count += to[bytes / 32 * i] == 0;
    return count;
}

// What runs runs to its end, and only then is the failure seen: whoever sees it may use the memory.
static void a_failure_is_seen_when_nothing_runs_any_more(const kit_case *c)
{
    enum { BYTES = 64 << 20 };   // so many that a copy of them is seen at work
    unsigned char *to = kit_new(BYTES);
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_buffer *buffer = kit_buffer(&r, BYTES);
    tnp_copy zeros = { .size = sizeof zeros, .to_buffer = buffer, .bytes = BYTES, .rows = 1 };
    tnp_copy out = {
        .size = sizeof out, .from_buffer = buffer, .to_host = to, .bytes = BYTES, .rows = 1
    };
    KIT_OK_OF(kit_copy(&r, r.queue, &zeros, NULL, 0, r.done, 1), &r.err, "queue_copy");
    kit_wait_ok(&r, r.done, 1, "a copy");
    for (int round = 0; round < 4; round++) {
        tnp_semaphore *signal = kit_semaphore(&r, 0);
        memset(to, 0x77, BYTES);
        KIT_OK_OF(kit_copy(&r, r.queue, &out, NULL, 0, signal, 1), &r.err, "queue_copy");
        // It has begun, or will not for a while.
        uint64_t end = kit_now_ns() + 300000000;
        while (reached(to, BYTES) == 0 && kit_now_ns() < end)
            ;   // no sleep: the copy would be over
        KIT_OK_OF(r.t->semaphore_fail(signal, TNP_E_CANCELLED, "given up", &r.err), &r.err,
                  "semaphore_fail");
        tnp_status status = kit_wait(&r, signal, 1);
        if (status != TNP_OK)   // it may have been faster
            kit_want(status, TNP_E_CANCELLED, &r.err, "a wait for what was given up");
        int before = reached(to, BYTES);
        kit_sleep_ms(15);
        if (reached(to, BYTES) != before)
            kit_fail("a failure is seen when the last running work is gone",
                     "a copy still wrote when its failure was seen");
        r.t->semaphore_destroy(signal);
    }
    r.t->buffer_free(buffer);
    kit_rig_close(&r);
}

// All signals of the work have failed: what it names is not in use, even though it is in the queue.
static void what_failed_work_names_may_go_before_its_turn(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_semaphore *gate = kit_semaphore(&r, TNP_SEMAPHORE_HOST), *signal = kit_semaphore(&r, 0);
    tnp_buffer *buffer = kit_buffer(&r, 4096);
    submit_ok(&r, r.queue, r.gate, 1, r.done, 1);
    tnp_copy zeros = { .size = sizeof zeros, .to_buffer = buffer, .bytes = 4096, .rows = 1 };
    KIT_OK_OF(kit_copy(&r, r.queue, &zeros, gate, 1, signal, 1), &r.err, "queue_copy");
    KIT_OK_OF(r.t->semaphore_fail(signal, TNP_E_CANCELLED, "given up", &r.err), &r.err,
              "semaphore_fail");
    kit_want(kit_wait(&r, signal, 1), TNP_E_CANCELLED, &r.err, "a wait for what was given up");
    r.t->semaphore_destroy(gate);
    r.t->semaphore_destroy(signal);
    r.t->buffer_free(buffer);
    signal_gate(&r, 1);
    kit_wait_ok(&r, r.done, 1, "the work before");
    submit_ok(&r, r.queue, NULL, 0, r.done, 2);
    kit_wait_ok(&r, r.done, 2, "the work behind");
    kit_rig_close(&r);
}

static void a_destroyed_queue_fails_what_has_not_started(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    submit_ok(&r, r.queue, r.gate, 1, r.done, 1);
    uint64_t begin = kit_now_ns();
    r.t->queue_destroy(r.queue);
    r.queue = NULL;
    if (kit_now_ns() - begin > 1000000000u)
        kit_fail("queue_destroy is over within a second", "%.1f s",
                 (double)(kit_now_ns() - begin) / 1e9);
    tnp_status status = kit_wait(&r, r.done, 1);
    if (status == TNP_OK || status == TNP_E_TIMEOUT)
        kit_fail("work that has not started fails when its queue is destroyed", "%s",
                 kit_status_name(status));
    kit_want(status, TNP_E_CANCELLED, &r.err, "a wait for work of a destroyed queue");
    kit_rig_close(&r);
}

// -------------------------------------------------------------------------------------- abandoning

static void want_lost(kit_rig *r)
{
    tnp_alloc ask = { .size = sizeof ask, .bytes = 64 };
    tnp_queue_options queue = kit_queue_options(TNP_QUEUE_COMPUTE);
    tnp_semaphore_options semaphore = { .size = sizeof semaphore };
    tnp_buffer *buffer = NULL;
    tnp_queue *made_queue = NULL;
    tnp_semaphore *made = NULL;
    kit_want(kit_submit(r, r->queue, NULL, NULL, 0, r->done, 99), TNP_E_DEVICE_LOST, &r->err,
             "queue_submit on a lost device");
    kit_want(r->t->buffer_alloc(r->device, &ask, &buffer, &r->err), TNP_E_DEVICE_LOST, &r->err,
             "buffer_alloc on a lost device");
    kit_want(r->t->queue_create(r->device, &queue, &made_queue, &r->err), TNP_E_DEVICE_LOST,
             &r->err, "queue_create on a lost device");
    kit_want(r->t->semaphore_create(r->device, &semaphore, &made, &r->err), TNP_E_DEVICE_LOST,
             &r->err, "semaphore_create on a lost device");
    if (buffer || made_queue || made)
        kit_fail("outputs are untouched by a call that fails", "one was written");
}

static void an_abandoned_device_answers_so_and_can_be_closed(const kit_case *c)
{
    uint64_t value;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_buffer *buffer = kit_buffer(&r, 64);
    submit_ok(&r, r.queue, r.gate, 1, r.done, 1);
    uint64_t begin = kit_now_ns();
    r.t->abandon(r.device);
    kit_want(kit_wait(&r, r.done, 1), TNP_E_DEVICE_LOST, &r.err, "a wait on an abandoned device");
    kit_want(r.t->semaphore_read(r.gate, &value, &r.err), TNP_E_DEVICE_LOST, &r.err,
             "semaphore_read on an abandoned device");
    want_lost(&r);
    r.t->buffer_free(buffer);
    kit_rig_release(&r);   // what a hanging device might touch is leaked, on purpose
    if (kit_now_ns() - begin > 1000000000u)
        kit_fail("an abandoned device is closed within a second", "%.1f s",
                 (double)(kit_now_ns() - begin) / 1e9);
}

static void a_device_is_abandoned_before_and_after_its_work(const kit_case *c)
{
    enum { BYTES = 1 << 20 };
    unsigned char *bytes = kit_new(BYTES);
    kit_rig r;
    (void)c;
    for (int when = 0; when < 8; when++) {   // 0: before, 1: after, else somewhere in the middle
        kit_rig_open(&r);
        tnp_buffer *buffer = kit_buffer(&r, BYTES);
        tnp_copy in = {
            .size = sizeof in, .from_host = bytes, .to_buffer = buffer, .bytes = BYTES, .rows = 1
        };
        if (when == 0)
            r.t->abandon(r.device);
        tnp_status status = TNP_OK;
        for (uint64_t i = 1; i <= 4 && status == TNP_OK; i++)
            status = kit_copy(&r, r.queue, &in, NULL, 0, r.done, i);
        if (when == 0)
            kit_want(status, TNP_E_DEVICE_LOST, &r.err, "queue_copy on an abandoned device");
        else
            KIT_OK_OF(status, &r.err, "queue_copy");
        if (when == 1)
            kit_wait_ok(&r, r.done, 4, "the last copy");
        r.t->abandon(r.device);
        status = kit_wait(&r, r.done, 5);   // nobody will signal it
        kit_want(status, TNP_E_DEVICE_LOST, &r.err, "a wait on an abandoned device");
        r.t->abandon(r.device);
        want_lost(&r);
        r.t->buffer_free(buffer);
        kit_rig_release(&r);
    }
}

// ------------------------------------------------------------------------------------------- many

// One thousand works on two queues, each adding its part to a chain of copies, without a wait.
static void a_thousand_works_without_a_wait_keep_their_order(const kit_case *c)
{
    enum { WORKS = 1000, SLOTS = 64 };
    static uint32_t numbers[WORKS];
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_queue_options how = kit_queue_options(TNP_QUEUE_COMPUTE);
    how.pending = WORKS;
    tnp_queue *queue = NULL;
    KIT_OK_OF(r.t->queue_create(r.device, &how, &queue, &r.err), &r.err, "queue_create");
    tnp_buffer *buffer = kit_buffer(&r, SLOTS * sizeof(uint32_t) + 64);
    for (uint32_t i = 0; i < WORKS; i++) {   // each overlaps the one before by half
        numbers[i] = i;
        tnp_copy in = { .size = sizeof in,
                        .from_host = &numbers[i],
                        .to_buffer = buffer,
                        .to_offset = 2 * (i % SLOTS),
                        .bytes = sizeof numbers[i],
                        .rows = 1 };
        KIT_OK_OF(kit_copy(&r, queue, &in, i == 0 ? r.gate : NULL, 1, r.done, i + 1), &r.err,
                  "queue_copy");
    }
    signal_gate(&r, 1);
    kit_wait_ok(&r, r.done, WORKS, "the last of a thousand");
    unsigned char want[SLOTS * 4 + 64] = { 0 }, all[SLOTS * 4 + 64];
    for (uint32_t i = 0; i < WORKS; i++)
        memcpy(want + 2 * (i % SLOTS), &numbers[i], sizeof numbers[i]);
    r.signal = WORKS;
    kit_download(&r, buffer, 0, all, 2 * SLOTS);
    if (memcmp(all, want, 2 * SLOTS) != 0)
        kit_fail("works of one queue run as if one after another", "their bytes are mixed up");
    r.t->queue_destroy(queue);
    r.t->buffer_free(buffer);
    kit_rig_close(&r);
}

static void waits_and_signals_come_in_numbers(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_semaphore *gates[KIT_POINTS], *signals[KIT_POINTS];
    tnp_point wait[KIT_POINTS], signal[KIT_POINTS];
    for (int i = 0; i < KIT_POINTS; i++) {
        gates[i] = kit_semaphore(&r, TNP_SEMAPHORE_HOST);
        signals[i] = kit_semaphore(&r, 0);
        wait[i] = (tnp_point){ gates[i], (uint64_t)i + 1 };
        signal[i] = (tnp_point){ signals[i], (uint64_t)i + 3 };
    }
    tnp_sync sync = { .size = sizeof sync,
                      .wait_count = KIT_POINTS,
                      .signal_count = KIT_POINTS,
                      .waits = wait,
                      .signals = signal };
    tnp_submit work = { .size = sizeof work, .sync = &sync };
    const tnp_submit *works[] = { &work };
    KIT_OK_OF(r.t->queue_submit(r.queue, works, 1, &r.err), &r.err, "queue_submit");
    for (int i = KIT_POINTS - 1; i >= 0; i--) {
        kit_sleep_ms(2);
        for (int k = 0; k < KIT_POINTS; k++)
            expect_value(&r, signals[k], 0, "while one of several waits is not reached");
        KIT_OK_OF(r.t->semaphore_signal(gates[i], (uint64_t)i + 1, &r.err), &r.err,
                  "semaphore_signal");
    }
    for (int i = 0; i < KIT_POINTS; i++) {
        kit_wait_ok(&r, signals[i], (uint64_t)i + 3, "work with several signals");
        r.t->semaphore_destroy(gates[i]);
        r.t->semaphore_destroy(signals[i]);
    }
    kit_rig_close(&r);
}

static const kit_row rows[] = {
    { "a_submit_behind_an_unreached_wait_returns_within_a_millisecond",
      a_submit_behind_an_unreached_wait_returns_within_a_millisecond },
    { "signals_come_when_the_work_is_done_and_not_before",
      signals_come_when_the_work_is_done_and_not_before },
    { "a_signal_means_that_the_bytes_are_there", a_signal_means_that_the_bytes_are_there },
    { "a_full_queue_takes_nothing_and_has_room_after_a_signal",
      a_full_queue_takes_nothing_and_has_room_after_a_signal },
    { "a_call_takes_all_of_its_work_or_none", a_call_takes_all_of_its_work_or_none },
    { "two_queues_are_ordered_by_semaphores", two_queues_are_ordered_by_semaphores },
    { "a_wait_holds_back_another_queue", a_wait_holds_back_another_queue },
    { "a_failure_passes_to_what_waits_and_no_further",
      a_failure_passes_to_what_waits_and_no_further },
    { "cancelled_work_never_starts", cancelled_work_never_starts },
    { "a_failure_is_seen_when_nothing_runs_any_more",
      a_failure_is_seen_when_nothing_runs_any_more },
    { "what_failed_work_names_may_go_before_its_turn",
      what_failed_work_names_may_go_before_its_turn },
    { "a_destroyed_queue_fails_what_has_not_started",
      a_destroyed_queue_fails_what_has_not_started },
    { "an_abandoned_device_answers_so_and_can_be_closed",
      an_abandoned_device_answers_so_and_can_be_closed },
    { "a_device_is_abandoned_before_and_after_its_work",
      a_device_is_abandoned_before_and_after_its_work },
    { "a_thousand_works_without_a_wait_keep_their_order",
      a_thousand_works_without_a_wait_keep_their_order },
    { "waits_and_signals_come_in_numbers", waits_and_signals_come_in_numbers },
};

void kit_list_queues(kit_list *list)
{
    kit_list_rows(list, "queues", rows, sizeof rows / sizeof *rows);
}
