// Heaps: what is popped is the least of what is in them.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/heap.h"

enum { ITEMS = 30, KEYS = 7 };

static void the_least_comes_first_and_of_equal_ones_the_first(void **state)
{
    (void)state;
    static const uint32_t rooms[] = { ITEMS, 0, ITEMS };
    tni_arena arena;
    tni_arena_init(&arena, NULL);
    srand(2);
    for (int round = 0; round < 100; round++) {
        tni_heap *heaps = tni_heaps_take(&arena, rooms, 3);
        assert_non_null(heaps);
        double key[ITEMS];
        bool is_in[ITEMS] = { false };
        uint32_t next = 0, in = 0;
        while (next < ITEMS || in) {
            if (next < ITEMS && (!in || rand() % 2)) {
                key[next] = rand() % KEYS - KEYS / 2;
                is_in[next] = true;
                tni_heap_push(&heaps[2], key[next], next);
                next++, in++;
                continue;
            }
            uint32_t least = ITEMS;
            for (uint32_t i = 0; i < next; i++)
                if (is_in[i] && (least == ITEMS || key[i] < key[least]))
                    least = i;
            assert_int_equal(heaps[2].entries[0].item, least);
            assert_int_equal(tni_heap_pop(&heaps[2]), least);
            assert_int_equal(heaps[2].count, --in);
            is_in[least] = false;
        }
        assert_int_equal(heaps[0].count, 0);
    }
    tni_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_comes_first_and_of_equal_ones_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
