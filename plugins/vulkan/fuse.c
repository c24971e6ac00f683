// fuse.c: see fuse.h. Whether the nodes fit together by types and dims is for the op to look at.
#include "fuse.h"

// Nodes before the last that are looked at: a layer's are nearby, and the work stays proportional
// to the nodes.
enum { LOOK = 64 };

// The product that makes an operand of the last node, for nobody else. TNP_NONE: none.
static uint32_t find_product(const tnp_slice *slice, const tnh_users *users, uint32_t last,
                             uint32_t input)
{
    const uint32_t value = tnh_input_of(slice->nodes[last], input);
    for (uint32_t n = last; n-- > 0 && last - n <= LOOK;)
        if (tnh_output_of(slice->nodes[n]) == value)
            return slice->nodes[n]->op == TNP_OP_MATMUL && tnh_takes_all_of(slice, users, last, n)
                       ? n
                       : TNP_NONE;
    return TNP_NONE;
}

static uint32_t find_sum(const tnp_slice *slice, const tnh_users *users, uint32_t last,
                         uint32_t nodes[VULKAN_MAX_UNIT_NODES])
{
    // Of two products it is the later that is added to what is there by then.
    uint32_t found = TNP_NONE;
    for (uint32_t input = 0; input < 2; input++) {
        const uint32_t product = find_product(slice, users, last, input);
        if (product != TNP_NONE && (found == TNP_NONE || product > found))
            found = product;
    }
    if (found == TNP_NONE || tnh_is_written_between(slice, found, last))
        return 0;
    nodes[0] = found;
    nodes[1] = last;
    return 2;
}

static uint32_t find_gate(const tnp_slice *slice, const tnh_users *users, uint32_t last,
                          uint32_t nodes[VULKAN_MAX_UNIT_NODES])
{
    const uint32_t gate = find_product(slice, users, last, 0);
    const uint32_t up = find_product(slice, users, last, 1);
    if (gate == TNP_NONE || up == TNP_NONE ||
        tnh_input_of(slice->nodes[gate], 0) != tnh_input_of(slice->nodes[up], 0))
        return 0;
    nodes[0] = gate < up ? gate : up;
    nodes[1] = gate < up ? up : gate;
    nodes[2] = last;
    return tnh_is_written_between(slice, nodes[0], last) ? 0 : 3;
}

uint32_t vulkan_fuse(const tnp_slice *slice, const tnh_users *users, uint32_t last,
                     uint32_t nodes[VULKAN_MAX_UNIT_NODES])
{
    switch (slice->nodes[last]->op) {
    case TNP_OP_ADD:
        return find_sum(slice, users, last, nodes);
    case TNP_OP_SWIGLU:
    case TNP_OP_GEGLU:
    case TNP_OP_REGLU:
        return find_gate(slice, users, last, nodes);
    default:
        return 0;
    }
}
