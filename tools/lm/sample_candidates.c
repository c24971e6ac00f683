// sample_candidates.c: the list that the steps of a sampler work on.
#include "sampler_steps.h"

#include <math.h>

static bool is_better(const tlm_candidate *a, const tlm_candidate *b)
{
    return a->logit != b->logit ? a->logit > b->logit : a->id < b->id;
}

static void sift_down(tlm_candidate *list, uint32_t root, uint32_t count)
{
    tlm_candidate moved = list[root];
    for (uint32_t child; (child = root * 2 + 1) < count; root = child) {
        if (child + 1 < count && is_better(&list[child], &list[child + 1]))
            child++;
        if (!is_better(&moved, &list[child]))
            break;
        list[root] = list[child];
    }
    list[root] = moved;
}

// Keeps a heap of the `keep` best seen, the worst of them on top, then sorts it: n log keep at
// most, near n when that is small.
void tlm_candidates_select(tlm_candidates *candidates, uint32_t keep)
{
    tlm_candidate *list = candidates->list;
    uint32_t count = candidates->count;
    for (uint32_t root = keep / 2; root-- > 0;)
        sift_down(list, root, keep);
    for (uint32_t i = keep; i < count; i++) {
        if (!is_better(&list[i], &list[0]))
            continue;
        list[0] = list[i];
        sift_down(list, 0, keep);
    }
    for (uint32_t end = keep; end-- > 1;) {
        tlm_candidate worst = list[0];
        list[0] = list[end];
        list[end] = worst;
        sift_down(list, 0, end);
    }
    candidates->count = keep;
    candidates->is_sorted = true;
}

void tlm_candidates_sort(tlm_candidates *candidates)
{
    if (!candidates->is_sorted)
        tlm_candidates_select(candidates, candidates->count);
}

// exp(x), x <= 0. C libraries differ in the last bit of theirs, which may decide a draw; this is
// made of operations whose result IEEE 754 fixes (and built without fused ones), so it is the same
// everywhere. x = k ln 2 + r, |r| <= ln 2 / 2, with ln 2 in two parts so that r is exact enough;
// the series of exp(r) to r^13 / 13!, the first term left out being 2^-61.
static double exp_of(double x)
{
    static const double parts[] = { 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800,
                                    1.0 / 3628800,    1.0 / 362880,    1.0 / 40320,
                                    1.0 / 5040,       1.0 / 720,       1.0 / 120,
                                    1.0 / 24,         1.0 / 6,         1.0 / 2 };
    if (x < -708)   // below the normal numbers
        return 0;
    double k = floor(x * 0x1.71547652b82fep+0 + 0.5);
    double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33, sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        sum = (sum + parts[i]) * r;
    return ldexp(1 + (r + r * sum), (int)k);
}

double tlm_candidate_weight(const tlm_candidates *candidates, uint32_t index)
{
    return exp_of((double)candidates->list[index].logit - (double)candidates->list[0].logit);
}
