// engine.c: which work is next, doing it, and the virtual clock.
//
// On the virtual clock a piece of work starts when the host has submitted it, the one before it in
// its queue is over, what it waits for is raised, and the part of the device that it needs is free:
// the units for a program, the link for a copy from or to the host. A program takes what its claims
// cost; a copy takes the latency and its bytes over the link. The host's own time is what it has
// seen: it moves on when a wait returns; inside a notice it is that of the notice.
#include <signal.h>
#include <time.h>

#include "sim.h"

// ------------------------------------------------------------------------------------------ choice

static bool is_reached(const tnp_point *wait)
{
    return wait->semaphore->value >= wait->value;
}

// Whether the first work of a queue can start, or be let go: then why->status is not TNP_OK.
static bool is_ready(const tnp_queue *queue, tnp_error *why)
{
    const sim_work *w = &queue->works[queue->head];
    bool can_start = true;
    *why = (tnp_error){ .size = sizeof *why };
    if (queue->hangs && !queue->device->is_lost)
        return false;
    for (uint32_t i = 0; i < w->signal_count; i++)   // work for one that failed never starts
        if (w->signals[i].semaphore->why.status != TNP_OK) {
            *why = w->signals[i].semaphore->why;
            return true;
        }
    for (uint32_t i = 0; i < w->wait_count; i++) {
        if (is_reached(&w->waits[i]))
            continue;
        if (sim_has_failed(w->waits[i].semaphore)) {
            *why = w->waits[i].semaphore->why;
            return true;
        }
        can_start = false;
    }
    if (queue->device->is_lost)
        (void)sim_fail_lost(queue->device, why);
    else if (queue->is_closing)
        (void)sim_fail(why, TNP_E_CANCELLED, "the queue was destroyed before the work started");
    return can_start || why->status != TNP_OK;
}

// Whether somebody waits for work of the queue.
static bool is_wanted(const tnp_queue *queue)
{
    for (uint32_t k = 0; k < queue->count; k++) {
        const sim_work *w = &queue->works[((uint64_t)queue->head + k) % queue->limits.pending];
        for (uint32_t i = 0; i < w->signal_count; i++)
            if (w->signals[i].semaphore->wanted > w->signals[i].semaphore->value)
                return true;
    }
    return false;
}

static bool is_late(const tnp_queue *queue)
{
    return queue->device->chip->spec.order == SIM_ORDER_LATE;
}

// What wanted work waits for is wanted.
static void pass_on_wants(tnp_instance *instance)
{
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (tnp_queue *queue = instance->queues; queue; queue = queue->next) {
            const sim_work *w = &queue->works[queue->head];
            if (queue->count == 0 || (is_late(queue) && !is_wanted(queue)))
                continue;
            for (uint32_t i = 0; i < w->wait_count; i++) {
                tnp_semaphore *s = w->waits[i].semaphore;
                if (s->wanted >= w->waits[i].value)
                    continue;
                s->wanted = w->waits[i].value;
                has_changed = true;
            }
        }
    }
}

// The queue whose first work is next; NULL = none can go on. *why: it is to be let go.
static tnp_queue *choose(tnp_instance *instance, tnp_error *why)
{
    tnp_queue *best = NULL;
    uint64_t best_rank = UINT64_MAX;
    tnp_error said;
    pass_on_wants(instance);
    for (tnp_queue *queue = instance->queues; queue; queue = queue->next) {
        if (queue->count == 0 || !is_ready(queue, &said) ||
            (said.status == TNP_OK && is_late(queue) && !is_wanted(queue)))
            continue;
        uint64_t rank = queue->works[queue->head].number;
        if (queue->device->chip->spec.order == SIM_ORDER_REVERSE)
            rank = UINT64_MAX - rank;
        if (best && rank >= best_rank)
            continue;
        best = queue;
        best_rank = rank;
        *why = said;
    }
    return best;
}

// ----------------------------------------------------------------------------------- virtual clock

typedef struct timing {
    uint64_t begin_ns, end_ns;
    tnp_device *linked[2];   // devices whose links are busy meanwhile; NULL = none
} timing;

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t whole_ns(double ns)
{
    return ns < 1e15 ? (uint64_t)ns : (uint64_t)1e15;
}

// GB/s are bytes a nanosecond.
static double copies_ns(const tnp_queue *queue, const sim_work *w, timing *t)
{
    const sim_spec *spec = &queue->device->chip->spec;
    double ns = 0, latency_us = 0;
    for (uint32_t i = 0; i < w->copy_count; i++) {
        const tnp_copy *c = &w->copies[i];
        const double bytes = (double)c->bytes * (double)c->rows;
        tnp_device *from = c->from_buffer ? c->from_buffer->device : NULL;
        tnp_device *to = c->to_buffer ? c->to_buffer->device : NULL;
        if (from == to || (!from && !c->from_host)) {   // within the device
            ns += 2 * bytes / spec->gbps;
            continue;
        }
        double gbps = spec->link_gbps;
        for (int side = 0; side < 2; side++) {
            tnp_device *device = side ? to : from;
            if (!device)
                continue;
            t->linked[side] = device;
            gbps = device->chip->spec.link_gbps < gbps ? device->chip->spec.link_gbps : gbps;
            if (device->chip->spec.latency_us > latency_us)
                latency_us = device->chip->spec.latency_us;
        }
        ns += bytes / gbps;
    }
    return ns + latency_us * 1e3;
}

static double program_ns(const tnp_program *program)
{
    double ns = 0;
    for (uint32_t u = 0; u < program->unit_count; u++)
        ns += program->unit_ns[u];
    return ns;
}

static timing time_work(const tnp_queue *queue, const sim_work *w)
{
    timing t = { .begin_ns = later(w->submitted_ns, queue->free_ns) };
    double ns = w->bound ? program_ns(w->bound->program) : copies_ns(queue, w, &t);
    if (w->bound)
        t.begin_ns = later(t.begin_ns, queue->device->compute_free_ns);
    for (int side = 0; side < 2; side++)
        if (t.linked[side])
            t.begin_ns = later(t.begin_ns, t.linked[side]->link_free_ns);
    for (uint32_t i = 0; i < w->wait_count; i++)
        t.begin_ns = later(t.begin_ns, sim_time_of(w->waits[i].semaphore, w->waits[i].value));
    t.end_ns = t.begin_ns + whole_ns(ns);
    return t;
}

static void pass_time(tnp_queue *queue, const sim_work *w, const timing *t)
{
    queue->free_ns = t->end_ns;
    if (w->bound)
        queue->device->compute_free_ns = t->end_ns;
    for (int side = 0; side < 2; side++)
        if (t->linked[side])
            t->linked[side]->link_free_ns = t->end_ns;
}

// ----------------------------------------------------------------------------------------- telling

static void tell_spans(const tnp_queue *queue, const sim_work *w, const timing *t)
{
    const tnp_instance *instance = queue->device->instance;
    const tnp_program *program = w->bound->program;
    double at = (double)t->begin_ns;
    for (uint32_t u = 0; u < program->unit_count; u++) {
        tnp_span span = { .size = sizeof span,
                          .unit = u,
                          .run = w->run,
                          .begin_ns = instance->start_ns + whole_ns(at) };
        at += program->unit_ns[u];
        span.end_ns = instance->start_ns + whole_ns(at);
        instance->host.trace(instance->host.context, queue, &span);
    }
}

static void tell_line(const tnp_queue *queue, const sim_work *w, const timing *t)
{
    const tnp_instance *instance = queue->device->instance;
    char room[32];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < w->copy_count; i++)
        bytes += w->copies[i].bytes * w->copies[i].rows;
    sim_log(instance, 2, "device %s: run %llu: %s of %llu %s: %llu to %llu ns",
            sim_chip_name(instance, queue->device->chip, room), (unsigned long long)w->run,
            w->bound ? "program" : "copy",
            (unsigned long long)(w->bound ? w->bound->program->unit_count : bytes),
            w->bound ? "units" : "bytes", (unsigned long long)t->begin_ns,
            (unsigned long long)t->end_ns);
}

// ---------------------------------------------------------------------------------------- doing it

static void put_updates(const sim_work *w)
{
    for (uint32_t i = 0; i < w->update_count; i++) {
        const tnp_update *u = &w->updates[i];
        const sim_place *place = &w->bound->places[u->storage];
        memcpy(place->buffer->data + place->offset + u->offset, u->data, u->bytes);
    }
}

static void scramble_ranges(const tnp_bound *bound)
{
    for (uint32_t i = 0; i < bound->range_count; i++)
        sim_scramble(bound->ranges[i].buffer, bound->ranges[i].begin,
                     bound->ranges[i].end - bound->ranges[i].begin);
}

static tnp_status run(const sim_work *w, tnp_error *err)
{
    tnp_status status = TNP_OK;
    for (uint32_t i = 0; i < w->copy_count; i++)
        sim_copy_run(&w->copies[i]);
    if (!w->bound)
        return TNP_OK;
    scramble_ranges(w->bound);   // now plain
    put_updates(w);
    if (w->bound->cpu)
        status = sim_cpu_run(w->bound->device, w->bound->cpu, err);
    scramble_ranges(w->bound);
    return status;
}

// Frees the slot and raises or fails the signals in one change: who sees a signal finds room for
// the next work. Leaves the lock.
static void end(tnp_queue *queue, const sim_work *w, const tnp_error *why, uint64_t ns)
{
    tnp_instance *instance = queue->device->instance;
    queue->head = (queue->head + 1) % queue->limits.pending;
    queue->count--;
    for (uint32_t i = 0; i < w->wait_count; i++)
        sim_drop(w->waits[i].semaphore);
    for (uint32_t i = 0; i < w->signal_count; i++) {
        tnp_semaphore *s = w->signals[i].semaphore;
        s->running--;
        if (why->status != TNP_OK)
            sim_doom(s, why);
        else
            sim_raise_to(s, w->signals[i].value, ns);
        sim_drop(s);
    }
    sim_publish(instance);
}

static void pause_ms(uint64_t ms)
{
    nanosleep(&(struct timespec){ (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 }, NULL);
}

// As if it had not been begun, but for queue->hangs. With the lock held.
static void begin_to_hang(tnp_queue *queue)
{
    const sim_work *w = &queue->works[queue->head];
    for (uint32_t i = 0; i < w->signal_count; i++)
        w->signals[i].semaphore->running--;
    queue->hangs = true;
    queue->device->instance->is_working = false;
    pthread_cond_broadcast(&queue->device->instance->changed);
}

// With the lock held, which it leaves meanwhile. why: the work is let go if its status is not
// TNP_OK.
static void work_off(tnp_queue *queue, tnp_error *why)
{
    tnp_device *device = queue->device;
    tnp_instance *instance = device->instance;
    const sim_work *w = &queue->works[queue->head];
    const sim_fault *fired = NULL;
    timing t = { 0 };
    instance->is_working = true;
    for (uint32_t i = 0; i < w->signal_count; i++)
        w->signals[i].semaphore->running++;
    if (why->status == TNP_OK)
        why->status = sim_enter_locked(instance, device->chip, device, SIM_CALL_work, &fired, why);
    if (fired && fired->is_hang) {
        begin_to_hang(queue);
        return;
    }
    if (fired && fired->late_ms)
        why->status = TNP_OK;
    if (why->status == TNP_OK) {
        t = time_work(queue, w);
        pass_time(queue, w, &t);
    }
    bool starts = why->status == TNP_OK;
    pthread_mutex_unlock(&instance->lock);
    if (fired && fired->late_ms)
        pause_ms(fired->late_ms);
    if (starts) {
        pthread_mutex_lock(&instance->bytes);
        why->status = run(w, why);
        pthread_mutex_unlock(&instance->bytes);
        if (w->bound && w->bound->is_traced)
            tell_spans(queue, w, &t);
        if (device->chip->spec.is_traced)
            tell_line(queue, w, &t);
    }
    sim_log_fault(instance, device->chip, fired);
    pthread_mutex_lock(&instance->lock);
    if (starts && device->is_lost)
        (void)sim_fail_lost(device, why);
    end(queue, w, why, t.end_ns);
    pthread_mutex_lock(&instance->lock);
    instance->is_working = false;   // after the notices: what they submit is not done inside them
    pthread_cond_broadcast(&instance->changed);
}

void sim_engine_help(tnp_queue *queue)
{
    tnp_instance *instance = queue->device->instance;
    tnp_error why;
    while (!instance->is_working && queue->count > 0 && choose(instance, &why) == queue)
        work_off(queue, &why);
}

// ------------------------------------------------------------------------------------------ thread

static void *serve(void *argument)
{
    tnp_instance *instance = argument;
    pthread_mutex_lock(&instance->lock);
    while (!instance->is_stopping) {
        tnp_error why;
        tnp_queue *queue = instance->is_working ? NULL : choose(instance, &why);
        if (queue)
            work_off(queue, &why);
        else
            pthread_cond_wait(&instance->changed, &instance->lock);
    }
    pthread_mutex_unlock(&instance->lock);
    return NULL;
}

// The thread gets no signal of the process: these belong to the application. What a fault of its
// own raises is not blocked: the application may have a handler that mends it.
static bool start_thread(tnp_instance *instance)
{
    static const int faults[] = { SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int status = pthread_create(&instance->engine, NULL, serve, instance);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status == 0;
}

tnp_status sim_engine_start(tnp_instance *instance, tnp_error *err)
{
    pthread_mutex_lock(&instance->lock);
    if (!instance->has_engine)
        instance->has_engine = start_thread(instance);
    bool has_engine = instance->has_engine;
    pthread_mutex_unlock(&instance->lock);
    return has_engine ? TNP_OK
                      : sim_fail(err, TNP_E_HOST_MEMORY, "queue_create: no thread can be started");
}

void sim_engine_stop(tnp_instance *instance)
{
    if (!instance->has_engine)
        return;
    pthread_mutex_lock(&instance->lock);
    instance->is_stopping = true;
    pthread_cond_broadcast(&instance->changed);
    pthread_mutex_unlock(&instance->lock);
    pthread_join(instance->engine, NULL);
}
