// unit.h: reads nodes as the units that this plugin takes: each alone, and some together.
#ifndef VULKAN_UNIT_H
#define VULKAN_UNIT_H

#include "op.h"

// Reads the nodes of a unit. Answers why this plugin cannot take them (static text), or NULL.
const char *vulkan_unit_read(const tnp_device *device, const tnp_slice *slice,
                             const uint32_t *nodes, uint32_t node_count, vulkan_unit *out);

uint64_t vulkan_unit_scratch(const tnp_device *device, const vulkan_unit *unit);
const char *vulkan_unit_name(const vulkan_unit *unit, char *buffer, size_t bytes);
double vulkan_unit_cost_ns(const tnp_device *device, const tnp_slice *slice,
                           const vulkan_unit *unit);

#endif
