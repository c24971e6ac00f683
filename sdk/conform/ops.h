// ops.h: how cases of ops are written down: rows of a table, from which ops.c makes the cases.
#ifndef TENON_CONFORM_OPS_H
#define TENON_CONFORM_OPS_H

#include "conform_internal.h"

// An operand in words: a type, a letter for each dim, and what its contents are.
//
//   "F ABC"         F32 or F16, the same for all F of the row     -1 to 1
//   "W KN"          every type that weights may have; a constant
//   "V DGS"         the same types, not a constant
//   "K DGS"         the first four of these types
//   "P AB"          every plain type
//   "f32 A"         that type (f32 f16 bf16 i32 i64 i16 i8 bool)
//   "… [0.5,2]"     numbers from 0.5 to 2        "… {0,9}"  whole ones
//   "… [-1,1]~"     some are NaN
//   "… <R"          indices of what counts of R  "… <R!"    each at most once
//
// A letter stands for one size, wherever it is; a digit 1 for a dim of 1. Sizes come in sets,
// "A33B5|A1": letters that a set leaves out are 1, and the rank ends where it names no more.
// The first set is the one on which layouts, extents and places are varied.
typedef struct kit_op_row {
    tnp_op op;
    const char *variant;   // NULL: the plain one
    const void *attr;
    const char *in[KIT_OPERANDS];
    const char *out;   // "=": the operand that the op writes through
    const char *sizes;
    const char *extents;   // letters that may be limited in a run
} kit_op_row;

extern const kit_op_row kit_op_rows[];
extern const uint32_t kit_op_row_count;

typedef enum kit_layout {
    KIT_CONTIGUOUS,
    KIT_PADDED,     // some elements between rows
    KIT_TURNED,     // dims[0] and dims[1] change places in memory
    KIT_STEPPED,    // every second element
    KIT_OFFSET,     // an element behind the start of its storage
    KIT_REPEATED,   // dims[1] and up have stride 0
    KIT_SINGLE,     // all strides are 0
    KIT_LAYOUTS
} kit_layout;

typedef enum kit_limit { KIT_ALL, KIT_NONE, KIT_ONE, KIT_HALF, KIT_WHOLE } kit_limit;

// How operand 1 lies to operand 0.
typedef enum kit_sharing {
    KIT_APART,     // over a storage of its own
    KIT_SAME,      // it is the same value
    KIT_SHIFTED,   // over the same storage, a row further on
} kit_sharing;

struct kit_op_case {
    const kit_op_row *row;
    tnp_dtype floats, weights, plain;   // what F, W and V, P stand for
    char sizes[40];
    uint8_t layout[KIT_OPERANDS + 1];   // the last is that of the result
    uint8_t in_place;                   // 1 + operand whose bytes the result takes
    kit_sharing sharing;
    char limited[8];   // letters
    kit_limit limit;
    bool by_update;   // lengths come with the submit; else they lie in memory
    bool is_wild;     // indices and lengths are any bytes
};

void kit_run_op(const kit_case *c);

// Bounds of errors, see bounds.c.
typedef struct kit_bound {
    const char *ops;   // names, with spaces around
    double ulps;       // of F32, times the size of the wanted number
    double absolute;   // beside that
    double terms;      // 2^-24 times the sum of the sizes of the terms, for each of their number
    double nmse;       // of block types: mean square of the errors over that of the results
    const char *reason;
} kit_bound;
const kit_bound *kit_bound_of(tnp_op op);

// Largest error that the type's own rounding may bring to a number of that size, in a row (or a
// block) whose largest is `largest`. 0 for F32 and integers.
double kit_type_error(tnp_dtype dtype, double size, double largest);

#endif
