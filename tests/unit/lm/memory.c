// Running out of memory at any allocation is a status, and nothing is lost; the loop's calls
// allocate nothing.
#include "lm_test.h"

#include <string.h>

#include "failing_alloc.h"

static tn_status tokenize_with(const tn_allocator *allocator, void *context)
{
    tlm_tokenizer_options options = { .size = sizeof options, .allocator = allocator };
    tlm_tokenizer *tokenizer;
    tlm_stream *stream = NULL;
    tn_error err = { 0 };
    tn_status status = tlm_tokenizer_create(context, &options, &tokenizer, &err);
    if (status != TN_OK)
        return status;
    static const char text[] = "abc ab<|im_end|>\xE2\x82 abcabcabcabcabcabcabcabc";
    int32_t *ids;
    uint32_t count;
    status = tlm_tokenize(tokenizer, text, sizeof text - 1, 0, &ids, &count, &err);
    if (status == TN_OK) {
        tlm_ids_free(tokenizer, ids);
        status = tlm_stream_create(tokenizer, 0, &stream, &err);
        tlm_stream_destroy(stream);
    }
    tlm_tokenizer_destroy(tokenizer);
    return status;
}

static void a_tokenizer_survives_every_failing_allocation(void **state)
{
    (void)state;
    tn_model *model = test_tiny_model();
    for_each_failing_allocation(tokenize_with, model);
    tn_model_close(model);
}

static tn_status sample_with(const tn_allocator *allocator, void *context)
{
    (void)context;
    static const tlm_logit_bias bias = { 2, 1 };
    tlm_sampler_options options;
    tlm_sampler_defaults(&options);
    options.presence_penalty = 1;
    options.biases = &bias;
    options.bias_count = 1;
    tlm_sampler *sampler;
    tn_error err = { 0 };
    tn_status status = tlm_sampler_create(4, &options, allocator, &sampler, &err);
    if (status == TN_OK)
        tlm_sampler_destroy(sampler);
    return status;
}

static void a_sampler_survives_every_failing_allocation(void **state)
{
    (void)state;
    for_each_failing_allocation(sample_with, NULL);
}

static void sampling_and_streaming_allocate_nothing(void **state)
{
    (void)state;
    failing_alloc counter;
    failing_alloc_init(&counter, 0);
    tn_model *model = test_tiny_model();
    tlm_tokenizer_options options = { .size = sizeof options, .allocator = &counter.allocator };
    tlm_tokenizer *tokenizer;
    tlm_stream *stream;
    tlm_sampler *sampler;
    tn_error err = { 0 };
    tlm_sampler_options how;
    tlm_sampler_defaults(&how);
    how.repetition_penalty = 1.1f;
    how.frequency_penalty = 0.1f;
    assert_int_equal(tlm_tokenizer_create(model, &options, &tokenizer, &err), TN_OK);
    assert_int_equal(tlm_stream_create(tokenizer, 0, &stream, &err), TN_OK);
    assert_int_equal(tlm_sampler_create(TEST_TOKENS, &how, &counter.allocator, &sampler, &err),
                     TN_OK);

    uint64_t before = counter.calls;
    float logits[TEST_TOKENS] = { 0 };
    for (int i = 0; i < 1000; i++) {
        int32_t id;
        size_t bytes;
        assert_int_equal(tlm_sample(sampler, logits, TEST_TOKENS, &id, &err), TN_OK);
        tlm_stream_push(stream, id, &bytes);
        assert_int_equal(tlm_sampler_accept(sampler, &id, 1, &err), TN_OK);
    }
    assert_int_equal(counter.calls, before);
    tlm_sampler_destroy(sampler);
    tlm_stream_destroy(stream);
    tlm_tokenizer_destroy(tokenizer);
    assert_int_equal(counter.alive, 0);
    tn_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tokenizer_survives_every_failing_allocation),
        cmocka_unit_test(a_sampler_survives_every_failing_allocation),
        cmocka_unit_test(sampling_and_streaming_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
