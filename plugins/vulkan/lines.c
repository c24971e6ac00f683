// lines.c: see lines.h.
#include "lines.h"

void vulkan_lines_make(const tnh_value *const *values, uint32_t count, uint32_t axis,
                       vulkan_lines *out)
{
    const tnh_value *firsts[VULKAN_WALK_OPERANDS];
    out->axis = axis;
    for (uint32_t i = 0; i < count; i++) {
        out->values[i] = *values[i];
        out->values[i].dims[axis] = 1;
        firsts[i] = &out->values[i];
    }
    vulkan_walk_make(firsts, count, &out->walk);
}

// Lines are numbered dim by dim, so that the last dim with more than one line bounds their number.
bool vulkan_lines_bind_count(const vulkan_lines *lines, const tnh_value *value, vulkan_emitter *to,
                             vulkan_dispatch *d)
{
    uint32_t last = 0, offset = 0;
    uint64_t unit = 1;
    for (uint32_t k = 0; k < TNP_MAX_DIMS; k++)
        if (lines->values[0].dims[k] > 1)
            last = k;
    for (uint32_t k = 0; k < last; k++)
        unit *= (uint64_t)lines->values[0].dims[k];
    bool has = false;
    if (last != lines->axis && vulkan_walk_parts(&lines->walk) == 1)
        has = vulkan_bind_extent(to, d, value, last, &offset);
    else
        vulkan_bind_nothing(to, d);
    vulkan_push(d, offset);
    vulkan_push(d, (uint32_t)lines->values[0].dims[last]);
    vulkan_push(d, (uint32_t)unit);
    return has;
}

const char *vulkan_lines_refuse(const tnh_value *const *values, uint32_t count, uint32_t axis)
{
    vulkan_lines lines;
    if (!vulkan_walk_has_whole_strides(values, count))
        return "a stride that is no multiple of the element's bytes";
    vulkan_lines_make(values, count, axis, &lines);
    if (vulkan_walk_parts(&lines.walk) > VULKAN_MAX_DISPATCHES)
        return "more than four dims beside a line that do not lie as one";
    return vulkan_walk_elements(&lines.walk) >> 32 ? "more lines than a dispatch takes" : NULL;
}
