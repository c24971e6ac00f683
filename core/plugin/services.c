// services.c: what the host does for a plugin: the tnp_host table. The context of every call is the
// tni_plugin.
#include <string.h>

#include "base/clock.h"
#include "base/integer.h"
#include "plugin/plugin_internal.h"

enum {
    LEAST_ALIGNMENT = 16,
    MAX_LINE_BYTES = 1000,   // of a line that a plugin logs
    MAX_SPAN_BYTES = 4096,
};

static void *TNP_CALL host_alloc(void *context, uint64_t bytes, uint64_t alignment)
{
    const tni_plugin *plugin = context;
    const tn_allocator *allocator = &plugin->runtime->allocator;
    if (alignment < LEAST_ALIGNMENT)
        alignment = LEAST_ALIGNMENT;
    if (!tni_is_power_of_two(alignment) || bytes > PTRDIFF_MAX || alignment > PTRDIFF_MAX)
        return NULL;
    return allocator->alloc(allocator->context, bytes ? (size_t)bytes : 1, (size_t)alignment);
}

static void TNP_CALL host_free(void *context, void *pointer)
{
    const tni_plugin *plugin = context;
    const tn_allocator *allocator = &plugin->runtime->allocator;
    if (pointer)
        allocator->free(allocator->context, pointer);
}

static void TNP_CALL host_log(void *context, int32_t level, const char *text)
{
    const tni_plugin *plugin = context;
    char line[MAX_LINE_BYTES];
    if (!text)
        return;
    if (level < TN_LOG_ERROR || level > TN_LOG_DEBUG)
        level = TN_LOG_DEBUG;
    tni_text_make_safe(line, sizeof line, text, MAX_LINE_BYTES);
    tni_log_line(&plugin->runtime->log, level, "%s: %s", plugin->manifest.name, line);
}

static const char *TNP_CALL host_setting(void *context, const char *key)
{
    return key ? tni_plugin_ask(context, key) : NULL;
}

static uint64_t TNP_CALL host_now_ns(void *context)
{
    (void)context;
    return tni_now_ns();
}

static void TNP_CALL host_trace(void *context, const void *queue, const tnp_span *span)
{
    const tni_plugin *plugin = context;
    const tni_trace *trace = &plugin->runtime->trace;
    tnp_span known;
    if (!trace->span || !span || span->size < sizeof span->size || span->size > MAX_SPAN_BYTES ||
        !TNP_TAKE(&known, span))
        return;
    trace->span(trace->context, plugin->manifest.name, queue, &known);
}

static uint32_t TNP_CALL host_worker_count(void *context)
{
    const tni_plugin *plugin = context;
    return plugin->runtime->threads;
}

typedef struct team_body {
    void(TNP_CALL *body)(void *argument, tnp_team *team, uint32_t worker, uint32_t workers);
    void *argument;
} team_body;

static void run_body(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    const team_body *call = argument;
    call->body(call->argument, (tnp_team *)team, worker, workers);
}

static void TNP_CALL host_team(void *context, uint32_t wanted,
                               void(TNP_CALL *body)(void *argument, tnp_team *team, uint32_t worker,
                                                    uint32_t workers),
                               void *argument)
{
    const tni_plugin *plugin = context;
    team_body call = { body, argument };
    tni_pool_run(plugin->runtime->pool, wanted, run_body, &call);
}

static void TNP_CALL host_team_barrier(tnp_team *team, uint32_t worker)
{
    tni_team_barrier((tni_team *)team, worker);
}

// The host may forget what it was given, and this one keeps nothing: a store on disk has to be
// bounded, checked and shared between processes.
static uint64_t TNP_CALL host_cache_get(void *context, const void *key, uint64_t key_bytes,
                                        void *to, uint64_t room)
{
    (void)context, (void)key, (void)key_bytes, (void)to, (void)room;
    return 0;
}

static void TNP_CALL host_cache_put(void *context, const void *key, uint64_t key_bytes,
                                    const void *data, uint64_t bytes)
{
    (void)context, (void)key, (void)key_bytes, (void)data, (void)bytes;
}

static const void *TNP_CALL host_extension(void *context, const char *name)
{
    (void)context, (void)name;
    return NULL;
}

void tni_plugin_fill_host(tni_plugin *plugin)
{
    plugin->host = (tnp_host){
        .size = sizeof plugin->host,
        .abi = plugin->runtime->here.abi,
        .context = plugin,
        .alloc = host_alloc,
        .free = host_free,
        .log = host_log,
        .setting = host_setting,
        .now_ns = host_now_ns,
        .trace = host_trace,
        .worker_count = host_worker_count,
        .team = host_team,
        .team_barrier = host_team_barrier,
        .cache_get = host_cache_get,
        .cache_put = host_cache_put,
        .extension = host_extension,
    };
}
