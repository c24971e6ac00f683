// A language model on two simulated devices and the CPU, with one fault: a call of one of the
// devices fails, or the device is lost at it. The tokens and their logits have the bits of a run
// without a fault, whichever call of whichever kind it is, and nothing is left behind.
//
//   sim_sweep MODEL TOKENS STEP [PART PARTS]
//
// STEP 1 takes every k of every kind of call; another one the first, the last and every STEP-th.
// PART of PARTS takes a share of them, counted from 0. Prints how many runs there were.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/lm.h>

#include "session_rig.h"

enum { CONTEXT = 128, PROMPT = 6, MOST_TOKENS = 64, MOST_TRIES = 20 };

static const char *model_path;
static uint32_t token_count, step, part, parts = 1;
static tn_model *model;
static int32_t vocabulary;

typedef struct results {
    int32_t ids[MOST_TOKENS];
    float best[MOST_TOKENS];    // the logit of each
    double sums[MOST_TOKENS];   // of all logits, exactly the same when they are
} results;

static results want;
static char calls_told[8192];   // by the plugin, of the run without a fault

// A prompt, then greedy steps.
static tn_status run_model(tlm_context *context, results *r, tn_error *err)
{
    int32_t ids[PROMPT];
    uint32_t count = PROMPT;
    tn_status status = TN_OK;
    for (int32_t i = 0; i < PROMPT; i++)
        ids[i] = 3 + i * 17 % 97;
    for (uint32_t t = 0; t < token_count && status == TN_OK; t++) {
        const float *logits = NULL;
        status = tlm_eval(context, ids, count, &logits, err);
        int32_t best = 0;
        double sum = 0;
        for (int32_t i = 0; i < vocabulary && status == TN_OK; i++) {
            best = logits[i] > logits[best] ? i : best;
            sum += (double)logits[i] * (i % 31 + 1);
        }
        if (status == TN_OK) {
            r->ids[t] = ids[0] = best;
            r->best[t] = logits[best];
            r->sums[t] = sum;
        }
        count = 1;
    }
    return status;
}

// a cannot do all, b is slower, and copies cost little: so both are used.
static void describe(char *text, size_t room, const char *on, const char *fault)
{
    static const char link[] = "\"latency_us\":0.01,\"link_gbps\":1000";
    bool is_a = on && strcmp(on, "a") == 0, is_b = on && strcmp(on, "b") == 0;
    snprintf(text, room,
             "[{\"name\":\"a\",\"except\":[\"get_rows\",\"set_rows\"],"
             "\"host_visible\":false,%s%s%s},"
             "{\"name\":\"b\",\"gflops\":1000,\"gbps\":100,%s%s%s}]",
             link, is_a ? "," : "", is_a ? fault : "", link, is_b ? "," : "", is_b ? fault : "");
}

// Whether the fault had its turn.
static bool run_with(const char *on, const char *fault)
{
    char devices[400];
    describe(devices, sizeof devices, on, fault);
    // As people run models, which is faster as well.
    static const char *const settings[] = { "plugin.cpu.activations=q8",
                                            "plugin.sim.activations=q8", NULL };
    tn_runtime *runtime = rig_simulated(devices, settings);
    tlm_context_options options = { .size = sizeof options,
                                    .context_tokens = CONTEXT,
                                    .batch_tokens = 32 };
    tlm_context *context = NULL;
    results got = { .ids = { 0 } };
    tn_error err = { 0 };
    tn_status status = tlm_context_create(runtime, model, &options, &context, &err);
    if (status == TN_OK)
        status = run_model(context, &got, &err);
    if (status != TN_OK)
        fail_msg("%s: %s %s\n%s", devices, tn_status_name(status), err.text, rig_log());
    const char *plan = on ? NULL : rig_explain(tlm_context_session(context));
    if (plan && (!strstr(plan, " on a: steps") || !strstr(plan, " on b: steps")))
        fail_msg("the model is not on both devices: %s", plan);
    if (!on)
        want = got;
    else if (memcmp(&want, &got, sizeof got) != 0)
        fail_msg("%s: the results are others\n%s", devices, rig_log());
    tlm_context_destroy(context);
    tn_runtime_destroy(runtime);
    if (strstr(rig_log(), "not given back"))
        fail_msg("%s: %s", devices, rig_log());
    if (!on)
        snprintf(calls_told, sizeof calls_told, "%s", rig_told());
    return strstr(rig_told(), "fails now") != NULL;
}

static bool fail_at(const char *on, const char *call, uint32_t k, bool is_loss)
{
    char fault[100];
    snprintf(fault, sizeof fault, "\"fail\":{\"call\":\"%s\",\"at\":%" PRIu32 "%s}", call, k,
             is_loss ? ",\"lost\":true" : "");
    return run_with(on, fault);
}

static uint32_t taken, runs;

static void take(const char *on, const char *call, uint32_t k, bool is_loss)
{
    if (taken++ % parts != part)
        return;
    // Some calls depend on which of two threads is first: so the last of them may not come.
    bool has_failed = fail_at(on, call, k, is_loss);
    for (int again = 0; !has_failed && again < MOST_TRIES; again++)
        has_failed = fail_at(on, call, k, is_loss);
    if (!has_failed)
        fail_msg("%s: call %u of %s did not fail", on, k, call);
    runs++;
}

// How many calls of a kind the run without a fault made.
static uint32_t count_calls(const char *on, const char *call)
{
    char words[60], name[40];
    uint32_t count;
    snprintf(words, sizeof words, "device %s: ", on);
    for (const char *at = calls_told; (at = strstr(at, words)); at++)
        if (sscanf(at + strlen(words), "%" SCNu32 " calls of %39s", &count, name) == 2 &&
            strcmp(name, call) == 0)
            return count;
    return 0;
}

static void sweep(const char *on, const char *call, bool can_answer)
{
    uint32_t count = count_calls(on, call), before = runs;
    for (uint32_t k = 1; k <= count; k++)
        if (k == 1 || k == count || k % step == 0) {
            take(on, call, k, true);
            if (can_answer)
                take(on, call, k, false);
        }
    if (!count)
        return;
    printf("%s of %s: %" PRIu32 " calls, %" PRIu32 " runs\n", call, on, count, runs - before);
    fflush(stdout);   // the whole may take hours
}

static void any_call_of_two_devices_may_fail_at_any_time(void **state)
{
    // Those of a device; the others count on every device, or before there is one.
    static const struct {
        const char *call;
        bool can_answer;
    } calls[] = {
        { "open", true },
        { "memory_info", true },
        { "link", true },
        { "buffer_alloc", true },
        { "buffer_import", true },
        { "buffer_map", true },
        { "buffer_free", false },
        { "semaphore_create", true },
        { "semaphore_destroy", false },
        { "semaphore_read", true },
        { "semaphore_signal", true },
        { "semaphore_fail", true },
        { "semaphore_wait", true },
        { "semaphore_notify", true },
        { "queue_create", true },
        { "queue_destroy", false },
        { "queue_copy", true },
        { "queue_submit", true },
        { "claim", true },
        { "pack", true },
        { "compile", true },
        { "program_destroy", false },
        { "bind", true },
        { "unbind", false },
        { "work", true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int b = 0; b < 2; b++)
            sweep(b ? "b" : "a", calls[i].call, calls[i].can_answer);
    // Kinds of which each model makes some, as the simulated devices tell.
    static const char *const made[] = { "claim",        "compile",      "bind",
                                        "buffer_alloc", "queue_submit", "work" };
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        if (!count_calls("a", made[i]))
            fail_msg("there is no %s of device a, or it is not told", made[i]);
    printf("%" PRIu32 " runs, each with the same %" PRIu32 " tokens and logits\n", runs,
           token_count);
}

static int begin(void **state)
{
    (void)state;
    tlm_tokenizer *tokenizer = NULL;
    tn_error err = { 0 };
    if (tn_model_open(model_path, NULL, &model, &err) != TN_OK ||
        tlm_tokenizer_create(model, NULL, &tokenizer, &err) != TN_OK)
        fail_msg("%s", err.text);
    vocabulary = tlm_token_count(tokenizer);
    tlm_tokenizer_destroy(tokenizer);
    run_with(NULL, "");
    return 0;
}

static int end(void **state)
{
    (void)state;
    tn_model_close(model);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_call_of_two_devices_may_fail_at_any_time),
    };
    if (argc != 4 && argc != 6)
        return 2;
    model_path = argv[1];
    token_count = (uint32_t)strtoul(argv[2], NULL, 10);
    step = (uint32_t)strtoul(argv[3], NULL, 10);
    if (argc == 6) {
        part = (uint32_t)strtoul(argv[4], NULL, 10);
        parts = (uint32_t)strtoul(argv[5], NULL, 10);
    }
    if (!token_count || token_count > MOST_TOKENS || !step || part >= parts)
        return 2;
    FILE *file = fopen(model_path, "rb");
    if (!file) {
        printf("skipped: there is no %s\n", model_path);
        return 77;
    }
    fclose(file);
    return cmocka_run_group_tests(tests, begin, end);
}
