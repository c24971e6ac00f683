// Settings that no plugin asked for are told, once each, with what could have been meant. The
// plugin "services" of the tests asks for `word`, `absent` and `disable` when it starts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "folder.h"
#include "places.h"
#include "plugin/plugin_internal.h"

static const char services[] = TN_TEST_PLUGINS "/services.so";

typedef struct settings_case {
    const char *config;
    char logged[4096];
} settings_case;

static void keep_warning(void *context, int32_t level, const char *text)
{
    settings_case *c = context;
    size_t used = strlen(c->logged);
    if (level <= TN_LOG_WARNING)
        snprintf(c->logged + used, sizeof c->logged - used, "%s\n", text);
}

static tn_runtime *create_with(settings_case *c, const char *const *settings, uint32_t count)
{
    tn_runtime *runtime;
    tn_error err;
    tn_runtime_options options = { .size = sizeof options,
                                   .threads = 1,
                                   .plugin_paths = (const char *const[]){ services },
                                   .plugin_path_count = 1,
                                   .settings = settings,
                                   .setting_count = count,
                                   .config = c->config,
                                   .log_context = c,
                                   .log = keep_warning };
    if (tn_runtime_create(&options, &runtime, &err) != TN_OK)
        fail_msg("%s", err.text);
    return runtime;
}

static void open_served(tn_runtime *runtime)
{
    tn_error err;
    for (uint32_t i = 0; i < tn_runtime_device_count(runtime); i++) {
        tn_device *device = tn_runtime_device(runtime, i);
        if (strcmp(device->plugin, "services") == 0)
            assert_int_equal(tni_device_open(device, &err), TN_OK);
    }
}

static void a_key_that_the_plugin_never_asked_for_is_told_when_a_device_is_opened(void **state)
{
    (void)state;
    settings_case c = { 0 };
    static const char *const settings[] = { "plugin.services.wrod=a", "plugin.services.word=Tür",
                                            "plugin.services.colour=blue",
                                            "plugin.services.disable=no" };
    tn_runtime *runtime = create_with(&c, settings, 4);
    assert_string_equal(c.logged, "");   // perhaps it will ask when a device is opened
    open_served(runtime);
    open_served(runtime);
    assert_string_equal(c.logged,
                        "setting plugin.services.wrod=a: ignored, plugin services has no setting "
                        "'wrod'; did you mean 'word'?\n"
                        "setting plugin.services.colour=blue: ignored, plugin services has no "
                        "setting 'colour'; it knows word, absent\n");
    tn_runtime_destroy(runtime);
}

static void a_key_of_several_sources_is_told_once_with_the_one_that_counts(void **state)
{
    (void)state;
    settings_case c = { 0 };
    test_folder folder;
    char expected[2 * TEST_PATH_BYTES];
    test_folder_make(&folder);
    test_folder_text(&folder, "tenon.ini",
                     "[plugin.services]\nword = hidden\nwrod = hidden\nabsnet = 1\n");
    c.config = test_folder_path(&folder, "tenon.ini");
    static const char *const settings[] = { "plugin.services.wrod=a", "plugin.services.word=Tür" };
    tn_runtime *runtime = create_with(&c, settings, 2);
    open_served(runtime);
    snprintf(expected, sizeof expected,
             "setting plugin.services.wrod=a: ignored, plugin services has no setting 'wrod'; did "
             "you mean 'word'?\n"
             "%s/tenon.ini: [plugin.services] absnet = 1: ignored, plugin services has no setting "
             "'absnet'; did you mean 'absent'?\n",
             folder.path);
    assert_string_equal(c.logged, expected);
    tn_runtime_destroy(runtime);
    test_folder_remove(&folder);
}

static void settings_of_a_plugin_that_is_not_there_are_told_at_the_creation(void **state)
{
    (void)state;
    settings_case c = { 0 };
    static const char *const settings[] = { "plugin.service.word=a", "plugin.service.other=b",
                                            "plugin.quite_another.sha256="
                                            "00000000000000000000000000000000"
                                            "00000000000000000000000000000000",
                                            "plugin.quite_other.disable=yes" };
    tn_runtime *runtime = create_with(&c, settings, 4);
    assert_non_null(strstr(c.logged, "setting plugin.service.word=a: ignored, no plugin 'service' "
                                     "was found; did you mean 'services'?\n"));
    assert_null(strstr(c.logged, ".other"));
    assert_non_null(strstr(c.logged, "no plugin 'quite_other' was found\n"));
    assert_null(strstr(c.logged, "quite_another"));   // a pin alone is no mistake
    tn_runtime_destroy(runtime);
}

static void what_is_too_long_to_compare_is_told_without_a_suggestion(void **state)
{
    (void)state;
    settings_case c = { 0 };
    static const char *const settings[] = {
        "plugin.services.word=Tür",
        "plugin.services.0123456789012345678901234567890123456789012345678901234567890123456789=a"
    };
    tn_runtime *runtime = create_with(&c, settings, 2);
    open_served(runtime);
    assert_non_null(strstr(c.logged, "it knows word, absent\n"));
    tn_runtime_destroy(runtime);
}

static void more_keys_than_are_kept_and_odd_ones_do_no_harm(void **state)
{
    (void)state;
    tn_runtime runtime = { 0 };
    tni_plugin plugin = { .runtime = &runtime, .manifest = { .name = "npu" } };
    char key[TNI_ASKED_BYTES + 8];
    assert_int_equal(pthread_mutex_init(&runtime.asking, NULL), 0);
    assert_null(tni_plugin_ask(&plugin, "line\nend"));
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = 0;
    assert_null(tni_plugin_ask(&plugin, key));
    assert_int_equal(plugin.asked_count, 0);
    for (int i = 0; i < 2 * TNI_ASKED_KEYS; i++) {
        snprintf(key, sizeof key, "key%d", i);
        assert_null(tni_plugin_ask(&plugin, key));
        assert_null(tni_plugin_ask(&plugin, key));
    }
    assert_int_equal(plugin.asked_count, TNI_ASKED_KEYS);
    pthread_mutex_destroy(&runtime.asking);
}

int main(void)
{
    test_places();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_that_the_plugin_never_asked_for_is_told_when_a_device_is_opened),
        cmocka_unit_test(a_key_of_several_sources_is_told_once_with_the_one_that_counts),
        cmocka_unit_test(settings_of_a_plugin_that_is_not_there_are_told_at_the_creation),
        cmocka_unit_test(what_is_too_long_to_compare_is_told_without_a_suggestion),
        cmocka_unit_test(more_keys_than_are_kept_and_odd_ones_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
