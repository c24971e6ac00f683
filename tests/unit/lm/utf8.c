// Characters, broken ones and cut ones, by tables 3-7 and 3-8 of the Unicode standard.
#include "lm_test.h"

#include "utf8.h"

static const struct {
    const char *says, *text;
    size_t bytes;
    tlm_utf8 kind;
    size_t length;
} cases[] = {
    { "a letter", "a", 1, TLM_UTF8_WHOLE, 1 },
    { "NUL", "\0", 1, TLM_UTF8_WHOLE, 1 },
    { "the first of two bytes", "\xC2\x80", 2, TLM_UTF8_WHOLE, 2 },
    { "the last of three bytes", "\xEF\xBF\xBF", 3, TLM_UTF8_WHOLE, 3 },
    { "the last of all", "\xF4\x8F\xBF\xBF", 4, TLM_UTF8_WHOLE, 4 },
    { "an overlong NUL", "\xC0\x80", 2, TLM_UTF8_BROKEN, 1 },
    { "an overlong form of three bytes", "\xE0\x9F\xBF", 3, TLM_UTF8_BROKEN, 1 },
    { "an overlong form of four bytes", "\xF0\x8F\xBF\xBF", 4, TLM_UTF8_BROKEN, 1 },
    { "a surrogate", "\xED\xA0\x80", 3, TLM_UTF8_BROKEN, 1 },
    { "above U+10FFFF", "\xF4\x90\x80\x80", 4, TLM_UTF8_BROKEN, 1 },
    { "a continuation byte", "\x80", 1, TLM_UTF8_BROKEN, 1 },
    { "a byte that never stands", "\xFF", 1, TLM_UTF8_BROKEN, 1 },
    { "broken off after two", "\xE2\x82x", 3, TLM_UTF8_BROKEN, 2 },
    { "broken off after three", "\xF0\x9F\x98x", 4, TLM_UTF8_BROKEN, 3 },
    { "cut after one", "\xE2", 1, TLM_UTF8_CUT, 1 },
    { "cut after three", "\xF0\x9F\x98", 3, TLM_UTF8_CUT, 3 },
};

static void bytes_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t length = 0;
        tlm_utf8 kind = tlm_utf8_next(cases[i].text, cases[i].bytes, &length);
        if (kind != cases[i].kind || length != cases[i].length)
            fail_msg("%s: kind %d, %zu bytes", cases[i].says, (int)kind, length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(bytes_are_told_apart) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
