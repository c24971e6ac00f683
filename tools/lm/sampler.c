// sampler.c: from logits to one id: the candidates, the steps in their order, the draw.
#include "sampler_steps.h"

#include "alloc.h"
#include "error.h"

#include <inttypes.h>
#include <math.h>

struct tlm_sampler {
    tn_allocator allocator;
    tlm_sampler_options options;
    uint32_t vocabulary;
    uint64_t random;
    tlm_candidate *candidates;   // {vocabulary}
};

void tlm_sampler_defaults(tlm_sampler_options *out_options)
{
    *out_options = (tlm_sampler_options){
        .size = sizeof *out_options,
        .top_k = 40,
        .top_p = 0.95f,
        .min_p = 0.05f,
        .temperature = 0.8f,
    };
}

static tn_status check_options(const tlm_sampler_options *o, tn_error *err)
{
    // Written so that NaN fails.
    if (!(o->temperature >= 0 && o->temperature <= 1000))
        return tlm_fail(err, TN_E_ARG, "sampler: temperature is %g, expected 0 to 1000",
                        (double)o->temperature);
    if (!(o->top_p > 0 && o->top_p <= 1))
        return tlm_fail(err, TN_E_ARG, "sampler: top_p is %g, expected more than 0, at most 1",
                        (double)o->top_p);
    if (!(o->min_p >= 0 && o->min_p <= 1))
        return tlm_fail(err, TN_E_ARG, "sampler: min_p is %g, expected 0 to 1", (double)o->min_p);
    return TN_OK;
}

tn_status tlm_sampler_create(int32_t vocabulary, const tlm_sampler_options *options,
                             const tn_allocator *allocator, tlm_sampler **out_sampler,
                             tn_error *err)
{
    tlm_sampler_options given;
    tn_allocator memory = tlm_allocator(allocator);
    *out_sampler = NULL;
    tlm_sampler_defaults(&given);
    if (options)
        tlm_copy_options(&given, sizeof given, options);
    if (vocabulary < 1)
        return tlm_fail(err, TN_E_ARG, "sampler: a vocabulary of %" PRId32 " tokens", vocabulary);
    tn_status status = check_options(&given, err);
    if (status != TN_OK)
        return status;
    tlm_sampler *s = tlm_alloc(&memory, 1, sizeof *s);
    if (!s)
        return tlm_fail_memory(err, "the sampler");
    *s = (tlm_sampler){ .allocator = memory,
                        .options = given,
                        .vocabulary = (uint32_t)vocabulary,
                        .random = given.seed };
    s->candidates = tlm_alloc(&memory, s->vocabulary, sizeof *s->candidates);
    if (!s->candidates) {
        tlm_sampler_destroy(s);
        return tlm_fail_memory(err, "the sampler");
    }
    *out_sampler = s;
    return tlm_succeed(err);
}

void tlm_sampler_destroy(tlm_sampler *sampler)
{
    if (!sampler)
        return;
    tn_allocator allocator = sampler->allocator;
    tlm_free(&allocator, sampler->candidates);
    tlm_free(&allocator, sampler);
}

// SplitMix64: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators". Its
// numbers never change: a seed must give the same text with every release and on every machine.
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static int32_t draw(tlm_sampler *s, const tlm_candidates *c)
{
    double total = 0;
    for (uint32_t i = 0; i < c->count; i++)
        total += tlm_candidate_weight(c, i);
    double left = total * (double)(next_random(&s->random) >> 11) * 0x1p-53;
    uint32_t i = 0;
    for (; i + 1 < c->count; i++) {
        left -= tlm_candidate_weight(c, i);
        if (left < 0)
            break;
    }
    return c->list[i].id;
}

// Takes over the logits that are not -inf, and remembers the best.
static tn_status gather(tlm_sampler *s, const float *logits, tlm_candidates *out, int32_t *out_best,
                        tn_error *err)
{
    uint32_t count = 0, best = 0;
    for (uint32_t id = 0; id < s->vocabulary; id++) {
        if (isnan(logits[id]) || logits[id] == INFINITY)
            return tlm_fail(err, TN_E_DATA, "sample: the logit of token %" PRIu32 " is %s", id,
                            isnan(logits[id]) ? "not a number" : "infinite");
        if (logits[id] == -INFINITY)
            continue;
        if (count == 0 || logits[id] > logits[best])
            best = id;
        s->candidates[count++] = (tlm_candidate){ (int32_t)id, logits[id] };
    }
    if (count == 0)
        return tlm_fail(err, TN_E_DATA, "sample: the logits of all %" PRIu32 " tokens are -inf",
                        s->vocabulary);
    *out = (tlm_candidates){ s->candidates, count, false };
    *out_best = (int32_t)best;
    return TN_OK;
}

tn_status tlm_sample(tlm_sampler *sampler, const float *logits, uint32_t count, int32_t *out_id,
                     tn_error *err)
{
    *out_id = 0;
    if (count != sampler->vocabulary)
        return tlm_fail(err, TN_E_ARG, "sample: %" PRIu32 " logits, expected %" PRIu32, count,
                        sampler->vocabulary);
    tlm_candidates c;
    int32_t best = 0;
    tn_status status = gather(sampler, logits, &c, &best, err);
    if (status != TN_OK)
        return status;
    const tlm_sampler_options *o = &sampler->options;
    if (o->temperature == 0) {
        *out_id = best;
        return tlm_succeed(err);
    }
    tlm_sample_top_k(&c, o->top_k);
    tlm_sample_top_p(&c, o->top_p);
    tlm_sample_min_p(&c, o->min_p);
    tlm_sample_temperature(&c, o->temperature);
    *out_id = draw(sampler, &c);
    return tlm_succeed(err);
}
