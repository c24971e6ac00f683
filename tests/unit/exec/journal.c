// The journal of a session: what a run needs of it, what is repeated, and when it begins anew.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "exec/session.h"
#include "session_rig.h"

enum { FLOATS = 4 };

static tn_runtime *runtime;
static tn_graph *graph;
static tn_session *session;

// A state that each run writes over with the sum of two inputs.
static tn_graph *make_graph(void)
{
    tn_graph *made = rig_graph();
    tn_value kept = tn_graph_state(made, "kept", TN_DTYPE_F32, 2, (int64_t[]){ FLOATS, 1 });
    tn_value x = rig_input(made, "x", 2, FLOATS, 1, 0), y = rig_input(made, "y", 2, FLOATS, 1, 0);
    tn_value index = tn_graph_input(made, "index", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value sum = tn_graph_add(made, x, y);
    rig_finish(made, rig_op(made, TNP_OP_NEG, tn_graph_set_rows(made, kept, sum, index)));
    return made;
}

static void begin(uint64_t bytes)
{
    tn_error err = { 0 };
    tn_device *device = rig_device(runtime, "cpu0");
    const tn_session_options options = {
        .size = sizeof options, .device_count = 1, .devices = &device, .journal_bytes = bytes
    };
    const tn_graph *graphs[] = { graph };
    if (tn_session_create(runtime, graphs, 1, &options, &session, &err) != TN_OK)
        fail_msg("%s", err.text);
}

static void end(void)
{
    tn_session_destroy(session);
    session = NULL;
}

// NULL: not fed.
static void run(const float *x, const float *y)
{
    tn_feed feeds[2];
    uint32_t count = 0;
    tn_error err = { 0 };
    if (x)
        feeds[count++] = (tn_feed){ tn_graph_find(graph, "x"), x, FLOATS * sizeof *x };
    if (y)
        feeds[count++] = (tn_feed){ tn_graph_find(graph, "y"), y, FLOATS * sizeof *y };
    if (tn_session_run(session, 0, feeds, count, &err) != TN_OK)
        fail_msg("%s", err.text);
}

static float first_of_state(void)
{
    float values[FLOATS];
    tn_error err;
    assert_int_equal(tni_state_read(session, &session->states[0], values, 0, sizeof values, &err),
                     TN_OK);
    return values[0];
}

// What a run is said to need is enough, and not much more than it takes.
static void what_applications_reckon_holds_every_run(void **state)
{
    (void)state;
    const float x[FLOATS] = { 1 }, y[FLOATS] = { 2 };
    const uint64_t one = TN_JOURNAL_RUN_BYTES + 2 * (TN_JOURNAL_FEED_BYTES + sizeof x);
    for (uint32_t count = 1; count < 6; count++) {
        begin(count * one);
        for (uint32_t i = 0; i < count; i++)
            run(x, y);
        assert_int_equal(session->journal.run_count, count);
        assert_null(session->journal.states);
        assert_in_range(session->journal.used, count * one / 2, count * one);
        end();
    }
}

// Begun anew, it has the states as they were, and the bytes of inputs that later runs do not feed.
static void a_full_journal_begins_with_the_states_as_they_are(void **state)
{
    (void)state;
    const float x[FLOATS] = { 1 }, y[FLOATS] = { 20 };
    tn_error err;
    begin(200);
    float more[FLOATS] = { 0 };
    run(x, y);
    for (int i = 2; i < 12; i++) {
        more[0] = (float)i;
        run(more, NULL);
    }
    assert_non_null(session->journal.states);
    assert_false(session->journal.is_stopped);
    assert_in_range(session->journal.run_count, 1, 10);
    assert_true(first_of_state() == 31);
    const float zeros[FLOATS] = { 0 };
    assert_int_equal(tni_state_write(session, &session->states[0], zeros, sizeof zeros, &err),
                     TN_OK);
    assert_int_equal(tni_journal_repeat(session, &err), TN_OK);
    assert_true(first_of_state() == 31);
    end();
}

static void one_run_beyond_all_room_stops_it_until_the_states_are_set(void **state)
{
    (void)state;
    const float x[FLOATS] = { 1 };
    tn_error err;
    begin(8);
    run(x, x);
    assert_true(session->journal.is_stopped);
    assert_non_null(strstr(rig_log(), "the inputs of one run are more than the journal"));
    assert_int_equal(tn_session_reset(session, &err), TN_OK);
    assert_false(session->journal.is_stopped);
    end();
}

static void runs_that_are_forgotten_are_not_repeated(void **state)
{
    (void)state;
    const float one[FLOATS] = { 1 }, two[FLOATS] = { 2 };
    tn_error err;
    begin(0);
    run(one, one);
    run(two, two);
    assert_true(tni_journal_has(session, 0));
    tn_session_forget(session, 1);
    assert_int_equal(session->journal.run_count, 1);
    assert_int_equal(tni_journal_repeat(session, &err), TN_OK);
    assert_true(first_of_state() == 2);
    tn_session_forget(session, 7);   // more than there are
    assert_int_equal(session->journal.run_count, 0);
    assert_int_equal(session->journal.used, 0);
    assert_false(tni_journal_has(session, 0));
    end();
}

static void a_run_that_is_skipped_still_feeds(void **state)
{
    (void)state;
    const float one[FLOATS] = { 1 }, five[FLOATS] = { 5 };
    tn_error err;
    begin(0);
    run(one, one);
    run(NULL, five);
    tni_journal_skip_last(session);
    assert_int_equal(tni_journal_repeat(session, &err), TN_OK);
    assert_true(first_of_state() == 2);   // of the first run
    run(one, NULL);
    assert_int_equal(tni_journal_repeat(session, &err), TN_OK);
    assert_true(first_of_state() == 6);   // with what the skipped one was fed
    end();
}

static int make_all(void **state)
{
    (void)state;
    runtime = rig_runtime(false, (const char *[]){ NULL });
    graph = make_graph();
    return 0;
}

static int drop_all(void **state)
{
    (void)state;
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_applications_reckon_holds_every_run),
        cmocka_unit_test(a_full_journal_begins_with_the_states_as_they_are),
        cmocka_unit_test(one_run_beyond_all_room_stops_it_until_the_states_are_set),
        cmocka_unit_test(runs_that_are_forgotten_are_not_repeated),
        cmocka_unit_test(a_run_that_is_skipped_still_feeds),
    };
    return cmocka_run_group_tests(tests, make_all, drop_all);
}
