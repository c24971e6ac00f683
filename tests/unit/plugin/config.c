// tenon.ini and settings of the application: what is read, what wins, what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "folder.h"
#include "plugin/plugin_internal.h"

typedef struct config_case {
    test_folder folder;
    tni_arena arena;
    tni_config config;
    tni_log log;
    char logged[1024];
} config_case;

static void keep_line(void *context, int32_t level, const char *text)
{
    config_case *c = context;
    (void)level;
    snprintf(c->logged, sizeof c->logged, "%s", text);
}

static int set_up(void **state)
{
    static config_case c;
    c = (config_case){ .log = { keep_line, &c } };
    test_folder_make(&c.folder);
    tni_arena_init(&c.arena, NULL);
    tni_config_init(&c.config, &c.arena, &c.log);
    *state = &c;
    return 0;
}

static int tear_down(void **state)
{
    config_case *c = *state;
    tni_config_finish(&c->config);
    tni_arena_finish(&c->arena);
    test_folder_remove(&c->folder);
    return 0;
}

static tn_status read_text(config_case *c, const char *name, const char *text, tn_error *err)
{
    test_folder_text(&c->folder, name, text);
    return tni_config_read(&c->config, test_folder_path(&c->folder, name), true, err);
}

static const char *value_of(config_case *c, const char *plugin, const char *key)
{
    const tni_setting *setting = tni_config_find(&c->config, plugin, key);
    return setting ? setting->value : "(none)";
}

static void paths_orders_and_settings_are_read(void **state)
{
    config_case *c = *state;
    tn_error err;
    assert_int_equal(
        read_text(
            c, "a.ini",
            "; a comment\r\n[plugins]\r\npath = /a b/ü\r\n  path=/c\r\norder = x , y,,z\ndisable=\n"
            "[plugin.cpu]\n\tactivations : f32 ; remark\nempty =\n",
            &err),
        TN_OK);
    assert_int_equal(c->config.paths.count, 2);
    assert_string_equal(c->config.paths.items[0].text, "/a b/ü");
    assert_string_equal(c->config.paths.items[1].text, "/c");
    assert_int_equal(c->config.order.count, 3);
    assert_string_equal(c->config.order.items[0].text, "x");
    assert_string_equal(c->config.order.items[2].text, "z");
    assert_int_equal(c->config.disabled.count, 0);
    assert_string_equal(value_of(c, "cpu", "activations"), "f32");
    assert_string_equal(value_of(c, "cpu", "empty"), "");
    assert_string_equal(value_of(c, "gpu", "activations"), "(none)");
}

static void the_application_wins_over_files_and_the_first_file_over_the_next(void **state)
{
    config_case *c = *state;
    tn_error err;
    assert_int_equal(tni_config_set(&c->config, "plugin.cpu.a=app=1", &err), TN_OK);
    assert_int_equal(tni_config_set(&c->config, "plugin.cpu.a=app=2", &err), TN_OK);
    assert_int_equal(tni_config_set(&c->config, "plugin.cpu.x.y=dotted", &err), TN_OK);
    assert_int_equal(read_text(c, "user.ini", "[plugin.cpu]\na=user\nb=user 1\nb=user 2\n", &err),
                     TN_OK);
    assert_int_equal(
        read_text(c, "system.ini", "[plugin.cpu]\na=system\nb=system\nc=system\n", &err), TN_OK);
    assert_string_equal(value_of(c, "cpu", "a"), "app=2");   // within one source the last
    assert_string_equal(value_of(c, "cpu", "b"), "user 2");
    assert_string_equal(value_of(c, "cpu", "c"), "system");
    assert_string_equal(value_of(c, "cpu", "x.y"), "dotted");
}

static void a_plugin_is_disabled_by_a_list_or_its_own_section(void **state)
{
    config_case *c = *state;
    tn_error err;
    assert_int_equal(tni_config_set(&c->config, "plugin.b.disable=no", &err), TN_OK);
    assert_int_equal(tni_config_set(&c->config, "plugins.disable=d", &err), TN_OK);
    assert_int_equal(
        read_text(c, "a.ini", "[plugins]\ndisable=a,b\n[plugin.c]\ndisable=Yes\n", &err), TN_OK);
    assert_non_null(strstr(tni_config_disabled_by(&c->config, "a"), "a.ini"));
    assert_null(tni_config_disabled_by(&c->config, "b"));   // the nearer word
    assert_non_null(tni_config_disabled_by(&c->config, "c"));
    assert_string_equal(tni_config_disabled_by(&c->config, "d"), "settings");
    assert_null(tni_config_disabled_by(&c->config, "e"));
}

static void what_is_unknown_is_ignored_with_a_warning(void **state)
{
    config_case *c = *state;
    tn_error err;
    assert_int_equal(read_text(c, "a.ini", "[plugins]\nordre = a\n", &err), TN_OK);
    assert_non_null(strstr(c->logged, "a.ini:2: ignored, [plugins] has no key 'ordre'"));
    assert_int_equal(read_text(c, "b.ini", "[elsewhere]\nkey = a\n", &err), TN_OK);
    assert_non_null(strstr(c->logged, "b.ini:2: ignored, no section [elsewhere]"));
    // Without a key, too; the lines are those of the sections.
    static const char empty[] =
        "[plugins]\n[plugin.cpu]\n[pulgin.x]\n; none\n[plugin.b]\nkey = a\n";
    assert_int_equal(read_text(c, "c.ini", empty, &err), TN_OK);
    assert_non_null(strstr(c->logged, "c.ini:3: ignored, no section [pulgin.x]"));
    assert_int_equal(read_text(c, "e.ini", "[plugin.b]\n\n[last]", &err), TN_OK);
    assert_non_null(strstr(c->logged, "e.ini:3: ignored, no section [last]"));
    assert_int_equal(read_text(c, "d.ini", "[plugin.X]\n", &err), TN_E_FILE);
    assert_non_null(strstr(err.text, "d.ini:1: [plugin.X]: a plugin's name is"));
}

static const struct {
    const char *says, *text, *reason;
} broken[] = {
    { "a line that is nothing", "[plugins]\nwhat\n", ":2: neither [section] nor key = value" },
    { "a section without an end", "[plugins\n", ":1: " },
    { "a pin that is no hash", "[plugin.a]\nsha256 = abc\n", ":2: [plugin.a] sha256 = abc: 64" },
    { "a truth that is none", "\n\n[plugin.a]\ndisable = perhaps\n",
      ":4: [plugin.a] disable = perhaps" },
    { "a plugin's name that is none", "[plugin.A b]\nx = 1\n",
      ":2: [plugin.A b]: a plugin's name" },
    { "an entry behind a section", "[plugin.cpu] sha256 = abc\n",
      ":1: something behind [section]" },
    { "lines that end as no line does", "[plugin.cpu]\rdisable = yes\r", ":1: a carriage return" },
    { "a section too long", "[plugin.a1234567890123456789012345678901234567890123456789]\nx = 1\n",
      ":1: a section of more than 49 bytes" },
    { "a key too long", "[plugin.a]\nk1234567890123456789012345678901234567890123456789 : 1\n",
      ":2: a key of more than 49 bytes" },
    { "a line beyond the reader's buffer",
      "[plugins]\npath = "
      "/1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901"
      "234567890"
      "12345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012"
      "345678901234567890\n",
      ":2: a line of " },
};

static void what_stands_behind_a_section_may_be_a_remark(void **state)
{
    config_case *c = *state;
    tn_error err;
    assert_int_equal(
        read_text(c, "a.ini", "\xEF\xBB\xBF[plugin.a] ; one\nx = 1\n[plugin.b]  \r\nx = 2\n", &err),
        TN_OK);
    assert_string_equal(value_of(c, "a", "x"), "1");
    assert_string_equal(value_of(c, "b", "x"), "2");
}

static void too_many_entries_are_told_as_that(void **state)
{
    config_case *c = *state;
    enum { COUNT = 4097, LINE = 16 };
    char *text = test_malloc((size_t)COUNT * LINE + LINE), *at = text;
    at += sprintf(at, "[plugin.a]\n");
    for (int i = 0; i < COUNT; i++)
        at += sprintf(at, "k%d = 1\n", i);
    tn_error err;
    assert_int_equal(read_text(c, "a.ini", text, &err), TN_E_FILE);
    assert_non_null(strstr(err.text, ":4098: one more than the 4096 that are possible"));
    test_free(text);
}

static void a_broken_file_is_refused_with_its_line(void **state)
{
    config_case *c = *state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        tn_error err = { 0 };
        if (read_text(c, "a.ini", broken[i].text, &err) != TN_E_FILE ||
            !strstr(err.text, broken[i].reason))
            fail_msg("%s: got '%s', expected '%s'", broken[i].says, err.text, broken[i].reason);
    }
    tn_error err;
    test_folder_write(&c->folder, "nul.ini", "[plugins]\nord\0er = a\n", 22);
    assert_int_equal(
        tni_config_read(&c->config, test_folder_path(&c->folder, "nul.ini"), true, &err),
        TN_E_FILE);
    assert_int_equal(tni_config_read(&c->config, c->folder.path, false, &err),
                     TN_E_FILE);   // a folder
}

static void a_missing_file_is_an_error_only_when_required(void **state)
{
    config_case *c = *state;
    tn_error err;
    assert_int_equal(
        tni_config_read(&c->config, test_folder_path(&c->folder, "none.ini"), false, &err), TN_OK);
    assert_int_equal(
        tni_config_read(&c->config, test_folder_path(&c->folder, "none.ini"), true, &err),
        TN_E_FILE);
}

static void a_setting_of_another_form_is_refused(void **state)
{
    config_case *c = *state;
    static const char *const bad[] = { "plugin.cpu.word",
                                       "word=1",
                                       "plugin.cpu=1",
                                       "plugin.CPU.word=1",
                                       "plugin..word=1",
                                       "plugin.cpu.=1",
                                       "plugins.ordre=a",
                                       "elsewhere.word=1",
                                       "",
                                       "=",
                                       "plugin.cpu.disable=?" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tn_error err = { 0 };
        if (tni_config_set(&c->config, bad[i], &err) != TN_E_ARG || !strstr(err.text, bad[i]))
            fail_msg("'%s': '%s'", bad[i], err.text);
    }
}

static void the_users_file_is_found_by_the_environment(void **state)
{
    config_case *c = *state;
    tn_error err;
    test_folder_sub(&c->folder, ".config/tenon");
    test_folder_sub(&c->folder, "xdg/tenon");
    test_folder_text(&c->folder, ".config/tenon/tenon.ini", "[plugin.cpu]\nfrom = home\n");
    test_folder_text(&c->folder, "xdg/tenon/tenon.ini", "[plugin.cpu]\nfrom = xdg\n");
    setenv("HOME", c->folder.path, 1);
    setenv("XDG_CONFIG_HOME", "relative", 1);   // not absolute: as if it were not set
    assert_int_equal(tni_config_read_all(&c->config, NULL, &err), TN_OK);
    assert_string_equal(value_of(c, "cpu", "from"), "home");
    tni_config_finish(&c->config);
    tni_config_init(&c->config, &c->arena, &c->log);
    setenv("XDG_CONFIG_HOME", test_folder_path(&c->folder, "xdg"), 1);
    assert_int_equal(tni_config_read_all(&c->config, NULL, &err), TN_OK);
    assert_string_equal(value_of(c, "cpu", "from"), "xdg");
}

static tn_status read_with(const tn_allocator *allocator, void *context)
{
    config_case *c = context;
    tni_arena arena;
    tni_config config;
    tn_error err;
    tni_arena_init(&arena, allocator);
    tni_config_init(&config, &arena, &c->log);
    tn_status status = tni_config_set(&config, "plugin.cpu.a=1", &err);
    if (status == TN_OK)
        status = tni_config_read(&config, test_folder_path(&c->folder, "a.ini"), true, &err);
    tni_config_finish(&config);
    tni_arena_finish(&arena);
    assert_true(status == TN_OK || status == TN_E_HOST_MEMORY);
    return status;
}

static void no_failing_allocation_leaves_anything_behind(void **state)
{
    config_case *c = *state;
    test_folder_text(&c->folder, "a.ini",
                     "[plugins]\npath=/a\npath=/b\norder=a,b\ndisable=c\n[plugin.b]\nx=1\ny=2\n");
    for_each_failing_allocation(read_with, c);
}

// Of several sources the first counts, of several lines of one the last.
static void the_cache_of_packs_is_set_up(void **state)
{
    config_case *c = *state;
    tn_error err;
    assert_int_equal(c->config.pack_cache.value, 0);
    assert_int_equal(c->config.pack_cache_mib.value, 16384);
    assert_int_equal(tni_config_set(&c->config, "packs.cache_mib=7", &err), TN_OK);
    assert_int_equal(read_text(c, "a.ini", "[packs]\ncache=no\ncache = on\ncache_mib=9\n", &err),
                     TN_OK);
    assert_int_equal(read_text(c, "b.ini", "[packs]\ncache=off\n", &err), TN_OK);
    assert_int_equal(c->config.pack_cache.value, 1);
    assert_int_equal(c->config.pack_cache_mib.value, 7);
    assert_int_equal(read_text(c, "c.ini", "[packs]\nfile=x\n", &err), TN_OK);
    assert_non_null(strstr(c->logged, "[packs] has no key 'file' (cache, cache_mib)"));
    static const char *const wrong[] = { "packs.cache=",       "packs.cache=2",
                                         "packs.cache_mib=0",  "packs.cache_mib=-1",
                                         "packs.cache_mib=1x", "packs.cache_mib=1073741825",
                                         "packs.size=1",       "packs=on" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tni_config_set(&c->config, wrong[i], &err), TN_E_ARG);
    assert_int_equal(c->config.pack_cache.value, 1);
    assert_int_equal(c->config.pack_cache_mib.value, 7);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(paths_orders_and_settings_are_read),
        TEST(the_cache_of_packs_is_set_up),
        TEST(the_application_wins_over_files_and_the_first_file_over_the_next),
        TEST(what_stands_behind_a_section_may_be_a_remark),
        TEST(too_many_entries_are_told_as_that),
        TEST(a_plugin_is_disabled_by_a_list_or_its_own_section),
        TEST(what_is_unknown_is_ignored_with_a_warning),
        TEST(a_broken_file_is_refused_with_its_line),
        TEST(a_missing_file_is_an_error_only_when_required),
        TEST(a_setting_of_another_form_is_refused),
        TEST(the_users_file_is_found_by_the_environment),
        TEST(no_failing_allocation_leaves_anything_behind),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
