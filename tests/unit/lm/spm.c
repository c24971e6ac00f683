// Tokenizers of the kind `llama`: merging by score, spaces, bytes, and scores that are wrong.
#include "lm_test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "failing_alloc.h"

#define SPACE "\xE2\x96\x81"

// 0 … 2 are special, then the 256 bytes, then these.
enum { BYTES = 3, FIRST = BYTES + 256 };
enum {
    A = FIRST,
    B,
    C,
    AB,
    BC,
    ABC,
    SPACE_1,
    SPACE_2,
    SPACE_AB,
    LESS,
    SLASH,
    LESS_SLASH,
    S,
    LESS_SLASH_S,
    MORE,
    KANJI,
    USER,
    TOKENS
};

static const struct {
    const char *text;
    float score;
    uint32_t type;
} pieces[TOKENS - FIRST] = {
    { "a", -100, TLM_TOKEN_NORMAL },
    { "b", -101, TLM_TOKEN_NORMAL },
    { "c", -102, TLM_TOKEN_NORMAL },
    { "ab", -20, TLM_TOKEN_NORMAL },
    { "bc", -10, TLM_TOKEN_NORMAL },   // goes before ab
    { "abc", -30, TLM_TOKEN_NORMAL },
    { SPACE, -90, TLM_TOKEN_NORMAL },
    { SPACE SPACE, -5, TLM_TOKEN_NORMAL },
    { SPACE "ab", -40, TLM_TOKEN_NORMAL },
    { "<", -103, TLM_TOKEN_NORMAL },
    { "/", -104, TLM_TOKEN_NORMAL },
    { "</", -50, TLM_TOKEN_NORMAL },
    { "s", -105, TLM_TOKEN_NORMAL },
    { "</s", -51, TLM_TOKEN_NORMAL },
    { ">", -106, TLM_TOKEN_NORMAL },
    { "\xE6\xBC\xA2", -107, TLM_TOKEN_NORMAL },
    { "<tag>", -1000, TLM_TOKEN_USER_DEFINED },
};

static void add_tokens(gguf_builder *b)
{
    static const char *const specials[BYTES] = { "<unk>", "<s>", "</s>" };
    gguf_builder_array(b, "tokenizer.ggml.tokens", TN_KEY_STRING, TOKENS);
    for (size_t i = 0; i < BYTES; i++)
        gguf_builder_string(b, specials[i]);
    for (unsigned byte = 0; byte < 256; byte++) {
        static const char digits[] = "0123456789ABCDEF";
        char text[] = { '<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>', '\0' };
        gguf_builder_string(b, text);
    }
    for (size_t i = 0; i < COUNT_OF(pieces); i++)
        gguf_builder_string(b, pieces[i].text);
}

static void add_types(gguf_builder *b, uint32_t type_of_a)
{
    gguf_builder_array(b, "tokenizer.ggml.token_type", TN_KEY_I32, TOKENS);
    for (uint32_t id = 0; id < TOKENS; id++)
        gguf_builder_u32(b, id == 0      ? TLM_TOKEN_UNKNOWN
                            : id < BYTES ? TLM_TOKEN_CONTROL
                            : id < FIRST ? TLM_TOKEN_BYTE
                            : id == A    ? type_of_a
                                         : pieces[id - FIRST].type);
}

static void add_scores(gguf_builder *b, float score_of_a)
{
    gguf_builder_array(b, "tokenizer.ggml.scores", TN_KEY_F32, TOKENS);
    for (uint32_t id = 0; id < TOKENS; id++)
        gguf_builder_f32(b, id < FIRST ? 0 : id == A ? score_of_a : pieces[id - FIRST].score);
}

static void begin_model(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key_string(b, "tokenizer.ggml.model", "llama");
    gguf_builder_key_u32(b, "tokenizer.ggml.bos_token_id", 1);
    gguf_builder_key_u32(b, "tokenizer.ggml.eos_token_id", 2);
    gguf_builder_key_u32(b, "tokenizer.ggml.unknown_token_id", 0);
    add_tokens(b);
}

static tn_model *end_model(gguf_builder *b)
{
    gguf_builder_align(b, 32);
    return test_open_built(b);
}

static tn_model *open_model(bool has_prefix)
{
    gguf_builder b;
    begin_model(&b);
    add_types(&b, TLM_TOKEN_NORMAL);
    add_scores(&b, -100);
    if (!has_prefix) {   // else as it is when the file does not say
        gguf_builder_key(&b, "tokenizer.ggml.add_space_prefix", TN_KEY_BOOL);
        gguf_builder_u8(&b, 0);
    }
    return end_model(&b);
}

static tlm_tokenizer *create(const tn_model *model)
{
    tlm_tokenizer *tokenizer = NULL;
    tn_error err = { 0 };
    if (tlm_tokenizer_create(model, NULL, &tokenizer, &err) != TN_OK)
        fail_msg("%s", err.text);
    assert_string_equal(tlm_tokenizer_warning(tokenizer), "");
    return tokenizer;
}

#define BYTE(value) (BYTES + (value))

static const struct {
    const char *says;
    bool has_prefix;
    const char *text;
    uint32_t bytes, flags, count;
    int32_t ids[10];
} cases[] = {
    { "no text gives a BOS alone", true, "", 0, 0, 1, { 1 } },
    { "the best score goes first, not the leftmost pair", false, "abb", 3, 0, 3, { 1, AB, B } },
    { "a pair that is no token of its own text stays", false, "abcb", 4, 0, 3, { 1, ABC, B } },
    { "the leftmost of equals goes first", false, "   ", 3, 0, 3, { 1, SPACE_2, SPACE_1 } },
    { "a space goes before the text", true, "ab", 2, 0, 2, { 1, SPACE_AB } },
    { "also when it begins with one", true, " ab", 3, 0, 3, { 1, SPACE_2, AB } },
    { "but not where the file says so", false, "ab", 2, 0, 2, { 1, AB } },
    { "nor when the text goes on after others", true, "ab", 2, TLM_TEXT_CONTINUES, 1, { AB } },
    { "a space goes before the text after a special token",
      true,
      "<s>ab",
      5,
      TLM_TEXT_CONTINUES,
      2,
      { 1, SPACE_AB } },
    { "a leading space there is one more", true, "<s> ab", 6, 0, 4, { 1, 1, SPACE_2, AB } },
    { "a user-defined token is cut out before merging",
      true,
      "ab<tag>ab",
      9,
      TLM_TEXT_PLAIN,
      4,
      { 1, SPACE_AB, USER, SPACE_AB } },
    { "special text is never merged in plain text",
      false,
      "</s>",
      4,
      TLM_TEXT_PLAIN,
      3,
      { 1, LESS_SLASH_S, MORE } },
    { "and is special elsewhere", false, "</s>", 4, 0, 2, { 1, 2 } },
    { "a character that is a token", false, "\xE6\xBC\xA2", 3, 0, 2, { 1, KANJI } },
    { "one that is not goes byte by byte",
      false,
      "\xE5\xAD\x97",
      3,
      0,
      4,
      { 1, BYTE(0xE5), BYTE(0xAD), BYTE(0x97) } },
    { "the start of a character is bytes",
      false,
      "a\xE6\xBC",
      3,
      0,
      4,
      { 1, A, BYTE(0xE6), BYTE(0xBC) } },
    { "stray continuation bytes are bytes",
      false,
      "\x80\xBF"
      "ab",
      4,
      0,
      4,
      { 1, BYTE(0x80), BYTE(0xBF), AB } },
    { "so are overlong forms", false, "\xC0\x80", 2, 0, 3, { 1, BYTE(0xC0), BYTE(0x80) } },
    { "and surrogates", false, "\xED\xA0\x80", 3, 0, 4, { 1, BYTE(0xED), BYTE(0xA0), BYTE(0x80) } },
    { "text that looks like a byte is text",
      false,
      "<0x0A>",
      6,
      0,
      7,
      { 1, LESS, BYTE('0'), BYTE('x'), BYTE('0'), BYTE('A'), MORE } },
    { "text behind a broken character is merged",
      false,
      "\xE6"
      "ab",
      3,
      0,
      3,
      { 1, BYTE(0xE6), AB } },
    { "NUL is a byte like others", false, "a\0b", 3, 0, 4, { 1, A, BYTE(0), B } },
    { "a line end is a byte", false, "a\n", 2, 0, 3, { 1, A, BYTE('\n') } },
};

static void texts_give_these_ids(void **state)
{
    (void)state;
    tn_model *models[] = { open_model(false), open_model(true) };
    tlm_tokenizer *tokenizers[] = { create(models[0]), create(models[1]) };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        test_expect_ids(tokenizers[cases[i].has_prefix], cases[i].says, cases[i].text,
                        cases[i].bytes, cases[i].flags, cases[i].ids, cases[i].count);
    for (size_t i = 0; i < 2; i++) {
        tlm_tokenizer_destroy(tokenizers[i]);
        tn_model_close(models[i]);
    }
}

static void tokens_are_spaces_and_bytes_again(void **state)
{
    (void)state;
    static const struct {
        int32_t id;
        const char *text;
    } expected[] = { { SPACE_AB, " ab" },       { SPACE_2, "  " }, { BYTE(0xE5), "\xE5" },
                     { KANJI, "\xE6\xBC\xA2" }, { USER, "<tag>" }, { 2, "</s>" } };
    tn_model *model = open_model(true);
    tlm_tokenizer *tokenizer = create(model);
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        size_t bytes;
        const char *text = tlm_token_text(tokenizer, expected[i].id, &bytes);
        assert_int_equal(bytes, strlen(expected[i].text));
        assert_memory_equal(text, expected[i].text, bytes);
    }
    assert_true(tlm_adds_bos(tokenizer));
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
}

static void any_bytes_come_back(void **state)
{
    (void)state;
    tn_model *model = open_model(true);
    tlm_tokenizer *tokenizer = create(model);
    test_expect_round_trips(tokenizer,
                            TLM_TEXT_CONTINUES | TLM_TEXT_PLAIN);   // without BOS and prefix
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// A bound that a quadratic way would miss by far, even with sanitizers on a slow machine.
enum { MOST_SECONDS = 10 };

static void long_texts_take_near_linear_time(void **state)
{
    (void)state;
    static const struct {
        const char *unit;
        uint32_t repeats, tokens;
    } texts[] = {
        { "a", 1000000, 1000001 }, { "ab", 500000, 500001 },           { " ", 100000, 50001 },
        { "abc", 300000, 300001 }, { "\xE5\xAD\x97", 300000, 900001 }, { "<", 1000000, 1000001 },
    };
    tn_model *model = open_model(false);
    tlm_tokenizer *tokenizer = create(model);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        size_t unit_bytes = strlen(texts[i].unit), bytes = unit_bytes * texts[i].repeats;
        char *text = malloc(bytes);
        assert_non_null(text);
        for (size_t at = 0; at < bytes; at += unit_bytes)
            memcpy(text + at, texts[i].unit, unit_bytes);
        double begin = seconds();
        int32_t *ids;
        uint32_t count;
        tn_error err = { 0 };
        assert_int_equal(tlm_tokenize(tokenizer, text, bytes, 0, &ids, &count, &err), TN_OK);
        assert_int_equal(count, texts[i].tokens);
        assert_true(seconds() - begin < MOST_SECONDS);
        tlm_ids_free(tokenizer, ids);
        free(text);
    }
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
}

static tn_status tokenize_with(const tn_allocator *allocator, void *context)
{
    tlm_tokenizer_options options = { .size = sizeof options, .allocator = allocator };
    tlm_tokenizer *tokenizer;
    tn_error err = { 0 };
    tn_status status = tlm_tokenizer_create(context, &options, &tokenizer, &err);
    if (status != TN_OK)
        return status;
    static const char text[] = "abc ab<s>\xE2\x82 abcabcabcabcabcabcabcabc";
    int32_t *ids;
    uint32_t count;
    status = tlm_tokenize(tokenizer, text, sizeof text - 1, 0, &ids, &count, &err);
    if (status == TN_OK)
        tlm_ids_free(tokenizer, ids);
    tlm_tokenizer_destroy(tokenizer);
    return status;
}

static void it_survives_every_failing_allocation(void **state)
{
    (void)state;
    tn_model *model = open_model(true);
    for_each_failing_allocation(tokenize_with, model);
    tn_model_close(model);
}

static void add_no_scores(gguf_builder *b)
{
    (void)b;
}

static void add_few_scores(gguf_builder *b)
{
    gguf_builder_array(b, "tokenizer.ggml.scores", TN_KEY_F32, 1);
    gguf_builder_f32(b, 0);
}

static void add_scores_as_texts(gguf_builder *b)
{
    gguf_builder_array(b, "tokenizer.ggml.scores", TN_KEY_STRING, TOKENS);
    for (uint32_t id = 0; id < TOKENS; id++)
        gguf_builder_string(b, "0");
}

static void add_scores_as_bytes(gguf_builder *b)
{
    gguf_builder_array(b, "tokenizer.ggml.scores", TN_KEY_BOOL, TOKENS);
    for (uint32_t id = 0; id < TOKENS; id++)
        gguf_builder_u8(b, 1);
}

static void add_no_number(gguf_builder *b)
{
    add_scores(b, NAN);
}

static void broken_metadata_is_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        void (*add)(gguf_builder *b);
        const char *must_say;
    } broken[] = {
        { "no scores", add_no_scores, "no key tokenizer.ggml.scores" },
        { "fewer scores than tokens", add_few_scores, "scores has 1 entries, expected 276" },
        { "scores that are texts", add_scores_as_texts, "tokenizer.ggml.scores" },
        { "scores that are truth values", add_scores_as_bytes, "tokenizer.ggml.scores" },
        { "a score that is no number", add_no_number, "score of token 259 is not a number" },
    };
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        gguf_builder b;
        begin_model(&b);
        broken[i].add(&b);
        tn_model *model = end_model(&b);
        tlm_tokenizer *tokenizer = (tlm_tokenizer *)&b;
        tn_error err = { 0 };
        tn_status status = tlm_tokenizer_create(model, NULL, &tokenizer, &err);
        if (status != TN_E_FILE || tokenizer || !strstr(err.text, broken[i].must_say))
            fail_msg("%s: got %s, \"%s\"", broken[i].says, tn_status_name(status), err.text);
        tn_model_close(model);
    }
}

static void a_byte_of_another_spelling_is_refused(void **state)
{
    (void)state;
    gguf_builder b;
    begin_model(&b);
    add_types(&b, TLM_TOKEN_BYTE);
    add_scores(&b, -100);
    tn_model *model = end_model(&b);
    tlm_tokenizer *tokenizer = NULL;
    tn_error err = { 0 };
    assert_int_equal(tlm_tokenizer_create(model, NULL, &tokenizer, &err), TN_E_FILE);
    assert_non_null(strstr(err.text, "token 259 'a' is of the type of bytes"));
    tn_model_close(model);
}

static void a_pretokenizer_cannot_be_set(void **state)
{
    (void)state;
    tn_model *model = open_model(true);
    tlm_tokenizer_options options = { .size = sizeof options, .pre = "gpt-2" };
    tlm_tokenizer *tokenizer = NULL;
    tn_error err = { 0 };
    assert_int_equal(tlm_tokenizer_create(model, &options, &tokenizer, &err), TN_E_ARG);
    assert_non_null(strstr(err.text, "'llama' has no pre-tokenizer"));
    tn_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_give_these_ids),
        cmocka_unit_test(tokens_are_spaces_and_bytes_again),
        cmocka_unit_test(any_bytes_come_back),
        cmocka_unit_test(it_survives_every_failing_allocation),
        cmocka_unit_test(long_texts_take_near_linear_time),
        cmocka_unit_test(broken_metadata_is_refused_in_words),
        cmocka_unit_test(a_byte_of_another_spelling_is_refused),
        cmocka_unit_test(a_pretokenizer_cannot_be_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
