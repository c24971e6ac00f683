// op.h: the seam between the machinery of this plugin (claims, programs, queues) and its ops. An op
// looks at nodes, and answers with dispatches.
#ifndef VULKAN_OP_H
#define VULKAN_OP_H

#include "dispatch.h"

#define VULKAN_MAX_UNIT_NODES 6u
#define VULKAN_MAX_DISPATCHES 1024u   // that a node is cut into: more are refused

typedef struct vulkan_op vulkan_op;

// Nodes that are done as one: mostly one node.
typedef struct vulkan_unit {
    const vulkan_op *op;
    uint32_t node_count, indices[VULKAN_MAX_UNIT_NODES];   // ascending
    tnh_node nodes[VULKAN_MAX_UNIT_NODES];
} vulkan_unit;

static inline const tnh_node *vulkan_unit_last(const vulkan_unit *unit)
{
    return &unit->nodes[unit->node_count - 1];
}

// Whether one descriptor shows so many bytes, wherever they begin.
static inline bool vulkan_is_bindable(uint64_t bytes, const vulkan_features *features)
{
    return bytes + features->storage_alignment <= features->max_range_bytes;
}

// Takes the dispatches of a unit, in order; between two that touch the same bytes it puts a
// barrier. The first failure stays, and what comes after it is dropped.
typedef struct vulkan_emitter vulkan_emitter;

// The device's numbers, for choosing kernels: the same in claim, compile and bind.
const vulkan_features *vulkan_emitter_features(const vulkan_emitter *to);
void vulkan_emit(vulkan_emitter *to, const vulkan_dispatch *dispatch);

// Binds bytes to the next slot of a dispatch. A descriptor begins at a multiple of what the device
// wants: answered is by how many bytes before the first element, for the kernel to add.
//   value     all of it; or `bytes` from `offset` on, from its first element
//   extent    the length of a dim, an I32, or something to be bound where there is none; answers
//             whether there is one
//   scratch   `bytes` from `offset` of the unit's scratch
//   optional  an operand, or something to be bound where it was left out: then 0
uint32_t vulkan_bind_value(vulkan_emitter *to, vulkan_dispatch *d, const tnh_value *value,
                           bool is_written);
uint32_t vulkan_bind_part(vulkan_emitter *to, vulkan_dispatch *d, const tnh_value *value,
                          uint64_t offset, uint64_t bytes, bool is_written);
bool vulkan_bind_extent(vulkan_emitter *to, vulkan_dispatch *d, const tnh_value *value,
                        uint32_t dim, uint32_t *offset);
uint32_t vulkan_bind_scratch(vulkan_emitter *to, vulkan_dispatch *d, uint64_t offset,
                             uint64_t bytes, bool is_written);
uint32_t vulkan_bind_optional(vulkan_emitter *to, vulkan_dispatch *d, const tnh_node *node,
                              uint32_t input);
void vulkan_bind_nothing(vulkan_emitter *to, vulkan_dispatch *d);

struct vulkan_op {
    tnp_op number;   // 0: several nodes as one
    // Why this unit cannot be run (static text), or NULL. Decided by dims, strides and types alone.
    const char *(*refuse)(const vulkan_unit *unit, const vulkan_features *features);
    uint64_t (*scratch_bytes)(const vulkan_unit *unit,
                              const vulkan_features *features);   // NULL = 0
    void (*emit)(const vulkan_unit *unit, vulkan_emitter *to);
};

const vulkan_op *vulkan_op_find(tnp_op number);   // NULL = not an op of this plugin
// Of several nodes, which were read; NULL = none that are done together.
const vulkan_op *vulkan_fusion_find(const vulkan_unit *unit);

#endif
