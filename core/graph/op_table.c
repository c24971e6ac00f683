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

double tni_node_flops(const tn_graph *graph, const tni_node *node)
{
    const tni_value *operand = &graph->values[node->inputs[0]];
    const tni_value *second = node->input_count > 1 && node->inputs[1] != TNP_NONE
                                  ? &graph->values[node->inputs[1]]
                                  : operand;
    double n = (double)tni_value_elements(&graph->values[node->output]);
    double k = (double)operand->dims[0];
    double s = (double)second->dims[2];
    (void)k, (void)s;
    switch (node->op) {
#define OP(number, NAME, name, inputs_min, inputs_max, attr, in_place, writes, flops)              \
    case number:                                                                                   \
        return flops;
#include <tenon/ops.def>
    default:
        return n;
    }
}
