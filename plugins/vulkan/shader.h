// shader.h: the SPIR-V of the kernels, compiled into the plugin (shaders.c is generated from
// kernels.def and shaders/).
#ifndef VULKAN_SHADER_H
#define VULKAN_SHADER_H

#include "dispatch.h"

// What a kernel may be compiled for beyond what every device has: bits of its variants.
enum {
    VULKAN_SMALL = 1,       // 8-bit and 16-bit storage
    VULKAN_SUBGROUPS = 2,   // subgroup arithmetic
    VULKAN_VARIANTS = 4
};

typedef struct vulkan_shader {
    const uint32_t *words;   // NULL: there is no such variant
    size_t bytes;
} vulkan_shader;

extern const vulkan_shader vulkan_shaders[VULKAN_KERNEL_COUNT][VULKAN_VARIANTS];
extern const char *const vulkan_kernel_names[VULKAN_KERNEL_COUNT];

// The variant with most of what the device has.
const vulkan_shader *vulkan_shader_for(const vulkan_features *features, vulkan_kernel kernel);

#endif
