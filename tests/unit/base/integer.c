// Integers that cannot wrap: against 128-bit arithmetic, at every border.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/integer.h"
#include "base/macros.h"

__extension__ typedef unsigned __int128 wide;

static const uint64_t borders[] = {
    0,
    1,
    2,
    3,
    15,
    16,
    UINT32_MAX - 1,
    UINT32_MAX,
    1ull << 32,
    INT64_MAX,
    1ull << 63,
    UINT64_MAX / 3,
    UINT64_MAX / 2,
    UINT64_MAX - 15,
    UINT64_MAX - 1,
    UINT64_MAX,
};

static void sums_and_products_are_right_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT_OF(borders); i++)
        for (size_t j = 0; j < TN_COUNT_OF(borders); j++) {
            uint64_t a = borders[i], b = borders[j], out = 77;
            size_t size_out = 77;
            wide sum = (wide)a + b, product = (wide)a * b;
            bool fits = sum <= UINT64_MAX;
            assert_int_equal(tni_add_u64(a, b, &out), fits);
            assert_int_equal(out, fits ? (uint64_t)sum : 77);
            assert_int_equal(tni_add_size(a, b, &size_out), fits);
            assert_int_equal(size_out, fits ? (size_t)sum : 77);
            out = size_out = 77;
            fits = product <= UINT64_MAX;
            assert_int_equal(tni_mul_u64(a, b, &out), fits);
            assert_int_equal(out, fits ? (uint64_t)product : 77);
            assert_int_equal(tni_mul_size(a, b, &size_out), fits);
            assert_int_equal(size_out, fits ? (size_t)product : 77);
        }
}

static void rounding_up_is_right_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT_OF(borders); i++)
        for (uint32_t shift = 0; shift < 64; shift++) {
            uint64_t x = borders[i], alignment = 1ull << shift, out = 77;
            wide want = ((wide)x + alignment - 1) / alignment * alignment;
            // A multiple that fits is refused only when the sum on the way to it does not.
            bool fits = (wide)x + alignment - 1 <= UINT64_MAX;
            assert_int_equal(tni_align_u64(x, alignment, &out), fits);
            assert_true(out == (fits ? (uint64_t)want : 77));
        }
}

static void powers_of_two_are_told(void **state)
{
    (void)state;
    assert_false(tni_is_power_of_two(0));
    for (uint32_t shift = 0; shift < 64; shift++) {
        assert_true(tni_is_power_of_two(1ull << shift));
        assert_int_equal(tni_is_power_of_two((1ull << shift) + 1), shift == 0);
    }
    assert_false(tni_is_power_of_two(UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products_are_right_or_refused),
        cmocka_unit_test(rounding_up_is_right_or_refused),
        cmocka_unit_test(powers_of_two_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
