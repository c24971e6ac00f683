// What a file is told by: each thing that makes it another one, and when a stamp can be relied on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file_stamp.h"

static void each_part_tells_files_apart(void **state)
{
    (void)state;
    const tni_file_stamp one = { 1, 2, 3, { 4, 5 }, { 6, 7 } };
    const tni_file_stamp others[] = {
        { 9, 2, 3, { 4, 5 }, { 6, 7 } }, { 1, 9, 3, { 4, 5 }, { 6, 7 } },
        { 1, 2, 9, { 4, 5 }, { 6, 7 } }, { 1, 2, 3, { 9, 5 }, { 6, 7 } },
        { 1, 2, 3, { 4, 9 }, { 6, 7 } }, { 1, 2, 3, { 4, 5 }, { 9, 7 } },
        { 1, 2, 3, { 4, 5 }, { 6, 9 } },
    };
    const tni_file_stamp same = one;
    assert_true(tni_file_stamp_is_same(&one, &same));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(tni_file_stamp_is_same(&one, &others[i]));
}

static void what_is_not_open_has_no_stamp(void **state)
{
    (void)state;
    tni_file_stamp stamp;
    int ends[2];
    assert_false(tni_file_stamp_of(-1, &stamp));
    assert_int_equal(pipe(ends), 0);
    assert_true(tni_file_stamp_of(ends[0], &stamp));
    close(ends[0]);
    close(ends[1]);
}

static void a_stamp_settles(void **state)
{
    (void)state;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    tni_file_stamp stamp = { .modified = { .tv_sec = 1 }, .changed = { .tv_sec = 1 } };
    assert_true(tni_file_stamp_has_settled(&stamp));
    struct timespec *const times[] = { &stamp.modified, &stamp.changed };
    for (int i = 0; i < 2; i++) {
        times[i]->tv_sec = now.tv_sec;
        assert_false(tni_file_stamp_has_settled(&stamp));
        times[i]->tv_sec = now.tv_sec + 1000;   // a clock that was set back
        assert_false(tni_file_stamp_has_settled(&stamp));
        times[i]->tv_sec = 1;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_tells_files_apart),
        cmocka_unit_test(what_is_not_open_has_no_stamp),
        cmocka_unit_test(a_stamp_settles),
    };
    return cmocka_run_group_tests_name("base/file_stamp", tests, NULL, NULL);
}
