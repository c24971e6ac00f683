// Each answer costs more than the one before.
#include "honest.inc"

static void take_dearer(void *context, const tnp_claim *claim)
{
    static double more;
    const tnp_claim_sink *sink = context;
    tnp_claim dearer = *claim;
    dearer.cost_ns += ++more;
    sink->take(sink->context, &dearer);
}
static void refuse(void *context, uint32_t node, const char *reason)
{
    const tnp_claim_sink *sink = context;
    sink->refuse(sink->context, node, reason);
}

static tnp_status faulty_claim(tnp_device *device, const tnp_slice *slice,
                               const tnp_claim_sink *sink, tnp_error *err)
{
    tnp_claim_sink own = { sizeof own, 0, (void *)sink, take_dearer, refuse };
    return claim(device, slice, &own, err);
}

static void spoil(void)
{
    faulty.claim = faulty_claim;
}
