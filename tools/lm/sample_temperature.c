// sample_temperature.c: divides the logits: below 1 the likely candidates gain, above 1 the others
// do.
#include "sampler_steps.h"

void tlm_sample_temperature(tlm_candidates *candidates, float temperature)
{
    // Relative to the best, which becomes 0: so nothing overflows however small the temperature is.
    tlm_candidates_sort(candidates);
    float best = candidates->list[0].logit;
    for (uint32_t i = 0; i < candidates->count; i++)
        candidates->list[i].logit = (candidates->list[i].logit - best) / temperature;
}
