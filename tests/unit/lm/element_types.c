// Scores and types of tokens that a file stores as elements of another type than usual: converted
// by the type that the file says, never read with the stride of the usual one.
#include "lm_test.h"

#include <string.h>

enum { UNKNOWN, A, B, C, AB, BC, TOKENS };
static const char *const texts[TOKENS] = { "<unk>", "a", "b", "c", "ab", "bc" };
// "abc" is {a, bc} by the scores, {ab, c} when they are read as equal.
static const int scores[TOKENS] = { 0, 1, 2, 3, 4, 5 };

// A number as an element of that type.
static void add_element(gguf_builder *b, uint32_t type, int value)
{
    switch (type) {
    case TN_KEY_U8:
    case TN_KEY_I8:
        gguf_builder_u8(b, (uint8_t)value);
        break;
    case TN_KEY_U16:
    case TN_KEY_I16:
        gguf_builder_u16(b, (uint16_t)value);
        break;
    case TN_KEY_U32:
    case TN_KEY_I32:
        gguf_builder_u32(b, (uint32_t)value);
        break;
    case TN_KEY_F32:
        gguf_builder_f32(b, (float)value);
        break;
    case TN_KEY_F64:
        gguf_builder_f64(b, value);
        break;
    default:
        gguf_builder_u64(b, (uint64_t)value);
        break;
    }
}

static tn_model *open_model(uint32_t score_type, uint32_t type_type)
{
    gguf_builder b;
    gguf_builder_init(&b, 3);
    gguf_builder_key_string(&b, "tokenizer.ggml.model", "llama");
    gguf_builder_key(&b, "tokenizer.ggml.add_space_prefix", TN_KEY_BOOL);
    gguf_builder_u8(&b, 0);
    gguf_builder_array(&b, "tokenizer.ggml.tokens", TN_KEY_STRING, TOKENS);
    for (int id = 0; id < TOKENS; id++)
        gguf_builder_string(&b, texts[id]);
    gguf_builder_array(&b, "tokenizer.ggml.token_type", type_type, TOKENS);
    for (int id = 0; id < TOKENS; id++)
        add_element(&b, type_type, id == UNKNOWN ? TLM_TOKEN_UNKNOWN : TLM_TOKEN_NORMAL);
    gguf_builder_array(&b, "tokenizer.ggml.scores", score_type, TOKENS);
    for (int id = 0; id < TOKENS; id++)
        add_element(&b, score_type, scores[id]);
    gguf_builder_align(&b, 32);
    return test_open_built(&b);
}

static const uint32_t whole_types[] = { TN_KEY_U8,  TN_KEY_I8,  TN_KEY_U16, TN_KEY_I16,
                                        TN_KEY_U32, TN_KEY_I32, TN_KEY_U64, TN_KEY_I64 };

static void expect_right(uint32_t score_type, uint32_t type_type)
{
    tn_model *model = open_model(score_type, type_type);
    tlm_tokenizer *tokenizer;
    tn_error err = { 0 };
    if (tlm_tokenizer_create(model, NULL, &tokenizer, &err) != TN_OK)
        fail_msg("types %u and %u: %s", score_type, type_type, err.text);
    test_expect_ids(tokenizer, "by scores", "abc", 3, 0, (const int32_t[]){ A, BC }, 2);
    for (int id = 0; id < TOKENS; id++)
        assert_int_equal(tlm_token_type(tokenizer, id),
                         id == UNKNOWN ? TLM_TOKEN_UNKNOWN : TLM_TOKEN_NORMAL);
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
}

static void numbers_of_every_type_are_converted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(whole_types); i++) {
        expect_right(TN_KEY_F32, whole_types[i]);
        expect_right(whole_types[i], TN_KEY_I32);
    }
    expect_right(TN_KEY_F64, TN_KEY_I32);
}

static void types_are_whole_numbers(void **state)
{
    (void)state;
    static const uint32_t types[] = { TN_KEY_F32, TN_KEY_F64 };
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        tn_model *model = open_model(TN_KEY_F32, types[i]);
        tlm_tokenizer *tokenizer;
        tn_error err = { 0 };
        assert_int_equal(tlm_tokenizer_create(model, NULL, &tokenizer, &err), TN_E_FILE);
        if (!strstr(err.text, "'tokenizer.ggml.token_type', element 0, is of type F"))
            fail_msg("%s", err.text);
        tn_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_type_are_converted),
        cmocka_unit_test(types_are_whole_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
