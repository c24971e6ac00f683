// staging.c: one staging buffer, and one command buffer that copies, for each queue of the driver.
#include "staging.h"

#include "allocator.h"

tnp_status vulkan_staging_open(tnp_device *device, vulkan_queue *queue, tnp_error *err)
{
    vulkan_staging *staging = &queue->staging;
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT |
                 VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = queue->family,
    };
    if (pthread_mutex_init(&staging->lock, NULL) != 0)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "open: no lock can be made");
    VkResult result = device->vk.vkCreateCommandPool(device->handle, &pool, NULL, &staging->pool);
    if (result != VK_SUCCESS) {
        staging->pool = VK_NULL_HANDLE;
        return vulkan_error(device, err, result, "open: vkCreateCommandPool");
    }
    const VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = staging->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    result = device->vk.vkAllocateCommandBuffers(device->handle, &commands, &staging->commands);
    if (result != VK_SUCCESS)
        return vulkan_error(device, err, result, "open: vkAllocateCommandBuffers");
    return vulkan_allocate(device, device->host_type, VULKAN_STAGING_BYTES, &staging->place, err);
}

void vulkan_staging_close(tnp_device *device, vulkan_queue *queue)
{
    vulkan_staging *staging = &queue->staging;
    if (staging->place.block)
        vulkan_release(device, &staging->place, false);
    device->vk.vkDestroyCommandPool(device->handle, staging->pool, NULL);
    pthread_mutex_destroy(&staging->lock);
}

void vulkan_barrier(tnp_device *device, const vulkan_queue *queue, VkCommandBuffer commands)
{
    const bool computes = queue->family == device->physical.compute_family;
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_TRANSFER_BIT |
                                        VK_PIPELINE_STAGE_HOST_BIT |
                                        (computes ? (VkPipelineStageFlags)
                                                        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
                                                  : 0);
    const VkAccessFlags shader_reads = computes ? VK_ACCESS_SHADER_READ_BIT : 0;
    const VkAccessFlags shader_writes = computes ? VK_ACCESS_SHADER_WRITE_BIT : 0;
    const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = shader_writes | VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_WRITE_BIT,
        .dstAccessMask = shader_reads | shader_writes | VK_ACCESS_TRANSFER_READ_BIT |
                         VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT,
    };
    device->vk.vkCmdPipelineBarrier(commands, stages, stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

tnp_status vulkan_staging_begin(tnp_device *device, vulkan_queue *queue, tnp_error *err)
{
    const VkCommandBufferBeginInfo once = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    VkResult result = device->vk.vkBeginCommandBuffer(queue->staging.commands, &once);
    if (result != VK_SUCCESS)
        return vulkan_error(device, err, result, "copy: vkBeginCommandBuffer");
    vulkan_barrier(device, queue, queue->staging.commands);
    return TNP_OK;
}

tnp_status vulkan_staging_run(tnp_device *device, vulkan_queue *queue, tnp_error *err)
{
    vulkan_barrier(device, queue, queue->staging.commands);
    VkResult result = device->vk.vkEndCommandBuffer(queue->staging.commands);
    if (result != VK_SUCCESS)
        return vulkan_error(device, err, result, "copy: vkEndCommandBuffer");
    const vulkan_batch batch = { 1, &queue->staging.commands };
    return vulkan_submit_and_wait(device, queue, &batch, NULL, 0, err);
}
