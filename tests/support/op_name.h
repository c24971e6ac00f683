// op_name.h: the names of the ops, as ops.def has them.
#ifndef TEST_OP_NAME_H
#define TEST_OP_NAME_H

#include <tenon/ops.h>

const char *op_name(tnp_op op);   // "?" for what is no op

#endif
