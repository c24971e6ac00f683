// queue.h: queues. A queue is a ring of pieces of work, made once, with room for all it may hold.
//
//   works   | free | telling | waiting | waiting | free | ...       slots = pending + 1
//                    head                          tail
//
// Waiting: submitted, not started. Running. Telling: its semaphores learn how it went; it is no
// longer counted, so who sees its signal finds room for the next submit. Only the head runs or
// tells.
//
// One thread at a time executes a ring: the queue's own, or the one that calls with work it may do
// inside the call.
#ifndef CPU_QUEUE_H
#define CPU_QUEUE_H

#include "copy.h"
#include "cpu.h"

typedef enum cpu_work_state {
    CPU_WORK_FREE,
    CPU_WORK_WAITING,
    CPU_WORK_RUNNING,
    CPU_WORK_TELLING
} cpu_work_state;

typedef struct cpu_point {
    cpu_semaphore *semaphore;   // NULL = nothing to do: it had failed before the work's turn came
    uint64_t value;
} cpu_point;

// Bytes for a storage, copied during the submit.
typedef struct cpu_update {
    char *to;
    uint32_t bytes;
    uint32_t begin;             // in the work's update_data
} cpu_update;

typedef struct cpu_work {
    cpu_work_state state;
    cpu_bound *bound;           // NULL = copies, or nothing
    uint64_t run;               // the host's number
    uint32_t wait_count, signal_count, copy_count, update_count;
    cpu_point *waits, *signals;
    cpu_copy *copies;
    cpu_update *updates;
    char *update_data;
    tnp_status doom;            // not TNP_OK: it never starts
    char text[CPU_TEXT_BYTES];  // why
} cpu_work;

struct cpu_queue {
    uint32_t tag;
    uint32_t kind;
    cpu_device *device;
    cpu_queue *next;            // in the instance's list
    tnp_queue_options limits;

    // [queue] alone
    uint32_t tail;              // the slot of the next work

    // under the instance's lock
    uint32_t head, count;       // the first work that is not free; how many are waiting or running
    bool is_executed;           // some thread executes the ring
    bool is_closing;
    bool has_ended;             // the thread is past its last look at the queue
    pthread_cond_t wake;        // for who executes: the head may be ready
    pthread_cond_t idle;        // for the queue's thread: there is work
    pthread_cond_t ended;       // for queue_destroy
    pthread_t thread;

    uint32_t slot_count;
    cpu_work works[];
};

cpu_queue *cpu_queue_from(tnp_queue *queue);

// With the lock held:
//   execute   does all works of the ring, leaving the lock while they run; the caller has set
//             is_executed
//   wake      wakes each queue whose first work can go on
//   cancel    what has not started and would signal the semaphore never starts
//   lose      what has not started on the device never starts, what runs has no signals any more
bool cpu_queue_is_ready(const cpu_queue *queue);   // whether the first work can start, or be let go
void cpu_queue_execute(cpu_queue *queue);
void cpu_queues_wake(cpu_instance *instance);
void cpu_queues_cancel(cpu_semaphore *semaphore);
void cpu_queues_lose(cpu_device *device);
void cpu_work_cancel(cpu_work *work, tnp_status why, const char *text);

// work.c, without the lock: updates, copies, the program.
tnp_status cpu_work_run(cpu_work *work, const cpu_queue *queue, tnp_error *err);

tnp_status cpu_queue_create(tnp_device *device, const tnp_queue_options *how, tnp_queue **out,
                            tnp_error *err);
void cpu_queue_destroy(tnp_queue *queue);
tnp_status cpu_queue_copy(tnp_queue *queue, const tnp_copy *const *copies, uint32_t count,
                          const tnp_sync *sync, tnp_error *err);
tnp_status cpu_queue_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                            tnp_error *err);

#endif
