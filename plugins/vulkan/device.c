// device.c: opens a physical device: its queues, its memory, its pipelines.
#include "vulkan.h"

#include "allocator.h"
#include "memory.h"
#include "pipelines.h"
#include "program.h"
#include "staging.h"

static const tnh_calls calls = { vulkan_bound_has, vulkan_copy, vulkan_run };

// ----------------------------------------------------------------------------------------- queues

static void close_queue(tnp_device *device, vulkan_queue *queue)
{
    vulkan_staging_close(device, queue);
    device->vk.vkDestroySemaphore(device->handle, queue->timeline, NULL);
    pthread_mutex_destroy(&queue->lock);
}

static tnp_status open_queue(tnp_device *device, uint32_t family, uint32_t index,
                             vulkan_queue *queue, tnp_error *err)
{
    const VkSemaphoreTypeCreateInfo timeline = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
    };
    const VkSemaphoreCreateInfo how = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &timeline };
    if (pthread_mutex_init(&queue->lock, NULL) != 0)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "open: no lock can be made");
    VkResult result = device->vk.vkCreateSemaphore(device->handle, &how, NULL, &queue->timeline);
    if (result != VK_SUCCESS) {
        pthread_mutex_destroy(&queue->lock);
        queue->timeline = VK_NULL_HANDLE;
        return vulkan_error(device, err, result, "open: vkCreateSemaphore");
    }
    queue->family = family;
    device->vk.vkGetDeviceQueue(device->handle, family, index, &queue->handle);
    tnp_status status = vulkan_staging_open(device, queue, err);
    if (status != TNP_OK)
        close_queue(device, queue);
    return status;
}

static tnp_status open_queues(tnp_device *device, tnp_error *err)
{
    const vulkan_physical *physical = &device->physical;
    tnp_status status = TNP_OK;
    for (uint32_t i = 0; i < physical->compute_queue_count && status == TNP_OK; i++) {
        status = open_queue(device, physical->compute_family, i, &device->compute[i], err);
        device->compute_count += status == TNP_OK;
    }
    for (uint32_t i = 0; i < physical->copy_queue_count && status == TNP_OK; i++) {
        status = open_queue(device, physical->copy_family, i, &device->copy[i], err);
        device->copy_count += status == TNP_OK;
    }
    return status;
}

static void close_queues(tnp_device *device)
{
    for (uint32_t i = 0; i < device->compute_count; i++)
        close_queue(device, &device->compute[i]);
    for (uint32_t i = 0; i < device->copy_count; i++)
        close_queue(device, &device->copy[i]);
}

vulkan_queue *vulkan_queue_of(const tnp_queue *queue)
{
    tnp_device *device = (tnp_device *)queue->device;
    return queue->limits.kind == TNP_QUEUE_COPY && device->copy_count > 0
               ? &device->copy[queue->index % device->copy_count]
               : &device->compute[queue->index % device->compute_count];
}

// ----------------------------------------------------------------------------------------- device

static VkResult create(tnp_device *device)
{
    const vulkan_physical *physical = &device->physical;
    const vulkan_features *has = &physical->features;
    const float priorities[VULKAN_MAX_QUEUES] = { 1, 1, 1, 1 };
    const char *extensions[2];
    uint32_t extension_count = 0, queue_count = 1;
    VkDeviceQueueCreateInfo queues[2] = {
        { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
          .queueFamilyIndex = physical->compute_family,
          .queueCount = physical->compute_queue_count,
          .pQueuePriorities = priorities },
        { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
          .queueFamilyIndex = physical->copy_family,
          .queueCount = physical->copy_queue_count,
          .pQueuePriorities = priorities },
    };
    VkPhysicalDeviceVulkan12Features v12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .timelineSemaphore = VK_TRUE,
        .storageBuffer8BitAccess = has->has_small_storage,
        .shaderInt8 = has->has_small_storage,
    };
    VkPhysicalDeviceVulkan11Features v11 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
        .pNext = &v12,
        .storageBuffer16BitAccess = has->has_small_storage,
    };
    const VkPhysicalDeviceFeatures2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &v11,
        .features = { .robustBufferAccess = VK_TRUE,   // every device has it: no kernel leaves its
                                                       // bindings, whatever the bytes of values are
                      .shaderInt16 = has->has_small_storage },
    };
    if (physical->copy_queue_count > 0)
        queue_count = 2;
    if (has->has_memory_budget)
        extensions[extension_count++] = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
    if (has->has_host_import)
        extensions[extension_count++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    const VkDeviceCreateInfo how = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &features,
        .queueCreateInfoCount = queue_count,
        .pQueueCreateInfos = queues,
        .enabledExtensionCount = extension_count,
        .ppEnabledExtensionNames = extensions,
    };
    sigset_t before;
    tnh_block_signals(&before);   // for the driver's threads
    VkResult result = vkCreateDevice(physical->handle, &how, NULL, &device->handle);
    tnh_restore_signals(&before);
    if (result == VK_SUCCESS)
        volkLoadDeviceTable(&device->vk, device->handle);
    else
        device->handle = NULL;
    return result;
}

bool vulkan_must_leak(tnp_device *device)
{
    pthread_mutex_lock(&device->queues.lock);
    bool must = device->is_hung;
    pthread_mutex_unlock(&device->queues.lock);
    return must;
}

void vulkan_mark_hung(tnp_device *device)
{
    pthread_mutex_lock(&device->queues.lock);
    device->is_hung = true;
    pthread_mutex_unlock(&device->queues.lock);
}

// What open has made so far, or all of it. Nothing of a device on which work hangs is given back.
static void teardown(tnp_device *device)
{
    tnp_instance *instance = device->instance;
    if (device->handle && vulkan_must_leak(device)) {
        pthread_mutex_lock(&instance->lock);
        instance->has_leaked = true;
        pthread_mutex_unlock(&instance->lock);
    } else if (device->handle) {
        (void)device->vk.vkDeviceWaitIdle(device->handle);   // also what was given up has ended
        vulkan_buffer_free(device->unused);
        vulkan_pipelines_close(device);
        close_queues(device);
        vulkan_allocator_close(device);
        device->vk.vkDestroyDevice(device->handle, NULL);
    }
    tnh_close(device);
    vulkan_free(instance, device);
}

tnp_status vulkan_open(tnp_instance *instance, const tnp_open *from, tnp_device **out,
                       tnp_error *err)
{
    tnp_open what;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return tnh_fail_unknown(err, "open");
    if (what.id < 1 || what.id > instance->physical_count)
        return tnh_fail(err, TNP_E_ARG, "open: no device has the id %llu",
                        (unsigned long long)what.id);
    tnp_device *device = vulkan_alloc(instance, sizeof *device);
    if (!device || !tnh_open(device, instance->host, &calls, VULKAN_MAX_UPDATE_BYTES)) {
        vulkan_free(instance, device);
        return tnh_fail(err, TNP_E_HOST_MEMORY, "open: no memory for a device");
    }
    device->instance = instance;
    device->physical = instance->physicals[what.id - 1];
    VkResult result = create(device);
    tnp_status status = TNP_OK;
    if (result != VK_SUCCESS)
        status = vulkan_error(NULL, err, result, "open: vkCreateDevice");
    if (status == TNP_OK)
        status = vulkan_memory_open(device, err);
    if (status == TNP_OK)
        status = open_queues(device, err);
    if (status == TNP_OK)
        status = vulkan_pipelines_open(device, err);
    const tnp_alloc unused = { .size = sizeof unused, .bytes = 256 };
    if (status == TNP_OK)
        status = vulkan_buffer_alloc(device, &unused, &device->unused, err);
    if (status != TNP_OK) {
        teardown(device);
        return status;
    }
    *out = device;
    return TNP_OK;
}

void vulkan_close(tnp_device *device)
{
    if (device)
        teardown(device);
}
