// allocator.h: memory of a device, divided.
#ifndef VULKAN_ALLOCATOR_H
#define VULKAN_ALLOCATOR_H

#include "vulkan.h"

tnp_status vulkan_allocator_open(tnp_device *device, tnp_error *err);
void vulkan_allocator_close(tnp_device *device);
uint64_t vulkan_used_bytes(tnp_device *device, uint32_t heap);

// Bytes of a memory type of the driver, not cleared; given back by vulkan_release. [any]
// Errors: TNP_E_DEVICE_MEMORY, TNP_E_HOST_MEMORY
tnp_status vulkan_allocate(tnp_device *device, uint32_t type, uint64_t bytes, vulkan_place *out,
                           tnp_error *err);
// The host's bytes at this address, aligned as the device wants it, as memory of the device.
tnp_status vulkan_import(tnp_device *device, uint32_t type, void *host, uint64_t bytes,
                         vulkan_place *out, tnp_error *err);
void vulkan_release(tnp_device *device, const vulkan_place *place, bool is_imported);

#endif
