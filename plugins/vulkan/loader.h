// loader.h: the system's Vulkan loader.
#ifndef VULKAN_LOADER_H
#define VULKAN_LOADER_H

#include "vulkan.h"

bool vulkan_loader_open(void);   // false: there is none
void vulkan_loader_add_calls(VkInstance instance);

#endif
