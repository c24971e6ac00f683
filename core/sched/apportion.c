// apportion.c: layers in a row over devices, by bytes.
//
// least(d, i): the least sum of squares when the first d devices get the first i layers. Which
// layers device d gets only moves on as i does, so each row is found by halves: the middle first,
// then both sides within what it leaves open.
#include <math.h>

#include "sched/placement.h"

typedef struct dividing {
    const double *sums;   // of the bytes of the first i layers
    double share;         // of the device at hand, in bytes
    const double *before;
    double *least;
    uint32_t *begins;   // of the layers of the device at hand, by i
} dividing;

// Costs that differ by no more are equal: the last cut counts then, so that the first devices get
// more.
static const double rounding = 1e-12;

static void find_row(const dividing *d, uint32_t low, uint32_t high, uint32_t first, uint32_t last)
{
    while (low < high) {
        uint32_t i = low + (high - low) / 2, best = first;
        double best_cost = 0;
        for (uint32_t j = first; j <= last && j <= i; j++) {
            double off = d->sums[i] - d->sums[j] - d->share, cost = d->before[j] + off * off;
            if (j > first && cost > best_cost * (1 + rounding))
                continue;
            best = j;
            best_cost = cost;
        }
        d->least[i] = best_cost;
        d->begins[i] = best;
        find_row(d, low, i, first, best);
        low = i + 1;
        first = best;
    }
}

bool tni_apportion(const uint64_t *bytes, uint32_t count, const double *shares, uint32_t devices,
                   tni_arena *scratch, uint32_t *ends)
{
    size_t row = (size_t)count + 1;
    double *sums = tni_arena_take_array(scratch, row, sizeof *sums), total = 0;
    double *rows[2] = { tni_arena_take_array(scratch, row, sizeof **rows),
                        tni_arena_take_array(scratch, row, sizeof **rows) };
    uint32_t *begins = tni_arena_take_array(scratch, row * devices, sizeof *begins);
    if (!sums || !rows[0] || !rows[1] || !begins)
        return false;
    for (uint32_t i = 0; i < count; i++)
        sums[i + 1] = sums[i] + (double)bytes[i];
    for (uint32_t d = 0; d < devices; d++)
        total += shares[d];
    for (uint32_t i = 1; i <= count; i++)   // no device has nothing but no layers
        rows[0][i] = INFINITY;
    for (uint32_t d = 0; d < devices; d++) {
        dividing row_of = { .sums = sums,
                            .share = total > 0 ? shares[d] / total * sums[count] : 0,
                            .before = rows[d % 2],
                            .least = rows[(d + 1) % 2],
                            .begins = begins + d * row };
        find_row(&row_of, 0, count + 1, 0, count);
    }
    for (uint32_t d = devices, end = count; d-- > 0; end = begins[d * row + end])
        ends[d] = end;
    return true;
}
