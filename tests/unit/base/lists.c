// Lists by key, made in two passes: against a look at everything for each key.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/lists.h"

enum { MOST_KEYS = 9, MOST = 40 };

static void each_list_has_what_is_of_its_key_in_order(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 200; round++) {
        tni_arena arena;
        uint32_t keys[MOST], items[MOST], key_count = 1 + (uint32_t)rand() % MOST_KEYS;
        uint32_t count = (uint32_t)rand() % MOST;
        tni_arena_init(&arena, NULL);
        uint32_t *first = tni_lists_begin(&arena, key_count);
        assert_non_null(first);
        for (uint32_t i = 0; i < count; i++)
            tni_lists_count(first, keys[i] = (uint32_t)rand() % key_count);
        assert_int_equal(tni_lists_sum(first, key_count), count);
        for (uint32_t i = 0; i < count; i++)
            items[tni_lists_next(first, keys[i])] = i;
        uint32_t at = 0;
        for (uint32_t k = 0; k < key_count; k++) {
            assert_int_equal(first[k], at);
            for (uint32_t i = 0; i < count; i++)
                if (keys[i] == k)
                    assert_int_equal(items[at++], i);
            assert_int_equal(first[k + 1], at);
        }
        assert_int_equal(at, count);
        tni_arena_finish(&arena);
    }
}

static void of_no_keys_nothing_is_listed(void **state)
{
    (void)state;
    tni_arena arena;
    tni_arena_init(&arena, NULL);
    uint32_t *first = tni_lists_begin(&arena, 0);
    assert_non_null(first);
    assert_int_equal(tni_lists_sum(first, 0), 0);
    assert_int_equal(first[0], 0);
    tni_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_list_has_what_is_of_its_key_in_order),
        cmocka_unit_test(of_no_keys_nothing_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
