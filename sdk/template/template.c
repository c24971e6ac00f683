// template.c: the manifest, the instance, the device, the table.
#include "template.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

// Stands in the file, and is read before any code of it runs. The fourth is the oldest host that
// will do.
TNP_MANIFEST(MACHINE, TNP_OS_LINUX, 0, TNP_ABI(1, 0), TPL_NAME, TPL_VERSION, TPL_VENDOR,
             TPL_LICENSE);

tnp_status tpl_fail(tnp_error *err, tnp_status status, const char *format, ...)
{
    tnp_error own = { .size = sizeof own, .status = status };
    va_list arguments;
    va_start(arguments, format);
    size_t end = (size_t)vsnprintf(own.text, sizeof own.text, format, arguments);
    va_end(arguments);
    if (end >= sizeof own.text) {   // without the last character, of which a part may be missing
        for (end = sizeof own.text - 1; end && (own.text[end - 1] & 0xc0) == 0x80; end--)
            ;
        own.text[end ? end - 1 : 0] = 0;
    }
    TNP_GIVE(err, &own);   // as much as the host's struct has room for
    return status;
}
tnp_status tpl_fail_lost(tnp_error *err)
{
    return tpl_fail(err, TNP_E_DEVICE_LOST, "the device was abandoned");
}
tnp_status tpl_fail_unknown(tnp_error *err, const char *call)
{
    return tpl_fail(err, TNP_E_UNSUPPORTED, "%s: asks for what this plugin does not know", call);
}

void *tpl_make(const tnp_host *host, uint64_t bytes)
{
    void *made = host->alloc(host->context, bytes, TPL_ALIGNMENT);
    return made ? memset(made, 0, bytes) : NULL;
}
void tpl_free(const tnp_host *host, void *memory)
{
    host->free(host->context, memory);
}

// --------------------------------------------------------------------------------------- instance

static tnp_status start(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    tnp_instance *instance = tpl_make(host, sizeof *instance);
    if (!instance)
        return tpl_fail(err, TNP_E_HOST_MEMORY, "start: no memory for %zu bytes", sizeof *instance);
    instance->host = host;   // valid until stop returns
    *out = instance;
    return TNP_OK;
}
static void stop(tnp_instance *instance)
{
    tpl_free(instance->host, instance);
}

// Called to list devices, perhaps never followed by open: nothing is opened or allocated here.
static tnp_status device_count(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    (void)instance, (void)err;
    *count = 1;
    return TNP_OK;
}
static tnp_status device_info(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                              tnp_error *err)
{
    (void)instance;
    if (index > 0)
        return tpl_fail(err, TNP_E_ARG, "device_info: no device %u", index);
    tnp_device_info own = {
        // no pci, no uuid: no other plugin can offer this device
        .size = sizeof own,
        .id = TPL_DEVICE_ID,
        .name = TPL_DEVICE,
        .driver = "none",
        .kind = TNP_KIND_ACCELERATOR,
        .memory_count = 1,
        .queue_count = 1,
        .copy_queue_count = 1,
        .update_bytes = TPL_UPDATE_BYTES,
        .memory_bytes = TPL_MEMORY_BYTES,
    };
    TNP_GIVE(info, &own);
    return TNP_OK;
}

// ----------------------------------------------------------------------------------------- device

// CLOCK_MONOTONIC, so that a time-out does not change when somebody sets the clock.
static int init_changed(pthread_cond_t *changed)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return 0;
    int is_made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                  pthread_cond_init(changed, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return is_made;
}
static tnp_status open_device(tnp_instance *instance, const tnp_open *from, tnp_device **out,
                              tnp_error *err)
{
    tnp_open what;
    if (!TNP_TAKE(&what, from) ||
        TNP_ALIEN(what.flags, 0))   // so begins every call that is told something
        return tpl_fail_unknown(err, "open");
    if (what.id != TPL_DEVICE_ID)
        return tpl_fail(err, TNP_E_ARG, "open: no device has the id %llu",
                        (unsigned long long)what.id);
    tnp_device *device = tpl_make(instance->host, sizeof *device);
    if (!device || pthread_mutex_init(&device->lock, NULL) != 0)
        goto no_lock;
    if (!init_changed(&device->changed))
        goto no_condition;
    device->host = instance->host;
    *out = device;
    return TNP_OK;
no_condition:
    pthread_mutex_destroy(&device->lock);
no_lock:
    tpl_free(instance->host, device);
    return tpl_fail(err, TNP_E_HOST_MEMORY, "open: no memory for a device");
}
static void close_device(tnp_device *device)
{
    pthread_cond_destroy(&device->changed);
    pthread_mutex_destroy(&device->lock);
    tpl_free(device->host, device);
}
static tnp_status link_devices(tnp_device *from, tnp_device *to, tnp_link *link, tnp_error *err)
{
    (void)from, (void)to, (void)err;
    tnp_link none = { .size = sizeof none };   // no flag: the host copies by way of its own memory
    TNP_GIVE(link, &none);
    return TNP_OK;
}

// ------------------------------------------------------------------------------------------ table

static const void *no_extension(tnp_instance *instance, const char *name)
{
    (void)instance, (void)name;
    return NULL;
}

static const tnp_plugin table = {
    // left out, as optional: buffer_import, buffer_map, pack
    .size = sizeof table,
    .abi = TNP_ABI_CURRENT,
    .note = &tnp_note_,
    .start = start,
    .stop = stop,
    .device_count = device_count,
    .device_info = device_info,
    .open = open_device,
    .close = close_device,
    .abandon = tpl_abandon,
    .memory_info = tpl_memory_info,
    .link = link_devices,
    .buffer_alloc = tpl_buffer_alloc,
    .buffer_free = tpl_buffer_free,
    .semaphore_create = tpl_semaphore_create,
    .semaphore_destroy = tpl_semaphore_destroy,
    .semaphore_read = tpl_semaphore_read,
    .semaphore_signal = tpl_semaphore_signal,
    .semaphore_fail = tpl_semaphore_fail,
    .semaphore_wait = tpl_semaphore_wait,
    .semaphore_notify = tpl_semaphore_notify,
    .queue_create = tpl_queue_create,
    .queue_destroy = tpl_queue_destroy,
    .queue_copy = tpl_queue_copy,
    .queue_submit = tpl_queue_submit,
    .claim = tpl_claim,
    .compile = tpl_compile,
    .program_destroy = tpl_program_destroy,
    .bind = tpl_bind,
    .unbind = tpl_unbind,
    .extension = no_extension,
};

// The one exported symbol. A host of another major cannot even read the table.
const tnp_plugin *TNP_QUERY(uint32_t host_abi, tnp_error *err)
{
    if (host_abi >> 16 == TNP_ABI_CURRENT >> 16)
        return &table;
    tpl_fail(err, TNP_E_VERSION, "the host speaks contract %u, this plugin %u", host_abi >> 16,
             TNP_ABI_CURRENT >> 16);
    return NULL;
}
