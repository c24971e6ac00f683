// op_table.c: ops.def by number.
#include "base/macros.h"
#include "graph/graph.h"

#define IN(i) (1u << (i))

static const tni_op ops[] = {
#define OP(number, NAME, name, inputs_min, inputs_max, attr, in_place, writes, flops)              \
    { number,                                                                                      \
      #name,                                                                                       \
      inputs_min,                                                                                  \
      inputs_max,                                                                                  \
      sizeof(tnp_##attr##_attr) > 1 ? sizeof(tnp_##attr##_attr) : 0,                               \
      in_place,                                                                                    \
      writes },
#include <tenon/ops.def>
};

const tni_op *tni_op_find(tnp_op number)
{
    for (size_t i = 0; i < TN_COUNT_OF(ops); i++)
        if (ops[i].number == number)
            return &ops[i];
    return NULL;
}

bool tni_op_is_view(tnp_op number)
{
    return number >= TNP_OP_RESHAPE && number <= TNP_OP_LIMIT;
}
