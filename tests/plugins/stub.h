// stub.h: a whole plugin with one software device that takes no work. A plugin of the tests defines
// what differs, then includes this file, which makes the manifest, the table and the query.
//
//   STUB_NAME STUB_VERSION STUB_CPU STUB_NEEDED      the manifest      STUB_OWN_NOTE: the plugin
//   has written it STUB_TABLE_SIZE STUB_ABI STUB_NOTE STUB_CLAIM    the table STUB_START STUB_STOP
//   STUB_CLOSE
//   STUB_DEVICE_COUNT STUB_DEVICE_INFO STUB_OWN_QUERY                                   the plugin
//   has its own query
#include <tenon/plugin.h>

#ifndef STUB_NAME
#define STUB_NAME "stub"
#endif
#ifndef STUB_VERSION
#define STUB_VERSION "1.0"
#endif
#ifndef STUB_CPU
#define STUB_CPU 0
#endif
#ifndef STUB_NEEDED
#define STUB_NEEDED TNP_ABI(1, 0)
#endif
#ifndef STUB_TABLE_SIZE
#define STUB_TABLE_SIZE sizeof(tnp_plugin)
#endif
#ifndef STUB_ABI
#define STUB_ABI TNP_ABI_CURRENT
#endif
#ifndef STUB_NOTE
#define STUB_NOTE &tnp_note_
#endif
#ifndef STUB_CLAIM
#define STUB_CLAIM stub_claim
#endif
#ifndef STUB_START
#define STUB_START stub_start
#endif
#ifndef STUB_STOP
#define STUB_STOP stub_stop
#endif
#ifndef STUB_CLOSE
#define STUB_CLOSE stub_device
#endif
#ifndef STUB_DEVICE_COUNT
#define STUB_DEVICE_COUNT stub_device_count
#endif
#ifndef STUB_DEVICE_INFO
#define STUB_DEVICE_INFO stub_device_info
#endif

#if defined(__x86_64__)
#define STUB_MACHINE 62
#else
#define STUB_MACHINE 183
#endif

#ifndef STUB_OWN_NOTE
TNP_MANIFEST(STUB_MACHINE, TNP_OS_LINUX, STUB_CPU, STUB_NEEDED, STUB_NAME, STUB_VERSION,
             "Tenon tests", "MIT");
#endif

#define STUB_UNUSED __attribute__((unused)) static

// What is handed out has to be an address; nothing is behind it.
static char stub_object;

static tnp_status stub_refuse(tnp_error *err)
{
    tnp_error said = { sizeof said, TNP_E_UNSUPPORTED, STUB_NAME " does no work" };
    TNP_GIVE(err, &said);
    return TNP_E_UNSUPPORTED;
}

STUB_UNUSED tnp_status stub_start(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    (void)host, (void)err;
    *out = (tnp_instance *)&stub_object;
    return TNP_OK;
}
STUB_UNUSED void stub_stop(tnp_instance *instance) { (void)instance; }
STUB_UNUSED tnp_status stub_device_count(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    (void)instance, (void)err;
    *count = 1;
    return TNP_OK;
}
STUB_UNUSED tnp_status stub_device_info(tnp_instance *instance, uint32_t index,
                                        tnp_device_info *info, tnp_error *err)
{
    (void)instance, (void)err;
    tnp_device_info own = { .size = sizeof own,
                            .id = index,
                            .name = "A Stub of " STUB_NAME,
                            .driver = STUB_VERSION,
                            .kind = TNP_KIND_SOFTWARE,
                            .memory_count = 1,
                            .update_bytes = 256 };
    TNP_GIVE(info, &own);
    return TNP_OK;
}
static tnp_status stub_open(tnp_instance *instance, const tnp_open *what, tnp_device **out,
                            tnp_error *err)
{
    (void)instance, (void)what, (void)err;
    *out = (tnp_device *)&stub_object;
    return TNP_OK;
}
STUB_UNUSED void stub_device(tnp_device *device)
{
    (void)device;
}
static tnp_status stub_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                                   tnp_error *err)
{
    (void)device, (void)memory, (void)info;
    return stub_refuse(err);
}
static tnp_status stub_link(tnp_device *from, tnp_device *to, tnp_link *link, tnp_error *err)
{
    (void)from, (void)to, (void)link;
    return stub_refuse(err);
}
static tnp_status stub_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                                    tnp_error *err)
{
    (void)device, (void)what, (void)out;
    return stub_refuse(err);
}
static void stub_buffer_free(tnp_buffer *buffer) { (void)buffer; }
static tnp_status stub_semaphore_create(tnp_device *device, const tnp_semaphore_options *how,
                                        tnp_semaphore **out, tnp_error *err)
{
    (void)device, (void)how, (void)out;
    return stub_refuse(err);
}
static void stub_semaphore_destroy(tnp_semaphore *semaphore) { (void)semaphore; }
static tnp_status stub_semaphore_read(tnp_semaphore *semaphore, uint64_t *value, tnp_error *err)
{
    (void)semaphore, (void)value;
    return stub_refuse(err);
}
static tnp_status stub_semaphore_signal(tnp_semaphore *semaphore, uint64_t value, tnp_error *err)
{
    (void)semaphore, (void)value;
    return stub_refuse(err);
}
static tnp_status stub_semaphore_fail(tnp_semaphore *semaphore, tnp_status why, const char *text,
                                      tnp_error *err)
{
    (void)semaphore, (void)why, (void)text;
    return stub_refuse(err);
}
static tnp_status stub_semaphore_wait(tnp_semaphore *semaphore, uint64_t value, uint64_t timeout_ns,
                                      tnp_error *err)
{
    (void)semaphore, (void)value, (void)timeout_ns;
    return stub_refuse(err);
}
static tnp_status stub_queue_create(tnp_device *device, const tnp_queue_options *how,
                                    tnp_queue **out, tnp_error *err)
{
    (void)device, (void)how, (void)out;
    return stub_refuse(err);
}
static void stub_queue_destroy(tnp_queue *queue) { (void)queue; }
static tnp_status stub_queue_copy(tnp_queue *queue, const tnp_copy *const *copies, uint32_t count,
                                  const tnp_sync *sync, tnp_error *err)
{
    (void)queue, (void)copies, (void)count, (void)sync;
    return stub_refuse(err);
}
static tnp_status stub_queue_submit(tnp_queue *queue, const tnp_submit *const *submits,
                                    uint32_t count, tnp_error *err)
{
    (void)queue, (void)submits, (void)count;
    return stub_refuse(err);
}
STUB_UNUSED tnp_status stub_claim(tnp_device *device, const tnp_slice *slice,
                                  const tnp_claim_sink *sink, tnp_error *err)
{
    (void)device, (void)slice, (void)sink, (void)err;
    return TNP_OK;
}
static tnp_status stub_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                               tnp_error *err)
{
    (void)device, (void)what, (void)out;
    return stub_refuse(err);
}
static void stub_program_destroy(tnp_program *program) { (void)program; }
static tnp_status stub_bind(tnp_program *program, const tnp_bind *what, tnp_bound **out,
                            tnp_error *err)
{
    (void)program, (void)what, (void)out;
    return stub_refuse(err);
}
static void stub_unbind(tnp_bound *bound) { (void)bound; }
static const void *stub_extension(tnp_instance *instance, const char *name)
{
    (void)instance, (void)name;
    return NULL;
}

STUB_UNUSED const tnp_plugin stub_table = {
    .size = STUB_TABLE_SIZE,
    .abi = STUB_ABI,
    .note = STUB_NOTE,
    .start = STUB_START,
    .stop = STUB_STOP,
    .device_count = STUB_DEVICE_COUNT,
    .device_info = STUB_DEVICE_INFO,
    .open = stub_open,
    .close = STUB_CLOSE,
    .abandon = stub_device,
    .memory_info = stub_memory_info,
    .link = stub_link,
    .buffer_alloc = stub_buffer_alloc,
    .buffer_free = stub_buffer_free,
    .semaphore_create = stub_semaphore_create,
    .semaphore_destroy = stub_semaphore_destroy,
    .semaphore_read = stub_semaphore_read,
    .semaphore_signal = stub_semaphore_signal,
    .semaphore_fail = stub_semaphore_fail,
    .semaphore_wait = stub_semaphore_wait,
    .queue_create = stub_queue_create,
    .queue_destroy = stub_queue_destroy,
    .queue_copy = stub_queue_copy,
    .queue_submit = stub_queue_submit,
    .claim = STUB_CLAIM,
    .compile = stub_compile,
    .program_destroy = stub_program_destroy,
    .bind = stub_bind,
    .unbind = stub_unbind,
    .extension = stub_extension,
};

#ifndef STUB_OWN_QUERY
const tnp_plugin *tenon_plugin_query(uint32_t host_abi, tnp_error *err)
{
    (void)host_abi, (void)err;
    return &stub_table;
}
#endif
