// sample_candidates.c: the list that the steps of a sampler work on.
#include "sampler_steps.h"

#include <math.h>

static bool is_better(const tlm_candidate *a, const tlm_candidate *b)
{
    return a->logit != b->logit ? a->logit > b->logit : a->id < b->id;
}

static void sink(tlm_candidate *list, uint32_t root, uint32_t count)
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
        sink(list, root, keep);
    for (uint32_t i = keep; i < count; i++) {
        if (!is_better(&list[i], &list[0]))
            continue;
        list[0] = list[i];
        sink(list, 0, keep);
    }
    for (uint32_t end = keep; end-- > 1;) {
        tlm_candidate worst = list[0];
        list[0] = list[end];
        list[end] = worst;
        sink(list, 0, end);
    }
    candidates->count = keep;
    candidates->is_sorted = true;
}

void tlm_candidates_sort(tlm_candidates *candidates)
{
    if (!candidates->is_sorted)
        tlm_candidates_select(candidates, candidates->count);
}

double tlm_candidate_weight(const tlm_candidates *candidates, uint32_t index)
{
    return exp((double)candidates->list[index].logit - (double)candidates->list[0].logit);
}
