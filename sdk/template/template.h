// template.h: the inside of a plugin with one device of its own memory and one op, silu.
//
// To make a plugin of yours: copy this folder, write its name in the first lines of CMakeLists.txt,
// then put your chip in its place:
//
//   template.c   manifest, table, instance, device    your driver's open
//   memory.c     buffers and copies                   your driver's memory
//   program.c    what is taken, how it is computed    your compiler and your kernels
//   timeline.c   semaphores: a lock, a condition      keep these two, or use
//   queue.c      queues: a ring, a thread             what your driver has
//   try.c        no part of the plugin: a program that computes something with it
//
// The struct tags are those of plugin.h: the compiler checks every handle, and no line casts one.
#ifndef TEMPLATE_H
#define TEMPLATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <tenon/plugin.h>

// What people see. CMakeLists.txt gives name and version; the others are yours to change.
#ifndef TPL_NAME
#define TPL_NAME "template"   // what people type: [a-z0-9_-], at most 31 characters
#endif
#ifndef TPL_VERSION
#define TPL_VERSION "1.0.0"
#endif
#define TPL_VENDOR  "Tenon"
#define TPL_LICENSE "Apache-2.0"
#define TPL_DEVICE  "Template accelerator"   // what the chip is called; it is listed as <TPL_NAME>0

// Yours, to know a device by in open: the number of a chip, say. No two devices have the same.
#define TPL_DEVICE_ID UINT64_C(1)

enum { TPL_ALIGNMENT = 64, TPL_UPDATE_BYTES = 4096 };
#define TPL_MEMORY_BYTES (UINT64_C(1) << 30)

// Two hosts in one process start two instances; all state hangs on one of them.
struct tnp_instance {
    const tnp_host *host;
};

// One lock guards everything of a device that changes; `changed` is broadcast after every change.
struct tnp_device {
    const tnp_host *host;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    tnp_semaphore *semaphores;   // all there are, a list through next
    uint64_t used_bytes;
    atomic_bool is_lost;   // written under the lock; running work reads it without
};

struct tnp_buffer {
    tnp_device *device;   // first in each object: tells a handle of another device
    uint64_t bytes;
    unsigned char *data;
};

struct tnp_semaphore {
    tnp_device *device;
    tnp_semaphore *next;
    uint32_t is_host;   // signalled by the host, never by a queue
    uint32_t holds;     // the host, waiting threads, points of works in a queue
    uint32_t running;   // works that run now and will signal it
    uint64_t value;
    tnp_error why;   // the first failure; status TNP_OK: none
    void *notices;   // lent by the host, a list through plugin[0]
};

// One unit: the op of rows * row consecutive floats; `length` tells how many rows count in a run.
typedef struct tpl_step {
    uint32_t unit;
    uint32_t in, out, length;   // storages; length TNP_NONE: all rows count
    uint64_t in_offset, out_offset, length_offset;
    uint64_t rows, row;
} tpl_step;

struct tnp_program {
    tnp_device *device;
    uint32_t step_count, storage_count;
    tpl_step steps[];
};

typedef struct tpl_place {
    unsigned char *data;   // NULL: no binding
    uint64_t bytes;
} tpl_place;

struct tnp_bound {
    tnp_device *device;
    const tnp_program *program;
    uint32_t flags;
    tpl_place places[];   // by storage
};

// Shows err what went wrong and answers status. A text too long is cut between characters.
__attribute__((format(printf, 3, 4))) tnp_status tpl_fail(tnp_error *err, tnp_status status,
                                                          const char *format, ...);
tnp_status tpl_fail_lost(tnp_error *err);
tnp_status tpl_fail_unknown(tnp_error *err, const char *call);

// Zeroed memory of the host, which counts it; NULL when there is none.
void *tpl_make(const tnp_host *host, uint64_t bytes);
void tpl_free(const tnp_host *host, void *memory);

// memory.c. is_inside: whether `bytes` from offset lie in a buffer of this device.
tnp_status tpl_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                           tnp_error *err);
tnp_status tpl_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                            tnp_error *err);
void tpl_buffer_free(tnp_buffer *buffer);
int tpl_is_inside(const tnp_device *device, const tnp_buffer *buffer, uint64_t offset,
                  uint64_t bytes);
tnp_status tpl_copy_read(const tnp_device *device, const tnp_copy *from, tnp_copy *out,
                         tnp_error *err);
void tpl_copy_run(const tnp_copy *copy);

// program.c. bound_has: whether these bytes of a storage have a place. run: by the queue's thread,
// without the lock.
int tpl_bound_has(const tnp_bound *bound, uint32_t storage, uint64_t offset, uint64_t bytes);
tnp_status tpl_claim(tnp_device *device, const tnp_slice *slice, const tnp_claim_sink *sink,
                     tnp_error *err);
tnp_status tpl_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                       tnp_error *err);
void tpl_program_destroy(tnp_program *program);
tnp_status tpl_bind(tnp_program *program, const tnp_bind *what, tnp_bound **out, tnp_error *err);
void tpl_unbind(tnp_bound *bound);
tnp_status tpl_run(const tnp_bound *bound, const tnp_queue *queue, uint64_t run, tnp_error *err);

// timeline.c. With the lock held: has_failed, whether everybody may see that it failed; doom, the
// first failure; drop, one hold less; publish, ends a change: wakes who waits, calls notices that
// are due, and leaves the lock.
int tpl_has_failed(const tnp_semaphore *s);
void tpl_doom(tnp_semaphore *s, const tnp_error *why);
void tpl_drop(tnp_semaphore *s);
void tpl_publish(tnp_device *device);
void tpl_abandon(tnp_device *device);
tnp_status tpl_semaphore_create(tnp_device *device, const tnp_semaphore_options *how,
                                tnp_semaphore **out, tnp_error *err);
void tpl_semaphore_destroy(tnp_semaphore *semaphore);
tnp_status tpl_semaphore_read(tnp_semaphore *semaphore, uint64_t *value, tnp_error *err);
tnp_status tpl_semaphore_signal(tnp_semaphore *semaphore, uint64_t value, tnp_error *err);
tnp_status tpl_semaphore_fail(tnp_semaphore *semaphore, tnp_status why, const char *text,
                              tnp_error *err);
tnp_status tpl_semaphore_wait(tnp_semaphore *semaphore, uint64_t value, uint64_t timeout_ns,
                              tnp_error *err);
tnp_status tpl_semaphore_notify(tnp_semaphore *semaphore, tnp_notice *notice, tnp_error *err);

// queue.c
tnp_status tpl_queue_create(tnp_device *device, const tnp_queue_options *how, tnp_queue **out,
                            tnp_error *err);
void tpl_queue_destroy(tnp_queue *queue);
tnp_status tpl_queue_copy(tnp_queue *queue, const tnp_copy *const *copies, uint32_t count,
                          const tnp_sync *sync, tnp_error *err);
tnp_status tpl_queue_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                            tnp_error *err);

#endif
