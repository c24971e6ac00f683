// semaphore.c: timeline semaphores.
#include "semaphore.h"

#include <errno.h>
#include <time.h>

#include "queue.h"

cpu_semaphore *cpu_semaphore_from(tnp_semaphore *semaphore)
{
    cpu_semaphore *s = (cpu_semaphore *)semaphore;
    return s && s->tag == CPU_TAG_SEMAPHORE ? s : NULL;
}

static void append(tnp_notice **list, tnp_notice *notice)
{
    notice->plugin[0] = NULL;
    if (!*list) {
        *list = notice;
        return;
    }
    tnp_notice *last = *list;
    while (last->plugin[0])
        last = last->plugin[0];
    last->plugin[0] = notice;
}

// Takes the notices that are due off the list.
static tnp_notice *take_due_notices(cpu_semaphore *semaphore)
{
    tnp_notice *due = NULL, *kept = NULL;
    for (tnp_notice *notice = semaphore->notices, *next; notice; notice = next) {
        next = notice->plugin[0];
        append(semaphore->has_failed || notice->value <= semaphore->value ? &due : &kept, notice);
    }
    semaphore->notices = kept;
    return due;
}

// Leaves the lock while it calls; the semaphore is not looked at after that, for who is told may
// destroy it.
static void call_due_notices(cpu_semaphore *semaphore)
{
    cpu_instance *instance = semaphore->device->instance;
    tnp_notice *due = take_due_notices(semaphore);
    if (!due)
        return;
    uint64_t value = semaphore->value;
    tnp_status failure = semaphore->failure;
    char text[CPU_TEXT_BYTES];
    cpu_text_copy(text, semaphore->text);
    cpu_unlock(instance);
    for (tnp_notice *next; due; due = next) {
        next = due->plugin[0];
        bool is_reached = due->value <= value;
        due->reached(due, is_reached ? TNP_OK : failure, is_reached ? "" : text);
    }
    cpu_lock(instance);
}

static void doom(cpu_semaphore *semaphore, tnp_status why, const char *text)
{
    if (semaphore->failure != TNP_OK)
        return;
    semaphore->failure = why;
    cpu_text_copy(semaphore->text, text);
    cpu_queues_cancel(semaphore);
}

// After a change: shows what can be seen now, and wakes those who wait for it.
static void settle(cpu_semaphore *semaphore)
{
    if (semaphore->failure != TNP_OK && semaphore->running == 0)
        semaphore->has_failed = true;
    pthread_cond_broadcast(&semaphore->changed);
    cpu_queues_wake(semaphore->device->instance);
    call_due_notices(semaphore);
}

void cpu_semaphore_begin(cpu_semaphore *semaphore)
{
    semaphore->running++;
}

void cpu_semaphore_end(cpu_semaphore *semaphore, uint64_t value, tnp_status status,
                       const char *text)
{
    semaphore->running--;
    if (status != TNP_OK)
        doom(semaphore, status, text);
    else if (semaphore->failure == TNP_OK && value > semaphore->value)
        semaphore->value = value;
    settle(semaphore);
}

void cpu_semaphores_lose(cpu_device *device)
{
    for (cpu_semaphore *s = device->semaphores; s; s = s->next) {
        if (s->failure == TNP_OK) {
            s->failure = TNP_E_DEVICE_LOST;
            cpu_text_copy(s->text, "the device was abandoned");
        }
        s->has_failed = true;
        pthread_cond_broadcast(&s->changed);
    }
    cpu_queues_wake(device->instance);
    for (cpu_semaphore *s = device->semaphores; s;) {
        bool has_notices = s->notices != NULL;
        call_due_notices(s);
        s = has_notices ? device->semaphores : s->next;   // the list may have changed meanwhile
    }
}

// ------------------------------------------------------------------------------ the plugin's table

static bool init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool is_made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                   pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return is_made;
}

tnp_status cpu_semaphore_create(tnp_device *handle, const tnp_semaphore_options *how,
                                tnp_semaphore **out, tnp_error *err)
{
    cpu_device *device = cpu_device_from(handle);
    tnp_semaphore_options options;
    if (!device)
        return cpu_error(err, TNP_E_ARG, "semaphore_create: not a device of this plugin");
    if (!TNP_TAKE(&options, how) || TNP_ALIEN(options.flags, TNP_SEMAPHORE_HOST))
        return cpu_error(err, TNP_E_UNSUPPORTED,
                         "semaphore_create: asks for what this plugin does not know");
    cpu_instance *instance = device->instance;
    cpu_semaphore *semaphore = cpu_alloc(instance, sizeof *semaphore);
    if (!semaphore)
        return cpu_error(err, TNP_E_HOST_MEMORY, "semaphore_create: no memory for %zu bytes",
                         sizeof *semaphore);
    if (!init_condition(&semaphore->changed)) {
        cpu_free(instance, semaphore);
        return cpu_error(err, TNP_E_HOST_MEMORY,
                         "semaphore_create: no condition variable can be made");
    }
    semaphore->tag = CPU_TAG_SEMAPHORE;
    semaphore->is_host_signalled = (options.flags & TNP_SEMAPHORE_HOST) != 0;
    semaphore->device = device;
    semaphore->value = options.value;

    cpu_lock(instance);
    bool is_lost = device->is_lost;
    if (!is_lost) {
        semaphore->next = device->semaphores;
        if (semaphore->next)
            semaphore->next->previous = semaphore;
        device->semaphores = semaphore;
    }
    cpu_unlock(instance);
    if (is_lost) {
        pthread_cond_destroy(&semaphore->changed);
        cpu_free(instance, semaphore);
        return cpu_error_lost(err);
    }
    *out = (tnp_semaphore *)semaphore;
    return TNP_OK;
}

static void release(cpu_semaphore *semaphore)
{
    cpu_instance *instance = semaphore->device->instance;
    pthread_cond_destroy(&semaphore->changed);
    cpu_free(instance, semaphore);
}

void cpu_semaphore_destroy(tnp_semaphore *handle)
{
    cpu_semaphore *semaphore = cpu_semaphore_from(handle);
    if (!semaphore)
        return;
    cpu_instance *instance = semaphore->device->instance;
    cpu_lock(instance);
    if (semaphore->previous)
        semaphore->previous->next = semaphore->next;
    else
        semaphore->device->semaphores = semaphore->next;
    if (semaphore->next)
        semaphore->next->previous = semaphore->previous;
    if (semaphore->failure == TNP_OK) {   // for notices of values that nobody will reach
        semaphore->failure = TNP_E_CANCELLED;
        cpu_text_copy(semaphore->text, "the semaphore was destroyed");
    }
    semaphore->has_failed = true;
    call_due_notices(semaphore);
    semaphore->is_destroyed = true;
    bool is_free = semaphore->waiters == 0;
    cpu_unlock(instance);
    if (is_free)
        release(semaphore);
}

tnp_status cpu_semaphore_read(tnp_semaphore *handle, uint64_t *value, tnp_error *err)
{
    cpu_semaphore *semaphore = cpu_semaphore_from(handle);
    if (!semaphore)
        return cpu_error(err, TNP_E_ARG, "semaphore_read: not a semaphore of this plugin");
    cpu_instance *instance = semaphore->device->instance;
    tnp_status status = TNP_OK;
    cpu_lock(instance);
    if (semaphore->has_failed)
        status = cpu_error(err, semaphore->failure, "%s", semaphore->text);
    else
        *value = semaphore->value;
    cpu_unlock(instance);
    return status;
}

tnp_status cpu_semaphore_signal(tnp_semaphore *handle, uint64_t value, tnp_error *err)
{
    cpu_semaphore *semaphore = cpu_semaphore_from(handle);
    if (!semaphore)
        return cpu_error(err, TNP_E_ARG, "semaphore_signal: not a semaphore of this plugin");
    if (!semaphore->is_host_signalled)
        return cpu_error(err, TNP_E_ARG,
                         "semaphore_signal: this semaphore is signalled by a queue");
    cpu_instance *instance = semaphore->device->instance;
    cpu_lock(instance);
    if (semaphore->failure == TNP_OK && value > semaphore->value) {
        semaphore->value = value;
        settle(semaphore);
    }
    cpu_unlock(instance);
    return TNP_OK;
}

tnp_status cpu_semaphore_fail(tnp_semaphore *handle, tnp_status why, const char *text,
                              tnp_error *err)
{
    cpu_semaphore *semaphore = cpu_semaphore_from(handle);
    if (!semaphore)
        return cpu_error(err, TNP_E_ARG, "semaphore_fail: not a semaphore of this plugin");
    if (why == TNP_OK)
        return cpu_error(err, TNP_E_ARG, "semaphore_fail: the status of a failure cannot be OK");
    cpu_instance *instance = semaphore->device->instance;
    cpu_lock(instance);
    if (semaphore->failure == TNP_OK) {
        doom(semaphore, why, text);
        settle(semaphore);
    }
    cpu_unlock(instance);
    return TNP_OK;
}

// The time of CLOCK_MONOTONIC in timeout_ns, at most the last one that can be written.
static struct timespec deadline_after(uint64_t timeout_ns)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_nsec + timeout_ns % 1000000000u;
    uint64_t s = (uint64_t)now.tv_sec + timeout_ns / 1000000000u + ns / 1000000000u;
    return (struct timespec){ .tv_sec = (time_t)s, .tv_nsec = (long)(ns % 1000000000u) };
}

tnp_status cpu_semaphore_wait(tnp_semaphore *handle, uint64_t value, uint64_t timeout_ns,
                              tnp_error *err)
{
    cpu_semaphore *semaphore = cpu_semaphore_from(handle);
    if (!semaphore)
        return cpu_error(err, TNP_E_ARG, "semaphore_wait: not a semaphore of this plugin");
    cpu_instance *instance = semaphore->device->instance;
    struct timespec deadline =
        timeout_ns == UINT64_MAX ? (struct timespec){ 0 } : deadline_after(timeout_ns);
    bool is_late = timeout_ns == 0;
    tnp_status status = TNP_OK;

    cpu_lock(instance);
    semaphore->waiters++;
    while (semaphore->value < value && !semaphore->has_failed && !is_late) {
        if (timeout_ns == UINT64_MAX)
            pthread_cond_wait(&semaphore->changed, &instance->lock);
        else
            is_late = pthread_cond_timedwait(&semaphore->changed, &instance->lock, &deadline) ==
                      ETIMEDOUT;
    }
    if (semaphore->value < value)
        status = semaphore->has_failed
                     ? cpu_error(err, semaphore->failure, "%s", semaphore->text)
                     : cpu_error(err, TNP_E_TIMEOUT, "semaphore_wait: value %llu, waited for %llu",
                                (unsigned long long)semaphore->value, (unsigned long long)value);
    semaphore->waiters--;
    bool is_mine_to_free = semaphore->is_destroyed && semaphore->waiters == 0;
    cpu_unlock(instance);
    if (is_mine_to_free)
        release(semaphore);
    return status;
}

tnp_status cpu_semaphore_notify(tnp_semaphore *handle, tnp_notice *notice, tnp_error *err)
{
    cpu_semaphore *semaphore = cpu_semaphore_from(handle);
    tnp_notice known;
    if (!semaphore)
        return cpu_error(err, TNP_E_ARG, "semaphore_notify: not a semaphore of this plugin");
    if (!TNP_HAS(tnp_notice, notice, plugin))
        return cpu_error(err, TNP_E_ARG,
                         "semaphore_notify: a notice of %u bytes has no room for the plugin",
                         notice->size);
    if (!TNP_TAKE(&known, notice))
        return cpu_error(err, TNP_E_UNSUPPORTED,
                         "semaphore_notify: asks for what this plugin does not know");
    cpu_instance *instance = semaphore->device->instance;
    cpu_lock(instance);
    tnp_notice **end = &semaphore->notices;
    while (*end)
        end = (tnp_notice **)&(*end)->plugin[0];
    notice->plugin[0] = NULL;
    *end = notice;
    call_due_notices(semaphore);
    cpu_unlock(instance);
    return TNP_OK;
}
