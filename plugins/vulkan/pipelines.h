// pipelines.h: the pipelines of a device. One is made for each kernel and set of specialization
// constants, when a program first needs it, and kept until the device is closed. The driver's
// compiled code is kept on disk by the host (tnp_host.cache_put) and checked before it is used.
#ifndef VULKAN_PIPELINES_H
#define VULKAN_PIPELINES_H

#include "dispatch.h"

tnp_status vulkan_pipelines_open(tnp_device *device, tnp_error *err);
void vulkan_pipelines_close(tnp_device *device);
void vulkan_pipelines_keep(tnp_device *device);   // stores what is new, for the next process

// The pipelines that dispatches of a program need are wanted first, then made all together, by the
// threads of the host's team.
tnp_status vulkan_pipelines_want(tnp_device *device, const vulkan_dispatch *dispatch,
                                 tnp_error *err);
tnp_status vulkan_pipelines_make(tnp_device *device, tnp_error *err);
VkPipeline vulkan_pipeline_of(tnp_device *device, const vulkan_dispatch *dispatch);

uint32_t vulkan_pipelines_count(const tnp_device *device);
VkPipelineLayout vulkan_pipeline_layout(const tnp_device *device);
VkDescriptorSetLayout vulkan_set_layout(const tnp_device *device);

#endif
