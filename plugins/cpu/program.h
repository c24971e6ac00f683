// program.h: compiled slices and their bindings.
//
//   program   what runs, without addresses: the values, and a step for each unit, in order
//   bound     a job for each step, with addresses; a run fills in lengths and works through them
//
// A length is read early, before the run's first step, when no step of the program makes it; else
// late, before the step.
#ifndef CPU_PROGRAM_H
#define CPU_PROGRAM_H

#include "value.h"

// Promised to ops. Bindings are aligned to less, so each scratch has that much to spare.
#define CPU_SCRATCH_ALIGNMENT 64u

typedef struct cpu_storage {
    uint64_t bytes;
    bool is_needed;   // some step looks at it, so it must be bound
    bool is_written;
    tnh_users users;
} cpu_storage;

typedef struct cpu_step {
    const cpu_op *op;
    const void *attr;
    const char *name;   // the first node's
    const char *op_name;
    uint32_t unit;   // index among the units given to compile
    uint32_t input_count;
    uint32_t inputs[CPU_MAX_INPUTS];   // indices of values; TNP_NONE = left out
    uint32_t output_count;
    uint32_t outputs[CPU_MAX_OUTPUTS];   // the same
    uint32_t seen;                       // a bit for each output that somebody looks at
    uint32_t may_reuse;                  // a bit for each input that the one output may overwrite
    int32_t writes;                      // the input that the op writes through, -1 = none
    uint32_t packed;                     // a bit for each input that is read packed
    uint64_t scratch_bytes;
    bool has_early_lengths, has_late_lengths;
} cpu_step;

struct cpu_program {
    uint32_t tag;
    cpu_device *device;
    uint32_t unit_count, value_count, storage_count, step_count;
    tnh_value *values;       // indexed as in the slice
    cpu_storage *storages;   // indexed as in the slice
    cpu_step *steps;
};

// Where bytes are in this binding; address NULL = not bound.
typedef struct cpu_place {
    char *address;
    bool is_read_only;
} cpu_place;

typedef struct cpu_bound_step {
    cpu_job job;
    char *packed[CPU_MAX_INPUTS];   // where the packs are
    bool is_outside;                // a length was not within its dim: these say which
    uint32_t outside_dim;
    int64_t outside_length, outside_most;
    // Order (order.h). waits_for: 1 + the latest step before this one that touches the same bytes;
    // waits_for_shared: the same among steps that may be shared, and so may run on other workers
    // than 0. 0 = none
    bool may_share, is_shared;   // by the work at full dims; by that of the run at hand
    uint32_t waits_for, waits_for_shared;
    uint64_t begin_ns, end_ns;   // of the last run, when traced
} cpu_bound_step;

struct cpu_bound {
    uint32_t tag;
    bool is_traced;
    uint32_t shared_count;   // steps of the run at hand that all workers share
    cpu_program *program;
    cpu_place *places;   // of each storage
    cpu_bound_step *steps;
};

cpu_program *cpu_program_from(tnp_program *program);
cpu_bound *cpu_bound_from(tnp_bound *bound);
cpu_device *cpu_bound_device(const cpu_bound *bound);

// Where an update goes. Errors: TNP_E_ARG outside a storage, or where nothing can be written
tnp_status cpu_bound_locate(const cpu_bound *bound, const tnp_update *update, char **out,
                            tnp_error *err);

// Runs all steps on the host's team. Allocates nothing. Not for one bound from two threads at once.
//   queue   the handle that spans of a traced run name
// Errors: TNP_E_DATA, with the node's name
tnp_status cpu_bound_run(cpu_bound *bound, const void *queue, uint64_t run, tnp_error *err);

tnp_status cpu_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                       tnp_error *err);
void cpu_program_destroy(tnp_program *program);
tnp_status cpu_bind(tnp_program *program, const tnp_bind *what, tnp_bound **out, tnp_error *err);
void cpu_unbind(tnp_bound *bound);

#endif
