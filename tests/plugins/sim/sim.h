// sim.h: the inside of a plugin of simulated devices, for tests.
//
//   plugin.c     manifest, table, instance, devices
//   settings.c   what the setting `devices` says of each
//   cpu.c        the CPU plugin loaded inside: it computes, so results have its bits
//   fault.c      calls that fail when they are told to, and loss of a device
//   claim.c      what a device takes, and what it costs
//   fuse.c       claims on several nodes, and how the CPU plugin computes those
//   memory.c     buffers: how much there is, bytes that are scrambled, copies
//   program.c    compile and bind, passed on to the CPU plugin
//   timeline.c   semaphores
//   queue.c      queues: rings of work
//   engine.c     which work is next, doing it, and the virtual clock
//
// One thread at a time does the work of all devices, so that a run is the same every time: the
// engine's own thread, or one that submits. What happens at the same time is told by the virtual
// clock.
//
// instance.lock guards everything that changes, and is never held while the host, the CPU plugin or
// a program runs. instance.bytes guards the bytes of buffers: who holds it may decode them.
#ifndef SIM_H
#define SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <tenon/plugin.h>

#define SIM_ALIGNMENT 64u   // of what the plugin allocates for itself, and of buffers by default

// The calls that a device can be told to fail at, named as in plugin.h. `work` is the doing of a
// piece of work that was taken; nobody calls pack, as no claim asks for one.
//   MAKES     answers LOST once the device is
//   ANSWERS   goes on as it can
//   ENDS      has no answer: it can only be the moment when the device is lost
#define SIM_CALLS(CALL)                                                                            \
    CALL(start, ANSWERS)                                                                           \
    CALL(device_count, ANSWERS)                                                                    \
    CALL(device_info, ANSWERS)                                                                     \
    CALL(open, MAKES)                                                                              \
    CALL(close, ENDS)                                                                              \
    CALL(abandon, ENDS)                                                                            \
    CALL(memory_info, MAKES)                                                                       \
    CALL(link, MAKES)                                                                              \
    CALL(buffer_alloc, MAKES)                                                                      \
    CALL(buffer_import, MAKES)                                                                     \
    CALL(buffer_map, MAKES)                                                                        \
    CALL(buffer_free, ENDS)                                                                        \
    CALL(semaphore_create, MAKES)                                                                  \
    CALL(semaphore_destroy, ENDS)                                                                  \
    CALL(semaphore_read, ANSWERS)                                                                  \
    CALL(semaphore_signal, ANSWERS)                                                                \
    CALL(semaphore_fail, ANSWERS)                                                                  \
    CALL(semaphore_wait, ANSWERS)                                                                  \
    CALL(semaphore_notify, ANSWERS)                                                                \
    CALL(queue_create, MAKES)                                                                      \
    CALL(queue_destroy, ENDS)                                                                      \
    CALL(queue_copy, MAKES)                                                                        \
    CALL(queue_submit, MAKES)                                                                      \
    CALL(claim, MAKES)                                                                             \
    CALL(pack, MAKES)                                                                              \
    CALL(compile, MAKES)                                                                           \
    CALL(program_destroy, ENDS)                                                                    \
    CALL(bind, MAKES)                                                                              \
    CALL(unbind, ENDS)                                                                             \
    CALL(work, ANSWERS)

typedef enum sim_call_kind { SIM_MAKES, SIM_ANSWERS, SIM_ENDS } sim_call_kind;

typedef enum sim_call {
#define CALL(name, kind) SIM_CALL_##name,
    SIM_CALLS(CALL)
#undef CALL
        SIM_CALL_COUNT
} sim_call;

typedef struct sim_fault {
    sim_call call;
    uint64_t at;   // the call that fails, counted from 1
    bool is_loss;
    bool is_hang;        // of work: it never ends, until the device is lost;
    uint64_t late_ms;    // or ends so much later, on the clock of everybody
    tnp_status status;   // what it answers; of a loss TNP_E_DEVICE_LOST
} sim_fault;

typedef enum sim_order {
    SIM_ORDER_SUBMITTED,   // what was submitted first is done first
    SIM_ORDER_LATE,        // work is done when somebody waits for it
    SIM_ORDER_REVERSE,     // of queues that can go on the one with the latest work goes on
} sim_order;

enum { SIM_NAME_BYTES = 64, SIM_OPS = 256, SIM_DTYPES = 64 };

// One device, as the settings describe it.
typedef struct sim_spec {
    char name[SIM_NAME_BYTES];   // "" = none
    uint32_t kind;
    bool is_host_visible, can_import, is_peer, is_traced, is_fusing;
    uint64_t memory_bytes, max_alloc_bytes, alignment, update_bytes;
    uint64_t max_elements;   // of a value
    bool refuses_op[SIM_OPS], refuses_dtype[SIM_DTYPES];
    double gflops, gbps, link_gbps, latency_us;
    sim_order order;
    uint32_t fault_count;
    sim_fault *faults;
} sim_spec;

// A device that is there, opened or not.
typedef struct sim_chip {
    sim_spec spec;
    uint64_t used_bytes;
    uint64_t calls[SIM_CALL_COUNT];   // so far
    bool is_lost;                     // for good
} sim_chip;

struct tnp_instance {
    tnp_host host;
    uint32_t chip_count;
    sim_chip *chips;

    void *cpu_file;
    const tnp_plugin *cpu;
    tnp_host cpu_host;   // what the CPU plugin is given for a host
    tnp_instance *cpu_instance;

    pthread_mutex_t lock, bytes;
    pthread_cond_t changed;   // broadcast after every change
    tnp_device *devices;      // lists, through next
    tnp_semaphore *semaphores;
    tnp_queue *queues;
    uint32_t alive;   // objects that the host has not given back
    pthread_t engine;
    bool has_engine, is_stopping, is_working;
    uint64_t work_count;   // submitted so far
    uint64_t start_ns;     // of the virtual clock, on the host's
    uint64_t host_ns;      // what the host has seen, on the virtual clock
};

struct tnp_device {
    tnp_instance *instance;
    tnp_device *next;
    sim_chip *chip;
    bool is_lost;
    tnp_device *cpu;
    tnp_queue *cpu_queue;
    tnp_semaphore *cpu_semaphore;   // NULL: to be made before the next program runs
    uint64_t cpu_signal;
    uint64_t compute_free_ns, link_free_ns;   // virtual: when they have nothing to do any more
};

struct tnp_buffer {
    tnp_device *device;
    tnp_buffer *cpu;
    unsigned char *data;
    uint64_t bytes, charged_bytes;   // charged: of the device's memory
    bool is_imported, is_read_only;
    bool is_scrambled;   // but while work has decoded what it needs, or `readers` is not 0
    uint32_t readers;    // bounds that only read it: decoded as long as there are any
};

// When a value was raised, on the virtual clock.
typedef struct sim_raise {
    uint64_t value, ns;
} sim_raise;

enum { SIM_RAISES = 32 };   // what came earlier is forgotten

struct tnp_semaphore {
    tnp_device *device;
    tnp_semaphore *next;
    bool is_host;       // signalled by the host, never by a queue
    uint32_t holds;     // the host, waiting threads, points of works in a queue
    uint32_t running;   // works that run now and will signal it
    uint64_t value;
    uint64_t wanted;   // somebody waits for this value
    tnp_error why;     // the first failure; status TNP_OK: none
    void *notices;     // lent by the host, a list through plugin[0]
    uint64_t raise_count;
    sim_raise raises[SIM_RAISES];   // a ring
};

typedef struct sim_work {
    tnp_bound *bound;   // NULL: only copies, or nothing
    uint64_t run;
    uint64_t number;         // over all queues, in the order of the submits
    uint64_t submitted_ns;   // virtual
    uint32_t wait_count, signal_count, copy_count, update_count;
    tnp_point *waits, *signals;   // these have the room that the queue was made for
    tnp_copy *copies;
    tnp_update *updates;   // data points into update_bytes
    unsigned char *update_bytes;
} sim_work;

struct tnp_queue {
    tnp_device *device;
    tnp_queue *next;
    tnp_queue_options limits;
    bool is_closing;
    bool hangs;         // its first work does
    uint64_t free_ns;   // virtual: when the last work ended
    uint32_t head, count;
    sim_work works[];
};

// What the CPU plugin gets a place for in the scratch of a unit: scratch of one of its nodes, or
// a storage that stays inside.
typedef struct sim_part {
    uint32_t unit, kind, index;   // index: of the storage, or of the CPU plugin's unit
    uint64_t offset, bytes;
} sim_part;

struct tnp_program {
    tnp_device *device;
    tnp_program *cpu;
    uint32_t storage_count, unit_count;
    double *unit_ns;           // by unit
    bool *is_constant;         // by storage
    uint64_t *storage_bytes;   // by storage
    uint32_t part_count;
    sim_part *parts;
};

typedef struct sim_place {
    tnp_buffer *buffer;   // NULL: no binding
    uint64_t offset;
} sim_place;

// A stretch of a buffer that a program writes, or reads beside what is written.
typedef struct sim_range {
    tnp_buffer *buffer;
    uint64_t begin, end;
} sim_range;

struct tnp_bound {
    tnp_device *device;
    const tnp_program *program;
    tnp_bound *cpu;
    bool is_traced;
    sim_place *places;   // by storage
    uint32_t range_count, constant_count;
    sim_range *ranges;        // of scrambled buffers, apart from each other: decoded while it runs
    tnp_buffer **constants;   // scrambled buffers that it only reads
};

// ---------------------------------------------------------------------------------------- plugin.c

// Fills err and answers status. A text too long is cut between characters.
__attribute__((format(printf, 3, 4))) tnp_status sim_fail(tnp_error *err, tnp_status status,
                                                          const char *format, ...);
tnp_status sim_fail_lost(const tnp_device *device, tnp_error *err);
tnp_status sim_fail_unknown(tnp_error *err, const char *call);
void sim_log(const tnp_instance *instance, int32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// What people call a device: its name, or its number.
const char *sim_chip_name(const tnp_instance *instance, const sim_chip *chip, char room[32]);

// Zeroed memory of the host; NULL when there is none.
void *sim_make(const tnp_instance *instance, uint64_t bytes);
void sim_free(const tnp_instance *instance, void *memory);

// Counts an object that the host now has, or has given back.
void sim_count_object(tnp_instance *instance, int32_t change);

// -------------------------------------------------------------------------------------- settings.c

// The devices that the setting describes. Errors: TNP_E_ARG, with device and key.
tnp_status sim_settings_read(tnp_instance *instance, tnp_error *err);
void sim_settings_release(tnp_instance *instance);

// ------------------------------------------------------------------------------------------- cpu.c

tnp_status sim_cpu_load(tnp_instance *instance, tnp_error *err);
void sim_cpu_unload(tnp_instance *instance);
tnp_status sim_cpu_open(tnp_device *device, tnp_error *err);
void sim_cpu_close(tnp_device *device);   // also half opened
// Runs a program to its end.
tnp_status sim_cpu_run(tnp_device *device, tnp_bound *cpu_bound, tnp_error *err);

// ----------------------------------------------------------------------------------------- fault.c

// Begins a call on a device: counts it, and answers what it is told to answer, or that the device
// is lost. device NULL: on one that is not open.
tnp_status sim_enter(tnp_instance *instance, sim_chip *chip, tnp_device *device, sim_call call,
                     tnp_error *err);
// The same with the lock held, without the log. *fired: what the caller logs when it has left it.
tnp_status sim_enter_locked(tnp_instance *instance, sim_chip *chip, tnp_device *device,
                            sim_call call, const sim_fault **fired, tnp_error *err);
void sim_log_fault(const tnp_instance *instance, const sim_chip *chip, const sim_fault *fired);
// Begins a call that has no answer.
void sim_enter_end(tnp_device *device, sim_call call);
// The name of a call; its number, or SIM_CALL_COUNT.
const char *sim_call_name(sim_call call);
sim_call_kind sim_call_kind_of(sim_call call);
sim_call sim_call_find(const char *name);
void sim_abandon(tnp_device *device);

// ----------------------------------------------------------------------------------------- claim.c

// NULL: the device may take the node; else why not. room: for the reason.
const char *sim_refuses(const sim_spec *spec, const tnp_slice *slice, uint32_t node,
                        char room[128]);
// What nodes take as one unit: what one makes and another reads is not read from memory.
double sim_unit_ns(const sim_spec *spec, const tnp_slice *slice, const uint32_t *nodes,
                   uint32_t count);
const char *sim_op_name(tnp_op op);   // NULL = none
const char *sim_dtype_name(tnp_dtype dtype);
tnp_status sim_claim(tnp_device *device, const tnp_slice *slice, const tnp_claim_sink *sink,
                     tnp_error *err);

// ------------------------------------------------------------------------------------------ fuse.c

tnp_status sim_claim_fusions(const tnp_device *device, const tnp_slice *slice,
                             const tnp_claim_sink *sink, tnp_error *err);
// Sets program->cpu and parts; those are to be freed, also after an error.
tnp_status sim_compile_units(tnp_program *program, const tnp_compile *what, tnp_error *err);

// ---------------------------------------------------------------------------------------- memory.c

tnp_status sim_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                           tnp_error *err);
tnp_status sim_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                            tnp_error *err);
tnp_status sim_buffer_import(tnp_device *device, const tnp_import *what, tnp_buffer **out,
                             tnp_error *err);
tnp_status sim_buffer_map(tnp_buffer *buffer, void **out, tnp_error *err);
void sim_buffer_free(tnp_buffer *buffer);
bool sim_is_inside(const tnp_buffer *buffer, uint64_t offset, uint64_t bytes);

// With instance.bytes held. Turns bytes of a buffer from scrambled to plain, or back.
void sim_scramble(tnp_buffer *buffer, uint64_t offset, uint64_t bytes);
// A bound begins or ends to only read a buffer.
void sim_buffer_read(tnp_buffer *buffer, int32_t change);

tnp_status sim_copy_read(const tnp_device *device, const tnp_copy *from, tnp_copy *out,
                         tnp_error *err);
void sim_copy_run(const tnp_copy *copy);   // with instance.bytes held

// --------------------------------------------------------------------------------------- program.c

tnp_status sim_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                       tnp_error *err);
void sim_program_destroy(tnp_program *program);
tnp_status sim_bind(tnp_program *program, const tnp_bind *what, tnp_bound **out, tnp_error *err);
void sim_unbind(tnp_bound *bound);
// Whether these bytes of a storage have a place that can be written.
bool sim_bound_has(const tnp_bound *bound, uint32_t storage, uint64_t offset, uint64_t bytes);

// -------------------------------------------------------------------------------------- timeline.c
//
// With the lock held: has_failed, whether everybody may see that it failed; doom, the first
// failure; raise, the value and when; time_of, when a value was raised; drop, one hold less;
// publish, ends a change: wakes who waits, calls notices that are due, and leaves the lock.
bool sim_has_failed(const tnp_semaphore *s);
void sim_doom(tnp_semaphore *s, const tnp_error *why);
void sim_raise_to(tnp_semaphore *s, uint64_t value, uint64_t ns);
uint64_t sim_time_of(const tnp_semaphore *s, uint64_t value);
uint64_t sim_host_ns(const tnp_instance *instance);   // the host's time, in this thread
void sim_drop(tnp_semaphore *s);
void sim_publish(tnp_instance *instance);

tnp_status sim_semaphore_create(tnp_device *device, const tnp_semaphore_options *how,
                                tnp_semaphore **out, tnp_error *err);
void sim_semaphore_destroy(tnp_semaphore *semaphore);
tnp_status sim_semaphore_read(tnp_semaphore *semaphore, uint64_t *value, tnp_error *err);
tnp_status sim_semaphore_signal(tnp_semaphore *semaphore, uint64_t value, tnp_error *err);
tnp_status sim_semaphore_fail(tnp_semaphore *semaphore, tnp_status why, const char *text,
                              tnp_error *err);
tnp_status sim_semaphore_wait(tnp_semaphore *semaphore, uint64_t value, uint64_t timeout_ns,
                              tnp_error *err);
tnp_status sim_semaphore_notify(tnp_semaphore *semaphore, tnp_notice *notice, tnp_error *err);

// ----------------------------------------------------------------------------------------- queue.c

tnp_status sim_queue_create(tnp_device *device, const tnp_queue_options *how, tnp_queue **out,
                            tnp_error *err);
void sim_queue_destroy(tnp_queue *queue);
tnp_status sim_queue_copy(tnp_queue *queue, const tnp_copy *const *copies, uint32_t count,
                          const tnp_sync *sync, tnp_error *err);
tnp_status sim_queue_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                            tnp_error *err);

// ---------------------------------------------------------------------------------------- engine.c

tnp_status sim_engine_start(tnp_instance *instance, tnp_error *err);   // if it does not run yet
void sim_engine_stop(tnp_instance *instance);
// Does the works of a queue that are next, in the calling thread. With the lock held, which it
// leaves meanwhile.
void sim_engine_help(tnp_queue *queue);

#endif
