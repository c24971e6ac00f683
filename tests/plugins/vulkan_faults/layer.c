// layer.c: a Vulkan layer that lets the k-th call of a kind fail, as a driver does.
//
//   VK_INSTANCE_LAYERS=VK_LAYER_TENON_faults VK_ADD_LAYER_PATH=<folder of the manifest>
//   TENON_VULKAN_FAULT=CALL:K:RESULT     the K-th (from 1) CALL answers RESULT, a VkResult
//                      CALL:K:hang       of vkWaitSemaphores: from then on it only times out
//   TENON_VULKAN_CALLS=FILE   how often each call came, written when a device is destroyed
//
// VK_ERROR_DEVICE_LOST is sticky: every call that is watched answers it from then on, and as of a
// device that is lost nothing runs any more. What destroys is passed on.
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>

#define EXPORT __attribute__((visibility("default")))

// Calls that are watched: name, parameters, arguments.
#define CALLS(CALL)                                                                                \
    CALL(AllocateMemory,                                                                           \
         (VkDevice device, const VkMemoryAllocateInfo *what, const VkAllocationCallbacks *a,       \
          VkDeviceMemory *out),                                                                    \
         (device, what, a, out))                                                                   \
    CALL(CreateBuffer,                                                                             \
         (VkDevice device, const VkBufferCreateInfo *what, const VkAllocationCallbacks *a,         \
          VkBuffer *out),                                                                          \
         (device, what, a, out))                                                                   \
    CALL(BindBufferMemory,                                                                         \
         (VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset),           \
         (device, buffer, memory, offset))                                                         \
    CALL(MapMemory,                                                                                \
         (VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size,          \
          VkMemoryMapFlags flags, void **out),                                                     \
         (device, memory, offset, size, flags, out))                                               \
    CALL(CreateSemaphore,                                                                          \
         (VkDevice device, const VkSemaphoreCreateInfo *what, const VkAllocationCallbacks *a,      \
          VkSemaphore *out),                                                                       \
         (device, what, a, out))                                                                   \
    CALL(CreateCommandPool,                                                                        \
         (VkDevice device, const VkCommandPoolCreateInfo *what, const VkAllocationCallbacks *a,    \
          VkCommandPool *out),                                                                     \
         (device, what, a, out))                                                                   \
    CALL(AllocateCommandBuffers,                                                                   \
         (VkDevice device, const VkCommandBufferAllocateInfo *what, VkCommandBuffer *out),         \
         (device, what, out))                                                                      \
    CALL(CreateDescriptorSetLayout,                                                                \
         (VkDevice device, const VkDescriptorSetLayoutCreateInfo *what,                            \
          const VkAllocationCallbacks *a, VkDescriptorSetLayout *out),                             \
         (device, what, a, out))                                                                   \
    CALL(CreatePipelineLayout,                                                                     \
         (VkDevice device, const VkPipelineLayoutCreateInfo *what, const VkAllocationCallbacks *a, \
          VkPipelineLayout *out),                                                                  \
         (device, what, a, out))                                                                   \
    CALL(CreatePipelineCache,                                                                      \
         (VkDevice device, const VkPipelineCacheCreateInfo *what, const VkAllocationCallbacks *a,  \
          VkPipelineCache *out),                                                                   \
         (device, what, a, out))                                                                   \
    CALL(CreateShaderModule,                                                                       \
         (VkDevice device, const VkShaderModuleCreateInfo *what, const VkAllocationCallbacks *a,   \
          VkShaderModule *out),                                                                    \
         (device, what, a, out))                                                                   \
    CALL(CreateComputePipelines,                                                                   \
         (VkDevice device, VkPipelineCache cache, uint32_t count,                                  \
          const VkComputePipelineCreateInfo *what, const VkAllocationCallbacks *a,                 \
          VkPipeline *out),                                                                        \
         (device, cache, count, what, a, out))                                                     \
    CALL(CreateDescriptorPool,                                                                     \
         (VkDevice device, const VkDescriptorPoolCreateInfo *what, const VkAllocationCallbacks *a, \
          VkDescriptorPool *out),                                                                  \
         (device, what, a, out))                                                                   \
    CALL(AllocateDescriptorSets,                                                                   \
         (VkDevice device, const VkDescriptorSetAllocateInfo *what, VkDescriptorSet *out),         \
         (device, what, out))                                                                      \
    CALL(BeginCommandBuffer, (VkCommandBuffer commands, const VkCommandBufferBeginInfo *what),     \
         (commands, what))                                                                         \
    CALL(EndCommandBuffer, (VkCommandBuffer commands), (commands))                                 \
    CALL(QueueSubmit, (VkQueue queue, uint32_t count, const VkSubmitInfo *what, VkFence fence),    \
         (queue, count, what, fence))                                                              \
    CALL(WaitSemaphores, (VkDevice device, const VkSemaphoreWaitInfo *what, uint64_t timeout),     \
         (device, what, timeout))

enum {
#define CALL(name, parameters, arguments) CALL_##name,
    CALLS(CALL)
#undef CALL
        CALL_COUNT
};

static const char *const names[CALL_COUNT] = {
#define CALL(name, parameters, arguments) [CALL_##name] = "vk" #name,
    CALLS(CALL)
#undef CALL
};

// One instance and one device at a time are enough for a test.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static PFN_vkGetInstanceProcAddr next_instance_call;
static PFN_vkGetDeviceProcAddr next_device_call;
static VkInstance instance_made;
static VkDevice device_made;
static unsigned counts[CALL_COUNT];
static bool is_lost, hangs;

#define CALL(name, parameters, arguments) static PFN_vk##name next_##name;
CALLS(CALL)
#undef CALL

// What the call is to answer; VK_SUCCESS: what the driver does.
static VkResult fault_of(int call)
{
    const char *fault = getenv("TENON_VULKAN_FAULT");
    VkResult result = VK_SUCCESS;
    char name[64], what[16];
    unsigned at;
    pthread_mutex_lock(&lock);
    counts[call]++;
    if (is_lost) {
        result = VK_ERROR_DEVICE_LOST;
    } else if (hangs && call == CALL_WaitSemaphores) {
        result = VK_TIMEOUT;
    } else if (fault && sscanf(fault, "%63[^:]:%u:%15s", name, &at, what) == 3 &&
               strcmp(name, names[call]) == 0 && counts[call] == at) {
        hangs = strcmp(what, "hang") == 0;
        result = hangs ? VK_TIMEOUT : (VkResult)atoi(what);
        is_lost = result == VK_ERROR_DEVICE_LOST;
    }
    pthread_mutex_unlock(&lock);
    if (result == VK_ERROR_DEVICE_LOST && device_made)
        ((PFN_vkDeviceWaitIdle)next_device_call(device_made, "vkDeviceWaitIdle"))(device_made);
    if (result == VK_TIMEOUT)
        usleep(20000);
    return result;
}

#define CALL(name, parameters, arguments)                                                          \
    static VKAPI_ATTR VkResult VKAPI_CALL own_##name parameters                                    \
    {                                                                                              \
        VkResult fault = fault_of(CALL_##name);                                                    \
        return fault == VK_SUCCESS ? next_##name arguments : fault;                                \
    }
CALLS(CALL)
#undef CALL

static void write_counts(void)
{
    const char *path = getenv("TENON_VULKAN_CALLS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    for (int i = 0; i < CALL_COUNT; i++)
        fprintf(file, "%s %u\n", names[i], counts[i]);
    fclose(file);
}

static VKAPI_ATTR void VKAPI_CALL own_DestroyDevice(VkDevice device,
                                                    const VkAllocationCallbacks *allocator)
{
    PFN_vkDestroyDevice next = (PFN_vkDestroyDevice)next_device_call(device, "vkDestroyDevice");
    device_made = VK_NULL_HANDLE;
    write_counts();
    next(device, allocator);
}

// ------------------------------------------------------------------------ instance and device

static VKAPI_ATTR VkResult VKAPI_CALL own_CreateInstance(const VkInstanceCreateInfo *what,
                                                         const VkAllocationCallbacks *allocator,
                                                         VkInstance *out)
{
    VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)(uintptr_t)what->pNext;
    while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                     link->function == VK_LAYER_LINK_INFO))
        link = (VkLayerInstanceCreateInfo *)(uintptr_t)link->pNext;
    if (!link)
        return VK_ERROR_INITIALIZATION_FAILED;
    next_instance_call = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)next_instance_call(VK_NULL_HANDLE,
                                                                           "vkCreateInstance");
    VkResult result = create(what, allocator, out);
    if (result == VK_SUCCESS)
        instance_made = *out;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL own_CreateDevice(VkPhysicalDevice physical,
                                                       const VkDeviceCreateInfo *what,
                                                       const VkAllocationCallbacks *allocator,
                                                       VkDevice *out)
{
    VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)(uintptr_t)what->pNext;
    while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
                     link->function == VK_LAYER_LINK_INFO))
        link = (VkLayerDeviceCreateInfo *)(uintptr_t)link->pNext;
    if (!link)
        return VK_ERROR_INITIALIZATION_FAILED;
    PFN_vkGetInstanceProcAddr instance_call = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    next_device_call = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)instance_call(instance_made, "vkCreateDevice");
    VkResult result = create(physical, what, allocator, out);
    if (result != VK_SUCCESS)
        return result;
#define CALL(name, parameters, arguments)                                                          \
    next_##name = (PFN_vk##name)next_device_call(*out, "vk" #name);
    CALLS(CALL)
#undef CALL
    device_made = *out;
    return VK_SUCCESS;
}

static PFN_vkVoidFunction own_call(const char *name)
{
#define CALL(call, parameters, arguments)                                                          \
    if (strcmp(name, "vk" #call) == 0)                                                             \
        return (PFN_vkVoidFunction)own_##call;
    CALLS(CALL)
#undef CALL
    if (strcmp(name, "vkDestroyDevice") == 0)
        return (PFN_vkVoidFunction)own_DestroyDevice;
    return NULL;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice device,
                                                                    const char *name)
{
    PFN_vkVoidFunction own = own_call(name);
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)vkGetDeviceProcAddr;
    return own ? own : next_device_call(device, name);
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance,
                                                                      const char *name)
{
    if (strcmp(name, "vkGetInstanceProcAddr") == 0)
        return (PFN_vkVoidFunction)vkGetInstanceProcAddr;
    if (strcmp(name, "vkGetDeviceProcAddr") == 0)
        return (PFN_vkVoidFunction)vkGetDeviceProcAddr;
    if (strcmp(name, "vkCreateInstance") == 0)
        return (PFN_vkVoidFunction)own_CreateInstance;
    if (strcmp(name, "vkCreateDevice") == 0)
        return (PFN_vkVoidFunction)own_CreateDevice;
    return next_instance_call ? next_instance_call(instance, name) : NULL;
}
