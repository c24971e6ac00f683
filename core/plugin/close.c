// close.c: the end of devices and plugins. A driver may hang in it, and an application that has
// done its work is to end: the calls are made on a thread of their own, which is left behind when
// one of them does not come back within hang_timeout_ms.
#include <pthread.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "plugin/plugin_internal.h"

static void tell(tni_closing *c, const char *who, const char *call)
{
    if (!c->has_lock)
        return;
    pthread_mutex_lock(&c->lock);
    c->who = who;
    c->call = call;
    c->begun_ns = tni_now_ns();
    pthread_cond_signal(&c->came);
    pthread_mutex_unlock(&c->lock);
}

static void close_all(tni_closing *c)
{
    const tn_runtime *runtime = c->runtime;
    for (uint32_t i = runtime->device_count; i-- > 0;) {
        tn_device *device = runtime->devices[i];
        if (!device->opened)
            continue;
        tell(c, device->name, "close");
        device->table->close(device->opened);
        device->opened = NULL;
    }
    for (uint32_t i = runtime->plugin_count; i-- > 0;) {
        if (!runtime->plugins[i]->instance)
            continue;
        tell(c, runtime->plugins[i]->manifest.name, "stop");
        tni_plugin_stop(runtime->plugins[i]);
    }
    tell(c, NULL, NULL);
}

static void *close_on_a_thread(void *argument)
{
    close_all(argument);
    return NULL;
}

static bool wait_for_all(tni_closing *c)
{
    const uint64_t second = UINT64_C(1000000000);
    pthread_mutex_lock(&c->lock);
    bool is_late = false;
    while (c->who && !is_late) {
        uint64_t end_ns = c->begun_ns + tni_runtime_hang_timeout_ns(c->runtime);
        struct timespec end = { (time_t)(end_ns / second), (long)(end_ns % second) };
        (void)pthread_cond_timedwait(&c->came, &c->lock, &end);
        is_late = c->who && tni_now_ns() >= c->begun_ns + tni_runtime_hang_timeout_ns(c->runtime);
    }
    if (is_late)
        tni_log_line(&c->runtime->log, TN_LOG_WARNING,
                     "%s: %s did not come back within %u ms: its plugin is left as it is, with "
                     "all that it holds",
                     c->who, c->call, c->runtime->config.hang_timeout_ms.value);
    pthread_mutex_unlock(&c->lock);
    return !is_late;
}

static bool init(tni_closing *c)
{
    pthread_condattr_t how;
    if (pthread_mutex_init(&c->lock, NULL) != 0)
        return false;
    bool is_made = pthread_condattr_init(&how) == 0;
    if (is_made) {
        is_made = pthread_condattr_setclock(&how, CLOCK_MONOTONIC) == 0 &&
                  pthread_cond_init(&c->came, &how) == 0;
        pthread_condattr_destroy(&how);
    }
    if (!is_made)
        pthread_mutex_destroy(&c->lock);
    return is_made;
}

static bool is_any_started(const tn_runtime *runtime)
{
    for (uint32_t i = 0; i < runtime->plugin_count; i++)
        if (runtime->plugins[i]->instance)
            return true;
    return false;
}

bool tni_plugins_close(tn_runtime *runtime)
{
    tni_closing *c = &runtime->closing;
    pthread_t thread;
    if (!is_any_started(runtime))
        return true;
    *c = (tni_closing){ .runtime = runtime, .who = "", .call = "", .begun_ns = tni_now_ns() };
    c->has_lock = init(c);
    bool is_apart = c->has_lock && tni_thread_start(&thread, close_on_a_thread, c);
    if (!is_apart)   // without a thread nobody can be left behind
        close_all(c);
    bool is_over = !is_apart || wait_for_all(c);
    if (is_apart && is_over)
        pthread_join(thread, NULL);
    else if (is_apart)
        pthread_detach(thread);
    if (is_over && c->has_lock) {
        pthread_cond_destroy(&c->came);
        pthread_mutex_destroy(&c->lock);
    }
    return is_over;
}
