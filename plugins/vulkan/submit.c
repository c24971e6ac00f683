// submit.c: hands command buffers to a queue of the driver and waits for their end.
#include "vulkan.h"

// How long a wait lasts before it looks whether the device was given up, and how often it then
// waits on for work that is about to end, before it counts as hung.
#define LOOK_NS  20000000u
#define PATIENCE 50u

static tnp_status submit(tnp_device *device, vulkan_queue *queue, const VkCommandBuffer *commands,
                         uint32_t count, uint64_t *value, tnp_error *err)
{
    pthread_mutex_lock(&queue->lock);
    *value = queue->submitted + 1;
    const VkTimelineSemaphoreSubmitInfo timeline = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = value,
    };
    const VkSubmitInfo what = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .pNext = &timeline,
        .commandBufferCount = count,
        .pCommandBuffers = commands,
        .signalSemaphoreCount = 1,
        .pSignalSemaphores = &queue->timeline,
    };
    VkResult result = device->vk.vkQueueSubmit(queue->handle, 1, &what, VK_NULL_HANDLE);
    if (result == VK_SUCCESS)
        queue->submitted = *value;
    pthread_mutex_unlock(&queue->lock);
    return result == VK_SUCCESS ? TNP_OK : vulkan_error(device, err, result, "vkQueueSubmit");
}

// A wait that fails says nothing of the work, which may still run: it is tried again as one is that
// ends too early.
static tnp_status wait_for(tnp_device *device, vulkan_queue *queue, uint64_t value, tnp_error *err)
{
    const VkSemaphoreWaitInfo what = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = 1,
        .pSemaphores = &queue->timeline,
        .pValues = &value,
    };
    const struct timespec pause = { .tv_nsec = LOOK_NS };
    bool is_lost = false;
    for (uint32_t in_vain = 0;;) {
        VkResult result = device->vk.vkWaitSemaphores(device->handle, &what, LOOK_NS);
        if (result == VK_SUCCESS)
            return is_lost ? tnh_fail_lost(err) : TNP_OK;
        if (result == VK_ERROR_DEVICE_LOST)
            return vulkan_error(device, err, result, "vkWaitSemaphores");
        is_lost = tnh_is_lost(device) != 0;
        in_vain += is_lost || result != VK_TIMEOUT;
        if (in_vain > PATIENCE) {
            vulkan_mark_hung(device);
            return is_lost ? tnh_fail_lost(err)
                           : vulkan_error(device, err, VK_ERROR_DEVICE_LOST, "vkWaitSemaphores");
        }
        if (result != VK_TIMEOUT)
            nanosleep(&pause, NULL);
    }
}

tnp_status vulkan_submit_and_wait(tnp_device *device, vulkan_queue *queue,
                                  const vulkan_batch *first, const VkCommandBuffer *others,
                                  uint32_t other_count, tnp_error *err)
{
    uint64_t value = 0, done = 0;
    tnp_error unused = tnh_error();
    tnp_status status = submit(device, queue, first->commands, first->count, &value, err);
    for (uint32_t i = 0; i < other_count && status == TNP_OK; i++) {
        done = value;
        status = submit(device, queue, &others[i], 1, &value, err);
    }
    if (status == TNP_OK)
        return wait_for(device, queue, value, err);
    // What was submitted before the failure ends before its bytes are anybody else's.
    if (done > 0 && status != TNP_E_DEVICE_LOST)
        (void)wait_for(device, queue, done, &unused);
    return status;
}
