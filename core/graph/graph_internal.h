// graph_internal.h: shared by the files of this folder only.
#ifndef TNI_GRAPH_INTERNAL_H
#define TNI_GRAPH_INTERNAL_H

#include "graph/graph.h"

// Keeps the first error; answers TN_NO_VALUE so that a failing rule is one line.
tn_value tni_graph_fail(tn_graph *graph, tn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

tn_value tni_graph_fail_memory(tn_graph *graph);

// Whether building goes on: no error yet, not finished. Sets an error when it is finished.
bool tni_graph_is_open(tn_graph *graph);

// The value behind a handle; an error and NULL when it is none of this graph's. what: "operand 1 of
// rope".
const tni_value *tni_graph_take(tn_graph *graph, tn_value handle, const char *what);
tn_value tni_graph_handle(const tn_graph *graph, uint32_t index);

// Adds a copy; the pointers may move the arrays. UINT32_MAX after an error.
uint32_t tni_graph_add_value(tn_graph *graph, const tni_value *value);
uint32_t tni_graph_add_storage(tn_graph *graph, uint32_t owner, uint64_t bytes);

// Contiguous strides and the size of the whole. false: an error is set ("<what>: …"): unknown
// dtype, rank above 8, dims below 0, rows that are not whole blocks, sizes that wrap.
bool tni_value_lay_out(tn_graph *graph, tni_value *value, const char *what, uint64_t *bytes);

// An op about to be added, as its rule sees it.
typedef struct tni_rule {
    tn_graph *graph;
    const tni_op *op;
    const char *name;                      // for messages
    const tni_value *in[TNI_MAX_INPUTS];   // NULL = left out
    uint32_t in_index[TNI_MAX_INPUTS];
    const void *attr;   // NULL = none
    tni_value *out;     // dtype, rank, dims and extents are the rule's to set
} tni_rule;

// Fails with "<op> '<name>': <sentence>"; answers false.
bool tni_rule_fail(const tni_rule *rule, tn_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// tn_graph_op whose output is the value `into`, which has no maker yet and the shape that the rule
// finds; TNP_NONE = a new value. op.c
tn_value tni_graph_op_into(tn_graph *graph, tnp_op op, const char *name, const tn_value *inputs,
                           uint32_t input_count, const void *attr, uint32_t into);

bool tni_infer(const tni_rule *rule);   // infer.c: ops that compute
bool tni_view(const tni_rule *rule);    // view.c: also sets strides, offset

tn_status tni_graph_order(tn_graph *graph,
                          tn_error *err);   // order.c: drops dead nodes, fills order
tn_status tni_graph_verify(const tn_graph *graph, tn_error *err);   // verify.c

#endif
