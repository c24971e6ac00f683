// timeline.c: semaphores: 64-bit values that only grow, or have failed.
//
//   fresh ──tpl_doom──> doomed ──no work runs that would signal it──> failed
//
// Doomed: no value is raised any more, but work that would signal it still runs and its memory is
// in use, so nobody may see the failure yet: who sees it frees that memory.
#include "template.h"

#include <time.h>

// -------------------------------------------------------------------------------- under the lock

int tpl_has_failed(const tnp_semaphore *s)
{
    return s->why.status != TNP_OK && s->running == 0;
}

void tpl_doom(tnp_semaphore *s, const tnp_error *why)
{
    if (s->why.status == TNP_OK)   // the first failure stays
        s->why = *why;
}

// A semaphore may be destroyed while threads or works that failed still hold it: the last one
// frees.
void tpl_drop(tnp_semaphore *s)
{
    if (--s->holds > 0)
        return;
    tnp_semaphore **link = &s->device->semaphores;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    tpl_free(s->device->host, s);
}

static tnp_notice *take_due_notice(tnp_device *device, tnp_error *why)
{
    for (tnp_semaphore *s = device->semaphores; s; s = s->next)
        for (void **link = &s->notices; *link; link = &((tnp_notice *)*link)->plugin[0]) {
            tnp_notice *notice = *link;
            int is_reached = s->value >= notice->value;
            if (!is_reached && !tpl_has_failed(s))
                continue;
            *link = notice->plugin[0];
            *why = is_reached ? (tnp_error){ .size = sizeof *why } : s->why;
            return notice;
        }
    return NULL;
}

// Ends every change: wakes who waits, calls the notices that are due, and leaves the lock, because
// a notice may call back into this plugin. After that nothing is looked at that a notice could have
// destroyed.
void tpl_publish(tnp_device *device)
{
    tnp_error why;
    pthread_cond_broadcast(&device->changed);
    for (tnp_notice *due; (due = take_due_notice(device, &why));) {
        pthread_mutex_unlock(&device->lock);
        due->reached(due, why.status, why.text);
        pthread_mutex_lock(&device->lock);
    }
    pthread_mutex_unlock(&device->lock);
}

void tpl_abandon(tnp_device *device)
{
    tnp_error why = { .size = sizeof why };
    tpl_fail_lost(&why);
    pthread_mutex_lock(&device->lock);
    device->is_lost = 1;   // work that runs sees it within a row; a real chip could hang: then its
                           // thread is left behind
    for (tnp_semaphore *s = device->semaphores; s; s = s->next)
        tpl_doom(s, &why);
    tpl_publish(device);
}

// ------------------------------------------------------------------------------------- semaphores

tnp_status tpl_semaphore_create(tnp_device *device, const tnp_semaphore_options *from,
                                tnp_semaphore **out, tnp_error *err)
{
    tnp_semaphore_options how;
    if (!TNP_TAKE(&how, from) || TNP_ALIEN(how.flags, TNP_SEMAPHORE_HOST))
        return tpl_fail_unknown(err, "semaphore_create");
    tnp_semaphore *s = tpl_make(device->host, sizeof *s);
    if (!s)
        return tpl_fail(err, TNP_E_HOST_MEMORY, "semaphore_create: no memory for %zu bytes",
                        sizeof *s);
    *s = (tnp_semaphore){ .device = device,
                          .is_host = how.flags & TNP_SEMAPHORE_HOST,
                          .holds = 1,
                          .value = how.value,
                          .why = { .size = sizeof s->why } };
    pthread_mutex_lock(&device->lock);
    int is_lost =
        device->is_lost;   // under the lock: a semaphore made now would never be told otherwise
    if (!is_lost) {
        s->next = device->semaphores;
        device->semaphores = s;
    }
    pthread_mutex_unlock(&device->lock);
    if (is_lost) {
        tpl_free(device->host, s);
        return tpl_fail_lost(err);
    }
    *out = s;
    return TNP_OK;
}

void tpl_semaphore_destroy(tnp_semaphore *s)
{
    if (!s)
        return;
    tnp_device *device = s->device;
    tnp_error why = { .size = sizeof why };
    tpl_fail(&why, TNP_E_CANCELLED, "the semaphore was destroyed");
    pthread_mutex_lock(&device->lock);
    tpl_doom(s, &why);
    tpl_publish(device);   // notices that were lent still come
    pthread_mutex_lock(&device->lock);
    tpl_drop(s);
    pthread_mutex_unlock(&device->lock);
}

tnp_status tpl_semaphore_read(tnp_semaphore *s, uint64_t *value, tnp_error *err)
{
    tnp_status status = TNP_OK;
    pthread_mutex_lock(&s->device->lock);
    if (tpl_has_failed(s))
        status = tpl_fail(err, s->why.status, "%s", s->why.text);
    else
        *value = s->value;
    pthread_mutex_unlock(&s->device->lock);
    return status;
}

tnp_status tpl_semaphore_signal(tnp_semaphore *s, uint64_t value, tnp_error *err)
{
    if (!s->is_host)
        return tpl_fail(err, TNP_E_ARG, "semaphore_signal: this semaphore is signalled by a queue");
    pthread_mutex_lock(&s->device->lock);
    if (s->why.status == TNP_OK && value > s->value)
        s->value = value;
    tpl_publish(s->device);
    return TNP_OK;
}

tnp_status tpl_semaphore_fail(tnp_semaphore *s, tnp_status status, const char *text, tnp_error *err)
{
    tnp_error why = { .size = sizeof why };
    if (status == TNP_OK)
        return tpl_fail(err, TNP_E_ARG, "semaphore_fail: the status of a failure cannot be TNP_OK");
    tpl_fail(&why, status, "%s", text);
    pthread_mutex_lock(&s->device->lock);
    tpl_doom(s, &why);
    tpl_publish(s->device);
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

tnp_status tpl_semaphore_wait(tnp_semaphore *s, uint64_t value, uint64_t timeout_ns, tnp_error *err)
{
    tnp_device *device = s->device;
    struct timespec end = time_after(timeout_ns);
    int is_over = timeout_ns == 0;
    tnp_status status = TNP_OK;
    pthread_mutex_lock(&device->lock);
    s->holds++;   // another thread may see the value first and destroy the semaphore
    while (s->value < value && !tpl_has_failed(s) && !is_over)
        is_over = timeout_ns == UINT64_MAX
                      ? pthread_cond_wait(&device->changed, &device->lock)
                      : pthread_cond_timedwait(&device->changed, &device->lock, &end);
    if (s->value < value)
        status = tpl_has_failed(s)
                     ? tpl_fail(err, s->why.status, "%s", s->why.text)
                     : tpl_fail(err, TNP_E_TIMEOUT, "semaphore_wait: the time is over");
    tpl_drop(s);
    pthread_mutex_unlock(&device->lock);
    return status;
}

tnp_status tpl_semaphore_notify(tnp_semaphore *s, tnp_notice *notice, tnp_error *err)
{
    tnp_notice known;
    if (!TNP_TAKE(&known, notice))
        return tpl_fail_unknown(err, "semaphore_notify");
    pthread_mutex_lock(&s->device->lock);
    notice->plugin[0] = s->notices;
    s->notices = notice;
    tpl_publish(s->device);   // perhaps it is due at once
    return TNP_OK;
}
