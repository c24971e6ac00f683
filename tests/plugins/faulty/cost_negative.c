// A claim costs less than nothing, and its cost falls with the size.
#include "honest.inc"

static void take_cheap(void *context, const tnp_claim *claim)
{
    const tnp_claim_sink *sink = context;
    tnp_claim own = *claim;
    own.cost_ns = -own.cost_ns;
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
    tnp_claim_sink own = { sizeof own, 0, (void *)sink, take_cheap, refuse };
    return claim(device, slice, &own, err);
}

static void spoil(void)
{
    faulty.claim = faulty_claim;
}
