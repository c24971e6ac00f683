// sample_frequency.c: takes `frequency` from the logit of an id for each time it stands in the
// history, and `presence` once.
#include "sampler_steps.h"

void tlm_sample_frequency(tlm_candidates *candidates, const tlm_history *history, float frequency,
                          float presence)
{
    for (uint32_t i = 0; i < candidates->count; i++) {
        tlm_candidate *c = &candidates->list[i];
        uint32_t times = history->times[c->id];
        if (times > 0)
            c->logit = tlm_logit_limited((double)c->logit - (double)times * (double)frequency -
                                         (double)presence);
    }
}
