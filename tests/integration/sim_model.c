// The embedded model on simulated devices: whatever they are told to be, the logits have the bits
// of the CPU plugin alone.
#include <math.h>
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

enum { CONTEXT = 64, PROMPT = 20, STEPS = 6, MOST_DEVICES = 4, VOCABULARY = 4096 };

static float alone[1 + STEPS][VOCABULARY], got[1 + STEPS][VOCABULARY];
static int32_t vocabulary;

static tn_model *open_model(void)
{
    tn_model *model = NULL;
    tn_error err = { 0 };
    if (tn_model_open(TEST_MODEL, NULL, &model, &err) != TN_OK)
        fail_msg("%s", err.text);
    return model;
}

static tn_status make_context(tn_runtime *runtime, const tn_model *model, const char *const *names,
                              tlm_context **out, tn_error *err)
{
    tn_device *devices[MOST_DEVICES];
    tlm_context_options options = {
        .size = sizeof options, .context_tokens = CONTEXT, .devices = devices, .batch_tokens = 32
    };
    for (; names && names[options.device_count]; options.device_count++)
        devices[options.device_count] = rig_device(runtime, names[options.device_count]);
    return tlm_context_create(runtime, model, &options, out, err);
}

static int32_t best(const float *logits)
{
    int32_t at = 0;
    for (int32_t i = 1; i < vocabulary; i++)
        if (logits[i] > logits[at])
            at = i;
    return at;
}

// A prompt, then greedy steps.
static void run(tlm_context *context, float logits[1 + STEPS][VOCABULARY])
{
    int32_t ids[PROMPT];
    uint32_t count = PROMPT;
    for (int32_t i = 0; i < PROMPT; i++)
        ids[i] = 3 + i * 17 % 97;
    for (int step = 0; step <= STEPS; step++) {
        const float *out = NULL;
        tn_error err = { 0 };
        if (tlm_eval(context, ids, count, &out, &err) != TN_OK)
            fail_msg("step %d: %s", step, err.text);
        memcpy(logits[step], out, (size_t)vocabulary * sizeof *out);
        ids[0] = best(out);
        count = 1;
    }
}

static int run_alone(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_model *model = open_model();
    tlm_tokenizer *tokenizer = NULL;
    tlm_context *context = NULL;
    tn_error err = { 0 };
    if (tlm_tokenizer_create(model, NULL, &tokenizer, &err) != TN_OK ||
        make_context(runtime, model, NULL, &context, &err) != TN_OK)
        fail_msg("%s", err.text);
    vocabulary = tlm_token_count(tokenizer);
    assert_in_range(vocabulary, 1, VOCABULARY);
    run(context, alone);
    tlm_context_destroy(context);
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
    return 0;
}

typedef struct setting {
    const char *devices;
    const char *names[MOST_DEVICES];   // of the session; none = all
    const char *used[MOST_DEVICES];    // those that get work
} setting;

static void has_the_bits_of_one(const setting *s)
{
    tn_runtime *runtime = rig_simulated(s->devices, NULL);
    tn_model *model = open_model();
    tlm_context *context = NULL;
    tn_error err = { 0 };
    if (make_context(runtime, model, s->names[0] ? s->names : NULL, &context, &err) != TN_OK)
        fail_msg("%s: %s", s->devices, err.text);
    const char *text = rig_explain(tlm_context_session(context));
    for (int i = 0; i < MOST_DEVICES && s->used[i]; i++) {
        char words[40];
        snprintf(words, sizeof words, " on %s: steps", s->used[i]);
        if (!strstr(text, words))
            fail_msg("%s: nothing is on %s: %s", s->devices, s->used[i], text);
    }
    run(context, got);
    for (int step = 0; step <= STEPS; step++)
        if (memcmp(alone[step], got[step], (size_t)vocabulary * sizeof(float)) != 0)
            fail_msg("%s: step %d has other bits", s->devices, step);
    tlm_context_destroy(context);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

static void software_is_used_only_when_it_is_named(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"kind\":\"software\"},{\"name\":\"b\"}]",
                                        NULL);
    assert_int_equal(tn_device_is_default(rig_device(runtime, "a")), 0);
    assert_int_equal(tn_device_is_default(rig_device(runtime, "b")), 1);
    assert_int_equal(tn_device_is_default(rig_device(runtime, "cpu0")), 1);
    assert_int_equal(tn_device_is_default(NULL), 0);
    tn_runtime_destroy(runtime);
}

static void the_model_has_the_same_bits_on_any_devices(void **state)
{
    (void)state;
    static const setting settings[] = {
        { "[{\"name\":\"a\"}]", { "a" }, { "a" } },
        { "[{\"name\":\"a\"}]", { NULL }, { "a" } },   // faster than the CPU
        { "[{\"name\":\"a\",\"gflops\":0.01}]", { NULL }, { "cpu0" } },
        { "[{\"name\":\"a\",\"kind\":\"software\"}]", { NULL }, { "cpu0" } },
        { "[{\"name\":\"a\",\"host_visible\":false}]", { "a" }, { "a" } },
        { "[{\"name\":\"a\",\"import\":true}]", { "a" }, { "a" } },
        { "[{\"name\":\"a\",\"import\":true,\"host_visible\":false}]", { "a" }, { "a" } },
        { "[{\"name\":\"a\",\"alignment\":4096}]", { "a" }, { "a" } },
        { "[{\"name\":\"a\",\"alignment\":32}]", { "a" }, { "a" } },
        { "[{\"name\":\"a\",\"update_bytes\":256}]", { "a" }, { "a" } },
        { "[{\"name\":\"a\",\"order\":\"late\"}]", { "a" }, { "a" } },
        { "[{\"name\":\"a\",\"order\":\"late\",\"host_visible\":false,\"update_bytes\":256}]",
          { "a" },
          { "a" } },
        { "[{\"name\":\"a\",\"max_alloc_bytes\":1200000,\"memory_bytes\":8000000}]",
          { "a" },
          { "a" } },
        { "[{\"name\":\"a\",\"max_alloc_bytes\":1200000,\"host_visible\":false}]",
          { "a" },
          { "a" } },
        { "[{\"name\":\"a\",\"dtypes\":[\"F32\",\"F16\",\"Q8_0\"]}]", { "a" }, { "a" } },
        { "[{\"name\":\"a\",\"except\":[\"get_rows\"]}]", { "a", "cpu0" }, { "a", "cpu0" } },
        { "[{\"name\":\"a\",\"except\":[\"get_rows\"],\"host_visible\":false}]",
          { "a", "cpu0" },
          { "a", "cpu0" } },
        { "[{\"name\":\"a\",\"dtypes\":[\"F32\",\"F16\"]}]", { NULL }, { "cpu0" } },
        { "[{\"name\":\"a\",\"fuse\":true}]", { "a" }, { "a" } },
        { "[{\"name\":\"a\",\"fuse\":true,\"host_visible\":false,\"order\":\"late\"}]",
          { "a" },
          { "a" } },
        { "[{\"name\":\"a\",\"fuse\":true,\"except\":[\"rope\"]},{\"name\":\"b\",\"only\":"
          "[\"rope\",\"swiglu\",\"mul\"],\"fuse\":true,\"host_visible\":false}]",
          { "a", "b" },
          { "a", "b" } },
        { "[{\"name\":\"a\",\"except\":[\"rope\"]},{\"name\":\"b\"}]", { "a", "b" }, { "b" } },
        { "[{\"name\":\"a\",\"except\":[\"rope\"]},{\"name\":\"b\",\"only\":[\"rope\"]}]",
          { "a", "b" },
          { "a", "b" } },
        { "[{\"name\":\"a\",\"except\":[\"rope\"],\"host_visible\":false},{\"name\":\"b\",\"only\":"
          "[\"rope\"],\"host_visible\":false,\"order\":\"late\",\"alignment\":256}]",
          { "a", "b" },
          { "a", "b" } },
        { "[{\"name\":\"a\",\"except\":[\"swiglu\"],\"peer\":true},{\"name\":\"b\",\"only\":"
          "[\"swiglu\",\"add\"],\"peer\":true},{\"name\":\"c\",\"only\":[\"get_rows\"]}]",
          { "a", "b", "c" },
          { "a", "b" } },
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        has_the_bits_of_one(&settings[i]);
}

// Of the fusions, which overlap, those are chosen that together with the rest cost least.
static void fusions_are_chosen_where_they_cost_less(void **state)
{
    (void)state;
    static const char *const names[] = { "a", NULL };
    static const char *const devices[] = { "[{\"name\":\"a\"}]",
                                           "[{\"name\":\"a\",\"fuse\":true}]" };
    tn_graph_schedule schedules[2];
    tn_model *model = open_model();
    for (int i = 0; i < 2; i++) {
        tn_runtime *runtime = rig_simulated(devices[i], NULL);
        tlm_context *context = NULL;
        tn_error err = { 0 };
        assert_int_equal(make_context(runtime, model, names, &context, &err), TN_OK);
        schedules[i] = (tn_graph_schedule){ .size = sizeof schedules[i] };
        assert_int_equal(
            tn_session_graph_schedule(tlm_context_session(context), 0, &schedules[i], &err), TN_OK);
        assert_true(schedules[i].is_proved_optimal);
        tlm_context_destroy(context);
        tn_runtime_destroy(runtime);
    }
    // Four layers: the norm before the feed-forward block with both products and the gate, the one
    // before the attention with one of three products; at the end one more.
    assert_int_equal(schedules[0].step_count, schedules[0].node_count);
    assert_int_equal(schedules[1].step_count, schedules[1].node_count - 4 * (3 + 1) - 1);
    assert_true(schedules[1].cost_ns < schedules[0].cost_ns - 100 * (4 * 4 + 1) + 1e-3);
    tn_model_close(model);
}

// What it needs is found by trying: one byte less than enough is refused, in words.
static void memory_that_is_just_too_small_is_refused_with_the_numbers(void **state)
{
    (void)state;
    static const char *const names[] = { "a", NULL };
    tn_model *model = open_model();
    uint64_t least = 0, most = 16 << 20;   // refused, enough
    char refusal[sizeof(tn_error)] = "";
    while (most - least > 1) {
        uint64_t bytes = least + (most - least) / 2;
        char devices[80];
        snprintf(devices, sizeof devices, "[{\"name\":\"a\",\"memory_bytes\":%llu}]",
                 (unsigned long long)bytes);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tlm_context *context = NULL;
        tn_error err = { 0 };
        tn_status status = make_context(runtime, model, names, &context, &err);
        if (status == TN_OK) {
            most = bytes;
        } else {
            least = bytes;
            assert_int_equal(status, TN_E_DEVICE_MEMORY);
            assert_null(context);
            snprintf(refusal, sizeof refusal, "%s", err.text);
            if (!strstr(refusal, "a: ") || !strstr(refusal, "free"))
                fail_msg("%s: %s", devices, refusal);
        }
        tlm_context_destroy(context);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
    assert_in_range(most, 4 << 20, 8 << 20);
    assert_non_null(strstr(refusal, "bytes are needed"));
    char devices[80];
    snprintf(devices, sizeof devices, "[{\"name\":\"a\",\"memory_bytes\":%llu}]",
             (unsigned long long)most);
    has_the_bits_of_one(&(setting){ devices, { "a" }, { "a" } });
    tn_model_close(model);
}

static void work_takes_its_time_on_the_virtual_clock(void **state)
{
    (void)state;
    static const char *const names[] = { "a", NULL };
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\",\"trace\":true}]", NULL);
    tn_model *model = open_model();
    tlm_context *context = NULL;
    tn_error err = { 0 };
    assert_int_equal(make_context(runtime, model, names, &context, &err), TN_OK);
    run(context, got);
    assert_non_null(strstr(rig_told(), "sim: device a: run 1: program of "));
    assert_non_null(strstr(rig_told(), "sim: device a: run 7: program of "));
    tlm_context_destroy(context);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
}

// --------------------------------------------------------------------------------------- placement

static tn_status make_placed(tn_runtime *runtime, const tn_model *model, uint32_t tokens,
                             const char *const *names, const tn_placement *placement,
                             const tlm_override *overrides, uint32_t override_count,
                             tlm_context **out, tn_error *err)
{
    tn_device *devices[MOST_DEVICES];
    tlm_context_options options = { .size = sizeof options,
                                    .context_tokens = tokens,
                                    .devices = devices,
                                    .batch_tokens = 32,
                                    .placement = placement,
                                    .overrides = overrides,
                                    .override_count = override_count };
    for (; names && names[options.device_count]; options.device_count++)
        devices[options.device_count] = rig_device(runtime, names[options.device_count]);
    return tlm_context_create(runtime, model, &options, out, err);
}

static const char *const both[] = { "a", "cpu0", NULL };

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

// The largest difference, in units of the std of the logits.
static double distance(const float *want, const float *now)
{
    double sum = 0, squares = 0, largest = 0;
    for (int32_t i = 0; i < vocabulary; i++) {
        double difference = fabs((double)want[i] - (double)now[i]);
        sum += (double)want[i];
        squares += (double)want[i] * (double)want[i];
        largest = difference > largest || isnan(difference) ? difference : largest;
    }
    return largest / sqrt(squares / vocabulary - sum / vocabulary * (sum / vocabulary));
}

// Split modes, layers, shares, overrides and memory at random: the bits are those of one device.
// Sums of parts are rounded otherwise, and the KV cache is of half precision: tolerance B of
// tests/data/golden/README.md.
static void placed_anywhere_the_model_has_the_same_bits(void **state)
{
    (void)state;
    static const char *const patterns[] = { "ffn",        "attn_(q|k)", "^blk\\.[02]\\.",
                                            "token_embd", "norm",       "nothing" };
    for (uint32_t round = 0; round < 24; round++) {
        char devices[300];
        seed = round + 1;
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"host_visible\":false,\"memory_bytes\":%u},{\"name\":\"b\","
                 "\"order\":\"late\",\"memory_bytes\":%u}]",
                 (1 + draw(8)) << 20, (1 + draw(8)) << 20);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tn_device *all[] = { rig_device(runtime, "a"), rig_device(runtime, "b"),
                             rig_device(runtime, "cpu0") };
        double shares[] = { 1 + draw(3), draw(3) };
        tn_placement asked = { .size = sizeof asked,
                               .split_mode = draw(5),
                               .layer_rule = draw(3),
                               .kv_device = draw(4) ? NULL : all[2] };
        tlm_override overrides[] = { { patterns[draw(6)], all[2] }, { patterns[draw(6)], all[2] } };
        asked.gpu_layers = asked.layer_rule == TN_LAYERS_COUNT ? draw(7) : 0;
        asked.share_count = asked.split_mode >= TN_SPLIT_LAYER ? draw(3) : 0;
        asked.shares = asked.share_count ? shares : NULL;
        tn_model *model = open_model();
        tlm_context *context = NULL;
        tn_error err = { 0 };
        if (make_placed(runtime, model, CONTEXT, NULL, &asked, overrides, draw(3), &context,
                        &err) != TN_OK)
            fail_msg("round %u, %s: %s", round, devices, err.text);
        run(context, got);
        for (int step = 0; step <= STEPS; step++) {
            double off = distance(alone[step], got[step]);
            bool is_same = memcmp(alone[step], got[step], (size_t)vocabulary * sizeof(float)) == 0;
            if (!is_same && !(asked.split_mode == TN_SPLIT_TENSOR && off <= 0.02))
                fail_msg("round %u: step %d is %g std off: %s", round, step, off,
                         rig_explain(tlm_context_session(context)));
        }
        tlm_context_destroy(context);
        tn_model_close(model);
        tn_runtime_destroy(runtime);
    }
}

// Blocks are layers, and what comes after the last is one more: of four blocks five.
static void the_output_is_one_more_layer(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\"}]", NULL);
    tn_model *model = open_model();
    for (uint32_t count = 0; count <= 6; count++) {
        tn_placement asked = { .size = sizeof asked,
                               .layer_rule = TN_LAYERS_COUNT,
                               .gpu_layers = count };
        tlm_context *context = NULL;
        tn_error err = { 0 };
        assert_int_equal(
            make_placed(runtime, model, CONTEXT, both, &asked, NULL, 0, &context, &err), TN_OK);
        tlm_context_info info = { .size = sizeof info };
        tlm_context_describe(context, &info);
        tn_device_memory memory = { .size = sizeof memory };
        assert_int_equal(tn_session_device_memory(tlm_context_session(context), 0, &memory, &err),
                         TN_OK);
        tn_memory_report report = rig_memory(tlm_context_session(context));
        uint32_t blocks = count == 0 ? 0 : count - 1 < info.layers ? count - 1 : info.layers;
        assert_int_equal(memory.state_bytes, report.state_bytes / info.layers * blocks);
        assert_int_equal(memory.weight_copied_bytes > 0, count > 0);
        tlm_context_destroy(context);
    }
    tn_model_close(model);
    tn_runtime_destroy(runtime);
}

static void the_context_that_is_said_to_fit_fits(void **state)
{
    (void)state;
    static const char *const names[] = { "a", NULL };
    static const struct {
        uint32_t kib, asked, coarse;
    } cases[] = { { 4500, 256, 64 }, { 4200, 256, 1 }, { 4200, 60, 1 }, { 1000, 60, 0 } };
    tn_model *model = open_model();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char devices[80];
        snprintf(devices, sizeof devices, "[{\"name\":\"a\",\"memory_bytes\":%u}]",
                 cases[i].kib << 10);
        tn_runtime *runtime = rig_simulated(devices, NULL);
        tlm_context *context = NULL;
        tn_error err = { 0 };
        assert_int_equal(
            make_placed(runtime, model, cases[i].asked, names, NULL, NULL, 0, &context, &err),
            TN_E_DEVICE_MEMORY);
        const char *told = strstr(err.text, "a context of ");
        assert_int_equal(told != NULL, cases[i].coarse != 0);
        if (!told) {
            assert_non_null(strstr(err.text, "no context would fit"));
        } else {
            uint32_t tokens = (uint32_t)strtoul(told + strlen("a context of "), NULL, 10);
            if (tokens % cases[i].coarse || tokens == 0)
                fail_msg("%s", err.text);
            assert_int_equal(
                make_placed(runtime, model, tokens, names, NULL, NULL, 0, &context, &err), TN_OK);
            tlm_context_destroy(context);
            context = NULL;
            assert_int_equal(make_placed(runtime, model, tokens + cases[i].coarse, names, NULL,
                                         NULL, 0, &context, &err),
                             TN_E_DEVICE_MEMORY);
        }
        assert_null(context);
        tn_runtime_destroy(runtime);
    }
    tn_model_close(model);
}

static void overrides_are_patterns_over_the_names_of_tensors(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated("[{\"name\":\"a\"}]", NULL);
    tn_device *a = rig_device(runtime, "a"), *cpu = rig_device(runtime, "cpu0");
    tn_model *model = open_model();
    const struct {
        tlm_override overrides[2];
        uint32_t count;
        const char *error, *warning;
        int on_a;   // whether weights are
    } cases[] = {
        { { { ".", cpu } }, 1, NULL, "", 0 },
        { { { ".", a }, { ".", cpu } }, 2, NULL, "", 1 },   // the first that matches
        { { { "^blk.0.ffn_up.weight$", cpu }, { "zebra", a } }, 2, NULL, "'zebra'", 1 },
        { { { "ffn(", cpu } }, 1, "override 'ffn(' at character 4", NULL, 0 },
        { { { NULL, cpu } }, 1, "override 0 has no pattern", NULL, 0 },
        { { { "ffn", NULL } }, 1, "override 0 has no device", NULL, 0 },
        { { { "(*LIMIT_MATCH=0).", a } }, 1, "cannot be matched", NULL, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tlm_context *context = NULL;
        tn_error err = { 0 };
        tn_status status = make_placed(runtime, model, CONTEXT, both, NULL, cases[i].overrides,
                                       cases[i].count, &context, &err);
        assert_int_equal(status, cases[i].error ? TN_E_ARG : TN_OK);
        if (cases[i].error && !strstr(err.text, cases[i].error))
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].error);
        if (status != TN_OK)
            continue;
        const char *warning = tlm_context_warning(context);
        if (*cases[i].warning ? !strstr(warning, cases[i].warning) : *warning)
            fail_msg("case %zu: %s", i, warning);
        tn_device_memory memory = { .size = sizeof memory };
        assert_int_equal(tn_session_device_memory(tlm_context_session(context), 0, &memory, &err),
                         TN_OK);
        assert_int_equal(memory.weight_copied_bytes > 0, cases[i].on_a);
        tlm_context_destroy(context);
    }
    assert_string_equal(tlm_context_warning(NULL), "");
    tn_model_close(model);
    tn_runtime_destroy(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(software_is_used_only_when_it_is_named),
        cmocka_unit_test(the_model_has_the_same_bits_on_any_devices),
        cmocka_unit_test(fusions_are_chosen_where_they_cost_less),
        cmocka_unit_test(memory_that_is_just_too_small_is_refused_with_the_numbers),
        cmocka_unit_test(work_takes_its_time_on_the_virtual_clock),
        cmocka_unit_test(placed_anywhere_the_model_has_the_same_bits),
        cmocka_unit_test(the_output_is_one_more_layer),
        cmocka_unit_test(the_context_that_is_said_to_fit_fits),
        cmocka_unit_test(overrides_are_patterns_over_the_names_of_tensors),
    };
    return cmocka_run_group_tests(tests, run_alone, NULL);
}
