// interpret.h: runs a finished graph by the reference of the conformance kit, a node at a time.
#ifndef TEST_INTERPRET_H
#define TEST_INTERPRET_H

#include "graph/graph.h"

typedef struct interpreter {
    const tn_graph *graph;
    char **bytes;   // by storage
} interpreter;

// Bytes for all storages, filled with NaNs but for weights. Fails the test (CMocka).
interpreter interpret_begin(const tn_graph *graph);
void interpret_end(interpreter *it);

void interpret_feed(interpreter *it, const char *name, const void *data, size_t bytes);
void interpret_run(interpreter *it);
// What counts of a value, in order, as F32; how many there are.
size_t interpret_read(const interpreter *it, uint32_t value, float *out, size_t room);
const void *interpret_bytes(const interpreter *it, uint32_t value);   // of its storage

#endif
