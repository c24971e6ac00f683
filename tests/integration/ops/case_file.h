// case_file.h: cases of tests/data as structs: inputs, steps on them, and what must come out. The
// files are made by tests/data/case_file.py, which says how they look.
#ifndef TEST_OPS_CASE_FILE_H
#define TEST_OPS_CASE_FILE_H

#include <stdint.h>
#include <tenon/ops.h>

enum { MOST_VALUES = 24, MOST_OPERANDS = 6, MOST_ATTR_BYTES = 256 };

typedef struct case_tensor {
    tnp_dtype dtype;
    uint32_t rank;
    int64_t dims[TNP_MAX_DIMS];   // 1 beyond the rank
    int64_t count;                // of values
    double *values;
} case_tensor;

typedef struct case_step {
    tnp_op op;
    uint32_t operand_count;
    int32_t operands[MOST_OPERANDS];   // numbers of values, inputs first; -1 = left out
    int has_attr;
    _Alignas(8) unsigned char attr[MOST_ATTR_BYTES];   // the op's struct
} case_step;

typedef struct op_case {
    char *name;
    double absolute, relative;   // |got - want| <= absolute + relative * |want|
    uint32_t input_count, step_count;
    case_tensor inputs[MOST_VALUES];
    case_step steps[MOST_VALUES];
    case_tensor want;
} op_case;

// Fails the test when the file is not as described. The result ends with a case without a name.
op_case *cases_read(const char *path);
void cases_free(op_case *cases);

#endif
