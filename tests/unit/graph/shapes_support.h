// shapes_support.h: what the tests of shape rules share: a table of cases, and the check of one.
#ifndef SHAPES_SUPPORT_H
#define SHAPES_SUPPORT_H

#include "graph_test.h"

enum { MOST = 5 };   // operands

typedef struct shape_case {
    tnp_op op;
    const void *attr;
    const char *in[MOST];   // up to NULL; "" = left out
    const char *out;        // NULL = refused:
    tn_status status;
    const char *words;   // in the sentence, beside op, node and the shapes below
    int shown[2];        // 1 + operands whose shapes the sentence has; 0 = none
} shape_case;

#define SIZED(type, ...) (&(const type){ .size = sizeof(type), __VA_ARGS__ })
#define AXIS(number)     SIZED(tnp_axis_attr, .axis = (number))
#define EPS(value)       SIZED(tnp_norm_attr, .eps = (value))

void check_shape(const shape_case *c);
void check_shapes(const shape_case *cases, size_t count);

#endif
