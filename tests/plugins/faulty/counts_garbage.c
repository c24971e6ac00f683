// Claims more nodes than there are numbers for: a count that was never set.
#include "honest.inc"

static tnp_status faulty_claim(tnp_device *device, const tnp_slice *slice,
                               const tnp_claim_sink *sink, tnp_error *err)
{
    const uint32_t nodes[] = { 0 };
    tnp_claim many = {
        .size = sizeof many, .node_count = UINT32_MAX, .nodes = nodes, .name = "many", .cost_ns = 1
    };
    if (slice->node_count > 0)
        sink->take(sink->context, &many);
    return claim(device, slice, sink, err);
}

static void spoil(void)
{
    faulty.claim = faulty_claim;
}
