// ops_support.h: what the tests of the CPU plugin's ops share: operands in exactly as many bytes as
// they need, runs of one op without the machinery of the plugin, and the comparison with the
// reference of the conformance kit.
#ifndef TEST_OPS_SUPPORT_H
#define TEST_OPS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "isa.h"
#include "kernels.h"
#include "op.h"
#include "reference/reference.h"

#define MAX_OPERANDS 6
#define TEST_DIMS    4

typedef enum layout {
    CONTIGUOUS,
    PADDED,     // some bytes between rows
    TURNED,     // dims[0] and dims[1] change places in memory: no row is contiguous
    STEPPED,    // every second element, as a slice with a step leaves them
    REPEATED,   // dims[1] and up have stride 0: one row stands for all
    SINGLE,     // all strides are 0: one element stands for all
    LAYOUTS
} layout;

// Dims of 0 beyond the first mean 1. cut: elements of each dim that do not count in this run.
typedef struct operand {
    tnp_dtype dtype;   // 0 = left out
    int64_t dims[TEST_DIMS];
    layout layout;
    double low, high;   // of random contents; both 0 = -1 to 1 (floats), 0 (integers)
    int64_t cut[TEST_DIMS];
} operand;

#define VALUE(type, ...)                                                                           \
    {                                                                                              \
        .dtype = (type), .dims = { __VA_ARGS__ }                                                   \
    }
#define LAID(how, type, ...)                                                                       \
    {                                                                                              \
        .dtype = (type), .dims = { __VA_ARGS__ }, .layout = (how)                                  \
    }
#define RANGE(from, to, type, ...)                                                                 \
    {                                                                                              \
        .dtype = (type), .dims = { __VA_ARGS__ }, .low = (from), .high = (to)                      \
    }

// One row of a table of cases. Bounds: |got - want| <= absolute + relative * |want|.
typedef struct op_case {
    const char *says;
    tnp_op op;
    const void *attr;
    operand in[MAX_OPERANDS];
    operand out;
    double absolute, relative;
    int in_place;   // 1 + operand whose bytes the output takes; 0 = none
    int activations_f32;
    void (*prepare)(cpu_job *job);   // sets contents that random numbers do not give
    const char *failure;             // what the job must fail with
} op_case;

// Runs a case at each level of this machine and with 1, 2, 3 and 5 workers. Fails the test, with
// .says, when: the op refuses it; bits depend on the number of workers; a result is off the
// reference by more than the bounds; bytes between the elements of the output change.
void check_case(const op_case *c);
void check_refusal(const op_case *c);   // the op refuses it, with a reason

// Pieces of the above, for tests with a bound of their own.
typedef struct op_run {
    const char *says;
    const cpu_op *op;
    cpu_job job;
    cpu_options options;
    char *memory[MAX_OPERANDS + 1];   // of the operands, then of the output; exactly `bytes` long
    size_t bytes[MAX_OPERANDS + 1];
} op_run;

void op_run_init(op_run *run, const op_case *c, const cpu_kernels *kernels);
void op_run_finish(op_run *run);
void op_run_all(op_run *run, uint32_t workers);   // every phase for every worker
ref_tensor as_reference(const cpu_tensor *t);
int64_t bytes_of(tnp_dtype dtype, int64_t elements);

// Counts a result into the table of errors: with TENON_TEST_ERRORS=FILE a test appends a line for
// each op and type to the file when it ends (tests/op-errors).
void note_errors(const cpu_job *job, const ref_tensor *want);

// Every type of dtypes.def that weights may have: floats first, then block types.
extern const tnp_dtype weight_types[];
enum { WEIGHT_TYPES = 14 };
const char *dtype_name(tnp_dtype dtype);
int64_t whole_blocks(tnp_dtype dtype, int64_t elements);   // rounded up
// No term of a weight as contents here have it is larger in size: of d q + m, and of d (q - 8) and
// the like where a kernel takes d q and 8 d apart, the sizes of both together.
double largest_weight(tnp_dtype dtype);

// The levels of this machine, lowest first, then the one that is simulated; NULL beyond the last.
const cpu_kernels *test_level(uint32_t i);

double random_between(double low, double high);   // the same sequence in every run of a test

#endif
