// pipelines.h: the pipelines of a device. One is made for each kernel and set of specialization
// constants, when a program first needs it, and kept until the device is closed. The driver's
// compiled code is kept on disk by the host (tnp_host.cache_put) and checked before it is used.
#ifndef VULKAN_PIPELINES_H
#define VULKAN_PIPELINES_H

#include "dispatch.h"

tnp_status vulkan_pipelines_open(tnp_device *device, tnp_error *err);
void vulkan_pipelines_close(tnp_device *device);
void vulkan_pipelines_keep(tnp_device *device);   // stores what is new, for the next process

// The pipeline for a dispatch; the same for the same constants.
tnp_status vulkan_pipeline_of(tnp_device *device, const vulkan_dispatch *dispatch, VkPipeline *out,
                              tnp_error *err);
VkPipelineLayout vulkan_pipeline_layout(const tnp_device *device);
VkDescriptorSetLayout vulkan_set_layout(const tnp_device *device);

#endif
