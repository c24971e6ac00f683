// Metadata of a tokenizer that is missing, wrong or contradicts itself.
#include "lm_test.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "failing_alloc.h"
#include "tokenizer.h"
#include "vocabulary.h"

typedef struct broken_case {
    const char *says;
    const char *without;            // the key left out
    void (*add)(gguf_builder *b);   // what stands there instead
    tn_status status;
    const char *must_say;
} broken_case;

static void add_nothing(gguf_builder *b)
{
    (void)b;
}

static void add_other_model(gguf_builder *b)
{
    gguf_builder_key_string(b, "tokenizer.ggml.model", "rwkv");
}

static void add_tokens_as_numbers(gguf_builder *b)
{
    gguf_builder_array(b, "tokenizer.ggml.tokens", TN_KEY_U32, 1);
    gguf_builder_u32(b, 1);
}

static void add_no_tokens(gguf_builder *b)
{
    gguf_builder_array(b, "tokenizer.ggml.tokens", TN_KEY_STRING, 0);
}

static void add_few_types(gguf_builder *b)
{
    gguf_builder_array(b, "tokenizer.ggml.token_type", TN_KEY_I32, 1);
    gguf_builder_u32(b, 1);
}

static void add_types_of(gguf_builder *b, uint32_t element_type, uint32_t value)
{
    gguf_builder_array(b, "tokenizer.ggml.token_type", element_type, TEST_TOKENS);
    for (uint32_t id = 0; id < TEST_TOKENS; id++)
        gguf_builder_u32(b, value);
}

static void add_float_types(gguf_builder *b)
{
    add_types_of(b, TN_KEY_F32, 0x3F800000);
}

static void add_absurd_types(gguf_builder *b)
{
    add_types_of(b, TN_KEY_I32, 7);
}

static void add_merge(gguf_builder *b, const char *text)
{
    gguf_builder_array(b, "tokenizer.ggml.merges", TN_KEY_STRING, 1);
    gguf_builder_string(b, text);
}

static void add_merge_of_no_token(gguf_builder *b)
{
    add_merge(b, "abcabc a");
}

static void add_merge_to_no_token(gguf_builder *b)
{
    add_merge(b, "b a");
}

static void add_merge_of_one_text(gguf_builder *b)
{
    add_merge(b, "ab");
}

static void add_merges_as_numbers(gguf_builder *b)
{
    gguf_builder_array(b, "tokenizer.ggml.merges", TN_KEY_F32, 1);
    gguf_builder_f32(b, 1);
}

static void add_eos_past_the_end(gguf_builder *b)
{
    gguf_builder_key_u32(b, "tokenizer.ggml.eos_token_id", TEST_TOKENS);
}

static void add_eos_as_text(gguf_builder *b)
{
    gguf_builder_key_string(b, "tokenizer.ggml.eos_token_id", "<|turn|>");
}

static void add_bos_without_id(gguf_builder *b)
{
    gguf_builder_key(b, "tokenizer.ggml.add_bos_token", TN_KEY_BOOL);
    gguf_builder_u8(b, 1);
}

static const broken_case cases[] = {
    { "no model", "tokenizer.ggml.model", add_nothing, TN_E_FILE, "no key tokenizer.ggml.model" },
    { "a model that is not known", "tokenizer.ggml.model", add_other_model, TN_E_FILE,
      "'rwkv', which is not known (known: gpt2, llama)" },
    { "no tokens", "tokenizer.ggml.tokens", add_nothing, TN_E_FILE,
      "no key tokenizer.ggml.tokens" },
    { "an empty list of tokens", "tokenizer.ggml.tokens", add_no_tokens, TN_E_FILE,
      "tokenizer.ggml.tokens has 0" },
    { "tokens that are numbers", "tokenizer.ggml.tokens", add_tokens_as_numbers, TN_E_FILE,
      "no array of strings" },
    { "fewer types than tokens", "tokenizer.ggml.token_type", add_few_types, TN_E_FILE,
      "token_type has 1 entries, expected 263" },
    { "types as floats", "tokenizer.ggml.token_type", add_float_types, TN_E_FILE, "token_type" },
    { "types that do not exist", "tokenizer.ggml.token_type", add_absurd_types, TN_E_FILE,
      "token 0 has type 7" },
    { "no merges", "tokenizer.ggml.merges", add_nothing, TN_E_FILE,
      "no key tokenizer.ggml.merges" },
    { "merges as numbers", "tokenizer.ggml.merges", add_merges_as_numbers, TN_E_FILE,
      "no array of strings" },
    { "a merge of a text that is no token", "tokenizer.ggml.merges", add_merge_of_no_token,
      TN_E_FILE, "merge 0 'abcabc a'" },
    { "a merge that makes no token", "tokenizer.ggml.merges", add_merge_to_no_token, TN_E_FILE,
      "makes a text that is no token" },
    { "a merge of one text", "tokenizer.ggml.merges", add_merge_of_one_text, TN_E_FILE,
      "merge 0 'ab'" },
    { "an end token past the end", "tokenizer.ggml.eos_token_id", add_eos_past_the_end, TN_E_FILE,
      "eos_token_id is 263" },
    { "an end token that is text", "tokenizer.ggml.eos_token_id", add_eos_as_text, TN_E_FILE,
      "eos_token_id" },
    { "a BOS to be added that is not there", NULL, add_bos_without_id, TN_E_FILE,
      "no key tokenizer.ggml.bos_token_id" },
};

static void broken_metadata_is_refused_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        gguf_builder b;
        gguf_builder_init(&b, 3);
        test_tiny_keys(&b, cases[i].without);
        cases[i].add(&b);
        gguf_builder_align(&b, 32);
        tn_model *model = test_open_built(&b);
        tlm_tokenizer *tokenizer = (tlm_tokenizer *)&b;
        tn_error err = { 0 };
        tn_status status = tlm_tokenizer_create(model, NULL, &tokenizer, &err);
        if (status != cases[i].status || err.status != status || tokenizer)
            fail_msg("%s: got %s, \"%s\"", cases[i].says, tn_status_name(status), err.text);
        if (!strstr(err.text, cases[i].must_say) || strchr(err.text, '\n'))
            fail_msg("%s: want \"%s\" in one line, got \"%s\"", cases[i].says, cases[i].must_say,
                     err.text);
        tn_model_close(model);
    }
}

static tlm_tokenizer *create(const tn_model *model, const char *pre)
{
    tlm_tokenizer_options options = { .size = sizeof options, .pre = pre };
    tlm_tokenizer *tokenizer = NULL;
    tn_error err = { 0 };
    if (tlm_tokenizer_create(model, &options, &tokenizer, &err) != TN_OK)
        fail_msg("%s", err.text);
    assert_string_equal(err.text, "");
    return tokenizer;
}

static void an_unknown_pretokenizer_is_assumed_with_a_warning(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_init(&b, 3);
    test_tiny_keys(&b, "tokenizer.ggml.pre");
    gguf_builder_key_string(&b, "tokenizer.ggml.pre", "tomorrow");
    gguf_builder_align(&b, 32);
    tn_model *model = test_open_built(&b);
    tlm_tokenizer *tokenizer = create(model, NULL);
    assert_string_equal(tlm_tokenizer_warning(tokenizer),
                        "the file's pre-tokenizer 'tomorrow' is not known, 'default' is assumed; "
                        "the option pre sets another one of default, gpt-2, smollm, llama-bpe, "
                        "llama3, llama-v3, qwen2, deepseek-r1-qwen");
    tlm_tokenizer_destroy(tokenizer);

    tokenizer = create(model, "smollm");
    assert_string_equal(tlm_tokenizer_warning(tokenizer), "");
    tlm_tokenizer_destroy(tokenizer);

    tlm_tokenizer_options options = { .size = sizeof options, .pre = "yesterday" };
    tn_error err = { 0 };
    assert_int_equal(tlm_tokenizer_create(model, &options, &tokenizer, &err), TN_E_ARG);
    assert_non_null(strstr(err.text, "'yesterday' (known: default, gpt-2"));
    tn_model_close(model);
}

static void a_missing_pretokenizer_is_assumed_with_a_warning(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_init(&b, 3);
    test_tiny_keys(&b, "tokenizer.ggml.pre");
    gguf_builder_align(&b, 32);
    tn_model *model = test_open_built(&b);
    tlm_tokenizer *tokenizer = create(model, NULL);
    const char *warning = tlm_tokenizer_warning(tokenizer);
    assert_non_null(strstr(warning, "names no pre-tokenizer, 'default' is assumed"));
    assert_non_null(strstr(warning, "the option pre sets another one of default, gpt-2"));
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
}

// "abc" is a token, but no merge makes it.
static void a_word_that_is_a_token_is_taken_whole_where_the_file_says_so(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_init(&b, 3);
    test_tiny_keys(&b, "tokenizer.ggml.merges");
    gguf_builder_array(&b, "tokenizer.ggml.merges", TN_KEY_STRING, 1);
    gguf_builder_string(&b, "a b");
    gguf_builder_align(&b, 32);
    tn_model *model = test_open_built(&b);
    static const int32_t merged[] = { TEST_AB, 'c' }, whole[] = { TEST_ABC };
    tlm_tokenizer *tokenizer = create(model, "qwen2");
    test_expect_ids(tokenizer, "by merges", "abc", 3, 0, merged, 2);
    tlm_tokenizer_destroy(tokenizer);

    tokenizer = create(model, "llama-bpe");
    test_expect_ids(tokenizer, "whole", "abc", 3, 0, whole, 1);
    static const int32_t longer[] = { TEST_AB, 'c', 'c' };
    test_expect_ids(tokenizer, "a longer word", "abcc", 4, 0, longer, 3);
    test_expect_ids(tokenizer, "a control token is not text", "<user", 5, TLM_TEXT_PLAIN,
                    (const int32_t[]){ '<', 'u', 's', 'e', 'r' }, 5);
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
}

static void stop_texts_may_be_user_defined(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_init(&b, 3);
    test_tiny_keys(&b, "tokenizer.ggml.token_type");
    gguf_builder_array(&b, "tokenizer.ggml.token_type", TN_KEY_I32, TEST_TOKENS);
    for (uint32_t id = 0; id < TEST_TOKENS; id++)
        gguf_builder_u32(&b, id == TEST_END ? TLM_TOKEN_USER_DEFINED : TLM_TOKEN_NORMAL);
    gguf_builder_align(&b, 32);
    tn_model *model = test_open_built(&b);
    tlm_tokenizer *tokenizer = create(model, NULL);
    assert_true(tlm_is_stop(tokenizer, TEST_END));
    assert_true(tlm_is_stop(tokenizer, TEST_TURN));   // by eos_token_id, whatever its type
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
}

static void the_lower_of_two_equal_tokens_counts(void **state)
{
    (void)state;
    gguf_builder b;
    gguf_builder_init(&b, 3);
    test_tiny_keys(&b, "tokenizer.ggml.tokens");
    gguf_builder_array(&b, "tokenizer.ggml.tokens", TN_KEY_STRING, TEST_TOKENS);
    for (uint32_t id = 0; id < TEST_TOKENS; id++) {
        // What the merges name, control tokens, and else a, b, c …, of which every 26th is the
        // same.
        static const char *const others[] = {
            "ab", "abc", "\xC4\xA0", "\xC4\xA0\xC4\xA0", "\xC3\xA2", "\xC4\xA4", "\xC3\xA2\xC4\xA4"
        };
        char letter[] = { (char)('a' + id % 26), '\0' };
        bool is_other = id >= 26 && id - 26 < COUNT_OF(others);
        gguf_builder_string(&b, is_other ? others[id - 26] : id >= TEST_END ? "<control>" : letter);
    }
    gguf_builder_align(&b, 32);
    tn_model *model = test_open_built(&b);
    tlm_tokenizer *tokenizer = create(model, NULL);
    test_expect_ids(tokenizer, "letters", "zya", 3, 0, (const int32_t[]){ 25, 24, 0 }, 3);
    test_expect_ids(tokenizer, "bytes without a token are lost", "a!b", 3, 0,
                    (const int32_t[]){ 0, 1 }, 2);
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
}

static void stop_ids_come_from_keys_and_texts(void **state)
{
    (void)state;
    tn_model *model = test_tiny_model();
    tlm_tokenizer *tokenizer = create(model, NULL);
    uint32_t count;
    const int32_t *ids = tlm_stop_ids(tokenizer, &count);
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], TEST_END);    // by its text
    assert_int_equal(ids[1], TEST_TURN);   // by eos_token_id
    assert_false(tlm_is_stop(tokenizer, TEST_USER));
    assert_int_equal(tlm_eos_id(tokenizer), TEST_TURN);
    assert_int_equal(tlm_bos_id(tokenizer), TLM_NO_TOKEN);
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
}

enum { CROWD = 30000, CROWD_SLOTS = 65536, CROWDED_SLOTS = 1024 };

// Whether the FNV-1a of a text falls among the first slots of a table for CROWD tokens.
static bool is_crowded(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return ((hash ^ hash >> 32) & (CROWD_SLOTS - 1)) < CROWDED_SLOTS;
}

// Tokens "0", "1", …: all of them, or those that are crowded. The last one is the first again.
static tn_model *open_crowd(bool all_crowded)
{
    gguf_builder b;
    gguf_builder_init(&b, 3);
    gguf_builder_array(&b, "tokenizer.ggml.tokens", TN_KEY_STRING, CROWD);
    char text[16], first[16] = "";
    for (uint32_t i = 0, count = 0; count < CROWD - 1; i++) {
        snprintf(text, sizeof text, "%u", i);
        if (all_crowded && !is_crowded(text))
            continue;
        gguf_builder_string(&b, text);
        if (count++ == 0)
            memcpy(first, text, sizeof first);
    }
    gguf_builder_string(&b, first);
    gguf_builder_align(&b, 32);
    return test_open_built(&b);
}

static tn_status init_with(const tn_allocator *allocator, void *context)
{
    tlm_vocabulary v;
    tn_error err = { 0 };
    tn_status status = tlm_vocabulary_init(&v, context, allocator, &err);
    tlm_vocabulary_finish(&v);
    return status;
}

static void texts_that_collide_survive_every_failing_allocation(void **state)
{
    (void)state;
    tn_model *model = open_crowd(true);
    for_each_failing_allocation(init_with, model);
    tn_model_close(model);
}

// A file may have one special text a hundred thousand times: that is as fast as having it once.
static void doubled_special_tokens_cost_nothing(void **state)
{
    (void)state;
    enum { DOUBLES = 200000, TEXT_BYTES = 20000, SECONDS = 2 };
    static char text[TEXT_BYTES];
    memset(text, 'a', sizeof text);
    for (int32_t user_defined = -1; user_defined <= 5; user_defined += 6) {
        gguf_builder b;
        gguf_builder_init(&b, 3);
        gguf_builder_key_string(&b, "tokenizer.ggml.model", "gpt2");
        gguf_builder_key_string(&b, "tokenizer.ggml.pre", "gpt-2");
        gguf_builder_array(&b, "tokenizer.ggml.tokens", TN_KEY_STRING, DOUBLES);
        for (int i = 0; i < DOUBLES; i++)
            gguf_builder_string(&b, "a");
        gguf_builder_array(&b, "tokenizer.ggml.token_type", TN_KEY_I32, DOUBLES);
        for (int i = 0; i < DOUBLES; i++)
            gguf_builder_u32(&b, i == user_defined ? TLM_TOKEN_USER_DEFINED : TLM_TOKEN_CONTROL);
        gguf_builder_array(&b, "tokenizer.ggml.merges", TN_KEY_STRING, 0);
        gguf_builder_align(&b, 32);
        tn_model *model = test_open_built(&b);
        tlm_tokenizer *tokenizer = NULL;
        int32_t *ids;
        uint32_t count;
        assert_int_equal(tlm_tokenizer_create(model, NULL, &tokenizer, NULL), TN_OK);
        assert_int_equal(tlm_tokenize(tokenizer, "aa", 2, 0, &ids, &count, NULL), TN_OK);
        assert_int_equal(count, 2);
        assert_int_equal(ids[1], 0);   // the lowest id
        tlm_ids_free(tokenizer, ids);
        tlm_specials specials = { 0 };
        tlm_vocabulary vocabulary = { 0 };
        size_t at;
        tn_allocator allocator = tlm_allocator(NULL);
        assert_int_equal(tlm_vocabulary_init(&vocabulary, model, &allocator, NULL), TN_OK);
        assert_int_equal(tlm_specials_init(&specials, &vocabulary, NULL), TN_OK);
        clock_t begin = clock();
        for (size_t i = 0; i < sizeof text; i++)   // in plain text
            assert_int_equal(tlm_specials_find(&specials, &vocabulary, text + i, 1, true, &at),
                             user_defined);
        assert_true(clock() - begin < SECONDS * CLOCKS_PER_SEC);
        tlm_specials_finish(&specials, &vocabulary);
        tlm_vocabulary_finish(&vocabulary);
        tlm_tokenizer_destroy(tokenizer);
        tn_model_close(model);
    }
}

// Each byte of a text may cost as many steps as the longest special token has bytes.
static void a_special_token_of_many_bytes_is_refused(void **state)
{
    (void)state;
    for (uint32_t bytes = 1024; bytes <= 1025; bytes++) {
        gguf_builder b;
        gguf_builder_init(&b, 3);
        gguf_builder_key_string(&b, "tokenizer.ggml.model", "gpt2");
        gguf_builder_key_string(&b, "tokenizer.ggml.pre", "gpt-2");
        gguf_builder_array(&b, "tokenizer.ggml.tokens", TN_KEY_STRING, 1);
        gguf_builder_u64(&b, bytes);
        for (uint32_t i = 0; i < bytes; i++)
            gguf_builder_u8(&b, 'a');
        gguf_builder_array(&b, "tokenizer.ggml.token_type", TN_KEY_I32, 1);
        gguf_builder_u32(&b, TLM_TOKEN_CONTROL);
        gguf_builder_array(&b, "tokenizer.ggml.merges", TN_KEY_STRING, 0);
        gguf_builder_align(&b, 32);
        tn_model *model = test_open_built(&b);
        tlm_tokenizer *tokenizer = NULL;
        tn_error err = { 0 };
        tn_status status = tlm_tokenizer_create(model, NULL, &tokenizer, &err);
        assert_int_equal(status, bytes == 1024 ? TN_OK : TN_E_FILE);
        if (status != TN_OK)
            assert_string_equal(err.text,
                                "tokenizer: special token 0 has 1025 bytes, expected at most 1024");
        tlm_tokenizer_destroy(tokenizer);
        tn_model_close(model);
    }
}

static void the_first_of_two_equal_merges_counts(void **state)
{
    (void)state;
    static const char *const tokens[] = { "a", "b", "c", "ab", "bc" }, *const merges[] = { "a b",
                                                                                           "b c",
                                                                                           "a b" };
    gguf_builder b;
    gguf_builder_init(&b, 3);
    gguf_builder_key_string(&b, "tokenizer.ggml.model", "gpt2");
    gguf_builder_key_string(&b, "tokenizer.ggml.pre", "gpt-2");
    gguf_builder_array(&b, "tokenizer.ggml.tokens", TN_KEY_STRING, COUNT_OF(tokens));
    for (size_t i = 0; i < COUNT_OF(tokens); i++)
        gguf_builder_string(&b, tokens[i]);
    gguf_builder_array(&b, "tokenizer.ggml.merges", TN_KEY_STRING, COUNT_OF(merges));
    for (size_t i = 0; i < COUNT_OF(merges); i++)
        gguf_builder_string(&b, merges[i]);
    gguf_builder_align(&b, 32);
    tn_model *model = test_open_built(&b);
    tlm_tokenizer *tokenizer = create(model, NULL);
    test_expect_ids(tokenizer, "ab before bc", "abc", 3, 0, (const int32_t[]){ 3, 2 }, 2);
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
}

static void texts_that_collide_are_found_by_halves(void **state)
{
    (void)state;
    for (int all_crowded = 0; all_crowded < 2; all_crowded++) {
        tn_model *model = open_crowd(all_crowded);
        tn_allocator allocator = tlm_allocator(NULL);
        tlm_vocabulary v;
        tn_error err = { 0 };
        assert_int_equal(tlm_vocabulary_init(&v, model, &allocator, &err), TN_OK);
        assert_int_equal(v.sorted != NULL, all_crowded);
        assert_int_equal(v.slots != NULL, !all_crowded);
        for (int32_t id = 0; id < CROWD; id++)
            if (tlm_vocabulary_find(&v, v.tokens[id].text, v.tokens[id].bytes) != id % (CROWD - 1))
                fail_msg("token %d is not found", id);
        static const char *const others[] = { "", "1x", "00", "9999999999", "\xFF" };
        for (size_t i = 0; i < COUNT_OF(others); i++)
            assert_int_equal(tlm_vocabulary_find(&v, others[i], strlen(others[i])), TLM_NO_TOKEN);
        tlm_vocabulary_finish(&v);
        tn_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_metadata_is_refused_in_words),
        cmocka_unit_test(an_unknown_pretokenizer_is_assumed_with_a_warning),
        cmocka_unit_test(a_missing_pretokenizer_is_assumed_with_a_warning),
        cmocka_unit_test(a_word_that_is_a_token_is_taken_whole_where_the_file_says_so),
        cmocka_unit_test(stop_texts_may_be_user_defined),
        cmocka_unit_test(the_lower_of_two_equal_tokens_counts),
        cmocka_unit_test(doubled_special_tokens_cost_nothing),
        cmocka_unit_test(a_special_token_of_many_bytes_is_refused),
        cmocka_unit_test(the_first_of_two_equal_merges_counts),
        cmocka_unit_test(texts_that_collide_survive_every_failing_allocation),
        cmocka_unit_test(texts_that_collide_are_found_by_halves),
        cmocka_unit_test(stop_ids_come_from_keys_and_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
