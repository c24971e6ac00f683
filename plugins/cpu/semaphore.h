// semaphore.h: timeline semaphores. A semaphore is a value that grows until it fails.
//
//   fresh ──doom──> doomed ──nobody runs──> failed
//
// Doomed: the first failure is known, and no value is raised any more; but work that will signal it
// still runs, so its memory is in use and nobody may see the failure yet. Failed: everybody sees
// it.
//
// All functions here but those of the plugin's table are called with the instance's lock held.
#ifndef CPU_SEMAPHORE_H
#define CPU_SEMAPHORE_H

#include "cpu.h"

struct cpu_semaphore {
    uint32_t tag;
    bool is_host_signalled;
    bool has_failed;
    bool is_destroyed;                  // the last waiter frees it
    uint32_t waiters;                   // threads inside semaphore_wait
    uint32_t running;   // signals of work that has left its queue's ring and is not done
    cpu_device *device;
    cpu_semaphore *next, *previous;     // in the device's list
    pthread_cond_t changed;
    uint64_t value;
    tnp_status failure;                 // TNP_OK = fresh
    char text[CPU_TEXT_BYTES];
    tnp_notice *notices;                // linked by plugin[0], in the order they came
};

cpu_semaphore *cpu_semaphore_from(tnp_semaphore *semaphore);

// Work that will signal it starts, or fails: its end is told by cpu_semaphore_end, once.
void cpu_semaphore_begin(cpu_semaphore *semaphore);
// Raises the value, or dooms with the status and the text. Leaves the lock while notices are
// called; the semaphore may be gone when it returns.
void cpu_semaphore_end(cpu_semaphore *semaphore, uint64_t value, tnp_status status,
                       const char *text);
// Fails all semaphores of an abandoned device, running work or not. Leaves the lock while notices
// are called.
void cpu_semaphores_lose(cpu_device *device);

tnp_status cpu_semaphore_create(tnp_device *device, const tnp_semaphore_options *how,
                                tnp_semaphore **out, tnp_error *err);
void cpu_semaphore_destroy(tnp_semaphore *semaphore);
tnp_status cpu_semaphore_read(tnp_semaphore *semaphore, uint64_t *value, tnp_error *err);
tnp_status cpu_semaphore_signal(tnp_semaphore *semaphore, uint64_t value, tnp_error *err);
tnp_status cpu_semaphore_fail(tnp_semaphore *semaphore, tnp_status why, const char *text,
                              tnp_error *err);
tnp_status cpu_semaphore_wait(tnp_semaphore *semaphore, uint64_t value, uint64_t timeout_ns,
                              tnp_error *err);
tnp_status cpu_semaphore_notify(tnp_semaphore *semaphore, tnp_notice *notice, tnp_error *err);

#endif
