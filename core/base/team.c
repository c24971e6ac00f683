// team.c: the pool of threads.
//
// Each thread of the pool waits for a turn of its own `go`, so that a run disturbs only those that
// take part. The barrier counts arrivals; the last one moves `phase` on. Waiting is: spin for
// SPIN_NS, then sleep on a futex.
//
// Two workers on one CPU. The system may wake a thread on the CPU of the one that wakes it, though
// another is idle: in a virtual machine an idle CPU looks as if its host had taken it away. The two
// then take turns, each in the other's way while it spins: 100 barriers took 12 ms in place of
// 0.04, run after run. So a waker gives way once, and a thread of the pool that finds itself beside
// its waker goes elsewhere: then it is 0.15 ms for the first run after a sleep, most times. Worker
// 0 is the application's thread and stays where it is: its mask is not ours to touch.
//
// How many workers a run gets is judged by the runs before it: team_judge.c.
#include "base/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/error.h"
#include "base/team_judge.h"
#include "base/thread.h"

enum {
    MAX_THREADS = 1024,
    LINE_BYTES = 64,
    // Memory serves the halves of a large product unevenly: up to 100 us, while to sleep and be
    // woken costs 20 to 40. Spinning for 30 us, a model of 135M slept 6 times a token and lost 3 %.
    SPIN_NS = 100000,
};

// A number that threads wait on until it changes. One that falls asleep says so first, and so a
// change that meets nobody asleep costs no system call.
typedef struct watched {
    _Alignas(LINE_BYTES) atomic_uint value;
    atomic_uint sleepers;
    atomic_int waker_cpu;   // of the latest change that met sleepers
} watched;

typedef struct tni_worker {
    watched go;   // moves on when the worker is to run the body, or to end
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
    uint32_t threads, cpus, spins;
    tni_worker *workers;    // threads - 1 of them, started from index 1
    pthread_mutex_t turn;   // held by the caller whose body runs
    tni_team_judge judge;   // likewise

    // The run at hand; written by its caller before the workers are told to go.
    void (*body)(void *argument, tni_team *team, uint32_t worker, uint32_t workers);
    void *argument;
    tni_team team;
    bool is_ending;

    // Each on a cache line of its own: they are written by different threads.
    watched running;   // workers of the pool that are not yet past the run's body
    _Alignas(LINE_BYTES) atomic_uint arrived;
    watched phase;
    _Alignas(LINE_BYTES) atomic_ullong lost_ns;   // in this run
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

static void wake(watched *word)
{
    if (atomic_load(&word->sleepers) == 0)
        return;
    atomic_store_explicit(&word->waker_cpu, sched_getcpu(), memory_order_relaxed);
    futex_wake_all(&word->value);
    sched_yield();
}

// Moves the calling thread to another of its CPUs, if it has one. Its mask is soon what it was.
static void leave_cpu(int cpu)
{
    cpu_set_t all, others;
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return;
    others = all;
    CPU_CLR((size_t)cpu, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof all, &all);
}

// Returns when the value is no longer `seen`, and adds the time that it slept to *slept_ns.
// may_move: the thread is the pool's own.
static void wait_for_change(watched *word, unsigned seen, uint32_t spins, bool may_move,
                            atomic_ullong *slept_ns)
{
    for (uint32_t i = 0; i < spins; i++) {
        if (atomic_load_explicit(&word->value, memory_order_acquire) != seen)
            return;
        relax();
    }
    uint64_t begin = slept_ns ? tni_now_ns() : 0;
    atomic_fetch_add(&word->sleepers, 1);
    while (atomic_load(&word->value) == seen)
        futex_sleep(&word->value, seen);
    atomic_fetch_sub(&word->sleepers, 1);
    int cpu = sched_getcpu();
    if (may_move && spins > 0 && cpu >= 0 &&
        cpu == atomic_load_explicit(&word->waker_cpu, memory_order_relaxed))
        leave_cpu(cpu);
    if (slept_ns)
        atomic_fetch_add(slept_ns, tni_now_ns() - begin);
}

void tni_team_barrier(tni_team *team, uint32_t worker)
{
    if (team->workers == 1)
        return;
    tni_pool *pool = team->pool;
    unsigned phase = atomic_load(&pool->phase.value);
    if (atomic_fetch_add(&pool->arrived, 1) + 1 == team->workers) {
        atomic_store(&pool->arrived, 0);
        atomic_store(&pool->phase.value, phase + 1);
        wake(&pool->phase);
    } else {
        wait_for_change(&pool->phase, phase, team->spins, worker > 0, &pool->lost_ns);
    }
}

static void *serve(void *argument)
{
    tni_worker *worker = argument;
    tni_pool *pool = worker->pool;
    uint32_t spins = pool->spins;
    for (unsigned seen = 0;; seen++) {
        wait_for_change(&worker->go, seen, spins, true, NULL);
        if (pool->is_ending)
            return NULL;
        spins = pool->team.spins;
        pool->body(pool->argument, &pool->team, worker->index, pool->team.workers);
        if (atomic_fetch_sub(&pool->running.value, 1) == 1)
            wake(&pool->running);
    }
}

static void tell_to_go(tni_worker *worker)
{
    atomic_fetch_add(&worker->go.value, 1);
    wake(&worker->go);
}

static void run_together(tni_pool *pool, uint32_t workers,
                         void (*body)(void *argument, tni_team *team, uint32_t worker,
                                      uint32_t workers),
                         void *argument, uint64_t begin)
{
    pool->body = body;
    pool->argument = argument;
    pool->team = (tni_team){ pool, workers, workers <= pool->cpus ? pool->spins : 0 };
    atomic_store(&pool->running.value, workers - 1);
    for (uint32_t i = 1; i < workers; i++)
        tell_to_go(&pool->workers[i - 1]);
    body(argument, &pool->team, 0, workers);
    for (unsigned left; (left = atomic_load(&pool->running.value)) != 0;)
        wait_for_change(&pool->running, left, pool->team.spins, false, &pool->lost_ns);
    tni_team_judge_run(&pool->judge, workers, begin, tni_now_ns(),
                       atomic_exchange(&pool->lost_ns, 0));
}

void tni_pool_run(tni_pool *pool, uint32_t wanted,
                  void (*body)(void *argument, tni_team *team, uint32_t worker, uint32_t workers),
                  void *argument)
{
    uint32_t workers = wanted < 1 ? 1 : wanted < pool->threads ? wanted : pool->threads;
    if (workers > 1) {
        pthread_mutex_lock(&pool->turn);
        uint64_t begin = tni_now_ns();
        workers = tni_team_judge_permit(&pool->judge, workers, begin);
        if (workers > 1)
            run_together(pool, workers, body, argument, begin);
        pthread_mutex_unlock(&pool->turn);
    }
    if (workers == 1) {   // needs no other thread: no turn to wait for
        tni_team alone = { pool, 1, 0 };
        body(argument, &alone, 0, 1);
    }
}

// How often a worker looks at a number in SPIN_NS. The best of some tries: another process may have
// had the core in the others.
static uint32_t count_spins(void)
{
    enum { TRIES = 5, LOOKS = 256 };
    uint64_t least = SPIN_NS;
    for (int i = 0; i < TRIES; i++) {
        atomic_uint value = 0;
        uint64_t begin = tni_now_ns();
        for (int look = 0; look < LOOKS && atomic_load(&value) == 0; look++)
            relax();
        uint64_t took = tni_now_ns() - begin;
        least = took < least ? took : least;
    }
    return (uint32_t)(LOOKS * (uint64_t)SPIN_NS / (least ? least : 1));
}

static uint32_t start_threads(tni_pool *pool, uint32_t wanted)
{
    uint32_t started = 1;
    for (; started < wanted; started++) {
        tni_worker *worker = &pool->workers[started - 1];
        worker->pool = pool;
        worker->index = started;
        if (!tni_thread_start(&worker->thread, serve, worker))
            break;
    }
    return started;
}

tn_status tni_pool_create(const tn_allocator *allocator, uint32_t threads, tni_pool **out_pool,
                          tn_error *err)
{
    *out_pool = NULL;
    tn_allocator a = tni_allocator(allocator);
    uint32_t cpus = tni_cpus_usable();
    if (threads == 0)
        threads = cpus < MAX_THREADS ? cpus : MAX_THREADS;
    if (threads > MAX_THREADS)
        return tni_fail(err, TN_E_ARG, "%u threads are asked, at most %d are possible", threads,
                        MAX_THREADS);
    tni_pool *pool = a.alloc(a.context, sizeof *pool, LINE_BYTES);
    if (!pool)
        return tni_fail_memory(err, "the thread pool", sizeof *pool);
    *pool = (tni_pool){
        .allocator = a,
        .cpus = cpus,
        .spins = threads > 1 ? count_spins() : 0,
    };
    pool->workers = a.alloc(a.context, threads * sizeof *pool->workers, LINE_BYTES);
    if (!pool->workers) {
        tni_free(&a, pool);
        return tni_fail_memory(err, "the thread pool", threads * sizeof *pool->workers);
    }
    memset(pool->workers, 0, threads * sizeof *pool->workers);
    pthread_mutex_init(&pool->turn, NULL);
    pool->threads = start_threads(pool, threads);
    tni_team_judge_begin(&pool->judge, pool->threads);
    *out_pool = pool;
    return TN_OK;
}

void tni_pool_destroy(tni_pool *pool)
{
    if (!pool)
        return;
    pool->is_ending = true;
    for (uint32_t i = 1; i < pool->threads; i++)
        tell_to_go(&pool->workers[i - 1]);
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
