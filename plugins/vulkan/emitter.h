// emitter.h: takes the dispatches of units: counts them and makes their pipelines (compile), or
// records them (bind).
#ifndef VULKAN_EMITTER_H
#define VULKAN_EMITTER_H

#include "program.h"

// Descriptor ranges that were looked at since the last barrier.
#define VULKAN_MAX_HAZARDS 256u

struct vulkan_emitter {
    tnp_program *program;
    tnp_bound *bound;   // NULL: only counted
    const vulkan_step *step;
    uint32_t step_index;
    tnp_status status;   // the first failure; the rest is dropped
    tnp_error *err;
    uint32_t dispatch_count, check_count, barrier_count;
    // recording
    VkCommandBuffer commands;
    double seconds;   // what the open command buffer is expected to take
    uint32_t hazard_count;
    vulkan_range hazards[VULKAN_MAX_HAZARDS];
};

// record.c
tnp_status vulkan_record_begin(vulkan_emitter *to);
tnp_status vulkan_record_end(vulkan_emitter *to);
void vulkan_record(vulkan_emitter *to, const vulkan_dispatch *dispatch);
void vulkan_record_time(vulkan_emitter *to, bool is_end);   // of the step, where it is traced

#endif
