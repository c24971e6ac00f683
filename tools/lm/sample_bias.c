// sample_bias.c: adds what the caller set to the logits of single tokens; -inf excludes a token.
#include "sampler_steps.h"

#include <math.h>

static uint32_t find_id(const tlm_candidates *c, int32_t id)
{
    uint32_t from = 0, to = c->count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (c->list[middle].id < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool tlm_sample_bias(tlm_candidates *candidates, const tlm_logit_bias *biases, uint32_t count)
{
    tlm_candidates *c = candidates;
    bool has_excluded = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = find_id(c, biases[i].id);
        if (at == c->count || c->list[at].id != biases[i].id)
            continue;
        c->list[at].logit = tlm_logit_limited((double)c->list[at].logit + (double)biases[i].bias);
        if (isinf(biases[i].bias)) {
            c->list[at].logit = -INFINITY;
            has_excluded = true;
        }
    }
    if (!has_excluded)
        return true;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (!isinf(c->list[i].logit))
            c->list[kept++] = c->list[i];
    c->count = kept;
    return kept > 0;
}
