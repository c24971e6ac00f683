// allocator.c: divides memory of the driver.
//
// A driver allows a few thousand allocations, and each takes microseconds. Small buffers are parts
// of blocks of BLOCK_BYTES, found first fit; one larger than SMALL_BYTES has a block of its own.
//
//   block   | buffer | free | buffer | buffer | free |      parts in order of their offsets
#include "allocator.h"

#include "memory.h"

#define SMALL_BYTES (1u << 20)
#define BLOCK_BYTES (16u << 20)

// A part of a block, free or a buffer's.
typedef struct part {
    struct part *next;
    uint64_t offset, bytes;
    bool is_free;
} part;

struct vulkan_block {
    vulkan_block *next;
    VkDeviceMemory memory;
    VkBuffer buffer;
    uint64_t bytes;
    char *mapped;
    uint32_t type;
    part *parts;   // NULL: one buffer has all of it
};

struct vulkan_allocator {
    pthread_mutex_t lock;
    vulkan_block *blocks;   // those that are divided
    uint64_t used_bytes[VK_MAX_MEMORY_HEAPS];
};

tnp_status vulkan_allocator_open(tnp_device *device, tnp_error *err)
{
    device->allocator = vulkan_alloc(device->instance, sizeof *device->allocator);
    if (device->allocator && pthread_mutex_init(&device->allocator->lock, NULL) == 0)
        return TNP_OK;
    vulkan_free(device->instance, device->allocator);
    device->allocator = NULL;
    return tnh_fail(err, TNP_E_HOST_MEMORY, "open: no memory for an allocator");
}

uint64_t vulkan_used_bytes(tnp_device *device, uint32_t heap)
{
    pthread_mutex_lock(&device->allocator->lock);
    uint64_t used = device->allocator->used_bytes[heap];
    pthread_mutex_unlock(&device->allocator->lock);
    return used;
}

// ------------------------------------------------------------------------------------------ blocks

static void free_block(tnp_device *device, vulkan_block *block)
{
    for (part *p = block->parts, *next; p; p = next) {
        next = p->next;
        vulkan_free(device->instance, p);
    }
    device->vk.vkDestroyBuffer(device->handle, block->buffer, NULL);
    device->vk.vkFreeMemory(device->handle, block->memory, NULL);
    vulkan_free(device->instance, block);
}

static void count_used(tnp_device *device, uint32_t type, uint64_t bytes, bool is_freed)
{
    uint64_t *used = &device->allocator
                          ->used_bytes[device->physical.memory.memoryTypes[type].heapIndex];
    pthread_mutex_lock(&device->allocator->lock);
    *used = is_freed ? *used - bytes : *used + bytes;
    pthread_mutex_unlock(&device->allocator->lock);
}

// A buffer, and memory for it: of the driver, or imported.
//   host   not NULL: the bytes at this address
static VkResult make_block(tnp_device *device, uint32_t type, uint64_t bytes, void *host,
                           vulkan_block *block)
{
    const struct VolkDeviceTable *vk = &device->vk;
    const uint32_t families[2] = { device->physical.compute_family, device->physical.copy_family };
    const bool is_shared = device->copy_count > 0;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
    };
    const VkBufferCreateInfo how = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = host ? &external : NULL,
        .size = bytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        .sharingMode = is_shared ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
        .queueFamilyIndexCount = is_shared ? 2 : 0,
        .pQueueFamilyIndices = families,
    };
    VkResult result = vk->vkCreateBuffer(device->handle, &how, NULL, &block->buffer);
    if (result != VK_SUCCESS) {
        block->buffer = VK_NULL_HANDLE;
        return result;
    }
    VkMemoryRequirements needs;
    vk->vkGetBufferMemoryRequirements(device->handle, block->buffer, &needs);
    if (!(needs.memoryTypeBits >> type & 1u))
        return VK_ERROR_FEATURE_NOT_PRESENT;
    const VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        .pHostPointer = host,
    };
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = block->buffer
    };
    const VkMemoryAllocateInfo memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = host                  ? (const void *)&import
                 : bytes > SMALL_BYTES ? &dedicated
                                       : NULL,
        .allocationSize = host ? bytes : needs.size,
        .memoryTypeIndex = type,
    };
    result = vk->vkAllocateMemory(device->handle, &memory, NULL, &block->memory);
    if (result != VK_SUCCESS) {
        block->memory = VK_NULL_HANDLE;
        return result;
    }
    result = vk->vkBindBufferMemory(device->handle, block->buffer, block->memory, 0);
    VkMemoryPropertyFlags flags = device->physical.memory.memoryTypes[type].propertyFlags;
    if (result == VK_SUCCESS && host)
        block->mapped = host;
    else if (result == VK_SUCCESS && (flags & VULKAN_VISIBLE) == VULKAN_VISIBLE)
        result = vk->vkMapMemory(device->handle, block->memory, 0, VK_WHOLE_SIZE, 0,
                                 (void **)&block->mapped);
    return result;
}

static tnp_status add_block(tnp_device *device, uint32_t type, uint64_t bytes, void *host,
                            vulkan_block **out, tnp_error *err)
{
    vulkan_block *block = vulkan_alloc(device->instance, sizeof *block);
    if (!block)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "buffer_alloc: no memory for a block");
    block->type = type;
    block->bytes = bytes;
    VkResult result = make_block(device, type, bytes, host, block);
    if (result != VK_SUCCESS) {
        free_block(device, block);
        if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY)
            return vulkan_error(device, err, result, "buffer_alloc: a buffer and its memory");
        return tnh_fail(
            err, TNP_E_DEVICE_MEMORY,
            "buffer_alloc: %llu bytes are asked for, and the driver has them not in one "
            "piece",
            (unsigned long long)bytes);
    }
    if (!host)
        count_used(device, type, bytes, false);
    *out = block;
    return TNP_OK;
}

// ------------------------------------------------------------------------------- parts of blocks

static uint64_t round_up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

// First fit. NULL: no block has so many bytes in one piece, or there is no memory for the rest.
static part *take_part(tnp_device *device, vulkan_block *block, uint64_t bytes)
{
    for (part *p = block->parts; p; p = p->next) {
        if (!p->is_free || p->bytes < bytes)
            continue;
        if (p->bytes > bytes) {
            part *rest = vulkan_alloc(device->instance, sizeof *rest);
            if (!rest)
                return NULL;
            *rest = (part){ p->next, p->offset + bytes, p->bytes - bytes, true };
            p->next = rest;
            p->bytes = bytes;
        }
        p->is_free = false;
        return p;
    }
    return NULL;
}

static bool is_empty(const vulkan_block *block)
{
    return block->parts->is_free && !block->parts->next;
}

// Gives a part back; free neighbours become one.
static void give_part(tnp_device *device, vulkan_block *block, uint64_t offset)
{
    for (part *p = block->parts; p; p = p->next)
        if (p->offset == offset)
            p->is_free = true;
    for (part *p = block->parts; p && p->next;) {
        part *next = p->next;
        if (!p->is_free || !next->is_free) {
            p = next;
            continue;
        }
        p->bytes += next->bytes;
        p->next = next->next;
        vulkan_free(device->instance, next);
    }
}

// A block with room in it, for memory of that type: the lock is held.
static part *find_room(tnp_device *device, uint32_t type, uint64_t bytes, vulkan_block **block)
{
    for (vulkan_block *b = device->allocator->blocks; b; b = b->next) {
        part *p = b->type == type ? take_part(device, b, bytes) : NULL;
        if (p) {
            *block = b;
            return p;
        }
    }
    return NULL;
}

static tnp_status allocate_small(tnp_device *device, uint32_t type, uint64_t bytes,
                                 vulkan_block **out, uint64_t *offset, tnp_error *err)
{
    vulkan_allocator *all = device->allocator;
    pthread_mutex_lock(&all->lock);
    part *found = find_room(device, type, bytes, out);
    pthread_mutex_unlock(&all->lock);
    if (found) {
        *offset = found->offset;
        return TNP_OK;
    }
    vulkan_block *block;
    tnp_status status = add_block(device, type, BLOCK_BYTES, NULL, &block, err);
    if (status != TNP_OK)
        return status;
    block->parts = vulkan_alloc(device->instance, sizeof *block->parts);
    if (block->parts) {
        *block->parts = (part){ NULL, 0, BLOCK_BYTES, true };
        found = take_part(device, block, bytes);
    }
    if (!found) {
        count_used(device, type, BLOCK_BYTES, true);
        free_block(device, block);
        return tnh_fail(err, TNP_E_HOST_MEMORY, "buffer_alloc: no memory for a block");
    }
    pthread_mutex_lock(&all->lock);
    block->next = all->blocks;
    all->blocks = block;
    pthread_mutex_unlock(&all->lock);
    *out = block;
    *offset = found->offset;
    return TNP_OK;
}

tnp_status vulkan_allocate(tnp_device *device, uint32_t type, uint64_t bytes, vulkan_place *out,
                           tnp_error *err)
{
    // The last word of a value may be read as a whole, and copies of rows end anywhere.
    uint64_t room = round_up(bytes, vulkan_alignment(device));
    *out = (vulkan_place){ 0 };
    tnp_status status = room <= SMALL_BYTES
                            ? allocate_small(device, type, room, &out->block, &out->offset, err)
                            : add_block(device, type, room, NULL, &out->block, err);
    if (status == TNP_OK && out->block->mapped)
        out->mapped = out->block->mapped + out->offset;
    if (status == TNP_OK)
        out->buffer = out->block->buffer;
    return status;
}

tnp_status vulkan_import(tnp_device *device, uint32_t type, void *host, uint64_t bytes,
                         vulkan_place *out, tnp_error *err)
{
    *out = (vulkan_place){ 0 };
    tnp_status status = add_block(device, type, bytes, host, &out->block, err);
    if (status != TNP_OK)
        return status;
    out->buffer = out->block->buffer;
    out->mapped = host;
    return TNP_OK;
}

void vulkan_release(tnp_device *device, const vulkan_place *place, bool is_imported)
{
    vulkan_block *block = place->block;
    if (!block->parts) {
        if (!is_imported)
            count_used(device, block->type, block->bytes, true);
        free_block(device, block);
        return;
    }
    vulkan_allocator *all = device->allocator;
    pthread_mutex_lock(&all->lock);
    give_part(device, block, place->offset);
    bool is_over = is_empty(block);
    if (is_over) {
        vulkan_block **link = &all->blocks;
        while (*link != block)
            link = &(*link)->next;
        *link = block->next;
    }
    pthread_mutex_unlock(&all->lock);
    if (is_over) {
        count_used(device, block->type, block->bytes, true);
        free_block(device, block);
    }
}

void vulkan_allocator_close(tnp_device *device)
{
    vulkan_allocator *all = device->allocator;
    if (!all)
        return;
    while (all->blocks) {
        vulkan_block *block = all->blocks;
        all->blocks = block->next;
        free_block(device, block);
    }
    pthread_mutex_destroy(&all->lock);
    vulkan_free(device->instance, all);
}
