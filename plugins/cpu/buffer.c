// buffer.c: bytes of the host's RAM, allocated or lent by the host.
#include "cpu.h"

cpu_buffer *cpu_buffer_from(tnp_buffer *buffer)
{
    cpu_buffer *b = (cpu_buffer *)buffer;
    return b && b->tag == CPU_TAG_BUFFER ? b : NULL;
}

tnp_status cpu_buffer_alloc(tnp_device *handle, const tnp_alloc *what, tnp_buffer **out,
                            tnp_error *err)
{
    cpu_device *device = cpu_device_from(handle);
    tnp_alloc how;
    if (!device)
        return cpu_error(err, TNP_E_ARG, "buffer_alloc: not a device of this plugin");
    if (!TNP_TAKE(&how, what) || TNP_ALIEN(how.flags, 0))
        return cpu_error(err, TNP_E_UNSUPPORTED,
                         "buffer_alloc: asks for what this plugin does not know");
    if (how.memory != 0 || how.bytes == 0)
        return cpu_error(err, TNP_E_ARG,
                         "buffer_alloc: %llu bytes of memory %u; there is only memory 0",
                         (unsigned long long)how.bytes, how.memory);
    if (cpu_device_is_lost(device))
        return cpu_error_lost(err);

    cpu_instance *instance = device->instance;
    cpu_buffer *buffer = cpu_alloc(instance, sizeof *buffer);
    if (!buffer)
        return cpu_error(err, TNP_E_HOST_MEMORY, "buffer_alloc: no memory for %zu bytes",
                         sizeof *buffer);
    *buffer = (cpu_buffer){
        .tag = CPU_TAG_BUFFER,
        .device = device,
        .data = instance->host.alloc(instance->host.context, how.bytes, CPU_ALLOC_ALIGNMENT),
        .bytes = how.bytes,
    };
    if (!buffer->data) {
        cpu_free(instance, buffer);
        return cpu_error(err, TNP_E_DEVICE_MEMORY, "buffer_alloc: the host has no %llu bytes",
                        (unsigned long long)how.bytes);
    }
    *out = (tnp_buffer *)buffer;
    return TNP_OK;
}

tnp_status cpu_buffer_import(tnp_device *handle, const tnp_import *what, tnp_buffer **out,
                             tnp_error *err)
{
    cpu_device *device = cpu_device_from(handle);
    tnp_import how;
    uint64_t end;
    if (!device)
        return cpu_error(err, TNP_E_ARG, "buffer_import: not a device of this plugin");
    if (!TNP_TAKE(&how, what) || TNP_ALIEN(how.flags, TNP_IMPORT_READ_ONLY) ||
        how.kind != TNP_IMPORT_HOST)
        return cpu_error(err, TNP_E_UNSUPPORTED, "buffer_import: only host memory can be imported");
    if (how.memory != 0 || how.handle == 0 || how.bytes == 0 ||
        !cpu_add(how.handle, how.bytes, &end))
        return cpu_error(
            err, TNP_E_ARG,
            "buffer_import: %llu bytes at 0x%llx of memory %u are no range of memory 0",
            (unsigned long long)how.bytes, (unsigned long long)how.handle, how.memory);
    if (cpu_device_is_lost(device))
        return cpu_error_lost(err);

    cpu_buffer *buffer = cpu_alloc(device->instance, sizeof *buffer);
    if (!buffer)
        return cpu_error(err, TNP_E_HOST_MEMORY, "buffer_import: no memory for %zu bytes",
                         sizeof *buffer);
    *buffer = (cpu_buffer){
        .tag = CPU_TAG_BUFFER,
        .is_imported = true,
        .is_read_only = (how.flags & TNP_IMPORT_READ_ONLY) != 0,
        .device = device,
        .data = (char *)(uintptr_t)how.handle,
        .bytes = how.bytes,
    };
    *out = (tnp_buffer *)buffer;
    return TNP_OK;
}

tnp_status cpu_buffer_map(tnp_buffer *handle, void **out, tnp_error *err)
{
    cpu_buffer *buffer = cpu_buffer_from(handle);
    if (!buffer)
        return cpu_error(err, TNP_E_ARG, "buffer_map: not a buffer of this plugin");
    *out = buffer->data;
    return TNP_OK;
}

void cpu_buffer_free(tnp_buffer *handle)
{
    cpu_buffer *buffer = cpu_buffer_from(handle);
    if (!buffer || cpu_must_leak(buffer->device->instance))
        return;
    cpu_instance *instance = buffer->device->instance;
    if (!buffer->is_imported)
        cpu_free(instance, buffer->data);
    cpu_free(instance, buffer);
}
