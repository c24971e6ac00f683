// context_fit.c: how long a context may be, where the one that is asked does not fit the devices.
#include "context.h"

#include "error.h"

#include <inttypes.h>

// Of a context of so many tokens: TN_OK, TN_E_DEVICE_MEMORY where it does not fit, or another
// error.
static tn_status would_fit(const tlm_context *c, tn_runtime *runtime,
                           const tn_session_options *options, uint32_t tokens)
{
    tlm_context shorter = *c;
    const tn_graph *graphs[MOST_VARIANTS];
    shorter.variant_count = 0;
    shorter.capacity = tokens;
    shorter.batch_limit = c->batch_limit < tokens ? c->batch_limit : tokens;
    tn_status status = tlm_context_build(&shorter, NULL);
    if (status == TN_OK)
        status = tn_session_fits(runtime, graphs, tlm_context_graphs(&shorter, graphs), options,
                                 NULL);
    tlm_context_drop_graphs(&shorter);
    return status;
}

// The longest context that fits, where that of c does not, by trying: in steps of COARSE_TOKENS,
// below that to the token; 0 = none.
static uint32_t longest_that_fits(const tlm_context *c, tn_runtime *runtime,
                                  const tn_session_options *options)
{
    enum { COARSE_TOKENS = 64 };
    uint32_t step = c->capacity > COARSE_TOKENS ? COARSE_TOKENS : 1;
    for (;; step = 1) {
        uint32_t fits = 0, high = step == 1 && c->capacity > COARSE_TOKENS
                                      ? COARSE_TOKENS
                                      : (c->capacity + step - 1) / step;
        while (high - fits > 1) {   // `high` steps do not fit
            uint32_t middle = fits + (high - fits) / 2;
            if (would_fit(c, runtime, options, middle * step) == TN_OK)
                fits = middle;
            else
                high = middle;
        }
        if (fits || step == 1)
            return fits * step;
    }
}

tn_status tlm_context_say_what_fits(const tlm_context *c, tn_runtime *runtime,
                                    const tn_session_options *options, tn_error *err)
{
    tn_error full = *err;
    if (would_fit(c, runtime, options, c->capacity) != TN_E_DEVICE_MEMORY)
        return full.status;   // it is not the context: a device failed
    uint32_t tokens = longest_that_fits(c, runtime, options);
    // Divided layers need smaller buffers: what fits then is another matter.
    uint32_t mode = options->placement ? options->placement->split_mode : TN_SPLIT_FREE;
    bool may_be_divided = options->device_count > 1 && mode != TN_SPLIT_ROW &&
                          mode != TN_SPLIT_TENSOR;
    return tokens
               ? tlm_fail(err, full.status, "%s; a context of %" PRIu32 " token%s would fit%s",
                          full.text, tokens, tokens == 1 ? "" : "s",
                          may_be_divided ? ", perhaps more where split mode tensor divides layers"
                                         : "")
               : tlm_fail(err, full.status,
                          "%s; no context would fit, not even of one token: smaller types need "
                          "less",
                          full.text);
}
