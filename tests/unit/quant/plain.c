// plain.c: numbers of 16 bits: every one of them, and the rounding to them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "quant/quant.h"

static float after(float x, int ulps)   // the number so many steps of F32 further from zero
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    bits += (uint32_t)ulps;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

static void every_pattern_comes_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 65536; i++) {
        float half = tni_quant_from_f16((uint16_t)i), brain = tni_quant_from_bf16((uint16_t)i);

        if (isnan(half))
            assert_true(isnan(tni_quant_from_f16(tni_quant_to_f16(half))));
        else
            assert_int_equal(tni_quant_to_f16(half), i);
        if (isnan(brain))
            assert_true(isnan(tni_quant_from_bf16(tni_quant_to_bf16(brain))));
        else
            assert_int_equal(tni_quant_to_bf16(brain), i);
    }
}

// Half-way between a pattern and the next the even one wins; a step of F32 to either side decides.
static void rounding_is_to_nearest_with_ties_to_even(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 0x7bffu; i++) {
        float low = tni_quant_from_f16((uint16_t)i), high = tni_quant_from_f16((uint16_t)(i + 1));
        float middle = (float)(((double)low + (double)high) / 2);

        assert_int_equal(tni_quant_to_f16(middle), i + (i & 1));
        assert_int_equal(tni_quant_to_f16(after(middle, 1)), i + 1);
        assert_int_equal(tni_quant_to_f16(after(middle, -1)), i);
        assert_int_equal(tni_quant_to_f16(-middle), 0x8000u | (i + (i & 1)));
    }
    for (uint32_t i = 1; i < 0x7f7fu; i++) {
        float middle;
        uint32_t bits = i << 16 | 0x8000u;

        memcpy(&middle, &bits, sizeof middle);
        assert_int_equal(tni_quant_to_bf16(middle), i + (i & 1));
        assert_int_equal(tni_quant_to_bf16(after(middle, 1)), i + 1);
        assert_int_equal(tni_quant_to_bf16(after(middle, -1)), i);
    }
}

static void what_is_too_large_becomes_infinity(void **state)
{
    (void)state;
    assert_int_equal(tni_quant_to_f16(65519.0f), 0x7bff);
    assert_int_equal(tni_quant_to_f16(65520.0f), 0x7c00);
    assert_int_equal(tni_quant_to_f16(-1e30f), 0xfc00);
    assert_int_equal(tni_quant_to_f16(INFINITY), 0x7c00);
    assert_int_equal(tni_quant_to_bf16(3.4028235e38f), 0x7f80);
    assert_int_equal(tni_quant_to_bf16(-INFINITY), 0xff80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_comes_back),
        cmocka_unit_test(rounding_is_to_nearest_with_ties_to_even),
        cmocka_unit_test(what_is_too_large_becomes_infinity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
