// queue.c: the ring of a queue: who waits, who runs, who is told.
#include "queue.h"

#include <signal.h>

#include "machine.h"
#include "semaphore.h"

cpu_queue *cpu_queue_from(tnp_queue *queue)
{
    cpu_queue *q = (cpu_queue *)queue;
    return q && q->tag == CPU_TAG_QUEUE ? q : NULL;
}

// ---------------------------------------------------------------------------- what the lock guards

void cpu_work_cancel(cpu_work *work, tnp_status why, const char *text)
{
    if (work->doom == TNP_OK) {
        work->doom = why;
        cpu_text_copy(work->text, text);
    }
    work->wait_count = 0;   // what it names may be gone once its signals have failed
    work->bound = NULL;
}

static bool has_reached(const cpu_point *wait)
{
    return wait->semaphore->value >= wait->value;
}

bool cpu_queue_is_ready(const cpu_queue *queue)
{
    const cpu_work *work = &queue->works[queue->head];
    bool is_ready = true;
    if (queue->is_closing || work->doom != TNP_OK)
        return true;
    for (uint32_t i = 0; i < work->wait_count; i++) {
        if (has_reached(&work->waits[i]))
            continue;
        if (work->waits[i].semaphore->has_failed)
            return true;
        is_ready = false;
    }
    return is_ready;
}

// Finds out why the first work may not start, now that it is ready.
static void judge(const cpu_queue *queue, cpu_work *work)
{
    for (uint32_t i = 0; i < work->wait_count && work->doom == TNP_OK; i++) {
        const cpu_semaphore *semaphore = work->waits[i].semaphore;
        if (!has_reached(&work->waits[i]) && semaphore->has_failed)
            cpu_work_cancel(work, semaphore->failure, semaphore->text);
    }
    if (queue->is_closing && work->doom == TNP_OK)
        cpu_work_cancel(work, TNP_E_CANCELLED, "the queue was destroyed before the work started");
}

// Runs the work without the lock. Work that an abandoned device was running has been counted; now
// it touches no more.
static void run_without_lock(cpu_queue *queue, cpu_work *work)
{
    cpu_instance *instance = queue->device->instance;
    tnp_error err = { .size = sizeof err };
    work->state = CPU_WORK_RUNNING;
    cpu_unlock(instance);
    tnp_status status = cpu_work_run(work, queue, &err);
    cpu_lock(instance);
    if (queue->device->is_lost)
        instance->hung--;
    if (status != TNP_OK) {
        work->doom = status;
        cpu_text_copy(work->text, err.text);
    }
}

// Tells the semaphores, in order. Each may be gone as soon as it is told, and so may what the work
// has used.
static void tell(cpu_work *work)
{
    for (uint32_t i = 0; i < work->signal_count; i++)
        if (work->signals[i].semaphore)
            cpu_semaphore_end(work->signals[i].semaphore, work->signals[i].value, work->doom,
                              work->text);
}

void cpu_queue_execute(cpu_queue *queue)
{
    while (queue->count > 0) {
        cpu_work *work = &queue->works[queue->head];
        while (!cpu_queue_is_ready(queue))
            pthread_cond_wait(&queue->wake, &queue->device->instance->lock);
        judge(queue, work);
        for (uint32_t i = 0; i < work->signal_count; i++)
            if (work->signals[i].semaphore)
                cpu_semaphore_begin(work->signals[i].semaphore);
        if (work->doom == TNP_OK)
            run_without_lock(queue, work);
        work->state = CPU_WORK_TELLING;
        queue->count--;
        tell(work);
        work->state = CPU_WORK_FREE;
        queue->head = (queue->head + 1) % queue->slot_count;
    }
}

void cpu_queues_wake(cpu_instance *instance)
{
    for (cpu_queue *queue = instance->queues; queue; queue = queue->next)
        if (queue->count > 0 && queue->works[queue->head].state == CPU_WORK_WAITING &&
            cpu_queue_is_ready(queue))
            pthread_cond_signal(&queue->wake);
}

void cpu_queues_cancel(cpu_semaphore *semaphore)
{
    for (cpu_queue *queue = semaphore->device->instance->queues; queue; queue = queue->next) {
        for (uint32_t slot = 0; slot < queue->slot_count; slot++) {
            cpu_work *work = &queue->works[slot];
            if (work->state != CPU_WORK_WAITING)
                continue;
            for (uint32_t i = 0; i < work->signal_count; i++) {
                if (work->signals[i].semaphore != semaphore)
                    continue;
                work->signals[i].semaphore = NULL;
                cpu_work_cancel(work, semaphore->failure, semaphore->text);
            }
        }
    }
}

void cpu_queues_lose(cpu_device *device)
{
    for (cpu_queue *queue = device->instance->queues; queue; queue = queue->next) {
        if (queue->device != device)
            continue;
        for (uint32_t slot = 0; slot < queue->slot_count; slot++) {
            cpu_work *work = &queue->works[slot];
            for (uint32_t i = 0; work->state != CPU_WORK_FREE && i < work->signal_count; i++)
                work->signals[i].semaphore = NULL;
            if (work->state == CPU_WORK_WAITING)
                cpu_work_cancel(work, TNP_E_DEVICE_LOST, "the device was abandoned");
        }
        if (queue->works[queue->head].state == CPU_WORK_RUNNING)
            device->instance->hung++;
        pthread_cond_broadcast(&queue->ended);
    }
}

// ------------------------------------------------------------------------------ the queue's thread

static void *serve(void *argument)
{
    cpu_queue *queue = argument;
    cpu_instance *instance = queue->device->instance;
    cpu_lock(instance);
    while (!queue->is_closing || queue->count > 0) {
        if (queue->is_executed || queue->count == 0) {
            pthread_cond_wait(&queue->idle, &instance->lock);
            continue;
        }
        queue->is_executed = true;
        cpu_queue_execute(queue);
        queue->is_executed = false;
    }
    queue->has_ended = true;
    pthread_cond_broadcast(&queue->ended);
    cpu_unlock(instance);
    return NULL;
}

// Starts the thread with signals blocked, but for what its own faults raise: a handler of the
// program may mend these.
static bool start_thread(cpu_queue *queue)
{
    static const int faults[] = { SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    bool is_started = pthread_create(&queue->thread, NULL, serve, queue) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

// ------------------------------------------------------------------------- the storage of the ring

// One allocation:   | cpu_queue and its works | share of work 0 | share of work 1 | ... |
typedef struct work_layout {
    uint64_t waits, signals, copies, updates, update_data;   // offsets in a share
    uint64_t share_bytes;
    uint64_t shares, bytes;   // where the shares begin, and all of it
} work_layout;

static bool lay_out(const tnp_queue_options *limits, work_layout *layout)
{
    uint64_t slots = (uint64_t)limits->pending + 1, works, queue;
    *layout = (work_layout){ 0 };
    return cpu_layout_add(limits->points, sizeof(cpu_point), &layout->waits,
                          &layout->share_bytes) &&
           cpu_layout_add(limits->points, sizeof(cpu_point), &layout->signals,
                          &layout->share_bytes) &&
           cpu_layout_add(limits->copies, sizeof(cpu_copy), &layout->copies,
                          &layout->share_bytes) &&
           cpu_layout_add(limits->updates, sizeof(cpu_update), &layout->updates,
                          &layout->share_bytes) &&
           cpu_layout_add(limits->update_bytes, 1, &layout->update_data, &layout->share_bytes) &&
           cpu_mul(slots, sizeof(cpu_work), &works) && cpu_add(works, sizeof(cpu_queue), &works) &&
           cpu_layout_add(1, works, &queue, &layout->bytes) &&
           cpu_layout_add(slots, layout->share_bytes, &layout->shares, &layout->bytes);
}

static void place_works(cpu_queue *queue, const work_layout *layout)
{
    char *share = (char *)queue + layout->shares;
    for (uint32_t slot = 0; slot < queue->slot_count; slot++, share += layout->share_bytes) {
        cpu_work *work = &queue->works[slot];
        work->waits = (cpu_point *)(share + layout->waits);
        work->signals = (cpu_point *)(share + layout->signals);
        work->copies = (cpu_copy *)(share + layout->copies);
        work->updates = (cpu_update *)(share + layout->updates);
        work->update_data = share + layout->update_data;
    }
}

// ------------------------------------------------------------------------------ create and destroy

static bool init_conditions(cpu_queue *queue)
{
    if (pthread_cond_init(&queue->wake, NULL) != 0)
        return false;
    if (pthread_cond_init(&queue->idle, NULL) != 0)
        goto no_idle;
    if (pthread_cond_init(&queue->ended, NULL) == 0)
        return true;
    pthread_cond_destroy(&queue->idle);
no_idle:
    pthread_cond_destroy(&queue->wake);
    return false;
}

static void finish_conditions(cpu_queue *queue)
{
    pthread_cond_destroy(&queue->wake);
    pthread_cond_destroy(&queue->idle);
    pthread_cond_destroy(&queue->ended);
}

tnp_status cpu_queue_create(tnp_device *handle, const tnp_queue_options *how, tnp_queue **out,
                            tnp_error *err)
{
    cpu_device *device = cpu_device_from(handle);
    tnp_queue_options limits;
    work_layout layout;
    if (!device)
        return cpu_error(err, TNP_E_ARG, "queue_create: not a device of this plugin");
    if (!TNP_TAKE(&limits, how) || TNP_ALIEN(limits.flags, 0))
        return cpu_error(err, TNP_E_UNSUPPORTED,
                         "queue_create: asks for what this plugin does not know");
    if (limits.kind != TNP_QUEUE_COMPUTE && limits.kind != TNP_QUEUE_COPY)
        return cpu_error(err, TNP_E_UNSUPPORTED, "queue_create: no queues of kind %u", limits.kind);
    if (limits.pending == 0 || limits.pending == UINT32_MAX ||
        limits.update_bytes > CPU_MAX_UPDATE_BYTES)
        return cpu_error(
            err, TNP_E_ARG,
            "queue_create: %u pieces of work with %u bytes of updates; at least 1, at most %u",
            limits.pending, limits.update_bytes, CPU_MAX_UPDATE_BYTES);
    if (cpu_device_is_lost(device))
        return cpu_error_lost(err);

    cpu_instance *instance = device->instance;
    cpu_queue *queue = lay_out(&limits, &layout) ? cpu_alloc(instance, layout.bytes) : NULL;
    if (!queue)
        return cpu_error(err, TNP_E_HOST_MEMORY, "queue_create: no memory for %u pieces of work",
                         limits.pending);
    queue->tag = CPU_TAG_QUEUE;
    queue->kind = limits.kind;
    queue->device = device;
    queue->limits = limits;
    queue->slot_count = limits.pending + 1;
    place_works(queue, &layout);
    if (!init_conditions(queue)) {
        cpu_free(instance, queue);
        return cpu_error(err, TNP_E_HOST_MEMORY, "queue_create: no condition variable can be made");
    }
    if (!start_thread(queue)) {
        finish_conditions(queue);
        cpu_free(instance, queue);
        uint64_t total, available;
        cpu_machine_memory(&total, &available);
        return cpu_error(err, TNP_E_HOST_MEMORY,
                         "queue_create: no thread can be started, %llu bytes of memory are left",
                         (unsigned long long)available);
    }
    cpu_lock(instance);
    queue->next = instance->queues;
    instance->queues = queue;
    cpu_unlock(instance);
    *out = (tnp_queue *)queue;
    return TNP_OK;
}

// Whether the thread is where only work or the host can hold it up.
static bool is_away(const cpu_queue *queue)
{
    cpu_work_state state = queue->works[queue->head].state;
    return state == CPU_WORK_RUNNING || state == CPU_WORK_TELLING;
}

static void unlink_queue(cpu_queue *queue)
{
    cpu_queue **link = &queue->device->instance->queues;
    while (*link != queue)
        link = &(*link)->next;
    *link = queue->next;
}

void cpu_queue_destroy(tnp_queue *handle)
{
    cpu_queue *queue = cpu_queue_from(handle);
    if (!queue)
        return;
    cpu_device *device = queue->device;
    cpu_instance *instance = device->instance;

    cpu_lock(instance);
    queue->is_closing = true;
    pthread_cond_signal(&queue->wake);
    pthread_cond_signal(&queue->idle);
    while (!queue->has_ended && !(device->is_lost && is_away(queue)))
        pthread_cond_wait(&queue->ended, &instance->lock);
    unlink_queue(queue);
    bool is_orphan = !queue->has_ended;
    if (is_orphan) {
        device->orphans++;
        instance->orphans++;
    }
    cpu_unlock(instance);

    if (is_orphan) {
        pthread_detach(queue->thread);
        return;
    }
    pthread_join(queue->thread, NULL);
    finish_conditions(queue);
    cpu_free(instance, queue);
}
