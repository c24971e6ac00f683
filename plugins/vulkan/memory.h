// memory.h: memory of a device, divided.
#ifndef VULKAN_MEMORY_H
#define VULKAN_MEMORY_H

#include "vulkan.h"

uint32_t vulkan_memory_count(const vulkan_physical *physical);
uint64_t vulkan_alignment(const tnp_device *device);   // of buffers and bindings

tnp_status vulkan_memory_open(tnp_device *device, tnp_error *err);
void vulkan_memory_close(tnp_device *device);

// Bytes of a memory type of the driver, not cleared; given back by vulkan_release. [any]
// Errors: TNP_E_DEVICE_MEMORY, TNP_E_HOST_MEMORY
tnp_status vulkan_allocate(tnp_device *device, uint32_t type, uint64_t bytes, vulkan_place *out,
                           tnp_error *err);
// The host's bytes at this address, aligned as the device wants it, as memory of the device.
tnp_status vulkan_import(tnp_device *device, uint32_t type, void *host, uint64_t bytes,
                         vulkan_place *out, tnp_error *err);
void vulkan_release(tnp_device *device, const vulkan_place *place, bool is_imported);

#endif
