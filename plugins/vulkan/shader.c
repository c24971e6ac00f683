// shader.c: which variant of a kernel a device gets.
#include "shader.h"

const vulkan_shader *vulkan_shader_for(const vulkan_features *features, vulkan_kernel kernel)
{
    const uint32_t has = (features->has_small_storage ? VULKAN_SMALL : 0) |
                         (features->has_subgroup_arithmetic ? VULKAN_SUBGROUPS : 0);
    const vulkan_shader *best = NULL;
    for (uint32_t variant = 0; variant < VULKAN_VARIANTS; variant++)
        if ((variant & ~has) == 0 && vulkan_shaders[kernel][variant].words)
            best = &vulkan_shaders[kernel][variant];
    return best;
}
