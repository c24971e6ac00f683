// machinery_rig.h: a plugin with one open device, a queue and a buffer, for tests of machinery.
#ifndef MACHINERY_RIG_H
#define MACHINERY_RIG_H

// cmocka.h wants these before it
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_host.h"
#include "test_slice.h"

enum { RIG_BUFFER_BYTES = 1 << 17, RIG_PENDING = 4, RIG_POINTS = 2, RIG_COPIES = 2, RIG_UPDATES = 2,
       RIG_UPDATE_BYTES = 64 };

typedef struct test_rig {
    test_host host;
    const tnp_plugin *plugin;
    tnp_instance *instance;
    tnp_device *device;
    tnp_queue *queue;
    tnp_buffer *buffer;
    char *bytes;          // of the buffer
    tnp_error err;
} test_rig;

void rig_start(test_rig *rig, uint32_t workers);
void rig_stop(test_rig *rig);   // also checks that nothing of the host's is left

tnp_queue *rig_queue(test_rig *rig, tnp_device *device, uint32_t pending);
tnp_semaphore *rig_semaphore(test_rig *rig, uint32_t flags, uint64_t value);

// x = x + y, element by element and in place: storage 0 is x at the buffer's start, storage 1 is y
// at 4,096, storage 2 the sum at x's place. Storage 3 holds the one-element extent of all of them,
// when has_extent, at 8,192.
typedef struct rig_sum { test_slice slice; tnp_program *program; tnp_bound *bound; } rig_sum;
void rig_sum_make(test_rig *rig, rig_sum *sum, int64_t count, bool has_extent, uint32_t bind_flags);
void rig_sum_drop(test_rig *rig, rig_sum *sum);

// One submit. wait and signal may be NULL.
tnp_status rig_submit(test_rig *rig, tnp_queue *queue, tnp_bound *bound, uint32_t flags,
                      const tnp_point *wait, const tnp_point *signal, const tnp_update *updates,
                      uint32_t update_count);
void rig_run(test_rig *rig, tnp_bound *bound);   // submits and waits; must succeed
tnp_status rig_run_status(test_rig *rig, tnp_bound *bound, const tnp_update *update);

#define assert_ok(status) assert_int_equal((status), TNP_OK)

#endif
