// device.c: open devices. All of them are this machine's cores and its RAM, so each may read, copy
// and wait for what another one of the same instance has.
#include "cpu.h"
#include "machine.h"
#include "queue.h"
#include "semaphore.h"

cpu_device *cpu_device_from(tnp_device *device)
{
    cpu_device *d = (cpu_device *)device;
    return d && d->tag == CPU_TAG_DEVICE ? d : NULL;
}

bool cpu_device_is_lost(cpu_device *device)
{
    cpu_lock(device->instance);
    bool is_lost = device->is_lost;
    cpu_unlock(device->instance);
    return is_lost;
}

tnp_status cpu_open(tnp_instance *handle, const tnp_open *what, tnp_device **out, tnp_error *err)
{
    cpu_instance *instance = cpu_instance_from(handle);
    tnp_open how;
    if (!instance)
        return cpu_error(err, TNP_E_ARG, "open: not an instance of this plugin");
    if (!TNP_TAKE(&how, what) || TNP_ALIEN(how.flags, 0))
        return cpu_error(err, TNP_E_UNSUPPORTED, "open: asks for what this plugin does not know");
    if (how.id >= instance->device_count)
        return cpu_error(err, TNP_E_ARG, "open: no device has the id %llu",
                         (unsigned long long)how.id);
    cpu_device *device = cpu_alloc(instance, sizeof *device);
    if (!device)
        return cpu_error(err, TNP_E_HOST_MEMORY, "open: no memory for %zu bytes", sizeof *device);
    device->tag = CPU_TAG_DEVICE;
    device->instance = instance;
    *out = (tnp_device *)device;
    return TNP_OK;
}

void cpu_close(tnp_device *handle)
{
    cpu_device *device = cpu_device_from(handle);
    if (!device)
        return;
    cpu_lock(device->instance);
    bool is_watched = device->orphans > 0 || device->instance->hung > 0;
    cpu_unlock(device->instance);
    if (!is_watched)
        cpu_free(device->instance, device);
}

void cpu_abandon(tnp_device *handle)
{
    cpu_device *device = cpu_device_from(handle);
    if (!device)
        return;
    cpu_lock(device->instance);
    if (!device->is_lost) {
        device->is_lost = true;
        cpu_queues_lose(device);
        cpu_semaphores_lose(device);
    }
    cpu_unlock(device->instance);
}

tnp_status cpu_memory_info(tnp_device *handle, uint32_t memory, tnp_memory_info *info,
                           tnp_error *err)
{
    cpu_device *device = cpu_device_from(handle);
    if (!device)
        return cpu_error(err, TNP_E_ARG, "memory_info: not a device of this plugin");
    if (memory != 0)
        return cpu_error(err, TNP_E_ARG, "memory_info: memory %u, there is only memory 0", memory);
    tnp_memory_info own = {
        .size = sizeof own,
        .flags = TNP_MEMORY_ALLOC | TNP_MEMORY_IMPORT | TNP_MEMORY_BIND | TNP_MEMORY_HOST_VISIBLE |
                 TNP_MEMORY_HOST_CACHED,
        .pool = 1,
        .alignment_bytes = CPU_ALIGNMENT,
        .import_alignment_bytes = 1,
        .max_binding_bytes = INT64_MAX,   // a mapped file may be larger than the RAM
        .bytes_per_s = (uint64_t)cpu_machine_bytes_per_s(device->instance->workers),
    };
    cpu_machine_memory(&own.total_bytes, &own.free_bytes);
    own.max_buffer_bytes = own.total_bytes;
    TNP_GIVE(info, &own);
    return TNP_OK;
}

tnp_status cpu_link(tnp_device *from, tnp_device *to, tnp_link *link, tnp_error *err)
{
    cpu_device *a = cpu_device_from(from), *b = cpu_device_from(to);
    if ((from && !a) || (to && !b) || (!a && !b))
        return cpu_error(err, TNP_E_ARG, "link: not a device of this plugin");
    tnp_link own = {
        .size = sizeof own,
        .bytes_per_s = (uint64_t)CPU_CORE_BYTES_PER_S,   // one thread copies
        .latency_ns = 1000,
    };
    if (a && b && a->instance == b->instance)
        own.flags = TNP_LINK_COPY | TNP_LINK_WAIT | TNP_LINK_BIND;
    TNP_GIVE(link, &own);
    return TNP_OK;
}
