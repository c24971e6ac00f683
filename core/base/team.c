// team.c: the pool of threads.
//
// A run is announced by `generation`: sleeping threads wait for it to change on a futex. Worker w
// of a run takes part when w < workers. The barrier counts arrivals; the last one moves `phase` on.
// Waiting is: spin a while, yield a while, then sleep on the futex, so that a machine with more
// workers than free cores still makes progress.
#include "base/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

enum { MAX_THREADS = 1024, SPINS = 4000, LINE_BYTES = 64 };

typedef struct tni_worker {
    tni_pool *pool;
    uint32_t index;
    pthread_t thread;
} tni_worker;

struct tni_team {
    tni_pool *pool;
    uint32_t workers;
    uint32_t spins;   // 0 with more workers than CPUs: spinning would only delay the others
};

struct tni_pool {
    tn_allocator allocator;
    uint32_t threads, cpus;
    tni_worker *workers;    // threads - 1 of them, started from index 1
    pthread_mutex_t turn;   // held by the caller whose body runs

    // The run at hand; written by its caller before `generation` moves.
    void (*body)(void *argument, tni_team *team, uint32_t worker, uint32_t workers);
    void *argument;
    tni_team team;
    bool is_ending;

    // Each on a cache line of its own: they are written by different threads.
    _Alignas(LINE_BYTES) atomic_uint generation;
    _Alignas(LINE_BYTES) atomic_uint running;   // pool threads not yet past the run's body
    _Alignas(LINE_BYTES) atomic_uint arrived;
    _Alignas(LINE_BYTES) atomic_uint phase;
    _Alignas(LINE_BYTES) atomic_uint sleepers;   // threads that may sleep on `phase` or `running`
};

static void futex_sleep(atomic_uint *word, unsigned seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake_all(atomic_uint *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Returns when *word is no longer `seen`.
static void wait_for_change(tni_pool *pool, atomic_uint *word, unsigned seen, uint32_t spins)
{
    for (uint32_t i = 0; i < spins; i++) {
        if (atomic_load_explicit(word, memory_order_acquire) != seen)
            return;
        relax();
    }
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(word) == seen)
        futex_sleep(word, seen);
    atomic_fetch_sub(&pool->sleepers, 1);
}

void tni_team_barrier(tni_team *team, uint32_t worker)
{
    (void)worker;
    if (team->workers == 1)
        return;
    tni_pool *pool = team->pool;
    unsigned phase = atomic_load(&pool->phase);
    if (atomic_fetch_add(&pool->arrived, 1) + 1 == team->workers) {
        atomic_store(&pool->arrived, 0);
        atomic_store(&pool->phase, phase + 1);
        if (atomic_load(&pool->sleepers))
            futex_wake_all(&pool->phase);
    } else {
        wait_for_change(pool, &pool->phase, phase, team->spins);
    }
}

static void *serve(void *argument)
{
    tni_worker *worker = argument;
    tni_pool *pool = worker->pool;
    for (unsigned seen = 0;;) {
        wait_for_change(pool, &pool->generation, seen, SPINS);
        seen = atomic_load(&pool->generation);
        if (pool->is_ending)
            return NULL;
        if (worker->index < pool->team.workers)
            pool->body(pool->argument, &pool->team, worker->index, pool->team.workers);
        if (atomic_fetch_sub(&pool->running, 1) == 1 && atomic_load(&pool->sleepers))
            futex_wake_all(&pool->running);
    }
}

void tni_pool_run(tni_pool *pool, uint32_t wanted,
                  void (*body)(void *argument, tni_team *team, uint32_t worker, uint32_t workers),
                  void *argument)
{
    uint32_t workers = wanted < 1 ? 1 : wanted < pool->threads ? wanted : pool->threads;
    if (workers == 1) {   // needs no other thread: no turn to wait for
        tni_team alone = { pool, 1, 0 };
        body(argument, &alone, 0, 1);
        return;
    }
    pthread_mutex_lock(&pool->turn);
    pool->body = body;
    pool->argument = argument;
    pool->team = (tni_team){ pool, workers, workers <= pool->cpus ? SPINS : 0 };
    atomic_store(&pool->running, pool->threads - 1);
    atomic_fetch_add(&pool->generation, 1);
    if (atomic_load(&pool->sleepers))
        futex_wake_all(&pool->generation);
    body(argument, &pool->team, 0, workers);
    for (unsigned left; (left = atomic_load(&pool->running)) != 0;)
        wait_for_change(pool, &pool->running, left, pool->team.spins);
    pthread_mutex_unlock(&pool->turn);
}

// CPUs that the control group's quota allows, rounded up; UINT32_MAX = no quota.
static uint32_t quota_cpus(void)
{
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    if (!file)
        return UINT32_MAX;
    long long quota, period;
    int found = fscanf(file, "%lld %lld", &quota, &period);   // "max 100000" gives no number
    fclose(file);
    if (found != 2 || quota <= 0 || period <= 0)
        return UINT32_MAX;
    long long cpus = (quota + period - 1) / period;
    return cpus < MAX_THREADS ? (uint32_t)cpus : MAX_THREADS;
}

static uint32_t usable_cpus(void)
{
    cpu_set_t set;
    long cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                            : sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t usable = cpus < 1 ? 1 : cpus < MAX_THREADS ? (uint32_t)cpus : MAX_THREADS;
    uint32_t quota = quota_cpus();
    return usable < quota ? usable : quota;
}

// Starts the pool's threads with all signals blocked: those belong to the application's own
// threads.
static uint32_t start_threads(tni_pool *pool, uint32_t wanted)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    uint32_t started = 1;
    for (; started < wanted; started++) {
        tni_worker *worker = &pool->workers[started - 1];
        *worker = (tni_worker){ .pool = pool, .index = started };
        if (pthread_create(&worker->thread, NULL, serve, worker) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

tn_status tni_pool_create(const tn_allocator *allocator, uint32_t threads, tni_pool **out_pool,
                          tn_error *err)
{
    *out_pool = NULL;
    tn_allocator a = tni_allocator(allocator);
    uint32_t cpus = usable_cpus();
    if (threads == 0)
        threads = cpus;
    if (threads > MAX_THREADS)
        return tni_fail(err, TN_E_ARG, "%u threads are asked, at most %d are possible", threads,
                        MAX_THREADS);
    tni_pool *pool = a.alloc(a.context, sizeof *pool, LINE_BYTES);
    if (!pool)
        return tni_fail_memory(err, "the thread pool", sizeof *pool);
    *pool = (tni_pool){ .allocator = a, .cpus = cpus };
    pool->workers = tni_alloc_zeroed(&a, threads, sizeof *pool->workers);
    if (!pool->workers) {
        tni_free(&a, pool);
        return tni_fail_memory(err, "the thread pool", threads * sizeof *pool->workers);
    }
    pthread_mutex_init(&pool->turn, NULL);
    pool->threads = start_threads(pool, threads);
    *out_pool = pool;
    return TN_OK;
}

void tni_pool_destroy(tni_pool *pool)
{
    if (!pool)
        return;
    pool->is_ending = true;
    atomic_fetch_add(&pool->generation, 1);
    futex_wake_all(&pool->generation);
    for (uint32_t i = 1; i < pool->threads; i++)
        pthread_join(pool->workers[i - 1].thread, NULL);
    pthread_mutex_destroy(&pool->turn);
    tn_allocator allocator = pool->allocator;
    tni_free(&allocator, pool->workers);
    tni_free(&allocator, pool);
}

uint32_t tni_pool_threads(const tni_pool *pool)
{
    return pool->threads;
}
