// sampler_steps.h: the steps of a sampler: each takes the candidates that are left and drops some
// or changes their logits. A new step is a file sample_<name>.c, a line here, its options in lm.h,
// and its place in the order in sampler.c.
#ifndef TLM_SAMPLER_STEPS_H
#define TLM_SAMPLER_STEPS_H

#include <float.h>
#include <tenon/lm.h>

typedef struct tlm_candidate {
    int32_t id;
    float logit;
} tlm_candidate;

typedef struct tlm_candidates {
    tlm_candidate *list;
    uint32_t count;   // at least 1 before and after every step
    bool is_sorted;   // best first: by logit descending, of equals by id ascending
} tlm_candidates;

// The last ids, as far as penalties look back; zeros remember nothing.
typedef struct tlm_history {
    int32_t *ids;   // {room}, a ring: the oldest stands at `next` when it is full
    uint32_t room, count, next;
    uint32_t *times;   // {vocabulary}: how often each id stands in it
} tlm_history;

// false: no memory; tlm_history_finish is due all the same.
bool tlm_history_init(tlm_history *history, uint32_t room, uint32_t vocabulary,
                      const tn_allocator *allocator);
void tlm_history_finish(tlm_history *history, const tn_allocator *allocator);
void tlm_history_add(tlm_history *history, int32_t id);   // 0 <= id < vocabulary

// A changed logit, kept finite.
static inline float tlm_logit_limited(double logit)
{
    return logit > (double)FLT_MAX ? FLT_MAX : logit < -(double)FLT_MAX ? -FLT_MAX : (float)logit;
}

// Drops all but the `keep` best, 1 <= keep <= count, and sorts those; and sorts where that is not
// done yet. No memory, no recursion.
void tlm_candidates_select(tlm_candidates *candidates, uint32_t keep);
void tlm_candidates_sort(tlm_candidates *candidates);

// exp(logit - best): the probabilities but for one common factor. candidates are sorted.
double tlm_candidate_weight(const tlm_candidates *candidates, uint32_t index);

// These take candidates ascending by id, and leave them so. biases: ascending by id, finite or
// -inf; false: all candidates are excluded.
bool tlm_sample_bias(tlm_candidates *candidates, const tlm_logit_bias *biases, uint32_t count);
void tlm_sample_repetition(tlm_candidates *candidates, const tlm_history *history, float penalty);
void tlm_sample_frequency(tlm_candidates *candidates, const tlm_history *history, float frequency,
                          float presence);

void tlm_sample_top_k(tlm_candidates *candidates, uint32_t k);                // 0: keeps all
void tlm_sample_top_p(tlm_candidates *candidates, float p);                   // 1: keeps all
void tlm_sample_min_p(tlm_candidates *candidates, float p);                   // 0: keeps all
void tlm_sample_temperature(tlm_candidates *candidates, float temperature);   // above 0

#endif
