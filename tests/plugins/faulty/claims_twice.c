// Claims a node twice in one unit.
#define FAULTY_CLAIM
#include "honest_program.inc"

tnp_status tpl_claim(tnp_device *device, const tnp_slice *slice, const tnp_claim_sink *sink,
                     tnp_error *err)
{
    const uint32_t nodes[] = { 0, 0 };
    tnp_claim both = {
        .size = sizeof both, .node_count = 2, .nodes = nodes, .name = "both", .cost_ns = 1
    };
    if (slice->node_count > 0)
        sink->take(sink->context, &both);
    return honest_claim(device, slice, sink, err);
}
