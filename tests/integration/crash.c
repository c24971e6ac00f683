// What is written down when a process crashes with a plugin's code at fault, and what the next
// start makes of it. Each crash is in a child of this process, with a session whose work goes to
// tests/plugins/crashes_in_use.c.
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <tenon/tenon.h>

#include "failing_alloc.h"
#include "folder.h"
#include "log_lines.h"
#include "places.h"

enum { LIVED_ON = 21, HANDLED = 22, NOT_SO = 23 };   // exit codes of a child

static test_folder folder;                // of each test: plugins/, and the cache
static volatile uintptr_t nowhere = 64;   // never mapped

// ------------------------------------------------------------------------------- in the child

static void crash_of_the_application(void)
{
    *(volatile int *)nowhere = 1;
}

static void crash_when_told(void *context, int32_t level, const char *text)
{
    (void)context, (void)level;
    if (strstr(text, "crash now"))
        crash_of_the_application();
}

static void *crash_when_asked(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    if (bytes >= 54321 && bytes < 54321 + 4096)
        crash_of_the_application();
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void give_back(void *context, void *pointer)
{
    (void)context;
    free(pointer);
}

static void handle(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    _exit(HANDLED);
}

static void handle_by_exit(void)
{
    sigaction(SIGSEGV, &(struct sigaction){ .sa_sigaction = handle, .sa_flags = SA_SIGINFO }, NULL);
}

static void go_on(int number)
{
    (void)number;
}

static void handle_once(void)
{
    sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = go_on, .sa_flags = (int)SA_RESETHAND },
              NULL);
}

static void handle_by_going_on(void)
{
    sigaction(SIGFPE, &(struct sigaction){ .sa_handler = go_on }, NULL);
}

static void forbid_files(void)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, 0 });
}

static void make_folders_unwritable(void)
{
    char command[2 * TEST_PATH_BYTES];   // also for root
    snprintf(command, sizeof command, "mv '%s/cache/tenon/plugins' '%s/elsewhere'", folder.path,
             folder.path);
    if (system(command) != 0)
        _exit(NOT_SO);
}

// A folder stands where the record belongs.
static void take_the_place(void)
{
    char command[2 * TEST_PATH_BYTES];
    snprintf(command, sizeof command,
             "cd '%s/cache/tenon/plugins' && for f in *; do mkdir $f.crash; done", folder.path);
    if (system(command) != 0)
        _exit(NOT_SO);
}

typedef struct child_case {
    const char *says, *how;   // TENON_TEST_CRASH
    void (*first)(void);      // before the crashes are watched
    void (*then)(void);       // before the work is submitted
    int signal;               // that it ends by; 0: `code`
    int code;
    bool is_written;
    void (*log)(void *context, int32_t level, const char *text);
    bool has_allocator;
} child_case;

static tn_status run_graph(tn_runtime *runtime, const child_case *c, tn_error *err)
{
    static const float x[4];
    tn_graph *graph = NULL;
    tn_session *session = NULL;
    tn_status status = tn_graph_create(NULL, &graph, err);
    if (status == TN_OK) {
        tn_value in = tn_graph_input(graph, "x", TN_DTYPE_F32, 1, (int64_t[]){ 4 });
        tn_graph_output(graph, "y", tn_graph_add(graph, in, in));
        status = tn_graph_finish(graph, err);
    }
    const tn_graph *graphs[] = { graph };
    if (status == TN_OK)
        status = tn_session_create(runtime, graphs, 1, NULL, &session, err);
    if (c->then)
        c->then();
    if (status == TN_OK) {
        tn_feed feed = { tn_graph_find(graph, "x"), x, sizeof x };
        status = tn_session_run(session, 0, &feed, 1, err);
    }
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    return status;
}

static void live(const child_case *c)
{
    static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
    const tn_allocator allocator = { .alloc = crash_when_asked, .free = give_back };
    const char *path = test_folder_path(&folder, "plugins");
    tn_error err = { 0 };
    tn_runtime *runtime = NULL;
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)   // a sanitizer has its own
        sigaction(numbers[i], &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
    setenv("TENON_TEST_CRASH", c->how, 1);
    if (c->first)
        c->first();
    const tn_runtime_options options = { .size = sizeof options,
                                         .threads = 2,
                                         .plugin_paths = &path,
                                         .plugin_path_count = 1,
                                         .allocator = c->has_allocator ? &allocator : NULL,
                                         .log = c->log };
    if (tn_plugin_watch_crashes(&err) != TN_OK ||
        tn_runtime_create(&options, &runtime, &err) != TN_OK ||
        run_graph(runtime, c, &err) != TN_OK) {
        fprintf(stderr, "%s: %s\n", c->says, err.text);
        _exit(NOT_SO);
    }
    tn_runtime_destroy(runtime);
    _exit(LIVED_ON);
}

// ------------------------------------------------------------------------------ in this process

static void expect_end(const child_case *c)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        live(c);
    assert_int_equal(waitpid(child, &status, 0), child);
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (signal != c->signal || code != c->code)
        fail_msg("%s: signal %d, exit code %d; expected %d, %d", c->says, signal, code, c->signal,
                 c->code);
}

// How many files of the cache have names that go on after the digits; the last of them.
static int written(char path[TEST_PATH_BYTES])
{
    const char *name = test_folder_path(&folder, "cache/tenon/plugins");
    DIR *cache = opendir(name);
    int count = 0;
    for (struct dirent *entry; cache && (entry = readdir(cache));) {
        if (!strchr(entry->d_name + 1, '.') || entry->d_name[0] == '.')
            continue;
        snprintf(path, TEST_PATH_BYTES, "%s/%s", name, entry->d_name);
        count++;
    }
    if (cache)
        closedir(cache);
    return count;
}

static tn_runtime *create(log_lines *lines)
{
    const char *path = test_folder_path(&folder, "plugins");
    tn_error err = { 0 };
    tn_runtime *runtime = NULL;
    *lines = (log_lines){ 0 };
    const tn_runtime_options options = { .size = sizeof options,
                                         .threads = 2,
                                         .plugin_paths = &path,
                                         .plugin_path_count = 1,
                                         .log = log_lines_keep,
                                         .log_context = lines };
    if (tn_runtime_create(&options, &runtime, &err) != TN_OK)
        fail_msg("%s", err.text);
    return runtime;
}

// The state of plugins/p.so at a start, its reason, and how many warnings there are.
static void expect_start(uint32_t state, const char *reason, unsigned warnings)
{
    log_lines lines;
    tn_runtime *runtime = create(&lines);
    tn_plugin_info info = { .size = sizeof info };
    tn_runtime_plugin(runtime, 0, &info);
    if (info.state != state || !strstr(info.reason, reason) || lines.warnings != warnings)
        fail_msg("state %u, '%s', log '%s'; expected %u, '%s', %u warnings", info.state,
                 info.reason, lines.text, state, reason, warnings);
    if (warnings && (!strstr(lines.text, "plugins/p.so") || !strstr(lines.text, reason) ||
                     !strstr(lines.text, "tenon plugins retry FILE")))
        fail_msg("%s", lines.text);
    tn_runtime_destroy(runtime);
}

static int begin(void **state)
{
    (void)state;
    test_folder_make(&folder);
    test_folder_sub(&folder, "plugins");
    test_folder_copy(&folder, "plugins/p.so", TN_CRASHER);
    test_places();
    setenv("XDG_CACHE_HOME", test_folder_path(&folder, "cache"), 1);
    unsetenv("TENON_TEST_CRASH");
    expect_start(TN_PLUGIN_LOADED, "1 device", 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static const child_case by_write = { .says = "a write", .how = "write", .signal = SIGSEGV };

static void a_crash_is_written_down_where_a_plugin_is_at_fault(void **state)
{
    (void)state;
    static const child_case cases[] = {
        { "of the plugin", "write", .signal = SIGSEGV, .is_written = true },
        { "on a thread of the plugin", "thread", .signal = SIGSEGV, .is_written = true },
        { "on many threads", "threads", .signal = SIGSEGV, .is_written = true },
        { "in the C library", "library", .signal = SIGSEGV, .is_written = true },
        { "where there is no code", "call", .signal = SIGSEGV, .is_written = true },
        { "of a stack that ran over", "stack", .signal = SIGSEGV, .is_written = true },
        { "by abort", "abort", .signal = SIGABRT, .is_written = true },
        { "raised", "divide", .signal = SIGFPE, .is_written = true },
        { "that is handled", "write", .first = handle_by_exit, .code = HANDLED,
          .is_written = true },
        { "that is handled once", "write", .first = handle_once, .signal = SIGSEGV,
          .is_written = true },
        { "that is handled and lived through", "divide", .first = handle_by_going_on,
          .code = LIVED_ON },
        { "of the application, after the plugin ran", "", .then = crash_of_the_application,
          .signal = SIGSEGV },
        { "of the application's log", "log", .signal = SIGSEGV, .log = crash_when_told },
        { "of the application's allocator", "alloc", .signal = SIGSEGV, .has_allocator = true },
        { "that is sent", "sent", .signal = SIGSEGV },
        { "by SIGKILL", "kill", .signal = SIGKILL },
        { "none", "", .code = LIVED_ON },
#if defined(__x86_64__)
        { "with a broken stack", "broken", .signal = SIGABRT },
#endif
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[TEST_PATH_BYTES];
        expect_end(&cases[i]);
        int count = written(path);
        if (count != cases[i].is_written)
            fail_msg("a crash %s: %d records", cases[i].says, count);
        if (count)
            assert_int_equal(unlink(path), 0);
    }
}

static void the_next_start_quarantines_and_says_so_once(void **state)
{
    (void)state;
    char path[TEST_PATH_BYTES];
    expect_end(&by_write);
    expect_start(TN_PLUGIN_QUARANTINED, "it crashed with SIGSEGV in use on 20", 1);
    assert_int_equal(written(path), 0);
    expect_start(TN_PLUGIN_QUARANTINED, "it crashed with SIGSEGV in use on 20", 0);
    assert_int_equal(tn_plugin_forget(test_folder_path(&folder, "plugins/p.so"), NULL), TN_OK);
    expect_start(TN_PLUGIN_LOADED, "1 device", 0);
}

static void what_is_written_down_is_forgotten_too(void **state)
{
    (void)state;
    char path[TEST_PATH_BYTES];
    expect_end(&by_write);
    assert_int_equal(tn_plugin_forget(test_folder_path(&folder, "plugins/p.so"), NULL), TN_OK);
    assert_int_equal(written(path), 0);
    expect_start(TN_PLUGIN_LOADED, "1 device", 0);
    assert_int_equal(tn_plugin_forget(test_folder_path(&folder, "plugins/p.so"), NULL), TN_OK);
    assert_int_equal(tn_plugin_forget(test_folder_path(&folder, "plugins/p.so"), NULL), TN_E_FILE);
}

static void append(const char *path)
{
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    fputc('\n', file);
    fclose(file);
}

static void a_changed_file_is_tried_again(void **state)
{
    (void)state;
    char path[TEST_PATH_BYTES];
    for (int is_quarantined = 0; is_quarantined < 2; is_quarantined++) {
        expect_end(&by_write);
        if (is_quarantined)
            expect_start(TN_PLUGIN_QUARANTINED, "it crashed", 1);
        append(test_folder_path(&folder, "plugins/p.so"));
        expect_start(TN_PLUGIN_LOADED, "1 device", 0);
        assert_int_equal(written(path), 0);
    }
}

static void a_file_that_is_only_copied_stays_in_quarantine(void **state)
{
    (void)state;
    expect_end(&by_write);
    test_folder_copy(&folder, "new", TN_CRASHER);
    char from[TEST_PATH_BYTES];
    snprintf(from, sizeof from, "%s", test_folder_path(&folder, "new"));
    assert_int_equal(rename(from, test_folder_path(&folder, "plugins/p.so")), 0);
    expect_start(TN_PLUGIN_QUARANTINED, "it crashed", 1);
}

static void a_damaged_record_is_as_good_as_none(void **state)
{
    (void)state;
    char path[TEST_PATH_BYTES];
    struct stat about;
    expect_end(&by_write);
    assert_int_equal(written(path), 1);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(truncate(path, about.st_size - 1), 0);
    expect_start(TN_PLUGIN_LOADED, "1 device", 0);
    assert_int_equal(written(path), 0);
}

static void what_cannot_be_written_leaves_nothing(void **state)
{
    (void)state;
    static const child_case cases[] = {
        { "no file may have a byte", "write", .then = forbid_files, .signal = SIGSEGV },
        { "the folder is gone", "write", .then = make_folders_unwritable, .signal = SIGSEGV },
        { "its place is taken", "write", .then = take_the_place, .signal = SIGSEGV },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[TEST_PATH_BYTES];
        expect_end(&cases[i]);
        int count = written(path);
        while (written(path) && rmdir(path) == 0)   // the folders of the last case
            count--;
        if (count)
            fail_msg("%s: %s is left", cases[i].says, path);
        expect_start(TN_PLUGIN_LOADED, "1 device", 0);
    }
}

// The note is there, and nothing else is known of the file.
static tn_status start_with_a_note(const tn_allocator *allocator, void *context)
{
    const char *note = context;
    tn_error err = { 0 };
    tn_runtime *runtime = NULL;
    log_lines lines = { 0 };
    assert_int_equal(tn_plugin_forget(test_folder_path(&folder, "plugins/p.so"), &err), TN_OK);
    test_folder_copy(&folder, note + strlen(folder.path) + 1, test_folder_path(&folder, "note"));
    const char *plugins = test_folder_path(&folder, "plugins");
    const tn_runtime_options options = { .size = sizeof options,
                                         .threads = 1,
                                         .plugin_paths = &plugins,
                                         .plugin_path_count = 1,
                                         .allocator = allocator,
                                         .log = log_lines_keep,
                                         .log_context = &lines };
    tn_status status = tn_runtime_create(&options, &runtime, &err);
    tn_runtime_destroy(runtime);
    runtime = create(&lines);
    tn_plugin_info info = { .size = sizeof info };
    tn_runtime_plugin(runtime, 0, &info);
    assert_int_equal(info.state, TN_PLUGIN_QUARANTINED);
    tn_runtime_destroy(runtime);
    return status;
}

static void a_start_that_is_short_of_memory_loses_no_note(void **state)
{
    (void)state;
    char path[TEST_PATH_BYTES];
    expect_end(&by_write);
    assert_int_equal(written(path), 1);
    test_folder_copy(&folder, "note", path);
    for_each_failing_allocation(start_with_a_note, path);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_crash_is_written_down_where_a_plugin_is_at_fault),
        CASE(the_next_start_quarantines_and_says_so_once),
        CASE(what_is_written_down_is_forgotten_too),
        CASE(a_changed_file_is_tried_again),
        CASE(a_file_that_is_only_copied_stays_in_quarantine),
        CASE(a_damaged_record_is_as_good_as_none),
        CASE(what_cannot_be_written_leaves_nothing),
        CASE(a_start_that_is_short_of_memory_loses_no_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
