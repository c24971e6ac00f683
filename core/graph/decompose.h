// decompose.h: composite ops, and a graph in which some of its nodes are said in simpler ops.
//
//   attention ──► matmul, softcap, softmax, convert, matmul …
//                          │        └──► max, sub, exp, sum, div …
//                          └──► scale, tanh
//
// Which op goes into which, and what is not composite, stands in words for plugin authors in
// sdk/docs/refusing.md, and as a table in decompose.c.
#ifndef TNI_DECOMPOSE_H
#define TNI_DECOMPOSE_H

#include "graph/graph.h"

// A set of composite ops, a bit each.
typedef uint64_t tni_composites;
#define TNI_ALL_COMPOSITES UINT64_MAX

// The set of the node's op alone; 0 = it cannot be said in simpler ops.
tni_composites tni_composites_of(const tn_graph *graph, const tni_node *node);

// A new graph, finished, with nodes of a finished one decomposed.
//   into    by node: composites that are decomposed in its place, itself and those that its
//           decomposition is made of; 0, or a set without its own op, leaves it as it is
// Values of `graph` keep their indices, and handles their meaning; what is new comes after them,
// named after the node that it stands for: "attn.0/softmax/sum". Names, attributes and the bytes of
// weights stay those of `graph`, which is to outlive the new one. Errors: TN_E_HOST_MEMORY.
tn_status tni_graph_decompose(const tn_graph *graph, const tni_composites *into,
                              const tn_allocator *allocator, tn_graph **out_graph, tn_error *err);

#endif
