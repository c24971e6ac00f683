// composites.h: graphs of one composite op each, in its variants: types, shapes, attributes,
// operands that are strided or limited by a length. On public headers; what fails fails the test
// (CMocka).
#ifndef TEST_COMPOSITES_H
#define TEST_COMPOSITES_H

#include <tenon/graph.h>

typedef enum composite_fill {
    RANDOM,      // -4 to 4, some beyond, a zero
    SMALL,       // -1 to 1
    POSITIVE,    // 0.5 to 2
    POSITIONS,   // I32: 3, 4, 5 …
    FAR,         // I32: 0, 1, 255, 256, 8191, 131071 …
    BEFORE,      // I32: -1, 0, 1 …: the first of them sees nothing
    MASK,        // 0, -0.5, -inf
    BLIND,       // MASK whose first row is -inf throughout
} composite_fill;

typedef struct composite_operand {
    tn_dtype dtype;    // 0 = left out; F16 and Q8_0 are converted from F32 in the graph
    int64_t dims[5];   // 0 beyond the first = 1
    composite_fill fill;
    bool is_weight;
    bool is_turned;     // dims 0 and 1 change places in memory
    uint32_t limited;   // bit d: dim d counts up to the length `rows`, or `slots` for dim 0 of a
                        // mask, and dim 2 of k and v
    uint32_t limited_by_slots;
} composite_operand;

typedef struct composite {
    const char *says;
    tnp_op op;
    const void *attr;
    composite_operand in[6];
    int64_t counts[5];   // what counts of each dim of the result; 0 = all
    double absolute, relative;
} composite;

enum { COMPOSITE_ROWS = 2, COMPOSITE_SLOTS = 5 };   // the lengths

extern const composite composite_cases[];
extern const unsigned composite_case_count;

typedef struct composite_input {
    char name[16];
    void *data;
    size_t bytes;
} composite_input;

typedef struct composite_graph {
    tn_graph *graph;   // finished; its output "out" is F32, the op is named "it"
    tn_value result;   // of the op
    int64_t dims[5];   // of the output
    size_t elements;
    composite_input inputs[10];
    unsigned input_count;
    float *weight;   // the bytes of the one operand that is a weight
} composite_graph;

composite_graph composite_make(const composite *c);
void composite_drop(composite_graph *made);

// Fails the test unless what counts is |got - want| <= absolute + relative |want|.
void composite_compare(const composite *c, const composite_graph *made, const char *what,
                       const float *got, const float *want);

#endif
