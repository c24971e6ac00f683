// kernels_math.c: how near exp, tanh, sine, cosine and what is built on them come to the exact
// value, over sweeps of many floats. An error is counted in last places (ulp) of the exact value
// rounded to F32; the bounds are those of kernels.h.
#include "ops_support.h"

#include <math.h>
#include <string.h>

#define SWEEP 4099   // odd and prime: tails, and no pattern

typedef double exact_function(double x);

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double exact_silu(double x)
{
    return x / (1 + exp(-x));
}

static double last_places(double got, double want)
{
    double place = ldexp(1, (want == 0 ? -126 : ilogb(want)) - 23);

    if (got == want || (isnan(got) && isnan(want)))
        return 0;
    if (fabs(want) > 3.4028235e38)
        return isinf(got) && signbit(got) == signbit(want) ? 0 : INFINITY;
    return fabs(got - want) / fmax(place, 0x1p-149);
}

static void sweep(const char *says, cpu_unary_kernel *kernel, exact_function *exact, double low,
                  double high, double bound, double absolute)
{
    float x[SWEEP], y[SWEEP];
    double worst = 0;

    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < SWEEP; i++)
            x[i] = (float)(round % 2 ? random_between(low, high)
                                     : random_between(-1, 1) * exp(random_between(-20, log(high))));
        kernel(SWEEP, x, y);
        for (int i = 0; i < SWEEP; i++) {
            double want = exact(x[i]),
                   error = fabs(y[i] - want) <= absolute ? 0 : last_places(y[i], want);

            if (x[i] < low || x[i] > high)
                continue;
            worst = fmax(worst, error);
            if (error > bound)
                fail_msg("%s(%.9g): got %.9g, want %.9g: %.2f last places", says, x[i], y[i], want,
                         error);
        }
    }
    print_message("%s: within %.2f last places\n", says, worst);
}

static void functions_keep_their_bounds_at_every_level(void **state)
{
    (void)state;
    for (uint32_t i = 0; test_level(i); i++) {
        const cpu_kernels *k = test_level(i);

        print_message("level %s\n", k->level);
        sweep("exp", k->exp, exp, -110, 95, 2, 0);
        sweep("tanh", k->tanh, tanh, -20, 20, 4, 0);
        sweep("sigmoid", k->sigmoid, exact_sigmoid, -110, 110, 6, 1e-37);
        sweep("silu", k->silu, exact_silu, -110, 110, 6, 3e-37);
    }
}

static void functions_end_where_they_should(void **state)
{
    (void)state;
    for (uint32_t i = 0; test_level(i); i++) {
        const cpu_kernels *k = test_level(i);
        float x[4] = { -INFINITY, INFINITY, NAN, 0 }, y[4];

        k->exp(4, x, y);
        assert_true(y[0] == 0 && isinf(y[1]) && isnan(y[2]) && y[3] == 1);
        k->tanh(4, x, y);
        assert_true(y[0] == -1 && y[1] == 1 && isnan(y[2]) && y[3] == 0);
        k->sigmoid(4, x, y);
        assert_true(y[0] == 0 && y[1] == 1 && isnan(y[2]) && y[3] == 0.5f);
        k->relu(4, x, y);
        assert_true(y[0] == 0 && isinf(y[1]) && isnan(y[2]) && y[3] == 0);
    }
}

static void sines_are_right_at_every_angle(void **state)
{
    (void)state;
    for (uint32_t i = 0; test_level(i); i++)
        for (int round = 0; round < 20; round++) {
            double angle[257];
            float cosines[257], sines[257];

            for (int j = 0; j < 257; j++)
                angle[j] = random_between(-1, 1) * pow(10, random_between(-3, round % 2 ? 7.9 : 4));
            angle[3] = 0;
            angle[9] = 1e12;   // beyond the polynomial's range
            test_level(i)->sin_cos(257, angle, cosines, sines);
            for (int j = 0; j < 257; j++)
                if (!(fabs(cosines[j] - cos(angle[j])) <= 1e-7 &&
                      fabs(sines[j] - sin(angle[j])) <= 1e-7))
                    fail_msg("angle %.17g: cos %.9g, sin %.9g", angle[j], cosines[j], sines[j]);
        }
}

static void halves_round_to_nearest_even(void **state)
{
    static const struct {
        float from;
        uint16_t to;
    } cases[] = {
        { 1.0f, 0x3c00 },
        { -2.0f, 0xc000 },
        { 65504.0f, 0x7bff },
        { 65519.0f, 0x7bff },
        { 65520.0f, 0x7c00 },
        { 0x1p-24f, 0x0001 },
        { 0x1p-25f, 0x0000 },
        { 0x1.8p-25f, 0x0001 },
        { 0x1.8p-24f, 0x0002 },
        { 0x1.ff8p-15f, 0x03ff },
        { 0x1.ffcp-15f, 0x0400 },
        { 1.0f + 0x1p-11f, 0x3c00 },
        { 1.0f + 0x1.8p-10f, 0x3c02 },
        { INFINITY, 0x7c00 },
        { -0.0f, 0x8000 },
    };

    (void)state;
    for (uint32_t level = 0; test_level(level); level++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            float from[8];
            uint16_t to[8];

            for (int j = 0; j < 8; j++)
                from[j] = cases[i].from;
            test_level(level)->encode_f16(8, from, to);
            assert_int_equal(to[0], cases[i].to);
            test_level(level)->encode_f16(1, from, to + 1);
            assert_int_equal(to[1], cases[i].to);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_keep_their_bounds_at_every_level),
        cmocka_unit_test(functions_end_where_they_should),
        cmocka_unit_test(sines_are_right_at_every_angle),
        cmocka_unit_test(halves_round_to_nearest_even),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
