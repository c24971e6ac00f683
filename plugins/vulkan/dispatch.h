// dispatch.h: one dispatch of a kernel, before anything of the driver is recorded.
//
// Every kernel has the same layout: storage buffers at bindings 0 to 7 of set 0, specialization
// constants from 0 on, and 128 bytes of push constants. An op fills dispatches, once to know the
// pipelines (compile: no addresses yet), once to record them (bind).
#ifndef VULKAN_DISPATCH_H
#define VULKAN_DISPATCH_H

#include "vulkan.h"

#define VULKAN_MAX_OPERANDS  8u
#define VULKAN_MAX_CONSTANTS 16u
#define VULKAN_MAX_PUSH      32u   // words

typedef enum vulkan_kernel {
#define KERNEL(NAME, file, VARIANTS) VULKAN_KERNEL_##NAME,
#include "kernels.def"
#undef KERNEL
    VULKAN_KERNEL_COUNT
} vulkan_kernel;

// Bytes that a kernel looks at: a range of a buffer, as its descriptor has it.
typedef struct vulkan_range {
    VkBuffer buffer;   // NULL in compile, or: no operand here
    uint64_t offset, bytes;
    bool is_written;
    bool is_constant;   // nobody ever writes it: it needs no barrier
} vulkan_range;

typedef struct vulkan_dispatch {
    vulkan_kernel kernel;
    uint32_t constant_count, constants[VULKAN_MAX_CONSTANTS];
    uint32_t push_count, push[VULKAN_MAX_PUSH];
    uint32_t operand_count;
    vulkan_range operands[VULKAN_MAX_OPERANDS];
    uint32_t groups[3];    // of work; more than the device takes in a dimension is cut
    double flops, bytes;   // of all of it, for costs and for how long it may take
    bool checks_data;   // binding 7 is a word that it sets where an index was outside (TNP_E_DATA)
} vulkan_dispatch;

// Workgroups for so many items, so many each.
static inline uint32_t vulkan_groups(uint64_t items, uint64_t each)
{
    return (uint32_t)((items + each - 1) / each);
}
static inline void vulkan_begin(vulkan_dispatch *d, vulkan_kernel kernel)
{
    memset(d, 0, sizeof *d);
    d->kernel = kernel;
    d->groups[0] = d->groups[1] = d->groups[2] = 1;
}
static inline void vulkan_constant(vulkan_dispatch *d, uint32_t value)
{
    d->constants[d->constant_count++] = value;
}
static inline void vulkan_push(vulkan_dispatch *d, uint32_t word)
{
    d->push[d->push_count++] = word;
}
static inline void vulkan_push_float(vulkan_dispatch *d, float value)
{
    memcpy(&d->push[d->push_count++], &value, sizeof value);
}

#endif
