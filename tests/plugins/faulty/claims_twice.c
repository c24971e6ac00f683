// Claims a node twice in one unit.
#include "honest.inc"

static tnp_status faulty_claim(tnp_device *device, const tnp_slice *slice,
                               const tnp_claim_sink *sink, tnp_error *err)
{
    const uint32_t nodes[] = { 0, 0 };
    tnp_claim both = {
        .size = sizeof both, .node_count = 2, .nodes = nodes, .name = "both", .cost_ns = 1
    };
    if (slice->node_count > 1)
        sink->take(sink->context, &both);
    return claim(device, slice, sink, err);
}

static void spoil(void)
{
    faulty.claim = faulty_claim;
}
