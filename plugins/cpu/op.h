// op.h: the seam between the machinery of this plugin (claims, programs, queues) and its ops. An op
// sees addresses and real lengths only: no slice, no binding, no extent, no thread but its worker
// number.
#ifndef CPU_OP_H
#define CPU_OP_H

#include <stdatomic.h>
#include <tenon/plugin.h>

#define CPU_MAX_INPUTS  6
#define CPU_MAX_OUTPUTS 3

typedef struct cpu_kernels cpu_kernels;   // kernels.h: the micro-kernels of the level chosen

// What the user asked for (settings of [plugin.cpu]).
typedef struct cpu_options {
    int activations_f32;   // activations=f32: weights are decoded, activations stay F32; else q8:
                           // rounded to int8 in blocks of 32
    int repack;            // repack=on: weights are claimed as packs where that is faster (pack.h)
    int fuse;              // fuse=on: some nodes are claimed together too (unit.h)
} cpu_options;

// One operand, with its address of this binding and the lengths of this run.
typedef struct cpu_tensor {
    char *data;   // first element; NULL = an optional operand left out
    tnp_dtype dtype;
    uint32_t rank;
    int64_t dims[TNP_MAX_DIMS];      // extents applied: what counts in this run, 0 possible; 1
                                     // beyond rank
    int64_t strides[TNP_MAX_DIMS];   // bytes
    int is_packed;                   // of a run: rows lie in groups of 8 (kernels/blocks.h);
                                     // strides[1] is then the bytes that a row takes there
} cpu_tensor;

// One node of one run, or some that were claimed together (unit.h). The same job is seen by all
// workers.
typedef struct cpu_job {
    tnp_op op;
    uint32_t input_count;
    const void *attr;   // as plugin.h has it, copied by TNP_TAKE; NULL = none
    cpu_tensor in[CPU_MAX_INPUTS];
    union {
        cpu_tensor out;                     // of one node: its one output
        cpu_tensor outs[CPU_MAX_OUTPUTS];   // data NULL = not to be made
    };
    char *scratch;   // scratch_bytes of this op for these full dims, 64-byte
                     // aligned, shared by all workers
    const cpu_kernels *kernels;
    const cpu_options *options;
    _Atomic(const char *) failure;   // static text; the first one set fails the work with
                                     // TNP_E_DATA
} cpu_job;

// Some nodes as one, in place of a number of ops.def: products of one activation (unit.h). in[0] is
// the activation, in[CPU_PRODUCTS_WEIGHT] is the first of the weights, in[CPU_PRODUCTS_NORM] the
// weight of the norm before them, if it has one, in[CPU_PRODUCTS_SUM] what is added behind one.
#define CPU_OP_PRODUCTS     0xfffffff0u
#define CPU_PRODUCTS_WEIGHT 1u
#define CPU_PRODUCTS_NORM   4u
#define CPU_PRODUCTS_SUM    5u

typedef struct cpu_products_attr {
    uint32_t count;   // of products: 1 to CPU_MAX_OUTPUTS
    tnp_op tail;   // the one result is swiglu(gate, up) or the like, or add(in, product); 0 = each
                   // product is a result
    int is_normed;   // by rms_norm, with eps
    float eps;
} cpu_products_attr;

// One op. Everything is decided from the node's full dims (claim) and the job (run); workers share
// a run by taking fixed parts of the output, so that the bits do not depend on their number.
typedef struct cpu_op {
    tnp_op number;
    uint32_t phases;       // run is called for each, a barrier of all workers between
    uint32_t attr_bytes;   // sizeof of the attribute struct known here; 0 = none
    // Why this node cannot be run (static text), or NULL. in[i] and out hold full dims and no data;
    // attr is copied.
    const char *(*refuse)(const cpu_job *node);
    // Bytes of scratch, NULL = 0. Same argument.
    uint64_t (*scratch_bytes)(const cpu_job *node, uint32_t workers);
    void (*run)(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers);
    // How many phases this run has, at least 1 and at most `phases`; NULL = always `phases`.
    uint32_t (*phases_of)(const cpu_job *job, uint32_t workers);
} cpu_op;

const cpu_op *cpu_op_find(tnp_op number);   // NULL = not an op of this plugin
extern const cpu_op cpu_products_op;        // of CPU_OP_PRODUCTS

// The operand that one node reads faster when it is packed (pack.h), if that is a constant; -1 =
// none. Same argument as refuse; dtype and dims of that operand alone decide.
int32_t cpu_op_packed_input(const cpu_job *node);

#endif
