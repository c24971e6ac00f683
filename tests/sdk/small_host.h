// small_host.h: the least a host can be: memory from the C library, a team of one, settings from
// the environment (TEST_SETTING_<key>), a cache that forgets. A header, so that each program
// compiles it against its own plugin.h.
#ifndef SMALL_HOST_H
#define SMALL_HOST_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <tenon/plugin.h>

static void *host_alloc(void *context, uint64_t bytes, uint64_t alignment)
{
    (void)context;
    alignment = alignment < sizeof(void *) ? sizeof(void *) : alignment;
    return aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
}
static void host_free(void *context, void *pointer)
{
    (void)context;
    free(pointer);
}
static void host_log(void *context, int32_t level, const char *text)
{
    (void)context, (void)level, (void)text;
}
static const char *host_setting(void *context, const char *key)
{
    char name[64];
    (void)context;
    snprintf(name, sizeof name, "TEST_SETTING_%s", key);
    return getenv(name);
}
static uint64_t host_now_ns(void *context)
{
    (void)context;
    return 1;
}
static void host_trace(void *context, const void *queue, const tnp_span *span)
{
    (void)context, (void)queue, (void)span;
}
static uint32_t host_worker_count(void *context)
{
    (void)context;
    return 1;
}
static void host_team(void *context, uint32_t wanted,
                      void (*body)(void *argument, tnp_team *team, uint32_t worker,
                                   uint32_t workers),
                      void *argument)
{
    (void)context, (void)wanted;
    body(argument, NULL, 0, 1);
}
static void host_team_barrier(tnp_team *team, uint32_t worker)
{
    (void)team, (void)worker;
}
static uint64_t host_cache_get(void *context, const void *key, uint64_t key_bytes, void *to,
                               uint64_t room)
{
    (void)context, (void)key, (void)key_bytes, (void)to, (void)room;
    return 0;
}
static void host_cache_put(void *context, const void *key, uint64_t key_bytes, const void *data,
                           uint64_t bytes)
{
    (void)context, (void)key, (void)key_bytes, (void)data, (void)bytes;
}
static const void *host_extension(void *context, const char *name)
{
    (void)context, (void)name;
    return NULL;
}
// What a host of a later release has beside: it counts who calls it.
#ifdef TNP_IS_LATER
#define HOST_LATER .later_call = host_later_call,
#else
#define HOST_LATER
#endif
__attribute__((unused)) static uint32_t host_calls;
__attribute__((unused)) static void host_later_call(void *context)
{
    (void)context;
    host_calls++;
}
static const tnp_host host = { .size = sizeof host,
                               .abi = TNP_ABI_CURRENT,
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
                               HOST_LATER };

// The table of a plugin that stays loaded; NULL when it cannot be loaded.
static const tnp_plugin *load_plugin(const char *path)
{
    tnp_error err = { .size = sizeof err };
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = file ? dlsym(file, "tenon_plugin_query") : NULL;
    tnp_query query;
    memcpy(&query, &symbol, sizeof query);
    return query ? query(TNP_ABI_CURRENT, &err) : NULL;
}

#endif
