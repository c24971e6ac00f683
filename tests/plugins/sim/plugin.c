// plugin.c: the manifest, the instance, its devices, the table.
#include <elf.h>
#include <stdarg.h>
#include <stdio.h>

#include "sim.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

TNP_MANIFEST(MACHINE, TNP_OS_LINUX, 0, TNP_ABI(1, 0), "sim", "1.0", "Tenon tests", "Apache-2.0");

// ------------------------------------------------------------------------------------------ errors

static void cut_at_character(char *text, size_t length)
{
    size_t start = length;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xc0u) == 0x80u)
        start--;
    text[start > 0 ? start - 1 : 0] = 0;
}

tnp_status sim_fail(tnp_error *err, tnp_status status, const char *format, ...)
{
    tnp_error own = { .size = sizeof own, .status = status };
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(own.text, sizeof own.text, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof own.text)
        cut_at_character(own.text, sizeof own.text - 1);
    TNP_GIVE(err, &own);
    return status;
}

tnp_status sim_fail_lost(const tnp_device *device, tnp_error *err)
{
    char room[32];
    return sim_fail(err, TNP_E_DEVICE_LOST, "device %s is lost",
                    sim_chip_name(device->instance, device->chip, room));
}

tnp_status sim_fail_unknown(tnp_error *err, const char *call)
{
    return sim_fail(err, TNP_E_UNSUPPORTED, "%s: asks for what this plugin does not know", call);
}

void sim_log(const tnp_instance *instance, int32_t level, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    instance->host.log(instance->host.context, level, text);
}

const char *sim_chip_name(const tnp_instance *instance, const sim_chip *chip, char room[32])
{
    if (chip->spec.name[0])
        return chip->spec.name;
    snprintf(room, 32, "%zu", (size_t)(chip - instance->chips));
    return room;
}

// ---------------------------------------------------------------------------------------- instance

void *sim_make(const tnp_instance *instance, uint64_t bytes)
{
    void *made = instance->host.alloc(instance->host.context, bytes, SIM_ALIGNMENT);
    return made ? memset(made, 0, bytes) : NULL;
}

void sim_free(const tnp_instance *instance, void *memory)
{
    instance->host.free(instance->host.context, memory);
}

void sim_count_object(tnp_instance *instance, int32_t change)
{
    pthread_mutex_lock(&instance->lock);
    instance->alive += (uint32_t)change;
    pthread_mutex_unlock(&instance->lock);
}

// CLOCK_MONOTONIC, so that a time-out does not change when somebody sets the clock.
static bool init_changed(pthread_cond_t *changed)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool is_made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                   pthread_cond_init(changed, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return is_made;
}

static bool init_locks(tnp_instance *instance)
{
    if (pthread_mutex_init(&instance->lock, NULL) != 0)
        return false;
    if (pthread_mutex_init(&instance->bytes, NULL) != 0)
        goto no_bytes;
    if (init_changed(&instance->changed))
        return true;
    pthread_mutex_destroy(&instance->bytes);
no_bytes:
    pthread_mutex_destroy(&instance->lock);
    return false;
}

// A call on the plugin is one on each of its devices: the first that is told to makes it fail.
static tnp_status enter_all(tnp_instance *instance, sim_call call, tnp_error *err)
{
    tnp_status status = TNP_OK;
    for (uint32_t i = 0; i < instance->chip_count && status == TNP_OK; i++)
        status = sim_enter(instance, &instance->chips[i], NULL, call, err);
    return status;
}

static tnp_status start(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    tnp_instance first = { .chip_count = 0 };
    (void)TNP_TAKE(&first.host, host);   // of a table, a tail that is not known is ignored
    tnp_instance *instance = sim_make(&first, sizeof *instance);
    if (!instance)
        return sim_fail(err, TNP_E_HOST_MEMORY, "start: no memory for %zu bytes", sizeof *instance);
    *instance = first;
    if (!init_locks(instance)) {
        sim_free(instance, instance);
        return sim_fail(err, TNP_E_HOST_MEMORY, "start: no lock can be made");
    }
    instance->start_ns = instance->host.now_ns(instance->host.context);
    tnp_status status = sim_settings_read(instance, err);
    if (status == TNP_OK)
        status = enter_all(instance, SIM_CALL_start, err);
    if (status == TNP_OK)
        status = sim_cpu_load(instance, err);
    if (status == TNP_OK) {
        *out = instance;
        return TNP_OK;
    }
    sim_settings_release(instance);
    pthread_cond_destroy(&instance->changed);
    pthread_mutex_destroy(&instance->bytes);
    pthread_mutex_destroy(&instance->lock);
    sim_free(&first, instance);
    return status;
}

// So that a test knows at which calls something can fail.
static void tell_calls(const tnp_instance *instance)
{
    char room[32];
    for (uint32_t i = 0; i < instance->chip_count; i++)
        for (sim_call call = 0; call < SIM_CALL_COUNT; call++)
            if (instance->chips[i].calls[call])
                sim_log(instance, 2, "device %s: %llu calls of %s",
                        sim_chip_name(instance, &instance->chips[i], room),
                        (unsigned long long)instance->chips[i].calls[call], sim_call_name(call));
}

static void stop(tnp_instance *instance)
{
    sim_engine_stop(instance);
    tell_calls(instance);
    if (instance->alive)
        sim_log(instance, 0, "%u objects were not given back", instance->alive);
    sim_cpu_unload(instance);
    sim_settings_release(instance);
    pthread_cond_destroy(&instance->changed);
    pthread_mutex_destroy(&instance->bytes);
    pthread_mutex_destroy(&instance->lock);
    tnp_instance last = *instance;   // its host is needed once more
    sim_free(&last, instance);
}

static tnp_status device_count(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    tnp_status status = enter_all(instance, SIM_CALL_device_count, err);
    if (status != TNP_OK)
        return status;
    if (instance->chip_count == 0)
        (void)sim_fail(err, TNP_OK, "no devices are described: set plugin.sim.devices");
    *count = instance->chip_count;
    return TNP_OK;
}

static tnp_status device_info(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                              tnp_error *err)
{
    if (index >= instance->chip_count)
        return sim_fail(err, TNP_E_ARG, "device_info: index %u, there are %u devices", index,
                        instance->chip_count);
    sim_chip *chip = &instance->chips[index];
    const sim_spec *spec = &chip->spec;
    tnp_status status = sim_enter(instance, chip, NULL, SIM_CALL_device_info, err);
    if (status != TNP_OK)
        return status;
    tnp_device_info own = {
        .size = sizeof own,
        .id = index,
        .name = "Simulated device",
        .driver = "Tenon sim 1.0, computes on the CPU",
        .kind = spec->kind,
        .memory_count = 1,
        .queue_count = 1,
        .copy_queue_count = 1,
        .update_bytes = spec->update_bytes,
        .memory_bytes = spec->memory_bytes,
        .flops_per_s = spec->gflops * 1e9,
    };
    if (spec->name[0])
        snprintf(own.name, sizeof own.name, "%s", spec->name);
    TNP_GIVE(info, &own);
    return TNP_OK;
}

// ------------------------------------------------------------------------------------------ device

static tnp_status open_device(tnp_instance *instance, const tnp_open *from, tnp_device **out,
                              tnp_error *err)
{
    tnp_open what;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return sim_fail_unknown(err, "open");
    if (what.id >= instance->chip_count)
        return sim_fail(err, TNP_E_ARG, "open: no device has the id %llu",
                        (unsigned long long)what.id);
    sim_chip *chip = &instance->chips[what.id];
    tnp_status status = sim_enter(instance, chip, NULL, SIM_CALL_open, err);
    if (status != TNP_OK)
        return status;
    tnp_device *device = sim_make(instance, sizeof *device);
    if (!device)
        return sim_fail(err, TNP_E_HOST_MEMORY, "open: no memory for %zu bytes", sizeof *device);
    device->instance = instance;
    device->chip = chip;
    status = sim_cpu_open(device, err);
    if (status != TNP_OK) {
        sim_free(instance, device);
        return status;
    }
    pthread_mutex_lock(&instance->lock);
    device->is_lost = chip->is_lost;   // meanwhile
    device->next = instance->devices;
    instance->devices = device;
    instance->alive++;
    pthread_mutex_unlock(&instance->lock);
    *out = device;
    return TNP_OK;
}

static void close_device(tnp_device *device)
{
    sim_enter_end(device, SIM_CALL_close);
    tnp_instance *instance = device->instance;
    pthread_mutex_lock(&instance->lock);
    tnp_device **link = &instance->devices;
    while (*link != device)
        link = &(*link)->next;
    *link = device->next;
    instance->alive--;
    pthread_mutex_unlock(&instance->lock);
    sim_cpu_close(device);
    sim_free(instance, device);
}

static double at_least(double a, double b)
{
    return a > b ? a : b;
}

static tnp_status link_devices(tnp_device *from, tnp_device *to, tnp_link *link, tnp_error *err)
{
    tnp_device *asked = from ? from : to;
    if (!asked)
        return sim_fail(err, TNP_E_ARG, "link: from the host to the host");
    tnp_status status = sim_enter(asked->instance, asked->chip, asked, SIM_CALL_link, err);
    if (status != TNP_OK)
        return status;
    const sim_spec *a = &asked->chip->spec, *b = from && to ? &to->chip->spec : a;
    double gbps = a->link_gbps < b->link_gbps ? a->link_gbps : b->link_gbps;
    tnp_link own = { .size = sizeof own };
    bool is_joined = !from || !to || (from->instance == to->instance && a->is_peer && b->is_peer);
    if (is_joined) {
        own.flags = from && to ? TNP_LINK_COPY | TNP_LINK_WAIT : 0;
        own.bytes_per_s = (uint64_t)at_least(gbps * 1e9, 1);
        own.latency_ns = (uint64_t)(at_least(a->latency_us, b->latency_us) * 1e3);
    }
    TNP_GIVE(link, &own);
    return TNP_OK;
}

// ------------------------------------------------------------------------------------------- table

static const void *no_extension(tnp_instance *instance, const char *name)
{
    (void)instance, (void)name;
    return NULL;
}

static const tnp_plugin table = {
    // without pack: no claim asks for one
    .size = sizeof table,
    .abi = TNP_ABI_CURRENT,
    .note = &tnp_note_,
    .start = start,
    .stop = stop,
    .device_count = device_count,
    .device_info = device_info,
    .open = open_device,
    .close = close_device,
    .abandon = sim_abandon,
    .memory_info = sim_memory_info,
    .link = link_devices,
    .buffer_alloc = sim_buffer_alloc,
    .buffer_import = sim_buffer_import,
    .buffer_map = sim_buffer_map,
    .buffer_free = sim_buffer_free,
    .semaphore_create = sim_semaphore_create,
    .semaphore_destroy = sim_semaphore_destroy,
    .semaphore_read = sim_semaphore_read,
    .semaphore_signal = sim_semaphore_signal,
    .semaphore_fail = sim_semaphore_fail,
    .semaphore_wait = sim_semaphore_wait,
    .semaphore_notify = sim_semaphore_notify,
    .queue_create = sim_queue_create,
    .queue_destroy = sim_queue_destroy,
    .queue_copy = sim_queue_copy,
    .queue_submit = sim_queue_submit,
    .claim = sim_claim,
    .compile = sim_compile,
    .program_destroy = sim_program_destroy,
    .bind = sim_bind,
    .unbind = sim_unbind,
    .extension = no_extension,
};

const tnp_plugin *TNP_QUERY(uint32_t host_abi, tnp_error *err)
{
    if (host_abi >> 16 == TNP_ABI_CURRENT >> 16)
        return &table;
    (void)sim_fail(err, TNP_E_VERSION, "the host speaks contract %u, this plugin %u",
                   host_abi >> 16, TNP_ABI_CURRENT >> 16);
    return NULL;
}
