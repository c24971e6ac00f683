// graph_test.h: what the tests of graphs share. Shapes are written as messages show them: "F32 {4,
// 3}", and "F32 {4, 3 of n}" when only the first n of the 3 count in a run. "" stands for an
// operand that is left out.
#ifndef GRAPH_TEST_H
#define GRAPH_TEST_H

#include "graph/graph_internal.h"

tn_graph *test_graph(void);   // fails the test (CMocka) when there is no memory

// An input of that shape, named `name`; lengths are inputs I32 {1} of their own, made when they are
// first named. A shape that cannot be read fails the test.
tn_value test_value(tn_graph *graph, const char *name, const char *shape);

// The shape of a value, in a text that lives until the fourth call after it.
const char *test_shape(const tn_graph *graph, tn_value value);

const tni_value *test_at(const tn_graph *graph, tn_value value);

// Finishes, with the node of that value as the output "out"; fails the test unless all went well.
void test_finish(tn_graph *graph, tn_value out);

// Destroys the graph after finding that its finish answers `status` with a sentence that has all
// `parts`, a list that ends with NULL. says: which case, for the message.
void test_refused(tn_graph *graph, const char *says, tn_status status, const char *const *parts);

// The node that makes the value; UINT32_MAX = it was dropped.
uint32_t test_node(const tn_graph *graph, tn_value value);
// Whether node `later` was told to come after node `earlier`, perhaps through others.
bool test_is_after(const tn_graph *graph, uint32_t later, uint32_t earlier);

#endif
