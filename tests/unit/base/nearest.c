// Which word was probably meant.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/nearest.h"

static const char *nearest_of(const char *given, const char *const *words)
{
    tni_nearest nearest = tni_nearest_to(given);
    for (; *words; words++)
        tni_nearest_try(&nearest, *words);
    return nearest.word;
}

static void a_slip_is_found(void **state)
{
    (void)state;
    static const char *const words[] = { "run", "chat", "perplexity", "plan", NULL };
    static const struct {
        const char *given, *want;
    } cases[] = {
        { "chat", "chat" },    // itself
        { "cht", "chat" },     // a letter lacks
        { "chaat", "chat" },   // one is too much
        { "chet", "chat" },    // one is another
        { "perplexety", "perplexity" },
        { "plam", "plan" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(nearest_of(cases[i].given, words), cases[i].want);
}

static void more_than_half_wrong_is_no_slip(void **state)
{
    (void)state;
    static const char *const words[] = { "abcd", NULL };
    assert_string_equal(nearest_of("abxy", words), "abcd");   // just half
    assert_null(nearest_of("axyz", words));
    assert_null(nearest_of("", words));
}

static void of_words_that_are_as_near_the_first_is_taken(void **state)
{
    (void)state;
    static const char *const words[] = { "bat", "cat", "at", NULL };
    assert_string_equal(nearest_of("rat", words), "bat");
}

static void a_word_is_lent_and_a_nearer_one_replaces_it(void **state)
{
    (void)state;
    static const char *const words[] = { "planner", "planet", "plane", NULL };
    assert_ptr_equal(nearest_of("plane", words), words[2]);
}

static void long_words_are_near_to_none(void **state)
{
    (void)state;
    char longest[TNI_NEAREST_BYTES], too_long[TNI_NEAREST_BYTES + 1];
    memset(longest, 'a', sizeof longest);
    memset(too_long, 'a', sizeof too_long);
    longest[sizeof longest - 1] = too_long[sizeof too_long - 1] = 0;
    const char *words[] = { too_long, longest, NULL };
    assert_ptr_equal(nearest_of(longest, words), longest);
    assert_null(nearest_of(too_long, words));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slip_is_found),
        cmocka_unit_test(more_than_half_wrong_is_no_slip),
        cmocka_unit_test(of_words_that_are_as_near_the_first_is_taken),
        cmocka_unit_test(a_word_is_lent_and_a_nearer_one_replaces_it),
        cmocka_unit_test(long_words_are_near_to_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
