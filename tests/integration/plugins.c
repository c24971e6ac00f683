// A runtime beside plugins and files that are faulty in every way a folder can hold: it goes on,
// lists the good ones in the same order every time, and has one line of reason for each other.
//
// Built with TN_TEST_PLUGINS, the folder of the plugins of tests/plugins/. Called as `program list
// PATH…` it prints what a runtime with these paths found: so the tests see other environments,
// places and rights.
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <tenon/device.h>

#include "failing_alloc.h"
#include "folder.h"
#include "log_lines.h"
#include "places.h"

static char own_path[TEST_PATH_BYTES];   // of this program

typedef struct runtime_case {
    const char *paths[4];
    const char *settings[4];
    const char *config;
    uint32_t flags;
    const tn_allocator *allocator;
    log_lines lines;
    tn_error err;
} runtime_case;

static tn_status create(runtime_case *c, tn_runtime **out_runtime)
{
    uint32_t paths = 0, settings = 0;
    while (paths < 4 && c->paths[paths])
        paths++;
    while (settings < 4 && c->settings[settings])
        settings++;
    c->lines = (log_lines){ 0 };
    tn_runtime_options options = { .size = sizeof options,
                                   .threads = 2,
                                   .plugin_paths = c->paths,
                                   .plugin_path_count = paths,
                                   .settings = c->settings,
                                   .setting_count = settings,
                                   .config = c->config,
                                   .allocator = c->allocator,
                                   .log = log_lines_keep,
                                   .log_context = &c->lines,
                                   .flags = c->flags };
    return tn_runtime_create(&options, out_runtime, &c->err);
}

static tn_runtime *create_well(runtime_case *c)
{
    tn_runtime *runtime = NULL;
    if (create(c, &runtime) != TN_OK)
        fail_msg("%s", c->err.text);
    return runtime;
}

// The candidate of this file name; the test fails without one.
static tn_plugin_info candidate(const tn_runtime *runtime, const char *file)
{
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        const char *slash = strrchr(info.path, '/');
        if (slash && strcmp(slash + 1, file) == 0)
            return info;
    }
    fail_msg("no candidate %s", file);
    return (tn_plugin_info){ 0 };
}

static void expect(const tn_runtime *runtime, const char *file, uint32_t state, const char *reason)
{
    tn_plugin_info info = candidate(runtime, file);
    if (info.state != state || !strstr(info.reason, reason) || strchr(info.reason, '\n'))
        fail_msg("%s: state %u, '%s'; expected %u, '%s'", file, info.state, info.reason, state,
                 reason);
}

static tn_device_info device_named(const tn_runtime *runtime, const char *name)
{
    tn_device_info info = { .size = sizeof info };
    const tn_device *device = tn_runtime_find_device(runtime, name);
    if (!device)
        fail_msg("no device %s", name);
    tn_device_describe(device, &info);
    return info;
}

static const char *built(const char *file)
{
    static char paths[4][TEST_PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, TEST_PATH_BYTES, "%s/%s", TN_TEST_PLUGINS, file);
    return path;
}

// -------------------------------------------------------------------------------------- the folder

static const struct {
    const char *file;
    uint32_t state;
    const char *reason;
} faulty[] = {
    { "abi_newer.so", TN_PLUGIN_REJECTED, "needs a host of ABI 1.999, this one speaks 1.0" },
    { "abi_other_major.so", TN_PLUGIN_REJECTED, "built for ABI 2.0, this host speaks 1.0" },
    { "bad_names.so", TN_PLUGIN_LOADED,
      "4 devices; device 3 is left out: unknown kind 77; device 4 is left out: a fault of the "
      "plugin, its id "
      "0 is that of device 0, which is used" },
    { "clash_a.so", TN_PLUGIN_LOADED, "1 device" },
    { "clash_b.so", TN_PLUGIN_LOADED, "1 device" },
    { "many1.so", TN_PLUGIN_LOADED, "1 device" },
    { "many_devices.so", TN_PLUGIN_LOADED,
      "256 devices; it says 10000 devices, the first 256 are looked at" },
    { "missing_library.so", TN_PLUGIN_REJECTED, "libtest_not_there.so" },
    { "missing_symbol.so", TN_PLUGIN_REJECTED, "tenon_plugin_query" },
    { "needs_cpu.so", TN_PLUGIN_REJECTED, "CPU feature 31" },
    { "no_devices.so", TN_PLUGIN_LOADED, "0 devices; no such chip in this machine" },
    { "no_manifest.so", TN_PLUGIN_REJECTED, "not a plugin of Tenon" },
    { "null_calls.so", TN_PLUGIN_REJECTED, "lacks the call claim" },
    { "plain.so", TN_PLUGIN_LOADED, "1 device" },
    { "plain_newer.so", TN_PLUGIN_SHADOWED, "stub 1.0 of " },
    { "query_null.so", TN_PLUGIN_REJECTED, "query: this build is for Tuesdays" },
    { "query_silent.so", TN_PLUGIN_REJECTED, "query: TN_E_INTERNAL, no reason given" },
    { "services.so", TN_PLUGIN_LOADED, "1 device" },
    { "start_fails.so", TN_PLUGIN_REJECTED, "start: no driver\\x1b[2J\\x0a at all \\xff" },
    { "start_nothing.so", TN_PLUGIN_REJECTED,
      "start: a fault of the plugin, success without an instance" },
    { "table_no_note.so", TN_PLUGIN_REJECTED, "another manifest" },
    { "table_other_abi.so", TN_PLUGIN_REJECTED, "its table is of ABI 1.7, its manifest of 1.0" },
    { "table_small.so", TN_PLUGIN_REJECTED, "its table has 64 bytes" },
    { "twin_a.so", TN_PLUGIN_LOADED, "2 devices" },
    { "twin_b.so", TN_PLUGIN_LOADED,
      "1 device; device 0 is left out: 'Twin' is offered by plugin twin_a, which comes first; "
      "device 1 may be "
      "twin_a1 of plugin twin_a: both are called 'Twin', and no PCI address or UUID tells; both "
      "are used" },
    { "undefined_symbol.so", TN_PLUGIN_REJECTED, "function_that_nobody_has" },
    { "unknown_status.so", TN_PLUGIN_REJECTED, "unknown status 4711: xxx" },
};

static void each_faulty_plugin_has_its_reason_and_the_good_ones_work(void **state)
{
    (void)state;
    runtime_case c = { .paths = { TN_TEST_PLUGINS }, .settings = { "plugin.services.word=Tür" } };
    tn_runtime *runtime = create_well(&c);
    for (size_t i = 0; i < sizeof faulty / sizeof *faulty; i++)
        expect(runtime, faulty[i].file, faulty[i].state, faulty[i].reason);
    // Of the four devices of bad_names that are left out, of the twins that may be one, and of the
    // 10,000.
    assert_int_equal(c.lines.warnings, 6);

    assert_string_equal(device_named(runtime, "served").plugin, "services");
    assert_string_equal(device_named(runtime, "clash_a0").driver, "clash_a");
    assert_string_equal(device_named(runtime, "clash_b0").driver, "clash_b");
    assert_string_equal(device_named(runtime, "twin_b1").description, "Twin");
    assert_null(tn_runtime_find_device(runtime, "twin_b0"));
    tn_shadowed_info shadowed = { .size = sizeof shadowed };
    assert_int_equal(tn_runtime_shadowed_count(runtime), 1);
    tn_runtime_shadowed(runtime, 0, &shadowed);
    assert_string_equal(shadowed.name, "twin_b0");
    assert_string_equal(shadowed.description, "Twin");
    assert_string_equal(shadowed.plugin, "twin_b");
    assert_string_equal(shadowed.by, "twin_a0");
    assert_string_equal(shadowed.reason, "which comes first");
    assert_int_equal(shadowed.kind, TN_KIND_GPU);
    tn_runtime_destroy(runtime);
}

static void what_devices_say_of_themselves_is_made_safe(void **state)
{
    (void)state;
    runtime_case c = { .paths = { built("bad_names.so") } };
    tn_runtime *runtime = create_well(&c);
    assert_int_equal(strlen(device_named(runtime, "bad_names0").description), 127);
    assert_string_equal(device_named(runtime, "bad_names1").description, "K\\xfcrbis");
    assert_string_equal(device_named(runtime, "bad_names2").description, "a\\x09b\\x1b[31mc");
    tn_device_info good = device_named(runtime,
                                       "good-one");   // the name of no other that is listed
    assert_true(good.flops_per_s == 0);
    expect(runtime, "bad_names.so", TN_PLUGIN_LOADED,
           "device 5 is left out: a fault of the plugin, it wrote beyond");
    expect(runtime, "bad_names.so", TN_PLUGIN_LOADED,
           "device 6 is left out: TN_E_DEVICE_LOST, no reason given");
    static const char warned_of[] = "plugin bad_names: device 6 is left out: TN_E_DEVICE_LOST";
    const char *first_time = strstr(c.lines.text, warned_of);
    assert_non_null(first_time);
    assert_null(strstr(first_time + 1, warned_of));
    tn_runtime_destroy(runtime);
    // So at every start: what is kept of a plugin keeps nothing quiet.
    tn_runtime_destroy(create_well(&c));
    assert_non_null(strstr(c.lines.text, "plugin bad_names: device 4 is left out: a fault of the "
                                         "plugin, its id 0 is that of device 0, which is used"));
}

static void names_of_devices_are_unique(void **state)
{
    (void)state;
    runtime_case c = { .paths = { built("many_devices.so"),
                                  built("many1.so") } };   // both have a "many10" by number
    tn_runtime *runtime = create_well(&c);
    assert_string_equal(device_named(runtime, "many255").plugin, "many");
    const char *of_many1 = device_named(runtime, "many1_0").plugin,
               *of_many = device_named(runtime, "many10").plugin;
    assert_string_equal(of_many1, "many1");
    assert_string_equal(of_many, "many");
    tn_runtime_destroy(runtime);
}

static void the_lists_are_the_same_every_time(void **state)
{
    (void)state;
    char first[65536] = "";
    for (int round = 0; round < 3; round++) {
        char now[65536] = "";
        size_t used = 0;
        runtime_case c = { .paths = { TN_TEST_PLUGINS } };
        tn_runtime *runtime = create_well(&c);
        for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
            tn_plugin_info info = { .size = sizeof info };
            tn_runtime_plugin(runtime, i, &info);
            used += (size_t)snprintf(now + used, sizeof now - used, "%s %u %s\n", info.path,
                                     info.state, info.reason);
        }
        for (uint32_t i = 0; i < tn_runtime_device_count(runtime); i++) {
            tn_device_info info = { .size = sizeof info };
            tn_device_describe(tn_runtime_device(runtime, i), &info);
            used += (size_t)snprintf(now + used, sizeof now - used, "%s\n", info.name);
        }
        tn_runtime_destroy(runtime);
        if (round == 0)
            strcpy(first, now);
        assert_string_equal(now, first);
    }
}

static void accessors_past_the_end_give_nothing(void **state)
{
    (void)state;
    runtime_case c = { .paths = { built("plain.so") } };
    tn_runtime *runtime = create_well(&c);
    tn_plugin_info info = { .size = sizeof info, .state = 9, .path = "x" };
    tn_runtime_plugin(runtime, tn_runtime_plugin_count(runtime), &info);
    assert_int_equal(info.state, 0);
    assert_null(info.path);
    tn_place_info place = { .size = sizeof place, .file_count = 9, .path = "x" };
    tn_runtime_place(runtime, tn_runtime_place_count(runtime), &place);
    assert_int_equal(place.file_count, 0);
    assert_null(place.path);
    tn_shadowed_info shadowed = { .size = sizeof shadowed, .name = "x" };
    tn_runtime_shadowed(runtime, tn_runtime_shadowed_count(runtime), &shadowed);
    assert_null(shadowed.name);
    assert_int_equal(tn_runtime_shadowed_count(NULL), 0);
    assert_null(tn_runtime_device(runtime, tn_runtime_device_count(runtime)));
    assert_null(tn_runtime_find_device(runtime, "nobody"));
    assert_true(tn_runtime_threads(runtime) >= 1);
    tn_runtime_destroy(runtime);
}

// ----------------------------------------------------------------------- files that are no plugins

static void files_that_are_no_plugins_are_refused_without_a_hang(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    size_t count;
    unsigned char *plain = test_read_file(built("plain.so"), &count);
    test_folder_write(&folder, "empty.so", "", 0);
    test_folder_text(&folder, "script.so", "INPUT(libc.so.6)\n");
    test_folder_write(&folder, "header.so", plain, 40);
    test_folder_write(&folder, "half.so", plain, 300);
    test_folder_write(&folder, "sparse.so", plain, 64);
    assert_int_equal(truncate(test_folder_path(&folder, "sparse.so"), INT64_C(5) << 30), 0);
    plain[4] = 1;   // ELFCLASS32
    test_folder_write(&folder, "narrow.so", plain, count);
    plain[4] = 2;
    plain[18] = 243;   // e_machine
    plain[19] = 0;
    test_folder_write(&folder, "riscv.so", plain, count);
    free(plain);
    test_folder_sub(&folder, "folder.so");
    assert_int_equal(mkfifo(test_folder_path(&folder, "fifo.so"), 0600), 0);
    assert_int_equal(symlink("nowhere", test_folder_path(&folder, "dangling.so")), 0);
    assert_int_equal(symlink("loop.so", test_folder_path(&folder, "loop.so")), 0);
    assert_int_equal(symlink("/dev/zero", test_folder_path(&folder, "zero.so")), 0);
    test_folder_copy(&folder, "good one é.so", built("plain.so"));
    test_folder_copy(&folder, "plain.so.1", built("plain.so"));

    runtime_case c = { .paths = { folder.path } };
    tn_runtime *runtime = create_well(&c);
    expect(runtime, "empty.so", TN_PLUGIN_REJECTED, "not an ELF file (0 bytes)");
    expect(runtime, "script.so", TN_PLUGIN_REJECTED, "not an ELF file");
    expect(runtime, "header.so", TN_PLUGIN_REJECTED, "truncated");
    expect(runtime, "half.so", TN_PLUGIN_REJECTED, "truncated");
    expect(runtime, "sparse.so", TN_PLUGIN_REJECTED, "not a plugin of Tenon");
    expect(runtime, "narrow.so", TN_PLUGIN_REJECTED, "not a 64-bit");
    expect(runtime, "riscv.so", TN_PLUGIN_REJECTED, "the manifest is for machine");
    expect(runtime, "folder.so", TN_PLUGIN_REJECTED, "a folder, not a regular file");
    expect(runtime, "fifo.so", TN_PLUGIN_REJECTED, "a FIFO, not a regular file");
    expect(runtime, "dangling.so", TN_PLUGIN_REJECTED, "a link that leads nowhere");
    expect(runtime, "loop.so", TN_PLUGIN_REJECTED, "symbolic links");
    expect(runtime, "zero.so", TN_PLUGIN_REJECTED, "a device, not a regular file");
    expect(runtime, "good one é.so", TN_PLUGIN_LOADED, "1 device");
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        assert_null(strstr(info.path, "plain.so.1"));
    }
    assert_int_equal(c.lines.warnings, 0);
    tn_runtime_destroy(runtime);
    test_folder_remove(&folder);
}

// ------------------------------------------------------------------------------------- named files

static void a_named_file_that_is_refused_fails_the_creation(void **state)
{
    (void)state;
    static const struct {
        const char *file, *reason;
    } cases[] = {
        { "no_manifest.so", "not a plugin of Tenon" },
        { "start_fails.so", "no driver" },
        { "absent.so", "No such file" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        runtime_case c = { .paths = { built("plain.so"), built(cases[i].file) } };
        tn_runtime *runtime = (tn_runtime *)&c;
        assert_int_equal(create(&c, &runtime), TN_E_PLUGIN);
        assert_null(runtime);
        assert_int_equal(c.err.status, TN_E_PLUGIN);
        assert_non_null(strstr(c.err.text, cases[i].file));
        assert_non_null(strstr(c.err.text, cases[i].reason));
    }
}

static void a_caller_that_wants_the_list_gets_a_refused_file_in_it(void **state)
{
    (void)state;
    runtime_case c = { .paths = { built("plain.so"), built("no_manifest.so") },
                       .flags = TN_RUNTIME_LIST_REFUSED };
    tn_runtime *runtime = create_well(&c);
    expect(runtime, "no_manifest.so", TN_PLUGIN_REJECTED, "not a plugin of Tenon");
    assert_int_equal(candidate(runtime, "no_manifest.so").is_named, 1);
    expect(runtime, "plain.so", TN_PLUGIN_LOADED, "");
    assert_int_equal(c.lines.warnings, 0);
    tn_runtime_destroy(runtime);
    c.flags |= 1u << 1;
    assert_int_equal(create(&c, &runtime), TN_E_ARG);
    assert_null(runtime);
    assert_string_equal(c.err.text,
                        "tn_runtime_create: flags 0x3, reserved 0: these are not known");
}

static void a_file_in_two_places_is_one_candidate(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    test_folder_copy(&folder, "one.so", built("plain.so"));
    assert_int_equal(symlink("one.so", test_folder_path(&folder, "two.so")), 0);
    runtime_case c = { .paths = { folder.path, test_folder_path(&folder, "two.so") } };
    tn_runtime *runtime = create_well(&c);
    tn_plugin_info first = candidate(runtime, "one.so"), second = { .size = sizeof second };
    assert_int_equal(first.is_named, 1);   // by its other name
    tn_runtime_plugin(runtime, 1, &second);
    assert_true(!second.path || !strstr(second.path, "two.so"));
    tn_runtime_destroy(runtime);
    test_folder_remove(&folder);
}

static void a_relative_path_of_the_caller_is_made_absolute(void **state)
{
    (void)state;
    test_folder folder;
    char before[TEST_PATH_BYTES];
    test_folder_make(&folder);
    test_folder_copy(&folder, "near.so", built("plain.so"));
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder.path), 0);
    runtime_case c = { .paths = { "near.so" } };
    tn_runtime *runtime = create_well(&c);
    assert_int_equal(candidate(runtime, "near.so").path[0], '/');
    expect(runtime, "near.so", TN_PLUGIN_LOADED, "1 device");
    tn_runtime_destroy(runtime);
    assert_int_equal(chdir(before), 0);
    test_folder_remove(&folder);
}

// ------------------------------------------------------------------------------------------ config

static void a_config_adds_orders_disables_and_pins(void **state)
{
    (void)state;
    test_folder folder;
    char text[4096];
    test_folder_make(&folder);
    snprintf(text, sizeof text,
             "[plugins]\npath = %s\npath = %s\npath = %s\npath = relative.so\npath = "
             "/nowhere/absent.so\n"
             "order = twin_b, twin_a\ndisable = services\n"
             "[plugin.twin_a]\nsha256 = %064d\n",
             built("twin_a.so"), built("twin_b.so"), built("services.so"), 0);
    test_folder_text(&folder, "tenon.ini", text);
    runtime_case c = { .paths = { built("plain.so") },
                       .config = test_folder_path(&folder, "tenon.ini") };
    tn_runtime *runtime = create_well(&c);
    tn_device_info first = { .size = sizeof first };
    tn_device_describe(tn_runtime_device(runtime, 0), &first);
    assert_string_equal(first.name, "twin_b0");   // ordered before the plugin that was found first
    expect(runtime, "twin_a.so", TN_PLUGIN_REJECTED, "its SHA-256 is ");
    expect(runtime, "services.so", TN_PLUGIN_DISABLED, "disabled by /");
    expect(runtime, "absent.so", TN_PLUGIN_REJECTED, "No such file");
    assert_string_equal(candidate(runtime, "twin_b.so").origin, "config");
    assert_non_null(strstr(c.lines.text, "relative.so of config: a relative path"));
    assert_int_equal(c.lines.warnings, 3);   // twin_a, relative.so, absent.so
    tn_runtime_destroy(runtime);
    test_folder_remove(&folder);
}

static void places_are_told_in_the_order_of_the_search(void **state)
{
    (void)state;
    test_folder folder;
    char text[2 * TEST_PATH_BYTES], found[8192] = "";
    test_folder_make(&folder);
    test_folder_sub(&folder, "empty");
    test_folder_sub(&folder, "two");
    test_folder_copy(&folder, "two/plain.so", built("plain.so"));
    test_folder_copy(&folder, "two/twin.so", built("twin_a.so"));
    snprintf(text, sizeof text, "[plugins]\npath = %s/two/plain.so\npath = relative\n",
             folder.path);
    test_folder_text(&folder, "tenon.ini", text);
    setenv("TENON_PLUGIN_PATH", "/nowhere/at/all:~/plugins", 1);
    runtime_case c = { .paths = { test_folder_path(&folder, "two"),
                                  test_folder_path(&folder, "empty") },
                       .config = test_folder_path(&folder, "tenon.ini") };
    tn_runtime *runtime = create_well(&c);
    unsetenv("TENON_PLUGIN_PATH");
    for (uint32_t i = 0; i < tn_runtime_place_count(runtime); i++) {
        tn_place_info info = { .size = sizeof info };
        tn_runtime_place(runtime, i, &info);
        size_t used = strlen(found), own = strlen(folder.path);
        bool is_below = strncmp(info.path, folder.path, own) == 0;
        snprintf(found + used, sizeof found - used, "%s|%s|%u|%s\n", info.origin,
                 is_below ? info.path + own : info.path, info.file_count, info.found);
    }
    static const char expected[] =
        "--plugin|/two|2|2 files\n"
        "--plugin|/empty|0|no file *.so\n"
        "TENON_PLUGIN_PATH|/nowhere/at/all|0|does not exist\n"
        "TENON_PLUGIN_PATH|~/plugins|0|is ignored: a relative path: write all of it, from / on, or "
        "give it as --plugin\n"
        "config|/tenon.ini|0|was read\n"
        "config|/two/plain.so|1|1 file, 0 not seen before\n"
        "config|relative|0|is ignored: a relative path: write all of it, from / on, or give it as "
        "--plugin\n"
        "config|/etc/tenon/tenon.ini|0|";
    if (strncmp(found, expected, sizeof expected - 1) != 0)
        fail_msg("%s", found);
    const char *installed = strstr(found, "\ninstalled|/");
    assert_non_null(installed);
    assert_ptr_equal(strchr(installed + 1, '\n') + 1, found + strlen(found));   // the last
    tn_runtime_destroy(runtime);
    test_folder_remove(&folder);
}

static void a_missing_or_broken_config_is_an_error(void **state)
{
    (void)state;
    test_folder folder;
    tn_runtime *runtime;
    test_folder_make(&folder);
    runtime_case c = { .config = test_folder_path(&folder, "absent.ini") };
    assert_int_equal(create(&c, &runtime), TN_E_FILE);
    test_folder_text(&folder, "tenon.ini", "[plugins]\nwhat is this\n");
    c.config = test_folder_path(&folder, "tenon.ini");
    assert_int_equal(create(&c, &runtime), TN_E_FILE);
    assert_non_null(strstr(c.err.text, "tenon.ini:2: "));
    c = (runtime_case){ .settings = { "plugin.cpu.word" } };
    assert_int_equal(create(&c, &runtime), TN_E_ARG);
    test_folder_remove(&folder);
}

static void options_of_a_later_release_are_refused_unless_zero(void **state)
{
    (void)state;
    struct {
        tn_runtime_options known;
        uint64_t later;
    } options = { .known = { .threads = 1 } };
    options.known.size = sizeof options;
    tn_runtime *runtime;
    tn_error err;
    assert_int_equal(tn_runtime_create(&options.known, &runtime, &err), TN_OK);
    tn_runtime_destroy(runtime);
    options.later = 1;
    assert_int_equal(tn_runtime_create(&options.known, &runtime, &err), TN_E_UNSUPPORTED);
    tn_runtime_destroy(NULL);
}

// ---------------------------------------------------------------------------------- failing memory

static tn_status create_and_destroy(const tn_allocator *allocator, void *context)
{
    runtime_case *c = context;
    tn_runtime *runtime = NULL;
    c->allocator = allocator;
    tn_status status = create(c, &runtime);
    tn_runtime_destroy(runtime);
    if (status != TN_OK && status != TN_E_HOST_MEMORY && status != TN_E_PLUGIN)
        fail_msg("status %d: %s", (int)status, c->err.text);
    return status;
}

static void no_failing_allocation_leaves_anything_behind(void **state)
{
    (void)state;
    test_folder folder;
    test_folder_make(&folder);
    static const char *const files[] = { "plain.so",       "plain_newer.so", "services.so",
                                         "no_manifest.so", "twin_a.so",      "twin_b.so" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        test_folder_copy(&folder, files[i], built(files[i]));
    test_folder_text(&folder, "tenon.ini",
                     "[plugins]\norder = twin_b\ndisable = nobody\n[plugin.services]\nword = a\n");
    runtime_case c = { .paths = { folder.path, built("many1.so") },
                       .settings = { "plugin.services.word=Tür" },
                       .config = test_folder_path(&folder, "tenon.ini") };
    for_each_failing_allocation(create_and_destroy, &c);
    test_folder_remove(&folder);
}

// ------------------------------------------------------------------ other environments, by a child

// What `program list` prints: a line for each candidate.
static void list_by(const char *command, char *out, size_t room)
{
    FILE *child = popen(command, "r");
    assert_non_null(child);
    size_t n = fread(out, 1, room - 1, child);
    out[n] = 0;
    if (pclose(child) != 0)
        fail_msg("%s failed: %s", command, out);
}

static int print_list(int count, char **paths)
{
    tn_runtime *runtime;
    tn_error err;
    tn_runtime_options options = { .size = sizeof options,
                                   .threads = 1,
                                   .plugin_paths = (const char *const *)paths,
                                   .plugin_path_count = (uint32_t)count };
    if (tn_runtime_create(&options, &runtime, &err) != TN_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        printf("%s %u %s\n", info.origin, info.state, info.path);
    }
    tn_runtime_destroy(runtime);
    fflush(stdout);
    _exit(0);   // a leak checker, which cannot work in a set-uid process, is not run
}

static void the_environment_names_places(void **state)
{
    (void)state;
    char command[4096], out[16384];
    snprintf(command, sizeof command, "TENON_PLUGIN_PATH='%s::%s' '%s' list 2>&1",
             built("twin_b.so"), built("plain.so"), own_path);
    list_by(command, out, sizeof out);
    char *b = strstr(out, "TENON_PLUGIN_PATH 1 "), *plain = strstr(out, "plain.so");
    assert_non_null(b);
    assert_non_null(strstr(b, "twin_b.so"));
    assert_true(plain > b);
}

static void the_current_folder_is_never_searched(void **state)
{
    (void)state;
    char command[4096], out[16384];
    snprintf(command, sizeof command,
             "cd '%s' && TENON_PLUGIN_PATH=.:plain.so '%s' list 2>/dev/null", TN_TEST_PLUGINS,
             own_path);
    list_by(command, out, sizeof out);
    assert_null(strstr(out, "_PATH 1 "));                      // nothing loaded from there
    assert_non_null(strstr(out, "TENON_PLUGIN_PATH 4 .\n"));   // and it says so
}

// The file that holds libtenon: a library, or this program when it is linked into it.
static const char *library_path(void)
{
    Dl_info about;
    assert_int_not_equal(dladdr((const void *)&tn_runtime_create, &about), 0);
    return strstr(about.dli_fname, ".so") ? about.dli_fname : NULL;
}

static void plugins_beside_a_moved_library_are_found(void **state)
{
    (void)state;
    char command[4096], out[16384];
    test_folder folder;
    const char *library = library_path();
    test_folder_make(&folder);
    test_folder_sub(&folder, "moved préfix/lib/tenon/plugins");
    test_folder_copy(&folder, "moved préfix/lib/tenon/plugins/plain.so", built("plain.so"));
    test_folder_copy(&folder, "moved préfix/lib/program", own_path);
    if (library) {
        char name[TEST_PATH_BYTES / 2];
        snprintf(name, sizeof name, "moved préfix/lib/%.200s", strrchr(library, '/') + 1);
        test_folder_copy(&folder, name, library);
    }
    assert_int_equal(symlink("moved préfix/lib/program", test_folder_path(&folder, "link")), 0);
    snprintf(command, sizeof command,
             "cd / && LD_LIBRARY_PATH='%s/moved préfix/lib' '%s/link' list 2>&1", folder.path,
             folder.path);
    list_by(command, out, sizeof out);
    if (!strstr(out, "installed 1 ") || !strstr(out, "/moved préfix/lib/tenon/plugins/plain.so"))
        fail_msg("%s", out);
    test_folder_remove(&folder);
}

static void a_privileged_process_ignores_the_environment(void **state)
{
    (void)state;
    char command[4096], out[16384];
    test_folder folder;
    if (geteuid() != 0)   // only root may make a program of another user
        skip();
    test_folder_make(&folder);
    test_folder_copy(&folder, "program", own_path);
    test_folder_copy(&folder, "named.so", built("plain.so"));
    test_folder_copy(&folder, "other.so", built("twin_a.so"));
    assert_int_equal(chmod(folder.path, 0755), 0);
    assert_int_equal(chown(test_folder_path(&folder, "program"), 65534, 65534), 0);
    assert_int_equal(chmod(test_folder_path(&folder, "program"), 04755), 0);
    snprintf(command, sizeof command,
             "TENON_PLUGIN_PATH='%s/other.so' '%s/program' list '%s/named.so' 2>&1 || true",
             folder.path, folder.path, folder.path);
    list_by(command, out, sizeof out);
    test_folder_remove(&folder);
    if (strstr(out, "shared libraries"))   // that user may not read the folder of libtenon
        skip();
    assert_non_null(strstr(out, "--plugin 1 "));
    assert_null(strstr(out, "TENON_PLUGIN_PATH"));
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "list") == 0)
        return print_list(argc - 2, argv + 2);
    if (!realpath("/proc/self/exe", own_path))
        return 1;
    test_places();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_faulty_plugin_has_its_reason_and_the_good_ones_work),
        cmocka_unit_test(what_devices_say_of_themselves_is_made_safe),
        cmocka_unit_test(names_of_devices_are_unique),
        cmocka_unit_test(the_lists_are_the_same_every_time),
        cmocka_unit_test(accessors_past_the_end_give_nothing),
        cmocka_unit_test(files_that_are_no_plugins_are_refused_without_a_hang),
        cmocka_unit_test(a_named_file_that_is_refused_fails_the_creation),
        cmocka_unit_test(a_caller_that_wants_the_list_gets_a_refused_file_in_it),
        cmocka_unit_test(a_file_in_two_places_is_one_candidate),
        cmocka_unit_test(a_relative_path_of_the_caller_is_made_absolute),
        cmocka_unit_test(a_config_adds_orders_disables_and_pins),
        cmocka_unit_test(places_are_told_in_the_order_of_the_search),
        cmocka_unit_test(a_missing_or_broken_config_is_an_error),
        cmocka_unit_test(options_of_a_later_release_are_refused_unless_zero),
        cmocka_unit_test(no_failing_allocation_leaves_anything_behind),
        cmocka_unit_test(the_environment_names_places),
        cmocka_unit_test(the_current_folder_is_never_searched),
        cmocka_unit_test(plugins_beside_a_moved_library_are_found),
        cmocka_unit_test(a_privileged_process_ignores_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
