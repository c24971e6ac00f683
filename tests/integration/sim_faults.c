// Every call into a device fails once, at every k of every kind, and the same with the loss of the
// device, where no other device is there to go on: a status in words or the right results, nothing
// is left behind, and what is not lost goes on. sim_sweep.c has devices that go on.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <tenon/lm.h>

#include "session_rig.h"

enum { WIDTH = 32, TOKENS = 3, ROWS = 8, FLOATS = WIDTH * TOKENS };

static float weight[WIDTH * WIDTH], x[FLOATS], want[FLOATS];
static const int32_t rows[TOKENS] = { 5, 0, 3 };

// A product, an op that the second device has alone, and a cache.
static tn_graph *make_model(void)
{
    tn_graph *graph = rig_graph();
    const int64_t square[] = { WIDTH, WIDTH };
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, square, weight, sizeof weight);
    tn_value cache = tn_graph_state(graph, "cache", TN_DTYPE_F32, 2, (int64_t[]){ WIDTH, ROWS });
    tn_value index = tn_graph_input(graph, "index", TN_DTYPE_I32, 1, (int64_t[]){ TOKENS });
    tn_value y = tn_graph_matmul(graph, rig_input(graph, "x", 2, WIDTH, TOKENS, 0), w);
    y = tn_graph_set_rows(graph, cache, rig_op(graph, TNP_OP_TANH, y), index);
    rig_finish(graph, tn_graph_get_rows(graph, y, index));
    return graph;
}

static tn_status run_once(tn_runtime *runtime, const tn_graph *graph, tn_device *const *devices,
                          uint32_t count, float *out, tn_error *err)
{
    tn_session_options options = { .size = sizeof options,
                                   .device_count = count,
                                   .devices = devices };
    tn_feed feeds[] = { { tn_graph_find(graph, "x"), x, sizeof x },
                        { tn_graph_find(graph, "index"), rows, sizeof rows } };
    tn_session *session = NULL;
    tn_status status = tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options,
                                         &session, err);
    assert_int_equal(session != NULL, status == TN_OK);
    for (int again = 0; again < 2 && status == TN_OK; again++)
        status = tn_session_run(session, 0, feeds, 2, err);
    if (status == TN_OK)
        status = tn_session_read(session, 0, tn_graph_find(graph, "out"), out, FLOATS * sizeof *out,
                                 err);
    if (status == TN_OK)
        status = tn_session_reset(session, err);
    tn_session_destroy(session);
    return status;
}

static int compute_want(void **state)
{
    (void)state;
    rig_fill(weight, WIDTH * WIDTH, 1);
    rig_fill(x, FLOATS, 2);
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *graph = make_model();
    tn_device *cpu = rig_device(runtime, "cpu0");
    tn_error err = { 0 };
    if (run_once(runtime, graph, &cpu, 1, want, &err) != TN_OK)
        fail_msg("%s", err.text);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    return 0;
}

// -------------------------------------------------------------------------------------- every call

// The host may live with a call that fails, or try again: then the results are right.
static void check(const char *devices, tn_status status, const tn_error *err, const float *got)
{
    bool is_told = strstr(err->text, "as it is told to") || strstr(err->text, "is lost");
    if (status == TN_OK ? memcmp(want, got, sizeof want) != 0 : !is_told)
        fail_msg("%s: %s %s", devices, tn_status_name(status), err->text);
}

// A device that is lost stays so, alone; one that is not has forgotten the fault.
static void go_on(const char *devices, tn_runtime *runtime, const tn_graph *graph,
                  tn_device *const *both, uint32_t count, bool is_loss)
{
    float got[FLOATS];
    tn_error err = { 0 };
    tn_device *cpu = rig_device(runtime, "cpu0");
    tn_status status = run_once(runtime, graph, both, count, got, &err);
    if (status != (is_loss ? TN_E_DEVICE_LOST : TN_OK))
        fail_msg("%s: after it: %s %s", devices, tn_status_name(status), err.text);
    if (status == TN_OK)
        assert_memory_equal(want, got, sizeof want);
    status = run_once(runtime, graph, &cpu, 1, got, &err);
    assert_int_equal(status, TN_OK);
    assert_memory_equal(want, got, sizeof want);
}

// Whether call k had its turn.
static bool fail_at(const char *call, int k, bool is_loss, bool is_split, bool is_hidden)
{
    char devices[300];
    const char *hidden = is_hidden ? ",\"host_visible\":false" : "";
    snprintf(devices, sizeof devices,
             "[{\"name\":\"a\",\"except\":[%s]%s,\"fail\":{\"call\":\"%s\",\"at\":%d,\"lost\":%s}},"
             "{\"name\":\"b\",\"only\":[\"tanh\"]%s}]",
             is_split ? "\"tanh\"" : "", hidden, call, k, is_loss ? "true" : "false", hidden);
    tn_runtime *runtime = rig_simulated(devices, NULL);
    tn_graph *graph = make_model();
    tn_device *both[] = { rig_device(runtime, "a"), rig_device(runtime, "b") };
    uint32_t count = is_split ? 2 : 1;
    float got[FLOATS];
    tn_error err = { 0 };
    tn_status status = run_once(runtime, graph, both, count, got, &err);
    bool had_its_turn = strstr(rig_told(), "fails now") != NULL;
    check(devices, status, &err, got);
    if (had_its_turn)
        go_on(devices, runtime, graph, both, count, is_loss);
    else
        assert_int_equal(status, TN_OK);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    if (strstr(rig_log(), "not given back"))
        fail_msg("%s: %s", devices, rig_log());
    return had_its_turn;
}

// Those that this host makes today whatever the device is like.
static void any_call_at_any_time_may_fail(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "open",           "memory_info",  "buffer_alloc", "semaphore_create",
        "semaphore_wait", "queue_create", "queue_submit", "claim",
        "compile",        "bind",         "work"
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int how = 0; how < 8; how++) {
            int k = 1;
            while (fail_at(calls[i], k, how & 1, how & 2, how & 4))
                k++;
            if (k == 1)
                fail_msg("%s was never called", calls[i]);
        }
}

// And those that depend on it.
static void calls_that_only_some_devices_need_may_fail(void **state)
{
    (void)state;
    for (int is_loss = 0; is_loss < 2; is_loss++) {
        assert_true(fail_at("buffer_map", 1, is_loss, false, false));
        assert_false(fail_at("buffer_map", 1, is_loss, false, true));
        assert_true(fail_at("queue_copy", 1, is_loss, false, true));
        assert_true(fail_at("queue_copy", 2, is_loss, true, true));
    }
}

static void a_device_that_cannot_tell_of_itself_is_left_out(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"fail\":{\"call\":\"device_info\"}},{\"name\":\"b\"}]", NULL);
    assert_null(tn_runtime_find_device(runtime, "a"));
    assert_non_null(tn_runtime_find_device(runtime, "b"));
    bool is_told = false;
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        is_told |= strstr(info.reason, "device 0 is left out: device_info: call 1") != NULL;
    }
    assert_true(is_told);
    tn_runtime_destroy(runtime);
}

// ------------------------------------------------------------------------------ the embedded model

// What the device of a model answers to call `at` of a kind, and what the next one does.
static void a_model_on_a_device_that_fails_says_so(void **state)
{
    (void)state;
    static const struct {
        const char *fault;
        tn_status status;
    } cases[] = {
        { "\"call\":\"open\"", TN_E_INTERNAL },
        { "\"call\":\"compile\",\"at\":2", TN_E_INTERNAL },
        { "\"call\":\"bind\",\"lost\":true", TN_E_DEVICE_LOST },
        { "\"call\":\"buffer_alloc\",\"at\":10", TN_E_DEVICE_MEMORY },
        { "\"call\":\"queue_submit\",\"at\":3,\"lost\":true", TN_E_DEVICE_LOST },
        { "\"call\":\"work\",\"at\":40,\"status\":\"IO\"", TN_E_INTERNAL },
    };
    tn_model *model = NULL;
    tn_error err = { 0 };
    assert_int_equal(tn_model_open(TEST_MODEL, NULL, &model, &err), TN_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char devices[200];
        snprintf(devices, sizeof devices, "[{\"name\":\"a\",\"host_visible\":false,\"fail\":{%s}}]",
                 cases[i].fault);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_device *device = rig_device(runtime, "a");
        tlm_context_options options = {
            .size = sizeof options, .context_tokens = 64, .device_count = 1, .devices = &device
        };
        tlm_context *context = NULL;
        tn_status status = tlm_context_create(runtime, model, &options, &context, &err);
        for (int32_t id = 3; id < 60 && status == TN_OK; id++) {
            const float *logits;
            status = tlm_eval(context, &id, 1, &logits, &err);
        }
        if (status != cases[i].status || !strstr(err.text, "as it is told to") ||
            !strstr(rig_told(), "fails now"))
            fail_msg("%s: %s %s", devices, tn_status_name(status), err.text);
        tlm_context_destroy(context);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
    tn_model_close(model);
}

// Whatever a device answers, it is the device that failed: no status is left that would speak of a
// file, an argument or a value of the application. Each call has a third of the statuses.
static void every_status_of_a_device_is_a_failure_of_the_device(void **state)
{
    (void)state;
    static const char *const calls[] = {
        "open",         "memory_info", "claim", "queue_create", "semaphore_create",
        "buffer_alloc", "compile",     "bind",  "queue_copy",   "semaphore_wait"
    };
    static const struct {
        const char *name;
        tn_status gives;
    } answers[] = {
        { "ARG", TN_E_INTERNAL },
        { "UNSUPPORTED", TN_E_INTERNAL },
        { "HOST_MEMORY", TN_E_HOST_MEMORY },
        { "DEVICE_MEMORY", TN_E_DEVICE_MEMORY },
        { "TIMEOUT", TN_E_TIMEOUT },
        { "IO", TN_E_INTERNAL },
        { "VERSION", TN_E_INTERNAL },
        { "BUSY", TN_E_BUSY },
        { "DATA", TN_E_INTERNAL },
        { "CANCELLED", TN_E_CANCELLED },
        { "UNKNOWN", TN_E_INTERNAL },
    };
    tn_model *model = NULL;
    tn_error err = { 0 };
    assert_int_equal(tn_model_open(TEST_MODEL, NULL, &model, &err), TN_OK);
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++)
        for (size_t i = c % 3; i < sizeof answers / sizeof answers[0]; i += 3) {
            char devices[200], words[60];
            snprintf(devices, sizeof devices,
                     "[{\"name\":\"a\",\"host_visible\":false,\"fail\":{\"call\":\"%s\","
                     "\"status\":\"%s\"}}]",
                     calls[c], answers[i].name);
            snprintf(words, sizeof words, "%s: call 1 of device a", calls[c]);
            tn_runtime *runtime = rig_simulated(devices, NULL);
            tn_device *device = rig_device(runtime, "a");
            tlm_context_options options = {
                .size = sizeof options, .context_tokens = 64, .device_count = 1, .devices = &device
            };
            tlm_context *context = NULL;
            tn_status status = tlm_context_create(runtime, model, &options, &context, &err);
            bool is_right = status == answers[i].gives && strncmp(err.text, "a: ", 3) == 0 &&
                            strstr(err.text, words);
            if (!is_right)
                fail_msg("%s: %s %s", devices, tn_status_name(status), err.text);
            tlm_context_destroy(context);
            tn_runtime_destroy(runtime);
        }
    tn_model_close(model);
}

// -------------------------------------------------------------------------------- a model goes on

enum { STEPS = 24, VOCABULARY = 2048 };

typedef struct tale {
    uint32_t count;
    int32_t ids[STEPS];
    float logits[STEPS][VOCABULARY];
} tale;

// Greedy steps, up to so many altogether.
static tn_status tell(tlm_context *context, int32_t id, uint32_t upto, tale *t, tn_error *err)
{
    tn_status status = TN_OK;
    while (t->count < upto && status == TN_OK) {
        const float *logits;
        status = tlm_eval(context, &id, 1, &logits, err);
        if (status != TN_OK)
            return status;
        id = 0;
        for (int32_t i = 1; i < VOCABULARY; i++)
            id = logits[i] > logits[id] ? i : id;
        memcpy(t->logits[t->count], logits, sizeof t->logits[0]);
        t->ids[t->count++] = id;
    }
    return status;
}

// A prompt, back and forth in it, to a file and from there.
static tn_status tell_all(tlm_context *context, const char *path, tale *t, tn_error *err)
{
    int32_t prompt[40];
    const float *logits;
    t->count = 0;
    for (int32_t i = 0; i < 40; i++)
        prompt[i] = 3 + i * 17 % 97;
    tn_status status = tlm_eval(context, prompt, 40, &logits, err);
    if (status == TN_OK)
        status = tell(context, 5, 4, t, err);
    if (status == TN_OK)
        status = tlm_context_rewind(context, 36, err);   // within the prompt's batch
    if (status == TN_OK)
        status = tell(context, 6, 8, t, err);
    if (status == TN_OK)
        status = tlm_context_rewind(context, 38, err);
    if (status == TN_OK)
        status = tell(context, 7, 12, t, err);
    if (status == TN_OK)
        status = tlm_context_save(context, path, err);
    if (status == TN_OK)
        status = tell(context, 8, 16, t, err);
    if (status == TN_OK)
        status = tlm_context_load(context, path, err);
    if (status == TN_OK)
        status = tlm_context_rewind(context, 20, err);
    if (status == TN_OK)
        status = tell(context, 9, 20, t, err);
    if (status == TN_OK)
        status = tlm_context_reset(context, err);
    if (status == TN_OK)
        status = tlm_eval(context, prompt, 7, &logits, err);
    return status == TN_OK ? tell(context, 10, STEPS, t, err) : status;
}

static bool tells_the_same(const tn_model *model, const char *fault, const char *path, tale *told)
{
    static tale got;
    char devices[200];
    snprintf(devices, sizeof devices, "[{\"name\":\"a\",\"host_visible\":false%s%s}]",
             *fault ? "," : "", fault);
    tn_runtime *runtime = rig_simulated(devices, NULL);
    tlm_context_options options = { .size = sizeof options, .context_tokens = 64 };
    tlm_context *context = NULL;
    tn_error err = { 0 };
    tn_status status = tlm_context_create(runtime, model, &options, &context, &err);
    if (status == TN_OK)
        status = tell_all(context, path, *fault ? &got : told, &err);
    if (status != TN_OK)
        fail_msg("%s: %s %s", devices, tn_status_name(status), err.text);
    if (*fault && memcmp(&got, told, sizeof got) != 0)
        fail_msg("%s: the results are others\n%s", devices, rig_log());
    tlm_context_destroy(context);
    tn_runtime_destroy(runtime);
    if (strstr(rig_log(), "not given back"))
        fail_msg("%s", rig_log());
    return strstr(rig_told(), "fails now") != NULL;
}

static void a_model_goes_on_wherever_it_stands(void **state)
{
    (void)state;
    static tale told;
    char path[] = "/tmp/tenon-faults-XXXXXX", fault[100];
    int file = mkstemp(path), had_its_turn = 0;
    assert_true(file >= 0 && close(file) == 0);
    tn_model *model = NULL;
    assert_int_equal(tn_model_open(TEST_MODEL, NULL, &model, NULL), TN_OK);
    tells_the_same(model, "", path, &told);
    for (int k = 1; k <= 30; k++) {   // submits: of the prompts, and of each step
        snprintf(fault, sizeof fault, "\"fail\":{\"call\":\"queue_submit\",\"at\":%d%s}", k,
                 k % 2 ? ",\"lost\":true" : "");
        had_its_turn += tells_the_same(model, fault, path, &told);
    }
    assert_in_range(had_its_turn, 24, 29);
    for (int k = 1; k <= 200; k += 9) {   // copies: of logits, and of states when they are saved
        snprintf(fault, sizeof fault, "\"fail\":{\"call\":\"queue_copy\",\"at\":%d,\"lost\":true}",
                 k);
        tells_the_same(model, fault, path, &told);
    }
    tn_model_close(model);
    assert_int_equal(unlink(path), 0);
}

static uint64_t repeated_runs;

static void take_event(void *context, const tn_session_event *event)
{
    (void)context;
    repeated_runs += event->repeated_runs;
}

// Whoever goes back again and again repeats no more than what the context holds.
static void what_was_gone_back_behind_is_not_repeated(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(
        "[{\"name\":\"a\",\"fail\":{\"call\":\"queue_submit\",\"at\":200,\"lost\":true}}]", NULL);
    tn_model *model = NULL;
    tlm_context *context = NULL;
    tn_error err = { 0 };
    tlm_context_options options = { .size = sizeof options, .context_tokens = 16 };
    assert_int_equal(tn_model_open(TEST_MODEL, NULL, &model, &err), TN_OK);
    assert_int_equal(tlm_context_create(runtime, model, &options, &context, &err), TN_OK);
    for (int i = 0; i < 250; i++) {
        const int32_t id = 3 + i % 50;
        const float *logits;
        if (tlm_context_position(context) == 16)
            assert_int_equal(tlm_context_rewind(context, (uint32_t)i % 5, &err), TN_OK);
        assert_int_equal(tlm_eval(context, &id, 1, &logits, &err), TN_OK);
    }
    repeated_runs = 0;
    assert_int_equal(tn_session_events(tlm_context_session(context),
                                       &(tn_session_event_sink){ .take = take_event }, &err),
                     TN_OK);
    assert_in_range(repeated_runs, 1, 16);
    tlm_context_destroy(context);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_call_at_any_time_may_fail),
        cmocka_unit_test(calls_that_only_some_devices_need_may_fail),
        cmocka_unit_test(a_device_that_cannot_tell_of_itself_is_left_out),
        cmocka_unit_test(a_model_on_a_device_that_fails_says_so),
        cmocka_unit_test(every_status_of_a_device_is_a_failure_of_the_device),
        cmocka_unit_test(a_model_goes_on_wherever_it_stands),
        cmocka_unit_test(what_was_gone_back_behind_is_not_repeated),
    };
    return cmocka_run_group_tests(tests, compute_want, NULL);
}
