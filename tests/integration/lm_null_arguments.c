// NULL for each pointer of each public call of libtenon_lm: TN_E_ARG that names it, or nothing.
//   lm_null_arguments MODEL
// Plugins are found by TENON_PLUGIN_PATH or beside libtenon.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <tenon/lm.h>

#include "refused.h"

static const char *model_path;
static tn_runtime *runtime;
static tn_model *model;
static tlm_tokenizer *tokenizer;
static tlm_stream *stream;
static tlm_sampler *sampler;
static tlm_context *context;
static tn_error err;

static void need(tn_status status)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err.text);
}

static int make_all(void **state)
{
    (void)state;
    need(tn_runtime_create(NULL, &runtime, &err));
    need(tn_model_open(model_path, NULL, &model, &err));
    need(tlm_tokenizer_create(model, NULL, &tokenizer, &err));
    need(tlm_stream_create(tokenizer, 0, &stream, &err));
    need(tlm_sampler_create(4, NULL, NULL, &sampler, &err));
    need(tlm_context_create(runtime, model, NULL, &context, &err));
    return 0;
}

static int drop_all(void **state)
{
    (void)state;
    tlm_context_destroy(context);
    tlm_sampler_destroy(sampler);
    tlm_stream_destroy(stream);
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
    return 0;
}

static void write_nothing(void *unused, const char *text, size_t bytes)
{
    (void)unused;
    (void)text;
    (void)bytes;
}

static void a_call_with_a_status_names_what_is_null(void **state)
{
    (void)state;
    const tn_sink sink = { NULL, write_nothing };
    const float logits[4] = { 0 };
    const int32_t ids[] = { 1, 2 };
    const float *out_logits;
    int32_t *out_ids, id;
    uint32_t count;
    tlm_tokenizer *new_tokenizer;
    tlm_stream *new_stream;
    tlm_context *new_context;

    REFUSED("model", tlm_tokenizer_create, NULL, NULL, &new_tokenizer);
    REFUSED("out_tokenizer", tlm_tokenizer_create, model, NULL, NULL);
    REFUSED("tokenizer", tlm_tokenize, NULL, "a", 1, 0, &out_ids, &count);
    REFUSED("text", tlm_tokenize, tokenizer, NULL, 5, 0, &out_ids, &count);
    REFUSED("out_ids", tlm_tokenize, tokenizer, "a", 1, 0, NULL, &count);
    REFUSED("out_count", tlm_tokenize, tokenizer, "a", 1, 0, &out_ids, NULL);
    REFUSED("model", tlm_model_check, NULL, &sink, &count);
    REFUSED("problems", tlm_model_check, model, NULL, &count);
    REFUSED("out_count", tlm_model_check, model, &sink, NULL);
    REFUSED("problems->write", tlm_model_check, model, &(tn_sink){ 0 }, &count);
    REFUSED("tokenizer", tlm_stream_create, NULL, 0, &new_stream);
    REFUSED("out_stream", tlm_stream_create, tokenizer, 0, NULL);
    REFUSED("out_sampler", tlm_sampler_create, 4, NULL, NULL, NULL);
    REFUSED("sampler", tlm_sample, NULL, logits, 4, &id);
    REFUSED("logits", tlm_sample, sampler, NULL, 4, &id);
    REFUSED("out_id", tlm_sample, sampler, logits, 4, NULL);
    REFUSED("sampler", tlm_sampler_accept, NULL, ids, 2);
    REFUSED("ids", tlm_sampler_accept, sampler, NULL, 2);
    REFUSED("runtime", tlm_context_create, NULL, model, NULL, &new_context);
    REFUSED("model", tlm_context_create, runtime, NULL, NULL, &new_context);
    REFUSED("out_context", tlm_context_create, runtime, model, NULL, NULL);
    REFUSED("context", tlm_eval, NULL, ids, 2, &out_logits);
    REFUSED("ids", tlm_eval, context, NULL, 2, &out_logits);
    REFUSED("out_logits", tlm_eval, context, ids, 2, NULL);
    REFUSED("context", tlm_context_rewind, NULL, 0);
    check_refused("tlm_context_reset", "context", tlm_context_reset(NULL, &err), &err);
    REFUSED("context", tlm_context_save, NULL, "/dev/null");
    REFUSED("path", tlm_context_save, context, NULL);
    REFUSED("context", tlm_context_load, NULL, "/dev/null");
    REFUSED("path", tlm_context_load, context, NULL);

    assert_int_equal(tlm_eval(context, NULL, 2, NULL, NULL), TN_E_ARG);   // err may be NULL
    need(tlm_sampler_accept(sampler, NULL, 0, &err));   // an array of which nothing counts
    need(tlm_tokenize(tokenizer, NULL, 0, 0, &out_ids, &count, &err));
    tlm_ids_free(tokenizer, out_ids);
}

static void *give_nothing(void *unused, size_t bytes, size_t alignment_bytes)
{
    (void)unused;
    (void)bytes;
    (void)alignment_bytes;
    return NULL;
}

static void take_nothing(void *unused, void *pointer)
{
    (void)unused;
    (void)pointer;
}

static void an_allocator_that_lacks_a_call_is_refused(void **state)
{
    (void)state;
    static const tn_allocator lacking[] = { { NULL, NULL, take_nothing },
                                            { NULL, give_nothing, NULL } };
    static const char *const names[] = { "allocator->alloc", "allocator->free" };
    for (int i = 0; i < 2; i++) {
        tlm_tokenizer_options for_tokenizer = { .size = sizeof for_tokenizer,
                                                .allocator = &lacking[i] };
        tlm_context_options for_context = { .size = sizeof for_context, .allocator = &lacking[i] };
        tlm_tokenizer *new_tokenizer;
        tlm_sampler *new_sampler;
        tlm_context *new_context;
        REFUSED(names[i], tlm_tokenizer_create, model, &for_tokenizer, &new_tokenizer);
        assert_null(new_tokenizer);
        REFUSED(names[i], tlm_sampler_create, 4, NULL, &lacking[i], &new_sampler);
        assert_null(new_sampler);
        REFUSED(names[i], tlm_context_create, runtime, model, &for_context, &new_context);
        assert_null(new_context);
    }
}

// One that ends within the struct cuts what it points to, or lacks what every header had.
#define SIZE_REFUSED(bytes, ...)                                                                   \
    do {                                                                                           \
        err = (tn_error){ 0 };                                                                     \
        snprintf(words, sizeof words, "is %u, sizeof is expected", bytes);                         \
        if ((__VA_ARGS__) != TN_E_ARG || !strstr(err.text, words))                                 \
            fail_msg("\"%s\" does not say \"%s\"", err.text, words);                               \
    } while (0)

static void options_of_any_other_size_are_refused(void **state)
{
    (void)state;
    char words[80];
    tlm_tokenizer *new_tokenizer;
    tlm_sampler *new_sampler;
    tlm_context *new_context;
    tn_placement placement = { 0 };
    const tlm_context_options placed = { .size = sizeof placed, .placement = &placement };
    for (uint32_t bytes = 0; bytes < sizeof(tlm_context_options); bytes++) {
        const tlm_tokenizer_options for_tokenizer = { .size = bytes };
        const tlm_sampler_options for_sampler = { .size = bytes };
        const tlm_context_options for_context = { .size = bytes };
        placement.size = bytes;
        SIZE_REFUSED(bytes, tlm_context_create(runtime, model, &for_context, &new_context, &err));
        if (bytes < sizeof placement)
            SIZE_REFUSED(bytes, tlm_context_create(runtime, model, &placed, &new_context, &err));
        if (bytes < sizeof for_tokenizer)
            SIZE_REFUSED(bytes, tlm_tokenizer_create(model, &for_tokenizer, &new_tokenizer, &err));
        if (bytes < offsetof(tlm_sampler_options, repetition_penalty) || bytes % 8)
            SIZE_REFUSED(bytes, tlm_sampler_create(4, &for_sampler, NULL, &new_sampler, &err));
    }
}

static void need_zero(tn_status status, const char *words)
{
    assert_int_equal(status, TN_E_ARG);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void what_is_reserved_is_0(void **state)
{
    (void)state;
    tlm_tokenizer *new_tokenizer;
    tlm_sampler *new_sampler;
    tlm_context *new_context;
    for (int field = 0; field < 3; field++) {
        char words[80];
        static const char *const names[] = { "reserved", "reserved_2", "reserved_3" };
        const tlm_context_options how = { .size = sizeof how,
                                          .reserved = field == 0,
                                          .reserved_2 = field == 1,
                                          .reserved_3 = field == 2 };
        snprintf(words, sizeof words, "context: %s is 1, 0 is expected", names[field]);
        need_zero(tlm_context_create(runtime, model, &how, &new_context, &err), words);
        assert_null(new_context);
    }
    for (int field = 0; field < 2; field++) {
        tlm_sampler_options how;
        tlm_sampler_defaults(&how);
        *(field ? &how.reserved_2 : &how.reserved) = 7;
        need_zero(tlm_sampler_create(4, &how, NULL, &new_sampler, &err),
                  field ? "sampler: reserved_2 is 7" : "sampler: reserved is 7");
    }
    const tlm_tokenizer_options how = { .size = sizeof how, .reserved = 1 };
    need_zero(tlm_tokenizer_create(model, &how, &new_tokenizer, &err), "tokenizer: reserved is 1");
}

static void every_other_call_does_nothing(void **state)
{
    (void)state;
    tlm_context_info info = { .size = sizeof info };
    tn_memory_report report = { .size = sizeof report };
    size_t bytes = 1;
    uint32_t count = 1;
    int32_t id = 0;

    tlm_tokenizer_destroy(NULL);
    assert_string_equal(tlm_tokenizer_warning(NULL), "");
    tlm_ids_free(NULL, &id);
    tlm_ids_free(tokenizer, NULL);
    assert_int_equal(tlm_token_count(NULL), 0);
    assert_string_equal(tlm_token_text(NULL, 1, &bytes), "");
    assert_int_equal(bytes, 0);
    assert_non_null(tlm_token_text(tokenizer, 1, NULL));
    assert_int_equal(tlm_token_type(NULL, 1), 0);
    assert_int_equal(tlm_bos_id(NULL), TLM_NO_TOKEN);
    assert_int_equal(tlm_eos_id(NULL), TLM_NO_TOKEN);
    assert_false(tlm_adds_bos(NULL));
    assert_null(tlm_stop_ids(NULL, &count));
    assert_int_equal(count, 0);
    assert_non_null(tlm_stop_ids(tokenizer, NULL));
    assert_false(tlm_is_stop(NULL, 1));

    tlm_stream_destroy(NULL);
    bytes = 1;
    assert_string_equal(tlm_stream_push(NULL, 1, &bytes), "");
    assert_int_equal(bytes, 0);
    assert_non_null(tlm_stream_push(stream, 1, NULL));
    bytes = 1;
    assert_string_equal(tlm_stream_finish(NULL, &bytes), "");
    assert_int_equal(bytes, 0);
    assert_non_null(tlm_stream_finish(stream, NULL));

    tlm_sampler_defaults(NULL);
    tlm_sampler_destroy(NULL);
    tlm_context_destroy(NULL);
    assert_int_equal(tlm_context_position(NULL), 0);
    assert_null(tlm_context_ids(NULL));
    assert_null(tlm_context_session(NULL));
    assert_int_equal(tlm_context_batch(NULL, 0), 0);
    char name[16] = "";
    assert_false(tlm_part_name(NULL, 0, name, sizeof name));
    assert_false(tlm_part_name("k.0", 0, NULL, sizeof name));
    tlm_context_describe(NULL, &info);
    tlm_context_describe(context, NULL);
    tlm_context_memory(NULL, &report);
    tlm_context_memory(context, NULL);
    tlm_work work = { .size = sizeof work, .bytes_read = 7 };
    tlm_context_work(NULL, 0, 1, &work);
    assert_int_equal(work.bytes_read, 7);
    tlm_context_work(context, 0, 1, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("use: lm_null_arguments MODEL\n", stderr);
        return 2;
    }
    model_path = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_with_a_status_names_what_is_null),
        cmocka_unit_test(an_allocator_that_lacks_a_call_is_refused),
        cmocka_unit_test(options_of_any_other_size_are_refused),
        cmocka_unit_test(what_is_reserved_is_0),
        cmocka_unit_test(every_other_call_does_nothing),
    };
    return cmocka_run_group_tests(tests, make_all, drop_all);
}
