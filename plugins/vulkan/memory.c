// memory.c: which memories a device has. Their bytes are divided by allocator.c.
#include "memory.h"

#include "allocator.h"

// ---------------------------------------------------------------------------------- memory types

static uint64_t heap_bytes(const vulkan_physical *physical, uint32_t type)
{
    return physical->memory.memoryHeaps[physical->memory.memoryTypes[type].heapIndex].size;
}

// The type with all of `wanted`, in the largest heap; of equal ones the one with most of `liked`,
// then the first. -1: none.
static int find_type(const vulkan_physical *physical, VkMemoryPropertyFlags wanted,
                     VkMemoryPropertyFlags liked)
{
    int best = -1, best_score = -1;
    for (uint32_t i = 0; i < physical->memory.memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = physical->memory.memoryTypes[i].propertyFlags;
        if ((flags & wanted) != wanted)
            continue;
        int score = __builtin_popcount(flags & liked);
        uint64_t bytes = heap_bytes(physical, i);
        uint64_t best_bytes = best < 0 ? 0 : heap_bytes(physical, (uint32_t)best);
        if (bytes > best_bytes || (bytes == best_bytes && score > best_score)) {
            best = (int)i;
            best_score = score;
        }
    }
    return best;
}

static vulkan_memory describe(const vulkan_physical *physical, uint32_t type, bool maps)
{
    VkMemoryPropertyFlags flags = physical->memory.memoryTypes[type].propertyFlags;
    vulkan_memory memory = {
        .type = type,
        .heap = physical->memory.memoryTypes[type].heapIndex,
        .flags = TNP_MEMORY_ALLOC | TNP_MEMORY_BIND,
        // What is no device's own lies in the host's RAM, and so does all of an integrated one.
        .pool = physical->kind == TNP_KIND_GPU ? 0 : 1,
    };
    if (maps && (flags & VULKAN_VISIBLE) == VULKAN_VISIBLE) {
        memory.flags |= TNP_MEMORY_HOST_VISIBLE;
        if (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT)
            memory.flags |= TNP_MEMORY_HOST_CACHED;
    }
    if (physical->features.has_host_import && memory.pool == 1)
        memory.flags |= TNP_MEMORY_IMPORT;
    return memory;
}

// The host's own RAM, which the kernels of a device with memory of its own can read by the bus.
static vulkan_memory describe_host(const vulkan_physical *physical, uint32_t type)
{
    vulkan_memory memory = describe(physical, type, true);
    memory.pool = 1;
    if (physical->features.has_host_import)
        memory.flags |= TNP_MEMORY_IMPORT;
    return memory;
}

uint32_t vulkan_memory_count(const vulkan_physical *physical)
{
    return physical->kind == TNP_KIND_GPU ? 2 : 1;
}

uint64_t vulkan_alignment(const tnp_device *device)
{
    uint64_t wanted = device->physical.features.storage_alignment;
    return wanted > 64 ? wanted : 64;
}

// -------------------------------------------------------------------------------------- the device

tnp_status vulkan_memory_open(tnp_device *device, tnp_error *err)
{
    const vulkan_physical *physical = &device->physical;
    int local = find_type(physical, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                          VULKAN_VISIBLE | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    int host = find_type(physical, VULKAN_VISIBLE, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    if (local < 0)
        local = host;
    if (local < 0 || host < 0)
        return tnh_fail(err, TNP_E_INTERNAL, "open: the driver has no memory that can be used");
    tnp_status status = vulkan_allocator_open(device, err);
    if (status != TNP_OK)
        return status;
    device->host_type = (uint32_t)host;
    device->memories[0] = describe(physical, (uint32_t)local, device->instance->options.map);
    device->memory_count = vulkan_memory_count(physical);
    if (device->memory_count > 1)
        device->memories[1] = describe_host(physical, (uint32_t)host);
    return TNP_OK;
}

tnp_status vulkan_memory_info(tnp_device *device, uint32_t index, tnp_memory_info *info,
                              tnp_error *err)
{
    if (index >= device->memory_count)
        return tnh_fail(err, TNP_E_ARG, "memory_info: memory %u, the device has %u", index,
                        device->memory_count);
    const vulkan_features *has = &device->physical.features;
    const vulkan_memory *memory = &device->memories[index];
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT
    };
    VkPhysicalDeviceMemoryProperties2 all = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
        .pNext = has->has_memory_budget ? &budget : NULL,
    };
    tnp_memory_info own = {
        .size = sizeof own,
        .flags = memory->flags,
        .pool = memory->pool,
        .alignment_bytes = vulkan_alignment(device),
        .import_alignment_bytes = memory->flags & TNP_MEMORY_IMPORT ? has->import_alignment : 0,
        .total_bytes = device->physical.memory.memoryHeaps[memory->heap].size,
    };
    vkGetPhysicalDeviceMemoryProperties2(device->physical.handle, &all);
    uint64_t used = vulkan_used_bytes(device, memory->heap), most = own.total_bytes;
    if (has->has_memory_budget) {   // counts what other processes have
        most = budget.heapBudget[memory->heap];
        used = budget.heapUsage[memory->heap];
    }
    own.free_bytes = most > used ? most - used : 0;
    own.max_buffer_bytes = has->max_allocation_bytes < own.total_bytes ? has->max_allocation_bytes
                                                                       : own.total_bytes;
    own.max_binding_bytes = own.max_buffer_bytes;   // ops take what is above a descriptor in ranges
    TNP_GIVE(info, &own);
    return TNP_OK;
}
