// search.c: how near encoded numbers are to what they were. The bounds are those of
// core/quant/README.md.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "data.h"
#include "quant/quant.h"

// rms: root of the mean squared error of normally distributed numbers, over their own; worst: any
// error in any block, over the largest number in it.
static const struct {
    tn_dtype dtype;
    double rms, worst;
} bounds[] = {
    { TN_DTYPE_Q4_0, 0.09, 0.126 },    { TN_DTYPE_Q4_1, 0.082, 0.07 },
    { TN_DTYPE_Q5_0, 0.045, 0.063 },   { TN_DTYPE_Q5_1, 0.04, 0.035 },
    { TN_DTYPE_Q8_0, 0.0056, 0.0045 }, { TN_DTYPE_Q2_K, 0.28, 0.55 },
    { TN_DTYPE_Q3_K, 0.15, 0.27 },     { TN_DTYPE_Q4_K, 0.074, 0.125 },
    { TN_DTYPE_Q5_K, 0.037, 0.07 },    { TN_DTYPE_Q6_K, 0.018, 0.04 },
    { TN_DTYPE_IQ4_NL, 0.076, 0.14 },
};

enum { N = 256 * 64 };

static float even(size_t i)   // -1 to 1
{
    static float x[4 * N];
    static int is_made;

    if (!is_made) {
        unsigned char bytes[4];

        for (size_t j = 0; j < 4 * N; j++) {
            data_random_bytes(j, sizeof bytes, bytes);
            x[j] = (float)(bytes[0] | bytes[1] << 8 | bytes[2] << 16) * 0x1p-23f - 1.0f;
        }
        is_made = 1;
    }
    return x[i];
}

static float normal(size_t i)   // Box and Muller 1958
{
    double radius = sqrt(-2 * log(((double)even(2 * i) + 1.0000002) / 2.0000004));

    return (float)(radius * cos(3.14159265358979 * (double)even(2 * i + 1)));
}

static float heavy(size_t i)
{
    return normal(i) * normal(i) * normal(i);
}

static float all_above_zero(size_t i)
{
    return 1.0f + 0.01f * normal(i);
}

static float all_below_zero(size_t i)
{
    return -1.0f - 0.01f * normal(i);
}

static float one_in_a_block(size_t i)
{
    return i % 32 == i / 32 % 32 ? -1.0f : 0.001f * even(i);
}

static float large_beside_small(size_t i)   // sub-blocks whose scales are far apart
{
    return ldexpf(normal(i), -(int)(i / 16 % 11));
}

static float of_two_sizes(size_t i)
{
    return even(i) < 0 ? -1.0f : 1.0f;
}

static float one_value(size_t i)
{
    return i / 256 % 2 ? 0.3f : -0.3f;
}

static float growing(size_t i)
{
    return (float)(i % 256) / 256.0f - 0.25f;
}

static float small(size_t i)   // scales of K types are subnormal in half precision
{
    return 0x1p-6f * normal(i);
}

static const struct {
    const char *says;
    float (*number)(size_t i);
} rows[] = {
    { "normally distributed numbers", normal },
    { "evenly distributed numbers", even },
    { "cubes of normally distributed numbers", heavy },
    { "numbers near 1", all_above_zero },
    { "numbers near -1", all_below_zero },
    { "one number in a block", one_in_a_block },
    { "sub-blocks of sizes far apart", large_beside_small },
    { "1 and -1", of_two_sizes },
    { "one number throughout", one_value },
    { "growing numbers", growing },
    { "small numbers", small },
};

static void pass(tn_dtype dtype, float (*number)(size_t i), float *x, float *y)
{
    void *blocks = malloc(N * 2);

    assert_non_null(blocks);
    for (size_t i = 0; i < N; i++)
        x[i] = number(i);
    assert_int_equal(tni_quant_encode(dtype, x, N, blocks), TN_OK);
    assert_int_equal(tni_quant_decode(dtype, blocks, N, y), TN_OK);
    free(blocks);
}

static float x[N], y[N];

static void normally_distributed_numbers_stay_near(void **state)
{
    (void)state;
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        double square = 0, error = 0, rms;

        pass(bounds[b].dtype, normal, x, y);
        for (size_t i = 0; i < N; i++) {
            square += (double)x[i] * (double)x[i];
            error += ((double)y[i] - (double)x[i]) * ((double)y[i] - (double)x[i]);
        }
        rms = sqrt(error / square);
        print_message("%-7s root of the mean squared error %.5f of the numbers' own\n",
                      data_dtype_name(bounds[b].dtype), rms);
        if (rms > bounds[b].rms)
            fail_msg("more than %.5f", bounds[b].rms);
    }
}

static void no_number_is_far_off(void **state)
{
    (void)state;
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        size_t block = data_block_elements(bounds[b].dtype);
        double worst = 0;
        const char *says = "";

        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            pass(bounds[b].dtype, rows[r].number, x, y);
            for (size_t i = 0; i < N; i += block) {
                double largest = 0, error = 0;

                for (size_t j = i; j < i + block; j++) {
                    largest = fmax(largest, fabs((double)x[j]));
                    error = fmax(error, fabs((double)y[j] - (double)x[j]));
                }
                if (error > worst * largest) {
                    worst = error / largest;
                    says = rows[r].says;
                }
            }
        }
        print_message("%-7s worst error %.4f of the block's largest number: %s\n",
                      data_dtype_name(bounds[b].dtype), worst, says);
        if (worst > bounds[b].worst)
            fail_msg("more than %.4f", bounds[b].worst);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normally_distributed_numbers_stay_near),
        cmocka_unit_test(no_number_is_far_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
