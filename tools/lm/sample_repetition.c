// sample_repetition.c: makes the ids of the history less likely: what is above 0 is divided by the
// penalty, what is below multiplied. Keskar et al., arXiv:1909.05858, with the second half as all
// programs have it since.
#include "sampler_steps.h"

void tlm_sample_repetition(tlm_candidates *candidates, const tlm_history *history, float penalty)
{
    for (uint32_t i = 0; i < candidates->count; i++) {
        tlm_candidate *c = &candidates->list[i];
        if (history->times[c->id] == 0)
            continue;
        double logit = (double)c->logit;
        c->logit = tlm_logit_limited(logit > 0 ? logit / (double)penalty : logit * (double)penalty);
    }
}
