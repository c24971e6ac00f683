// A context from outside: what is refused and how, positions, types of the KV cache, memory.
//   lm_context MODEL
// Plugins are found by TENON_PLUGIN_PATH.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/lm.h>

#include "failing_alloc.h"

static const char *model_path;
static tn_runtime *runtime;
static tn_model *model;
static uint32_t vocabulary, model_context_tokens;

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static tlm_context *create(const tlm_context_options *options)
{
    tlm_context *context = NULL;
    tn_error err = { 0 };
    need(tlm_context_create(runtime, model, options, &context, &err), &err);
    return context;
}

static int open_all(void **state)
{
    (void)state;
    tn_error err = { 0 };
    need(
        tn_runtime_create(&(tn_runtime_options){ .size = sizeof(tn_runtime_options), .threads = 2 },
                          &runtime, &err),
        &err);
    need(tn_model_open(model_path, NULL, &model, &err), &err);
    tlm_context *context = create(NULL);
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(context, &info);
    vocabulary = info.vocabulary;
    model_context_tokens = info.model_context_tokens;
    tlm_context_destroy(context);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    tn_model_close(model);
    tn_runtime_destroy(runtime);
    return 0;
}

static void options_that_do_not_fit_are_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        uint32_t flags, context_tokens;
        tn_dtype kv_type;
        const char *must_say;
    } cases[] = {
        { "a context larger than the model's", 0, 100000000, 0, "100000000 tokens asked" },
        { "a KV cache of integers", 0, 0, TN_DTYPE_I32, "cannot be I32" },
        { "a KV cache of no type", 0, 0, 12345, "KV cache" },
        { "unknown flags", 1u << 30, 0, 0, "flags" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tlm_context_options options = {
            .size = sizeof options,
            .flags = cases[i].flags,
            .context_tokens = cases[i].context_tokens,
            .kv_type = cases[i].kv_type,
        };
        tlm_context *context = (tlm_context *)&options;
        tn_error err = { 0 };
        assert_int_equal(tlm_context_create(runtime, model, &options, &context, &err), TN_E_ARG);
        assert_null(context);
        if (!strstr(err.text, cases[i].must_say))
            fail_msg("%s: \"%s\"", cases[i].says, err.text);
    }
}

static void ids_that_do_not_fit_are_refused_and_change_nothing(void **state)
{
    (void)state;
    tlm_context *context = create(
        &(tlm_context_options){ .size = sizeof(tlm_context_options), .context_tokens = 8 });
    int32_t ids[9] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };
    const float *logits;
    tn_error err = { 0 };
    assert_int_equal(tlm_eval(context, ids, 0, &logits, &err), TN_E_ARG);
    assert_int_equal(tlm_eval(context, ids, 9, &logits, &err), TN_E_DATA);
    assert_non_null(
        strstr(err.text, "9 tokens do not fit after the 0 there are: the context has room for 8"));
    assert_null(logits);
    need(tlm_eval(context, ids, 3, &logits, &err), &err);
    assert_int_equal(tlm_eval(context, ids, 6, &logits, &err), TN_E_DATA);
    int32_t absurd[] = { 1, -1 };
    assert_int_equal(tlm_eval(context, absurd, 2, &logits, &err), TN_E_DATA);
    assert_non_null(strstr(err.text, "id 1 of 2 is -1"));
    absurd[1] = (int32_t)vocabulary;
    assert_int_equal(tlm_eval(context, absurd, 2, &logits, &err), TN_E_DATA);
    assert_int_equal(tlm_context_position(context), 3);
    need(tlm_eval(context, ids + 3, 5, &logits, &err), &err);
    assert_int_equal(tlm_context_position(context), 8);
    assert_int_equal(tlm_context_rewind(context, 9, &err), TN_E_ARG);
    tlm_context_destroy(context);
}

static float *copy_of(const float *logits)
{
    float *copy = malloc(vocabulary * sizeof *copy);
    assert_non_null(copy);
    memcpy(copy, logits, vocabulary * sizeof *copy);
    return copy;
}

static void fill(int32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ids[i] = (int32_t)(i * 7919 % vocabulary);
}

static void reset_and_rewind_give_the_same_logits_again(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    int32_t ids[COUNT];
    fill(ids, COUNT);
    tlm_context *context = create(NULL);
    const float *logits;
    tn_error err = { 0 };
    need(tlm_eval(context, ids, COUNT, &logits, &err), &err);
    float *first = copy_of(logits);

    need(tlm_context_reset(context, &err), &err);
    assert_int_equal(tlm_context_position(context), 0);
    need(tlm_eval(context, ids, COUNT, &logits, &err), &err);
    assert_memory_equal(logits, first, vocabulary * sizeof *first);

    need(tlm_context_rewind(context, COUNT - 5, &err), &err);
    need(tlm_eval(context, ids, 3, &logits, &err), &err);   // other ids, which are then forgotten
    need(tlm_context_rewind(context, COUNT - 5, &err), &err);
    need(tlm_eval(context, ids + COUNT - 5, 5, &logits, &err), &err);
    for (uint32_t i = 0; i < vocabulary; i++)
        assert_true(fabsf(logits[i] - first[i]) < 1e-2f);
    free(first);
    tlm_context_destroy(context);
}

static void every_context_size_is_filled_to_its_end(void **state)
{
    (void)state;
    const uint32_t sizes[] = { 1, 2, 31, 32, 33, 100, model_context_tokens };
    int32_t *ids = calloc(model_context_tokens, sizeof *ids);
    assert_non_null(ids);
    fill(ids, model_context_tokens);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        tlm_context *context = create(&(tlm_context_options){ .size = sizeof(tlm_context_options),
                                                              .context_tokens = sizes[i] });
        const float *logits;
        tn_error err = { 0 };
        need(tlm_eval(context, ids, sizes[i], &logits, &err), &err);
        assert_int_equal(tlm_eval(context, ids, 1, &logits, &err), TN_E_DATA);
        tlm_context_destroy(context);
    }
    free(ids);
}

static void all_logits_hold_those_after_each_id(void **state)
{
    (void)state;
    enum { COUNT = 37 };
    int32_t ids[COUNT];
    fill(ids, COUNT);
    tlm_context *all = create(
        &(tlm_context_options){ .size = sizeof(tlm_context_options), .flags = TLM_ALL_LOGITS });
    tlm_context *last = create(NULL);
    const float *all_logits, *logits;
    tn_error err = { 0 };
    need(tlm_eval(all, ids, COUNT, &all_logits, &err), &err);
    for (uint32_t t = 0; t < COUNT; t++) {
        need(tlm_eval(last, ids + t, 1, &logits, &err), &err);
        for (uint32_t i = 0; i < vocabulary; i++)
            assert_true(fabsf(logits[i] - all_logits[(size_t)t * vocabulary + i]) < 0.05f);
    }
    tlm_context_destroy(all);
    tlm_context_destroy(last);
}

static void every_type_of_kv_cache_works(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    static const tn_dtype types[] = { TN_DTYPE_F32, TN_DTYPE_F16, TN_DTYPE_Q8_0 };
    int32_t ids[COUNT];
    fill(ids, COUNT);
    float *first = NULL;
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        tlm_context *context = create(
            &(tlm_context_options){ .size = sizeof(tlm_context_options), .kv_type = types[k] });
        const float *logits;
        tn_error err = { 0 };
        need(tlm_eval(context, ids, COUNT, &logits, &err), &err);
        for (uint32_t i = 0; i < vocabulary && first; i++)
            if (!(fabsf(logits[i] - first[i]) < 1))
                fail_msg("KV cache of %s: logit %u is %g, in F32 %g", tn_dtype_name(types[k]), i,
                         (double)logits[i], (double)first[i]);
        if (!first)
            first = copy_of(logits);
        tlm_context_destroy(context);
    }
    free(first);
}

static void a_decoded_token_allocates_nothing(void **state)
{
    (void)state;
    failing_alloc counter;
    failing_alloc_init(&counter, 0);
    tlm_context *context = create(&(tlm_context_options){ .size = sizeof(tlm_context_options),
                                                          .allocator = &counter.allocator });
    int32_t id = 1;
    const float *logits;
    tn_error err = { 0 };
    need(tlm_eval(context, &id, 1, &logits, &err), &err);
    uint64_t before = counter.calls;
    for (int i = 0; i < 20; i++)
        need(tlm_eval(context, &id, 1, &logits, &err), &err);
    assert_int_equal(counter.calls, before);
    tlm_context_destroy(context);
    assert_int_equal(counter.alive, 0);
}

static tn_status eval_with(const tn_allocator *allocator, void *unused)
{
    (void)unused;
    tlm_context_options options = { .size = sizeof options,
                                    .context_tokens = 40,
                                    .allocator = allocator };
    int32_t ids[40] = { 1, 2, 3 };
    const float *logits;
    tlm_context *context;
    tn_error err = { 0 };
    tn_status status = tlm_context_create(runtime, model, &options, &context, &err);
    if (status != TN_OK)
        return status;
    status = tlm_eval(context, ids, 40, &logits, &err);
    tlm_context_destroy(context);
    return status;
}

static void a_context_survives_every_failing_allocation(void **state)
{
    (void)state;
    for_each_failing_allocation(eval_with, NULL);
}

static void memory_and_plan_can_be_asked_for(void **state)
{
    (void)state;
    tlm_context *context = create(NULL);
    tn_memory_report report = { .size = sizeof report };
    tlm_context_memory(context, &report);
    assert_true(report.state_bytes > 0 && report.arena_bytes >= report.arena_bound_bytes);
    assert_non_null(tlm_context_session(context));
    uint32_t graphs = tn_session_graph_count(tlm_context_session(context));
    assert_int_equal(tlm_context_batch(context, 0), 1);
    for (uint32_t g = 1; g < graphs; g++)
        assert_true(tlm_context_batch(context, g) > tlm_context_batch(context, g - 1));
    assert_int_equal(tlm_context_batch(context, graphs), 0);
    tlm_context_destroy(context);
}

static tlm_work work_of(const tlm_context *context, uint32_t position, uint32_t count)
{
    tlm_work work = { .size = sizeof work };
    tlm_context_work(context, position, count, &work);
    return work;
}

// The model's output matrix is its embedding, which is read as a whole, and a row for each id.
static void work_is_counted_by_shapes(void **state)
{
    (void)state;
    tlm_context *context = create(NULL);
    tlm_context_info info = { .size = sizeof info };
    tn_model_info model_info = { .size = sizeof model_info };
    tn_model_tensor key = { .size = sizeof key };
    uint64_t weights = 0, embedding_row = 0;
    double products = 0;
    tlm_context_describe(context, &info);
    tn_model_describe(model, &model_info);
    for (uint32_t i = 0; i < model_info.tensor_count; i++) {
        tn_model_tensor tensor = { .size = sizeof tensor };
        assert_int_equal(tn_model_tensor_at(model, i, &tensor, NULL), TN_OK);
        weights += tensor.bytes;
        products += tensor.rank < 2 ? 0 : (double)tensor.dims[0] * (double)tensor.dims[1];
        if (strcmp(tensor.name, "token_embd.weight") == 0)
            embedding_row = tensor.bytes / (uint64_t)tensor.dims[1];
    }
    assert_int_equal(tn_model_find_tensor(model, "blk.0.attn_k.weight", &key, NULL), TN_OK);
    uint64_t cache_row = 2 * tn_dtype_bytes(TN_DTYPE_F16, key.dims[1]) * info.layers;

    tlm_work first = work_of(context, 0, 1), tenth = work_of(context, 9, 1);
    assert_int_equal(first.bytes_read, weights + embedding_row + cache_row);
    assert_int_equal(tenth.bytes_read, first.bytes_read + 9 * cache_row);
    assert_true(first.operations > 2 * products);
    assert_true(tenth.operations - first.operations < products);
    // The ids of a prompt share the weights; there is one row of logits.
    tlm_work prompt = work_of(context, 0, 10);
    assert_int_equal(prompt.bytes_read, weights + 10 * embedding_row + 10 * cache_row);
    assert_true(prompt.operations < 10 * tenth.operations);
    // Not beyond the context.
    assert_int_equal(work_of(context, info.context_tokens, 5).bytes_read, 0);
    assert_true(work_of(context, 0, info.context_tokens).operations ==
                work_of(context, 0, UINT32_MAX).operations);
    tlm_context_destroy(context);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("use: lm_context MODEL\n", stderr);
        return 2;
    }
    model_path = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_that_do_not_fit_are_refused_in_words),
        cmocka_unit_test(ids_that_do_not_fit_are_refused_and_change_nothing),
        cmocka_unit_test(reset_and_rewind_give_the_same_logits_again),
        cmocka_unit_test(every_context_size_is_filled_to_its_end),
        cmocka_unit_test(all_logits_hold_those_after_each_id),
        cmocka_unit_test(every_type_of_kv_cache_works),
        cmocka_unit_test(a_decoded_token_allocates_nothing),
        cmocka_unit_test(a_context_survives_every_failing_allocation),
        cmocka_unit_test(memory_and_plan_can_be_asked_for),
        cmocka_unit_test(work_is_counted_by_shapes),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
