// sampler.c: from logits to one id: the candidates, the steps in their order, the draw.
#include "sampler_steps.h"

#include "alloc.h"
#include "options.h"
#include "error.h"

#include <inttypes.h>
#include <math.h>

struct tlm_sampler {
    tn_allocator allocator;
    tlm_sampler_options options;
    uint32_t vocabulary;
    uint64_t random;
    tlm_candidate *candidates;   // {vocabulary}
    tlm_logit_bias *biases;      // {options.bias_count}, ascending by id
    tlm_history history;         // empty where there are no penalties
};

enum { DEFAULT_PENALTY_TOKENS = 64, MOST_PENALTY_TOKENS = 1 << 20 };

static tn_status check_penalties(const tlm_sampler_options *o, tn_error *err)
{
    double repetition = (double)o->repetition_penalty;
    if (!(repetition >= TLM_MIN_REPETITION_PENALTY && repetition <= TLM_MAX_REPETITION_PENALTY) &&
        !(repetition >= 0 && repetition <= 0))
        return tlm_fail(err, TN_E_ARG, "sampler: repetition_penalty is %g, expected 0 or %g to %d",
                        repetition, TLM_MIN_REPETITION_PENALTY, TLM_MAX_REPETITION_PENALTY);
    if (!(fabsf(o->frequency_penalty) <= TLM_MAX_PENALTY))
        return tlm_fail(err, TN_E_ARG, "sampler: frequency_penalty is %g, expected -%d to %d",
                        (double)o->frequency_penalty, TLM_MAX_PENALTY, TLM_MAX_PENALTY);
    if (!(fabsf(o->presence_penalty) <= TLM_MAX_PENALTY))
        return tlm_fail(err, TN_E_ARG, "sampler: presence_penalty is %g, expected -%d to %d",
                        (double)o->presence_penalty, TLM_MAX_PENALTY, TLM_MAX_PENALTY);
    if (o->penalty_tokens > MOST_PENALTY_TOKENS)
        return tlm_fail(err, TN_E_ARG, "sampler: penalty_tokens is %" PRIu32 ", expected 0 to %d",
                        o->penalty_tokens, MOST_PENALTY_TOKENS);
    return TN_OK;
}

static tn_status check_options(const tlm_sampler_options *o, tn_error *err)
{
    // Written so that NaN fails.
    if (!(o->temperature >= 0 && o->temperature <= TLM_MAX_TEMPERATURE))
        return tlm_fail(err, TN_E_ARG, "sampler: temperature is %g, expected 0 to %d",
                        (double)o->temperature, TLM_MAX_TEMPERATURE);
    if (!(o->top_p > 0 && o->top_p <= 1))
        return tlm_fail(err, TN_E_ARG, "sampler: top_p is %g, expected more than 0, at most 1",
                        (double)o->top_p);
    if (!(o->min_p >= 0 && o->min_p <= 1))
        return tlm_fail(err, TN_E_ARG, "sampler: min_p is %g, expected 0 to 1", (double)o->min_p);
    if (o->bias_count > 0 && !o->biases)
        return tlm_fail(err, TN_E_ARG, "sampler: %" PRIu32 " biases at NULL", o->bias_count);
    return check_penalties(o, err);
}

// Copies the biases in the order of their ids.
static tn_status copy_biases(tlm_sampler *s, tn_error *err)
{
    const tlm_sampler_options *o = &s->options;
    if (o->bias_count > s->vocabulary)
        return tlm_fail(err, TN_E_ARG, "sampler: %" PRIu32 " biases for %" PRIu32 " tokens",
                        o->bias_count, s->vocabulary);
    s->biases = tlm_alloc(&s->allocator, o->bias_count, sizeof *s->biases);
    if (!s->biases)
        return tlm_fail_memory(err, "the biases");
    // Through the candidates, which have a place for each id.
    for (uint32_t id = 0; id < s->vocabulary; id++)
        s->candidates[id] = (tlm_candidate){ TLM_NO_TOKEN, 0 };
    for (uint32_t i = 0; i < o->bias_count; i++) {
        tlm_logit_bias given = o->biases[i];
        if (given.id < 0 || (uint32_t)given.id >= s->vocabulary)
            return tlm_fail(err, TN_E_ARG,
                            "sampler: a bias for id %" PRId32 ", but the ids are 0 to %" PRIu32,
                            given.id, s->vocabulary - 1);
        if (isnan(given.bias) || given.bias == INFINITY)
            return tlm_fail(err, TN_E_ARG, "sampler: the bias of id %" PRId32 " is %g", given.id,
                            (double)given.bias);
        if (s->candidates[given.id].id != TLM_NO_TOKEN)
            return tlm_fail(err, TN_E_ARG, "sampler: id %" PRId32 " has two biases", given.id);
        s->candidates[given.id] = (tlm_candidate){ given.id, given.bias };
    }
    uint32_t count = 0;
    for (uint32_t id = 0; id < s->vocabulary; id++)
        if (s->candidates[id].id != TLM_NO_TOKEN)
            s->biases[count++] = (tlm_logit_bias){ (int32_t)id, s->candidates[id].logit };
    s->options.biases = s->biases;
    return TN_OK;
}

static bool has_repetition_penalty(const tlm_sampler_options *o)
{
    return o->repetition_penalty > 0 && (o->repetition_penalty < 1 || o->repetition_penalty > 1);
}

static bool has_frequency_penalty(const tlm_sampler_options *o)
{
    return fabsf(o->frequency_penalty) > 0 || fabsf(o->presence_penalty) > 0;
}

static tn_status create_parts(tlm_sampler *s, tn_error *err)
{
    const tlm_sampler_options *o = &s->options;
    uint32_t room = o->penalty_tokens ? o->penalty_tokens : DEFAULT_PENALTY_TOKENS;
    s->candidates = tlm_alloc(&s->allocator, s->vocabulary, sizeof *s->candidates);
    if (!s->candidates)
        return tlm_fail_memory(err, "the sampler");
    if ((has_repetition_penalty(o) || has_frequency_penalty(o)) &&
        !tlm_history_init(&s->history, room, s->vocabulary, &s->allocator))
        return tlm_fail_memory(err, "the sampler");
    return o->bias_count > 0 ? copy_biases(s, err) : TN_OK;
}

tn_status tlm_sampler_create(int32_t vocabulary, const tlm_sampler_options *options,
                             const tn_allocator *allocator, tlm_sampler **out_sampler,
                             tn_error *err)
{
    tlm_sampler_options given;
    tn_allocator memory = tlm_allocator(allocator);
    tn_status status = tlm_need(err, __func__, "out_sampler", out_sampler, NULL);
    if (status != TN_OK)
        return status;
    *out_sampler = NULL;
    tlm_sampler_defaults(&given);
    status = tlm_check_allocator(allocator, __func__, err);
    if (status == TN_OK && options)
        status = tlm_take_options(&given, sizeof given, TLM_UP_TO(tlm_sampler_options, seed),
                                  options, "sampler", err);
    if (status == TN_OK)
        status = tlm_need_zero(given.reserved, "reserved", "sampler", err);
    if (status == TN_OK)
        status = tlm_need_zero(given.reserved_2, "reserved_2", "sampler", err);
    if (status != TN_OK)
        return status;
    if (vocabulary < 1)
        return tlm_fail(err, TN_E_ARG, "sampler: a vocabulary of %" PRId32 " tokens", vocabulary);
    status = check_options(&given, err);
    if (status != TN_OK)
        return status;
    tlm_sampler *s = tlm_alloc(&memory, 1, sizeof *s);
    if (!s)
        return tlm_fail_memory(err, "the sampler");
    *s = (tlm_sampler){ .allocator = memory,
                        .options = given,
                        .vocabulary = (uint32_t)vocabulary,
                        .random = given.seed };
    status = create_parts(s, err);
    if (status != TN_OK) {
        tlm_sampler_destroy(s);
        return status;
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
    tlm_free(&allocator, sampler->biases);
    tlm_history_finish(&sampler->history, &allocator);
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

// Takes over the logits that are not -inf.
static tn_status gather(tlm_sampler *s, const float *logits, tlm_candidates *out, tn_error *err)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < s->vocabulary; id++) {
        if (isnan(logits[id]) || logits[id] == INFINITY)
            return tlm_fail(err, TN_E_DATA, "sample: the logit of token %" PRIu32 " is %s", id,
                            isnan(logits[id]) ? "not a number" : "infinite");
        if (logits[id] == -INFINITY)
            continue;
        s->candidates[count++] = (tlm_candidate){ (int32_t)id, logits[id] };
    }
    if (count == 0)
        return tlm_fail(err, TN_E_DATA, "sample: the logits of all %" PRIu32 " tokens are -inf",
                        s->vocabulary);
    *out = (tlm_candidates){ s->candidates, count, false };
    return TN_OK;
}

// The lowest id of the best; candidates are ascending by id.
static int32_t best_of(const tlm_candidates *c)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < c->count; i++)
        best = c->list[i].logit > c->list[best].logit ? i : best;
    return c->list[best].id;
}

static int32_t pick(tlm_sampler *s, tlm_candidates *c)
{
    const tlm_sampler_options *o = &s->options;
    if (has_repetition_penalty(o))
        tlm_sample_repetition(c, &s->history, o->repetition_penalty);
    if (has_frequency_penalty(o))
        tlm_sample_frequency(c, &s->history, o->frequency_penalty, o->presence_penalty);
    if (o->temperature <= 0)
        return best_of(c);
    tlm_sample_top_k(c, o->top_k);
    tlm_sample_top_p(c, o->top_p);
    tlm_sample_min_p(c, o->min_p);
    tlm_sample_temperature(c, o->temperature);
    return draw(s, c);
}

tn_status tlm_sample(tlm_sampler *sampler, const float *logits, uint32_t count, int32_t *out_id,
                     tn_error *err)
{
    tn_status status = tlm_need(err, __func__, "sampler", sampler, "logits", logits, "out_id",
                                out_id, NULL);
    if (out_id)
        *out_id = 0;
    if (status != TN_OK)
        return status;
    if (count != sampler->vocabulary)
        return tlm_fail(err, TN_E_ARG, "sample: %" PRIu32 " logits, expected %" PRIu32, count,
                        sampler->vocabulary);
    tlm_candidates c;
    status = gather(sampler, logits, &c, err);
    if (status != TN_OK)
        return status;
    if (!tlm_sample_bias(&c, sampler->biases, sampler->options.bias_count))
        return tlm_fail(err, TN_E_DATA, "sample: all tokens that have a logit are excluded");
    *out_id = pick(sampler, &c);
    tlm_history_add(&sampler->history, *out_id);
    return tlm_succeed(err);
}

tn_status tlm_sampler_accept(tlm_sampler *sampler, const int32_t *ids, uint32_t count,
                             tn_error *err)
{
    tn_status status = tlm_need(err, __func__, "sampler", sampler, "ids",
                                count ? (const void *)ids : "", NULL);
    if (status != TN_OK)
        return status;
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= sampler->vocabulary)
            return tlm_fail(err, TN_E_DATA,
                            "sampler: id %" PRIu32 " of %" PRIu32 " is %" PRId32
                            ", but the ids are 0 to %" PRIu32,
                            i, count, ids[i], sampler->vocabulary - 1);
    for (uint32_t i = 0; i < count; i++)
        tlm_history_add(&sampler->history, ids[i]);
    return tlm_succeed(err);
}
