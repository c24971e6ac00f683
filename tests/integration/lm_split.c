// Models whose layers are divided over simulated devices: the logits are those of one device, and
// each device holds its share.
//   lm_split [MODEL]     one that is not there: skipped; without: small ones
#include <math.h>
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

#include "failing_alloc.h"
#include "random_model.h"
#include "session_rig.h"

// In units of std. Tolerance A of tests/data/golden/README.md, which whole models get, is ten times
// as much.
static const double CLOSE = 2e-5;

enum { PROMPT = 20, STEPS = 4, MOST_DEVICES = 4, MOST_PIECES = 8 };

// Of one kind each: with a map, without, late, importing.
static const char DEVICES[] = "[{\"name\":\"a\"},{\"name\":\"b\",\"host_visible\":false},"
                              "{\"name\":\"c\",\"order\":\"late\"},{\"name\":\"d\","
                              "\"host_visible\":false,\"order\":\"late\",\"alignment\":256}]";
static const char *const names[MOST_DEVICES] = { "a", "b", "c", "d" };

typedef struct division {
    uint32_t mode;    // TN_SPLIT_…; TN_SPLIT_NONE: on the first device alone
    uint32_t count;   // devices
    const double *shares;
} division;

static const double three_one[] = { 3, 1 }, one_six[] = { 1, 6.5 }, five_two_one[] = { 5, 2, 1 },
                    without_one[] = { 1, 0, 2, 1 };

static const division whole = { TN_SPLIT_NONE, 1, NULL };
static const division divisions[] = {
    { TN_SPLIT_ROW, 2, NULL },
    { TN_SPLIT_ROW, 3, NULL },
    { TN_SPLIT_ROW, 4, NULL },
    { TN_SPLIT_ROW, 2, three_one },
    { TN_SPLIT_ROW, 3, five_two_one },
    { TN_SPLIT_ROW, 4, without_one },
    { TN_SPLIT_TENSOR, 2, NULL },
    { TN_SPLIT_TENSOR, 3, NULL },
    { TN_SPLIT_TENSOR, 4, NULL },
    { TN_SPLIT_TENSOR, 2, three_one },
    { TN_SPLIT_TENSOR, 3, five_two_one },
    { TN_SPLIT_TENSOR, 4, without_one },
};

enum { DIVISIONS = sizeof divisions / sizeof divisions[0] };

static const char *text_of(const division *d)
{
    static char text[80];
    snprintf(text, sizeof text, "%s over %u%s", d->mode == TN_SPLIT_ROW ? "rows" : "tensors",
             d->count, d->shares ? ", uneven" : "");
    return text;
}

// on: names of devices, up to NULL.
static tn_status make_on(tn_runtime *runtime, const tn_model *model, const char *const *on,
                         const tn_placement *placement, const tlm_context_options *wanted,
                         tlm_context **out, tn_error *err)
{
    tn_device *devices[MOST_DEVICES];
    tlm_context_options options = *wanted;
    options.size = sizeof options;
    for (; on[options.device_count]; options.device_count++)
        devices[options.device_count] = rig_device(runtime, on[options.device_count]);
    options.devices = devices;
    options.placement = placement;
    return tlm_context_create(runtime, model, &options, out, err);
}

static tlm_context *create_on(tn_runtime *runtime, const tn_model *model, const char *const *on,
                              const tn_placement *placement, const tlm_context_options *wanted)
{
    tlm_context *context = NULL;
    tn_error err = { 0 };
    if (make_on(runtime, model, on, placement, wanted, &context, &err) != TN_OK)
        fail_msg("%s", err.text);
    return context;
}

static tn_status make_context(tn_runtime *runtime, const tn_model *model, const division *d,
                              const tlm_context_options *wanted, tlm_context **out, tn_error *err)
{
    const char *on[MOST_DEVICES + 1] = { NULL };
    memcpy(on, names, d->count * sizeof *on);
    tn_placement placement = { .size = sizeof placement,
                               .split_mode = d->mode,
                               .layer_rule = TN_LAYERS_ALL,
                               .share_count = d->shares ? d->count : 0,
                               .shares = d->shares };
    return make_on(runtime, model, on, &placement, wanted, out, err);
}

static tlm_context *create(tn_runtime *runtime, const tn_model *model, const division *d,
                           const tlm_context_options *wanted)
{
    tlm_context *context = NULL;
    tn_error err = { 0 };
    if (make_context(runtime, model, d, wanted, &context, &err) != TN_OK)
        fail_msg("%s: %s", text_of(d), err.text);
    return context;
}

static uint32_t vocabulary_of(const tlm_context *context)
{
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(context, &info);
    return info.vocabulary;
}

// ------------------------------------------------------------------------------------------ logits

// Logits after the prompt in one piece, then after each of some further ids: {V, 1 + STEPS}.
static float *run(tlm_context *context, uint32_t prompt)
{
    uint32_t vocabulary = vocabulary_of(context);
    float *all = malloc((size_t)vocabulary * (1 + STEPS) * sizeof *all);
    int32_t *ids = malloc((prompt + STEPS) * sizeof *ids);
    assert_non_null(all);
    assert_non_null(ids);
    for (uint32_t i = 0; i < prompt + STEPS; i++)
        ids[i] = (int32_t)((3 + i * 17) % vocabulary);
    for (uint32_t step = 0; step <= STEPS; step++) {
        const float *logits = NULL;
        tn_error err = { 0 };
        if (tlm_eval(context, step ? ids + prompt + step - 1 : ids, step ? 1 : prompt, &logits,
                     &err) != TN_OK)
            fail_msg("%s", err.text);
        memcpy(all + (size_t)step * vocabulary, logits, vocabulary * sizeof *logits);
    }
    free(ids);
    return all;
}

// The largest difference, in units of the std of the logits wanted.
static double distance(const float *want, const float *got, size_t count)
{
    double sum = 0, squares = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)want[i] - (double)got[i]);
        sum += (double)want[i];
        squares += (double)want[i] * (double)want[i];
        largest = difference > largest || isnan(difference) ? difference : largest;
    }
    double mean = sum / (double)count;
    return largest / sqrt(squares / (double)count - mean * mean);
}

// Rows are whole sums: they have the bits of one device. What is added up of parts is rounded
// otherwise: within `tolerance`, and the same bits whenever it is done again.
static void compare(const char *says, const tn_model *model, const tlm_context_options *options,
                    uint32_t prompt, const division *list, size_t count, double tolerance)
{
    tn_runtime *runtime = rig_simulated(DEVICES, NULL);
    tlm_context *alone = create(runtime, model, &whole, options);
    size_t floats = (size_t)vocabulary_of(alone) * (1 + STEPS);
    float *want = run(alone, prompt);
    tlm_context_destroy(alone);
    for (size_t i = 0; i < count; i++) {
        tlm_context *context = create(runtime, model, &list[i], options);
        float *got = run(context, prompt);
        double off = distance(want, got, floats);
        if (list[i].mode == TN_SPLIT_ROW && memcmp(want, got, floats * sizeof *got) != 0)
            fail_msg("%s, %s: other bits, %g std off", says, text_of(&list[i]), off);
        if (!(off <= tolerance))
            fail_msg("%s, %s: %g std off, at most %g", says, text_of(&list[i]), off, tolerance);
        tn_error err = { 0 };
        assert_int_equal(tlm_context_reset(context, &err), TN_OK);
        float *again = run(context, prompt);
        if (memcmp(again, got, floats * sizeof *got) != 0)
            fail_msg("%s, %s: other bits the second time", says, text_of(&list[i]));
        free(again);
        free(got);
        tlm_context_destroy(context);
    }
    free(want);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

static tn_model *open_model(const char *path)
{
    tn_model *model = NULL;
    tn_error err = { 0 };
    if (tn_model_open(path, NULL, &model, &err) != TN_OK)
        fail_msg("%s", err.text);
    return model;
}

static const tlm_context_options exact = { .context_tokens = 40, .kv_type = TN_DTYPE_F32 };

static void the_embedded_model_has_the_logits_of_one_device(void **state)
{
    (void)state;
    tn_model *model = open_model(TEST_MODEL);
    compare("austen", model, &exact, PROMPT, divisions, DIVISIONS, CLOSE);
    tn_model_close(model);
}

// Of each architecture, with all that it has: biases, norms, windows, factors, an output matrix.
// Three key heads never divide evenly (61 of tests/cases.md).
static void every_architecture_has_the_logits_of_one_device(void **state)
{
    (void)state;
    static const random_model models[] = {
        { .architecture = "llama",
          .layers = 2,
          .embedding = 96,
          .heads = 6,
          .kv_heads = 3,
          .head_dim = 32,
          .feed_forward = 160,
          .vocabulary = 203,
          .context = 64,
          .matrices = TN_DTYPE_Q8_0,
          .has_biases = true,
          .has_output = true,
          .has_frequencies = true },
        { .architecture = "llama",
          .layers = 1,
          .embedding = 40,
          .heads = 5,
          .kv_heads = 5,
          .head_dim = 8,
          .feed_forward = 50,
          .vocabulary = 61,
          .context = 64,
          .matrices = TN_DTYPE_F16 },
        { .architecture = "gemma3",
          .layers = 7,
          .embedding = 64,
          .heads = 6,
          .kv_heads = 3,
          .head_dim = 32,
          .feed_forward = 96,
          .vocabulary = 100,
          .context = 64,
          .matrices = TN_DTYPE_Q5_1,
          .window = 6 },
        { .architecture = "gemma3",
          .layers = 2,
          .embedding = 64,
          .heads = 2,
          .kv_heads = 1,
          .head_dim = 64,
          .feed_forward = 96,
          .vocabulary = 100,
          .context = 64,
          .matrices = TN_DTYPE_F32 },
        { .architecture = "qwen2",
          .layers = 2,
          .embedding = 64,
          .heads = 8,
          .kv_heads = 4,
          .head_dim = 16,
          .feed_forward = 224,
          .vocabulary = 300,
          .context = 64,
          .matrices = TN_DTYPE_Q4_1,
          .has_biases = true,
          .has_output = true },
        { .architecture = "qwen3",
          .layers = 2,
          .embedding = 64,
          .heads = 6,
          .kv_heads = 3,
          .head_dim = 64,
          .feed_forward = 128,
          .vocabulary = 90,
          .context = 64,
          .matrices = TN_DTYPE_IQ4_NL },
    };
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        tn_model *model = random_model_open(&models[i]);
        compare(models[i].architecture, model, &exact, PROMPT, divisions, DIVISIONS, CLOSE);
        tn_model_close(model);
    }
}

static void every_block_type_has_the_logits_of_one_device(void **state)
{
    (void)state;
    static const tn_dtype dtypes[] = { TN_DTYPE_Q4_0, TN_DTYPE_Q4_1, TN_DTYPE_Q5_0,   TN_DTYPE_Q5_1,
                                       TN_DTYPE_Q8_0, TN_DTYPE_Q2_K, TN_DTYPE_Q3_K,   TN_DTYPE_Q4_K,
                                       TN_DTYPE_Q5_K, TN_DTYPE_Q6_K, TN_DTYPE_IQ4_NL, TN_DTYPE_F16,
                                       TN_DTYPE_F32 };
    static const division some[] = { { TN_SPLIT_ROW, 3, five_two_one },
                                     { TN_SPLIT_TENSOR, 2, NULL },
                                     { TN_SPLIT_TENSOR, 3, five_two_one } };
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        random_model of = { .architecture = "llama",
                            .layers = 1,
                            .embedding = 256,
                            .heads = 12,
                            .kv_heads = 3,
                            .head_dim = 64,
                            .feed_forward = 1024,
                            .vocabulary = 96,
                            .context = 64,
                            .matrices = dtypes[i] };
        tn_model *model = random_model_open(&of);
        compare(tn_dtype_name(dtypes[i]), model, &exact, PROMPT, some, 3, CLOSE);
        tn_model_close(model);
    }
}

// Of half precision and of blocks, which round what parts make otherwise: tolerances B and C.
static void every_type_of_kv_cache_has_the_logits_of_one_device(void **state)
{
    (void)state;
    static const division some[] = { { TN_SPLIT_ROW, 2, three_one }, { TN_SPLIT_TENSOR, 2, NULL } };
    tn_model *model = open_model(TEST_MODEL);
    for (int is_block = 0; is_block < 2; is_block++) {
        tlm_context_options options = { .context_tokens = 40,
                                        .kv_type = is_block ? TN_DTYPE_Q8_0 : TN_DTYPE_F16 };
        compare(is_block ? "Q8_0" : "F16", model, &options, PROMPT, some, 2, is_block ? 0.5 : 0.02);
    }
    tn_model_close(model);
}

// Rows over uneven devices at a long context, and heads as well. The prompt goes in pieces
// of 32.
static void a_long_context_has_the_logits_of_one_device(void **state)
{
    (void)state;
    static const division some[] = { { TN_SPLIT_ROW, 2, three_one },
                                     { TN_SPLIT_ROW, 2, one_six },
                                     { TN_SPLIT_TENSOR, 2, three_one } };
    tlm_context_options options = { .context_tokens = 256,
                                    .kv_type = TN_DTYPE_F32,
                                    .batch_tokens = 32 };
    tn_model *model = open_model(TEST_MODEL);
    compare("austen, long", model, &options, 250, some, 3, CLOSE);
    tn_model_close(model);
}

// ------------------------------------------------------------------------------------------ memory

static tn_device_memory memory_of(const tlm_context *context, uint32_t device)
{
    tn_device_memory memory = { .size = sizeof memory };
    tn_error err = { 0 };
    assert_int_equal(tn_session_device_memory(tlm_context_session(context), device, &memory, &err),
                     TN_OK);
    return memory;
}

// Together they hold the model once, but for what is small and used everywhere; each holds its
// share, as far as whole units go.
static void each_device_holds_its_share(void **state)
{
    (void)state;
    static const random_model of = {
        .architecture = "llama",
        .layers = 2,
        .embedding = 256,
        .heads = 16,
        .kv_heads = 8,
        .head_dim = 32,
        .feed_forward = 2048,
        .vocabulary = 2048,
        .context = 64,
        .matrices = TN_DTYPE_Q8_0,
        .has_output = true,
    };
    tn_runtime *runtime = rig_simulated(DEVICES, NULL);
    tn_model *model = random_model_open(&of);
    tlm_context *context = create(runtime, model, &whole, &exact);
    double all = (double)memory_of(context, 0).weight_copied_bytes,
           states = (double)memory_of(context, 0).state_bytes;
    tlm_context_destroy(context);
    for (size_t i = 0; i < DIVISIONS; i++) {
        const division *d = &divisions[i];
        double sum = 0, shares = 0, state_sum = 0;
        context = create(runtime, model, d, &exact);
        for (uint32_t p = 0; p < d->count; p++)
            shares += d->shares ? d->shares[p] : 1;
        for (uint32_t p = 0; p < d->count; p++) {
            tn_device_memory memory = memory_of(context, p);
            double share = (d->shares ? d->shares[p] : 1) / shares,
                   held = (double)memory.weight_copied_bytes / all;
            sum += held;
            state_sum += (double)memory.state_bytes;
            assert_int_equal(memory.weight_mapped_bytes, 0);
            if (!(fabs(held - share) <= 0.03))
                fail_msg("%s: %s holds %g of the weights, its share is %g", text_of(d), names[p],
                         held, share);
            if (d->mode == TN_SPLIT_TENSOR &&
                !(fabs((double)memory.state_bytes / states - share) <= 1.0 / 8))
                fail_msg("%s: %s holds %g of the states, its share is %g", text_of(d), names[p],
                         (double)memory.state_bytes / states, share);
        }
        if (!(sum >= 1 && sum <= 1.001) || !(fabs(state_sum - states) < 1))
            fail_msg("%s: together %g of the weights, %g of the states", text_of(d), sum,
                     state_sum / states);
        tlm_context_destroy(context);
    }
    tn_model_close(model);
    tn_runtime_destroy(runtime);
}

// ------------------------------------------------------------------------------------------- words

static void discard(void *context, const char *text, size_t bytes)
{
    (void)context;
    (void)text;
    (void)bytes;
}

static void parts_have_the_names_that_are_told(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_simulated(DEVICES, NULL);
    tn_model *model = open_model(TEST_MODEL);
    tlm_context *context = create(runtime, model, &(division){ TN_SPLIT_TENSOR, 2, NULL }, &exact);
    for (uint32_t p = 0; p <= 2; p++) {
        char name[16];
        tn_error err = { 0 };
        assert_true(tlm_part_name("k.0", p, name, sizeof name));
        assert_int_equal(tn_session_explain_name(tlm_context_session(context), 0, name,
                                                 &(tn_sink){ NULL, discard }, &err),
                         p < 2 ? TN_OK : TN_E_NOT_FOUND);
    }
    tlm_context_destroy(context);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
    char cut[9];
    assert_false(tlm_part_name("k.0", 1, cut, sizeof cut));
    assert_string_equal(cut, "k.0.part");
}

static void shares_that_are_none_are_refused(void **state)
{
    (void)state;
    static const double all_0[] = { 0, 0 }, below_0[] = { 3, -1 }, no_number[] = { 1, NAN },
                        no_end[] = { INFINITY, 1 }, too_many[] = { 1, 1, 1 };
    static const struct {
        const double *shares;
        uint32_t count;
        const char *words;
    } cases[] = { { all_0, 2, "all shares are 0" },
                  { below_0, 2, "share 1 is -1" },
                  { no_number, 2, "share 1 is nan" },
                  { no_end, 2, "share 0 is inf" },
                  { too_many, 3, "3 shares are given" },
                  { NULL, 2, "2 shares are counted" },
                  { all_0, 0, "shares are given, and share_count is 0" } };
    static const char *const on[] = { "a", "b", NULL };
    tn_runtime *runtime = rig_simulated(DEVICES, NULL);
    tn_model *model = open_model(TEST_MODEL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t mode = TN_SPLIT_ROW; mode <= TN_SPLIT_TENSOR; mode++) {
            tn_placement placement = { .size = sizeof placement,
                                       .split_mode = mode,
                                       .share_count = cases[i].count,
                                       .shares = cases[i].shares };
            tlm_context *context = NULL;
            tn_error err = { 0 };
            assert_int_equal(make_on(runtime, model, on, &placement, &exact, &context, &err),
                             TN_E_ARG);
            if (!strstr(err.text, cases[i].words))
                fail_msg("'%s', expected '%s'", err.text, cases[i].words);
        }
    tn_model_close(model);
    tn_runtime_destroy(runtime);
}

static void what_cannot_be_divided_is_told(void **state)
{
    (void)state;
    static const random_model of = { .architecture = "qwen3",
                                     .layers = 2,
                                     .embedding = 64,
                                     .heads = 2,
                                     .kv_heads = 1,
                                     .head_dim = 32,
                                     .feed_forward = 96,
                                     .vocabulary = 70,
                                     .context = 64,
                                     .matrices = TN_DTYPE_Q8_0 };
    tn_runtime *runtime = rig_simulated(DEVICES, NULL);
    tn_model *model = random_model_open(&of);
    for (size_t i = 0; i < DIVISIONS; i++) {
        tlm_context *context = create(runtime, model, &divisions[i], &exact);
        assert_string_equal(tlm_context_warning(context),
                            divisions[i].mode == TN_SPLIT_ROW
                                ? ""
                                : "the one key head of attention cannot be divided; rows of its "
                                  "matrices are divided instead, in 2 of 2 layers");
        tlm_context_destroy(context);
    }
    tn_model_close(model);
    tn_runtime_destroy(runtime);
}

// ----------------------------------------------------------------------------------------- placing

// The embedded model's logits on one device, and what it holds there.
typedef struct one_device {
    tn_runtime *runtime;
    tn_model *model;
    float *logits;
    size_t floats;
    tn_device_memory memory;
} one_device;

static one_device run_alone(const char *devices, const char *const *settings, const char *name)
{
    one_device one = { .runtime = rig_simulated(devices, settings),
                       .model = open_model(TEST_MODEL) };
    const char *on[] = { name, NULL };
    tlm_context *context = create_on(one.runtime, one.model, on, NULL, &exact);
    one.logits = run(context, PROMPT);
    one.floats = (size_t)vocabulary_of(context) * (1 + STEPS);
    one.memory = memory_of(context, 0);
    tlm_context_destroy(context);
    return one;
}

static void expect_close(const one_device *one, tlm_context *context)
{
    float *got = run(context, PROMPT);
    double off = distance(one->logits, got, one->floats);
    if (!(off <= CLOSE))
        fail_msg("%g std off: %s", off, rig_explain(tlm_context_session(context)));
    free(got);
}

static void finish(one_device *one)
{
    free(one->logits);
    tn_model_close(one->model);
    tn_runtime_destroy(one->runtime);
}

// Layers that are not for the devices of the split are whole.
static void layers_for_the_cpu_are_not_divided(void **state)
{
    (void)state;
    static const char *const on[] = { "a", "b", "cpu0", NULL };
    one_device one = run_alone(DEVICES, NULL, "a");
    for (uint32_t layers = 0; layers <= 6; layers++) {
        tn_placement placement = { .size = sizeof placement,
                                   .split_mode = TN_SPLIT_TENSOR,
                                   .layer_rule = TN_LAYERS_COUNT,
                                   .gpu_layers = layers };
        tlm_context *context = create_on(one.runtime, one.model, on, &placement, &exact);
        expect_close(&one, context);
        // the last of them is what comes after the 4 blocks
        uint64_t divided = layers > 5   ? 4
                           : layers > 1 ? layers - 1
                                        : 0,
                 states = one.memory.state_bytes;
        assert_int_equal(memory_of(context, 0).state_bytes, states * divided / 8);
        assert_int_equal(memory_of(context, 1).state_bytes, states * divided / 8);
        assert_int_equal(memory_of(context, 2).state_bytes, states * (4 - divided) / 4);
        tlm_context_destroy(context);
    }
    finish(&one);
}

// Parts of layers that do not fit are on the CPU, all of them.
static void layers_that_do_not_fit_go_to_the_cpu(void **state)
{
    (void)state;
    static const char *const on[] = { "a", "b", "cpu0", NULL };
    for (uint32_t mode = TN_SPLIT_ROW; mode <= TN_SPLIT_TENSOR; mode++) {
        one_device one = run_alone("[{\"name\":\"a\",\"memory_bytes\":1900000},"
                                   "{\"name\":\"b\",\"memory_bytes\":1900000}]",
                                   NULL, "cpu0");
        tn_placement placement = { .size = sizeof placement, .split_mode = mode };
        tlm_context *context = create_on(one.runtime, one.model, on, &placement, &exact);
        assert_non_null(strstr(rig_log(), "layers fit the memory that is free"));
        for (uint32_t p = 0; p < 2; p++)
            assert_in_range(memory_of(context, p).weight_copied_bytes, 400000, 1900000);
        expect_close(&one, context);
        tlm_context_destroy(context);
        finish(&one);
    }
}

// Devices that compute in the host's memory read rows in the file, and keep columns alone.
static void rows_on_cpus_are_read_where_they_lie(void **state)
{
    (void)state;
    static const char *const on[] = { "cpu0", "cpu1", NULL };
    static const char *const settings[] = { "plugin.cpu.devices=2", NULL };
    one_device one = run_alone("[]", settings, "cpu0");
    uint64_t all = one.memory.weight_mapped_bytes;
    for (uint32_t mode = TN_SPLIT_ROW; mode <= TN_SPLIT_TENSOR; mode++) {
        tn_placement placement = { .size = sizeof placement, .split_mode = mode };
        tlm_context *context = create_on(one.runtime, one.model, on, &placement, &exact);
        expect_close(&one, context);
        for (uint32_t p = 0; p < 2; p++) {
            tn_device_memory memory = memory_of(context, p);
            uint64_t held = memory.weight_mapped_bytes + memory.weight_copied_bytes;
            assert_in_range(held, all * 45 / 100, all * 65 / 100);
            assert_in_range(memory.weight_copied_bytes, mode == TN_SPLIT_ROW ? 0 : all / 10,
                            mode == TN_SPLIT_ROW ? 64 : all / 4);
        }
        tlm_context_destroy(context);
    }
    finish(&one);
}

// An override is of the parts of a tensor, too.
static void an_override_places_every_part(void **state)
{
    (void)state;
    static const char *const on[] = { "a", "b", NULL };
    one_device one = run_alone(DEVICES, NULL, "a");
    tlm_override to_b = { "^blk[.]", rig_device(one.runtime, "b") };
    tn_placement placement = { .size = sizeof placement,
                               .split_mode = TN_SPLIT_ROW,
                               .layer_rule = TN_LAYERS_ALL };
    tlm_context_options options = exact;
    options.overrides = &to_b;
    options.override_count = 1;
    tlm_context *context = create_on(one.runtime, one.model, on, &placement, &options);
    expect_close(&one, context);
    uint64_t blocks = 0;
    tn_model_tensor t = { .size = sizeof t };
    for (uint32_t i = 0; tn_model_tensor_at(one.model, i, &t, NULL) == TN_OK; i++)
        blocks += strncmp(t.name, "blk.", 4) == 0 ? t.bytes : 0;
    assert_true(memory_of(context, 1).weight_copied_bytes >= blocks);
    tlm_context_destroy(context);
    finish(&one);
}

// --------------------------------------------------------------------------------------- snapshots

static void a_kv_cache_is_loaded_where_it_is_divided_in_the_same_way(void **state)
{
    (void)state;
    static const division some[] = { { TN_SPLIT_NONE, 1, NULL },
                                     { TN_SPLIT_ROW, 2, NULL },
                                     { TN_SPLIT_TENSOR, 2, NULL },
                                     { TN_SPLIT_ROW, 2, three_one } };
    enum { COUNT = sizeof some / sizeof some[0] };
    char path[] = "/tmp/tenon-split-cache-XXXXXX";
    close(mkstemp(path));
    tn_runtime *runtime = rig_simulated(DEVICES, NULL);
    tn_model *model = open_model(TEST_MODEL);
    for (size_t from = 0; from < COUNT; from++) {
        tlm_context *saved = create(runtime, model, &some[from], &exact);
        free(run(saved, PROMPT));
        tn_error err = { 0 };
        if (tlm_context_save(saved, path, &err) != TN_OK)
            fail_msg("%s", err.text);
        const float *want = NULL, *got = NULL;
        const int32_t id = 5;
        assert_int_equal(tlm_eval(saved, &id, 1, &want, &err), TN_OK);
        for (size_t to = 0; to < COUNT; to++) {
            tlm_context *loaded = create(runtime, model, &some[to], &exact);
            tn_status status = tlm_context_load(loaded, path, &err);
            if (to != from) {
                assert_int_equal(status, TN_E_GRAPH);
                assert_non_null(
                    strstr(err.text, "or of one that is divided over devices otherwise"));
            } else {
                assert_int_equal(status, TN_OK);
                assert_int_equal(tlm_eval(loaded, &id, 1, &got, &err), TN_OK);
                assert_memory_equal(want, got, vocabulary_of(loaded) * sizeof *got);
            }
            tlm_context_destroy(loaded);
        }
        tlm_context_destroy(saved);
    }
    unlink(path);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
}

// ---------------------------------------------------------------------------------------- failures

typedef struct failing_case {
    tn_runtime *runtime;
    tn_model *model;
    const division *division;
} failing_case;

static tn_status eval_with(const tn_allocator *allocator, void *argument)
{
    const failing_case *f = argument;
    tlm_context_options options = { .context_tokens = 4, .allocator = allocator };
    tlm_context *context = NULL;
    const int32_t ids[3] = { 1, 2, 3 };
    const float *logits;
    tn_error err = { 0 };
    tn_status status = make_context(f->runtime, f->model, f->division, &options, &context, &err);
    if (status != TN_OK)
        return status;
    status = tlm_eval(context, ids, 3, &logits, &err);
    tlm_context_destroy(context);
    return status;
}

static void a_divided_model_survives_every_failing_allocation(void **state)
{
    (void)state;
    static const random_model of = { .architecture = "llama",
                                     .layers = 1,
                                     .embedding = 32,
                                     .heads = 2,
                                     .kv_heads = 2,
                                     .head_dim = 16,
                                     .feed_forward = 64,
                                     .vocabulary = 40,
                                     .context = 8,
                                     .matrices = TN_DTYPE_Q8_0 };
    static const division some[] = { { TN_SPLIT_ROW, 2, NULL }, { TN_SPLIT_TENSOR, 2, NULL } };
    failing_case f = { rig_simulated(DEVICES, NULL), random_model_open(&of), NULL };
    for (size_t i = 0; i < 2; i++) {
        f.division = &some[i];
        for_each_failing_allocation(eval_with, &f);
    }
    tn_model_close(f.model);
    tn_runtime_destroy(f.runtime);
}

// ------------------------------------------------------------------------------------------- slow

static const char *model_path;

static void a_whole_model_has_the_logits_of_one_device(void **state)
{
    (void)state;
    tn_model *model = open_model(model_path);
    compare(model_path, model, &exact, PROMPT, divisions, DIVISIONS, 2e-4);
    tn_model_close(model);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_embedded_model_has_the_logits_of_one_device),
        cmocka_unit_test(every_architecture_has_the_logits_of_one_device),
        cmocka_unit_test(every_block_type_has_the_logits_of_one_device),
        cmocka_unit_test(every_type_of_kv_cache_has_the_logits_of_one_device),
        cmocka_unit_test(a_long_context_has_the_logits_of_one_device),
        cmocka_unit_test(each_device_holds_its_share),
        cmocka_unit_test(parts_have_the_names_that_are_told),
        cmocka_unit_test(shares_that_are_none_are_refused),
        cmocka_unit_test(what_cannot_be_divided_is_told),
        cmocka_unit_test(layers_for_the_cpu_are_not_divided),
        cmocka_unit_test(layers_that_do_not_fit_go_to_the_cpu),
        cmocka_unit_test(rows_on_cpus_are_read_where_they_lie),
        cmocka_unit_test(an_override_places_every_part),
        cmocka_unit_test(a_kv_cache_is_loaded_where_it_is_divided_in_the_same_way),
        cmocka_unit_test(a_divided_model_survives_every_failing_allocation),
    };
    const struct CMUnitTest slow[] = {
        cmocka_unit_test(a_whole_model_has_the_logits_of_one_device),
    };
    if (argc < 2)
        return cmocka_run_group_tests(tests, NULL, NULL);
    model_path = argv[1];
    if (access(model_path, R_OK) != 0) {
        printf("skipped: %s is not here; tests/fetch-models brings it\n", model_path);
        return 77;
    }
    return cmocka_run_group_tests(slow, NULL, NULL);
}
