// sample_top_k.c: keeps the k best candidates. Fan et al., arXiv:1805.04833.
#include "sampler_steps.h"

void tlm_sample_top_k(tlm_candidates *candidates, uint32_t k)
{
    if (k > 0 && k < candidates->count)
        tlm_candidates_select(candidates, k);
}
