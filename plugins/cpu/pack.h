// pack.h: weights in a layout of this plugin's own: 8 rows side by side, drawn in kernels/blocks.h.
#ifndef CPU_PACK_H
#define CPU_PACK_H

#include "node.h"

#define CPU_PACK_LAYOUT 1u   // its number in tnp_pack.layout; another layout would take the next
#define CPU_PACK_ROWS   8

// The pack that a node wants of an operand; all of it but the index of the value depends on that
// operand alone.
tnp_pack cpu_pack_of(const cpu_node *node, uint32_t input);

uint64_t cpu_pack_bytes(const tnh_value *matrix);   // when it is packed

// The call of the plugin's table.
tnp_status cpu_pack(tnp_device *device, const tnp_value *value, uint32_t layout, const void *source,
                    uint64_t begin, uint64_t end, void *to, tnp_error *err);

#endif
