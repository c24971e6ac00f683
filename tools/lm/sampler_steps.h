// sampler_steps.h: the steps of a sampler: each takes the candidates that are left and drops some
// or changes their logits. A new step is a file sample_<name>.c, a line here, its options in lm.h,
// and its place in the order in sampler.c.
#ifndef TLM_SAMPLER_STEPS_H
#define TLM_SAMPLER_STEPS_H

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

// Drops all but the `keep` best, 1 <= keep <= count, and sorts those; and sorts where that is not
// done yet. No memory, no recursion.
void tlm_candidates_select(tlm_candidates *candidates, uint32_t keep);
void tlm_candidates_sort(tlm_candidates *candidates);

// exp(logit - best): the probabilities but for one common factor. candidates are sorted.
double tlm_candidate_weight(const tlm_candidates *candidates, uint32_t index);

void tlm_sample_top_k(tlm_candidates *candidates, uint32_t k);                // 0: keeps all
void tlm_sample_top_p(tlm_candidates *candidates, float p);                   // 1: keeps all
void tlm_sample_min_p(tlm_candidates *candidates, float p);                   // 0: keeps all
void tlm_sample_temperature(tlm_candidates *candidates, float temperature);   // above 0

#endif
