// cpu.c: the CPU plugin, loaded inside. It sees this plugin as its host, and computes what the
// devices here pretend to compute.
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

#include "sim.h"

// ----------------------------------------------------------------------- the host that it is given

static void *host_alloc(void *context, uint64_t bytes, uint64_t alignment)
{
    const tnp_instance *instance = context;
    return instance->host.alloc(instance->host.context, bytes, alignment);
}

static void host_free(void *context, void *pointer)
{
    sim_free(context, pointer);
}

static void host_log(void *context, int32_t level, const char *text)
{
    const tnp_instance *instance = context;
    instance->host.log(instance->host.context, level, text);
}

// `devices` is this plugin's: each device here opens the one device of the CPU plugin. Packs are
// not passed on: units of several nodes are cut into others here, and the bits are the same
// without.
static const char *host_setting(void *context, const char *key)
{
    const tnp_instance *instance = context;
    if (strcmp(key, "repack") == 0)
        return "off";
    return strcmp(key, "devices") == 0 ? NULL : instance->host.setting(instance->host.context, key);
}

static uint64_t host_now_ns(void *context)
{
    const tnp_instance *instance = context;
    return instance->host.now_ns(instance->host.context);
}

// Spans are made on the virtual clock, by the engine.
static void host_trace(void *context, const void *queue, const tnp_span *span)
{
    (void)context, (void)queue, (void)span;
}

static uint32_t host_worker_count(void *context)
{
    const tnp_instance *instance = context;
    return instance->host.worker_count(instance->host.context);
}

static void host_team(void *context, uint32_t wanted,
                      void (*body)(void *argument, tnp_team *team, uint32_t worker,
                                   uint32_t workers),
                      void *argument)
{
    const tnp_instance *instance = context;
    instance->host.team(instance->host.context, wanted, body, argument);
}

static uint64_t host_cache_get(void *context, const void *key, uint64_t key_bytes, void *to,
                               uint64_t room)
{
    const tnp_instance *instance = context;
    return instance->host.cache_get(instance->host.context, key, key_bytes, to, room);
}

static void host_cache_put(void *context, const void *key, uint64_t key_bytes, const void *data,
                           uint64_t bytes)
{
    const tnp_instance *instance = context;
    instance->host.cache_put(instance->host.context, key, key_bytes, data, bytes);
}

static const void *host_extension(void *context, const char *name)
{
    (void)context, (void)name;
    return NULL;
}

static void fill_host(tnp_instance *instance)
{
    instance->cpu_host = (tnp_host){
        .size = sizeof instance->cpu_host,
        .abi = instance->host.abi,
        .context = instance,
        .alloc = host_alloc,
        .free = host_free,
        .log = host_log,
        .setting = host_setting,
        .now_ns = host_now_ns,
        .trace = host_trace,
        .worker_count = host_worker_count,
        .team = host_team,
        .team_barrier = instance->host.team_barrier,   // has no context
        .cache_get = host_cache_get,
        .cache_put = host_cache_put,
        .extension = host_extension,
    };
}

// --------------------------------------------------------------------------------- load and unload

// Beside this file, or where a build has its plugins.
static void *open_file(char *tried, size_t room)
{
    static const char *const places[] = { "cpu.so", "../plugins/cpu.so" };
    Dl_info own;
    void *file = NULL;
    tried[0] = 0;
    if (!dladdr((const void *)places, &own) || !own.dli_fname)
        return NULL;
    const char *slash = strrchr(own.dli_fname, '/');
    int folder_bytes = slash ? (int)(slash - own.dli_fname) + 1 : 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !file; i++) {
        char path[PATH_MAX];
        size_t used = strlen(tried);
        snprintf(path, sizeof path, "%.*s%s", folder_bytes, own.dli_fname, places[i]);
        snprintf(tried + used, room - used, "%s%s", used ? ", " : "", path);
        file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return file;
}

tnp_status sim_cpu_load(tnp_instance *instance, tnp_error *err)
{
    char tried[400];
    tnp_query query = NULL;
    instance->cpu_file = open_file(tried, sizeof tried);
    void *symbol = instance->cpu_file ? dlsym(instance->cpu_file, "tenon_plugin_query") : NULL;
    memcpy(&query, &symbol, sizeof query);
    if (!query)
        return sim_fail(err, TNP_E_IO, "start: no CPU plugin to compute with at %s", tried);
    instance->cpu = query(TNP_ABI_CURRENT, err);
    tnp_status status = TNP_E_VERSION;   // with the text of the query
    fill_host(instance);
    if (instance->cpu)
        status = instance->cpu->start(&instance->cpu_host, &instance->cpu_instance, err);
    if (status != TNP_OK)
        dlclose(instance->cpu_file);
    return status;
}

void sim_cpu_unload(tnp_instance *instance)
{
    instance->cpu->stop(instance->cpu_instance);
    dlclose(instance->cpu_file);
}

// ---------------------------------------------------------------------------------------- a device

// A failed semaphore stays failed, so one is made for the first run and after each failure.
static tnp_status make_semaphore(tnp_device *device, tnp_error *err)
{
    tnp_semaphore_options how = { .size = sizeof how };
    if (device->cpu_semaphore)
        return TNP_OK;
    device->cpu_signal = 0;
    return device->instance->cpu->semaphore_create(device->cpu, &how, &device->cpu_semaphore, err);
}

tnp_status sim_cpu_open(tnp_device *device, tnp_error *err)
{
    const tnp_plugin *cpu = device->instance->cpu;
    tnp_open what = { .size = sizeof what };
    tnp_queue_options how = {
        .size = sizeof how, .kind = TNP_QUEUE_COMPUTE, .pending = 1, .points = 1
    };
    tnp_status status = cpu->open(device->instance->cpu_instance, &what, &device->cpu, err);
    if (status == TNP_OK)
        status = cpu->queue_create(device->cpu, &how, &device->cpu_queue, err);
    if (status == TNP_OK)
        status = make_semaphore(device, err);
    if (status != TNP_OK)
        sim_cpu_close(device);
    return status;
}

void sim_cpu_close(tnp_device *device)
{
    const tnp_plugin *cpu = device->instance->cpu;
    if (device->cpu_queue)
        cpu->queue_destroy(device->cpu_queue);
    if (device->cpu_semaphore)
        cpu->semaphore_destroy(device->cpu_semaphore);
    if (device->cpu)
        cpu->close(device->cpu);
}

tnp_status sim_cpu_run(tnp_device *device, tnp_bound *cpu_bound, tnp_error *err)
{
    const tnp_plugin *cpu = device->instance->cpu;
    tnp_status status = make_semaphore(device, err);
    if (status != TNP_OK)
        return status;
    tnp_point point = { device->cpu_semaphore, device->cpu_signal + 1 };
    tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &point };
    tnp_submit work = {
        .size = sizeof work, .flags = TNP_SUBMIT_INLINE, .sync = &sync, .bound = cpu_bound
    };
    const tnp_submit *works[] = { &work };
    status = cpu->queue_submit(device->cpu_queue, works, 1, err);
    if (status != TNP_OK)
        return status;
    device->cpu_signal++;
    status = cpu->semaphore_wait(device->cpu_semaphore, device->cpu_signal, UINT64_MAX, err);
    if (status != TNP_OK) {
        cpu->semaphore_destroy(device->cpu_semaphore);
        device->cpu_semaphore = NULL;
    }
    return status;
}
