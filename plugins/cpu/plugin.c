// plugin.c: the manifest, the table, and the one exported symbol.
#include <elf.h>

#include "cpu.h"
#include "pack.h"
#include "program.h"
#include "queue.h"
#include "semaphore.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "the machine's ELF number is not listed here"
#endif

_Static_assert(sizeof(void *) == 8, "64-bit only");

TNP_MANIFEST(MACHINE, TNP_OS_LINUX, 0, TNP_ABI(1, 0), "cpu", CPU_PLUGIN_VERSION, "Tenon",
             "Apache-2.0");

static const void *no_extension(tnp_instance *instance, const char *name)
{
    (void)instance;
    (void)name;
    return NULL;
}

static const tnp_plugin table = {
    .size = sizeof table,
    .abi = TNP_ABI_CURRENT,
    .note = &tnp_note_,
    .start = cpu_start,
    .stop = cpu_stop,
    .device_count = cpu_device_count,
    .device_info = cpu_device_info,
    .open = cpu_open,
    .close = cpu_close,
    .abandon = cpu_abandon,
    .memory_info = cpu_memory_info,
    .link = cpu_link,
    .buffer_alloc = cpu_buffer_alloc,
    .buffer_import = cpu_buffer_import,
    .buffer_map = cpu_buffer_map,
    .buffer_free = cpu_buffer_free,
    .semaphore_create = cpu_semaphore_create,
    .semaphore_destroy = cpu_semaphore_destroy,
    .semaphore_read = cpu_semaphore_read,
    .semaphore_signal = cpu_semaphore_signal,
    .semaphore_fail = cpu_semaphore_fail,
    .semaphore_wait = cpu_semaphore_wait,
    .semaphore_notify = cpu_semaphore_notify,
    .queue_create = cpu_queue_create,
    .queue_destroy = cpu_queue_destroy,
    .queue_copy = cpu_queue_copy,
    .queue_submit = cpu_queue_submit,
    .claim = cpu_claim,
    .pack = cpu_pack,
    .compile = cpu_compile,
    .program_destroy = cpu_program_destroy,
    .bind = cpu_bind,
    .unbind = cpu_unbind,
    .extension = no_extension,
};

const tnp_plugin *TNP_QUERY(uint32_t host_abi, tnp_error *err)
{
    if (host_abi >> 16 != TNP_ABI_CURRENT >> 16) {
        cpu_error(err, TNP_E_VERSION, "the host speaks version %u of the contract, this plugin %u",
                  host_abi >> 16, TNP_ABI_CURRENT >> 16);
        return NULL;
    }
    return &table;
}
