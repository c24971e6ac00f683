// How a process may end: with a session that runs at that moment, with nothing given back, and as
// the child of a fork that calls nothing. Each is a process of its own, which ends with code 0.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "session_rig.h"

enum { DIM = 512 };

typedef struct running {
    tn_runtime *runtime;
    tn_graph *graph;
    tn_session *session;
    atomic_uint runs;
} running;

static running begin(void)
{
    static float weight[DIM * DIM];
    static const char *const settings[] = { "threads=2", NULL };
    running r = { .runtime = rig_runtime(false, settings), .graph = rig_graph() };
    tn_value x = rig_input(r.graph, "x", 2, DIM, 64, 1);
    tn_value w = tn_graph_weight(r.graph, "w", TN_DTYPE_F32, 2, (int64_t[]){ DIM, DIM }, weight,
                                 sizeof weight);
    for (int i = 0; i < 8; i++)
        x = tn_graph_matmul(r.graph, x, w);
    rig_finish(r.graph, x);
    r.session = rig_session(r.runtime, (const tn_graph *[]){ r.graph }, 1,
                            (const char *[]){ "cpu0", NULL });
    return r;
}

static void run_once(running *r)
{
    static float x[DIM * 64];
    tn_error err;
    tn_feed feed = { tn_graph_find(r->graph, "x"), x, sizeof x };
    if (tn_session_run(r->session, 0, &feed, 1, &err) != TN_OK)
        _exit(3);
    atomic_fetch_add(&r->runs, 1);
}

static void *run_for_ever(void *argument)
{
    for (;;)
        run_once(argument);
    return NULL;
}

static void end_while_it_runs(void)
{
    static running r;
    pthread_t thread;
    r = begin();
    if (pthread_create(&thread, NULL, run_for_ever, &r) != 0)
        exit(4);
    while (atomic_load(&r.runs) < 3)
        usleep(1000);
    exit(0);   // with the destructors of all that is loaded
}

static void end_with_nothing_given_back(void)
{
    static running r;
    r = begin();
    run_once(&r);
    exit(0);
}

static void fork_after_load(void)
{
    static running r;
    int status;
    r = begin();
    run_once(&r);
    pid_t child = fork();
    if (child == 0)
        exit(0);   // it has none of the threads, and calls nothing
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        exit(4);
    run_once(&r);   // the parent goes on
    tn_session_destroy(r.session);
    tn_graph_destroy(r.graph);
    tn_runtime_destroy(r.runtime);
    exit(WEXITSTATUS(status));
}

static void expect_well(void (*process)(void))
{
    int status;
    pid_t child = fork();   // before anything of libtenon runs here
    if (child == 0) {
        alarm(120);
        process();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("status 0x%x", (unsigned)status);
}

static void a_process_ends_while_a_session_runs(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        expect_well(end_while_it_runs);
}

static void a_process_ends_with_nothing_given_back(void **state)
{
    (void)state;
    expect_well(end_with_nothing_given_back);
}

static void the_child_of_a_fork_ends_and_its_parent_goes_on(void **state)
{
    (void)state;
    expect_well(fork_after_load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_ends_while_a_session_runs),
        cmocka_unit_test(a_process_ends_with_nothing_given_back),
        cmocka_unit_test(the_child_of_a_fork_ends_and_its_parent_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
