#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "gguf/gguf_internal.h"

static bool number_before(const void *context, uint32_t a, uint32_t b)
{
    const uint32_t *numbers = context;
    return numbers[a] < numbers[b];
}

static void any_order_is_sorted(void **state)
{
    (void)state;
    enum { MOST = 200 };
    uint32_t numbers[MOST], sorted[MOST], seed = 1;
    for (uint32_t count = 0; count <= MOST; count++) {
        for (uint32_t i = 0; i < count; i++) {
            seed = seed * 1664525 + 1013904223;
            numbers[i] = seed >> 24;   // repeats among them
            sorted[i] = i;
        }
        tni_gguf_sort(sorted, count, number_before, numbers);
        uint64_t seen = 0;
        for (uint32_t i = 0; i < count; i++) {
            seen += sorted[i];
            assert_true(i == 0 || numbers[sorted[i - 1]] <= numbers[sorted[i]]);
        }
        assert_int_equal(seen, (uint64_t)count * (count ? count - 1 : 0) / 2);
    }
}

static void every_name_is_found_and_no_other(void **state)
{
    (void)state;
    tni_arena arena;
    tni_arena_init(&arena, NULL);
    for (uint32_t count = 0; count < 20; count++) {
        tni_gguf_names names;
        assert_true(tni_gguf_names_reserve(&names, count, &arena));
        char text[16];
        for (uint32_t i = 0; i < count; i++) {
            snprintf(text, sizeof text, "n%u", (i * 7) % 20);
            names.names[i] = tni_arena_take_text(&arena, text);
        }
        tni_gguf_names_sort(&names);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(tni_gguf_names_find(&names, names.names[i]), i);
        assert_int_equal(tni_gguf_names_find(&names, ""), UINT32_MAX);
        assert_int_equal(tni_gguf_names_find(&names, "n"), UINT32_MAX);
        assert_int_equal(tni_gguf_names_find(&names, "n99"), UINT32_MAX);
        uint32_t at = 0;
        assert_int_equal(tni_gguf_names_duplicate(&names, &at), UINT32_MAX);
        if (count < 2)
            continue;
        names.names[0] = names.names[count - 1];
        tni_gguf_names_sort(&names);
        at = 0;
        assert_int_equal(tni_gguf_names_duplicate(&names, &at), count - 1);
        assert_int_equal(tni_gguf_names_duplicate(&names, &at), UINT32_MAX);
    }
    tni_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_is_sorted),
        cmocka_unit_test(every_name_is_found_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
