// op_work.h: one case of an op at work: what its words mean, its slice, its contents, what it gave.
#ifndef TENON_CONFORM_OP_WORK_H
#define TENON_CONFORM_OP_WORK_H

#include "ops.h"
#include "reference/reference.h"

typedef struct kit_operand {
    bool is_there, is_constant, is_whole, is_distinct, has_nan;
    tnp_dtype dtype;
    char letters[TNP_MAX_DIMS + 1];
    char index_of;   // letter; 0 = no index
    double low, high;
    uint32_t value;
    char *constant;   // where the host has its bytes
} kit_operand;

enum { KIT_RESULT = KIT_OPERANDS, KIT_ALL_OPERANDS };

typedef struct kit_op_work {
    const kit_op_case *c;
    kit_operand of[KIT_ALL_OPERANDS];
    int64_t size[128], count[128], unit[128];   // by letter: of the dim; what counts; of its blocks
    bool is_named[128];
    uint32_t length[128];   // 1 + value that limits the letter
    bool writes;            // the result is operand 0
    tnp_convert_attr convert;
    kit_slice s;
    kit_claims claims;
    kit_program p;
} kit_op_work;

// op_build.c
void kit_op_read(kit_op_work *w, const kit_op_case *c);   // all of it but the slice
void kit_op_build(kit_op_work *w);                        // the slice: a node
const void *kit_op_attributes(kit_op_work *w);

// op_contents.c. tensor: what counts of an operand in this run, in `memory`, an image of the
// buffer. round: 2 has other contents than 0 and 1, but for constants.
ref_tensor kit_op_tensor(const kit_op_work *w, const kit_operand *o, unsigned char *memory);
void kit_op_fill_constants(kit_op_work *w);
void kit_op_set_contents(kit_op_work *w, int round, unsigned char poison);

// op_compare.c: what came back, against the reference; against what was sent; against `before`,
// what came back the time before.
void kit_op_compare(kit_op_work *w, const ref_tensor in[], const char *when);
void kit_op_check_untouched(const kit_op_work *w);
void kit_op_check_same(const kit_op_work *w, const unsigned char *before);

#endif
