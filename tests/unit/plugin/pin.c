// A pin written into tenon.ini: one line changes, the rest stays byte for byte.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "places.h"
#include "plugin/plugin_internal.h"

static test_folder folder;
static char hash[TNI_DIGITS_BYTES];
static const char plain[] = TN_TEST_PLUGINS "/plain.so";   // of name "stub"

static int begin(void **state)
{
    (void)state;
    test_places();
    test_folder_make(&folder);
    return !tni_plugin_hash(plain, hash);
}

static int end(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

// # stands for the hash.
static const struct {
    const char *says, *before, *after;
} cases[] = {
    { "no file", NULL, "[plugin.stub]\nsha256 = #\n" },
    { "an empty file", "", "[plugin.stub]\nsha256 = #\n" },
    { "other sections", "; mine\n[plugin.cpu]\nthreads = 4\n",
      "; mine\n[plugin.cpu]\nthreads = 4\n\n[plugin.stub]\nsha256 = #\n" },
    { "no end of the last line", "[plugin.cpu]\nthreads = 4",
      "[plugin.cpu]\nthreads = 4\n\n[plugin.stub]\nsha256 = #\n" },
    { "a section without the key", "[plugin.stub] ; ours\nword = a\n[plugin.cpu]\n",
      "[plugin.stub] ; ours\nsha256 = #\nword = a\n[plugin.cpu]\n" },
    { "a section and no end", "[plugin.stub]", "[plugin.stub]\nsha256 = #\n" },
    { "another pin",
      "[plugin.stub]\n  sha256=0000000000000000000000000000000000000000000000000000000000000000  "
      "; old\nword = a\n",
      "[plugin.stub]\n  sha256=#  ; old\nword = a\n" },
    { "two pins, of which the later counts",
      "[plugin.stub]\n"
      "sha256 = 1000000000000000000000000000000000000000000000000000000000000000\n"
      "[plugins]\norder = a\n[plugin.stub]\n"
      "sha256: 2000000000000000000000000000000000000000000000000000000000000000\n",
      "[plugin.stub]\n"
      "sha256 = 1000000000000000000000000000000000000000000000000000000000000000\n"
      "[plugins]\norder = a\n[plugin.stub]\nsha256: #\n" },
    { "a pin of another",
      "[plugin.stub2]\nsha256 = "
      "1000000000000000000000000000000000000000000000000000000000000000\n",
      "[plugin.stub2]\nsha256 = "
      "1000000000000000000000000000000000000000000000000000000000000000\n\n[plugin.stub]\nsha256 = "
      "#\n" },
    { "in a comment", "[plugin.stub]\n; sha256 = 1\n# sha256 = 2\n",
      "[plugin.stub]\nsha256 = #\n; sha256 = 1\n# sha256 = 2\n" },
    { "lines that end in CR LF", "[plugin.stub]\r\nword = a\r\n",
      "[plugin.stub]\r\nsha256 = #\r\nword = a\r\n" },
    { "a byte order mark", "\xEF\xBB\xBF[plugin.stub]\nword = a\n",
      "\xEF\xBB\xBF[plugin.stub]\nsha256 = #\nword = a\n" },
};

static void write_with_hash(const char *from, char *to, size_t room)
{
    const char *mark = strstr(from, "#\n") ? strstr(from, "#\n") : strstr(from, "#\r");
    if (!mark)
        mark = strstr(from, "#  ;");
    assert_non_null(mark);
    snprintf(to, room, "%.*s%s%s", (int)(mark - from), from, hash, mark + 1);
}

static void one_line_changes_and_the_rest_stays(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_plugin_pin_info info = { .size = sizeof info };
        char ini[TEST_PATH_BYTES], expected[4096];
        tn_error err = { 0 };
        snprintf(ini, sizeof ini, "%s/tenon%zu.ini", folder.path, i);
        if (cases[i].before) {
            char name[32];
            snprintf(name, sizeof name, "tenon%zu.ini", i);
            test_folder_text(&folder, name, cases[i].before);
        }
        write_with_hash(cases[i].after, expected, sizeof expected);
        for (int round = 0; round < 2; round++) {   // once more changes nothing
            if (tn_plugin_pin(plain, ini, &info, &err) != TN_OK)
                fail_msg("%s: %s", cases[i].says, err.text);
            size_t count;
            char *got = (char *)test_read_file(ini, &count);
            if (count != strlen(expected) || memcmp(got, expected, count) != 0)
                fail_msg("%s: '%.*s'", cases[i].says, (int)count, got);
            free(got);
        }
        assert_string_equal(info.name, "stub");
        assert_string_equal(info.sha256, hash);
        assert_string_equal(info.config, ini);
    }
}

static void the_users_file_is_made_and_counts(void **state)
{
    (void)state;
    tn_plugin_pin_info info = { .size = sizeof info };
    tn_runtime *runtime;
    tn_error err;
    struct stat about;
    setenv("XDG_CONFIG_HOME", test_folder_path(&folder, "config"), 1);
    setenv("TENON_PLUGIN_PATH", TN_TEST_PLUGINS "/plain_newer.so", 1);
    assert_int_equal(tn_plugin_pin(plain, NULL, &info, &err), TN_OK);
    assert_string_equal(info.config, test_folder_path(&folder, "config/tenon/tenon.ini"));
    assert_int_equal(stat(info.config, &about), 0);
    assert_int_equal(tn_runtime_create(NULL, &runtime, &err), TN_OK);
    tn_plugin_info plugin = { .size = sizeof plugin };
    tn_runtime_plugin(runtime, 0, &plugin);
    assert_int_equal(plugin.state, TN_PLUGIN_REJECTED);
    assert_non_null(strstr(plugin.reason, "its SHA-256 is "));
    tn_runtime_destroy(runtime);
}

static void what_cannot_be_is_told_and_changes_nothing(void **state)
{
    (void)state;
    tn_error err;
    char ini[TEST_PATH_BYTES];
    snprintf(ini, sizeof ini, "%s/tenon.ini", folder.path);
    assert_int_equal(tn_plugin_pin(NULL, ini, NULL, &err), TN_E_ARG);
    assert_int_equal(tn_plugin_pin("/nowhere.so", ini, NULL, &err), TN_E_FILE);
    assert_string_equal(err.text, "/nowhere.so: No such file or directory");
    assert_int_equal(tn_plugin_pin(folder.path, ini, NULL, &err), TN_E_FILE);
    assert_int_equal(tn_plugin_pin(TN_TEST_PLUGINS "/no_manifest.so", ini, NULL, &err),
                     TN_E_PLUGIN);
    assert_int_equal(tn_plugin_pin(plain, "/proc/none/tenon.ini", NULL, &err), TN_E_IO);
    assert_int_equal(tn_plugin_pin(plain, "", NULL, &err), TN_E_FILE);
    assert_int_equal(access(ini, F_OK), -1);
    test_folder_text(&folder, "tenon.ini", "[plugin.stub]\nwhat is this\n");
    assert_int_equal(tn_plugin_pin(plain, ini, NULL, &err), TN_E_FILE);
    assert_non_null(strstr(err.text, "tenon.ini:2: "));
    size_t count;
    char *got = (char *)test_read_file(ini, &count);
    assert_int_equal(count, 27);
    free(got);
    setenv("XDG_CONFIG_HOME", "", 1);
    unsetenv("HOME");
    assert_int_equal(tn_plugin_pin(plain, NULL, NULL, &err), TN_E_FILE);
    assert_non_null(strstr(err.text, "there is no place for a tenon.ini"));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(one_line_changes_and_the_rest_stays),
        CASE(the_users_file_is_made_and_counts),
        CASE(what_cannot_be_is_told_and_changes_nothing),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
