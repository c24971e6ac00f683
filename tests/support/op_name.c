#include "op_name.h"

const char *op_name(tnp_op op)
{
    switch (op) {
#define OP(number, NAME, name, ...)                                                                \
    case number:                                                                                   \
        return #name;
#include <tenon/ops.def>
    default:
        return "?";
    }
}
