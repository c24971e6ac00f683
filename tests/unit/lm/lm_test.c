#include "lm_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "byte_alphabet.h"

tn_model *test_open(const char *path)
{
    tn_model *model = NULL;
    tn_error err = { 0 };
    if (tn_model_open(path, NULL, &model, &err) != TN_OK)
        fail_msg("%s", err.text);
    return model;
}

tn_model *test_open_built(gguf_builder *b)
{
    char path[] = "/tmp/lm_test_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, b->data, b->bytes), (ssize_t)b->bytes);
    close(file);
    gguf_builder_finish(b);
    tn_model_options options = { .size = sizeof options, .flags = TN_MODEL_IN_MEMORY };
    tn_model *model = NULL;
    tn_error err = { 0 };
    tn_status status = tn_model_open(path, &options, &model, &err);
    unlink(path);
    if (status != TN_OK)
        fail_msg("%s", err.text);
    return model;
}

json_t *test_golden(const char *path)
{
    json_error_t error;
    json_t *golden = json_load_file(path, 0, &error);
    if (!golden)
        fail_msg("%s: %s", path, error.text);
    return golden;
}

void test_expect_ids(const tlm_tokenizer *t, const char *says, const char *text, size_t bytes,
                     uint32_t flags, const int32_t *ids, uint32_t count)
{
    int32_t *got;
    uint32_t got_count;
    tn_error err = { 0 };
    if (tlm_tokenize(t, text, bytes, flags, &got, &got_count, &err) != TN_OK)
        fail_msg("%s: %s", says, err.text);
    for (uint32_t i = 0; i < got_count && i < count; i++)
        if (got[i] != ids[i])
            fail_msg("%s: id %u is %d, expected %d", says, i, got[i], ids[i]);
    if (got_count != count)
        fail_msg("%s: %u ids, expected %u", says, got_count, count);
    tlm_ids_free(t, got);
}

// SplitMix64, as the sampler's.
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static void expect_round_trip(const tlm_tokenizer *t, uint32_t flags, const char *text,
                              size_t bytes, uint32_t which)
{
    int32_t *ids;
    uint32_t count;
    tn_error err = { 0 };
    size_t done = 0, piece_bytes;
    assert_int_equal(tlm_tokenize(t, text, bytes, flags, &ids, &count, &err), TN_OK);
    for (uint32_t i = 0; i < count; i++, done += piece_bytes) {
        const char *piece = tlm_token_text(t, ids[i], &piece_bytes);
        if (done + piece_bytes > bytes || memcmp(piece, text + done, piece_bytes) != 0)
            fail_msg("text %u of %zu bytes differs at %zu, token %d", which, bytes, done, ids[i]);
    }
    if (done != bytes)
        fail_msg("text %u of %zu bytes ends at %zu", which, bytes, done);
    tlm_ids_free(t, ids);
}

void test_expect_round_trips(const tlm_tokenizer *t, uint32_t flags)
{
    enum { TEXTS = 3000, MOST_BYTES = 64 };
    static const char *const pieces[] = {
        "a",    "b",        "c",        " ",  "  ",     "\n", "1",
        "'s",   "\xC3\xA9", "\xE2\x82", "=;", "<|turn", "<",  "\xF0\x9F\x98\x80",
        "</s>", "<0x0A>",
    };
    uint64_t random = 1;
    for (uint32_t which = 0; which < TEXTS; which++) {
        char text[MOST_BYTES + 16];
        size_t bytes = 0, want = next_random(&random) % MOST_BYTES;
        while (bytes < want) {
            uint64_t draw = next_random(&random);
            const char *piece = pieces[draw >> 32 & (COUNT_OF(pieces) - 1)];
            if (which % 3 == 0 || (which % 3 == 1 && draw % 2)) {
                text[bytes++] = (char)(draw >> 56);
            } else {
                memcpy(text + bytes, piece, strlen(piece));
                bytes += strlen(piece);
            }
        }
        expect_round_trip(t, flags, text, bytes, which);
    }
}

static void add_letter(gguf_builder *b, unsigned byte)
{
    char letter[2];
    size_t length = tlm_byte_letter((unsigned char)byte, letter);
    gguf_builder_u64(b, length);
    gguf_builder_bytes(b, letter, length);
}

static void add_tokens(gguf_builder *b)
{
    static const char *const texts[] = {
        "ab", "abc", "\xC4\xA0\xC4\xA0", "\xC3\xA2\xC4\xA4", "<|im_end|>", "<|turn|>", "<user>"
    };
    gguf_builder_array(b, "tokenizer.ggml.tokens", TN_KEY_STRING, TEST_TOKENS);
    for (unsigned byte = 0; byte < 256; byte++)
        add_letter(b, byte);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        gguf_builder_string(b, texts[i]);
}

static void add_types(gguf_builder *b)
{
    gguf_builder_array(b, "tokenizer.ggml.token_type", TN_KEY_I32, TEST_TOKENS);
    for (uint32_t id = 0; id < TEST_TOKENS; id++)
        gguf_builder_u32(b, id == TEST_USER  ? TLM_TOKEN_USER_DEFINED
                            : id >= TEST_END ? TLM_TOKEN_CONTROL
                                             : TLM_TOKEN_NORMAL);
}

static void add_merges(gguf_builder *b)
{
    static const char *const merges[] = { "a b", "ab c", "\xC4\xA0 \xC4\xA0", "\xC3\xA2 \xC4\xA4" };
    gguf_builder_array(b, "tokenizer.ggml.merges", TN_KEY_STRING, COUNT_OF(merges));
    for (size_t i = 0; i < COUNT_OF(merges); i++)
        gguf_builder_string(b, merges[i]);
}

void test_tiny_keys(gguf_builder *b, const char *without)
{
    if (!without || strcmp(without, "tokenizer.ggml.model") != 0)
        gguf_builder_key_string(b, "tokenizer.ggml.model", "gpt2");
    if (!without || strcmp(without, "tokenizer.ggml.pre") != 0)
        gguf_builder_key_string(b, "tokenizer.ggml.pre", "gpt-2");
    if (!without || strcmp(without, "tokenizer.ggml.tokens") != 0)
        add_tokens(b);
    if (!without || strcmp(without, "tokenizer.ggml.token_type") != 0)
        add_types(b);
    if (!without || strcmp(without, "tokenizer.ggml.merges") != 0)
        add_merges(b);
    if (!without || strcmp(without, "tokenizer.ggml.eos_token_id") != 0)
        gguf_builder_key_u32(b, "tokenizer.ggml.eos_token_id", TEST_TURN);
}

tn_model *test_tiny_model(void)
{
    gguf_builder b;
    gguf_builder_init(&b, 3);
    test_tiny_keys(&b, NULL);
    gguf_builder_align(&b, 32);
    return test_open_built(&b);
}
