// cpu.h: the objects of this plugin that several files share, and the few helpers that all of them
// use. The queues are in queue.h, compiled slices in program.h, the seam to the ops in op.h.
//
// There is no state outside an instance. One mutex, cpu_instance.lock, guards all that several
// threads change: the semaphores, the rings of the queues and the lists. It is never held while
// work runs or the host is called, so a call that takes it returns at once, whatever else hangs.
#ifndef CPU_H
#define CPU_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>

#include "op.h"

#define CPU_ALIGNMENT 32u          // of buffers and bindings: that of tensors in a GGUF file
#define CPU_ALLOC_ALIGNMENT 64u    // a cache line; what this plugin asks of the host
#define CPU_MAX_DEVICES 16u
#define CPU_MAX_UPDATE_BYTES (1u << 20)
#define CPU_TEXT_BYTES sizeof(((tnp_error *)0)->text)

// The first member of each object: a handle that comes back is checked against it.
enum {
    CPU_TAG_INSTANCE = 0x43505501,
    CPU_TAG_DEVICE,
    CPU_TAG_BUFFER,
    CPU_TAG_SEMAPHORE,
    CPU_TAG_QUEUE,
    CPU_TAG_PROGRAM,
    CPU_TAG_BOUND,
};

typedef struct cpu_instance cpu_instance;
typedef struct cpu_device cpu_device;
typedef struct cpu_buffer cpu_buffer;
typedef struct cpu_semaphore cpu_semaphore;
typedef struct cpu_queue cpu_queue;
typedef struct cpu_program cpu_program;
typedef struct cpu_bound cpu_bound;

struct cpu_instance {
    uint32_t tag;
    uint32_t device_count;
    uint32_t workers;              // wanted of the host's team by each device
    tnp_host host;
    cpu_options options;
    const cpu_kernels *kernels;
    pthread_mutex_t lock;
    cpu_queue *queues;             // of all devices
    // Pieces of work of abandoned devices that still run: what they may touch is not freed.
    uint32_t hung;
    // Threads that an abandoned device left over: they may still look at this struct.
    uint32_t orphans;
};

struct cpu_device {
    uint32_t tag;
    cpu_instance *instance;
    cpu_semaphore *semaphores;
    bool is_lost;                  // abandoned; under the lock
    uint32_t orphans;              // of this device
};

struct cpu_buffer {
    uint32_t tag;
    bool is_imported, is_read_only;
    cpu_device *device;
    char *data;
    uint64_t bytes;
};

// Handles: NULL when the object is none of ours.
cpu_instance *cpu_instance_from(tnp_instance *instance);
cpu_device *cpu_device_from(tnp_device *device);
cpu_buffer *cpu_buffer_from(tnp_buffer *buffer);

// Fills err and returns status, so that a failing call ends in one line. The text is cut at a
// character's border.
tnp_status cpu_error(tnp_error *err, tnp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void cpu_text_copy(char to[CPU_TEXT_BYTES], const char *from);

// Zeroed bytes of the host, NULL when there are none; given back by cpu_free.
void *cpu_alloc(cpu_instance *instance, uint64_t bytes);
void cpu_free(cpu_instance *instance, void *pointer);

void cpu_lock(cpu_instance *instance);
void cpu_unlock(cpu_instance *instance);
bool cpu_device_is_lost(cpu_device *device);   // takes the lock
tnp_status cpu_error_lost(tnp_error *err);

// Whether work of an abandoned device may still touch memory: then nothing is freed, as the
// contract says. Takes the lock.
bool cpu_must_leak(cpu_instance *instance);

// Checked sums and products: false when the result does not fit.
static inline bool cpu_add(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool cpu_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

// Appends an array to a layout, at a multiple of 16: *offset is where it goes, *bytes the new end.
static inline bool cpu_layout_add(uint64_t count, uint64_t element_bytes, uint64_t *offset,
                                  uint64_t *bytes)
{
    uint64_t size;
    *offset = *bytes;
    if (!cpu_mul(count, element_bytes, &size) || !cpu_add(*bytes, size, bytes) ||
        !cpu_add(*bytes, 15, bytes))
        return false;
    *bytes &= ~(uint64_t)15;
    return true;
}

// The calls of the plugin's table, each beside what it works on.
tnp_status cpu_start(const tnp_host *host, tnp_instance **out, tnp_error *err);
void cpu_stop(tnp_instance *instance);
tnp_status cpu_device_count(tnp_instance *instance, uint32_t *count, tnp_error *err);
tnp_status cpu_device_info(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                           tnp_error *err);

tnp_status cpu_open(tnp_instance *instance, const tnp_open *what, tnp_device **out, tnp_error *err);
void cpu_close(tnp_device *device);
void cpu_abandon(tnp_device *device);
tnp_status cpu_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                           tnp_error *err);
tnp_status cpu_link(tnp_device *from, tnp_device *to, tnp_link *link, tnp_error *err);

tnp_status cpu_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                            tnp_error *err);
tnp_status cpu_buffer_import(tnp_device *device, const tnp_import *what, tnp_buffer **out,
                             tnp_error *err);
tnp_status cpu_buffer_map(tnp_buffer *buffer, void **out, tnp_error *err);
void cpu_buffer_free(tnp_buffer *buffer);

tnp_status cpu_claim(tnp_device *device, const tnp_slice *slice, const tnp_claim_sink *sink,
                     tnp_error *err);

#endif
