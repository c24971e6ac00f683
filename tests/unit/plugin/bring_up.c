// A plugin whose devices are known from before is loaded when one of them is opened, and what has
// become of its file in between is noticed then.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "folder.h"
#include "places.h"
#include "plugin/plugin_internal.h"

static test_folder folder;

static int begin(void **state)
{
    (void)state;
    test_places();
    test_folder_make(&folder);
    setenv("XDG_CACHE_HOME", test_folder_path(&folder, "cache"), 1);
    setenv("TENON_TEST_TRACE", test_folder_path(&folder, "trace"), 1);
    setenv("TENON_TEST_NAME", test_folder_path(&folder, "name"), 1);
    test_folder_text(&folder, "name", "First");
    return 0;
}

static int end(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static int loads(void)
{
    struct stat about;
    return stat(test_folder_path(&folder, "trace"), &about) == 0 ? (int)about.st_size : 0;
}

static void put(const char *name, const char *from)
{
    char new[TEST_PATH_BYTES], to[TEST_PATH_BYTES];
    snprintf(to, sizeof to, "%s/%s", folder.path, name);
    test_folder_copy(&folder, "new", from);
    snprintf(new, sizeof new, "%s/new", folder.path);
    assert_int_equal(rename(new, to), 0);
}

static tn_runtime *create(const char *setting)
{
    char path[TEST_PATH_BYTES];
    tn_runtime *runtime;
    tn_error err;
    const char *paths[] = { path }, *settings[] = { setting };
    snprintf(path, sizeof path, "%s/p.so", folder.path);
    tn_runtime_options options = { .size = sizeof options,
                                   .threads = 1,
                                   .plugin_paths = paths,
                                   .plugin_path_count = 1,
                                   .settings = settings,
                                   .setting_count = setting != NULL };
    if (tn_runtime_create(&options, &runtime, &err) != TN_OK)
        fail_msg("%s", err.text);
    return runtime;
}

static void expect(tn_runtime *runtime, tn_status status, const char *words)
{
    tn_error err = { 0 };
    tn_status got = tni_device_open(tn_runtime_find_device(runtime, "good0"), &err);
    if (got != status || !strstr(err.text, words))
        fail_msg("%d: %s", (int)got, err.text);
}

static void a_plugin_is_loaded_when_a_device_of_it_is_opened(void **state)
{
    (void)state;
    put("p.so", TN_MISBEHAVING "/good.so");
    tn_runtime *runtime = create(NULL);
    assert_int_equal(loads(), 1);   // in another process
    assert_null(tn_runtime_find_device(runtime, "good0")->table);
    expect(runtime, TN_OK, "");
    assert_int_equal(loads(), 2);
    expect(runtime, TN_OK, "");
    assert_int_equal(loads(), 2);
    tn_runtime_destroy(runtime);
}

static void a_file_replaced_before_it_is_loaded_is_tried_again(void **state)
{
    (void)state;
    put("p.so", TN_MISBEHAVING "/good.so");
    tn_runtime *runtime = create(NULL);
    put("p.so", TN_MISBEHAVING "/newer/good_newer_LOAD.so");   // crashes
    expect(runtime, TN_E_PLUGIN, "p.so: the file was replaced, and the new one ");
    expect(runtime, TN_E_PLUGIN, " while it was loaded");
    put("p.so", TN_MISBEHAVING "/exit_at_load.so");
    expect(runtime, TN_E_PLUGIN, "the file was replaced by plugin exit_at_load");
    put("p.so", TN_TEST_PLUGINS "/no_manifest.so");
    expect(runtime, TN_E_PLUGIN, "not a plugin of Tenon");
    assert_int_equal(remove(test_folder_path(&folder, "p.so")), 0);
    expect(runtime, TN_E_PLUGIN, "the file is gone: No such file or directory");
    put("p.so", TN_MISBEHAVING "/newer/good_newer_NOWHERE.so");
    int before = loads();
    expect(runtime, TN_OK, "");
    assert_int_equal(loads(), before + 2);   // tried, and loaded
    tn_runtime_destroy(runtime);
}

static void a_file_replaced_after_it_was_loaded_is_noticed(void **state)
{
    (void)state;
    put("p.so", TN_MISBEHAVING "/good.so");
    tn_runtime *runtime = create(NULL), *second;
    expect(runtime, TN_OK, "");
    put("p.so", TN_MISBEHAVING "/newer/good_newer_NOWHERE.so");
    second = create(NULL);   // its devices are those that another process told
    expect(second, TN_E_PLUGIN, "another version is loaded already");
    tn_runtime_destroy(second);
    tn_runtime_destroy(runtime);
}

static void a_pin_is_held_against_the_file_that_is_loaded(void **state)
{
    (void)state;
    char hash[TNI_DIGITS_BYTES], setting[128];
    put("p.so", TN_MISBEHAVING "/good.so");
    assert_true(tni_plugin_hash(test_folder_path(&folder, "p.so"), hash));
    snprintf(setting, sizeof setting, "plugin.good.sha256=%s", hash);
    tn_runtime *runtime = create(setting);
    put("p.so", TN_MISBEHAVING "/newer/good_newer_NOWHERE.so");
    int before = loads();
    expect(runtime, TN_E_PLUGIN, "p.so: its SHA-256 is ");
    assert_int_equal(loads(), before);
    tn_runtime_destroy(runtime);
}

static void a_device_that_is_not_there_any_more_is_told_and_listed_anew(void **state)
{
    (void)state;
    put("p.so", TN_MISBEHAVING "/good.so");
    tn_runtime_destroy(create(NULL));
    test_folder_text(&folder, "name", "Second");   // as if a card had been changed
    tn_runtime *runtime = create(NULL);
    assert_string_equal(tn_runtime_find_device(runtime, "good0")->info.name, "First");
    expect(runtime, TN_E_DEVICE_LOST,
           "good0: is not there any more: plugin good offers 1 other device now");
    tn_runtime_destroy(runtime);
    runtime = create(NULL);
    assert_string_equal(tn_runtime_find_device(runtime, "good0")->info.name, "Second");
    expect(runtime, TN_OK, "");
    tn_runtime_destroy(runtime);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(a_plugin_is_loaded_when_a_device_of_it_is_opened),
        CASE(a_file_replaced_before_it_is_loaded_is_tried_again),
        CASE(a_file_replaced_after_it_was_loaded_is_noticed),
        CASE(a_pin_is_held_against_the_file_that_is_loaded),
        CASE(a_device_that_is_not_there_any_more_is_told_and_listed_anew),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
