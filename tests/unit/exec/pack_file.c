// The form of a file of packs: what was written is read, and whatever else is there is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "exec/pack_file.h"
#include "failing_write.h"
#include "folder.h"

static test_folder folder;
static tni_pool *pool;
static tn_allocator allocator;

enum {
    PACK_BYTES = 2 * TNI_PACK_FILE_PIECE + 3 * TNI_PACK_FILE_HEAD,
    DATA_BYTES = PACK_BYTES - 1000,   // zeros behind it
};
static unsigned char data[DATA_BYTES];
static const tni_pack_file_key key = { "0123456789abcdef0123456789abcde" },
                               other_key = { "0123456789abcdef0123456789abcdf" };

static const char *path(void)
{
    return test_folder_path(&folder, "packs");
}

// In parts of many sizes.
static tn_status write_file(uint64_t pack_bytes, tn_error *err)
{
    tni_pack_writer writer;
    tn_status status = tni_pack_writer_open(&writer, path(), &key, pack_bytes, &allocator, err);
    uint64_t bytes = pack_bytes < DATA_BYTES ? pack_bytes : DATA_BYTES;
    for (uint64_t at = 0, part = 1; at < bytes && status == TN_OK;
         at += part, part = part * 3 + 1) {
        if (part > bytes - at)
            part = bytes - at;
        status = tni_pack_writer_add(&writer, data + at, part, err);
    }
    if (status == TN_OK)
        status = tni_pack_writer_skip_to(&writer, pack_bytes, err);
    if (status == TN_OK)
        status = tni_pack_writer_finish(&writer, err);
    tni_pack_writer_close(&writer);
    return status;
}

static void make_file(uint64_t pack_bytes)
{
    tn_error err = { 0 };
    unlink(path());
    if (write_file(pack_bytes, &err) != TN_OK)
        fail_msg("%s", err.text);
}

static tn_status try(const tni_pack_file_key *its_key, uint64_t pack_bytes, tn_error *err)
{
    tni_file_map map;
    tn_status status = tni_pack_file_open(path(), its_key, pack_bytes, pool, &allocator, &map, err);
    if (status == TN_OK)
        tni_file_map_close(&map);
    return status;
}

static void need_refusal(const char *what, uint64_t at)
{
    tn_error err = { 0 };
    if (try(&key, PACK_BYTES, &err) != TN_E_FILE || !strstr(err.text, path()))
        fail_msg("%s at byte %llu: status %d, %s", what, (unsigned long long)at, err.status,
                 err.text);
}

static int begin(void **state)
{
    (void)state;
    tn_error err;
    allocator = tni_allocator(NULL);
    test_folder_make(&folder);
    for (uint32_t i = 0; i < DATA_BYTES; i++)
        data[i] = (unsigned char)(i * UINT32_C(2654435761) >> 24);
    return tni_pool_create(&allocator, 2, &pool, &err) == TN_OK ? 0 : 1;
}

static int end(void **state)
{
    (void)state;
    tni_pool_destroy(pool);
    test_folder_remove(&folder);
    return 0;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { TNI_PACK_FILE_HEAD, TNI_PACK_FILE_PIECE,
                                      TNI_PACK_FILE_PIECE + TNI_PACK_FILE_HEAD, PACK_BYTES };
    for (size_t i = 0; i < TN_COUNT_OF(sizes); i++) {
        tni_file_map map;
        tn_error err = { 0 };
        struct stat about;
        make_file(sizes[i]);
        assert_int_equal(stat(path(), &about), 0);
        assert_int_equal(about.st_mode & 07777, 0600);
        assert_int_equal(about.st_size, tni_pack_file_bytes(sizes[i]));
        if (tni_pack_file_open(path(), &key, sizes[i], pool, &allocator, &map, &err) != TN_OK)
            fail_msg("%s", err.text);
        const unsigned char *packs = map.data + TNI_PACK_FILE_HEAD;
        uint64_t bytes = sizes[i] < DATA_BYTES ? sizes[i] : DATA_BYTES;
        assert_memory_equal(packs, data, bytes);
        for (uint64_t b = bytes; b < sizes[i]; b++)
            assert_int_equal(packs[b], 0);
        assert_int_equal((uintptr_t)packs % TNI_PACK_FILE_HEAD, 0);
        tni_file_map_close(&map);
    }
    assert_true(tni_pack_file_bytes(UINT64_MAX) == UINT64_MAX);
    assert_true(tni_pack_file_bytes(INT64_MAX) == UINT64_MAX);
}

static void a_byte_that_changed_is_found(void **state)
{
    (void)state;
    const uint64_t bytes = tni_pack_file_bytes(PACK_BYTES);
    make_file(PACK_BYTES);
    for (uint64_t at = 0; at < bytes;) {
        test_turn_bit(path(), (long)at);
        need_refusal("a change", at);
        test_turn_bit(path(), (long)at);
        // Each byte of the head's fields and of the sums; of the rest some.
        at += at < 64 || at + 64 > bytes ? 1 : at + 64 + 9973 > bytes ? bytes - 64 - at + 1 : 9973;
    }
    tn_error err = { 0 };
    assert_int_equal(try(&key, PACK_BYTES, &err), TN_OK);
}

static void a_file_of_another_size_is_found(void **state)
{
    (void)state;
    const uint64_t bytes = tni_pack_file_bytes(PACK_BYTES),
                   sizes[] = { 0,
                               1,
                               63,
                               TNI_PACK_FILE_HEAD - 1,
                               TNI_PACK_FILE_HEAD,
                               TNI_PACK_FILE_HEAD + PACK_BYTES / 2,
                               TNI_PACK_FILE_HEAD + PACK_BYTES,
                               bytes - 8,
                               bytes - 1,
                               bytes + 1,
                               bytes + TNI_PACK_FILE_PIECE };
    for (size_t i = 0; i < TN_COUNT_OF(sizes); i++) {
        make_file(PACK_BYTES);
        assert_int_equal(truncate(path(), (off_t)sizes[i]), 0);
        need_refusal("the end", sizes[i]);
    }
}

static void another_file_is_refused(void **state)
{
    (void)state;
    tn_error err = { 0 };
    make_file(PACK_BYTES);
    assert_int_equal(try(&other_key, PACK_BYTES, &err), TN_E_FILE);
    assert_int_equal(try(&key, PACK_BYTES - TNI_PACK_FILE_HEAD, &err), TN_E_FILE);
    assert_int_equal(try(&key, PACK_BYTES + TNI_PACK_FILE_HEAD, &err), TN_E_FILE);
    static const mode_t modes[] = { 0620, 0602, 0666 };
    for (size_t i = 0; i < TN_COUNT_OF(modes); i++) {
        assert_int_equal(chmod(path(), modes[i]), 0);
        assert_int_equal(try(&key, PACK_BYTES, &err), TN_E_FILE);
        assert_non_null(strstr(err.text, "others may write to it"));
    }
    assert_int_equal(chmod(path(), 0644), 0);
    assert_int_equal(try(&key, PACK_BYTES, &err), TN_OK);
    unlink(path());
    test_folder_sub(&folder, "packs");
    assert_int_equal(try(&key, PACK_BYTES, &err), TN_E_FILE);
    assert_int_equal(rmdir(path()), 0);
}

// Whichever write fails: nothing is there, and the next try is not hindered.
static void a_write_that_fails_leaves_nothing(void **state)
{
    (void)state;
    tn_error err = { 0 };
    uint32_t failed = 0;
    unlink(path());
    for (tn_status status = TN_E_IO; status != TN_OK; failed++) {
        writes_left = (int)failed;
        status = write_file(PACK_BYTES, &err);
        writes_left = -1;
        if (status == TN_OK)
            break;
        assert_int_equal(status, TN_E_IO);
        assert_int_equal(access(path(), F_OK), -1);
    }
    assert_true(failed > 4);   // the head, each piece, the sums
    assert_int_equal(try(&key, PACK_BYTES, &err), TN_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(a_byte_that_changed_is_found),
        cmocka_unit_test(a_file_of_another_size_is_found),
        cmocka_unit_test(another_file_is_refused),
        cmocka_unit_test(a_write_that_fails_leaves_nothing),
    };
    return cmocka_run_group_tests_name("exec/pack_file", tests, begin, end);
}
