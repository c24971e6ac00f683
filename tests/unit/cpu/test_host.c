// test_host.c: a small host for tests of a plugin.
#include "test_host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// Stands before the bytes that were asked for. All are linked, so that a leak checker finds what a
// plugin leaks on purpose.
struct test_allocation {
    _Alignas(64) test_allocation *next;
    test_allocation *previous;
};

static void *host_alloc(void *context, uint64_t bytes, uint64_t alignment)
{
    test_host *host = context;
    test_allocation *allocation = NULL;
    pthread_mutex_lock(&host->lock);
    bool does_fail = ++host->given == host->fail_at;
    pthread_mutex_unlock(&host->lock);
    if (does_fail || alignment > sizeof *allocation || bytes > SIZE_MAX - sizeof *allocation ||
        posix_memalign((void **)&allocation, sizeof *allocation, bytes + sizeof *allocation) != 0)
        return NULL;
    memset(allocation, 0xa5, bytes + sizeof *allocation);
    pthread_mutex_lock(&host->lock);
    allocation->previous = NULL;
    allocation->next = host->allocations;
    if (allocation->next)
        allocation->next->previous = allocation;
    host->allocations = allocation;
    host->live++;
    pthread_mutex_unlock(&host->lock);
    return allocation + 1;
}

static void host_free(void *context, void *pointer)
{
    test_host *host = context;
    if (!pointer)
        return;
    test_allocation *allocation = (test_allocation *)pointer - 1;
    pthread_mutex_lock(&host->lock);
    if (allocation->previous)
        allocation->previous->next = allocation->next;
    else
        host->allocations = allocation->next;
    if (allocation->next)
        allocation->next->previous = allocation->previous;
    host->live--;
    pthread_mutex_unlock(&host->lock);
    free(allocation);
}

static void host_log(void *context, int32_t level, const char *text)
{
    (void)context;
    fprintf(stderr, "log %d: %s\n", level, text);
}

static const char *host_setting(void *context, const char *key)
{
    test_host *host = context;
    for (int i = 0; i < TEST_HOST_SETTINGS && host->keys[i]; i++)
        if (strcmp(host->keys[i], key) == 0)
            return host->values[i];
    return NULL;
}

static uint64_t host_now_ns(void *context)
{
    (void)context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void host_trace(void *context, const void *queue, const tnp_span *span)
{
    test_host *host = context;
    (void)queue;
    atomic_fetch_add(&host->in_trace, 1);
    pthread_mutex_lock(&host->trace_gate);
    pthread_mutex_unlock(&host->trace_gate);
    pthread_mutex_lock(&host->lock);
    if (host->span_count < TEST_HOST_SPANS)
        host->spans[host->span_count++] = *span;
    pthread_mutex_unlock(&host->lock);
}

static uint32_t host_worker_count(void *context)
{
    return ((test_host *)context)->workers;
}

// ------------------------------------------------------------------------------------------- teams

struct tnp_team {
    pthread_barrier_t barrier;
    void (*body)(void *argument, tnp_team *team, uint32_t worker, uint32_t workers);
    void *argument;
    uint32_t workers;
};

typedef struct team_member { tnp_team *team; uint32_t worker; } team_member;

static void *run_member(void *argument)
{
    team_member *member = argument;
    member->team->body(member->team->argument, member->team, member->worker, member->team->workers);
    return NULL;
}

static void host_team(void *context, uint32_t wanted,
                      void (*body)(void *argument, tnp_team *team, uint32_t worker,
                                   uint32_t workers),
                      void *argument)
{
    test_host *host = context;
    pthread_t threads[TEST_HOST_WORKERS];
    team_member members[TEST_HOST_WORKERS];
    tnp_team team = { .body = body, .argument = argument };
    team.workers = wanted < host->workers ? wanted : host->workers;
    pthread_mutex_lock(&host->team_lock);
    pthread_barrier_init(&team.barrier, NULL, team.workers);
    for (uint32_t i = 0; i < team.workers; i++) {
        members[i] = (team_member){ &team, i };
        if (i > 0 && pthread_create(&threads[i], NULL, run_member, &members[i]) != 0)
            abort();   // a test cannot go on with a team that waits for ever
    }
    run_member(&members[0]);
    for (uint32_t i = 1; i < team.workers; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&team.barrier);
    pthread_mutex_unlock(&host->team_lock);
}

static void host_team_barrier(tnp_team *team, uint32_t worker)
{
    (void)worker;
    pthread_barrier_wait(&team->barrier);
}

// ------------------------------------------------------------------------- no cache, no extensions

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

// ------------------------------------------------------------------------------------------ public

void test_host_init(test_host *host, uint32_t workers)
{
    memset(host, 0, sizeof *host);
    host->workers = workers < TEST_HOST_WORKERS ? workers : TEST_HOST_WORKERS;
    pthread_mutex_init(&host->lock, NULL);
    pthread_mutex_init(&host->team_lock, NULL);
    pthread_mutex_init(&host->trace_gate, NULL);
    host->table = (tnp_host){
        .size = sizeof host->table,
        .abi = TNP_ABI_CURRENT,
        .context = host,
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

void test_host_finish(test_host *host)
{
    pthread_mutex_destroy(&host->lock);
    pthread_mutex_destroy(&host->team_lock);
    pthread_mutex_destroy(&host->trace_gate);
}

void test_host_set(test_host *host, const char *key, const char *value)
{
    for (int i = 0; i < TEST_HOST_SETTINGS; i++) {
        if (host->keys[i])
            continue;
        host->keys[i] = key;
        host->values[i] = value;
        return;
    }
}

uint32_t test_host_given(test_host *host)
{
    pthread_mutex_lock(&host->lock);
    uint32_t given = host->given;
    pthread_mutex_unlock(&host->lock);
    return given;
}

uint32_t test_host_live(test_host *host)
{
    pthread_mutex_lock(&host->lock);
    uint32_t live = host->live;
    pthread_mutex_unlock(&host->lock);
    return live;
}

const tnp_plugin *test_plugin_load(const char *path)
{
    tnp_error err = { .size = sizeof err };
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        fprintf(stderr, "%s\n", dlerror());
        return NULL;
    }
    tnp_query query;
    *(void **)&query = dlsym(file, "tenon_plugin_query");
    const tnp_plugin *plugin = query ? query(TNP_ABI_CURRENT, &err) : NULL;
    if (!plugin)
        fprintf(stderr, "%s: %s\n", path, err.text);
    return plugin;
}
