// queue.c: queues: rings, made once, with room for all they may hold. A submit only writes work
// down; engine.c does it.
//
//   works   | free | runs | waits | waits | free | ...
//                    head                  head + count
#include "sim.h"

// A copy up to this size, on an idle queue and with nothing to wait for, is done inside the call.
#define LIGHT_COPY_BYTES 65536u

// ------------------------------------------------------------------------------ create and destroy

// Cuts the memory behind the queue into slots. Each array has a multiple of 8 bytes but the last.
static void place_works(tnp_queue *queue, unsigned char *at)
{
    const tnp_queue_options *limits = &queue->limits;
    for (uint32_t i = 0; i < limits->pending; i++) {
        sim_work *w = &queue->works[i];
        w->waits = (tnp_point *)at;
        w->signals = w->waits + limits->points;
        w->copies = (tnp_copy *)(w->signals + limits->points);
        w->updates = (tnp_update *)(w->copies + limits->copies);
        w->update_bytes = (unsigned char *)(w->updates + limits->updates);
        at = w->update_bytes + ((uint64_t)limits->update_bytes + 7) / 8 * 8;
    }
}

tnp_status sim_queue_create(tnp_device *device, const tnp_queue_options *from, tnp_queue **out,
                            tnp_error *err)
{
    tnp_instance *instance = device->instance;
    tnp_queue_options how;
    tnp_status status = sim_enter(instance, device->chip, device, SIM_CALL_queue_create, err);
    if (status != TNP_OK)
        return status;
    if (!TNP_TAKE(&how, from) || TNP_ALIEN(how.flags, 0) ||
        (how.kind != TNP_QUEUE_COMPUTE && how.kind != TNP_QUEUE_COPY))
        return sim_fail_unknown(err, "queue_create");
    if (how.pending == 0 || how.update_bytes > device->chip->spec.update_bytes)
        return sim_fail(err, TNP_E_ARG,
                        "queue_create: %u pieces of work with %u bytes of updates; at least 1, at "
                        "most %llu",
                        how.pending, how.update_bytes,
                        (unsigned long long)device->chip->spec.update_bytes);
    status = sim_engine_start(instance, err);
    if (status != TNP_OK)
        return status;
    // Factors are below 2^32, structs below 2^8 bytes: only the product with pending could
    // overflow.
    uint64_t each = sizeof(sim_work) + 2 * sizeof(tnp_point) * (uint64_t)how.points +
                    sizeof(tnp_copy) * (uint64_t)how.copies +
                    sizeof(tnp_update) * (uint64_t)how.updates +
                    ((uint64_t)how.update_bytes + 7) / 8 * 8;
    tnp_queue *queue = NULL;
    if (each <= INT64_MAX / how.pending)
        queue = sim_make(instance, sizeof *queue + each * how.pending);
    if (!queue)
        return sim_fail(err, TNP_E_HOST_MEMORY, "queue_create: no memory for %u pieces of work",
                        how.pending);
    queue->device = device;
    queue->limits = how;   // priority is a wish: these devices have none
    place_works(queue, (unsigned char *)(queue->works + how.pending));
    pthread_mutex_lock(&instance->lock);
    queue->next = instance->queues;
    instance->queues = queue;
    instance->alive++;
    pthread_mutex_unlock(&instance->lock);
    *out = queue;
    return TNP_OK;
}

void sim_queue_destroy(tnp_queue *queue)
{
    sim_enter_end(queue->device, SIM_CALL_queue_destroy);
    tnp_instance *instance = queue->device->instance;
    pthread_mutex_lock(&instance->lock);
    queue->is_closing = true;
    pthread_cond_broadcast(&instance->changed);
    while (queue->count > 0)
        pthread_cond_wait(&instance->changed, &instance->lock);
    tnp_queue **link = &instance->queues;
    while (*link != queue)
        link = &(*link)->next;
    *link = queue->next;
    instance->alive--;
    pthread_mutex_unlock(&instance->lock);
    sim_free(instance, queue);
}

// ------------------------------------------------------------------------------------------ submit

static tnp_status too_many(tnp_error *err, const char *what, uint32_t count, uint32_t most)
{
    return sim_fail(err, TNP_E_ARG, "submit: %u %s, the queue was made for %u", count, what, most);
}

// A submit under way. Slots behind head + count are nobody's: they are filled first and counted
// when all of a call is good, so that all of it is taken or none.
typedef struct taking {
    tnp_queue *queue;
    uint32_t count;
    const sim_fault *fired;
} taking;

// Takes the lock, which commit leaves.
static tnp_status begin(taking *t, sim_call call, tnp_error *err)
{
    tnp_queue *queue = t->queue;
    tnp_device *device = queue->device;
    pthread_mutex_lock(&device->instance->lock);
    tnp_status status = sim_enter_locked(device->instance, device->chip, device, call, &t->fired,
                                         err);
    if (status != TNP_OK)
        return status;
    if (t->count > queue->limits.pending)
        return too_many(err, "pieces of work", t->count, queue->limits.pending);
    if (t->count > queue->limits.pending - queue->count)
        return sim_fail(err, TNP_E_BUSY, "submit: %u pieces of work, the queue has room for %u",
                        t->count, queue->limits.pending - queue->count);
    return TNP_OK;
}

static sim_work *slot(tnp_queue *queue, uint32_t index)
{
    return &queue->works[((uint64_t)queue->head + queue->count + index) % queue->limits.pending];
}

// may_help: the calling thread may do the work.
static tnp_status commit(taking *t, tnp_status status, bool may_help)
{
    tnp_queue *queue = t->queue;
    tnp_instance *instance = queue->device->instance;
    bool was_idle = queue->count == 0;
    for (uint32_t k = 0; k < t->count && status == TNP_OK; k++) {
        sim_work *w = slot(queue, k);
        w->number = ++instance->work_count;
        w->submitted_ns = sim_host_ns(instance);
        for (uint32_t i = 0; i < w->wait_count; i++)
            w->waits[i].semaphore->holds++;
        for (uint32_t i = 0; i < w->signal_count; i++)
            w->signals[i].semaphore->holds++;
    }
    queue->count += status == TNP_OK ? t->count : 0;
    if (status == TNP_OK && was_idle && may_help)
        sim_engine_help(queue);
    sim_publish(instance);
    sim_log_fault(instance, queue->device->chip, t->fired);
    return status;
}

static bool may_wait_for(const tnp_queue *queue, const tnp_semaphore *s)
{
    return s->device == queue->device ||
           (s->device->instance == queue->device->instance && s->device->chip->spec.is_peer &&
            queue->device->chip->spec.is_peer);
}

static tnp_status read_points(const tnp_queue *queue, const tnp_point *from, uint32_t count,
                              bool is_signal, tnp_point *out, tnp_error *err)
{
    if (count > queue->limits.points)
        return too_many(err, is_signal ? "signals" : "waits", count, queue->limits.points);
    for (uint32_t i = 0; i < count; i++) {
        const tnp_semaphore *s = from[i].semaphore;
        if (!s || !may_wait_for(queue, s) ||
            (is_signal && (s->is_host || s->device != queue->device)))
            return sim_fail(err, TNP_E_ARG, "submit: %s %u names a semaphore that it cannot",
                            is_signal ? "signal" : "wait", i);
        out[i] = from[i];
    }
    return TNP_OK;
}

static tnp_status read_sync(const tnp_queue *queue, const tnp_sync *from, sim_work *w,
                            tnp_error *err)
{
    tnp_sync sync;
    w->bound = NULL;
    w->copy_count = w->update_count = w->wait_count = w->signal_count = 0;
    if (!from)
        return sim_fail(err, TNP_E_ARG, "submit: no sync");
    if (!TNP_TAKE(&sync, from) || TNP_ALIEN(sync.flags, 0))
        return sim_fail_unknown(err, "submit");
    w->run = sync.run;
    tnp_status status = read_points(queue, sync.waits, sync.wait_count, false, w->waits, err);
    if (status == TNP_OK)
        status = read_points(queue, sync.signals, sync.signal_count, true, w->signals, err);
    w->wait_count = sync.wait_count;
    w->signal_count = sync.signal_count;
    return status;
}

// Nobody would know when what it names is free.
static tnp_status need_signal(const sim_work *w, bool names_something, tnp_error *err)
{
    return names_something && w->signal_count == 0
               ? sim_fail(err, TNP_E_ARG, "submit: work on a bound or a host pointer has no signal")
               : TNP_OK;
}

static tnp_status read_updates(const tnp_queue *queue, const tnp_submit *submit, sim_work *w,
                               tnp_error *err)
{
    uint32_t used = 0;
    if (submit->update_count > queue->limits.updates)
        return too_many(err, "updates", submit->update_count, queue->limits.updates);
    for (uint32_t i = 0; i < submit->update_count; i++) {
        const tnp_update *u = &submit->updates[i];
        if (!w->bound || !sim_bound_has(w->bound, u->storage, u->offset, u->bytes))
            return sim_fail(err, TNP_E_ARG,
                            "submit: update %u is outside of what is bound and can be written", i);
        if (u->bytes > queue->limits.update_bytes - used)
            return too_many(err, "bytes of updates", used + u->bytes, queue->limits.update_bytes);
        // Copied now: the data is lent for this call, and the work may begin much later.
        w->updates[i] = (tnp_update){ u->storage, u->bytes, u->offset, w->update_bytes + used };
        memcpy(w->update_bytes + used, u->data, u->bytes);
        used += u->bytes;
    }
    w->update_count = submit->update_count;
    return TNP_OK;
}

static tnp_status read_submit(const tnp_queue *queue, const tnp_submit *from, sim_work *w,
                              bool *may_help, tnp_error *err)
{
    tnp_submit submit;
    if (!TNP_TAKE(&submit, from) || TNP_ALIEN(submit.flags, 0))
        return sim_fail_unknown(err, "submit");
    tnp_status status = read_sync(queue, submit.sync, w, err);
    if (status != TNP_OK)
        return status;
    w->bound = submit.bound;
    *may_help &= (submit.flags & TNP_SUBMIT_INLINE) != 0;
    if (w->bound && (w->bound->device != queue->device || queue->limits.kind != TNP_QUEUE_COMPUTE))
        return sim_fail(err, TNP_E_ARG,
                        "submit: a bound of another device, or a queue made for copies");
    status = need_signal(w, w->bound != NULL, err);
    return status == TNP_OK ? read_updates(queue, &submit, w, err) : status;
}

tnp_status sim_queue_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                            tnp_error *err)
{
    taking t = { queue, count, NULL };
    bool may_help = true;
    tnp_status status = begin(&t, SIM_CALL_queue_submit, err);
    for (uint32_t i = 0; i < count && status == TNP_OK; i++)
        status = read_submit(queue, submits[i], slot(queue, i), &may_help, err);
    return commit(&t, status, may_help);
}

tnp_status sim_queue_copy(tnp_queue *queue, const tnp_copy *const *copies, uint32_t count,
                          const tnp_sync *sync, tnp_error *err)
{
    taking t = { queue, 1, NULL };
    double bytes = 0;
    bool names_host = false;
    tnp_status status = begin(&t, SIM_CALL_queue_copy, err);
    if (status != TNP_OK)
        return commit(&t, status, false);
    sim_work *w = slot(queue, 0);
    status = read_sync(queue, sync, w, err);
    if (status == TNP_OK && count > queue->limits.copies)
        status = too_many(err, "copies", count, queue->limits.copies);
    for (uint32_t i = 0; i < count && status == TNP_OK; i++) {
        status = sim_copy_read(queue->device, copies[i], &w->copies[i], err);
        bytes += (double)w->copies[i].bytes * (double)w->copies[i].rows;
        names_host |= w->copies[i].from_host || w->copies[i].to_host;
    }
    if (status == TNP_OK)
        status = need_signal(w, names_host, err);
    w->copy_count = count;
    return commit(&t, status, bytes <= LIGHT_COPY_BYTES);
}
