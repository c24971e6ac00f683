// A file in memory: mapped or read, and everything that is no regular file refused without waiting.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file_map.h"
#include "base/macros.h"
#include "failing_alloc.h"
#include "folder.h"

static test_folder folder;

// The system's read, or a disk with a fault: at most so many bytes at once, and after so many an
// error (0: the end of the file).
static struct {
    size_t at_once, most;
    int error;
    bool is_interrupted;   // every second call
} disk = { .at_once = SIZE_MAX, .most = SIZE_MAX };
static size_t disk_given;

ssize_t read(int file, void *to, size_t bytes)
{
    static unsigned calls;
    if (disk.is_interrupted && calls++ % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    if (disk_given >= disk.most) {
        errno = disk.error;
        return disk.error ? -1 : 0;
    }
    bytes = bytes < disk.at_once ? bytes : disk.at_once;
    ssize_t given = syscall(SYS_read, file, to, bytes);
    disk_given += given > 0 ? (size_t)given : 0;
    return given;
}

static int make_folder(void **state)
{
    (void)state;
    test_folder_make(&folder);
    alarm(20);   // what waits for a FIFO would wait for ever
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static void a_file_is_there_whole_mapped_or_read(void **state)
{
    (void)state;
    enum { BYTES = 100001 };
    unsigned char *bytes = malloc(BYTES);
    assert_non_null(bytes);
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    test_folder_write(&folder, "file", bytes, BYTES);
    for (int read = 0; read < 2; read++) {
        failing_alloc failing;
        failing_alloc_init(&failing, 0);
        tni_file_map map;
        tn_error err;
        assert_int_equal(tni_file_map_open(&map, test_folder_path(&folder, "file"), read, 0,
                                           &failing.allocator, &err),
                         TN_OK);
        assert_int_equal(map.bytes, BYTES);
        assert_int_equal(map.is_mapped, !read);
        assert_memory_equal(map.data, bytes, BYTES);
        assert_int_equal(failing.alive, 1);   // the bytes, or what the guard knows of the mapping
        tni_file_map_close(&map);
        assert_null(map.data);
        tni_file_map_close(&map);   // twice is fine
        assert_int_equal(failing.alive, 0);
    }
    free(bytes);
}

static void an_empty_file_has_no_bytes(void **state)
{
    (void)state;
    test_folder_text(&folder, "empty", "");
    for (int read = 0; read < 2; read++) {
        tni_file_map map;
        assert_int_equal(
            tni_file_map_open(&map, test_folder_path(&folder, "empty"), read, 1, NULL, NULL),
            TN_OK);
        assert_null(map.data);
        assert_int_equal(map.bytes, 0);
        tni_file_map_close(&map);
    }
    tni_file_map zeroed = { .bytes = 0 };
    tni_file_map_close(&zeroed);
}

static void a_ceiling_is_kept(void **state)
{
    (void)state;
    test_folder_text(&folder, "ten", "0123456789");
    static const struct {
        uint64_t max_bytes;
        tn_status status;
    } cases[] = { { 0, TN_OK }, { 11, TN_OK }, { 10, TN_OK }, { 9, TN_E_FILE }, { 1, TN_E_FILE } };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++)
        for (int read = 0; read < 2; read++) {
            tni_file_map map;
            tn_error err = { 0 };
            tn_status status = tni_file_map_open(&map, test_folder_path(&folder, "ten"), read,
                                                 cases[i].max_bytes, NULL, &err);
            assert_int_equal(status, cases[i].status);
            if (status != TN_OK) {
                assert_non_null(strstr(err.text, "has 10 bytes"));
                assert_null(map.data);
            }
            tni_file_map_close(&map);
        }
}

static void what_is_no_regular_file_is_refused_at_once(void **state)
{
    (void)state;
    test_folder_sub(&folder, "sub");
    assert_int_equal(mkfifo(test_folder_path(&folder, "fifo"), 0600), 0);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(address.sun_path, test_folder_path(&folder, "socket"), sizeof address.sun_path - 1);
    assert_int_equal(bind(made, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(symlink("loop", test_folder_path(&folder, "loop")), 0);
    assert_int_equal(symlink("sub", test_folder_path(&folder, "link")), 0);
    static const struct {
        const char *path;   // in the folder, unless it begins with a slash
        const char *says;
    } cases[] = {
        { "missing", "No such file" },
        { "no/such/folder", "No such file" },
        { "sub", "is a folder" },
        { "link", "is a folder" },
        { "fifo", "device, socket or pipe" },
        { "socket", "device, socket or pipe" },
        { "loop", "symbolic links" },
        { "/dev/zero", "device, socket or pipe" },
        { "/dev/null", "device, socket or pipe" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        const char *path = *cases[i].path == '/' ? cases[i].path
                                                 : test_folder_path(&folder, cases[i].path);
        for (int read = 0; read < 2; read++) {
            tni_file_map map;
            tn_error err = { 0 };
            assert_int_equal(tni_file_map_open(&map, path, read, 0, NULL, &err), TN_E_FILE);
            if (!strstr(err.text, path) || !strstr(err.text, cases[i].says))
                fail_msg("%s: \"%s\" does not say \"%s\"", path, err.text, cases[i].says);
            assert_null(map.data);
            tni_file_map_close(&map);
        }
    }
    close(made);
}

static void a_file_that_does_not_fit_into_memory_is_a_status(void **state)
{
    (void)state;
    test_folder_text(&folder, "small", "abc");
    failing_alloc failing;
    failing_alloc_init(&failing, 1);
    tni_file_map map;
    tn_error err = { 0 };
    assert_int_equal(tni_file_map_open(&map, test_folder_path(&folder, "small"), true, 0,
                                       &failing.allocator, &err),
                     TN_E_HOST_MEMORY);
    tni_file_map_close(&map);

    // Sparse, eight terabytes: the ceiling is looked at before anything is allocated.
    int file = open(test_folder_path(&folder, "huge"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    bool is_made = ftruncate(file, (off_t)1 << 43) == 0;   // not on every file system
    close(file);
    if (is_made) {
        assert_int_equal(
            tni_file_map_open(&map, test_folder_path(&folder, "huge"), true, 1 << 20, NULL, &err),
            TN_E_FILE);
        tni_file_map_close(&map);
    }
}

static void a_disk_that_fails_is_a_status_and_short_reads_go_on(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        size_t at_once, most;
        int error;
        bool is_interrupted;
        tn_status status;
        const char *must_say;
    } cases[] = {
        { "three bytes at once", 3, SIZE_MAX, 0, false, TN_OK, "" },
        { "interrupted", 4, SIZE_MAX, 0, true, TN_OK, "" },
        { "an error at once", SIZE_MAX, 0, EIO, false, TN_E_FILE,
          "read failed after 0 of 10 bytes: Input/output error" },
        { "an error within", 4, 8, EIO, true, TN_E_FILE,
          "read failed after 8 of 10 bytes: Input/output error" },
        { "cut meanwhile", 4, 4, 0, false, TN_E_FILE,
          "read failed after 4 of 10 bytes: the file became shorter" },
    };
    test_folder_text(&folder, "ten", "0123456789");
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        failing_alloc failing;
        failing_alloc_init(&failing, 0);
        tni_file_map map;
        tn_error err = { 0 };
        disk.at_once = cases[i].at_once;
        disk.most = cases[i].most;
        disk.error = cases[i].error;
        disk.is_interrupted = cases[i].is_interrupted;
        disk_given = 0;
        const char *path = test_folder_path(&folder, "ten");
        tn_status status = tni_file_map_open(&map, path, true, 0, &failing.allocator, &err);
        disk.at_once = disk.most = SIZE_MAX;
        disk.is_interrupted = false;
        if (status != cases[i].status || !strstr(err.text, cases[i].must_say))
            fail_msg("%s: %s, \"%s\"", cases[i].says, tn_status_name(status), err.text);
        if (status == TN_OK)
            assert_memory_equal(map.data, "0123456789", 10);
        tni_file_map_close(&map);
        assert_int_equal(failing.alive, 0);
    }
}

static void expect_change(const tni_file_map *map, const char *path, const char *must_say)
{
    tn_error err = { 0 };
    assert_int_equal(tni_file_map_check(map, path, &err), TN_E_FILE);
    if (!strstr(err.text, path) || !strstr(err.text, must_say))
        fail_msg("\"%s\" does not say \"%s\"", err.text, must_say);
}

static void a_mapped_file_that_changes_is_told(void **state)
{
    (void)state;
    tni_file_map mapped, in_memory;
    const char *path = test_folder_path(&folder, "changes");
    test_folder_text(&folder, "changes", "0123456789");
    assert_int_equal(tni_file_map_open(&mapped, path, false, 0, NULL, NULL), TN_OK);
    assert_int_equal(tni_file_map_open(&in_memory, path, true, 0, NULL, NULL), TN_OK);
    assert_int_equal(tni_file_map_check(&mapped, path, NULL), TN_OK);
    assert_int_equal(chmod(path, 0600), 0);   // no change of its bytes
    assert_int_equal(tni_file_map_check(&mapped, path, NULL), TN_OK);

    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    struct timespec times[2] = { about.st_mtim, about.st_mtim };
    times[1].tv_nsec += times[1].tv_nsec < 500000000 ? 100000000 : -100000000;
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    expect_change(&mapped, path, "was written to while it was in use");
    assert_int_equal(truncate(path, 3), 0);
    expect_change(&mapped, path, "it had 10 bytes and has 3");
    assert_int_equal(tni_file_map_check(&in_memory, path, NULL), TN_OK);
    tni_file_map_close(&mapped);
    tni_file_map_close(&in_memory);

    // Another file in its place leaves the mapped one as it was.
    assert_int_equal(tni_file_map_open(&mapped, path, false, 0, NULL, NULL), TN_OK);
    test_folder_text(&folder, "other", "abc");
    assert_int_equal(rename(test_folder_path(&folder, "other"), path), 0);
    assert_int_equal(tni_file_map_check(&mapped, path, NULL), TN_OK);
    tni_file_map_close(&mapped);
}

static void a_file_that_was_let_go_is_looked_at_by_its_path(void **state)
{
    (void)state;
    tni_file_map map;
    char path[TEST_PATH_BYTES];
    snprintf(path, sizeof path, "%s", test_folder_path(&folder, "let_go"));
    int before = dup(0);
    close(before);
    for (int how = 0; how < 4; how++) {
        test_folder_text(&folder, "let_go", "0123456789");
        assert_int_equal(tni_file_map_open(&map, path, false, 0, NULL, NULL), TN_OK);
        for (int i = 0; i < 2; i++)
            tni_file_map_let_go(&map);
        int after = dup(0);
        close(after);
        assert_int_equal(after, before);
        assert_int_equal(tni_file_map_check(&map, path, NULL), TN_OK);
        if (how == 0) {
            assert_int_equal(truncate(path, 3), 0);
            expect_change(&map, path, "it had 10 bytes and has 3");
        } else if (how == 1) {
            const struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 5 } };
            assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
            expect_change(&map, path, "was written to while it was in use");
        } else {
            test_folder_text(&folder, "other", "abc");
            assert_int_equal(
                how == 2 ? remove(path) : rename(test_folder_path(&folder, "other"), path), 0);
            assert_int_equal(tni_file_map_check(&map, path, NULL), TN_OK);
        }
        if (how)
            assert_memory_equal(map.data, "0123456789", 10);
        tni_file_map_close(&map);
    }
}

// No descriptor stays open, whatever came of it.
static void no_descriptor_is_left(void **state)
{
    (void)state;
    test_folder_text(&folder, "one", "1");
    int before = dup(0);
    close(before);
    for (int i = 0; i < 100; i++) {
        tni_file_map map;
        const char *names[] = { "one", "missing", "sub", "one" };
        tn_status status = tni_file_map_open(&map, test_folder_path(&folder, names[i % 4]), i % 2,
                                             (uint64_t)(i % 3), NULL, NULL);
        (void)status;
        tni_file_map_close(&map);
    }
    int after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

static void a_head_is_as_much_as_there_is(void **state)
{
    (void)state;
    test_folder_text(&folder, "head", "0123456789");
    test_folder_sub(&folder, "heads");
    for (size_t asked = 0; asked < 12; asked++)
        for (int slow = 0; slow < 2; slow++) {
            char bytes[13] = "............";
            size_t got;
            uint64_t file_bytes;
            disk.at_once = slow ? 3 : SIZE_MAX;
            disk.is_interrupted = slow;
            assert_int_equal(tni_file_head(test_folder_path(&folder, "head"), bytes, asked, &got,
                                           &file_bytes, NULL),
                             TN_OK);
            disk.at_once = SIZE_MAX;
            disk.is_interrupted = false;
            assert_int_equal(file_bytes, 10);
            assert_int_equal(got, asked < 10 ? asked : 10);
            assert_memory_equal(bytes, "0123456789", got);
            assert_int_equal(bytes[got], '.');
        }
    static const char *const refused[] = { "missing", "heads" };
    for (size_t i = 0; i < TN_COUNT_OF(refused); i++) {
        char bytes[4];
        size_t got = 7;
        uint64_t file_bytes = 7;
        tn_error err = { 0 };
        const char *path = test_folder_path(&folder, refused[i]);
        assert_int_equal(tni_file_head(path, bytes, sizeof bytes, &got, &file_bytes, &err),
                         TN_E_FILE);
        assert_non_null(strstr(err.text, path));
        assert_int_equal(got, 0);
        assert_int_equal(file_bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_there_whole_mapped_or_read),
        cmocka_unit_test(an_empty_file_has_no_bytes),
        cmocka_unit_test(a_ceiling_is_kept),
        cmocka_unit_test(what_is_no_regular_file_is_refused_at_once),
        cmocka_unit_test(a_file_that_does_not_fit_into_memory_is_a_status),
        cmocka_unit_test(a_disk_that_fails_is_a_status_and_short_reads_go_on),
        cmocka_unit_test(a_mapped_file_that_changes_is_told),
        cmocka_unit_test(a_file_that_was_let_go_is_looked_at_by_its_path),
        cmocka_unit_test(no_descriptor_is_left),
        cmocka_unit_test(a_head_is_as_much_as_there_is),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
