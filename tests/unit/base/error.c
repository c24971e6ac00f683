// The sentence of an error: filled, cut at characters, and the names of statuses.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/macros.h"

static void what_is_shown_of_foreign_text_is_one_safe_line(void **state)
{
    (void)state;
    tn_error err = { 0 };
    assert_int_equal(tn_error_set(&err, TN_E_FILE, "a\x1b[31m\nb\xff \xc3\xbc"), TN_E_FILE);
    assert_int_equal(err.status, TN_E_FILE);
    assert_string_equal(err.text, "a\\x1b[31m\\x0ab\\xff \xc3\xbc");
    assert_int_equal(tn_error_set(NULL, TN_E_ARG, "nobody asks"), TN_E_ARG);
    assert_int_equal(tni_fail(&err, TN_E_ARG, "no '%s'", "x\ty"), TN_E_ARG);
    assert_string_equal(err.text, "no 'x\\x09y'");
}

static void a_failure_fills_status_and_sentence(void **state)
{
    (void)state;
    tn_error err = { 0 };
    assert_int_equal(tni_fail(&err, TN_E_SHAPE, "%s has %d dims", "'x'", 9), TN_E_SHAPE);
    assert_int_equal(err.status, TN_E_SHAPE);
    assert_string_equal(err.text, "'x' has 9 dims");
    assert_int_equal(tni_fail_memory(&err, "a table", 42), TN_E_HOST_MEMORY);
    assert_string_equal(err.text, "not enough memory for a table (42 bytes)");
}

static void without_an_error_to_fill_the_status_is_answered_alone(void **state)
{
    (void)state;
    assert_int_equal(tni_fail(NULL, TN_E_DATA, "%d", 1), TN_E_DATA);
    assert_int_equal(tni_fail_memory(NULL, "x", 1), TN_E_HOST_MEMORY);
}

static void an_error_may_be_told_again_in_itself(void **state)
{
    (void)state;
    tn_error err = { 0 };
    tni_fail(&err, TN_E_IO, "inner");
    tni_fail(&err, TN_E_FILE, "outer: %s", err.text);
    assert_string_equal(err.text, "outer: inner");
}

static void copies_of_a_text_end_at_a_character(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        const char *text;
        size_t room;
        const char *want;
    } cases[] = {
        { "a text that fits", "abc", 4, "abc" },
        { "a text one byte too long", "abcd", 4, "abc" },
        { "the empty text", "", 1, "" },
        { "room for the NUL alone", "abc", 1, "" },
        { "a character of two bytes that ends where the room does", "a\xc3\xa9", 4, "a\xc3\xa9" },
        { "one of two bytes, cut", "a\xc3\xa9", 3, "a" },
        { "one of three bytes, cut before its last", "a\xe2\x82\xac", 4, "a" },
        { "one of three bytes, cut after its first", "a\xe2\x82\xac", 3, "a" },
        { "one of four bytes, cut before its last", "\xf0\x9f\x98\x80", 4, "" },
        { "nothing but ends of characters", "\x80\x80\x80\x80", 3, "" },
        { "cut between two characters", "\xc3\xa9\xc3\xa9", 3, "\xc3\xa9" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        char room[16];
        memset(room, '#', sizeof room);
        tni_copy_text(room, cases[i].room, cases[i].text);
        if (strcmp(room, cases[i].want) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", cases[i].says, room, cases[i].want);
        for (size_t at = cases[i].room; at < sizeof room; at++)
            if (room[at] != '#')
                fail_msg("%s: wrote past its room", cases[i].says);
    }
    char untouched = '#';
    tni_copy_text(&untouched, 0, "abc");
    assert_int_equal(untouched, '#');
}

static void a_formatted_text_ends_at_a_character(void **state)
{
    (void)state;
    char room[6];
    tni_format_text(room, sizeof room, "%s-%d", "ab", 7);
    assert_string_equal(room, "ab-7");
    tni_format_text(room, sizeof room, "%s", "abc\xe2\x82\xac");
    assert_string_equal(room, "abc");
    tni_format_text(room, sizeof room, "%s", "ab\xe2\x82\xac");
    assert_string_equal(room, "ab\xe2\x82\xac");
}

// Every length around the room of the text, with characters of one to four bytes.
static void a_sentence_that_is_too_long_loses_its_middle_at_characters(void **state)
{
    (void)state;
    static const char *const characters[] = { "x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
    for (size_t c = 0; c < TN_COUNT_OF(characters); c++)
        for (size_t count = 100; count < 520; count++) {
            char text[4 * 520 + 16] = "begin ";
            size_t step = strlen(characters[c]);
            for (size_t i = 0; i < count; i++)
                memcpy(text + 6 + i * step, characters[c], step + 1);
            strcat(text, " end");
            tn_error err;
            memset(&err, '#', sizeof err);
            tni_fail(&err, TN_E_ARG, "%s", text);
            if (strlen(text) < sizeof err.text) {
                assert_string_equal(err.text, text);
                continue;
            }
            const char *gap = strstr(err.text, "\xe2\x80\xa6");
            size_t bytes = strlen(err.text);
            assert_non_null(gap);
            assert_true(bytes >
                        sizeof err.text - 8);   // no more is lost than a character at each border
            size_t head = (size_t)(gap - err.text), tail = bytes - head - 3;
            assert_memory_equal(err.text, text, head);
            assert_string_equal(gap + 3, text + strlen(text) - tail);
            assert_int_equal((head - 6) % step, 0);
            assert_int_equal((tail - 4) % step, 0);
        }
}

static void a_sentence_of_any_length_is_safe(void **state)
{
    (void)state;
    char *text = malloc(100001);
    assert_non_null(text);
    memset(text, 'b', 100000);
    text[100000] = 0;
    tn_error err;
    tni_fail(&err, TN_E_ARG, "%s%s", text, text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    free(text);
}

static void every_status_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(tn_status_name(TN_OK), "TN_OK");
    assert_string_equal(tn_status_name(TN_E_CANCELLED), "TN_E_CANCELLED");
    assert_string_equal(tn_status_name(TN_E_SHAPE), "TN_E_SHAPE");
    assert_string_equal(tn_status_name(TN_E_GRAPH), "TN_E_GRAPH");
    assert_string_equal(tn_status_name(13), "TN_E_INTERNAL");
    assert_string_equal(tn_status_name(-1), "TN_E_INTERNAL");
}

static void the_version_is_that_of_the_headers(void **state)
{
    (void)state;
    char want[64];
    snprintf(want, sizeof want, "%d.%d.%d", TN_VERSION_MAJOR, TN_VERSION_MINOR, TN_VERSION_PATCH);
    assert_string_equal(tn_version(), want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shown_of_foreign_text_is_one_safe_line),
        cmocka_unit_test(a_failure_fills_status_and_sentence),
        cmocka_unit_test(without_an_error_to_fill_the_status_is_answered_alone),
        cmocka_unit_test(an_error_may_be_told_again_in_itself),
        cmocka_unit_test(copies_of_a_text_end_at_a_character),
        cmocka_unit_test(a_formatted_text_ends_at_a_character),
        cmocka_unit_test(a_sentence_that_is_too_long_loses_its_middle_at_characters),
        cmocka_unit_test(a_sentence_of_any_length_is_safe),
        cmocka_unit_test(every_status_has_its_name),
        cmocka_unit_test(the_version_is_that_of_the_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
