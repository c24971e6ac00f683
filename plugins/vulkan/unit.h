// unit.h: reads nodes as the units that this plugin takes: each alone, and some together.
#ifndef VULKAN_UNIT_H
#define VULKAN_UNIT_H

#include "op.h"

// Reads the nodes of a unit. Answers why this plugin cannot take them (static text), or NULL.
const char *vulkan_unit_read(const tnp_device *device, const tnp_slice *slice,
                             const uint32_t *nodes, uint32_t node_count, vulkan_unit *out);

// What a unit takes from outside itself, by node and operand; what passes between its nodes, and is
// no operand of it, has no bytes.
#define VULKAN_MAX_UNIT_OPERANDS (VULKAN_MAX_UNIT_NODES * TNH_MAX_INPUTS)

typedef struct vulkan_operand {
    uint32_t index;   // of the value, in the slice
    const tnh_value *value;
    bool is_written;   // the op writes through it
    bool may_reuse;    // the result may take its bytes
} vulkan_operand;

uint32_t vulkan_unit_operands(const vulkan_unit *unit,
                              vulkan_operand out[VULKAN_MAX_UNIT_OPERANDS]);

uint64_t vulkan_unit_scratch(const tnp_device *device, const vulkan_unit *unit);
const char *vulkan_unit_name(const vulkan_unit *unit, char *buffer, size_t bytes);

#endif
