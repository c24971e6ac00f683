// submit.c: takes work into a queue. Slots are filled where nobody looks yet, then published
// together, so that all of a call is taken or none.
#include "program.h"
#include "queue.h"
#include "semaphore.h"

// A copy up to this size, on an idle queue and with nothing to wait for, is done inside the call.
#define LIGHT_COPY_BYTES 65536u

static cpu_work *slot_at(cpu_queue *queue, uint32_t index)
{
    return &queue->works[(queue->tail + index) % queue->slot_count];
}

static tnp_status read_points(const cpu_queue *queue, const tnp_point *points, uint32_t count,
                              bool is_signal, cpu_point *out, tnp_error *err)
{
    const char *what = is_signal ? "signal" : "wait";
    if (count > queue->limits.points)
        return cpu_error(err, TNP_E_ARG, "submit: %u %ss, the queue was made for %u", count, what,
                         queue->limits.points);
    for (uint32_t i = 0; i < count; i++) {
        cpu_semaphore *semaphore = cpu_semaphore_from(points[i].semaphore);
        if (!semaphore || semaphore->device->instance != queue->device->instance)
            return cpu_error(err, TNP_E_ARG, "submit: %s %u names no semaphore of this instance",
                             what, i);
        if (is_signal && (semaphore->is_host_signalled || semaphore->device != queue->device))
            return cpu_error(err, TNP_E_ARG, "submit: signal %u names a semaphore %s", i,
                             semaphore->is_host_signalled ? "that the host signals"
                                                          : "of another device");
        out[i] = (cpu_point){ semaphore, points[i].value };
    }
    return TNP_OK;
}

static tnp_status read_sync(const cpu_queue *queue, const tnp_sync *what, cpu_work *work,
                            tnp_error *err)
{
    tnp_sync sync;
    if (!what)
        return cpu_error(err, TNP_E_ARG, "submit: no sync");
    if (!TNP_TAKE(&sync, what) || TNP_ALIEN(sync.flags, 0))
        return cpu_error(err, TNP_E_UNSUPPORTED,
                         "submit: a sync asks for what this plugin does not know");
    tnp_status status = read_points(queue, sync.waits, sync.wait_count, false, work->waits, err);
    if (status == TNP_OK)
        status = read_points(queue, sync.signals, sync.signal_count, true, work->signals, err);
    if (status != TNP_OK)
        return status;
    work->wait_count = sync.wait_count;
    work->signal_count = sync.signal_count;
    work->run = sync.run;
    return TNP_OK;
}

static tnp_status read_updates(const cpu_queue *queue, const tnp_submit *submit, cpu_work *work,
                               tnp_error *err)
{
    uint32_t used = 0;
    if (submit->update_count > queue->limits.updates)
        return cpu_error(err, TNP_E_ARG, "submit: %u updates, the queue was made for %u",
                         submit->update_count, queue->limits.updates);
    if (submit->update_count > 0 && !work->bound)
        return cpu_error(err, TNP_E_ARG, "submit: updates without a bound to put them into");
    for (uint32_t i = 0; i < submit->update_count; i++) {
        const tnp_update *update = &submit->updates[i];
        if (update->bytes > queue->limits.update_bytes - used)
            return cpu_error(
                err, TNP_E_ARG,
                "submit: more than the %u bytes of updates that the queue was made for",
                queue->limits.update_bytes);
        char *to;
        tnp_status status = cpu_bound_locate(work->bound, update, &to, err);
        if (status != TNP_OK)
            return status;
        work->updates[i] = (cpu_update){ .to = to, .bytes = update->bytes, .begin = used };
        memcpy(work->update_data + used, update->data, update->bytes);
        used += update->bytes;
    }
    work->update_count = submit->update_count;
    return TNP_OK;
}

static void clear(cpu_work *work)
{
    work->bound = NULL;
    work->run = 0;
    work->wait_count = work->signal_count = work->copy_count = work->update_count = 0;
    work->doom = TNP_OK;
}

static tnp_status read_submit(cpu_queue *queue, const tnp_submit *what, cpu_work *work,
                              bool *may_wait, tnp_error *err)
{
    tnp_submit submit;
    clear(work);
    if (!TNP_TAKE(&submit, what) || TNP_ALIEN(submit.flags, 0))
        return cpu_error(err, TNP_E_UNSUPPORTED, "submit: asks for what this plugin does not know");
    if (submit.bound) {
        work->bound = cpu_bound_from(submit.bound);
        if (!work->bound || cpu_bound_device(work->bound) != queue->device)
            return cpu_error(err, TNP_E_ARG, "submit: not a bound of the queue's device");
        if (queue->kind != TNP_QUEUE_COMPUTE)
            return cpu_error(err, TNP_E_ARG,
                             "submit: a program on a queue that was made for copies");
    }
    *may_wait &= (submit.flags & TNP_SUBMIT_INLINE) != 0;
    tnp_status status = read_sync(queue, submit.sync, work, err);
    return status == TNP_OK ? read_updates(queue, &submit, work, err) : status;
}

// Looks for room, and for a device to work on. The slots from the tail on are then the caller's
// until publish.
static tnp_status reserve(cpu_queue *queue, uint32_t count, tnp_error *err)
{
    if (count > queue->limits.pending)
        return cpu_error(err, TNP_E_ARG, "submit: %u pieces of work, the queue was made for %u",
                         count, queue->limits.pending);
    cpu_lock(queue->device->instance);
    bool is_lost = queue->device->is_lost;
    uint32_t room = queue->limits.pending - queue->count;
    cpu_unlock(queue->device->instance);
    if (is_lost)
        return cpu_error_lost(err);
    if (count > room)
        return cpu_error(err, TNP_E_BUSY, "submit: %u pieces of work, the queue has room for %u",
                         count, room);
    return TNP_OK;
}

// Work that would signal a semaphore which has failed never starts.
static void cancel_if_doomed(cpu_work *work)
{
    for (uint32_t i = 0; i < work->signal_count; i++) {
        cpu_semaphore *semaphore = work->signals[i].semaphore;
        if (semaphore->failure == TNP_OK)
            continue;
        work->signals[i].semaphore = NULL;
        cpu_work_cancel(work, semaphore->failure, semaphore->text);
    }
}

// How far the calling thread may go when the queue was idle.
typedef enum in_call { NOTHING_IN_CALL, WITHOUT_WAITING, WITH_WAITING } in_call;

static tnp_status publish(cpu_queue *queue, uint32_t count, in_call how, tnp_error *err)
{
    cpu_instance *instance = queue->device->instance;
    cpu_lock(instance);
    if (queue->device->is_lost) {
        cpu_unlock(instance);
        return cpu_error_lost(err);
    }
    bool was_idle = queue->count == 0 && !queue->is_executed;
    for (uint32_t i = 0; i < count; i++) {
        cpu_work *work = slot_at(queue, i);
        cancel_if_doomed(work);
        work->state = CPU_WORK_WAITING;
    }
    queue->tail = (queue->tail + count) % queue->slot_count;
    queue->count += count;
    if (was_idle &&
        (how == WITH_WAITING || (how == WITHOUT_WAITING && cpu_queue_is_ready(queue)))) {
        queue->is_executed = true;
        cpu_queue_execute(queue);
        queue->is_executed = false;
    } else if (!queue->is_executed) {
        pthread_cond_signal(&queue->idle);
    }
    cpu_unlock(instance);
    return TNP_OK;
}

tnp_status cpu_queue_submit(tnp_queue *handle, const tnp_submit *const *submits, uint32_t count,
                            tnp_error *err)
{
    cpu_queue *queue = cpu_queue_from(handle);
    if (!queue)
        return cpu_error(err, TNP_E_ARG, "submit: not a queue of this plugin");
    if (count == 0)
        return TNP_OK;
    tnp_status status = reserve(queue, count, err);
    bool may_wait = true;
    for (uint32_t i = 0; i < count && status == TNP_OK; i++)
        status = read_submit(queue, submits[i], slot_at(queue, i), &may_wait, err);
    return status == TNP_OK ? publish(queue, count, may_wait ? WITH_WAITING : NOTHING_IN_CALL, err)
                            : status;
}

tnp_status cpu_queue_copy(tnp_queue *handle, const tnp_copy *const *copies, uint32_t count,
                          const tnp_sync *sync, tnp_error *err)
{
    cpu_queue *queue = cpu_queue_from(handle);
    if (!queue)
        return cpu_error(err, TNP_E_ARG, "copy: not a queue of this plugin");
    if (count > queue->limits.copies)
        return cpu_error(err, TNP_E_ARG, "copy: %u copies, the queue was made for %u", count,
                         queue->limits.copies);
    tnp_status status = reserve(queue, 1, err);
    if (status != TNP_OK)
        return status;

    cpu_work *work = slot_at(queue, 0);
    uint64_t bytes = 0, copy_bytes;
    bool is_light = true;
    clear(work);
    status = read_sync(queue, sync, work, err);
    for (uint32_t i = 0; i < count && status == TNP_OK; i++) {
        cpu_copy *copy = &work->copies[i];
        status = cpu_copy_read(queue->device, copies[i], copy, err);
        if (status == TNP_OK)
            is_light &= cpu_mul(copy->bytes, copy->rows, &copy_bytes) &&
                        cpu_add(bytes, copy_bytes, &bytes) && bytes <= LIGHT_COPY_BYTES;
    }
    work->copy_count = count;
    return status == TNP_OK ? publish(queue, 1, is_light ? WITHOUT_WAITING : NOTHING_IN_CALL, err)
                            : status;
}
