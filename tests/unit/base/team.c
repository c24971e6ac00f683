// The pool: bodies that all workers run, barriers among them, callers from several threads, and
// more workers than CPUs.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/team.h"
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
            assert_int_equal(t.workers, cases[i].workers);
            for (uint32_t w = 0; w < MAX_WORKERS; w++)
                assert_int_equal(t.calls[w], w < cases[i].workers);
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
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    tni_pool *pool = make_pool(16);
    relay_through(pool, 16, 20);
    relay_through(pool, 3, 50);
    tni_pool_destroy(pool);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
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
            assert_int_equal(sigismember(&masks[1], number), 1);
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
        cmocka_unit_test(pools_start_and_end_at_once),
        cmocka_unit_test(by_default_the_affinity_mask_is_the_most_threads),
        cmocka_unit_test(too_many_threads_are_refused),
        cmocka_unit_test(signals_are_left_to_the_threads_of_the_application),
        cmocka_unit_test(a_pool_that_finds_no_memory_is_a_status),
    };
    return cmocka_run_group_tests(tests, limit_time, NULL);
}
