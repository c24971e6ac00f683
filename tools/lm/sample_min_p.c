// sample_min_p.c: keeps the candidates that are at least p times as likely as the best. Nguyen et
// al., arXiv:2407.01082.
#include "sampler_steps.h"

void tlm_sample_min_p(tlm_candidates *candidates, float p)
{
    if (p <= 0)
        return;
    tlm_candidates_sort(candidates);
    uint32_t keep = 1;
    while (keep < candidates->count && tlm_candidate_weight(candidates, keep) >= (double)p)
        keep++;
    candidates->count = keep;
}
