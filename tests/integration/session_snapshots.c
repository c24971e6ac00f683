// States saved to a file and restored: what comes back, what is refused, and what a failure leaves.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <sha2.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "folder.h"
#include "session_rig.h"

enum { WIDTH = 32, ROWS = 40, VALUES = WIDTH * ROWS };

static test_folder folder;
static tn_runtime *runtime;
static tn_graph *graph;
static const char *path;

// Two caches, F32 and Q8_0, of which a run writes one row each, and a state of one dim that it only
// reads. `width` makes another graph of it.
static tn_graph *make_graph(int64_t width, const char *name)
{
    tn_graph *g = rig_graph();
    tn_value row = rig_input(g, "row", 2, width, 1, 0);
    tn_value index = tn_graph_input(g, "index", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value plain = tn_graph_state(g, name, TN_DTYPE_F32, 2, (int64_t[]){ width, ROWS });
    tn_value blocks = tn_graph_state(g, "blocks", TN_DTYPE_Q8_0, 2, (int64_t[]){ width, ROWS });
    tn_value line = tn_graph_state(g, "line", TN_DTYPE_F32, 1, (int64_t[]){ 5 });
    tn_graph_output(g, "plain", tn_graph_set_rows(g, plain, row, index));
    tn_value all = tn_graph_input(g, "all", TN_DTYPE_I32, 1, (int64_t[]){ ROWS });
    tn_graph_output(g, "blocks",
                    tn_graph_get_rows(g, tn_graph_set_rows(g, blocks, row, index), all));
    rig_finish(g, rig_op(g, TNP_OP_NEG, line));
    return g;
}

static int make_all(void **state)
{
    (void)state;
    test_folder_make(&folder);
    runtime = rig_runtime(true, (const char *[]){ "plugin.partial.hidden=1", NULL });
    graph = make_graph(WIDTH, "plain");
    static char text[TEST_PATH_BYTES];
    snprintf(text, sizeof text, "%s", test_folder_path(&folder, "states"));
    path = text;
    return 0;
}

static int drop_all(void **state)
{
    (void)state;
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    test_folder_remove(&folder);
    return 0;
}

static tn_session *session_on(const char *device)
{
    return rig_session(runtime, (const tn_graph *[]){ graph }, 1, (const char *[]){ device, NULL });
}

typedef struct contents {
    float plain[VALUES], blocks[VALUES];
} contents;

static void write_row(tn_session *session, int32_t at, contents *out)
{
    float row[WIDTH];
    int32_t all[ROWS];
    rig_fill(row, WIDTH, (uint32_t)at + 1);
    for (int32_t i = 0; i < ROWS; i++)
        all[i] = i;
    rig_run(session, 0, graph, "row", row, sizeof row, "index", &at, sizeof at, "all", all,
            sizeof all, NULL);
    rig_read(session, 0, graph, "plain", out->plain, sizeof out->plain);
    rig_read(session, 0, graph, "blocks", out->blocks, sizeof out->blocks);
}

static void fill_session(tn_session *session, contents *out)
{
    for (int32_t at = 0; at < ROWS; at++)
        write_row(session, at, out);
}

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static void save(tn_session *session, const tn_save_options *options)
{
    tn_error err = { 0 };
    need(tn_session_save(session, path, options, &err), &err);
}

static void restore(tn_session *session, const char *key)
{
    tn_snapshot *snapshot;
    tn_error err = { 0 };
    need(tn_snapshot_open(path, NULL, &snapshot, &err), &err);
    need(tn_session_restore(session, snapshot, key, &err), &err);
    tn_snapshot_close(snapshot);
}

// Row 0 is written again by the run that reads; it holds the same as before.
static void need_contents(tn_session *session, const contents *want)
{
    contents got;
    write_row(session, 0, &got);
    assert_memory_equal(&got, want, sizeof got);
}

static void states_come_back_on_any_device(void **state)
{
    (void)state;
    static const char *const devices[] = { "cpu0", "partial0" };
    for (int from = 0; from < 2; from++)
        for (int to = 0; to < 2; to++) {
            contents want;
            tn_session *a = session_on(devices[from]), *b = session_on(devices[to]);
            fill_session(a, &want);
            save(a, NULL);
            restore(b, NULL);
            need_contents(b, &want);
            tn_session_destroy(a);
            tn_session_destroy(b);
        }
}

static void beyond_an_extent_a_restored_state_is_zero(void **state)
{
    (void)state;
    enum { COUNT = 7 };
    const tn_state_extent extents[] = { { "plain", COUNT }, { "blocks", 0 }, { "line", 3 } };
    for (int on = 0; on < 2; on++) {
        contents want, other;
        size_t whole, part;
        tn_session *session = session_on(on ? "partial0" : "cpu0");
        fill_session(session, &want);
        save(session, NULL);
        free(test_read_file(path, &whole));
        save(session, &(tn_save_options){
                          .size = sizeof(tn_save_options), .extents = extents, .extent_count = 3 });
        free(test_read_file(path, &part));
        assert_int_equal(whole - part,
                         4 * WIDTH * (ROWS - COUNT) + 34 * ROWS + 8);   // 5 floats take 24 bytes
        restore(session, "");
        write_row(session, 0, &other);
        memset(want.plain + WIDTH * COUNT, 0, (VALUES - WIDTH * COUNT) * sizeof(float));
        memset(want.blocks + WIDTH, 0, (VALUES - WIDTH) * sizeof(float));   // row 0 was written now
        assert_memory_equal(&other, &want, sizeof want);
        tn_session_destroy(session);
    }
}

static void a_snapshot_tells_how_much_of_each_state_it_holds(void **state)
{
    (void)state;
    tn_state_extent all = { NULL, 3 }, extents[] = { all, { "blocks", 2 } };
    tn_save_options options = { .size = sizeof options, .extents = extents };
    tn_session *session = session_on("cpu0");
    tn_snapshot *snapshot;
    tn_error err = { 0 };
    for (options.extent_count = 1; options.extent_count <= 2; options.extent_count++) {
        save(session, &options);
        need(tn_snapshot_open(path, NULL, &snapshot, &err), &err);
        bool is_same = options.extent_count == 1;
        assert_int_equal(tn_snapshot_extent(snapshot, NULL), is_same ? 3 : -1);
        assert_int_equal(tn_snapshot_extent(snapshot, "plain"), 3);
        assert_int_equal(tn_snapshot_extent(snapshot, "blocks"), is_same ? 3 : 2);
        assert_int_equal(tn_snapshot_extent(snapshot, "plai"), -1);
        tn_snapshot_close(snapshot);
    }
    tn_session_destroy(session);
}

static void a_note_is_kept_and_a_key_is_asked_for(void **state)
{
    (void)state;
    contents want;
    tn_session *session = session_on("cpu0");
    tn_snapshot *snapshot;
    tn_error err = { 0 };
    uint64_t bytes;
    fill_session(session, &want);
    save(session, &(tn_save_options){ .size = sizeof(tn_save_options),
                                      .key = "weights 1",
                                      .note = "a note",
                                      .note_bytes = 6 });
    need(tn_snapshot_open(path, NULL, &snapshot, &err), &err);
    assert_memory_equal(tn_snapshot_note(snapshot, &bytes), "a note", 6);
    assert_int_equal(bytes, 6);
    static const char *const keys[] = { NULL, "", "weights 2", "weights", "weights 11" };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        assert_int_equal(tn_session_restore(session, snapshot, keys[i], &err), TN_E_GRAPH);
        assert_non_null(strstr(err.text, "another key"));
    }
    need_contents(session, &want);
    need(tn_session_restore(session, snapshot, "weights 1", &err), &err);
    tn_snapshot_close(snapshot);
    tn_session_destroy(session);
}

static void other_graphs_are_refused_and_change_nothing(void **state)
{
    (void)state;
    contents want;
    tn_session *session = session_on("cpu0");
    fill_session(session, &want);
    tn_graph *others[] = { make_graph(64, "plain"), make_graph(WIDTH, "renamed") };
    static const char *const must_say[] = { "other graphs", "no state 'plain'" };
    for (int i = 0; i < 2; i++) {
        tn_session *other = rig_session(runtime, (const tn_graph *[]){ others[i] }, 1,
                                        (const char *[]){ "cpu0", NULL });
        tn_snapshot *snapshot;
        tn_error err = { 0 };
        save(other, NULL);
        need(tn_snapshot_open(path, NULL, &snapshot, &err), &err);
        assert_int_equal(tn_session_restore(session, snapshot, NULL, &err), TN_E_GRAPH);
        assert_non_null(strstr(err.text, must_say[i]));
        tn_snapshot_close(snapshot);
        tn_session_destroy(other);
        tn_graph_destroy(others[i]);
    }
    need_contents(session, &want);
    tn_session_destroy(session);
}

static void extents_that_a_state_does_not_have_are_refused(void **state)
{
    (void)state;
    static const struct {
        tn_state_extent extent;
        const char *must_say;
    } cases[] = { { { "plain", ROWS + 1 }, "'plain' has 40" },
                  { { "plain", -1 }, "the first -1 are asked" },
                  { { "line", 6 }, "'line' has 5" },
                  { { "none", 1 }, "no state 'none'" },
                  { { NULL, 6 }, "'line' has 5" } };
    tn_session *session = session_on("cpu0");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tn_save_options options = { .size = sizeof options,
                                    .extents = &cases[i].extent,
                                    .extent_count = 1 };
        tn_error err = { 0 };
        assert_int_equal(tn_session_save(session, path, &options, &err), TN_E_ARG);
        if (!strstr(err.text, cases[i].must_say))
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].must_say);
    }
    tn_session_destroy(session);
}

// A file on no disk, for what is written many times.
static char nowhere[64];

static void write_nowhere(const void *bytes, size_t count)
{
    static int file = -1;
    if (file < 0) {
        file = memfd_create("snapshot", MFD_CLOEXEC);
        assert_true(file >= 0);
        snprintf(nowhere, sizeof nowhere, "/proc/self/fd/%d", file);
    }
    assert_int_equal(ftruncate(file, (off_t)count), 0);
    assert_int_equal(pwrite(file, bytes, count, 0), count);
}

static void need_refused(const unsigned char *bytes, size_t count, const char *what, size_t at)
{
    tn_snapshot *snapshot = (tn_snapshot *)&folder;
    tn_error err = { 0 };
    write_nowhere(bytes, count);
    tn_status status = tn_snapshot_open(nowhere, NULL, &snapshot, &err);
    bool is_refused = status == TN_E_DATA || (at < 8 && status == TN_E_FILE) ||
                      (at >= 8 && at < 12 && status == TN_E_VERSION);
    if (!is_refused || snapshot || !strstr(err.text, "/proc/self/fd/"))
        fail_msg("%s at %zu: %s \"%s\"", what, at, tn_status_name(status), err.text);
}

static void a_snapshot_cut_or_changed_anywhere_is_refused(void **state)
{
    (void)state;
    contents want;
    size_t count;
    const tn_state_extent extents[] = { { NULL, 1 }, { "plain", 2 } };
    tn_session *session = session_on("cpu0");
    fill_session(session, &want);
    save(session, &(tn_save_options){ .size = sizeof(tn_save_options),
                                      .extents = extents,
                                      .extent_count = 2,
                                      .key = "key",
                                      .note = "note",
                                      .note_bytes = 4 });
    unsigned char *bytes = test_read_file(path, &count);
    for (size_t i = 0; i < count; i++) {
        need_refused(bytes, i, "cut", i);
        bytes[i] ^= (unsigned char)(1u << i % 8);
        need_refused(bytes, count, "changed", i);
        bytes[i] ^= (unsigned char)(1u << i % 8);
    }
    unsigned char *longer = calloc(1, count + 1);
    assert_non_null(longer);
    memcpy(longer, bytes, count);
    need_refused(longer, count + 1, "a byte more", count);
    free(longer);
    free(bytes);
    tn_session_destroy(session);
}

// Every number of the file, as something else, under a hash that fits again.
static void numbers_made_to_harm_do_none(void **state)
{
    (void)state;
    enum { HASH_BYTES = 32 };
    size_t count, refused = 0;
    const tn_state_extent few = { NULL, 1 };
    tn_session *session = session_on("cpu0");
    save(session, &(tn_save_options){ .size = sizeof(tn_save_options),
                                      .extents = &few,
                                      .extent_count = 1,
                                      .note = "note",
                                      .note_bytes = 4 });
    unsigned char *bytes = test_read_file(path, &count);
    const uint64_t values[] = { 0,         1,         5,          count,          count - 1,
                                ~count,    INT64_MAX, UINT64_MAX, UINT64_MAX - 7, 1ull << 63,
                                1ull << 32 };
    for (size_t at = 0; at + 8 <= count - HASH_BYTES; at += 4)
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            unsigned char *changed = malloc(count);
            tn_snapshot *snapshot;
            tn_error err = { 0 };
            SHA2_CTX hash;
            assert_non_null(changed);
            memcpy(changed, bytes, count);
            memcpy(changed + at, &values[v], at % 8 ? 4 : 8);
            SHA256Init(&hash);
            SHA256Update(&hash, changed, count - HASH_BYTES);
            SHA256Final(changed + count - HASH_BYTES, &hash);
            write_nowhere(changed, count);
            tn_status status = tn_snapshot_open(nowhere, NULL, &snapshot, &err);
            if (status == TN_OK)
                status = tn_session_restore(session, snapshot, NULL, &err);
            refused += status != TN_OK;
            tn_snapshot_close(snapshot);
            free(changed);
        }
    print_message("%zu files refused\n", refused);
    assert_true(refused > 500);
    free(bytes);
    tn_session_destroy(session);
}

static void what_is_no_snapshot_is_neither_read_nor_replaced(void **state)
{
    (void)state;
    tn_session *session = session_on("cpu0");
    test_folder_text(&folder, "text", "what the user wrote");
    test_folder_text(&folder, "short", "TN");
    test_folder_sub(&folder, "sub");
    assert_int_equal(mkfifo(test_folder_path(&folder, "fifo"), 0600), 0);
    static const char *const names[] = {
        "text", "short", "sub", "fifo", "missing/file", "text/file"
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tn_snapshot *snapshot;
        tn_error err = { 0 };
        const char *place = test_folder_path(&folder, names[i]);
        assert_int_equal(tn_snapshot_open(place, NULL, &snapshot, &err), TN_E_FILE);
        assert_non_null(strstr(err.text, names[i]));
        assert_int_equal(tn_session_save(session, place, NULL, &err), TN_E_FILE);
        assert_non_null(strstr(err.text, names[i]));
    }
    size_t count;
    unsigned char *text = test_read_file(test_folder_path(&folder, "text"), &count);
    assert_int_equal(count, 19);
    assert_memory_equal(text, "what the user wrote", 19);
    free(text);
    struct stat found;
    assert_int_equal(lstat(test_folder_path(&folder, "fifo"), &found), 0);
    assert_true(S_ISFIFO(found.st_mode));
    tn_session_destroy(session);
}

static int count_files(void)
{
    char command[TEST_PATH_BYTES + 32];
    int count = -1;
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder.path);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    assert_int_equal(fscanf(list, "%d", &count), 1);
    pclose(list);
    return count;
}

// The signal of the limit, which by default ends the process, is held back.
static void a_full_disk_leaves_the_old_file_and_no_half_one(void **state)
{
    (void)state;
    contents want, other;
    tn_session *session = session_on("cpu0");
    fill_session(session, &want);
    save(session, NULL);
    assert_int_equal(tn_session_reset(session, NULL), TN_OK);
    int before = count_files();
    struct rlimit old;
    getrlimit(RLIMIT_FSIZE, &old);
    static const rlim_t limits[] = { 0, 1, 64, 1000, 5000 };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        tn_error err = { 0 };
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ limits[i], old.rlim_max });
        tn_status status = tn_session_save(session, path, NULL, &err);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(status, TN_E_IO);
        assert_non_null(strstr(err.text, "nothing was changed"));
        assert_int_equal(count_files(), before);
    }
    restore(session, NULL);
    write_row(session, 0, &other);
    assert_memory_equal(&other, &want, sizeof want);
    tn_session_destroy(session);
}

// From here on, the kernel ends the process at its first fsync.
static bool die_at_fsync(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof code / sizeof code[0], code };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// When all is written, and nothing has its name yet.
static void a_killed_process_leaves_the_old_file_and_no_half_one(void **state)
{
    (void)state;
    contents want;
    int nameless = open(folder.path, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (nameless < 0)
        skip();   // this file system has only files with names
    close(nameless);
    tn_session *session = session_on("cpu0");
    fill_session(session, &want);
    save(session, NULL);
    int before = count_files(), ended;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
        _exit(die_at_fsync() ? tn_session_save(session, path, NULL, NULL) : 0);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGSYS);
    assert_int_equal(count_files(), before);
    restore(session, NULL);
    need_contents(session, &want);
    tn_session_destroy(session);
}

static void a_replaced_file_keeps_its_mode_and_its_link(void **state)
{
    (void)state;
    struct stat found;
    tn_session *session = session_on("cpu0");
    unlink(path);
    save(session, NULL);
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0640), 0);
    const char *link = test_folder_path(&folder, "link");
    assert_int_equal(symlink("states", link), 0);
    tn_error err = { 0 };
    need(tn_session_save(session, link, NULL, &err), &err);
    assert_int_equal(lstat(link, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0640);
    test_folder_write(&folder, "empty", "", 0);
    need(tn_session_save(session, test_folder_path(&folder, "empty"), NULL, &err), &err);
    tn_session_destroy(session);
}

static void a_link_to_a_file_that_is_not_there_yet_makes_it(void **state)
{
    (void)state;
    struct stat found;
    tn_error err = { 0 };
    tn_session *session = session_on("cpu0");
    test_folder_sub(&folder, "below");
    assert_int_equal(symlink("below/second", test_folder_path(&folder, "first")), 0);
    assert_int_equal(symlink("made", test_folder_path(&folder, "below/second")), 0);
    need(tn_session_save(session, test_folder_path(&folder, "first"), NULL, &err), &err);
    static const char *const links[] = { "first", "below/second" };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lstat(test_folder_path(&folder, links[i]), &found), 0);
        assert_true(S_ISLNK(found.st_mode));
    }
    assert_int_equal(lstat(test_folder_path(&folder, "below/made"), &found), 0);
    assert_true(S_ISREG(found.st_mode));
    tn_session_destroy(session);
}

static tn_status save_and_restore(const tn_allocator *allocator, void *context)
{
    tn_device *device = rig_device(runtime, context);
    tn_session_options options = {
        .size = sizeof options, .device_count = 1, .devices = &device, .allocator = allocator
    };
    tn_session *session = NULL;
    tn_snapshot *snapshot = NULL;
    tn_error err = { 0 };
    tn_status status = tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options,
                                         &session, &err);
    if (status == TN_OK)
        status = tn_session_save(session, path, NULL, &err);
    if (status == TN_OK)
        status = tn_snapshot_open(path, allocator, &snapshot, &err);
    if (status == TN_OK)
        status = tn_session_restore(session, snapshot, NULL, &err);
    if (status != TN_OK)
        assert_int_equal(status, TN_E_HOST_MEMORY);
    tn_snapshot_close(snapshot);
    tn_session_destroy(session);
    return status;
}

static void every_allocation_of_it_may_fail(void **state)
{
    (void)state;
    for_each_failing_allocation(save_and_restore, (void *)(uintptr_t) "cpu0");
    for_each_failing_allocation(save_and_restore, (void *)(uintptr_t) "partial0");
    assert_string_equal(rig_log(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_come_back_on_any_device),
        cmocka_unit_test(beyond_an_extent_a_restored_state_is_zero),
        cmocka_unit_test(a_snapshot_tells_how_much_of_each_state_it_holds),
        cmocka_unit_test(a_note_is_kept_and_a_key_is_asked_for),
        cmocka_unit_test(other_graphs_are_refused_and_change_nothing),
        cmocka_unit_test(extents_that_a_state_does_not_have_are_refused),
        cmocka_unit_test(a_snapshot_cut_or_changed_anywhere_is_refused),
        cmocka_unit_test(numbers_made_to_harm_do_none),
        cmocka_unit_test(what_is_no_snapshot_is_neither_read_nor_replaced),
        cmocka_unit_test(a_full_disk_leaves_the_old_file_and_no_half_one),
        cmocka_unit_test(a_killed_process_leaves_the_old_file_and_no_half_one),
        cmocka_unit_test(a_replaced_file_keeps_its_mode_and_its_link),
        cmocka_unit_test(a_link_to_a_file_that_is_not_there_yet_makes_it),
        cmocka_unit_test(every_allocation_of_it_may_fail),
    };
    return cmocka_run_group_tests(tests, make_all, drop_all);
}
