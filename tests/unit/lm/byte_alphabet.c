// The letters of byte-level BPE: every byte has one of its own, and comes back from it.
#include "lm_test.h"

#include <string.h>

#include "byte_alphabet.h"

static void every_byte_comes_back_from_its_letter(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        char letter[2], back[2];
        size_t length = tlm_byte_letter((unsigned char)byte, letter);
        assert_int_equal(tlm_letters_to_bytes(letter, length, back), 1);
        assert_int_equal((unsigned char)back[0], byte);
    }
}

static const struct {
    unsigned char byte;
    const char *letter;
} known[] = { { ' ', "\xC4\xA0" },  { '\n', "\xC4\x8A" }, { '!', "!" },
              { '~', "~" },         { 0x7F, "\xC4\xA1" }, { 0xA0, "\xC5\x82" },
              { 0xA1, "\xC2\xA1" }, { 0xAD, "\xC5\x83" }, { 0, "\xC4\x80" },
              { 0xFF, "\xC3\xBF" } };

static void letters_are_those_that_vocabularies_use(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        char letter[2];
        size_t length = tlm_byte_letter(known[i].byte, letter);
        assert_int_equal(length, strlen(known[i].letter));
        assert_memory_equal(letter, known[i].letter, length);
    }
}

static void what_is_no_letter_stays(void **state)
{
    (void)state;
    static const char text[] =
        "a b\xE2\x82\xAC\xC4\xA0\xC2\xAD\xC4";   // space, euro, a soft hyphen, half a letter
    static const char want[] = "a b\xE2\x82\xAC \xC2\xAD\xC4";
    char bytes[sizeof text];
    size_t count = tlm_letters_to_bytes(text, sizeof text - 1, bytes);
    assert_int_equal(count, sizeof want - 1);
    assert_memory_equal(bytes, want, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_comes_back_from_its_letter),
        cmocka_unit_test(letters_are_those_that_vocabularies_use),
        cmocka_unit_test(what_is_no_letter_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
