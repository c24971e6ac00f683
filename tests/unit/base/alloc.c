// Memory by an allocator: what is asked of it, and arrays that grow.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "failing_alloc.h"

typedef struct asked {
    size_t bytes, alignment_bytes;
    uint32_t frees;
} asked;

static void *note_alloc(void *context, size_t bytes, size_t alignment_bytes)
{
    static char piece[64];
    asked *a = context;
    a->bytes = bytes;
    a->alignment_bytes = alignment_bytes;
    return bytes <= sizeof piece ? piece : NULL;
}

static void note_free(void *context, void *pointer)
{
    (void)pointer;
    ((asked *)context)->frees++;
}

static void nothing_is_asked_as_one_byte(void **state)
{
    (void)state;
    asked a = { 0 };
    tn_allocator allocator = { &a, note_alloc, note_free };
    assert_non_null(tni_alloc(&allocator, 0));
    assert_int_equal(a.bytes, 1);
    assert_int_equal(a.alignment_bytes, 16);
    tni_free(&allocator, NULL);
    assert_int_equal(a.frees, 0);
}

static void the_default_allocator_aligns(void **state)
{
    (void)state;
    tn_allocator a = tni_allocator(NULL);
    static const size_t alignments[] = { 1, 8, 16, 32, 64, 4096, 1 << 16 };
    for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++) {
        void *pointer = a.alloc(a.context, 100, alignments[i]);
        assert_non_null(pointer);
        assert_int_equal((uintptr_t)pointer % alignments[i], 0);
        memset(pointer, 1, 100);
        a.free(a.context, pointer);
    }
    a.free(a.context, NULL);
}

static void zeroed_memory_is_zero_and_cannot_wrap(void **state)
{
    (void)state;
    tn_allocator a = tni_allocator(NULL);
    static const unsigned char zeros[120];
    unsigned char *pointer = tni_alloc_zeroed(&a, 12, 10);
    assert_non_null(pointer);
    assert_memory_equal(pointer, zeros, sizeof zeros);
    tni_free(&a, pointer);
    assert_null(tni_alloc_zeroed(&a, SIZE_MAX / 2 + 1, 2));
    assert_null(tni_alloc_zeroed(&a, SIZE_MAX, SIZE_MAX));
}

static void a_text_is_copied_whole(void **state)
{
    (void)state;
    tn_allocator a = tni_allocator(NULL);
    char *copy = tni_alloc_text(&a, "h\xc3\xa9llo");
    assert_string_equal(copy, "h\xc3\xa9llo");
    tni_free(&a, copy);
}

static void an_array_grows_by_doubling_and_keeps_its_elements(void **state)
{
    (void)state;
    failing_alloc failing;
    failing_alloc_init(&failing, 0);
    uint32_t *array = NULL, capacity = 0, grown = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        uint32_t before = capacity;
        assert_true(tni_grow(&failing.allocator, &array, &capacity, i + 1, sizeof *array));
        assert_true(capacity > i);
        grown += capacity != before;
        array[i] = i * 3;
    }
    assert_true(grown < 14);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(array[i], i * 3);
    assert_int_equal(failing.alive, 1);
    tni_free(&failing.allocator, array);
}

static void room_that_is_there_is_not_asked_for(void **state)
{
    (void)state;
    failing_alloc failing;
    failing_alloc_init(&failing, 0);
    char *array = NULL;
    uint32_t capacity = 0;
    assert_true(tni_grow(&failing.allocator, &array, &capacity, 0, 1));
    assert_null(array);
    assert_true(tni_grow(&failing.allocator, &array, &capacity, 1000, 1));
    assert_true(tni_grow(&failing.allocator, &array, &capacity, capacity, 1));
    assert_int_equal(failing.calls, 1);
    tni_free(&failing.allocator, array);
}

static void an_array_that_cannot_grow_is_as_it_was(void **state)
{
    (void)state;
    failing_alloc failing;
    failing_alloc_init(&failing, 2);
    uint64_t *array = NULL;
    uint32_t capacity = 0;
    assert_true(tni_grow(&failing.allocator, &array, &capacity, 4, sizeof *array));
    array[3] = 42;
    uint64_t *before = array;
    uint32_t capacity_before = capacity;
    assert_false(tni_grow(&failing.allocator, &array, &capacity, capacity + 1, sizeof *array));
    assert_false(tni_grow(&failing.allocator, &array, &capacity, UINT32_MAX, SIZE_MAX / 8));
    assert_ptr_equal(array, before);
    assert_int_equal(capacity, capacity_before);
    assert_int_equal(array[3], 42);
    tni_free(&failing.allocator, array);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_asked_as_one_byte),
        cmocka_unit_test(the_default_allocator_aligns),
        cmocka_unit_test(zeroed_memory_is_zero_and_cannot_wrap),
        cmocka_unit_test(a_text_is_copied_whole),
        cmocka_unit_test(an_array_grows_by_doubling_and_keeps_its_elements),
        cmocka_unit_test(room_that_is_there_is_not_asked_for),
        cmocka_unit_test(an_array_that_cannot_grow_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
