// instance.c: the VkInstance, and which physical devices there are.
#include "vulkan.h"

#include "loader.h"
#include "memory.h"

#define VALIDATION "VK_LAYER_KHRONOS_validation"

static VkBool32 VKAPI_PTR tell(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                               VkDebugUtilsMessageTypeFlagsEXT types,
                               const VkDebugUtilsMessengerCallbackDataEXT *data, void *argument)
{
    (void)types;
    tnp_instance *instance = argument;
    const tnp_host *host = instance->host;
    host->log(host->context, severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT ? 0 : 1,
              data->pMessage);
    pthread_mutex_lock(&instance->told_lock);
    if (!instance->told[0])
        snprintf(instance->told, sizeof instance->told, "%.390s", data->pMessage);
    pthread_mutex_unlock(&instance->told_lock);
    return VK_FALSE;
}

tnp_status vulkan_told(tnp_instance *instance, tnp_error *err)
{
    tnp_status status = TNP_OK;
    if (!instance->messenger)
        return TNP_OK;
    pthread_mutex_lock(&instance->told_lock);
    if (instance->told[0])
        status = tnh_fail(err, TNP_E_INTERNAL, "validation: %s", instance->told);
    pthread_mutex_unlock(&instance->told_lock);
    return status;
}

static bool has_layer(tnp_instance *instance, const char *name)
{
    uint32_t count = 0;
    bool found = false;
    if (vkEnumerateInstanceLayerProperties(&count, NULL) != VK_SUCCESS || count == 0)
        return false;
    VkLayerProperties *layers = vulkan_alloc(instance, count * sizeof *layers);
    if (layers && vkEnumerateInstanceLayerProperties(&count, layers) == VK_SUCCESS)
        for (uint32_t i = 0; i < count; i++)
            found |= strcmp(layers[i].layerName, name) == 0;
    vulkan_free(instance, layers);
    return found;
}

static VkResult create(tnp_instance *instance, bool validates)
{
    const char *const layer = VALIDATION, *const extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    const VkValidationFeatureEnableEXT enabled =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkDebugUtilsMessengerCreateInfoEXT messages = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT,
        .pfnUserCallback = tell,
        .pUserData = instance,
    };
    const VkValidationFeaturesEXT checks = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .pNext = &messages,
        .enabledValidationFeatureCount = 1,
        .pEnabledValidationFeatures = &enabled,
    };
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pEngineName = "Tenon",
        .apiVersion = VK_API_VERSION_1_2,
    };
    const VkInstanceCreateInfo how = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pNext = validates ? &checks : NULL,
        .pApplicationInfo = &application,
        .enabledLayerCount = validates,
        .ppEnabledLayerNames = &layer,
        .enabledExtensionCount = validates,
        .ppEnabledExtensionNames = &extension,
    };
    sigset_t before;
    tnh_block_signals(&before);   // for threads that a driver starts
    VkResult result = vkCreateInstance(&how, NULL, &instance->handle);
    tnh_restore_signals(&before);
    if (result != VK_SUCCESS) {
        instance->handle = NULL;
        return result;
    }
    vulkan_loader_add_calls(instance->handle);
    if (validates) {
        PFN_vkCreateDebugUtilsMessengerEXT make = (PFN_vkCreateDebugUtilsMessengerEXT)(void (*)(
            void))vkGetInstanceProcAddr(instance->handle, "vkCreateDebugUtilsMessengerEXT");
        if (make)
            (void)make(instance->handle, &messages, NULL, &instance->messenger);
    }
    return VK_SUCCESS;
}

tnp_status vulkan_start(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    tnp_instance *instance = tnh_make(host, sizeof *instance);
    if (!instance)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "start: no memory for an instance");
    instance->host = host;
    tnp_status status = vulkan_read_options(host, &instance->options, err);
    if (status == TNP_OK && pthread_mutex_init(&instance->lock, NULL) != 0)
        status = tnh_fail(err, TNP_E_HOST_MEMORY, "start: no lock can be made");
    if (status == TNP_OK && pthread_mutex_init(&instance->told_lock, NULL) != 0) {
        pthread_mutex_destroy(&instance->lock);
        status = tnh_fail(err, TNP_E_HOST_MEMORY, "start: no lock can be made");
    }
    if (status != TNP_OK) {
        vulkan_free(instance, instance);
        return status;
    }
    if (!vulkan_loader_open()) {
        snprintf(instance->reason, sizeof instance->reason,
                 "there is no Vulkan loader (libvulkan.so.1)");
    } else if (vkEnumerateInstanceVersion == NULL) {
        snprintf(instance->reason, sizeof instance->reason,
                 "the Vulkan loader knows 1.0 alone, 1.2 is wanted");
    } else {
        bool validates = instance->options.validate && has_layer(instance, VALIDATION);
        if (instance->options.validate && !validates)
            host->log(host->context, 1, "validate = on, but there is no layer " VALIDATION);
        VkResult result = create(instance, validates);
        if (result == VK_ERROR_OUT_OF_HOST_MEMORY) {
            vulkan_stop(instance);
            return tnh_fail(err, TNP_E_HOST_MEMORY, "start: no memory for a VkInstance");
        }
        if (result != VK_SUCCESS)
            snprintf(instance->reason, sizeof instance->reason, "no VkInstance can be made: %s",
                     result == VK_ERROR_INCOMPATIBLE_DRIVER ? "there is no driver"
                                                            : vulkan_result_name(result));
    }
    *out = instance;
    return TNP_OK;
}

void vulkan_stop(tnp_instance *instance)
{
    if (instance->messenger) {
        PFN_vkDestroyDebugUtilsMessengerEXT destroy = (PFN_vkDestroyDebugUtilsMessengerEXT)(void (
                *)(void))vkGetInstanceProcAddr(instance->handle, "vkDestroyDebugUtilsMessengerEXT");
        if (destroy)
            destroy(instance->handle, instance->messenger, NULL);
    }
    if (instance->handle && !instance->has_leaked)
        vkDestroyInstance(instance->handle, NULL);
    pthread_mutex_destroy(&instance->told_lock);
    pthread_mutex_destroy(&instance->lock);
    vulkan_free(instance, instance);
}

// ------------------------------------------------------------------------------- physical devices

static uint32_t kind_of(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return TNP_KIND_INTEGRATED_GPU;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return TNP_KIND_SOFTWARE;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return TNP_KIND_GPU;
    default:
        return TNP_KIND_ACCELERATOR;
    }
}

// Rough, F32: what devices of a kind do at least; the driver does not tell.
static double flops_of(uint32_t kind)
{
    return kind == TNP_KIND_GPU ? 5e12 : kind == TNP_KIND_SOFTWARE ? 5e9 : 1e12;
}

// The compute family with the most queues, one without graphics first: it leaves the desktop alone.
// Copies get a family of their own where there is one that does nothing else.
static bool find_families(vulkan_physical *physical)
{
    VkQueueFamilyProperties families[16];
    uint32_t count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(physical->handle, &count, families);
    int best = -1;
    for (uint32_t i = 0; i < count; i++) {
        VkQueueFlags flags = families[i].queueFlags;
        int score = flags & VK_QUEUE_GRAPHICS_BIT ? 1 : 2;
        if (!(flags & VK_QUEUE_COMPUTE_BIT) || families[i].queueCount == 0 || score <= best)
            continue;
        best = score;
        physical->compute_family = i;
        physical->compute_queue_count = families[i].queueCount;
    }
    for (uint32_t i = 0; i < count; i++) {
        VkQueueFlags flags = families[i].queueFlags;
        if ((flags & VK_QUEUE_TRANSFER_BIT) && families[i].queueCount > 0 &&
            !(flags & (VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT))) {
            physical->copy_family = i;
            physical->copy_queue_count = families[i].queueCount;
            break;
        }
    }
    if (physical->compute_queue_count > VULKAN_MAX_QUEUES)
        physical->compute_queue_count = VULKAN_MAX_QUEUES;
    if (physical->copy_queue_count > 1)
        physical->copy_queue_count = 1;
    return best > 0;
}

static void add_physical(tnp_instance *instance, VkPhysicalDevice handle)
{
    vulkan_physical *physical = &instance->physicals[instance->physical_count];
    VkPhysicalDeviceProperties properties;
    const char *reason = NULL;
    char line[512];
    memset(physical, 0, sizeof *physical);
    physical->handle = handle;
    vkGetPhysicalDeviceProperties(handle, &properties);
    if (properties.apiVersion < VK_API_VERSION_1_2)
        reason = "its driver knows Vulkan 1.1 at most, 1.2 is wanted";
    if (!reason)
        reason = vulkan_features_read(instance, handle, physical);
    if (!reason && !find_families(physical))
        reason = "it has no queue for compute";
    if (reason) {
        snprintf(line, sizeof line, "%s is not offered: %s", properties.deviceName, reason);
        instance->host->log(instance->host->context, 2, line);
        if (!instance->reason[0])
            snprintf(instance->reason, sizeof instance->reason, "%.250s", line);
        return;
    }
    vkGetPhysicalDeviceMemoryProperties(handle, &physical->memory);
    physical->kind = kind_of(properties.deviceType);
    physical->flops_per_s = flops_of(physical->kind);
    vulkan_options *o = &instance->options;
    physical->features.has_small_storage &= o->small_storage;
    physical->features.has_subgroup_arithmetic &= o->subgroups;
    physical->features.has_host_import &= o->is_import_set ? o->import_host
                                                           : physical->kind != TNP_KIND_SOFTWARE;
    instance->physical_count++;
}

// Fills the list, once: who is there stays there until stop.
static tnp_status list_devices(tnp_instance *instance, tnp_error *err)
{
    VkPhysicalDevice found[VULKAN_MAX_DEVICES];
    uint32_t count = VULKAN_MAX_DEVICES;
    sigset_t before;
    tnh_block_signals(&before);
    VkResult result = vkEnumeratePhysicalDevices(instance->handle, &count, found);
    tnh_restore_signals(&before);
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "device_count: no memory to list devices");
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
        snprintf(instance->reason, sizeof instance->reason, "devices cannot be listed: %s",
                 vulkan_result_name(result));
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++)
        add_physical(instance, found[i]);
    if (instance->physical_count == 0 && !instance->reason[0])
        snprintf(instance->reason, sizeof instance->reason, "no Vulkan device is there");
    instance->is_listed = true;
    return TNP_OK;
}

tnp_status vulkan_device_count(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    tnp_status status = TNP_OK;
    pthread_mutex_lock(&instance->lock);
    if (instance->handle && !instance->is_listed)
        status = list_devices(instance, err);
    if (status == TNP_OK) {
        *count = instance->physical_count;
        if (instance->physical_count == 0)
            tnh_fail(err, TNP_OK, "%s", instance->reason);
    }
    pthread_mutex_unlock(&instance->lock);
    return status;
}

static uint64_t largest_heap(const vulkan_physical *physical)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < physical->memory.memoryHeapCount; i++)
        if ((physical->memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) &&
            physical->memory.memoryHeaps[i].size > most)
            most = physical->memory.memoryHeaps[i].size;
    return most;
}

tnp_status vulkan_device_info(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                              tnp_error *err)
{
    if (index >= instance->physical_count)
        return tnh_fail(err, TNP_E_ARG, "device_info: device %u, there are %u", index,
                        instance->physical_count);
    const vulkan_physical *physical = &instance->physicals[index];
    tnp_device_info own = {
        .size = sizeof own,
        .id = index + 1u,
        .kind = physical->kind,
        .memory_count = vulkan_memory_count(physical),
        .queue_count = physical->compute_queue_count,
        .copy_queue_count = physical->copy_queue_count,
        .update_bytes = VULKAN_MAX_UPDATE_BYTES,
        .memory_bytes = largest_heap(physical),
        .flops_per_s = physical->flops_per_s,
    };
    snprintf(own.name, sizeof own.name, "%.127s", physical->properties.deviceName);
    snprintf(own.driver, sizeof own.driver, "%s", physical->driver);
    snprintf(own.pci, sizeof own.pci, "%s", physical->pci);
    memcpy(own.uuid, physical->uuid, sizeof own.uuid);
    TNP_GIVE(info, &own);
    return TNP_OK;
}
