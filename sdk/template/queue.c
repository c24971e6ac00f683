// queue.c: queues, in order.
//
// queue_submit and queue_copy only write work down, in a ring that queue_create has made: they
// never wait and never allocate. The queue's thread does one work after another, so that order
// needs no code at all.
//
//   works   | free | runs | waits | waits | free | ...
//                    head                  head + count
#include "template.h"

#include <signal.h>

typedef struct work {
    tnp_bound *bound;   // NULL: only copies, or nothing
    uint64_t run;
    uint32_t wait_count, signal_count, copy_count, update_count;
    tnp_point *waits, *signals;   // these have the room that the queue was made for
    tnp_copy *copies;
    tnp_update *updates;   // data points into update_bytes
    unsigned char *update_bytes;
} work;

struct tnp_queue {
    tnp_device *device;
    tnp_queue_options limits;
    pthread_t thread;
    int is_closing;
    uint32_t head, count;
    work works[];
};

// --------------------------------------------------------------------------------- the thread

// Whether the first work can start, or be let go: then why->status is not TNP_OK.
static int is_ready(const tnp_queue *queue, const work *w, tnp_error *why)
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
        if (tpl_has_failed(s)) {
            *why = s->why;
            return 1;
        }
        is_ready = 0;
    }
    if (queue->device->is_lost)
        tpl_fail_lost(why);
    else if (queue->is_closing)
        tpl_fail(why, TNP_E_CANCELLED, "the queue was destroyed before the work began");
    return is_ready || why->status != TNP_OK;
}

static tnp_status run(const tnp_queue *queue, const work *w, tnp_error *err)
{
    for (uint32_t i = 0; i < w->update_count; i++) {
        const tnp_update *u = &w->updates[i];
        memcpy(w->bound->places[u->storage].data + u->offset, u->data, u->bytes);
    }
    for (uint32_t i = 0; i < w->copy_count; i++)
        tpl_copy_run(&w->copies[i]);
    return w->bound ? tpl_run(w->bound, queue, w->run, err) : TNP_OK;
}

// Frees the slot and raises or fails the signals in one change: who sees a signal finds room for
// the next work.
static void end(tnp_queue *queue, const work *w, const tnp_error *why)
{
    queue->head = (queue->head + 1) % queue->limits.pending;
    queue->count--;
    for (uint32_t i = 0; i < w->wait_count; i++)
        tpl_drop(w->waits[i].semaphore);
    for (uint32_t i = 0; i < w->signal_count; i++) {
        tnp_semaphore *s = w->signals[i].semaphore;
        s->running--;
        if (why->status != TNP_OK)
            tpl_doom(s, why);
        else if (s->why.status == TNP_OK && s->value < w->signals[i].value)
            s->value = w->signals[i].value;
        tpl_drop(s);
    }
    tpl_publish(queue->device);
}

static void *serve(void *argument)
{
    tnp_queue *queue = argument;
    tnp_device *device = queue->device;
    pthread_mutex_lock(&device->lock);
    while (queue->count > 0 || !queue->is_closing) {
        const work *w = &queue->works[queue->head];
        tnp_error why = { .size = sizeof why };
        if (queue->count == 0 || !is_ready(queue, w, &why)) {
            pthread_cond_wait(&device->changed, &device->lock);
            continue;
        }
        for (uint32_t i = 0; i < w->signal_count; i++)
            w->signals[i].semaphore->running++;
        if (why.status == TNP_OK) {
            pthread_mutex_unlock(&device->lock);
            why.status = run(queue, w, &why);
            pthread_mutex_lock(&device->lock);
        }
        end(queue, w, &why);
        pthread_mutex_lock(&device->lock);
    }
    pthread_mutex_unlock(&device->lock);
    return NULL;
}

// ------------------------------------------------------------------------- create and destroy

// Cuts the memory behind the queue into slots. Each array has a multiple of 8 bytes but the last.
static void place_works(tnp_queue *queue, unsigned char *at)
{
    const tnp_queue_options *limits = &queue->limits;
    for (uint32_t i = 0; i < limits->pending; i++) {
        work *w = &queue->works[i];
        w->waits = (tnp_point *)at;
        w->signals = w->waits + limits->points;
        w->copies = (tnp_copy *)(w->signals + limits->points);
        w->updates = (tnp_update *)(w->copies + limits->copies);
        w->update_bytes = (unsigned char *)(w->updates + limits->updates);
        at = w->update_bytes + (limits->update_bytes + 7) / 8 * 8;
    }
}

// The thread gets no signal of the process: these belong to the application. What a fault of its
// own raises is not blocked: the application may have a handler that mends it.
static int start_thread(tnp_queue *queue)
{
    static const int faults[] = { SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int status = pthread_create(&queue->thread, NULL, serve, queue);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status == 0;
}

tnp_status tpl_queue_create(tnp_device *device, const tnp_queue_options *from, tnp_queue **out,
                            tnp_error *err)
{
    tnp_queue_options how;
    if (!TNP_TAKE(&how, from) || TNP_ALIEN(how.flags, 0) ||
        (how.kind != TNP_QUEUE_COMPUTE && how.kind != TNP_QUEUE_COPY))
        return tpl_fail_unknown(err, "queue_create");
    if (how.pending == 0 || how.update_bytes > TPL_UPDATE_BYTES)
        return tpl_fail(err, TNP_E_ARG, "queue_create: %u works (at least 1), %u bytes of updates",
                        how.pending, how.update_bytes);
    if (device->is_lost)
        return tpl_fail_lost(err);
    // Factors are below 2^32, structs below 2^8 bytes: only the product with pending could
    // overflow.
    uint64_t each = sizeof(work) + 2 * sizeof(tnp_point) * (uint64_t)how.points +
                    sizeof(tnp_copy) * (uint64_t)how.copies +
                    sizeof(tnp_update) * (uint64_t)how.updates +
                    ((uint64_t)how.update_bytes + 7) / 8 * 8;
    tnp_queue *queue = NULL;
    if (each <= INT64_MAX / how.pending)
        queue = tpl_make(device->host, sizeof *queue + each * how.pending);
    if (!queue)
        return tpl_fail(err, TNP_E_HOST_MEMORY, "queue_create: no memory");
    queue->device = device;
    queue->limits = how;   // priority is a wish: this device has none
    place_works(queue, (unsigned char *)(queue->works + how.pending));
    if (!start_thread(queue)) {
        tpl_free(device->host, queue);
        return tpl_fail(err, TNP_E_HOST_MEMORY, "queue_create: no thread can be started");
    }
    *out = queue;
    return TNP_OK;
}

void tpl_queue_destroy(tnp_queue *queue)
{
    pthread_mutex_lock(&queue->device->lock);
    queue->is_closing = 1;
    tpl_publish(queue->device);
    pthread_join(queue->thread, NULL);
    tpl_free(queue->device->host, queue);
}

// ------------------------------------------------------------------------------------- submit

static tnp_status too_many(tnp_error *err, const char *what, uint32_t count, uint32_t most)
{
    return tpl_fail(err, TNP_E_ARG, "submit: %u %s, the queue was made for %u", count, what, most);
}

// Slots behind head + count are nobody's: they are filled first and counted when all of a call is
// good, so that all of it is taken or none. TNP_OK: the lock is held, and commit leaves it.
static tnp_status begin(tnp_queue *queue, uint32_t count, tnp_error *err)
{
    tnp_status status = TNP_OK;
    pthread_mutex_lock(&queue->device->lock);
    if (queue->device->is_lost)
        status = tpl_fail_lost(err);
    else if (count > queue->limits.pending)
        status = too_many(err, "works", count, queue->limits.pending);
    else if (count > queue->limits.pending - queue->count)
        status = tpl_fail(err, TNP_E_BUSY, "submit: the queue is full");
    if (status != TNP_OK)
        pthread_mutex_unlock(&queue->device->lock);
    return status;
}

static work *slot(tnp_queue *queue, uint32_t index)
{
    return &queue->works[((uint64_t)queue->head + queue->count + index) % queue->limits.pending];
}

static tnp_status commit(tnp_queue *queue, uint32_t count, tnp_status status)
{
    for (uint32_t k = 0; k < count && status == TNP_OK; k++) {
        work *w = slot(queue, k);
        for (uint32_t i = 0; i < w->wait_count; i++)
            w->waits[i].semaphore->holds++;
        for (uint32_t i = 0; i < w->signal_count; i++)
            w->signals[i].semaphore->holds++;
    }
    queue->count += status == TNP_OK ? count : 0;
    tpl_publish(queue->device);
    return status;
}

static tnp_status read_points(const tnp_queue *queue, const tnp_point *from, uint32_t count,
                              int is_signal, tnp_point *out, tnp_error *err)
{
    if (count > queue->limits.points)
        return too_many(err, "points", count, queue->limits.points);
    for (uint32_t i = 0; i < count; i++) {
        const tnp_semaphore *s = from[i].semaphore;
        if (!s || s->device != queue->device || (is_signal && s->is_host))
            return tpl_fail(err, TNP_E_ARG, "submit: %s %u names a semaphore that it cannot",
                            is_signal ? "signal" : "wait", i);
        out[i] = from[i];
    }
    return TNP_OK;
}

static tnp_status read_sync(const tnp_queue *queue, const tnp_sync *from, work *w, tnp_error *err)
{
    tnp_sync sync;
    w->bound = NULL;
    w->copy_count = w->update_count = 0;
    if (!TNP_TAKE(&sync, from) || TNP_ALIEN(sync.flags, 0))
        return tpl_fail_unknown(err, "submit");
    w->run = sync.run;
    w->wait_count = sync.wait_count;
    w->signal_count = sync.signal_count;
    tnp_status status = read_points(queue, sync.waits, sync.wait_count, 0, w->waits, err);
    if (status == TNP_OK)
        status = read_points(queue, sync.signals, sync.signal_count, 1, w->signals, err);
    return status;
}

static tnp_status read_updates(const tnp_queue *queue, const tnp_submit *submit, work *w,
                               tnp_error *err)
{
    uint32_t used = 0;
    if (submit->update_count > queue->limits.updates)
        return too_many(err, "updates", submit->update_count, queue->limits.updates);
    for (uint32_t i = 0; i < submit->update_count; i++) {
        const tnp_update *u = &submit->updates[i];
        if (!w->bound || !tpl_bound_has(w->bound, u->storage, u->offset, u->bytes) ||
            u->bytes > queue->limits.update_bytes - used)
            return tpl_fail(err, TNP_E_ARG, "submit: update %u has no room", i);
        // Copied now: the data is lent for this call, and the work may begin much later.
        w->updates[i] = (tnp_update){ u->storage, u->bytes, u->offset, w->update_bytes + used };
        memcpy(w->update_bytes + used, u->data, u->bytes);
        used += u->bytes;
    }
    w->update_count = submit->update_count;
    return TNP_OK;
}

static tnp_status read_submit(const tnp_queue *queue, const tnp_submit *from, work *w,
                              tnp_error *err)
{
    tnp_submit submit;
    if (!TNP_TAKE(&submit, from) || TNP_ALIEN(submit.flags, 0))   // TNP_SUBMIT_INLINE is a wish
        return tpl_fail_unknown(err, "submit");
    tnp_status status = read_sync(queue, submit.sync, w, err);
    if (status != TNP_OK)
        return status;
    w->bound = submit.bound;
    if (w->bound && (w->bound->device != queue->device || queue->limits.kind != TNP_QUEUE_COMPUTE))
        return tpl_fail(err, TNP_E_ARG, "submit: a bound of another device, or a queue for copies");
    return read_updates(queue, &submit, w, err);
}

tnp_status tpl_queue_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                            tnp_error *err)
{
    tnp_status status = begin(queue, count, err);
    if (status != TNP_OK)
        return status;
    for (uint32_t i = 0; i < count && status == TNP_OK; i++)
        status = read_submit(queue, submits[i], slot(queue, i), err);
    return commit(queue, count, status);
}

tnp_status tpl_queue_copy(tnp_queue *queue, const tnp_copy *const *copies, uint32_t count,
                          const tnp_sync *sync, tnp_error *err)
{
    tnp_status status = begin(queue, 1, err);
    if (status != TNP_OK)
        return status;
    work *w = slot(queue, 0);
    status = read_sync(queue, sync, w, err);
    if (status == TNP_OK && count > queue->limits.copies)
        status = too_many(err, "copies", count, queue->limits.copies);
    for (uint32_t i = 0; i < count && status == TNP_OK; i++)
        status = tpl_copy_read(queue->device, copies[i], &w->copies[i], err);
    w->copy_count = count;
    return commit(queue, 1, status);
}
