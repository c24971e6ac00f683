// features.c: what a physical device has of what the kernels can use.
#include "vulkan.h"

typedef struct extensions {
    uint32_t count;
    VkExtensionProperties *list;
} extensions;

static bool has(const extensions *of, const char *name)
{
    for (uint32_t i = 0; i < of->count; i++)
        if (strcmp(of->list[i].extensionName, name) == 0)
            return true;
    return false;
}

// The extensions; none where the driver or memory fails: then nothing of them is used.
static extensions read_extensions(tnp_instance *instance, VkPhysicalDevice device)
{
    extensions found = { 0 };
    uint32_t count = 0;
    if (vkEnumerateDeviceExtensionProperties(device, NULL, &count, NULL) != VK_SUCCESS || !count)
        return found;
    found.list = vulkan_alloc(instance, count * sizeof *found.list);
    if (found.list &&
        vkEnumerateDeviceExtensionProperties(device, NULL, &count, found.list) == VK_SUCCESS)
        found.count = count;
    return found;
}

static void read_properties(VkPhysicalDevice device, const extensions *found, vulkan_physical *out)
{
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT
    };
    VkPhysicalDevicePCIBusInfoPropertiesEXT bus = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT
    };
    VkPhysicalDeviceVulkan12Properties v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES
    };
    VkPhysicalDeviceVulkan11Properties v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, .pNext = &v12
    };
    VkPhysicalDeviceProperties2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                        .pNext = &v11 };
    const bool has_bus = has(found, VK_EXT_PCI_BUS_INFO_EXTENSION_NAME);
    void **end = &v12.pNext;
    if (out->features.has_host_import)
        *end = &host, end = &host.pNext;
    if (has_bus)
        *end = &bus;
    vkGetPhysicalDeviceProperties2(device, &all);

    const VkPhysicalDeviceLimits *limits = &all.properties.limits;
    vulkan_features *f = &out->features;
    out->properties = all.properties;
    memcpy(out->uuid, v11.deviceUUID, sizeof out->uuid);
    snprintf(out->driver, sizeof out->driver, "%.50s %.40s, Vulkan %u.%u", v12.driverName,
             v12.driverInfo, VK_API_VERSION_MAJOR(all.properties.apiVersion),
             VK_API_VERSION_MINOR(all.properties.apiVersion));
    if (has_bus)
        snprintf(out->pci, sizeof out->pci, "%04x:%02x:%02x.%x", bus.pciDomain, bus.pciBus,
                 bus.pciDevice, bus.pciFunction);
    f->has_subgroup_arithmetic = (v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
                                 (v11.subgroupSupportedOperations &
                                  VK_SUBGROUP_FEATURE_ARITHMETIC_BIT);
    f->storage_alignment = limits->minStorageBufferOffsetAlignment;
    f->max_range_bytes = limits->maxStorageBufferRange;
    f->max_allocation_bytes = v11.maxMemoryAllocationSize;
    f->import_alignment = host.minImportedHostPointerAlignment;
    for (int i = 0; i < 3; i++)
        f->max_groups[i] = limits->maxComputeWorkGroupCount[i];
    f->max_shared_bytes = limits->maxComputeSharedMemorySize;
}

const char *vulkan_features_read(tnp_instance *instance, VkPhysicalDevice device,
                                 vulkan_physical *out)
{
    extensions found = read_extensions(instance, device);
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES
    };
    VkPhysicalDeviceVulkan11Features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &v12
    };
    VkPhysicalDeviceFeatures2 all = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                      .pNext = &v11 };
    vkGetPhysicalDeviceFeatures2(device, &all);
    out->features = (vulkan_features){
        .has_small_storage = v11.storageBuffer16BitAccess && v12.storageBuffer8BitAccess &&
                             v12.shaderInt8 && all.features.shaderInt16,
        .has_memory_budget = has(&found, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME),
        .has_host_import = has(&found, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME),
    };
    read_properties(device, &found, out);
    vulkan_free(instance, found.list);
    if (!v12.timelineSemaphore)
        return "it has no timeline semaphores";
    if (out->properties.limits.maxPerStageDescriptorStorageBuffers < 8 ||
        out->properties.limits.maxPushConstantsSize < 128)
        return "it binds fewer than 8 buffers, or takes fewer than 128 bytes of push constants";
    return NULL;
}
