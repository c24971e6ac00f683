// timeline.c: semaphores: 64-bit values that only grow, or have failed.
//
//   fresh ──sim_doom──> doomed ──no work runs that would signal it──> failed
//
// Doomed: no value is raised any more, but work that would signal it still runs and its memory is
// in use, so nobody may see the failure yet: who sees it frees that memory.
#include <time.h>

#include "sim.h"

// ---------------------------------------------------------------------------------- under the lock

bool sim_has_failed(const tnp_semaphore *s)
{
    return s->why.status != TNP_OK && s->running == 0;
}

void sim_doom(tnp_semaphore *s, const tnp_error *why)
{
    if (s->why.status == TNP_OK)   // the first failure stays
        s->why = *why;
}

void sim_raise_to(tnp_semaphore *s, uint64_t value, uint64_t ns)
{
    if (s->why.status != TNP_OK || value <= s->value)
        return;
    s->value = value;
    s->raises[s->raise_count++ % SIM_RAISES] = (sim_raise){ value, ns };
}

// The earliest that is known; 0 for a value that was there from the start.
uint64_t sim_time_of(const tnp_semaphore *s, uint64_t value)
{
    uint64_t known = s->raise_count < SIM_RAISES ? s->raise_count : SIM_RAISES;
    for (uint64_t i = s->raise_count - known; i < s->raise_count; i++)
        if (s->raises[i % SIM_RAISES].value >= value)
            return s->raises[i % SIM_RAISES].ns;
    return 0;
}

// A semaphore may be destroyed while threads or works that failed still hold it: the last one
// frees.
void sim_drop(tnp_semaphore *s)
{
    if (--s->holds > 0)
        return;
    tnp_semaphore **link = &s->device->instance->semaphores;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    sim_free(s->device->instance, s);
}

// The host has seen that the value was raised: what it submits from now on comes later.
static void see(tnp_semaphore *s, uint64_t value)
{
    uint64_t ns = sim_time_of(s, value);
    if (s->device->instance->host_ns < ns)
        s->device->instance->host_ns = ns;
}

// Inside a notice: when it came. What the host does there happens then, whatever it has seen
// elsewhere.
static _Thread_local bool is_in_notice;
static _Thread_local uint64_t notice_ns;

uint64_t sim_host_ns(const tnp_instance *instance)
{
    return is_in_notice ? notice_ns : instance->host_ns;
}

static void tell_notice(tnp_notice *notice, const tnp_error *why, uint64_t ns)
{
    bool was_in_notice = is_in_notice;
    uint64_t before_ns = notice_ns;
    is_in_notice = true;
    notice_ns = ns;
    notice->reached(notice, why->status, why->text);
    is_in_notice = was_in_notice;
    notice_ns = before_ns;
}

static tnp_notice *take_due_notice(tnp_instance *instance, tnp_error *why, uint64_t *ns)
{
    for (tnp_semaphore *s = instance->semaphores; s; s = s->next)
        for (void **link = &s->notices; *link; link = &((tnp_notice *)*link)->plugin[0]) {
            tnp_notice *notice = *link;
            bool is_reached = s->value >= notice->value;
            if (!is_reached && !sim_has_failed(s))
                continue;
            *link = notice->plugin[0];
            *why = is_reached ? (tnp_error){ .size = sizeof *why } : s->why;
            *ns = is_reached ? sim_time_of(s, notice->value) : sim_host_ns(instance);
            return notice;
        }
    return NULL;
}

// Leaves the lock for each notice, because it may call back into this plugin. After that nothing is
// looked at that a notice could have destroyed.
void sim_publish(tnp_instance *instance)
{
    tnp_error why;
    uint64_t ns;
    pthread_cond_broadcast(&instance->changed);
    for (tnp_notice *due; (due = take_due_notice(instance, &why, &ns));) {
        pthread_mutex_unlock(&instance->lock);
        tell_notice(due, &why, ns);
        pthread_mutex_lock(&instance->lock);
    }
    pthread_mutex_unlock(&instance->lock);
}

// Somebody waits: work that is done late is done now.
static void want(tnp_semaphore *s, uint64_t value)
{
    if (s->wanted < value)
        s->wanted = value;
    pthread_cond_broadcast(&s->device->instance->changed);
}

static tnp_status enter(tnp_semaphore *s, sim_call call, tnp_error *err)
{
    return sim_enter(s->device->instance, s->device->chip, s->device, call, err);
}

// ---------------------------------------------------------------------------------- plugin's table

tnp_status sim_semaphore_create(tnp_device *device, const tnp_semaphore_options *from,
                                tnp_semaphore **out, tnp_error *err)
{
    tnp_instance *instance = device->instance;
    tnp_semaphore_options how;
    tnp_status status = sim_enter(instance, device->chip, device, SIM_CALL_semaphore_create, err);
    if (status != TNP_OK)
        return status;
    if (!TNP_TAKE(&how, from) || TNP_ALIEN(how.flags, TNP_SEMAPHORE_HOST))
        return sim_fail_unknown(err, "semaphore_create");
    tnp_semaphore *s = sim_make(instance, sizeof *s);
    if (!s)
        return sim_fail(err, TNP_E_HOST_MEMORY, "semaphore_create: no memory for %zu bytes",
                        sizeof *s);
    *s = (tnp_semaphore){ .device = device,
                          .is_host = (how.flags & TNP_SEMAPHORE_HOST) != 0,
                          .holds = 1,
                          .value = how.value,
                          .why = { .size = sizeof s->why } };
    pthread_mutex_lock(&instance->lock);
    bool is_lost = device->is_lost;   // under the lock: one made now would never be told otherwise
    if (!is_lost) {
        s->next = instance->semaphores;
        instance->semaphores = s;
        instance->alive++;
    }
    pthread_mutex_unlock(&instance->lock);
    if (is_lost) {
        sim_free(instance, s);
        return sim_fail_lost(device, err);
    }
    *out = s;
    return TNP_OK;
}

void sim_semaphore_destroy(tnp_semaphore *s)
{
    if (!s)
        return;
    sim_enter_end(s->device, SIM_CALL_semaphore_destroy);
    tnp_instance *instance = s->device->instance;
    tnp_error why = { .size = sizeof why };
    (void)sim_fail(&why, TNP_E_CANCELLED, "the semaphore was destroyed");
    pthread_mutex_lock(&instance->lock);
    sim_doom(s, &why);
    sim_publish(instance);   // notices that were lent still come
    pthread_mutex_lock(&instance->lock);
    sim_drop(s);
    instance->alive--;
    pthread_mutex_unlock(&instance->lock);
}

tnp_status sim_semaphore_read(tnp_semaphore *s, uint64_t *value, tnp_error *err)
{
    tnp_status status = enter(s, SIM_CALL_semaphore_read, err);
    if (status != TNP_OK)
        return status;
    pthread_mutex_lock(&s->device->instance->lock);
    if (sim_has_failed(s)) {
        status = sim_fail(err, s->why.status, "%s", s->why.text);
    } else {
        *value = s->value;
        see(s, s->value);
        want(s, s->value + 1);   // who looks again and again waits
    }
    pthread_mutex_unlock(&s->device->instance->lock);
    return status;
}

tnp_status sim_semaphore_signal(tnp_semaphore *s, uint64_t value, tnp_error *err)
{
    tnp_status status = enter(s, SIM_CALL_semaphore_signal, err);
    if (status != TNP_OK)
        return status;
    if (!s->is_host)
        return sim_fail(err, TNP_E_ARG, "semaphore_signal: this semaphore is signalled by a queue");
    pthread_mutex_lock(&s->device->instance->lock);
    sim_raise_to(s, value, sim_host_ns(s->device->instance));
    sim_publish(s->device->instance);
    return TNP_OK;
}

tnp_status sim_semaphore_fail(tnp_semaphore *s, tnp_status why_status, const char *text,
                              tnp_error *err)
{
    tnp_error why = { .size = sizeof why };
    tnp_status status = enter(s, SIM_CALL_semaphore_fail, err);
    if (status != TNP_OK)
        return status;
    if (why_status == TNP_OK)
        return sim_fail(err, TNP_E_ARG, "semaphore_fail: the status of a failure cannot be TNP_OK");
    (void)sim_fail(&why, why_status, "%s", text);
    pthread_mutex_lock(&s->device->instance->lock);
    sim_doom(s, &why);
    sim_publish(s->device->instance);
    return TNP_OK;
}

static struct timespec time_after(uint64_t ns)
{
    const uint64_t second = 1000000000u;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t part = (uint64_t)now.tv_nsec + ns % second;
    return (struct timespec){ now.tv_sec + (time_t)(ns / second + part / second),
                              (long)(part % second) };
}

tnp_status sim_semaphore_wait(tnp_semaphore *s, uint64_t value, uint64_t timeout_ns, tnp_error *err)
{
    tnp_instance *instance = s->device->instance;
    struct timespec end = time_after(timeout_ns);
    bool is_over = timeout_ns == 0;
    tnp_status status = enter(s, SIM_CALL_semaphore_wait, err);
    if (status != TNP_OK)
        return status;
    pthread_mutex_lock(&instance->lock);
    s->holds++;   // another thread may see the value first and destroy the semaphore
    want(s, value);
    while (s->value < value && !sim_has_failed(s) && !is_over)
        is_over = timeout_ns == UINT64_MAX
                      ? pthread_cond_wait(&instance->changed, &instance->lock)
                      : pthread_cond_timedwait(&instance->changed, &instance->lock, &end);
    if (s->value >= value)
        see(s, value);
    else if (sim_has_failed(s))
        status = sim_fail(err, s->why.status, "%s", s->why.text);
    else
        status = sim_fail(err, TNP_E_TIMEOUT, "semaphore_wait: value %llu, waited for %llu",
                          (unsigned long long)s->value, (unsigned long long)value);
    sim_drop(s);
    pthread_mutex_unlock(&instance->lock);
    return status;
}

tnp_status sim_semaphore_notify(tnp_semaphore *s, tnp_notice *notice, tnp_error *err)
{
    tnp_notice known;
    tnp_status status = enter(s, SIM_CALL_semaphore_notify, err);
    if (status != TNP_OK)
        return status;
    if (!TNP_HAS(tnp_notice, notice, plugin))
        return sim_fail(err, TNP_E_ARG,
                        "semaphore_notify: a notice of %u bytes has no room for the plugin",
                        notice->size);
    if (!TNP_TAKE(&known, notice))
        return sim_fail_unknown(err, "semaphore_notify");
    pthread_mutex_lock(&s->device->instance->lock);
    notice->plugin[0] = s->notices;
    s->notices = notice;
    want(s, notice->value);
    sim_publish(s->device->instance);   // perhaps it is due at once
    return TNP_OK;
}
