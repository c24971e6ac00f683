// memory.h: the memories of a device.
#ifndef VULKAN_MEMORY_H
#define VULKAN_MEMORY_H

#include "vulkan.h"

// Of a type of memory: the host reads and writes it, and device and host see what the other wrote.
#define VULKAN_VISIBLE (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)

uint32_t vulkan_memory_count(const vulkan_physical *physical);
uint64_t vulkan_alignment(const tnp_device *device);   // of buffers and bindings

tnp_status vulkan_memory_open(tnp_device *device, tnp_error *err);

#endif
