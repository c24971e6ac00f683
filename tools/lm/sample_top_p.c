// sample_top_p.c: keeps the best candidates until their share of the probability reaches p.
// Holtzman et al., arXiv:1904.09751.
#include "sampler_steps.h"

void tlm_sample_top_p(tlm_candidates *candidates, float p)
{
    if (p >= 1)
        return;
    tlm_candidates_sort(candidates);
    double total = 0, share = 0;
    for (uint32_t i = 0; i < candidates->count; i++)
        total += tlm_candidate_weight(candidates, i);
    uint32_t keep = 0;
    while (keep < candidates->count && (keep == 0 || share < (double)p * total))
        share += tlm_candidate_weight(candidates, keep++);
    candidates->count = keep;
}
