// staging.h: memory that host and device see, for what the host cannot write or read directly.
#ifndef VULKAN_STAGING_H
#define VULKAN_STAGING_H

#include "vulkan.h"

tnp_status vulkan_staging_open(tnp_device *device, vulkan_queue *queue, tnp_error *err);
void vulkan_staging_close(tnp_device *device, vulkan_queue *queue);

// Between the two, with the staging's lock held: commands that are submitted and waited for.
tnp_status vulkan_staging_begin(tnp_device *device, vulkan_queue *queue, tnp_error *err);
tnp_status vulkan_staging_run(tnp_device *device, vulkan_queue *queue, tnp_error *err);

// What was written before is seen by what follows: by the host too.
void vulkan_barrier(tnp_device *device, const vulkan_queue *queue, VkCommandBuffer commands);

// copy.c
tnp_status vulkan_copy(const tnp_queue *queue, const tnp_copy *copies, uint32_t count,
                       tnp_error *err);

#endif
