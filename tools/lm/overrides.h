// overrides.h: patterns over the names of tensors, as pins of a placement.
#ifndef TLM_OVERRIDES_H
#define TLM_OVERRIDES_H

#include <tenon/lm.h>

enum { TLM_WARNING_BYTES = 400 };

// The placement of a context's options with a pin for each tensor that an override matches.
typedef struct tlm_overrides {
    tn_allocator allocator;
    tn_placement placement;
    tn_pin *pins;
    bool is_given;                     // options ask for something
    char warning[TLM_WARNING_BYTES];   // patterns that match nothing; "" = none
} tlm_overrides;

// Errors: TN_E_ARG a pattern that is none, with what PCRE2 says of it; TN_E_HOST_MEMORY. After one
// too tlm_overrides_finish.
tn_status tlm_overrides_take(tlm_overrides *overrides, const tn_model *model,
                             const tlm_context_options *options, const tn_allocator *allocator,
                             tn_error *err);
void tlm_overrides_finish(tlm_overrides *overrides);   // zeros are fine

#endif
