// walk.c: see walk.h.
#include "walk.h"

// Dims of 1 are left out, and a dim joins the one before it where all values go on in it.
void vulkan_walk_make(const tnh_value *const *values, uint32_t count, vulkan_walk *out)
{
    memset(out, 0, sizeof *out);
    out->operand_count = count;
    for (uint32_t i = 0; i < count; i++)
        out->values[i] = values[i];
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        if (values[0]->dims[d] == 1)
            continue;
        uint64_t strides[VULKAN_WALK_OPERANDS];
        bool joins = out->rank > 0;
        for (uint32_t i = 0; i < count; i++) {
            strides[i] = values[i]->dims[d] == 1 ? 0 : (uint64_t)values[i]->strides[d];
            joins = joins &&
                    strides[i] == out->dims[out->rank - 1] * out->strides[i][out->rank - 1];
        }
        if (joins) {
            out->dims[out->rank - 1] *= (uint64_t)values[0]->dims[d];
            continue;
        }
        out->dims[out->rank] = (uint64_t)values[0]->dims[d];
        for (uint32_t i = 0; i < count; i++)
            out->strides[i][out->rank] = strides[i];
        out->rank++;
    }
}

uint64_t vulkan_walk_parts(const vulkan_walk *walk)
{
    uint64_t parts = 1;
    for (uint32_t d = VULKAN_WALK_DIMS; d < walk->rank; d++)
        parts *= walk->dims[d];
    return parts;
}

uint64_t vulkan_walk_elements(const vulkan_walk *walk)
{
    uint64_t elements = 1;
    for (uint32_t d = 0; d < VULKAN_WALK_DIMS && d < walk->rank; d++)
        elements *= walk->dims[d];
    return elements;
}

void vulkan_walk_bind(const vulkan_walk *walk, uint64_t part, vulkan_emitter *to,
                      vulkan_dispatch *d)
{
    uint32_t offsets[VULKAN_WALK_OPERANDS];
    for (uint32_t i = 0; i < walk->operand_count; i++) {
        uint64_t offset = vulkan_bind_value(to, d, walk->values[i], i == 0), rest = part;
        for (uint32_t k = VULKAN_WALK_DIMS; k < walk->rank; k++) {
            offset += rest % walk->dims[k] * walk->strides[i][k];
            rest /= walk->dims[k];
        }
        offsets[i] = (uint32_t)offset;
    }
    for (uint32_t k = 0; k < VULKAN_WALK_DIMS; k++)
        vulkan_push(d, k < walk->rank ? (uint32_t)walk->dims[k] : 1);
    for (uint32_t i = 0; i < walk->operand_count; i++)
        for (uint32_t k = 0; k < VULKAN_WALK_DIMS; k++)
            vulkan_push(d, k < walk->rank ? (uint32_t)walk->strides[i][k] : 0);
    for (uint32_t i = 0; i < walk->operand_count; i++)
        vulkan_push(d, offsets[i]);
    vulkan_push(d, (uint32_t)vulkan_walk_elements(walk));
    while (d->push_count % 4 != 0)   // the struct of the kernel ends at a multiple of 16 bytes
        vulkan_push(d, 0);
}

bool vulkan_walk_has_whole_strides(const tnh_value *const *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
            if (values[i]->dims[d] > 1 &&
                values[i]->strides[d] % tnh_block_bytes(values[i]->dtype) != 0)
                return false;
    return true;
}

const char *vulkan_walk_refuse(const tnh_value *const *values, uint32_t count)
{
    vulkan_walk walk;
    if (!vulkan_walk_has_whole_strides(values, count))
        return "a stride that is no multiple of the element's bytes";
    vulkan_walk_make(values, count, &walk);
    if (vulkan_walk_parts(&walk) > VULKAN_MAX_DISPATCHES)
        return "more than four dims that do not lie as one";
    return vulkan_walk_elements(&walk) >> 32 ? "more elements than a dispatch takes" : NULL;
}
