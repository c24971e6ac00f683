// record.c: records dispatches into command buffers, with a barrier only where bytes are touched
// that were written, or written that were touched, since the last one.
//
// A barrier orders all before it with all after it, so what is remembered begins anew with each.
// Ranges are those of the descriptors. A new command buffer, which is submitted by itself, begins
// where the open one would take longer than a desktop lets a device be busy.
#include "emitter.h"

#include "cost.h"
#include "staging.h"

// Seconds; 0 = no limit.
static double longest(const tnp_device *device)
{
    const vulkan_options *options = &device->instance->options;
    // No watchdog looks at the host's own cores.
    if (device->physical.kind == TNP_KIND_SOFTWARE && !options->is_longest_set)
        return 0;
    return (double)options->longest_submit_ns * 1e-9;
}

static bool check(vulkan_emitter *to, VkResult result, const char *what)
{
    if (result != VK_SUCCESS && to->status == TNP_OK)
        to->status = vulkan_error(to->program->device, to->err, result, what);
    return to->status == TNP_OK;
}

// --------------------------------------------------------------------------------- command buffers

static void open_commands(vulkan_emitter *to)
{
    tnp_device *device = to->program->device;
    tnp_bound *bound = to->bound;
    if ((bound->command_count & (bound->command_count - 1)) == 0) {   // full: twice as many
        uint32_t room = bound->command_count ? 2 * bound->command_count : 1;
        VkCommandBuffer *more = vulkan_alloc(device->instance, room * sizeof *more);
        if (!more) {
            to->status = tnh_fail(to->err, TNP_E_HOST_MEMORY, "bind: no memory for %u parts", room);
            return;
        }
        if (bound->command_count)
            memcpy(more, bound->commands, bound->command_count * sizeof *more);
        vulkan_free(device->instance, bound->commands);
        bound->commands = more;
    }
    const VkCommandBufferAllocateInfo how = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = bound->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    const VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    if (!check(to, device->vk.vkAllocateCommandBuffers(device->handle, &how, &to->commands),
               "bind: vkAllocateCommandBuffers"))
        return;
    bound->commands[bound->command_count++] = to->commands;
    if (!check(to, device->vk.vkBeginCommandBuffer(to->commands, &begin),
               "bind: vkBeginCommandBuffer"))
        return;
    vulkan_barrier(device, &device->compute[0], to->commands);
    to->seconds = 0;
    to->hazard_count = 0;
}

static void close_commands(vulkan_emitter *to)
{
    tnp_device *device = to->program->device;
    vulkan_barrier(device, &device->compute[0], to->commands);
    (void)check(to, device->vk.vkEndCommandBuffer(to->commands), "bind: vkEndCommandBuffer");
    to->commands = NULL;
}

tnp_status vulkan_record_begin(vulkan_emitter *to)
{
    open_commands(to);
    if (to->status == TNP_OK && to->bound->times)
        to->program->device->vk.vkCmdResetQueryPool(to->commands, to->bound->times, 0,
                                                    2 * to->program->step_count);
    return to->status;
}

tnp_status vulkan_record_end(vulkan_emitter *to)
{
    close_commands(to);
    return to->status;
}

void vulkan_record_time(vulkan_emitter *to, bool is_end)
{
    if (to->status == TNP_OK && to->bound && to->bound->times)
        to->program->device->vk.vkCmdWriteTimestamp(to->commands,
                                                    VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                                    to->bound->times, 2 * to->step_index + is_end);
}

// ----------------------------------------------------------------------------------------- hazards

static bool do_touch(const vulkan_range *a, const vulkan_range *b)
{
    return a->buffer == b->buffer && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

static bool needs_barrier(const vulkan_emitter *to, const vulkan_dispatch *d)
{
    if (to->hazard_count + d->operand_count > VULKAN_MAX_HAZARDS)
        return true;
    for (uint32_t i = 0; i < d->operand_count; i++)
        for (uint32_t j = 0; j < to->hazard_count; j++)
            if ((d->operands[i].is_written || to->hazards[j].is_written) &&
                do_touch(&d->operands[i], &to->hazards[j]))
                return true;
    return false;
}

static void barrier(vulkan_emitter *to)
{
    const VkMemoryBarrier what = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
    };
    to->program->device->vk.vkCmdPipelineBarrier(to->commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                                 VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &what,
                                                 0, NULL, 0, NULL);
    to->barrier_count++;
    to->hazard_count = 0;
}

static void order(vulkan_emitter *to, const vulkan_dispatch *d)
{
    if (needs_barrier(to, d))
        barrier(to);
    for (uint32_t i = 0; i < d->operand_count; i++)
        if (!d->operands[i].is_constant)
            to->hazards[to->hazard_count++] = d->operands[i];
}

// -------------------------------------------------------------------------------------- dispatches

// The word that tells that data did not fit: one for each dispatch, at binding 7, also where a
// kernel that can check does not: two that had one in common would have to wait for each other.
static vulkan_range own_word(vulkan_emitter *to, const vulkan_dispatch *d)
{
    tnp_bound *bound = to->bound;
    const uint32_t word = to->dispatch_count;
    if (d->checks_data)
        bound->checks[bound->check_count++] = (vulkan_check){ to->step_index, word };
    return (vulkan_range){ .buffer = bound->words.buffer,
                           .offset = bound->words.offset + word * bound->word_stride,
                           .bytes = 4,
                           .is_written = true };
}

static bool make_set(vulkan_emitter *to, const vulkan_dispatch *d, VkDescriptorSet *set)
{
    tnp_device *device = to->program->device;
    const VkDescriptorSetLayout layout = vulkan_set_layout(device);
    const VkDescriptorSetAllocateInfo how = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = to->bound->descriptors,
        .descriptorSetCount = 1,
        .pSetLayouts = &layout,
    };
    if (!check(to, device->vk.vkAllocateDescriptorSets(device->handle, &how, set),
               "bind: vkAllocateDescriptorSets"))
        return false;
    VkDescriptorBufferInfo ranges[VULKAN_MAX_OPERANDS];
    VkWriteDescriptorSet writes[VULKAN_MAX_OPERANDS];
    const uint32_t count = d->operand_count < VULKAN_MAX_OPERANDS ? d->operand_count + 1
                                                                  : VULKAN_MAX_OPERANDS;
    for (uint32_t i = 0; i < count; i++) {
        const vulkan_range range = i < d->operand_count ? d->operands[i] : own_word(to, d);
        ranges[i] = (VkDescriptorBufferInfo){ range.buffer, range.offset, range.bytes };
        writes[i] = (VkWriteDescriptorSet){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = *set,
            .dstBinding = i < d->operand_count ? i : VULKAN_MAX_OPERANDS - 1,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .pBufferInfo = &ranges[i],
        };
    }
    device->vk.vkUpdateDescriptorSets(device->handle, count, writes, 0, NULL);
    return true;
}

// So many groups at most in one command, by what the device takes and by time; 0 in no dimension.
static void piece_of(const vulkan_emitter *to, const vulkan_dispatch *d, uint32_t piece[3])
{
    const tnp_device *device = to->program->device;
    double over = longest(device) > 0 ? vulkan_longest_s(device, d) / longest(device) : 0;
    for (int i = 2; i >= 0; i--) {
        piece[i] = d->groups[i];
        if (piece[i] > device->physical.features.max_groups[i])
            piece[i] = device->physical.features.max_groups[i];
        if (over > 1 && piece[i] > 1) {
            uint32_t parts = over < piece[i] ? (uint32_t)over + 1 : piece[i];
            piece[i] = (piece[i] + parts - 1) / parts;
            over /= parts;
        }
    }
}

// A dispatch with what the driver made for it.
typedef struct bound_dispatch {
    VkPipeline pipeline;
    VkDescriptorSet set;
    uint32_t piece[3];   // groups of one command
    double seconds;      // of one piece
} bound_dispatch;

static void set_up(vulkan_emitter *to, const vulkan_dispatch *d, const bound_dispatch *b)
{
    tnp_device *device = to->program->device;
    device->vk.vkCmdBindDescriptorSets(to->commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                       vulkan_pipeline_layout(device), 0, 1, &b->set, 0, NULL);
    device->vk.vkCmdBindPipeline(to->commands, VK_PIPELINE_BIND_POINT_COMPUTE, b->pipeline);
    device->vk.vkCmdPushConstants(to->commands, vulkan_pipeline_layout(device),
                                  VK_SHADER_STAGE_COMPUTE_BIT, 0, 4 * d->push_count, d->push);
}

// One piece; a new command buffer first, where it would make the open one too long.
static void record_piece(vulkan_emitter *to, const vulkan_dispatch *d, const bound_dispatch *b,
                         const uint32_t at[3], bool is_first)
{
    tnp_device *device = to->program->device;
    bool is_new = false;
    if (longest(device) > 0 && to->seconds > 0 && to->seconds + b->seconds > longest(device)) {
        close_commands(to);
        if (to->status == TNP_OK)
            open_commands(to);
        is_new = true;
    }
    if (to->status != TNP_OK)
        return;
    order(to, d);
    if (is_new || is_first)
        set_up(to, d, b);
    to->seconds += b->seconds;
    uint32_t count[3];
    for (int i = 0; i < 3; i++)
        count[i] = d->groups[i] - at[i] < b->piece[i] ? d->groups[i] - at[i] : b->piece[i];
    if (at[0] == 0 && at[1] == 0 && at[2] == 0)   // which the validation layers look into
        device->vk.vkCmdDispatch(to->commands, count[0], count[1], count[2]);
    else
        device->vk.vkCmdDispatchBase(to->commands, at[0], at[1], at[2], count[0], count[1],
                                     count[2]);
}

void vulkan_record(vulkan_emitter *to, const vulkan_dispatch *d)
{
    bound_dispatch b;
    uint32_t at[3];
    b.pipeline = vulkan_pipeline_of(to->program->device, d);
    if (!b.pipeline) {   // dropped with those of a compile at the same time that failed
        to->status = vulkan_pipelines_want(to->program->device, d, to->err);
        if (to->status == TNP_OK)
            to->status = vulkan_pipelines_make(to->program->device, to->err);
        b.pipeline = vulkan_pipeline_of(to->program->device, d);
    }
    if (!b.pipeline && to->status == TNP_OK)
        to->status = tnh_fail(to->err, TNP_E_INTERNAL, "bind: '%s' has a pipeline not compiled",
                              to->step->unit.nodes[0].name);
    if (to->status != TNP_OK || !make_set(to, d, &b.set))
        return;
    piece_of(to, d, b.piece);
    b.seconds = vulkan_longest_s(to->program->device, d);
    for (int i = 0; i < 3; i++)
        b.seconds *= (double)b.piece[i] / d->groups[i];
    bool is_first = true;
    for (at[2] = 0; at[2] < d->groups[2]; at[2] += b.piece[2])
        for (at[1] = 0; at[1] < d->groups[1]; at[1] += b.piece[1])
            for (at[0] = 0; at[0] < d->groups[0]; at[0] += b.piece[0]) {
                record_piece(to, d, &b, at, is_first);
                is_first = false;
            }
}
