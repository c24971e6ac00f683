// Text that broke other programs: bytes that are no UTF-8, NULs, very long words, and what looks
// like a special token.
#include "lm_test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pretokenize.h"

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

static const struct {
    const char *says;
    const char *text;
    uint32_t bytes, flags, count;
    int32_t ids[8];
} cases[] = {
    { "no text gives no ids", "", 0, 0, 0, { 0 } },
    { "merges go by rank", "abc", 3, 0, 1, { TEST_ABC } },
    { "a pair without a merge stays", "acb", 3, 0, 3, { 'a', 'c', 'b' } },
    { "the leftmost of equal pairs goes first", "   ", 3, 0, 2, { TEST_TWO_SPACES, ' ' } },
    { "a run's last space belongs to the next word",
      "   b",
      4,
      0,
      3,
      { TEST_TWO_SPACES, ' ', 'b' } },
    { "NUL is a byte like others", "a\0b", 3, 0, 3, { 'a', 0, 'b' } },
    { "a lone start of a character is bytes", "a\xE2\x82", 3, 0, 2, { 'a', TEST_EURO_START } },
    { "bytes that are no UTF-8 are merged like others",
      "\xE2\x82\xE2\x82",
      4,
      0,
      2,
      { TEST_EURO_START, TEST_EURO_START } },
    { "stray continuation bytes", "\x80\xBFz", 3, 0, 3, { 0x80, 0xBF, 'z' } },
    { "an overlong form", "\xC0\x80", 2, 0, 2, { 0xC0, 0x80 } },
    { "a surrogate", "\xED\xA0\x80", 3, 0, 3, { 0xED, 0xA0, 0x80 } },
    { "above U+10FFFF", "\xF4\x90\x80\x80", 4, 0, 4, { 0xF4, 0x90, 0x80, 0x80 } },
    { "a control token is cut out", "ab<|im_end|>c", 13, 0, 3, { TEST_AB, TEST_END, 'c' } },
    { "but not in plain text",
      "<|turn|>",
      8,
      TLM_TEXT_PLAIN,
      8,
      { '<', '|', 't', 'u', 'r', 'n', '|', '>' } },
    { "a user-defined one is, even there",
      "a<user>b",
      8,
      TLM_TEXT_PLAIN,
      3,
      { 'a', TEST_USER, 'b' } },
    { "half a control token is text", "<|turn", 6, 0, 6, { '<', '|', 't', 'u', 'r', 'n' } },
    { "a control token after half of one", "<|<|turn|>", 10, 0, 3, { '<', '|', TEST_TURN } },
    { "words are not merged across a special token",
      "a<user>bc",
      9,
      0,
      4,
      { 'a', TEST_USER, 'b', 'c' } },
};

static void texts_give_these_ids(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        test_expect_ids(tokenizer, cases[i].says, cases[i].text, cases[i].bytes, cases[i].flags,
                        cases[i].ids, cases[i].count);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// A bound that a quadratic way would miss by far, even with sanitizers on a slow machine.
enum { MOST_SECONDS = 10 };

static void expect_soon(const char *unit, size_t repeats, uint32_t tokens)
{
    size_t unit_bytes = strlen(unit), bytes = unit_bytes * repeats;
    char *text = malloc(bytes);
    assert_non_null(text);
    for (size_t i = 0; i < repeats; i++)
        memcpy(text + i * unit_bytes, unit, unit_bytes);
    double begin = seconds();
    int32_t *ids;
    uint32_t count;
    tn_error err = { 0 };
    assert_int_equal(tlm_tokenize(tokenizer, text, bytes, 0, &ids, &count, &err), TN_OK);
    assert_int_equal(count, tokens);
    assert_true(seconds() - begin < MOST_SECONDS);
    tlm_ids_free(tokenizer, ids);
    free(text);
}

static void long_words_take_near_linear_time(void **state)
{
    (void)state;
    expect_soon("a", 1000000, 1000000);
    expect_soon("ab", 500000, 500000);
    expect_soon(" ", 100000, 50000);
    expect_soon("\xE6\xBC\xA2", 300000, 900000);   // a CJK character
    expect_soon("\x80", 1000000, 1000000);
    expect_soon("a\x80", 500000, 1000000);
    expect_soon("<", 1000000, 1000000);
    expect_soon("<|im_end|>", 100000, 100000);
}

// With every way of cutting text into words.
static void any_bytes_come_back(void **state)
{
    (void)state;
    char names[512], *rest = names, *name;
    tlm_pretokenizer_names(names, sizeof names);
    while ((name = strsep(&rest, ", ")) != NULL) {
        if (!*name)
            continue;
        tlm_tokenizer_options options = { .size = sizeof options, .pre = name };
        tlm_tokenizer *t = NULL;
        tn_error err = { 0 };
        if (tlm_tokenizer_create(model, &options, &t, &err) != TN_OK)
            fail_msg("%s", err.text);
        test_expect_round_trips(t, 0);
        test_expect_round_trips(t, TLM_TEXT_PLAIN);
        tlm_tokenizer_destroy(t);
    }
}

static void unknown_flags_are_refused(void **state)
{
    (void)state;
    int32_t *ids = (int32_t *)&state;
    uint32_t count = 1;
    tn_error err = { 0 };
    assert_int_equal(tlm_tokenize(tokenizer, "a", 1, 1u << 31, &ids, &count, &err), TN_E_ARG);
    assert_null(ids);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_give_these_ids),
        cmocka_unit_test(any_bytes_come_back),
        cmocka_unit_test(long_words_take_near_linear_time),
        cmocka_unit_test(unknown_flags_are_refused),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
