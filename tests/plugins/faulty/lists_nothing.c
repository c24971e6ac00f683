// Claims a node, and says not which.
#include "honest.inc"

static tnp_status faulty_claim(tnp_device *device, const tnp_slice *slice,
                               const tnp_claim_sink *sink, tnp_error *err)
{
    tnp_claim one = { .size = sizeof one, .node_count = 1, .name = "one", .cost_ns = 1 };
    if (slice->node_count > 0)
        sink->take(sink->context, &one);
    return claim(device, slice, sink, err);
}

static void spoil(void)
{
    faulty.claim = faulty_claim;
}
