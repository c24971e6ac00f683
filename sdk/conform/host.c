// host.c: the host that the kit shows a plugin. It is honest and strict: memory comes filled with
// rubbish between guards and is counted, a team is real threads at once, the cache keeps what it is
// given.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "conform_internal.h"

// | … | header | guard | the plugin's bytes | guard |
typedef struct header {
    uint64_t magic, bytes;
    void *start;   // what the C library gave
    kit_host *host;
} header;

enum { GUARD = 64, GUARD_BYTE = 0xe7, MOST_FILLED = 1 << 20 };
#define MAGIC UINT64_C(0x54656e6f6e206b69)

static _Thread_local const char *run_call;

void kit_begin_run_call(const char *call)
{
    run_call = call;
}
void kit_end_run_call(void)
{
    run_call = NULL;
}

static bool is_due_to_fail(kit_host *host)
{
    if (atomic_load(&host->until_failure) < 0)
        return false;
    int left = atomic_fetch_sub(&host->until_failure, 1) - 1;
    if (left > 0)
        return false;
    if (atomic_load(&host->all_fail))
        atomic_store(&host->until_failure, 1);
    atomic_fetch_add(&host->failed, 1);
    return true;
}

// Of what is large both ends do: the rest need not be there at all.
static void fill(void *memory, int byte, uint64_t bytes)
{
    if (bytes <= 2 * MOST_FILLED) {
        memset(memory, byte, bytes);
        return;
    }
    memset(memory, byte, MOST_FILLED);
    memset((char *)memory + bytes - MOST_FILLED, byte, MOST_FILLED);
}

static void *host_alloc(void *context, uint64_t bytes, uint64_t alignment)
{
    kit_host *host = context;
    if (run_call)
        kit_fail(kit_text("%s allocates nothing", run_call), "%llu bytes are asked for",
                 (unsigned long long)bytes);
    if (alignment & (alignment - 1))
        kit_fail("an alignment that is a power of two", "%llu", (unsigned long long)alignment);
    if (alignment < 16)
        alignment = 16;
    if (is_due_to_fail(host) || bytes > UINT64_C(1) << 40)
        return NULL;
    char *start = malloc(sizeof(header) + 2 * GUARD + bytes + alignment);
    if (!start)
        return NULL;
    uint64_t at = (uint64_t)(uintptr_t)start + sizeof(header) + GUARD + alignment - 1;
    char *given = start + (at / alignment * alignment - (uint64_t)(uintptr_t)start);
    header h = { MAGIC, bytes, start, host };
    memcpy(given - GUARD - sizeof h, &h, sizeof h);
    memset(given - GUARD, GUARD_BYTE, GUARD);
    fill(given, host->poison, bytes);
    memset(given + bytes, GUARD_BYTE, GUARD);
    atomic_fetch_add(&host->live, 1);
    atomic_fetch_add(&host->allocated, 1);
    return given;
}

static void check_guard(const unsigned char *guard, const char *where)
{
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != GUARD_BYTE)
            kit_fail("the plugin writes inside the memory that the host gave it",
                     "a byte %s it has changed, found when it was given back", where);
}

static void host_free(void *context, void *pointer)
{
    if (!pointer)
        return;
    header h;
    char *given = pointer;
    memcpy(&h, given - GUARD - sizeof h, sizeof h);
    if (h.magic != MAGIC)
        kit_fail("free gets what alloc gave", "another pointer, or one that was freed already");
    if (h.host != context)
        kit_fail("memory goes back to the host that it came from",
                 "one host got the memory of another");
    check_guard((unsigned char *)given - GUARD, "before");
    check_guard((unsigned char *)given + h.bytes, "behind");
    h.magic = 0;
    memcpy(given - GUARD - sizeof h, &h, sizeof h);
    fill(given, 0xdb, h.bytes);
    atomic_fetch_sub(&h.host->live, 1);
    free(h.start);
}

static void host_log(void *context, int32_t level, const char *text)
{
    kit_host *host = context;
    kit_check_text(text, SIZE_MAX / 2, "the text of a log line");
    if (level <= 1)
        atomic_fetch_add(&host->logged, 1);
}

static const char *host_setting(void *context, const char *key)
{
    kit_host *host = context;
    size_t length = strlen(key);
    for (uint32_t i = 0; i < kit.options->setting_count; i++) {
        const char *setting = kit.options->settings[i];
        if (strncmp(setting, key, length) != 0 || setting[length] != '=')
            continue;
        if (i < 64)
            atomic_fetch_or(&host->asked, 1ull << i);
        return setting + length + 1;
    }
    return NULL;
}

static uint64_t host_now_ns(void *context)
{
    (void)context;
    return kit_now_ns();
}

static void host_trace(void *context, const void *queue, const tnp_span *span)
{
    kit_host *host = context;
    uint32_t i = atomic_fetch_add(&host->spans, 1);
    if (i < KIT_SPANS) {
        host->span[i].queue = queue;
        if (!TNP_TAKE(&host->span[i].span, span))
            kit_fail("a span without fields of a later release", "one that has them");
    }
}

static uint32_t host_worker_count(void *context)
{
    (void)context;
    return KIT_WORKERS;
}

// -------------------------------------------------------------------------------------------- team

struct tnp_team {
    pthread_barrier_t barrier;
    void (*body)(void *argument, tnp_team *team, uint32_t worker, uint32_t workers);
    void *argument;
    uint32_t workers;
};

typedef struct worker {
    pthread_t thread;
    tnp_team *team;
    uint32_t index;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    w->team->body(w->team->argument, w->team, w->index, w->team->workers);
    return NULL;
}

static void host_team(void *context, uint32_t wanted,
                      void (*body)(void *argument, tnp_team *team, uint32_t worker,
                                   uint32_t workers),
                      void *argument)
{
    worker others[KIT_WORKERS];
    (void)context;
    if (run_call && strcmp(run_call, "queue_submit inline") != 0)
        kit_fail(kit_text("%s does not call the team", run_call), "it does");
    tnp_team team = { .body = body, .argument = argument, .workers = wanted };
    if (team.workers > KIT_WORKERS)
        team.workers = KIT_WORKERS;
    if (team.workers == 0)
        team.workers = 1;
    pthread_barrier_init(&team.barrier, NULL, team.workers);
    for (uint32_t i = 1; i < team.workers; i++) {
        others[i] = (worker){ .team = &team, .index = i };
        if (pthread_create(&others[i].thread, NULL, work, &others[i]) != 0)
            kit_fail("a thread for the team", "the system gives none");
    }
    body(argument, &team, 0, team.workers);
    for (uint32_t i = 1; i < team.workers; i++)
        pthread_join(others[i].thread, NULL);
    pthread_barrier_destroy(&team.barrier);
}

static void host_team_barrier(tnp_team *team, uint32_t worker_index)
{
    (void)worker_index;
    pthread_barrier_wait(&team->barrier);
}

// ------------------------------------------------------------------------------------------- cache

typedef struct kit_stored {
    struct kit_stored *next;
    uint64_t key_bytes, bytes;
    unsigned char data[];   // the key, then what was put
} kit_stored;

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static kit_stored *find(kit_host *host, const void *key, uint64_t key_bytes)
{
    kit_stored *s = host->stored;
    while (s && (s->key_bytes != key_bytes || memcmp(s->data, key, key_bytes) != 0))
        s = s->next;
    return s;
}

static uint64_t host_cache_get(void *context, const void *key, uint64_t key_bytes, void *to,
                               uint64_t room)
{
    kit_host *host = context;
    if (run_call)
        kit_fail(kit_text("%s does not use the cache", run_call), "it does");
    pthread_mutex_lock(&cache_lock);
    kit_stored *s = find(host, key, key_bytes);
    uint64_t bytes = s ? s->bytes : 0;
    if (s && room > 0)
        memcpy(to, s->data + key_bytes, bytes < room ? bytes : room);
    pthread_mutex_unlock(&cache_lock);
    return bytes;
}

static void host_cache_put(void *context, const void *key, uint64_t key_bytes, const void *data,
                           uint64_t bytes)
{
    kit_host *host = context;
    kit_stored *s = malloc(sizeof *s + key_bytes + bytes);
    if (!s)
        return;   // a cache may forget
    s->key_bytes = key_bytes;
    s->bytes = bytes;
    memcpy(s->data, key, key_bytes);
    memcpy(s->data + key_bytes, data, bytes);
    pthread_mutex_lock(&cache_lock);
    s->next = host->stored;
    host->stored = s;
    pthread_mutex_unlock(&cache_lock);
}

static const void *host_extension(void *context, const char *name)
{
    (void)context, (void)name;
    return NULL;
}

void kit_host_init(kit_host *host)
{
    *host = (kit_host){
        .table = { .size = sizeof(tnp_host),
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
                   .extension = host_extension },
        .until_failure = -1,
        .poison = 0xa5,
    };
}

void kit_host_finish(kit_host *host)
{
    unsigned live = atomic_load(&host->live);
    while (host->stored) {
        kit_stored *next = host->stored->next;
        free(host->stored);
        host->stored = next;
    }
    if (live > 0)
        kit_fail("all memory of the host is given back when stop returns", "%u piece%s not", live,
                 live == 1 ? " is" : "s are");
}
