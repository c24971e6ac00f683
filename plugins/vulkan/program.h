// program.h: compiled slices and their bindings.
//
//   program   the units and their pipelines, without addresses
//   bound     command buffers, recorded once; a run submits them
#ifndef VULKAN_PROGRAM_H
#define VULKAN_PROGRAM_H

#include "op.h"
#include "pipelines.h"

typedef struct vulkan_storage {
    uint64_t bytes;
    bool is_needed;   // some unit looks at it, so it must be bound
    bool is_written;
} vulkan_storage;

typedef struct vulkan_step {
    vulkan_unit unit;   // of the names only the first node's is kept, a copy
    uint32_t index;     // among the units given to compile
    uint64_t scratch_bytes;
} vulkan_step;

struct tnp_program {
    tnp_device *device;
    uint32_t unit_count, step_count, storage_count;
    vulkan_storage *storages;   // indexed as in the slice
    tnh_value *lengths;         // by value of the slice: those that are extents, else dtype 0
    vulkan_step *steps;         // units of which somebody sees the result
    // What bind needs: sums over all steps.
    uint32_t dispatch_count, check_count;
};

typedef struct vulkan_binding {
    tnp_buffer *buffer;   // NULL: not bound
    uint64_t offset;
} vulkan_binding;

// A dispatch that checks its data: its step and its word.
typedef struct vulkan_check {
    uint32_t step, word;
} vulkan_check;

struct tnp_bound {
    tnp_device *device;
    tnp_program *program;
    bool is_traced;
    vulkan_binding *storages;   // by storage
    vulkan_binding *scratch;    // by step
    VkCommandPool pool;
    VkDescriptorPool descriptors;
    VkCommandBuffer *commands;   // one for each part that is submitted by itself
    uint32_t command_count;
    vulkan_place words;   // host-visible: one for each dispatch
    uint64_t word_stride;
    uint32_t check_count;
    vulkan_check *checks;   // of the dispatches that check their data
    VkQueryPool times;      // NULL: not traced; two for each step
};

// bind.c: whether an update has a place. run.c: one run.
int vulkan_bound_has(const tnp_bound *bound, uint32_t storage, uint64_t offset, uint64_t bytes);
tnp_status vulkan_run(const tnp_bound *bound, const tnp_update *updates, uint32_t update_count,
                      const tnp_queue *queue, uint64_t run, tnp_error *err);

// emitter.c: gives each step its dispatches: with `bound` recorded into command buffers, without it
// (NULL) counted, and their pipelines made.
tnp_status vulkan_emit_program(tnp_program *program, tnp_bound *bound, tnp_error *err);

#endif
