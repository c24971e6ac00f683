// Text from plugins, made safe; errors of plugins, made into a tn_error.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/plugin_internal.h"

enum { ROOM = 64 };
static const struct {
    const char *says, *from;
    size_t from_bytes, room;
    const char *to;
    bool is_same;
} cases[] = {
    { "plain text stays as it is", "Grün 漢字", ROOM, ROOM, "Grün 漢字", true },
    { "an empty text is fine", "", ROOM, ROOM, "", true },
    { "controls are shown as bytes", "a\n\x1b[1m\x7f", ROOM, ROOM, "a\\x0a\\x1b[1m\\x7f", false },
    { "what is not UTF-8 is shown as bytes", "K\xfcr \xc3", ROOM, ROOM, "K\\xfcr \\xc3", false },
    { "an overlong form is not UTF-8", "\xc0\xaf", ROOM, ROOM, "\\xc0\\xaf", false },
    { "a surrogate is not UTF-8", "\xed\xa0\x80", ROOM, ROOM, "\\xed\\xa0\\x80", false },
    { "a change of direction is shown", "\xe2\x80\xaez", ROOM, ROOM, "\\xe2\\x80\\xaez", false },
    { "text without an end is taken whole", "abcd", 3, ROOM, "abc", false },
    { "a long text is cut", "abcdef", ROOM, 4, "abc", false },
    { "it is cut at a character's border", "aü", ROOM, 3, "a", false },
    { "room for the end alone", "abc", ROOM, 1, "", false },
};

static void foreign_text_becomes_a_line_that_is_safe_to_show(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char to[ROOM];
        bool is_same = tni_text_make_safe(to, cases[i].room, cases[i].from, cases[i].from_bytes);
        if (strcmp(to, cases[i].to) != 0 || is_same != cases[i].is_same)
            fail_msg("%s: got '%s' (%d), expected '%s'", cases[i].says, to, is_same, cases[i].to);
    }
}

static void names_that_people_type_have_few_characters(void **state)
{
    (void)state;
    assert_true(tni_text_is_name("my_npu-2"));
    assert_false(tni_text_is_name(""));
    assert_false(tni_text_is_name("NPU"));
    assert_false(tni_text_is_name("a b"));
    assert_false(tni_text_is_name("ü"));
}

static void an_error_of_a_plugin_has_its_name_in_front(void **state)
{
    (void)state;
    static const struct {
        tnp_status status;
        const char *text;
        tn_status gives;
        const char *says;
    } errors[] = {
        { TNP_E_DEVICE_MEMORY, "2 GiB asked", TN_E_DEVICE_MEMORY, "gpu0: 2 GiB asked" },
        { TNP_E_TIMEOUT, "", TN_E_TIMEOUT, "gpu0: TN_E_TIMEOUT, no reason given" },
        { 4711, "huh", TN_E_INTERNAL, "gpu0: a fault of the plugin, unknown status 4711: huh" },
        { -1, "", TN_E_INTERNAL,
          "gpu0: a fault of the plugin, unknown status -1: no reason given" },
        { TNP_OK, "fine", TN_E_INTERNAL,
          "gpu0: a fault of the plugin, success where it failed: fine" },
        { TNP_E_DATA, "row\n9", TN_E_DATA, "gpu0: row\\x0a9" },
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        tn_error err;
        tnp_error said = tni_plugin_error();
        memcpy(said.text, errors[i].text, strlen(errors[i].text) + 1);
        assert_int_equal(tni_fail_plugin(&err, errors[i].status, "gpu0", &said), errors[i].gives);
        assert_int_equal(err.status, errors[i].gives);
        assert_string_equal(err.text, errors[i].says);
    }
}

static void a_call_that_the_plugin_tells_too_is_told_once(void **state)
{
    (void)state;
    static const struct {
        const char *who, *text, *says;
    } errors[] = {
        { "gpu0: open", "open: no power", "gpu0: open: no power" },
        { "gpu0: open", "opened before", "gpu0: open: opened before" },
        { "gpu0: open", "gpu0: no power", "gpu0: open: gpu0: no power" },
        { "device_count", "device_count: no driver", "device_count: no driver" },
        { "device_count", "no driver", "device_count: no driver" },
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        tn_error err;
        tnp_error said = tni_plugin_error();
        memcpy(said.text, errors[i].text, strlen(errors[i].text) + 1);
        assert_int_equal(tni_fail_plugin(&err, TNP_E_IO, errors[i].who, &said), TN_E_IO);
        assert_string_equal(err.text, errors[i].says);
    }
}

static void an_error_text_without_an_end_is_cut(void **state)
{
    (void)state;
    tn_error err;
    tnp_error said = tni_plugin_error();
    memset(said.text, '\xff', sizeof said.text);
    assert_int_equal(tni_fail_plugin(&err, TNP_E_IO, "gpu0", &said), TN_E_IO);
    assert_true(strnlen(err.text, sizeof err.text) < sizeof err.text);
    assert_int_equal(tni_fail_plugin(NULL, TNP_E_IO, "gpu0", &said), TN_E_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_text_becomes_a_line_that_is_safe_to_show),
        cmocka_unit_test(names_that_people_type_have_few_characters),
        cmocka_unit_test(an_error_of_a_plugin_has_its_name_in_front),
        cmocka_unit_test(a_call_that_the_plugin_tells_too_is_told_once),
        cmocka_unit_test(an_error_text_without_an_end_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
