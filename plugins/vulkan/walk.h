// walk.h: elements of a result and of operands that are broadcast to it, in as few dims as there
// can be: neighbouring dims that lie as one become one. Kernels go through four; what is beyond is
// dispatched one by one.
#ifndef VULKAN_WALK_H
#define VULKAN_WALK_H

#include "op.h"

#define VULKAN_WALK_OPERANDS 4u
#define VULKAN_WALK_DIMS     4u

typedef struct vulkan_walk {
    uint32_t operand_count, rank;
    uint64_t dims[TNP_MAX_DIMS];
    uint64_t strides[VULKAN_WALK_OPERANDS][TNP_MAX_DIMS];   // bytes
    const tnh_value *values[VULKAN_WALK_OPERANDS];
} vulkan_walk;

// The result first; then operands of the same dims, or of 1.
void vulkan_walk_make(const tnh_value *const *values, uint32_t count, vulkan_walk *out);

// Dispatches that it takes, and elements of each.
uint64_t vulkan_walk_parts(const vulkan_walk *walk);
uint64_t vulkan_walk_elements(const vulkan_walk *walk);

// Binds the values to the next slots and pushes what walk.glsl reads, for part `part`. The first
// value is the one written.
void vulkan_walk_bind(const vulkan_walk *walk, uint64_t part, vulkan_emitter *to,
                      vulkan_dispatch *d);

// Whether each element, or block, begins at a multiple of its bytes from the first.
bool vulkan_walk_has_whole_strides(const tnh_value *const *values, uint32_t count);

// Why elements cannot be gone through so (static text), or NULL.
const char *vulkan_walk_refuse(const tnh_value *const *values, uint32_t count);

#endif
