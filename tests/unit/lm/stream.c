// Ids to text a token at a time: whole characters, and U+FFFD for what can never become one.
#include "lm_test.h"

#include <string.h>

#include "utf8.h"

#define FFFD "\xEF\xBF\xBD"

static tn_model *model;
static tlm_tokenizer *tokenizer;

static int open_all(void **state)
{
    (void)state;
    tn_error err = { 0 };
    model = test_tiny_model();
    if (tlm_tokenizer_create(model, NULL, &tokenizer, &err) != TN_OK)
        fail_msg("%s", err.text);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    tlm_tokenizer_destroy(tokenizer);
    tn_model_close(model);
    return 0;
}

static tlm_stream *create(uint32_t flags)
{
    tlm_stream *stream = NULL;
    tn_error err = { 0 };
    if (tlm_stream_create(tokenizer, flags, &stream, &err) != TN_OK)
        fail_msg("%s", err.text);
    return stream;
}

static const struct {
    const char *says;
    uint32_t count;
    int32_t ids[8];
    const char *steps[8];   // what each token hands out
    const char *rest;       // what the end does
} cases[] = {
    { "letters come at once", 2, { 'h', TEST_AB }, { "h", "ab" }, "" },
    { "a character over two tokens comes whole",
      2,
      { TEST_EURO_START, 0xAC },
      { "", "\xE2\x82\xAC" },
      "" },
    { "an emoji over four tokens",
      4,
      { 0xF0, 0x9F, 0x98, 0x80 },
      { "", "", "", "\xF0\x9F\x98\x80" },
      "" },
    { "two characters in turn",
      4,
      { TEST_EURO_START, 0xAC, 0xC3, 0xA9 },
      { "", "\xE2\x82\xAC", "", "\xC3\xA9" },
      "" },
    { "a broken-off character shows once", 2, { TEST_EURO_START, 'x' }, { "", FFFD "x" }, "" },
    { "a stray continuation byte shows at once", 1, { 0x80 }, { FFFD }, "" },
    { "an impossible byte shows at once", 2, { 0xFF, 'a' }, { FFFD, "a" }, "" },
    { "a surrogate is three broken bytes", 3, { 0xED, 0xA0, 0x80 }, { "", FFFD FFFD, FFFD }, "" },
    { "an overlong form", 3, { 0xE0, 0x80, 0x80 }, { "", FFFD FFFD, FFFD }, "" },
    { "the end within a character", 2, { 'a', TEST_EURO_START }, { "a", "" }, FFFD },
    { "a new start after a broken one",
      3,
      { 0xF0, TEST_EURO_START, 0xAC },
      { "", FFFD, "\xE2\x82\xAC" },
      "" },
    { "control tokens give nothing and part nothing",
      3,
      { TEST_EURO_START, TEST_END, 0xAC },
      { "", "", "\xE2\x82\xAC" },
      "" },
    { "user-defined tokens show", 1, { TEST_USER }, { "<user>" }, "" },
    { "ids that are no tokens give nothing", 3, { -1, TEST_TOKENS, 'a' }, { "", "", "a" }, "" },
    { "NUL is a character", 1, { 0 }, { NULL }, "" },
};

static void expect_text(const char *says, const char *got, size_t bytes, const char *want)
{
    size_t want_bytes = want ? strlen(want) : 1;
    if (bytes != want_bytes || memcmp(got, want ? want : "", bytes) != 0)
        fail_msg("%s: got \"%.*s\", want \"%s\"", says, (int)bytes, got, want ? want : "NUL");
}

static void tokens_hand_out_whole_characters(void **state)
{
    (void)state;
    tlm_stream *stream = create(0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t bytes;
        for (uint32_t t = 0; t < cases[i].count; t++) {
            const char *text = tlm_stream_push(stream, cases[i].ids[t], &bytes);
            expect_text(cases[i].says, text, bytes, cases[i].steps[t]);
        }
        const char *rest = tlm_stream_finish(stream, &bytes);
        expect_text(cases[i].says, rest, bytes, cases[i].rest);
    }
    tlm_stream_destroy(stream);
}

// A family of four joined by U+200D, a flag of two letters, a hand with a colour, a heart with a
// variant, one after the other; a token a byte. Each call hands out one character or nothing.
static void emoji_in_a_row_come_whole(void **state)
{
    (void)state;
    static const char text[] = "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D"
                               "\xF0\x9F\x91\xA7\xE2\x80\x8D\xF0\x9F\x91\xA6"
                               "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA"
                               "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD"
                               "\xE2\x9D\xA4\xEF\xB8\x8F!";
    tlm_stream *stream = create(0);
    size_t done = 0, bytes, length;
    for (size_t i = 0; i < sizeof text - 1; i++) {
        const char *out = tlm_stream_push(stream, (unsigned char)text[i], &bytes);
        assert_memory_equal(out, text + done, bytes);
        if (bytes > 0) {
            assert_int_equal(tlm_utf8_next(out, bytes, &length), TLM_UTF8_WHOLE);
            assert_int_equal(length, bytes);
        }
        done += bytes;
    }
    assert_int_equal(done, sizeof text - 1);
    tlm_stream_finish(stream, &bytes);
    assert_int_equal(bytes, 0);
    tlm_stream_destroy(stream);
}

static void raw_hands_out_bytes_at_once(void **state)
{
    (void)state;
    tlm_stream *stream = create(TLM_STREAM_RAW);
    size_t bytes;
    const char *text = tlm_stream_push(stream, TEST_EURO_START, &bytes);
    expect_text("raw", text, bytes, "\xE2\x82");
    text = tlm_stream_finish(stream, &bytes);
    expect_text("raw end", text, bytes, "");
    tlm_stream_destroy(stream);
}

static void control_tokens_show_when_asked_for(void **state)
{
    (void)state;
    tlm_stream *stream = create(TLM_STREAM_CONTROL);
    size_t bytes;
    const char *text = tlm_stream_push(stream, TEST_END, &bytes);
    expect_text("control", text, bytes, "<|im_end|>");
    tlm_stream_destroy(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_hand_out_whole_characters),
        cmocka_unit_test(emoji_in_a_row_come_whole),
        cmocka_unit_test(raw_hands_out_bytes_at_once),
        cmocka_unit_test(control_tokens_show_when_asked_for),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
