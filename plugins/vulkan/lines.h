// lines.h: lines of elements along one axis of a result and of its operands. What lies beside the
// axis is walked (walk.h), a line an element.
#ifndef VULKAN_LINES_H
#define VULKAN_LINES_H

#include "walk.h"

typedef struct vulkan_lines {
    uint32_t axis;
    tnh_value values[VULKAN_WALK_OPERANDS];   // with one element along the axis
    vulkan_walk walk;                         // of these
} vulkan_lines;

// The result first; then operands of the same dims beside the axis, or of 1.
void vulkan_lines_make(const tnh_value *const *values, uint32_t count, uint32_t axis,
                       vulkan_lines *out);

// Binds the length that says how many lines count, and pushes what lines.glsl reads of it: where it
// is, its dim, and lines for each element of the dim. Answers whether there is one.
bool vulkan_lines_bind_count(const vulkan_lines *lines, const tnh_value *value, vulkan_emitter *to,
                             vulkan_dispatch *d);

// Why lines cannot be gone through so (static text), or NULL.
const char *vulkan_lines_refuse(const tnh_value *const *values, uint32_t count, uint32_t axis);

#endif
