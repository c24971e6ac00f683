// The cost of a claim is no number.
#include <math.h>

#include "honest.inc"

static void take_nan(void *context, const tnp_claim *claim)
{
    const tnp_claim_sink *sink = context;
    tnp_claim own = *claim;
    own.cost_ns = (double)NAN;
    sink->take(sink->context, &own);
}
static void refuse(void *context, uint32_t node, const char *reason)
{
    const tnp_claim_sink *sink = context;
    sink->refuse(sink->context, node, reason);
}

static tnp_status faulty_claim(tnp_device *device, const tnp_slice *slice,
                               const tnp_claim_sink *sink, tnp_error *err)
{
    tnp_claim_sink own = { sizeof own, 0, (void *)sink, take_nan, refuse };
    return claim(device, slice, &own, err);
}

static void spoil(void)
{
    faulty.claim = faulty_claim;
}
