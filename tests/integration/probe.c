// Files that a runtime has not seen before are tried in processes of their own: what crashes, ends
// its process, hangs, prints or babbles is quarantined, this process is unharmed, and what was
// found out is kept until a file changes.
//
// Built with TN_MISBEHAVING, a folder of plugins of tests/plugins/misbehaves.c. Called as `program
// list PATH…` it prints what a runtime with these paths found.
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <tenon/device.h>

#include "failing_alloc.h"
#include "folder.h"
#include "log_lines.h"
#include "places.h"

// Long enough for those that answer, on a busy machine and under sanitizers.
#define TIMEOUT "plugins.probe_timeout_ms=3000"

static char own_path[TEST_PATH_BYTES];
static test_folder folder;   // of each test: plugins, and the cache
static char plugins_path[TEST_PATH_BYTES];

typedef struct runtime_case {
    const char *path;
    const char *settings[4];
    const tn_allocator *allocator;
    uint32_t threads;
    log_lines lines;
    tn_error err;
} runtime_case;

static tn_status create(runtime_case *c, tn_runtime **out_runtime)
{
    uint32_t count = 0;
    while (count < 4 && c->settings[count])
        count++;
    c->lines = (log_lines){ 0 };
    tn_runtime_options options = { .size = sizeof options,
                                   .threads = c->threads ? c->threads : 2,
                                   .plugin_paths = &c->path,
                                   .plugin_path_count = 1,
                                   .settings = c->settings,
                                   .setting_count = count,
                                   .allocator = c->allocator,
                                   .log = log_lines_keep,
                                   .log_context = &c->lines };
    return tn_runtime_create(&options, out_runtime, &c->err);
}

static tn_runtime *create_well(runtime_case *c)
{
    tn_runtime *runtime = NULL;
    if (create(c, &runtime) != TN_OK)
        fail_msg("%s", c->err.text);
    return runtime;
}

// State and reason of the candidate of this file name.
static void expect(const tn_runtime *runtime, const char *file, uint32_t state, const char *reason)
{
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        const char *slash = strrchr(info.path, '/');
        if (!slash || strcmp(slash + 1, file) != 0)
            continue;
        if (info.state != state || !strstr(info.reason, reason) || strchr(info.reason, '\n'))
            fail_msg("%s: state %u, '%s'; expected %u, '%s'", file, info.state, info.reason, state,
                     reason);
        return;
    }
    fail_msg("no candidate %s", file);
}

static void expect_once(runtime_case *c, const char *file, uint32_t state, const char *reason)
{
    tn_runtime *runtime = create_well(c);
    expect(runtime, file, state, reason);
    tn_runtime_destroy(runtime);
}

static const char *built(const char *file)
{
    static char paths[4][TEST_PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, TEST_PATH_BYTES, "%s/%s", TN_MISBEHAVING, file);
    return path;
}

static int begin(void **state)
{
    (void)state;
    test_folder_make(&folder);
    test_folder_sub(&folder, "plugins");
    snprintf(plugins_path, sizeof plugins_path, "%s/plugins", folder.path);
    test_places();
    setenv("XDG_CACHE_HOME", test_folder_path(&folder, "cache"), 1);
    setenv("TENON_TEST_TRACE", test_folder_path(&folder, "trace"), 1);
    unsetenv("TENON_TEST_NAME");
    return 0;
}

static int end(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

// How often a plugin was loaded, in whatever process.
static int loads(void)
{
    struct stat about;
    return stat(test_folder_path(&folder, "trace"), &about) == 0 ? (int)about.st_size : 0;
}

static void put(const char *name, const char *file)
{
    char from[TEST_PATH_BYTES], to[TEST_PATH_BYTES];
    snprintf(to, sizeof to, "%s/plugins/%s", folder.path, name);
    test_folder_copy(&folder, "new", built(file));
    snprintf(from, sizeof from, "%s/new", folder.path);
    assert_int_equal(rename(from, to), 0);
}

static runtime_case on_folder(void)
{
    return (runtime_case){ .path = plugins_path, .settings = { TIMEOUT } };
}

// The file of the cache that is kept of plugins/p.so.
static void kept_file(char path[TEST_PATH_BYTES])
{
    char command[4 * TEST_PATH_BYTES];
    snprintf(command, sizeof command,
             "grep -lr \"hash $(sha256sum <'%s/plugins/p.so' | cut -c-64)\" '%s/cache/tenon'",
             folder.path, folder.path);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    assert_non_null(fgets(path, TEST_PATH_BYTES, list));
    path[strcspn(path, "\n")] = 0;
    assert_int_equal(fgetc(list), EOF);
    pclose(list);
}

// -------------------------------------------------------------------------------------- quarantine

// Under a sanitizer a fault of memory ends the process with its report.
static const struct {
    const char *file, *reason;
} misbehaving[] = {
    { "babble_in_start.so", "it gave an answer that makes no sense" },
    { "crash_at_load.so", " while it was loaded" },
    { "crash_at_unload.so", " in a destructor or a function given to atexit" },
    { "crash_in_query.so", " in its query" },
    { "divide_at_load.so", " while it was loaded" },
    { "exit_at_load.so", "it ended the process while it was loaded, with exit code 3" },
    { "exit_at_unload.so",
      "it ended the process in a destructor or a function given to atexit, with exit code 3" },
    { "exit_in_info.so", "it ended the process in device_info, with exit code 3" },
    { "hang_at_load.so", "it hung while it was loaded: it did not come back within 3000 ms" },
    { "hang_at_unload.so", "it hung in a destructor or a function given to atexit: it did not" },
    { "hang_in_stop.so", "it hung in stop: " },
    { "print_at_load.so", "it wrote to standard output, which is for data: 'hello\\x0aworld'" },
    { "quit_at_unload.so",
      "it ended the process in a destructor or a function given to atexit, with exit code 0" },
};

static void each_fault_is_quarantined_with_its_reason_and_good_ones_work(void **state)
{
    (void)state;
    runtime_case c = { .path = TN_MISBEHAVING, .settings = { TIMEOUT } };
    for (int round = 0; round < 2; round++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        tn_runtime *runtime = create_well(&c);
        clock_gettime(CLOCK_MONOTONIC, &to);
        for (size_t i = 0; i < sizeof misbehaving / sizeof *misbehaving; i++)
            expect(runtime, misbehaving[i].file, TN_PLUGIN_QUARANTINED, misbehaving[i].reason);
        expect(runtime, "good.so", TN_PLUGIN_LOADED, "1 device");
        expect(runtime, "part_in_start.so", TN_PLUGIN_LOADED, "1 device");
        assert_non_null(tn_runtime_find_device(runtime, "good0"));
        assert_int_equal(c.lines.warnings, 0);   // nobody named them
        // Those that hang do so side by side, and only once.
        time_t seconds = to.tv_sec - from.tv_sec;
        assert_in_range(seconds, round == 0 ? 2 : 0, round == 0 ? 5 : 2);
        tn_runtime_destroy(runtime);
    }
    int after_two = loads();
    tn_runtime_destroy(create_well(&c));
    assert_int_equal(loads(), after_two);   // of what is known none is loaded
}

static void a_named_file_in_quarantine_fails_the_creation(void **state)
{
    (void)state;
    runtime_case c = { .path = built("exit_at_load.so"), .settings = { TIMEOUT } };
    tn_runtime *runtime;
    assert_int_equal(create(&c, &runtime), TN_E_PLUGIN);
    assert_non_null(strstr(c.err.text, "exit_at_load.so: in quarantine, it ended the process"));
}

static void an_exception_is_the_plugins_own_or_its_fault(void **state)
{
    (void)state;
    runtime_case c = on_folder();
    if (access(built("throws_out.so"), F_OK) != 0)   // there is no compiler for C++
        skip();
    put("caught.so", "throws_caught.so");
    put("out.so", "throws_out.so");
    tn_runtime *runtime = create_well(&c);
    expect(runtime, "caught.so", TN_PLUGIN_LOADED, "1 device");
    expect(runtime, "out.so", TN_PLUGIN_QUARANTINED, "it crashed in device_info: Aborted");
    expect(runtime, "out.so", TN_PLUGIN_QUARANTINED, "over the border");
    tn_runtime_destroy(runtime);
}

static void a_quarantine_lasts_until_the_file_changes(void **state)
{
    (void)state;
    runtime_case c = on_folder();
    char path[TEST_PATH_BYTES];
    put("p.so", "exit_at_load.so");
    expect_once(&c, "p.so", TN_PLUGIN_QUARANTINED, "it ended the process");
    assert_int_equal(loads(), 1);
    snprintf(path, sizeof path, "%s/plugins/p.so", folder.path);
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){ { 1, 0 }, { 1, 0 } }, 0), 0);
    expect_once(&c, "p.so", TN_PLUGIN_QUARANTINED, "it ended the process");
    assert_int_equal(loads(), 1);   // another time, the same bytes
    put("p.so", "exit_at_load.so");
    expect_once(&c, "p.so", TN_PLUGIN_QUARANTINED, "it ended the process");
    assert_int_equal(loads(), 1);   // another file, the same bytes
    put("p.so", "good.so");
    expect_once(&c, "p.so", TN_PLUGIN_LOADED, "1 device");
    assert_int_equal(loads(), 2);
    put("p.so", "exit_at_load.so");   // what was known of it was forgotten
    expect_once(&c, "p.so", TN_PLUGIN_QUARANTINED, "it ended the process");
    assert_int_equal(loads(), 3);
}

static void a_quarantine_is_lifted_by_forgetting(void **state)
{
    (void)state;
    runtime_case c = on_folder();
    char path[TEST_PATH_BYTES], link[TEST_PATH_BYTES];
    tn_error err;
    snprintf(path, sizeof path, "%s/plugins/p.so", folder.path);
    snprintf(link, sizeof link, "%s/link", folder.path);
    put("p.so", "exit_at_load.so");
    assert_int_equal(tn_plugin_forget(path, &err), TN_E_FILE);
    assert_non_null(strstr(err.text, "p.so: nothing is kept of it"));
    expect_once(&c, "p.so", TN_PLUGIN_QUARANTINED, "it ended the process");
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(tn_plugin_forget(link, &err), TN_OK);
    expect_once(&c, "p.so", TN_PLUGIN_QUARANTINED, "it ended the process");
    assert_int_equal(loads(), 2);   // tried again, with the same end
    assert_int_equal(tn_plugin_forget(NULL, &err), TN_E_ARG);
    test_places_without_cache();
    assert_int_equal(tn_plugin_forget(path, &err), TN_E_FILE);
}

// ---------------------------------------------------------------------------------- what is kept

static void devices_are_told_from_what_is_kept_while_nothing_changes(void **state)
{
    (void)state;
    runtime_case c = on_folder();
    put("p.so", "good.so");
    expect_once(&c, "p.so", TN_PLUGIN_LOADED, "1 device");
    expect_once(&c, "p.so", TN_PLUGIN_LOADED, "1 device");
    assert_int_equal(loads(), 1);   // in the process that tried it
    // In another situation it is asked again, in this process: it is known to be harmless.
    c.settings[1] = "plugin.good.word=a";
    expect_once(&c, "p.so", TN_PLUGIN_LOADED, "1 device");
    assert_int_equal(loads(), 2);
    expect_once(&c, "p.so", TN_PLUGIN_LOADED, "1 device");
    assert_int_equal(loads(), 2);
}

static void with_other_threads_or_variables_devices_are_asked_for_again(void **state)
{
    (void)state;
    char name[TEST_PATH_BYTES];
    runtime_case c = on_folder();
    tn_device_info info = { .size = sizeof info };
    put("p.so", "good.so");
    expect_once(&c, "p.so", TN_PLUGIN_LOADED, "1 device");
    test_folder_text(&folder, "name", "Renamed");
    snprintf(name, sizeof name, "%s/name", folder.path);
    setenv("TENON_TEST_NAME", name, 1);   // as drivers are told what to show
    tn_runtime *runtime = create_well(&c);
    tn_device_describe(tn_runtime_find_device(runtime, "good0"), &info);
    assert_string_equal(info.description, "Renamed");
    tn_runtime_destroy(runtime);
    char before[TEST_PATH_BYTES], after[TEST_PATH_BYTES];
    size_t count;
    kept_file(before);
    char *first = (char *)test_read_file(before, &count), *second;
    c.threads = 1;
    tn_runtime_destroy(create_well(&c));
    kept_file(after);
    second = (char *)test_read_file(after, &count);
    assert_string_equal(before, after);
    assert_memory_not_equal(first, second, count);   // of another situation
    free(first);
    free(second);
}

// Cut anywhere, with a byte changed anywhere, or something else altogether.
static void a_damaged_file_of_the_cache_is_as_good_as_none(void **state)
{
    (void)state;
    char path[TEST_PATH_BYTES];
    runtime_case c = on_folder();
    put("p.so", "exit_at_load.so");
    expect_once(&c, "p.so", TN_PLUGIN_QUARANTINED, "it ended the process");
    kept_file(path);
    size_t count;
    unsigned char *whole = test_read_file(path, &count);
    static const char *const others[] = { "", "tenon plugin 2\n", "\0\0", "what is this\n" };
    int expected = loads();
    for (size_t i = 0; i < 8 + sizeof others / sizeof *others; i++) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        if (i < 4) {
            fwrite(whole, 1, (i + 1) * count / 5, file);
        } else if (i < 8) {
            whole[(i - 3) * count / 5] ^= 1;
            fwrite(whole, 1, count, file);
            whole[(i - 3) * count / 5] ^= 1;
        } else {
            fputs(others[i - 8], file);
        }
        fclose(file);
        expect_once(&c, "p.so", TN_PLUGIN_QUARANTINED, "it ended the process");
        assert_int_equal(loads(), ++expected);
        assert_int_equal(c.lines.warnings, 0);
    }
    free(whole);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);   // not even a file
    expect_once(&c, "p.so", TN_PLUGIN_QUARANTINED, "it ended the process");
    assert_int_equal(c.lines.warnings, 1);
}

static void without_a_place_that_can_be_written_it_works_and_says_so_once(void **state)
{
    (void)state;
    runtime_case c = on_folder();
    put("p.so", "good.so");
    put("q.so", "exit_at_load.so");
    test_folder_text(&folder, "file", "");
    setenv("XDG_CACHE_HOME", test_folder_path(&folder, "file"), 1);
    for (int round = 1; round <= 2; round++) {
        tn_runtime *runtime = create_well(&c);
        expect(runtime, "p.so", TN_PLUGIN_LOADED, "1 device");
        expect(runtime, "q.so", TN_PLUGIN_QUARANTINED, "it ended the process");
        assert_int_equal(c.lines.warnings, 1);
        assert_non_null(strstr(c.lines.text, "what is found out about plugins is not kept"));
        assert_int_equal(loads(), 2 * round);
        tn_runtime_destroy(runtime);
    }
    test_places_without_cache();
    tn_runtime_destroy(create_well(&c));
    assert_int_equal(c.lines.warnings, 0);   // nobody wants it kept
}

static void a_pinned_file_that_differs_is_never_loaded(void **state)
{
    (void)state;
    runtime_case c = on_folder();
    char pin[128];
    put("p.so", "good.so");
    snprintf(pin, sizeof pin, "plugin.good.sha256=%064d", 0);
    c.settings[1] = pin;
    expect_once(&c, "p.so", TN_PLUGIN_REJECTED, "its SHA-256 is ");
    assert_int_equal(loads(), 0);
    c.settings[1] = NULL;
    expect_once(&c, "p.so", TN_PLUGIN_LOADED, "1 device");
    c.settings[1] = pin;
    expect_once(&c, "p.so", TN_PLUGIN_REJECTED, "its SHA-256 is ");   // by what is kept
    assert_int_equal(loads(), 1);
}

// ------------------------------------------------------------------------- unusual applications

// An application may ignore SIGCHLD, so that the system waits for children; or wait for all of
// them.
static void an_application_may_wait_for_children_itself(void **state)
{
    (void)state;
    runtime_case c = on_folder();
    put("good.so", "good.so");
    put("bad.so", "exit_at_load.so");
    struct sigaction before;
    assert_int_equal(sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_IGN }, &before), 0);
    tn_runtime *runtime = create_well(&c);
    sigaction(SIGCHLD, &before, NULL);
    expect(runtime, "good.so", TN_PLUGIN_LOADED, "1 device");
    expect(runtime, "bad.so", TN_PLUGIN_QUARANTINED, "it ended the process while it was loaded");
    tn_runtime_destroy(runtime);
}

static void *create_on_a_thread(void *argument)
{
    runtime_case *c = argument;
    for (int i = 0; i < 3; i++)
        tn_runtime_destroy(create_well(c));
    return NULL;
}

static void runtimes_are_made_on_several_threads_at_once(void **state)
{
    (void)state;
    pthread_t threads[4];
    static runtime_case cases[4];
    put("good.so", "good.so");
    put("bad.so", "exit_at_load.so");
    for (int i = 0; i < 4; i++) {
        cases[i] = on_folder();
        assert_int_equal(pthread_create(&threads[i], NULL, create_on_a_thread, &cases[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    runtime_case c = on_folder();
    int before = loads();
    tn_runtime *runtime = create_well(&c);
    expect(runtime, "good.so", TN_PLUGIN_LOADED, "1 device");
    expect(runtime, "bad.so", TN_PLUGIN_QUARANTINED, "it ended the process");
    assert_int_equal(loads(), before);
    tn_runtime_destroy(runtime);
}

static void a_process_with_few_files_left_tries_them_one_after_another(void **state)
{
    (void)state;
    runtime_case c = on_folder();
    int files[4096], count = 0;
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d.so", i);
        put(name, i % 2 ? "exit_at_load.so" : "crash_in_query.so");
    }
    while (count < 4096 && (files[count] = dup(0)) >= 0 && files[count] < 4000)
        count++;
    for (int i = 0; i < 20 && count > 0; i++)
        close(files[--count]);
    tn_runtime *runtime = NULL;
    tn_status status = create(&c, &runtime);
    while (count > 0)
        close(files[--count]);
    assert_int_equal(status, TN_OK);
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d.so", i);
        expect(runtime, name, TN_PLUGIN_QUARANTINED, "it ");
    }
    tn_runtime_destroy(runtime);
}

static tn_status create_and_destroy(const tn_allocator *allocator, void *context)
{
    runtime_case *c = context;
    tn_runtime *runtime = NULL;
    c->allocator = allocator;
    tn_status status = create(c, &runtime);
    tn_runtime_destroy(runtime);
    if (status != TN_OK && status != TN_E_HOST_MEMORY)
        fail_msg("status %d: %s", (int)status, c->err.text);
    return status;
}

static void no_failing_allocation_leaves_a_process_or_memory_behind(void **state)
{
    (void)state;
    runtime_case c = on_folder();
    put("good.so", "good.so");
    put("bad.so", "exit_at_load.so");
    test_places_without_cache();   // so that each round tries them
    for_each_failing_allocation(create_and_destroy, &c);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);   // no child is left
}

// ------------------------------------------------------------------------------------ by a child

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
        const char *slash = strrchr(info.path, '/');
        printf("%s %u %s\n", slash ? slash + 1 : info.path, info.state, info.reason);
    }
    tn_runtime_destroy(runtime);
    fflush(stdout);
    _exit(0);   // a leak checker, which cannot work in a set-uid process, is not run
}

static int list_by(const char *command, char *out, size_t room)
{
    FILE *child = popen(command, "r");
    assert_non_null(child);
    size_t n = fread(out, 1, room - 1, child);
    out[n] = 0;
    return pclose(child);
}

static void processes_that_start_at_once_agree(void **state)
{
    (void)state;
    char command[4096], out[16384], path[TEST_PATH_BYTES];
    put("good.so", "good.so");
    put("bad.so", "exit_at_load.so");
    snprintf(path, sizeof path, "%s/plugins", folder.path);
    snprintf(command, sizeof command, "for i in 1 2 3 4 5 6; do '%s' list '%s' & done 2>&1; wait",
             own_path, path);
    assert_int_equal(list_by(command, out, sizeof out), 0);
    int good = 0, bad = 0;
    for (char *at = out; (at = strstr(at, "good.so 1 1 device\n")); at++)
        good++;
    for (char *at = out; (at = strstr(at, "bad.so 5 it ended the process")); at++)
        bad++;
    if (good != 6 || bad != 6)
        fail_msg("%s", out);
    int before = loads();
    runtime_case c = on_folder();
    c.settings[0] = NULL;
    c.threads = 1;
    tn_runtime *runtime = create_well(&c);
    expect(runtime, "bad.so", TN_PLUGIN_QUARANTINED, "it ended the process");
    tn_runtime_destroy(runtime);
    assert_int_equal(loads(), before);
}

// The helper is looked for beside libtenon, wherever that is.
static void a_moved_prefix_finds_its_helper_and_one_without_says_so(void **state)
{
    (void)state;
    char command[4096], copy[8192], out[16384];
    put("bad.so", "exit_at_load.so");
    put("good.so", "good.so");
    test_folder_sub(&folder, "moved préfix/lib/tenon");
    test_folder_copy(&folder, "moved préfix/lib/program", own_path);
    snprintf(command, sizeof command, "%s/moved préfix/lib", folder.path);
    snprintf(copy, sizeof copy, "cp -L '%s'/libtenon.so.* '%s'", TN_LIBRARY_FOLDER, command);
    assert_int_equal(system(copy), 0);
    snprintf(command, sizeof command,
             "cd / && LD_LIBRARY_PATH='%s/moved préfix/lib' '%s/moved préfix/lib/program' list "
             "'%s/plugins' 2>&1",
             folder.path, folder.path, folder.path);
    test_folder_copy(&folder, "moved préfix/lib/tenon/tenon-probe",
                     TN_LIBRARY_FOLDER "/tenon/tenon-probe");
    assert_int_equal(list_by(command, out, sizeof out), 0);
    if (strcmp(out, "bad.so 5 it ended the process while it was loaded, with exit code 3\n"
                    "good.so 1 1 device\n") != 0)
        fail_msg("%s", out);
    // Without it what is quarantined stays so, and what is new is loaded here.
    assert_int_equal(unlink(test_folder_path(&folder, "moved préfix/lib/tenon/tenon-probe")), 0);
    test_folder_copy(&folder, "plugins/newer.so", built("newer/good_newer_NOWHERE.so"));
    assert_int_equal(list_by(command, out, sizeof out), 0);
    char *first = strstr(out, "loaded without being tried in a process of their own");
    if (!first || strstr(first + 10, "without being tried") || !strstr(out, "bad.so 5 ") ||
        !strstr(out, "good.so 1 1 device\n"))
        fail_msg("%s", out);
}

static void a_privileged_process_keeps_nothing_and_tries_all_the_same(void **state)
{
    (void)state;
    char command[4096], out[16384];
    if (geteuid() != 0)   // only root may make a program of another user
        skip();
    put("bad.so", "exit_at_load.so");
    test_folder_copy(&folder, "program", own_path);
    test_folder_sub(&folder, "cache");
    test_folder_sub(&folder, "config/tenon");
    test_folder_text(&folder, "config/tenon/tenon.ini", "[plugins\n");
    snprintf(command, sizeof command,
             "cd '%s' && chmod 755 . plugins && chmod 777 cache && chown 65534:65534 program && "
             "chmod 4755 program && XDG_CONFIG_HOME=$PWD/config XDG_CACHE_HOME=$PWD/cache "
             "TENON_PLUGIN_PATH='%s' ./program list \"$PWD/plugins\" 2>&1; find cache -type f",
             folder.path, built("good.so"));
    (void)list_by(command, out, sizeof out);
    if (strstr(out, "shared libraries"))   // that user may not read the folder of libtenon
        skip();
    if (!strstr(out, "bad.so 5 it ended the process") || strstr(out, "good.so") ||
        strstr(out, "cache/") || strstr(out, "tenon.ini"))
        fail_msg("%s", out);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "list") == 0)
        return print_list(argc - 2, argv + 2);
    if (!realpath("/proc/self/exe", own_path))
        return 1;
#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(each_fault_is_quarantined_with_its_reason_and_good_ones_work),
        CASE(a_named_file_in_quarantine_fails_the_creation),
        CASE(an_exception_is_the_plugins_own_or_its_fault),
        CASE(a_quarantine_lasts_until_the_file_changes),
        CASE(a_quarantine_is_lifted_by_forgetting),
        CASE(devices_are_told_from_what_is_kept_while_nothing_changes),
        CASE(with_other_threads_or_variables_devices_are_asked_for_again),
        CASE(a_damaged_file_of_the_cache_is_as_good_as_none),
        CASE(without_a_place_that_can_be_written_it_works_and_says_so_once),
        CASE(a_pinned_file_that_differs_is_never_loaded),
        CASE(an_application_may_wait_for_children_itself),
        CASE(runtimes_are_made_on_several_threads_at_once),
        CASE(a_process_with_few_files_left_tries_them_one_after_another),
        CASE(no_failing_allocation_leaves_a_process_or_memory_behind),
        CASE(processes_that_start_at_once_agree),
        CASE(a_moved_prefix_finds_its_helper_and_one_without_says_so),
        CASE(a_privileged_process_keeps_nothing_and_tries_all_the_same),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
