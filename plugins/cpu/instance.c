// instance.c: one host's use of the plugin, and the devices that are there.
#include <stdio.h>
#include <stdlib.h>

#include "cpu.h"
#include "isa.h"
#include "machine.h"
#include "settings.h"

cpu_instance *cpu_instance_from(tnp_instance *instance)
{
    cpu_instance *i = (cpu_instance *)instance;
    return i && i->tag == CPU_TAG_INSTANCE ? i : NULL;
}

void *cpu_alloc(cpu_instance *instance, uint64_t bytes)
{
    void *pointer = instance->host.alloc(instance->host.context, bytes, CPU_ALLOC_ALIGNMENT);
    if (pointer)
        memset(pointer, 0, bytes);
    return pointer;
}

void cpu_free(cpu_instance *instance, void *pointer)
{
    instance->host.free(instance->host.context, pointer);
}

void cpu_lock(cpu_instance *instance)
{
    pthread_mutex_lock(&instance->lock);
}

void cpu_unlock(cpu_instance *instance)
{
    pthread_mutex_unlock(&instance->lock);
}

bool cpu_must_leak(cpu_instance *instance)
{
    cpu_lock(instance);
    bool must = instance->hung > 0;
    cpu_unlock(instance);
    return must;
}

// The workers that each device wants, so that all devices together want what there is.
static uint32_t workers_of_device(const tnp_host *host, const cpu_settings *settings)
{
    uint32_t workers = host->worker_count(host->context);
    if (settings->threads != 0 && workers > settings->threads)
        workers = settings->threads;
    workers /= settings->devices;
    return workers > 0 ? workers : 1;
}

tnp_status cpu_start(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    if (!TNP_HAS(tnp_host, host, extension))
        return cpu_error(err, TNP_E_VERSION, "the host's table has %u bytes, 1.0 has %zu",
                         host->size, sizeof *host);
    tnp_host known;
    (void)TNP_TAKE(&known, host);   // of a table, a tail that is not known is ignored

    cpu_settings settings;
    tnp_status status = cpu_settings_read(&known, &settings, err);
    if (status != TNP_OK)
        return status;
    const char *reason = "";
    const cpu_kernels *kernels = cpu_kernels_choose(getenv("TENON_CPU_ISA"), &reason);
    if (!kernels)
        return cpu_error(err, TNP_E_ARG, "%s", reason ? reason : "no kernels for this machine");

    cpu_instance *instance = known.alloc(known.context, sizeof *instance, CPU_ALLOC_ALIGNMENT);
    if (!instance)
        return cpu_error(err, TNP_E_HOST_MEMORY, "start: no memory for %zu bytes",
                         sizeof *instance);
    *instance = (cpu_instance){
        .tag = CPU_TAG_INSTANCE,
        .device_count = settings.devices,
        .workers = workers_of_device(&known, &settings),
        .host = known,
        .options = settings.options,
        .kernels = kernels,
    };
    if (pthread_mutex_init(&instance->lock, NULL) != 0) {
        known.free(known.context, instance);
        return cpu_error(err, TNP_E_HOST_MEMORY, "start: no mutex can be made");
    }
    *out = (tnp_instance *)instance;
    return TNP_OK;
}

void cpu_stop(tnp_instance *handle)
{
    cpu_instance *instance = cpu_instance_from(handle);
    if (!instance)
        return;
    cpu_lock(instance);
    bool is_watched = instance->orphans > 0 || instance->hung > 0;   // by threads left over
    cpu_unlock(instance);
    if (is_watched)
        return;
    pthread_mutex_destroy(&instance->lock);
    cpu_free(instance, instance);
}

tnp_status cpu_device_count(tnp_instance *handle, uint32_t *count, tnp_error *err)
{
    cpu_instance *instance = cpu_instance_from(handle);
    if (!instance)
        return cpu_error(err, TNP_E_ARG, "device_count: not an instance of this plugin");
    *count = instance->device_count;
    return TNP_OK;
}

tnp_status cpu_device_info(tnp_instance *handle, uint32_t index, tnp_device_info *info,
                           tnp_error *err)
{
    cpu_instance *instance = cpu_instance_from(handle);
    if (!instance)
        return cpu_error(err, TNP_E_ARG, "device_info: not an instance of this plugin");
    if (index >= instance->device_count)
        return cpu_error(err, TNP_E_ARG, "device_info: index %u, there are %u devices", index,
                         instance->device_count);
    tnp_device_info own = {
        .size = sizeof own,
        .id = index,
        .kind = TNP_KIND_CPU,
        .memory_count = 1,
        .queue_count = 1,
        .copy_queue_count = 1,
        .update_bytes = CPU_MAX_UPDATE_BYTES,
        .flops_per_s = instance->workers * CPU_CORE_FLOPS_PER_S,
    };
    uint64_t available;
    snprintf(own.driver, sizeof own.driver, "Tenon cpu " CPU_PLUGIN_VERSION ", %s",
             instance->kernels->level);
    cpu_machine_name(own.name, sizeof own.name);
    cpu_machine_memory(&own.memory_bytes, &available);
    TNP_GIVE(info, &own);
    return TNP_OK;
}
