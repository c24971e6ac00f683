// Layers in a row over devices, by bytes: against all other cuts.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "sched/placement.h"

static tni_arena arena;

static int begin(void **state)
{
    (void)state;
    tni_arena_init(&arena, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tni_arena_finish(&arena);
    return 0;
}

static void layers_are_divided_by_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        uint64_t bytes[6];
        uint32_t count, devices;
        double shares[3];
        uint32_t ends[3];
    } cases[] = {
        { "five alike at 0.5 : 1", { 7, 7, 7, 7, 7 }, 5, 2, { 0.5, 1 }, { 2, 5 } },
        { "by bytes, not by count", { 4, 4, 1, 1 }, 4, 2, { 1, 1 }, { 1, 4 } },
        { "of equal ones the first get more", { 1, 1, 1, 1 }, 4, 3, { 1, 1, 1 }, { 2, 3, 4 } },
        { "all of it to one", { 1, 2, 3 }, 3, 2, { 0, 1 }, { 0, 3 } },
        { "one layer", { 9 }, 1, 3, { 1, 5, 1 }, { 0, 1, 1 } },
        { "fewer layers than devices", { 1, 1 }, 2, 3, { 1, 1, 1 }, { 1, 2, 2 } },
        { "no layer", { 0 }, 0, 2, { 1, 1 }, { 0, 0 } },
        { "the output is large", { 1, 1, 1, 1, 6 }, 5, 2, { 1, 1 }, { 4, 5 } },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        uint32_t ends[3] = { 0 };
        assert_true(tni_apportion(cases[i].bytes, cases[i].count, cases[i].shares, cases[i].devices,
                                  &arena, ends));
        if (memcmp(ends, cases[i].ends, cases[i].devices * sizeof *ends) != 0)
            fail_msg("%s: ends %u %u %u", cases[i].says, ends[0], ends[1], ends[2]);
    }
}

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

// The least sum of squares of `devices` devices from `first` on, by looking at all.
static double least(const uint64_t *bytes, uint32_t count, const double *quotas, uint32_t devices,
                    uint32_t first)
{
    double best = INFINITY, sum = 0;
    if (devices == 0)
        return first == count ? 0 : INFINITY;
    for (uint32_t end = first; end <= count; end++) {
        double off = sum - quotas[0];
        best = fmin(best, off * off + least(bytes, count, quotas + 1, devices - 1, end));
        sum += end < count ? (double)bytes[end] : 0;
    }
    return best;
}

static void no_other_cut_comes_nearer_to_the_shares(void **state)
{
    (void)state;
    seed = 5;
    for (int round = 0; round < 3000; round++) {
        uint64_t bytes[9];
        double shares[4], quotas[4], total = 0, sum = 0, cost = 0;
        uint32_t count = draw(10), devices = 1 + draw(4), ends[4];
        for (uint32_t i = 0; i < count; i++)
            total += (double)(bytes[i] = draw(3) ? draw(1000) : 0);
        for (uint32_t d = 0; d < devices; d++)
            sum += shares[d] = 1 + draw(5);
        for (uint32_t d = 0; d < devices; d++)
            quotas[d] = total * shares[d] / sum;
        assert_true(tni_apportion(bytes, count, shares, devices, &arena, ends));
        for (uint32_t d = 0, i = 0; d < devices; d++) {
            double off = -quotas[d];
            assert_in_range(ends[d], i, count);
            for (; i < ends[d]; i++)
                off += (double)bytes[i];
            cost += off * off;
        }
        assert_int_equal(ends[devices - 1], count);
        double want = least(bytes, count, quotas, devices, 0);
        if (cost > want * (1 + 1e-9) + 1e-6)
            fail_msg("round %d: %g, not %g", round, cost, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(layers_are_divided_by_bytes, begin, end),
        cmocka_unit_test_setup_teardown(no_other_cut_comes_nearer_to_the_shares, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
