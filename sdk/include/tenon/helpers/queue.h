// helpers/queue.h: in-order queues and timeline semaphores for a driver that has none, or whose
// calls wait until the work is done.
//
// No part of the contract: code that a plugin compiles into itself, and may leave for the queues
// and events of its driver at any time. It keeps what plugin.h says under "Order", "Failure" and
// "Visibility". Linux, C11 or C++11. Include it in one source file of a plugin, first, or with
// _POSIX_C_SOURCE of 200809L; link threads.
//
//   yours                                                 in the table of calls
//     struct tnp_device begins with a tnh_device            TNH_QUEUE_CALLS
//     struct tnp_buffer begins with a tnh_buffer
//     struct tnp_bound begins with a tnp_device *
//     tnh_calls: copies, and runs what is bound
//     tnh_open in open, tnh_close in close
//
// One lock guards everything of a device that changes, `changed` is broadcast after every change.
// queue_submit and queue_copy only write work down, in a ring that queue_create has made: they
// never wait and never allocate. A thread for each queue does one work after another, so that order
// needs no code at all.
#ifndef TENON_HELPERS_QUEUE_H
#define TENON_HELPERS_QUEUE_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "../plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

// What the device does. All are called by a queue's thread, without the lock, but bound_has: by
// queue_submit, with it.
typedef struct tnh_calls {
    // Whether these bytes of a storage have a place in what is bound: an update goes there.
    int (*bound_has)(const tnp_bound *bound, uint32_t storage, uint64_t offset, uint64_t bytes);
    // All copies of one work, inside the buffers.
    tnp_status (*copy)(const tnp_queue *queue, const tnp_copy *copies, uint32_t count,
                       tnp_error *err);
    // Puts the updates into their storages, then computes. `queue` and `run` are for
    // tnp_host.trace.
    tnp_status (*run)(const tnp_bound *bound, const tnp_update *updates, uint32_t update_count,
                      const tnp_queue *queue, uint64_t run, tnp_error *err);
} tnh_calls;

typedef struct tnh_device {
    const tnp_host *host;
    const tnh_calls *calls;
    uint64_t update_bytes;   // as in tnp_device_info
    pthread_mutex_t lock;
    pthread_cond_t changed;
    tnp_semaphore *semaphores;   // all there are, a list through next
    int is_lost;
    char lost[256];         // why
    uint32_t queue_count;   // ever made
} tnh_device;

typedef struct tnh_buffer {
    tnp_device *device;
    uint64_t bytes;
} tnh_buffer;

struct tnp_semaphore {
    tnh_device *device;
    tnp_semaphore *next;
    uint32_t is_host;   // signalled by the host, never by a queue
    uint32_t holds;     // the host, waiting threads, points of works in a queue
    uint32_t running;   // works that run now and will signal it
    uint64_t value;
    tnp_error why;   // the first failure; status TNP_OK: none
    void *notices;   // lent by the host, a list through plugin[0]
};

typedef struct tnh_work {
    tnp_bound *bound;   // NULL: only copies, or nothing
    uint64_t run;
    uint32_t wait_count, signal_count, copy_count, update_count;
    tnp_point *waits, *signals;   // these have the room that the queue was made for
    tnp_copy *copies;
    tnp_update *updates;   // data points into update_bytes
    unsigned char *update_bytes;
} tnh_work;

struct tnp_queue {
    tnh_device *device;
    tnp_queue_options limits;
    uint32_t index;   // queues of a device are numbered in the order in which they are made
    pthread_t thread;
    int is_closing;
    uint32_t head,
        count;   // works | free | runs | waits | waits | free | …     the one at head runs
    tnh_work *works;
};

#define TNH_QUEUE_CALLS                                                                            \
    .abandon = tnh_abandon, .semaphore_create = tnh_semaphore_create,                              \
    .semaphore_destroy = tnh_semaphore_destroy, .semaphore_read = tnh_semaphore_read,              \
    .semaphore_signal = tnh_semaphore_signal, .semaphore_fail = tnh_semaphore_fail,                \
    .semaphore_wait = tnh_semaphore_wait, .semaphore_notify = tnh_semaphore_notify,                \
    .queue_create = tnh_queue_create, .queue_destroy = tnh_queue_destroy,                          \
    .queue_copy = tnh_queue_copy, .queue_submit = tnh_queue_submit

// Shows err what went wrong and answers status. A text too long is cut between characters.
__attribute__((format(printf, 3, 4))) static inline tnp_status
tnh_fail(tnp_error *err, tnp_status status, const char *format, ...)
{
    tnp_error own;
    va_list arguments;
    memset(&own, 0, sizeof own);
    own.size = (uint32_t)sizeof own;
    own.status = status;
    va_start(arguments, format);
    size_t end = (size_t)vsnprintf(own.text, sizeof own.text, format, arguments);
    va_end(arguments);
    if (end >= sizeof own.text) {   // without the last character, of which a part may be missing
        for (end = sizeof own.text - 1; end && (own.text[end - 1] & 0xc0) == 0x80; end--)
            ;
        own.text[end ? end - 1 : 0] = 0;
    }
    TNP_GIVE(err, &own);   // as much as the host's struct has room for
    return status;
}
static inline tnp_status tnh_fail_unknown(tnp_error *err, const char *call)
{
    return tnh_fail(err, TNP_E_UNSUPPORTED, "%s: asks for what this plugin does not know", call);
}
static inline tnp_status tnh_fail_lost(tnp_error *err)
{
    return tnh_fail(err, TNP_E_DEVICE_LOST, "the device is lost, or was abandoned");
}

// Zeroed memory of the host, which counts it; NULL when there is none. Given back by host->free.
static inline void *tnh_make(const tnp_host *host, uint64_t bytes)
{
    void *made = host->alloc(host->context, bytes, 64);
    return made ? memset(made, 0, bytes) : NULL;
}

// ------------------------------------------------------------------------------------------ device

static inline tnh_device *tnh_of(tnp_device *device)
{
    return (tnh_device *)device;
}

// 0: the system has no more of them. CLOCK_MONOTONIC, so that a time-out does not change when
// somebody sets the clock.
static inline int tnh_open(tnp_device *made, const tnp_host *host, const tnh_calls *calls,
                           uint64_t update_bytes)
{
    tnh_device *device = tnh_of(made);
    pthread_condattr_t attributes;
    device->host = host;
    device->calls = calls;
    device->update_bytes = update_bytes;
    if (pthread_condattr_init(&attributes) != 0)
        return 0;
    int is_made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                  pthread_mutex_init(&device->lock, NULL) == 0;
    if (is_made && pthread_cond_init(&device->changed, &attributes) != 0) {
        pthread_mutex_destroy(&device->lock);
        is_made = 0;
    }
    pthread_condattr_destroy(&attributes);
    return is_made;
}
static inline void tnh_close(tnp_device *device)
{
    pthread_cond_destroy(&tnh_of(device)->changed);
    pthread_mutex_destroy(&tnh_of(device)->lock);
}

// For calls that make something, and for long work: who abandons the device does not wait for its
// end.
static inline int tnh_is_lost(tnp_device *device)
{
    pthread_mutex_lock(&tnh_of(device)->lock);
    int is_lost = tnh_of(device)->is_lost;
    pthread_mutex_unlock(&tnh_of(device)->lock);
    return is_lost;
}

// The answer of the exported symbol. A host of another major cannot even read the table.
static inline const tnp_plugin *tnh_query(const tnp_plugin *table, uint32_t host_abi,
                                          tnp_error *err)
{
    if (host_abi >> 16 == table->abi >> 16)
        return table;
    tnh_fail(err, TNP_E_VERSION, "the host speaks contract %u, this plugin %u", host_abi >> 16,
             table->abi >> 16);
    return NULL;
}

// For the table of a plugin that has neither links between devices nor extensions: the host copies
// by way of its own memory.
static inline tnp_status tnh_no_link(tnp_device *from, tnp_device *to, tnp_link *link,
                                     tnp_error *err)
{
    tnp_link none;
    (void)from, (void)to, (void)err;
    memset(&none, 0, sizeof none);
    none.size = (uint32_t)sizeof none;
    TNP_GIVE(link, &none);
    return TNP_OK;
}
static inline const void *tnh_no_extension(tnp_instance *instance, const char *name)
{
    (void)instance, (void)name;
    return NULL;
}

// Whether `bytes` from offset lie in a buffer of this device.
static inline int tnh_is_inside(const tnp_device *device, const tnp_buffer *buffer, uint64_t offset,
                                uint64_t bytes)
{
    const tnh_buffer *b = (const tnh_buffer *)buffer;
    return b->device == device && bytes <= b->bytes && offset <= b->bytes - bytes;
}

// ---------------------------------------------------------------------- semaphores, under the lock
//
//   fresh --doom--> doomed --no work runs that would signal it--> failed
//
// Doomed: no value is raised any more, but work that would signal it still runs and its memory is
// in use, so nobody may see the failure yet: who sees it frees that memory.

static inline int tnh_has_failed(const tnp_semaphore *s)
{
    return s->why.status != TNP_OK && s->running == 0;
}
static inline void tnh_doom(tnp_semaphore *s, const tnp_error *why)
{
    if (s->why.status == TNP_OK)   // the first failure stays
        s->why = *why;
}

// One hold less. A semaphore may be destroyed while threads or works that failed still hold it: the
// last one frees.
static inline void tnh_drop(tnp_semaphore *s)
{
    if (--s->holds > 0)
        return;
    tnp_semaphore **link = &s->device->semaphores;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    s->device->host->free(s->device->host->context, s);
}

static inline tnp_notice *tnh_take_due_notice(tnh_device *device, tnp_error *why)
{
    for (tnp_semaphore *s = device->semaphores; s; s = s->next)
        for (void **link = &s->notices; *link; link = &((tnp_notice *)*link)->plugin[0]) {
            tnp_notice *notice = (tnp_notice *)*link;
            int is_reached = s->value >= notice->value;
            if (!is_reached && !tnh_has_failed(s))
                continue;
            *link = notice->plugin[0];
            *why = s->why;
            if (is_reached) {
                why->status = TNP_OK;
                why->text[0] = 0;
            }
            return notice;
        }
    return NULL;
}

// Ends every change: wakes who waits, calls the notices that are due, and leaves the lock, because
// a notice may call back into this plugin. After that nothing is looked at that a notice could have
// destroyed.
static inline void tnh_publish(tnh_device *device)
{
    tnp_error why;
    pthread_cond_broadcast(&device->changed);
    for (tnp_notice *due; (due = tnh_take_due_notice(device, &why)) != NULL;) {
        pthread_mutex_unlock(&device->lock);
        due->reached(due, why.status, why.text);
        pthread_mutex_lock(&device->lock);
    }
    pthread_mutex_unlock(&device->lock);
}

static inline tnp_error tnh_error(void)
{
    tnp_error none;
    memset(&none, 0, sizeof none);
    none.size = (uint32_t)sizeof none;
    return none;
}

// The device is lost, as its driver says (text), for good: what is pending fails, what is asked for
// later answers so. Without the lock.
static inline void tnh_lose(tnp_device *lost, const char *text)
{
    tnh_device *device = tnh_of(lost);
    tnp_error why = tnh_error();
    pthread_mutex_lock(&device->lock);
    if (!device->is_lost)
        snprintf(device->lost, sizeof device->lost, "%s", text);
    tnh_fail(&why, TNP_E_DEVICE_LOST, "%s", device->lost);
    device->is_lost = 1;
    for (tnp_semaphore *s = device->semaphores; s; s = s->next)
        tnh_doom(s, &why);
    tnh_publish(device);
}

// Work that runs sees it by tnh_is_lost. A real chip could hang: then its thread is left behind.
static inline void tnh_abandon(tnp_device *abandoned)
{
    tnh_lose(abandoned, "the device was abandoned");
}

// ----------------------------------------------------------------------------- calls of semaphores

static inline tnp_status tnh_semaphore_create(tnp_device *made_for,
                                              const tnp_semaphore_options *from,
                                              tnp_semaphore **out, tnp_error *err)
{
    tnh_device *device = tnh_of(made_for);
    tnp_semaphore_options how;
    if (!TNP_TAKE(&how, from) || TNP_ALIEN(how.flags, TNP_SEMAPHORE_HOST))
        return tnh_fail_unknown(err, "semaphore_create");
    tnp_semaphore *s = (tnp_semaphore *)tnh_make(device->host, sizeof *s);
    if (!s)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "semaphore_create: no memory for %zu bytes",
                        sizeof *s);
    s->device = device;
    s->is_host = how.flags & TNP_SEMAPHORE_HOST;
    s->holds = 1;
    s->value = how.value;
    s->why = tnh_error();
    pthread_mutex_lock(&device->lock);
    int is_lost =
        device->is_lost;   // under the lock: a semaphore made now would never be told otherwise
    if (!is_lost) {
        s->next = device->semaphores;
        device->semaphores = s;
    }
    pthread_mutex_unlock(&device->lock);
    if (is_lost) {
        device->host->free(device->host->context, s);
        return tnh_fail_lost(err);
    }
    *out = s;
    return TNP_OK;
}

static inline tnp_status tnh_semaphore_fail(tnp_semaphore *s, tnp_status status, const char *text,
                                            tnp_error *err)
{
    tnp_error why = tnh_error();
    if (status == TNP_OK)
        return tnh_fail(err, TNP_E_ARG, "semaphore_fail: the status of a failure cannot be TNP_OK");
    tnh_fail(&why, status, "%s", text);
    pthread_mutex_lock(&s->device->lock);
    tnh_doom(s, &why);
    tnh_publish(s->device);
    return TNP_OK;
}

static inline void tnh_semaphore_destroy(tnp_semaphore *s)
{
    if (!s)
        return;
    tnh_device *device = s->device;
    tnp_error unused = tnh_error();
    tnh_semaphore_fail(s, TNP_E_CANCELLED, "the semaphore was destroyed",
                       &unused);   // notices that were lent still come
    pthread_mutex_lock(&device->lock);
    tnh_drop(s);
    pthread_mutex_unlock(&device->lock);
}

static inline tnp_status tnh_semaphore_read(tnp_semaphore *s, uint64_t *value, tnp_error *err)
{
    tnp_status status = TNP_OK;
    pthread_mutex_lock(&s->device->lock);
    if (tnh_has_failed(s))
        status = tnh_fail(err, s->why.status, "%s", s->why.text);
    else
        *value = s->value;
    pthread_mutex_unlock(&s->device->lock);
    return status;
}

static inline tnp_status tnh_semaphore_signal(tnp_semaphore *s, uint64_t value, tnp_error *err)
{
    if (!s->is_host)
        return tnh_fail(err, TNP_E_ARG, "semaphore_signal: this semaphore is signalled by a queue");
    pthread_mutex_lock(&s->device->lock);
    if (s->why.status == TNP_OK && value > s->value)
        s->value = value;
    tnh_publish(s->device);
    return TNP_OK;
}

static inline struct timespec tnh_time_after(uint64_t ns)
{
    const uint64_t second = 1000000000u;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    uint64_t part = (uint64_t)end.tv_nsec + ns % second;
    end.tv_sec += (time_t)(ns / second + part / second);
    end.tv_nsec = (long)(part % second);
    return end;
}

static inline tnp_status tnh_semaphore_wait(tnp_semaphore *s, uint64_t value, uint64_t timeout_ns,
                                            tnp_error *err)
{
    tnh_device *device = s->device;
    struct timespec end = tnh_time_after(timeout_ns);
    int is_over = timeout_ns == 0;
    tnp_status status = TNP_OK;
    pthread_mutex_lock(&device->lock);
    s->holds++;   // another thread may see the value first and destroy the semaphore
    while (s->value < value && !tnh_has_failed(s) && !is_over)
        is_over = timeout_ns == UINT64_MAX
                      ? pthread_cond_wait(&device->changed, &device->lock)
                      : pthread_cond_timedwait(&device->changed, &device->lock, &end);
    if (s->value < value && tnh_has_failed(s))
        status = tnh_fail(err, s->why.status, "%s", s->why.text);
    else if (s->value < value)
        status = tnh_fail(err, TNP_E_TIMEOUT, "semaphore_wait: the time is over");
    tnh_drop(s);
    pthread_mutex_unlock(&device->lock);
    return status;
}

static inline tnp_status tnh_semaphore_notify(tnp_semaphore *s, tnp_notice *notice, tnp_error *err)
{
    tnp_notice known;
    if (!TNP_TAKE(&known, notice))
        return tnh_fail_unknown(err, "semaphore_notify");
    pthread_mutex_lock(&s->device->lock);
    notice->plugin[0] = s->notices;
    s->notices = notice;
    tnh_publish(s->device);   // perhaps it is due at once
    return TNP_OK;
}

// -------------------------------------------------------------------------------- a queue's thread

// Whether the first work can start, or be let go: then why->status is not TNP_OK.
static inline int tnh_is_ready(const tnp_queue *queue, const tnh_work *w, tnp_error *why)
{
    int is_ready = 1;
    for (uint32_t i = 0; i < w->signal_count;
         i++)   // work for a semaphore that failed never starts
        if (w->signals[i].semaphore->why.status != TNP_OK) {
            *why = w->signals[i].semaphore->why;
            return 1;
        }
    for (uint32_t i = 0; i < w->wait_count; i++) {
        const tnp_semaphore *s = w->waits[i].semaphore;
        if (s->value >= w->waits[i].value)
            continue;
        if (tnh_has_failed(s)) {
            *why = s->why;
            return 1;
        }
        is_ready = 0;
    }
    if (queue->device->is_lost)
        tnh_fail_lost(why);
    else if (queue->is_closing)
        tnh_fail(why, TNP_E_CANCELLED, "the queue was destroyed before the work began");
    return is_ready || why->status != TNP_OK;
}

// Frees the slot and raises or fails the signals in one change: who sees a signal finds room for
// the next work.
static inline void tnh_end(tnp_queue *queue, const tnh_work *w, const tnp_error *why)
{
    queue->head = (queue->head + 1) % queue->limits.pending;
    queue->count--;
    for (uint32_t i = 0; i < w->wait_count; i++)
        tnh_drop(w->waits[i].semaphore);
    for (uint32_t i = 0; i < w->signal_count; i++) {
        tnp_semaphore *s = w->signals[i].semaphore;
        s->running--;
        if (why->status != TNP_OK)
            tnh_doom(s, why);
        else if (s->why.status == TNP_OK && s->value < w->signals[i].value)
            s->value = w->signals[i].value;
        tnh_drop(s);
    }
    tnh_publish(queue->device);
}

static inline void *tnh_serve(void *argument)
{
    tnp_queue *queue = (tnp_queue *)argument;
    tnh_device *device = queue->device;
    pthread_mutex_lock(&device->lock);
    while (queue->count > 0 || !queue->is_closing) {
        const tnh_work *w = &queue->works[queue->head];
        tnp_error why = tnh_error();
        if (queue->count == 0 || !tnh_is_ready(queue, w, &why)) {
            pthread_cond_wait(&device->changed, &device->lock);
            continue;
        }
        for (uint32_t i = 0; i < w->signal_count; i++)
            w->signals[i].semaphore->running++;
        if (why.status == TNP_OK) {
            pthread_mutex_unlock(&device->lock);
            if (w->copy_count > 0)
                why.status = device->calls->copy(queue, w->copies, w->copy_count, &why);
            if (w->bound)
                why.status = device->calls->run(w->bound, w->updates, w->update_count, queue,
                                                w->run, &why);
            pthread_mutex_lock(&device->lock);
        }
        tnh_end(queue, w, &why);
        pthread_mutex_lock(&device->lock);
    }
    pthread_mutex_unlock(&device->lock);
    return NULL;
}

// ------------------------------------------------------------------------------ create and destroy

// Cuts the memory behind the queue into slots. Each array has a multiple of 8 bytes but the last.
static inline void tnh_place_works(tnp_queue *queue)
{
    const tnp_queue_options *limits = &queue->limits;
    unsigned char *at = (unsigned char *)(queue->works + limits->pending);
    for (uint32_t i = 0; i < limits->pending; i++) {
        tnh_work *w = &queue->works[i];
        w->waits = (tnp_point *)(void *)at;
        w->signals = w->waits + limits->points;
        w->copies = (tnp_copy *)(w->signals + limits->points);
        w->updates = (tnp_update *)(w->copies + limits->copies);
        w->update_bytes = (unsigned char *)(w->updates + limits->updates);
        at = w->update_bytes + (limits->update_bytes + 7) / 8 * 8;
    }
}

// Threads that are started between the two, by a driver too, get no signal of the process: these
// belong to the application. What a fault of their own raises is not blocked: the application may
// have a handler that mends it.
static inline void tnh_block_signals(sigset_t *before)
{
    static const int faults[] = { SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, before);
}
static inline void tnh_restore_signals(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static inline int tnh_start_thread(tnp_queue *queue)
{
    sigset_t before;
    tnh_block_signals(&before);
    int status = pthread_create(&queue->thread, NULL, tnh_serve, queue);
    tnh_restore_signals(&before);
    return status == 0;
}

static inline tnp_status tnh_queue_create(tnp_device *made_for, const tnp_queue_options *from,
                                          tnp_queue **out, tnp_error *err)
{
    tnh_device *device = tnh_of(made_for);
    tnp_queue_options how;
    if (!TNP_TAKE(&how, from) || TNP_ALIEN(how.flags, 0) ||
        (how.kind != TNP_QUEUE_COMPUTE && how.kind != TNP_QUEUE_COPY))
        return tnh_fail_unknown(err, "queue_create");
    if (how.pending == 0 || how.update_bytes > device->update_bytes)
        return tnh_fail(err, TNP_E_ARG, "queue_create: %u works (at least 1), %u bytes of updates",
                        how.pending, how.update_bytes);
    if (tnh_is_lost(made_for))
        return tnh_fail_lost(err);
    // Factors are below 2^32, structs below 2^8 bytes: only the product with pending could
    // overflow.
    uint64_t each = sizeof(tnh_work) + 2 * sizeof(tnp_point) * (uint64_t)how.points +
                    sizeof(tnp_copy) * (uint64_t)how.copies +
                    sizeof(tnp_update) * (uint64_t)how.updates +
                    ((uint64_t)how.update_bytes + 7) / 8 * 8;
    tnp_queue *queue = NULL;
    if (each <= INT64_MAX / how.pending)
        queue = (tnp_queue *)tnh_make(device->host, sizeof *queue + each * how.pending);
    if (!queue)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "queue_create: no memory");
    queue->device = device;
    queue->limits = how;   // priority is a wish: threads have none here
    pthread_mutex_lock(&device->lock);
    queue->index = device->queue_count++;
    pthread_mutex_unlock(&device->lock);
    queue->works = (tnh_work *)(queue + 1);
    tnh_place_works(queue);
    if (!tnh_start_thread(queue)) {
        device->host->free(device->host->context, queue);
        return tnh_fail(err, TNP_E_HOST_MEMORY, "queue_create: no thread can be started");
    }
    *out = queue;
    return TNP_OK;
}

static inline void tnh_queue_destroy(tnp_queue *queue)
{
    pthread_mutex_lock(&queue->device->lock);
    queue->is_closing = 1;
    tnh_publish(queue->device);
    pthread_join(queue->thread, NULL);
    queue->device->host->free(queue->device->host->context, queue);
}

// ------------------------------------------------------------------------------------------ submit

static inline tnp_status tnh_too_many(tnp_error *err, const char *what, uint32_t count,
                                      uint32_t most)
{
    return tnh_fail(err, TNP_E_ARG, "submit: %u %s, the queue was made for %u", count, what, most);
}

// Slots behind head + count are nobody's: they are filled first and counted when all of a call is
// good, so that all of it is taken or none. TNP_OK: the lock is held, and commit leaves it.
static inline tnp_status tnh_begin(tnp_queue *queue, uint32_t count, tnp_error *err)
{
    tnp_status status = TNP_OK;
    pthread_mutex_lock(&queue->device->lock);
    if (queue->device->is_lost)
        status = tnh_fail_lost(err);
    else if (count > queue->limits.pending)
        status = tnh_too_many(err, "works", count, queue->limits.pending);
    else if (count > queue->limits.pending - queue->count)
        status = tnh_fail(err, TNP_E_BUSY, "submit: the queue is full");
    if (status != TNP_OK)
        pthread_mutex_unlock(&queue->device->lock);
    return status;
}

static inline tnh_work *tnh_slot(tnp_queue *queue, uint32_t index)
{
    return &queue->works[((uint64_t)queue->head + queue->count + index) % queue->limits.pending];
}

static inline tnp_status tnh_commit(tnp_queue *queue, uint32_t count, tnp_status status)
{
    for (uint32_t k = 0; k < count && status == TNP_OK; k++) {
        tnh_work *w = tnh_slot(queue, k);
        for (uint32_t i = 0; i < w->wait_count; i++)
            w->waits[i].semaphore->holds++;
        for (uint32_t i = 0; i < w->signal_count; i++)
            w->signals[i].semaphore->holds++;
    }
    queue->count += status == TNP_OK ? count : 0;
    tnh_publish(queue->device);
    return status;
}

static inline tnp_status tnh_read_points(const tnp_queue *queue, const tnp_point *from,
                                         uint32_t count, int is_signal, tnp_point *out,
                                         tnp_error *err)
{
    if (count > queue->limits.points)
        return tnh_too_many(err, "points", count, queue->limits.points);
    for (uint32_t i = 0; i < count; i++) {
        const tnp_semaphore *s = from[i].semaphore;
        if (!s || s->device != queue->device || (is_signal && s->is_host))
            return tnh_fail(err, TNP_E_ARG, "submit: %s %u names a semaphore that it cannot",
                            is_signal ? "signal" : "wait", i);
        out[i] = from[i];
    }
    return TNP_OK;
}

static inline tnp_status tnh_read_sync(const tnp_queue *queue, const tnp_sync *from, tnh_work *w,
                                       tnp_error *err)
{
    tnp_sync sync;
    w->bound = NULL;
    w->copy_count = w->update_count = 0;
    if (!TNP_TAKE(&sync, from) || TNP_ALIEN(sync.flags, 0))
        return tnh_fail_unknown(err, "submit");
    w->run = sync.run;
    w->wait_count = sync.wait_count;
    w->signal_count = sync.signal_count;
    tnp_status status = tnh_read_points(queue, sync.waits, sync.wait_count, 0, w->waits, err);
    if (status == TNP_OK)
        status = tnh_read_points(queue, sync.signals, sync.signal_count, 1, w->signals, err);
    return status;
}

static inline tnp_status tnh_read_updates(const tnp_queue *queue, const tnp_submit *submit,
                                          tnh_work *w, tnp_error *err)
{
    uint32_t used = 0;
    if (submit->update_count > queue->limits.updates)
        return tnh_too_many(err, "updates", submit->update_count, queue->limits.updates);
    for (uint32_t i = 0; i < submit->update_count; i++) {
        const tnp_update *u = &submit->updates[i];
        if (!w->bound ||
            !queue->device->calls->bound_has(w->bound, u->storage, u->offset, u->bytes) ||
            u->bytes > queue->limits.update_bytes - used)
            return tnh_fail(err, TNP_E_ARG, "submit: update %u has no room", i);
        // Copied now: the data is lent for this call, and the work may begin much later.
        w->updates[i] = *u;
        w->updates[i].data = w->update_bytes + used;
        memcpy(w->update_bytes + used, u->data, u->bytes);
        used += u->bytes;
    }
    w->update_count = submit->update_count;
    return TNP_OK;
}

static inline tnp_status tnh_read_submit(const tnp_queue *queue, const tnp_submit *from,
                                         tnh_work *w, tnp_error *err)
{
    tnp_submit submit;
    if (!TNP_TAKE(&submit, from) || TNP_ALIEN(submit.flags, 0))   // TNP_SUBMIT_INLINE is a wish
        return tnh_fail_unknown(err, "submit");
    tnp_status status = tnh_read_sync(queue, submit.sync, w, err);
    if (status != TNP_OK)
        return status;
    w->bound = submit.bound;
    if (w->bound && (tnh_of(*(tnp_device **)w->bound) != queue->device ||
                     queue->limits.kind != TNP_QUEUE_COMPUTE))
        return tnh_fail(err, TNP_E_ARG, "submit: a bound of another device, or a queue for copies");
    return tnh_read_updates(queue, &submit, w, err);
}

static inline tnp_status tnh_queue_submit(tnp_queue *queue, const tnp_submit *const *submits,
                                          uint32_t count, tnp_error *err)
{
    tnp_status status = tnh_begin(queue, count, err);
    if (status != TNP_OK)
        return status;
    for (uint32_t i = 0; i < count && status == TNP_OK; i++)
        status = tnh_read_submit(queue, submits[i], tnh_slot(queue, i), err);
    return tnh_commit(queue, count, status);
}

// All rows lie in the buffer; a host pointer is the host's business. Written so that no product can
// overflow.
static inline int tnh_has_rows(const tnp_queue *queue, const tnp_buffer *buffer, uint64_t offset,
                               uint64_t pitch, const tnp_copy *c)
{
    return !buffer ||
           (tnh_is_inside((const tnp_device *)queue->device, buffer, offset, c->bytes) &&
            (c->rows == 1 ||
             pitch <= (((const tnh_buffer *)buffer)->bytes - c->bytes - offset) / (c->rows - 1)));
}

static inline tnp_status tnh_read_copy(const tnp_queue *queue, const tnp_copy *from, tnp_copy *out,
                                       tnp_error *err)
{
    if (!TNP_TAKE(out, from) || TNP_ALIEN(out->flags, 0))
        return tnh_fail_unknown(err, "copy");
    if (out->bytes == 0 || out->rows == 0 || (!out->to_buffer && !out->to_host))
        return tnh_fail(err, TNP_E_ARG, "copy: no bytes, no rows, or nowhere to copy them to");
    if (!tnh_has_rows(queue, out->from_buffer, out->from_offset, out->from_pitch, out) ||
        !tnh_has_rows(queue, out->to_buffer, out->to_offset, out->to_pitch, out))
        return tnh_fail(err, TNP_E_ARG, "copy: source or target is not in a buffer of this device");
    return TNP_OK;
}

static inline tnp_status tnh_queue_copy(tnp_queue *queue, const tnp_copy *const *copies,
                                        uint32_t count, const tnp_sync *sync, tnp_error *err)
{
    tnp_status status = tnh_begin(queue, 1, err);
    if (status != TNP_OK)
        return status;
    tnh_work *w = tnh_slot(queue, 0);
    status = tnh_read_sync(queue, sync, w, err);
    if (status == TNP_OK && count > queue->limits.copies)
        status = tnh_too_many(err, "copies", count, queue->limits.copies);
    for (uint32_t i = 0; i < count && status == TNP_OK; i++)
        status = tnh_read_copy(queue, copies[i], &w->copies[i], err);
    w->copy_count = count;
    return tnh_commit(queue, 1, status);
}

#ifdef __cplusplus
}
#endif
#endif
