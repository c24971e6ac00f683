// The pool: bodies that all workers run, barriers among them, callers from several threads, more
// workers than CPUs, and how many workers a run gets on a busy machine.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/team.h"
#include "busy.h"
#include "failing_alloc.h"

enum { MAX_WORKERS = 40 };

static int limit_time(void **state)
{
    (void)state;
    alarm(120);   // a barrier that is lost never ends
    return 0;
}

static tni_pool *make_pool(uint32_t threads)
{
    tni_pool *pool = NULL;
    tn_error err = { 0 };
    if (tni_pool_create(NULL, threads, &pool, &err) != TN_OK)
        fail_msg("%s", err.text);
    return pool;
}

// ------------------------------------------------------------------------------------------ bodies

typedef struct tally {
    uint32_t workers;   // as each body was told
    uint32_t calls[MAX_WORKERS];
} tally;

static void count_call(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    tally *t = argument;
    (void)team;
    if (worker == 0)
        t->workers = workers;
    t->calls[worker]++;   // a place of its own for each worker: no atomics
}

static void a_body_runs_once_on_each_worker_it_asked_for(void **state)
{
    (void)state;
    static const struct {
        uint32_t threads, wanted, workers;
    } cases[] = {
        { 1, 1, 1 }, { 1, 8, 1 }, { 2, 2, 2 }, { 2, 1, 1 }, { 2, 0, 1 },          { 3, 2, 2 },
        { 4, 4, 4 }, { 4, 3, 3 }, { 8, 8, 8 }, { 8, 5, 5 }, { 8, UINT32_MAX, 8 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tni_pool *pool = make_pool(cases[i].threads);
        assert_int_equal(tni_pool_threads(pool), cases[i].threads);
        for (int round = 0; round < 20; round++) {
            tally t = { 0 };
            tni_pool_run(pool, cases[i].wanted, count_call, &t);
            if (round == 0)   // later it may be fewer, on a busy machine
                assert_int_equal(t.workers, cases[i].workers);
            assert_in_range(t.workers, 1, cases[i].workers);
            for (uint32_t w = 0; w < MAX_WORKERS; w++)
                assert_int_equal(t.calls[w], w < t.workers);
        }
        tni_pool_destroy(pool);
    }
}

static void note_thread(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    (void)team, (void)workers;
    ((pthread_t *)argument)[worker] = pthread_self();
}

static void the_caller_is_worker_0_and_the_others_are_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    tni_pool *pool = make_pool(4);
    tni_pool_run(pool, 4, note_thread, threads);
    assert_true(pthread_equal(threads[0], pthread_self()));
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_false(pthread_equal(threads[i], threads[j]));
    tni_pool_destroy(pool);
}

// ---------------------------------------------------------------------------------------- barriers

enum { PHASES = 10 };

// Each worker writes its place in phase p and reads its neighbour's of phase p - 1: plain memory,
// so that a barrier which does not order is also a race.
typedef struct relay {
    uint32_t places[2][MAX_WORKERS];
    uint32_t wrong[MAX_WORKERS];
} relay;

static void run_relay(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    relay *r = argument;
    for (uint32_t phase = 0; phase < PHASES; phase++) {
        uint32_t left = phase ? r->places[(phase + 1) % 2][(worker + 1) % workers] : 0;
        r->wrong[worker] += left != phase;
        r->places[phase % 2][worker] = phase + 1;
        tni_team_barrier(team, worker);
    }
}

static void relay_through(tni_pool *pool, uint32_t wanted, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        relay r = { 0 };
        tni_pool_run(pool, wanted, run_relay, &r);
        for (uint32_t w = 0; w < MAX_WORKERS; w++)
            if (r.wrong[w])
                fail_msg("round %d: worker %u left a barrier too early", i, w);
    }
}

static void all_arrive_at_a_barrier_before_one_leaves(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 8; threads++) {
        tni_pool *pool = make_pool(threads);
        relay_through(pool, threads, threads <= 2 ? 2000 : 100);
        relay_through(pool, 2, 200);
        tni_pool_destroy(pool);
    }
}

static void more_workers_than_cpus_still_make_progress(void **state)
{
    (void)state;
    cpu_set_t before = busy_stay_on(1);
    tni_pool *pool = make_pool(16);
    relay_through(pool, 16, 20);
    relay_through(pool, 3, 50);
    tni_pool_destroy(pool);
    busy_give_back(before);
}

static void no_body(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    (void)argument, (void)team, (void)worker, (void)workers;
}

static void thousands_of_short_bodies_follow_each_other(void **state)
{
    (void)state;
    tni_pool *pool = make_pool(2);
    for (int i = 0; i < 20000; i++)
        tni_pool_run(pool, 2, no_body, NULL);
    tni_pool_destroy(pool);
    pool = make_pool(5);
    for (uint32_t i = 0; i < 1000; i++)
        tni_pool_run(pool, i % 6, no_body, NULL);
    tni_pool_destroy(pool);
}

// Long pauses let the workers fall asleep: the wake-up is part of the test.
static void workers_that_fell_asleep_are_woken(void **state)
{
    (void)state;
    tni_pool *pool = make_pool(3);
    for (int i = 0; i < 50; i++) {
        usleep((useconds_t)(i % 5 * 1000));
        relay_through(pool, 3, 1);
    }
    tni_pool_destroy(pool);
}

// ----------------------------------------------------------------------------------------- callers

typedef struct caller {
    tni_pool *pool;
    pthread_t thread;
    uint32_t wanted;
    uint32_t wrong;
} caller;

static atomic_int inside;

static void be_alone(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    caller *c = argument;
    if (worker == 0 && workers > 1 && atomic_fetch_add(&inside, 1) != 0)
        c->wrong++;
    tni_team_barrier(team, worker);
    if (worker == 0 && workers > 1)
        atomic_fetch_sub(&inside, 1);
}

static void *call_often(void *argument)
{
    caller *c = argument;
    for (int i = 0; i < 200; i++)
        tni_pool_run(c->pool, c->wanted, be_alone, c);
    return NULL;
}

static void callers_from_several_threads_take_turns(void **state)
{
    (void)state;
    caller callers[4];
    tni_pool *pool = make_pool(3);
    for (uint32_t i = 0; i < 4; i++) {
        callers[i] = (caller){ .pool = pool, .wanted = i };   // 0 and 1 need no turn
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].wrong, 0);
    }
    tni_pool_destroy(pool);
}

// -------------------------------------------------------------------------------- a busy machine

// A body of some steps with a barrier after each. In a step the worker either computes its part, or
// sleeps: then all goes as if it had a core of its own, or had lost it, whatever else runs here.
typedef struct steps {
    uint32_t count;
    uint32_t loops;                 // of all workers together
    uint32_t nap_us, last_nap_us;   // of all but the last worker, and of that one
    uint32_t workers;               // as the body was told
    uint64_t runs, full_runs;       // full: by as many workers as were wanted
} steps;

static void run_the_steps(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    steps *s = argument;
    if (worker == 0)
        s->workers = workers;
    for (uint32_t i = 0; i < s->count; i++) {
        for (volatile uint32_t loop = 0; loop < s->loops / workers;)
            loop = loop + 1;
        uint32_t nap_us = worker == workers - 1 ? s->last_nap_us : s->nap_us;
        if (nap_us)
            usleep(nap_us);
        tni_team_barrier(team, worker);
    }
}

// Runs the steps again and again; returns the runs per second.
static double run_for(tni_pool *pool, steps *s, double seconds)
{
    const uint64_t begin = tni_now_ns(), ns = (uint64_t)(seconds * 1e9);
    uint64_t end = begin;
    s->runs = s->full_runs = 0;
    for (; end - begin < ns; end = tni_now_ns()) {
        tni_pool_run(pool, UINT32_MAX, run_the_steps, s);
        s->runs++;
        s->full_runs += s->workers == tni_pool_threads(pool);
    }
    return 1e9 * (double)s->runs / (double)(end - begin);
}

static double full_percent(const steps *s)
{
    return 100.0 * (double)s->full_runs / (double)s->runs;
}

// The rates of two pools, in turns, so that whatever else runs here disturbs both alike.
static void compare_rates(tni_pool *a, tni_pool *b, double rates[2])
{
    enum { TURNS = 8 };
    steps s = { .count = 40, .loops = 20000 };   // a step is some 10 us
    rates[0] = rates[1] = 0;
    for (int i = 0; i < TURNS; i++) {
        rates[0] += run_for(a, &s, 0.1) / TURNS;
        rates[1] += run_for(b, &s, 0.1) / TURNS;
    }
}

// Whether b does at least this part of what a does, in one of a few comparisons: work of others
// that falls on one of the CPUs during one says nothing of either.
static bool does_at_least(double part, tni_pool *a, tni_pool *b, const char *says)
{
    enum { TRIES = 4 };
    bool is_reached = false;
    for (int i = 0; i < TRIES && !is_reached; i++) {
        double rates[2];
        compare_rates(a, b, rates);
        print_message("runs per second %s: %.0f, %.0f\n", says, rates[0], rates[1]);
        is_reached = rates[1] > rates[0] * part;
    }
    return is_reached;
}

static void eight_threads_on_two_cpus_do_at_least_a_third_of_what_two_do(void **state)
{
    (void)state;
    cpu_set_t before = busy_stay_on(2);
    tni_pool *two = make_pool(2), *eight = make_pool(8);
    assert_true(does_at_least(1.0 / 3, two, eight, "of 2 threads and of 8"));
    tni_pool_destroy(two);
    tni_pool_destroy(eight);
    busy_give_back(before);
}

static void beside_a_busy_process_two_threads_do_at_least_half_of_what_one_does(void **state)
{
    (void)state;
    cpu_set_t before = busy_stay_on(2);
    pid_t busy = busy_begin();
    tni_pool *one = make_pool(1), *two = make_pool(2);
    bool is_reached = does_at_least(1.0 / 2, one, two, "of 1 thread and of 2, beside a process");
    busy_end(busy);
    assert_true(is_reached);
    tni_pool_destroy(one);
    tni_pool_destroy(two);
    busy_give_back(before);
}

// What the machine's processes and this one have used of its CPUs, in seconds.
typedef struct usage {
    double wall, all, own;
} usage;

static usage measure_usage(void)
{
    usage now = { 0 };
    struct timespec wall, own;
    long long user, nice, system;
    FILE *file = fopen("/proc/stat", "re");
    if (file && fscanf(file, "cpu %lld %lld %lld", &user, &nice, &system) == 3)
        now.all = (double)(user + nice + system) / (double)sysconf(_SC_CLK_TCK);
    if (file)
        fclose(file);
    clock_gettime(CLOCK_MONOTONIC, &wall);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    now.wall = (double)wall.tv_sec + 1e-9 * (double)wall.tv_nsec;
    now.own = (double)own.tv_sec + 1e-9 * (double)own.tv_nsec;
    return now;
}

// Ends the test as skipped where others took a tenth of a CPU or more meanwhile.
static void skip_if_others_were_busy(usage begin)
{
    usage end = measure_usage();
    double others = ((end.all - begin.all) - (end.own - begin.own)) / (end.wall - begin.wall);
    print_message("other processes used %.0f %% of a CPU\n", 100 * others);
    if (others > 0.1)
        skip();
}

// First one worker is away for much of the time, then none is: on an idle machine all are back in
// the second that follows. Elsewhere a worker may really be away when more are tried, hence the
// further ones.
static void all_workers_are_back_soon_after_a_busy_time(void **state)
{
    enum { MOST_SECONDS = 15 };
    (void)state;
    usage begin = measure_usage();
    for (uint32_t threads = 2; threads <= 4; threads += 2) {
        tni_pool *pool = make_pool(threads);
        steps busy = { .count = 2, .nap_us = 200, .last_nap_us = 2000 };
        steps idle = { .count = 2, .nap_us = 4000, .last_nap_us = 4000 };
        run_for(pool, &busy, 2);
        int seconds = 0;
        do {
            run_for(pool, &idle, 1);
        } while (++seconds < MOST_SECONDS && full_percent(&idle) < 50 &&
                 (run_for(pool, &idle, 0.2), full_percent(&idle) < 50));
        print_message(
            "%u workers, one away: %.0f %% of the runs with all; back after %d s: %.0f %%\n",
            threads, full_percent(&busy), seconds, full_percent(&idle));
        tni_pool_destroy(pool);
        if (full_percent(&idle) < 50)
            skip_if_others_were_busy(begin);
        assert_true(full_percent(&busy) < 30);
        assert_true(full_percent(&idle) >= 50);
    }
}

// Elsewhere than on an idle machine a worker may really be away, hence the further tries.
static void uneven_parts_are_not_mistaken_for_a_busy_machine(void **state)
{
    enum { MOST_TRIES = 3 };
    (void)state;
    usage begin = measure_usage();
    tni_pool *pool = make_pool(2);
    steps uneven = { .count = 2, .nap_us = 9000, .last_nap_us = 6000 };
    int tries = 0;
    do {
        run_for(pool, &uneven, 0.5);
    } while (++tries < MOST_TRIES && full_percent(&uneven) < 70);
    print_message("parts of 3 : 2: both workers in %.0f %% of the runs, try %d\n",
                  full_percent(&uneven), tries);
    tni_pool_destroy(pool);
    if (full_percent(&uneven) < 70)
        skip_if_others_were_busy(begin);
    assert_true(full_percent(&uneven) >= 70);
}

// ----------------------------------------------------------------------------------- start and end

static void pools_start_and_end_at_once(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        tni_pool *pool = make_pool(1 + i % 8);
        if (i % 3 == 0)
            relay_through(pool, 8, 1);
        tni_pool_destroy(pool);
    }
    tni_pool_destroy(NULL);
}

static void by_default_the_affinity_mask_is_the_most_threads(void **state)
{
    (void)state;
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    tni_pool *pool = make_pool(0);
    assert_in_range(tni_pool_threads(pool), 1, CPU_COUNT(&set));
    tni_pool_destroy(pool);
}

static void too_many_threads_are_refused(void **state)
{
    (void)state;
    tni_pool *pool = (tni_pool *)state;
    tn_error err = { 0 };
    assert_int_equal(tni_pool_create(NULL, 1025, &pool, &err), TN_E_ARG);
    assert_null(pool);
    assert_string_equal(err.text, "1025 threads are asked, at most 1024 are possible");
}

static void note_mask(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    (void)team, (void)workers;
    pthread_sigmask(SIG_BLOCK, NULL, (sigset_t *)argument + worker);
}

// What a thread's own fault raises is for a handler, which a blocked signal never reaches.
static bool is_of_a_fault(int number)
{
    return number == SIGBUS || number == SIGSEGV || number == SIGILL || number == SIGFPE ||
           number == SIGTRAP || number == SIGSYS;
}

static void signals_are_left_to_the_threads_of_the_application(void **state)
{
    (void)state;
    sigset_t before, masks[2];
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    tni_pool *pool = make_pool(2);
    tni_pool_run(pool, 2, note_mask, masks);
    for (int number = 1; number < 32; number++) {
        assert_int_equal(sigismember(&masks[0], number), sigismember(&before, number));
        if (number != SIGKILL && number != SIGSTOP)
            assert_int_equal(sigismember(&masks[1], number), !is_of_a_fault(number));
    }
    tni_pool_destroy(pool);
}

static tn_status make_and_run(const tn_allocator *allocator, void *context)
{
    (void)context;
    tni_pool *pool;
    tn_error err = { 0 };
    tn_status status = tni_pool_create(allocator, 2, &pool, &err);
    if (status == TN_OK) {
        failing_alloc *failing = (failing_alloc *)allocator->context;
        uint64_t calls = failing->calls;
        relay_through(pool, 2, 3);
        assert_int_equal(failing->calls, calls);   // a run allocates nothing
    } else {
        assert_int_equal(status, TN_E_HOST_MEMORY);
        assert_null(pool);
    }
    tni_pool_destroy(pool);
    return status;
}

static void a_pool_that_finds_no_memory_is_a_status(void **state)
{
    (void)state;
    for_each_failing_allocation(make_and_run, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_runs_once_on_each_worker_it_asked_for),
        cmocka_unit_test(the_caller_is_worker_0_and_the_others_are_threads),
        cmocka_unit_test(all_arrive_at_a_barrier_before_one_leaves),
        cmocka_unit_test(more_workers_than_cpus_still_make_progress),
        cmocka_unit_test(thousands_of_short_bodies_follow_each_other),
        cmocka_unit_test(workers_that_fell_asleep_are_woken),
        cmocka_unit_test(callers_from_several_threads_take_turns),
        cmocka_unit_test(eight_threads_on_two_cpus_do_at_least_a_third_of_what_two_do),
        cmocka_unit_test(beside_a_busy_process_two_threads_do_at_least_half_of_what_one_does),
        cmocka_unit_test(all_workers_are_back_soon_after_a_busy_time),
        cmocka_unit_test(uneven_parts_are_not_mistaken_for_a_busy_machine),
        cmocka_unit_test(pools_start_and_end_at_once),
        cmocka_unit_test(by_default_the_affinity_mask_is_the_most_threads),
        cmocka_unit_test(too_many_threads_are_refused),
        cmocka_unit_test(signals_are_left_to_the_threads_of_the_application),
        cmocka_unit_test(a_pool_that_finds_no_memory_is_a_status),
    };
    return cmocka_run_group_tests(tests, limit_time, NULL);
}
