// A new file: whole in its place or not there at all, and nothing else is overwritten.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/macros.h"
#include "base/new_file.h"
#include "folder.h"

#define MAGIC "MAGIC"

static test_folder folder;

// The system's open, or that of a file system that knows no files without a name.
static bool has_nameless_files = true;

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    bool has_mode = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
    mode_t mode = has_mode ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if ((flags & O_TMPFILE) == O_TMPFILE && !has_nameless_files) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int make_folder(void **state)
{
    (void)state;
    test_folder_make(&folder);
    has_nameless_files = true;
    alarm(20);   // what waits for a FIFO would wait for ever
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static uint32_t count_files(void)
{
    uint32_t count = 0;
    DIR *open_folder = opendir(folder.path);
    assert_non_null(open_folder);
    for (struct dirent *entry; (entry = readdir(open_folder));)
        count += *entry->d_name != '.';
    closedir(open_folder);
    return count;
}

static void need_content(const char *name, const char *text)
{
    size_t count;
    unsigned char *bytes = test_read_file(test_folder_path(&folder, name), &count);
    assert_int_equal(count, strlen(text));
    assert_memory_equal(bytes, text, count);
    free(bytes);
}

static uint32_t mode_of(const char *name)
{
    struct stat found;
    assert_int_equal(lstat(test_folder_path(&folder, name), &found), 0);
    return found.st_mode & 07777;
}

static void begin(tni_new_file *new, const char *name)
{
    tn_error err = { 0 };
    if (tni_new_file_open(new, test_folder_path(&folder, name), MAGIC, strlen(MAGIC), "a test",
                          &err) != TN_OK)
        fail_msg("%s", err.text);
}

static void write_text(tni_new_file *new, const char *text)
{
    tn_error err = { 0 };
    if (tni_new_file_write(new, text, strlen(text), &err) != TN_OK)
        fail_msg("%s", err.text);
}

static void finish(tni_new_file *new)
{
    tn_error err = { 0 };
    if (tni_new_file_finish(new, &err) != TN_OK)
        fail_msg("%s", err.text);
    tni_new_file_drop(new);   // nothing is left to do
}

static void a_file_is_in_its_place_when_it_is_finished(void **state)
{
    (void)state;
    static tni_new_file new;
    begin(&new, "file");
    write_text(&new, MAGIC " one");
    assert_int_equal(new.bytes, strlen(MAGIC " one"));
    assert_int_equal(access(test_folder_path(&folder, "file"), F_OK), -1);
    finish(&new);
    need_content("file", MAGIC " one");
    assert_int_equal(mode_of("file"), 0600);
    begin(&new, "file");
    write_text(&new, MAGIC);
    write_text(&new, " two");
    need_content("file", MAGIC " one");
    finish(&new);
    need_content("file", MAGIC " two");
    assert_int_equal(count_files(), 1);
}

static void what_is_dropped_was_never_there(void **state)
{
    (void)state;
    static tni_new_file new;
    begin(&new, "file");
    write_text(&new, MAGIC " new");
    tni_new_file_drop(&new);
    assert_int_equal(count_files(), 0);
    test_folder_text(&folder, "file", MAGIC " old");
    begin(&new, "file");
    write_text(&new, MAGIC " new");
    tni_new_file_drop(&new);
    tni_new_file_drop(&new);   // twice is fine
    need_content("file", MAGIC " old");
    assert_int_equal(count_files(), 1);
}

static void only_what_begins_with_the_magic_is_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *old, *says;   // NULL: it is replaced
    } cases[] = {
        { MAGIC " and more", NULL },
        { MAGIC, NULL },
        { "", NULL },
        { "MAGI", "holds something else than a test and is not replaced" },
        { "magic", "holds something else than a test" },
        { "a letter to somebody", "holds something else than a test" },
        { " " MAGIC, "holds something else than a test" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        static tni_new_file new;
        tn_error err = { 0 };
        test_folder_text(&folder, "file", cases[i].old);
        const char *path = test_folder_path(&folder, "file");
        tn_status status = tni_new_file_open(&new, path, MAGIC, strlen(MAGIC), "a test", &err);
        tni_new_file_drop(&new);
        assert_int_equal(status, cases[i].says ? TN_E_FILE : TN_OK);
        if (cases[i].says && (!strstr(err.text, cases[i].says) || !strstr(err.text, path)))
            fail_msg("'%s': \"%s\"", cases[i].old, err.text);
        need_content("file", cases[i].old);
    }
    assert_int_equal(count_files(), 1);
}

static void what_is_no_place_for_a_file_is_refused(void **state)
{
    (void)state;
    static char long_name[TNI_PATH_BYTES + 10];
    memset(long_name, 'x', sizeof long_name - 1);
    test_folder_sub(&folder, "sub");
    assert_int_equal(mkfifo(test_folder_path(&folder, "fifo"), 0600), 0);
    assert_int_equal(symlink("loop", test_folder_path(&folder, "loop")), 0);
    test_folder_text(&folder, "text", MAGIC);
    static const struct {
        const char *name;   // in the folder, unless it is empty or begins with a slash
        const char *says;
    } cases[] = {
        { "sub", "is not a regular file" },
        { "fifo", "is not a regular file" },
        { "loop", "symbolic links" },
        { "missing/file", "No such file" },
        { "text/file", "Not a directory" },
        { "/dev/null", "is not a regular file" },
        { "", "No such file" },
        { long_name, "name too long" },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        static tni_new_file new;
        tn_error err = { 0 };
        bool is_path = !*cases[i].name || *cases[i].name == '/' || cases[i].name == long_name;
        const char *path = is_path ? cases[i].name : test_folder_path(&folder, cases[i].name);
        tn_status status = tni_new_file_open(&new, path, MAGIC, strlen(MAGIC), "a test", &err);
        tni_new_file_drop(&new);
        if (status != TN_E_FILE || !strstr(err.text, cases[i].says))
            fail_msg("'%.40s': %d \"%s\", not \"%s\"", path, (int)status, err.text, cases[i].says);
    }
    assert_int_equal(count_files(), 4);
}

static void a_file_that_is_replaced_keeps_its_mode(void **state)
{
    (void)state;
    static const uint32_t modes[] = { 0644, 0400, 0660, 0755 };
    for (size_t i = 0; i < TN_COUNT_OF(modes); i++)
        for (int nameless = 0; nameless < 2; nameless++) {
            static tni_new_file new;
            has_nameless_files = nameless;
            unlink(test_folder_path(&folder, "file"));
            test_folder_text(&folder, "file", MAGIC);
            assert_int_equal(chmod(test_folder_path(&folder, "file"), modes[i]), 0);
            begin(&new, "file");
            write_text(&new, MAGIC " new");
            finish(&new);
            assert_int_equal(mode_of("file"), modes[i]);
            need_content("file", MAGIC " new");
        }
}

static void a_link_stays_and_what_it_leads_to_is_replaced(void **state)
{
    (void)state;
    static tni_new_file new;
    struct stat found;
    test_folder_sub(&folder, "sub");
    test_folder_text(&folder, "sub/file", MAGIC " old");
    assert_int_equal(symlink("sub/file", test_folder_path(&folder, "link")), 0);
    begin(&new, "link");
    write_text(&new, MAGIC " new");
    finish(&new);
    need_content("sub/file", MAGIC " new");
    assert_int_equal(lstat(test_folder_path(&folder, "link"), &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    assert_int_equal(count_files(), 2);
}

static void where_every_file_has_a_name_it_has_another_until_then(void **state)
{
    (void)state;
    static tni_new_file new;
    has_nameless_files = false;
    test_folder_text(&folder, "file", MAGIC " old");
    begin(&new, "file");
    write_text(&new, MAGIC " new");
    need_content("file", MAGIC " old");
    assert_int_equal(access(new.temporary, F_OK), 0);
    assert_int_equal(strncmp(new.temporary, new.path, strlen(new.path)), 0);
    assert_int_equal(count_files(), 2);
    tni_new_file_drop(&new);
    assert_int_equal(count_files(), 1);
    need_content("file", MAGIC " old");
    begin(&new, "file");
    write_text(&new, MAGIC " new");
    finish(&new);
    assert_int_equal(count_files(), 1);
    need_content("file", MAGIC " new");
}

static void names_that_are_taken_are_left_alone(void **state)
{
    (void)state;
    static tni_new_file new;
    char taken[64];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(taken, sizeof taken, "file.%06x", ((unsigned)getpid() + i) & 0xffffffu);
        test_folder_text(&folder, taken, "of somebody else");
    }
    begin(&new, "file");
    write_text(&new, MAGIC);
    finish(&new);
    need_content("file", MAGIC);
    assert_int_equal(count_files(), 4);
    need_content(taken, "of somebody else");
}

static void a_disk_that_is_full_changes_nothing(void **state)
{
    (void)state;
    enum { ROOM = 1000 };
    static const char bytes[ROOM] = MAGIC;
    struct rlimit old;
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    for (int nameless = 0; nameless < 2; nameless++) {
        static tni_new_file new;
        tn_error err = { 0 };
        has_nameless_files = nameless;
        test_folder_text(&folder, "file", MAGIC " old");
        begin(&new, "file");
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){ ROOM + ROOM / 2, old.rlim_max });
        tn_status fits = tni_new_file_write(&new, bytes, ROOM, &err);
        tn_status too_much = tni_new_file_write(&new, bytes, ROOM, &err);
        setrlimit(RLIMIT_FSIZE, &old);
        tni_new_file_drop(&new);
        assert_int_equal(fits, TN_OK);
        assert_int_equal(too_much, TN_E_IO);
        assert_non_null(strstr(err.text, "writing failed after 1500 bytes: File too large"));
        assert_non_null(strstr(err.text, "nothing was changed"));
        need_content("file", MAGIC " old");
        assert_int_equal(count_files(), 1);
    }
    signal(SIGXFSZ, SIG_DFL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_in_its_place_when_it_is_finished),
        TEST(what_is_dropped_was_never_there),
        TEST(only_what_begins_with_the_magic_is_replaced),
        TEST(what_is_no_place_for_a_file_is_refused),
        TEST(a_file_that_is_replaced_keeps_its_mode),
        TEST(a_link_stays_and_what_it_leads_to_is_replaced),
        TEST(where_every_file_has_a_name_it_has_another_until_then),
        TEST(names_that_are_taken_are_left_alone),
        TEST(a_disk_that_is_full_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
