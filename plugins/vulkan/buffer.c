// buffer.c: buffers of the contract.
#include "allocator.h"

static tnp_status make_buffer(tnp_device *device, uint64_t bytes, tnp_buffer **out, tnp_error *err)
{
    if (tnh_is_lost(device))
        return tnh_fail_lost(err);
    tnp_buffer *buffer = vulkan_alloc(device->instance, sizeof *buffer);
    if (!buffer)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "buffer_alloc: no memory for a buffer");
    buffer->head.device = device;
    buffer->head.bytes = bytes;
    *out = buffer;
    return TNP_OK;
}

tnp_status vulkan_buffer_alloc(tnp_device *device, const tnp_alloc *from, tnp_buffer **out,
                               tnp_error *err)
{
    tnp_alloc what;
    tnp_buffer *buffer;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return tnh_fail_unknown(err, "buffer_alloc");
    if (what.memory >= device->memory_count || what.bytes == 0)
        return tnh_fail(err, TNP_E_ARG, "buffer_alloc: %llu bytes of memory %u; there are %u",
                        (unsigned long long)what.bytes, what.memory, device->memory_count);
    uint64_t most = device->physical.features.max_allocation_bytes;
    if (what.bytes > most)
        return tnh_fail(err, TNP_E_DEVICE_MEMORY,
                        "buffer_alloc: %llu bytes are asked for, one buffer has %llu at most",
                        (unsigned long long)what.bytes, (unsigned long long)most);
    tnp_status status = make_buffer(device, what.bytes, &buffer, err);
    if (status != TNP_OK)
        return status;
    status = vulkan_allocate(device, device->memories[what.memory].type, what.bytes, &buffer->place,
                             err);
    if (status != TNP_OK) {
        vulkan_free(device->instance, buffer);
        return status;
    }
    if (!(device->memories[what.memory].flags & TNP_MEMORY_HOST_VISIBLE))
        buffer->place.mapped = NULL;
    buffer->is_cached = (device->memories[what.memory].flags & TNP_MEMORY_HOST_CACHED) != 0;
    *out = buffer;
    return TNP_OK;
}

// The type of memory that the driver gives these bytes of the host; -1: it does not take them.
static int type_of_host(tnp_device *device, const void *host)
{
    VkMemoryHostPointerPropertiesEXT found = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT
    };
    if (device->vk.vkGetMemoryHostPointerPropertiesEXT(
            device->handle, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, host, &found) !=
        VK_SUCCESS)
        return -1;
    return found.memoryTypeBits ? __builtin_ctz(found.memoryTypeBits) : -1;
}

tnp_status vulkan_buffer_import(tnp_device *device, const tnp_import *from, tnp_buffer **out,
                                tnp_error *err)
{
    tnp_import what;
    tnp_buffer *buffer;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, TNP_IMPORT_READ_ONLY) ||
        what.kind != TNP_IMPORT_HOST)
        return tnh_fail_unknown(err, "buffer_import");
    if (what.memory >= device->memory_count || what.bytes == 0 || what.handle == 0)
        return tnh_fail(err, TNP_E_ARG, "buffer_import: no bytes, or memory %u of %u", what.memory,
                        device->memory_count);
    if (!(device->memories[what.memory].flags & TNP_MEMORY_IMPORT))
        return tnh_fail(err, TNP_E_UNSUPPORTED, "buffer_import: the driver imports no memory");
    uint64_t alignment = device->physical.features.import_alignment;
    if (what.handle % alignment != 0 || what.bytes % alignment != 0)
        return tnh_fail(err, TNP_E_ARG,
                        "buffer_import: address and bytes are to be multiples of %llu",
                        (unsigned long long)alignment);
    void *host = (void *)(uintptr_t)what.handle;
    int type = type_of_host(device, host);
    if (type < 0)
        return tnh_fail(err, TNP_E_UNSUPPORTED, "buffer_import: the driver refuses these bytes");
    tnp_status status = make_buffer(device, what.bytes, &buffer, err);
    if (status != TNP_OK)
        return status;
    buffer->is_imported = buffer->is_cached = true;
    buffer->is_read_only = (what.flags & TNP_IMPORT_READ_ONLY) != 0;
    status = vulkan_import(device, (uint32_t)type, host, what.bytes, &buffer->place, err);
    if (status != TNP_OK) {
        vulkan_free(device->instance, buffer);
        // A driver that pins what it imports for writing refuses a file that is mapped to be read.
        return status == TNP_E_INTERNAL ? tnh_fail(err, TNP_E_UNSUPPORTED,
                                                   "buffer_import: the driver refuses these bytes")
                                        : status;
    }
    *out = buffer;
    return TNP_OK;
}

tnp_status vulkan_buffer_map(tnp_buffer *buffer, void **out, tnp_error *err)
{
    if (!buffer->place.mapped)
        return tnh_fail(err, TNP_E_UNSUPPORTED, "buffer_map: the host cannot see this memory");
    *out = buffer->place.mapped;
    return TNP_OK;
}

void vulkan_buffer_free(tnp_buffer *buffer)
{
    if (!buffer)
        return;
    tnp_device *device = buffer->head.device;
    if (!vulkan_must_leak(device))
        vulkan_release(device, &buffer->place, buffer->is_imported);
    vulkan_free(device->instance, buffer);
}
