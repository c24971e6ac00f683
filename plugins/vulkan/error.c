// error.c: results of the driver in words, and memory of the host.
#include "vulkan.h"

const char *vulkan_result_name(VkResult result)
{
    switch (result) {
#define NAME(value)                                                                                \
    case value:                                                                                    \
        return #value;
        NAME(VK_SUCCESS)
        NAME(VK_NOT_READY)
        NAME(VK_TIMEOUT)
        NAME(VK_INCOMPLETE)
        NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
        NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        NAME(VK_ERROR_INITIALIZATION_FAILED)
        NAME(VK_ERROR_DEVICE_LOST)
        NAME(VK_ERROR_MEMORY_MAP_FAILED)
        NAME(VK_ERROR_LAYER_NOT_PRESENT)
        NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
        NAME(VK_ERROR_FEATURE_NOT_PRESENT)
        NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
        NAME(VK_ERROR_TOO_MANY_OBJECTS)
        NAME(VK_ERROR_FRAGMENTED_POOL)
        NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
        NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE)
        NAME(VK_ERROR_FRAGMENTATION)
        NAME(VK_ERROR_INVALID_SHADER_NV)
        NAME(VK_ERROR_UNKNOWN)
#undef NAME
    default:
        return "an unknown VkResult";
    }
}

static tnp_status status_of(VkResult result)
{
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return TNP_E_HOST_MEMORY;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTED_POOL:
    case VK_ERROR_FRAGMENTATION:
    case VK_ERROR_TOO_MANY_OBJECTS:
        return TNP_E_DEVICE_MEMORY;
    case VK_ERROR_DEVICE_LOST:
        return TNP_E_DEVICE_LOST;
    case VK_TIMEOUT:
        return TNP_E_TIMEOUT;
    default:
        return TNP_E_INTERNAL;
    }
}

tnp_status vulkan_error(tnp_device *device, tnp_error *err, VkResult result, const char *what)
{
    if (result == VK_ERROR_DEVICE_LOST && device) {
        char line[256];
        snprintf(line, sizeof line, "the driver lost the device %.100s (%.100s)",
                 device->physical.properties.deviceName, what);
        tnh_lose(device, line);
        return tnh_fail(err, TNP_E_DEVICE_LOST, "%s", line);
    }
    return tnh_fail(err, status_of(result), "%s: %s", what, vulkan_result_name(result));
}

void *vulkan_alloc(tnp_instance *instance, uint64_t bytes)
{
    return tnh_make(instance->host, bytes);
}

void vulkan_free(tnp_instance *instance, void *pointer)
{
    instance->host->free(instance->host->context, pointer);
}
