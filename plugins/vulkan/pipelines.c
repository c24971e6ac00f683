// pipelines.c: makes pipelines, and keeps what the driver made of them.
#include "pipelines.h"

#include "shader.h"

typedef struct entry {
    struct entry *next;
    VkPipeline pipeline;   // NULL: wanted, and not made yet
    VkResult result;       // of making it
    vulkan_kernel kernel;
    uint32_t constant_count, constants[VULKAN_MAX_CONSTANTS];
} entry;

struct vulkan_pipelines {
    pthread_mutex_t lock;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipelineCache cache;
    entry *entries[VULKAN_KERNEL_COUNT];
    uint32_t wanted_count;
    uint32_t new_count;   // made since the cache was stored
};

// What names a store on disk: the host adds the plugin's name and version.
typedef struct cache_key {
    char what[16];
    uint8_t device[VK_UUID_SIZE];   // of driver and device: pipelineCacheUUID
    uint32_t vendor, product, driver_version, reserved;
} cache_key;

static cache_key key_of(const tnp_device *device)
{
    const VkPhysicalDeviceProperties *p = &device->physical.properties;
    cache_key key = { .what = "pipelines",
                      .vendor = p->vendorID,
                      .product = p->deviceID,
                      .driver_version = p->driverVersion };
    memcpy(key.device, p->pipelineCacheUUID, sizeof key.device);
    return key;
}

// Whether the store begins as the driver's own stores do. A driver has to look itself, and some did
// not.
static bool is_of(const tnp_device *device, const void *data, uint64_t bytes)
{
    VkPipelineCacheHeaderVersionOne header;
    const VkPhysicalDeviceProperties *p = &device->physical.properties;
    if (bytes < sizeof header)
        return false;
    memcpy(&header, data, sizeof header);
    return header.headerSize >= sizeof header &&
           header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
           header.vendorID == p->vendorID && header.deviceID == p->deviceID &&
           memcmp(header.pipelineCacheUUID, p->pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

// The store of an earlier process; NULL: none, or none that fits.
static void *load(tnp_device *device, uint64_t *bytes)
{
    const tnp_host *host = device->instance->host;
    const cache_key key = key_of(device);
    *bytes = host->cache_get(host->context, &key, sizeof key, NULL, 0);
    void *data = *bytes > 0 ? vulkan_alloc(device->instance, *bytes) : NULL;
    if (data && (host->cache_get(host->context, &key, sizeof key, data, *bytes) != *bytes ||
                 !is_of(device, data, *bytes))) {
        vulkan_free(device->instance, data);
        data = NULL;
    }
    if (!data)
        *bytes = 0;
    return data;
}

void vulkan_pipelines_keep(tnp_device *device)
{
    vulkan_pipelines *all = device->pipelines;
    const tnp_host *host = device->instance->host;
    const cache_key key = key_of(device);
    size_t bytes = 0;
    pthread_mutex_lock(&all->lock);
    bool is_new = all->new_count > 0;
    all->new_count = 0;
    pthread_mutex_unlock(&all->lock);
    if (!is_new ||
        device->vk.vkGetPipelineCacheData(device->handle, all->cache, &bytes, NULL) != VK_SUCCESS ||
        bytes == 0)
        return;
    void *data = vulkan_alloc(device->instance, bytes);
    if (data &&
        device->vk.vkGetPipelineCacheData(device->handle, all->cache, &bytes, data) == VK_SUCCESS)
        host->cache_put(host->context, &key, sizeof key, data, bytes);
    vulkan_free(device->instance, data);
}

static VkResult make_layouts(tnp_device *device, vulkan_pipelines *all)
{
    VkDescriptorSetLayoutBinding bindings[VULKAN_MAX_OPERANDS];
    for (uint32_t i = 0; i < VULKAN_MAX_OPERANDS; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = VULKAN_MAX_OPERANDS,
        .pBindings = bindings,
    };
    VkResult result = device->vk.vkCreateDescriptorSetLayout(device->handle, &set, NULL,
                                                             &all->set_layout);
    if (result != VK_SUCCESS) {
        all->set_layout = VK_NULL_HANDLE;
        return result;
    }
    const VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, 4 * VULKAN_MAX_PUSH };
    const VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &all->set_layout,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push,
    };
    result = device->vk.vkCreatePipelineLayout(device->handle, &layout, NULL, &all->layout);
    if (result != VK_SUCCESS)
        all->layout = VK_NULL_HANDLE;
    return result;
}

static VkResult make_cache(tnp_device *device, vulkan_pipelines *all)
{
    uint64_t bytes;
    void *data = load(device, &bytes);
    VkPipelineCacheCreateInfo how = { .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                      .initialDataSize = (size_t)bytes,
                                      .pInitialData = data };
    VkResult result = device->vk.vkCreatePipelineCache(device->handle, &how, NULL, &all->cache);
    vulkan_free(device->instance, data);
    if (result != VK_SUCCESS && data) {   // what the driver cannot read is made again
        how.initialDataSize = 0;
        how.pInitialData = NULL;
        result = device->vk.vkCreatePipelineCache(device->handle, &how, NULL, &all->cache);
    }
    if (result != VK_SUCCESS)
        all->cache = VK_NULL_HANDLE;
    return result;
}

tnp_status vulkan_pipelines_open(tnp_device *device, tnp_error *err)
{
    vulkan_pipelines *all = vulkan_alloc(device->instance, sizeof *all);
    if (!all || pthread_mutex_init(&all->lock, NULL) != 0) {
        vulkan_free(device->instance, all);
        return tnh_fail(err, TNP_E_HOST_MEMORY, "open: no memory for pipelines");
    }
    device->pipelines = all;
    VkResult result = make_layouts(device, all);
    if (result == VK_SUCCESS)
        result = make_cache(device, all);
    return result == VK_SUCCESS ? TNP_OK
                                : vulkan_error(device, err, result, "open: layouts of pipelines");
}

void vulkan_pipelines_close(tnp_device *device)
{
    vulkan_pipelines *all = device->pipelines;
    if (!all)
        return;
    for (uint32_t k = 0; k < VULKAN_KERNEL_COUNT; k++)
        for (entry *e = all->entries[k], *next; e; e = next) {
            next = e->next;
            device->vk.vkDestroyPipeline(device->handle, e->pipeline, NULL);
            vulkan_free(device->instance, e);
        }
    device->vk.vkDestroyPipelineCache(device->handle, all->cache, NULL);
    device->vk.vkDestroyPipelineLayout(device->handle, all->layout, NULL);
    device->vk.vkDestroyDescriptorSetLayout(device->handle, all->set_layout, NULL);
    pthread_mutex_destroy(&all->lock);
    vulkan_free(device->instance, all);
}

uint32_t vulkan_pipelines_count(const tnp_device *device)
{
    vulkan_pipelines *all = device->pipelines;
    uint32_t count = 0;
    pthread_mutex_lock(&all->lock);
    for (uint32_t k = 0; k < VULKAN_KERNEL_COUNT; k++)
        for (const entry *e = all->entries[k]; e; e = e->next)
            count++;
    pthread_mutex_unlock(&all->lock);
    return count;
}

VkPipelineLayout vulkan_pipeline_layout(const tnp_device *device)
{
    return device->pipelines->layout;
}

VkDescriptorSetLayout vulkan_set_layout(const tnp_device *device)
{
    return device->pipelines->set_layout;
}

// ------------------------------------------------------------------------------------- pipelines

static VkResult make_pipeline(tnp_device *device, const entry *e, VkPipeline *out)
{
    const vulkan_shader *shader = vulkan_shader_for(&device->physical.features, e->kernel);
    VkSpecializationMapEntry map[VULKAN_MAX_CONSTANTS];
    for (uint32_t i = 0; i < e->constant_count; i++)
        map[i] = (VkSpecializationMapEntry){ i, 4 * i, 4 };
    const VkSpecializationInfo constants = {
        .mapEntryCount = e->constant_count,
        .pMapEntries = map,
        .dataSize = 4 * (size_t)e->constant_count,
        .pData = e->constants,
    };
    const VkShaderModuleCreateInfo code = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = shader->bytes,
        .pCode = shader->words,
    };
    VkShaderModule module;
    VkResult result = device->vk.vkCreateShaderModule(device->handle, &code, NULL, &module);
    if (result != VK_SUCCESS)
        return result;
    const VkComputePipelineCreateInfo how = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = VK_PIPELINE_CREATE_DISPATCH_BASE,
        .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = module,
                   .pName = "main",
                   .pSpecializationInfo = &constants },
        .layout = device->pipelines->layout,
    };
    result = device->vk.vkCreateComputePipelines(device->handle, device->pipelines->cache, 1, &how,
                                                 NULL, out);
    device->vk.vkDestroyShaderModule(device->handle, module, NULL);
    return result;
}

static entry *find(const vulkan_pipelines *all, const vulkan_dispatch *d)
{
    for (entry *e = all->entries[d->kernel]; e; e = e->next)
        if (e->constant_count == d->constant_count &&
            memcmp(e->constants, d->constants, sizeof e->constants) == 0)
            return e;
    return NULL;
}

tnp_status vulkan_pipelines_want(tnp_device *device, const vulkan_dispatch *d, tnp_error *err)
{
    vulkan_pipelines *all = device->pipelines;
    tnp_status status = TNP_OK;
    pthread_mutex_lock(&all->lock);
    if (!find(all, d)) {
        entry *e = vulkan_alloc(device->instance, sizeof *e);
        if (e) {
            e->kernel = d->kernel;
            e->constant_count = d->constant_count;
            memcpy(e->constants, d->constants, sizeof e->constants);
            e->next = all->entries[d->kernel];
            all->entries[d->kernel] = e;
            all->wanted_count++;
        } else {
            status = tnh_fail(err, TNP_E_HOST_MEMORY, "compile: no memory for a pipeline");
        }
    }
    pthread_mutex_unlock(&all->lock);
    return status;
}

// The pipelines that are wanted, shared by the host's threads.
typedef struct making {
    tnp_device *device;
    uint32_t count;
    entry *wanted[];
} making;

static void make_some(void *argument, tnp_team *team, uint32_t worker, uint32_t workers)
{
    making *m = argument;
    (void)team;
    for (uint32_t i = worker; i < m->count; i += workers)
        m->wanted[i]->result = make_pipeline(m->device, m->wanted[i], &m->wanted[i]->pipeline);
}

static making *list_wanted(tnp_device *device)
{
    vulkan_pipelines *all = device->pipelines;
    making *m = vulkan_alloc(device->instance, sizeof *m + all->wanted_count * sizeof *m->wanted);
    if (!m)
        return NULL;
    m->device = device;
    for (uint32_t k = 0; k < VULKAN_KERNEL_COUNT; k++)
        for (entry *e = all->entries[k]; e; e = e->next)
            if (!e->pipeline)
                m->wanted[m->count++] = e;
    return m;
}

// What could not be made is wanted no more. Answers one of the results that are no success.
static VkResult drop_failed(tnp_device *device, vulkan_kernel *of)
{
    VkResult failure = VK_SUCCESS;
    for (uint32_t k = 0; k < VULKAN_KERNEL_COUNT; k++)
        for (entry **link = &device->pipelines->entries[k]; *link;) {
            entry *e = *link;
            if (e->pipeline) {
                link = &e->next;
                continue;
            }
            failure = e->result;
            *of = e->kernel;
            *link = e->next;
            vulkan_free(device->instance, e);
        }
    return failure;
}

tnp_status vulkan_pipelines_make(tnp_device *device, tnp_error *err)
{
    vulkan_pipelines *all = device->pipelines;
    const tnp_host *host = device->instance->host;
    VkResult result = VK_SUCCESS;
    vulkan_kernel kernel = 0;
    pthread_mutex_lock(&all->lock);
    if (all->wanted_count > 0) {
        making *m = list_wanted(device);
        if (m)
            host->team(host->context, m->count, make_some, m);
        vulkan_free(device->instance, m);
        result = drop_failed(device, &kernel);
        if (!m)
            result = VK_ERROR_OUT_OF_HOST_MEMORY;
        all->new_count += all->wanted_count;
        all->wanted_count = 0;
    }
    pthread_mutex_unlock(&all->lock);
    if (result == VK_SUCCESS)
        return TNP_OK;
    char what[96];
    snprintf(what, sizeof what, "compile: a pipeline of kernel %s", vulkan_kernel_names[kernel]);
    return vulkan_error(device, err, result, what);
}

VkPipeline vulkan_pipeline_of(tnp_device *device, const vulkan_dispatch *d)
{
    vulkan_pipelines *all = device->pipelines;
    pthread_mutex_lock(&all->lock);
    const entry *e = find(all, d);
    VkPipeline pipeline = e ? e->pipeline : VK_NULL_HANDLE;
    pthread_mutex_unlock(&all->lock);
    return pipeline;
}
