// run.c: one run of what is bound: updates, the command buffers, what they say of the data.
#include "program.h"
#include "staging.h"

// Puts the updates where the host sees them; the others become commands that are recorded, in
// front of the bound's.
static tnp_status put_updates(const tnp_bound *bound, vulkan_queue *queue,
                              const tnp_update *updates, uint32_t count, bool *has_commands,
                              tnp_error *err)
{
    tnp_device *device = bound->device;
    uint64_t staged = 0;
    tnp_status status = TNP_OK;
    *has_commands = false;
    for (uint32_t i = 0; i < count && status == TNP_OK; i++) {
        const vulkan_binding *at = &bound->storages[updates[i].storage];
        const vulkan_place *place = &at->buffer->place;
        uint64_t offset = at->offset + updates[i].offset;
        if (updates[i].bytes == 0)
            continue;
        if (place->mapped) {
            memcpy(place->mapped + offset, updates[i].data, updates[i].bytes);
            continue;
        }
        if (!*has_commands)
            status = vulkan_staging_begin(device, queue, err);
        if (status != TNP_OK)
            return status;
        *has_commands = true;
        const vulkan_place *staging = &queue->staging.place;
        const VkBufferCopy region = { staging->offset + staged, place->offset + offset,
                                      updates[i].bytes };
        memcpy(staging->mapped + staged, updates[i].data, updates[i].bytes);
        device->vk.vkCmdCopyBuffer(queue->staging.commands, staging->buffer, place->buffer, 1,
                                   &region);
        staged += updates[i].bytes;   // all updates of a submit are VULKAN_MAX_UPDATE_BYTES at most
    }
    return status;
}

static tnp_status submit_all(const tnp_bound *bound, vulkan_queue *queue, bool has_updates,
                             tnp_error *err)
{
    tnp_device *device = bound->device;
    const VkCommandBuffer first[2] = { queue->staging.commands, bound->commands[0] };
    if (has_updates) {
        vulkan_barrier(device, queue, queue->staging.commands);
        VkResult result = device->vk.vkEndCommandBuffer(queue->staging.commands);
        if (result != VK_SUCCESS)
            return vulkan_error(device, err, result, "submit: vkEndCommandBuffer");
    }
    const vulkan_batch begin = { has_updates ? 2 : 1, has_updates ? first : first + 1 };
    return vulkan_submit_and_wait(device, queue, &begin, bound->commands + 1,
                                  bound->command_count - 1, err);
}

static char *word_of(const tnp_bound *bound, const vulkan_check *check)
{
    return bound->words.mapped + check->word * bound->word_stride;
}

static tnp_status look_at_checks(const tnp_bound *bound, tnp_error *err)
{
    for (uint32_t i = 0; i < bound->check_count; i++) {
        uint32_t word;
        memcpy(&word, word_of(bound, &bound->checks[i]), sizeof word);
        if (word == 0)
            continue;
        const tnh_node *node = &bound->program->steps[bound->checks[i].step].unit.nodes[0];
        return tnh_fail(err, TNP_E_DATA, "'%s' (%s): an index is outside its table", node->name,
                        node->rule.name);
    }
    return TNP_OK;
}

// The device's clock is put beside the host's by the end of the run, which both have seen.
static void report_spans(const tnp_bound *bound, const tnp_queue *queue, uint64_t run,
                         uint64_t begin_ns)
{
    tnp_device *device = bound->device;
    const tnp_host *host = device->instance->host;
    const uint64_t end_ns = host->now_ns(host->context);
    const double period = device->physical.properties.limits.timestampPeriod;
    const uint32_t steps = bound->program->step_count;
    uint64_t last = 0;
    if (device->vk.vkGetQueryPoolResults(device->handle, bound->times, 2 * steps - 1, 1,
                                         sizeof last, &last, sizeof last,
                                         VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
        return;
    for (uint32_t i = 0; i < steps; i++) {
        uint64_t times[2];
        if (device->vk.vkGetQueryPoolResults(device->handle, bound->times, 2 * i, 2, sizeof times,
                                             times, sizeof *times,
                                             VK_QUERY_RESULT_64_BIT) != VK_SUCCESS)
            continue;
        uint64_t on_host[2];
        for (int k = 0; k < 2; k++) {
            double before = times[k] < last ? (double)(last - times[k]) * period : 0;
            on_host[k] = before < (double)(end_ns - begin_ns) ? end_ns - (uint64_t)before
                                                              : begin_ns;
        }
        const tnp_span span = { .size = sizeof span,
                                .unit = bound->program->steps[i].index,
                                .run = run,
                                .begin_ns = on_host[0],
                                .end_ns = on_host[1] };
        host->trace(host->context, queue, &span);
    }
}

tnp_status vulkan_run(const tnp_bound *bound, const tnp_update *updates, uint32_t update_count,
                      const tnp_queue *handle, uint64_t run, tnp_error *err)
{
    tnp_device *device = bound->device;
    const tnp_host *host = device->instance->host;
    vulkan_queue *queue = vulkan_queue_of(handle);
    const uint64_t begin_ns = bound->times ? host->now_ns(host->context) : 0;
    bool has_updates;
    for (uint32_t i = 0; i < bound->check_count; i++)
        memset(word_of(bound, &bound->checks[i]), 0, sizeof(uint32_t));
    pthread_mutex_lock(&queue->staging.lock);
    tnp_status status = put_updates(bound, queue, updates, update_count, &has_updates, err);
    if (status == TNP_OK)
        status = submit_all(bound, queue, has_updates, err);
    pthread_mutex_unlock(&queue->staging.lock);
    if (status == TNP_OK && bound->times)
        report_spans(bound, handle, run, begin_ns);
    if (status == TNP_OK)
        status = vulkan_told(device->instance, err);
    return status == TNP_OK ? look_at_checks(bound, err) : status;
}
