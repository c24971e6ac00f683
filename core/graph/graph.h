// graph.h: the inside of a tn_graph, for plan, sched and exec, which read a finished one and keep
// their own tables beside it, by index. Only the files of this folder write it.
//
//   values     leaves, outputs of nodes, views; a view comes after what it looks at, and any value
//              after its lengths
//   nodes      ops that compute; the order of the array is an order that can be executed
//   storages   alias classes: the bytes that a leaf or an output owns, and that its views look at
//
// A view makes no node: it is a value over the storage of its base, with its own offset, strides
// and extents. An op that writes through an operand (set_rows) makes a value over that operand's
// storage.
#ifndef TNI_GRAPH_H
#define TNI_GRAPH_H

#include <stdbool.h>

#include <tenon/graph.h>
#include <tenon/plugin.h>

#include "base/arena.h"

enum { TNI_MAX_INPUTS = 6, TNI_MAX_VALUES = 1 << 26 };

typedef enum tni_source { TNI_INPUT, TNI_WEIGHT, TNI_STATE, TNI_MADE, TNI_VIEW } tni_source;

typedef struct tni_value {
    tni_source source;
    tn_dtype dtype;
    uint32_t rank;
    uint32_t storage;
    int64_t dims[TN_MAX_DIMS];
    int64_t strides[TN_MAX_DIMS];   // bytes; 0 = broadcast
    uint32_t extent[TN_MAX_DIMS];   // 1 + index of the value that tells how much of the dim counts;
                                    // 0 = all
    uint64_t offset;                // bytes from the start of the storage
    uint32_t base;    // the value it looks at (VIEW), or writes through (MADE); else TNP_NONE
    uint32_t node;    // its maker (MADE); else TNP_NONE
    tnp_op view_op;   // which view (VIEW)
    int64_t likely, at_most;          // of a length or position; 0 = unknown
    const void *data;                 // bytes of a WEIGHT
    uint64_t run_bytes, run_stride;   // these lie in runs of so many bytes, so far apart; 0 = in
                                      // one piece
    const char *name;
} tni_value;

// Where a node belongs, for placing it; TN_NO_LAYER, TN_NO_PART = nowhere in particular.
typedef struct tni_mark {
    uint32_t layer, part;
} tni_mark;

typedef struct tni_node {
    tnp_op op;
    uint32_t output;
    uint32_t input_count;
    uint32_t inputs[TNI_MAX_INPUTS];   // values; TNP_NONE = optional and left out
    uint32_t attr_bytes;
    const void *attr;   // with its size first; NULL = none
    const char *name;
    uint32_t origin;   // in a decomposed graph: the node of the graph before that it stands for
    tni_mark mark;
} tni_node;

typedef struct tni_storage {
    uint32_t owner;   // the value it was made for: INPUT, WEIGHT, STATE or MADE
    uint64_t bytes;
} tni_storage;

typedef struct tni_output {
    const char *name;
    uint32_t value;
} tni_output;

// What node n must come after, made by finish: before[first[n]] … before[first[n + 1] - 1],
// ascending, each below n.
typedef struct tni_order {
    uint32_t *first;
    uint32_t *before;
} tni_order;

struct tn_graph {
    tni_arena arena;   // names, attributes, order
    uint32_t generation;
    bool is_finished;
    tn_error first_error;   // sticks
    tni_mark mark;          // of the nodes to come
    uint32_t value_count, value_capacity;
    uint32_t node_count, node_capacity;
    uint32_t storage_count, storage_capacity;
    uint32_t output_count, output_capacity;
    tni_value *values;
    tni_node *nodes;
    tni_storage *storages;
    tni_output *outputs;
    tni_order order;
    uint64_t *input_sums;   // by storage of an input: its bytes and those of all smaller inputs;
                            // else UINT64_MAX; made by finish
    uint32_t *touches;      // by storage: how often the nodes read and write it; made by finish
    uint64_t fingerprint;   // of topology, ops, attributes, shapes and types; made by finish
};

// ---------------------------------------------------------------------------------------- op table

typedef struct tni_op {
    tnp_op number;
    const char *name;   // "rms_norm"
    uint32_t inputs_min, inputs_max;
    uint32_t attr_bytes;   // 0 = none
    uint32_t in_place;     // bit i: the output may take the bytes of operand i
    int32_t writes;        // the operand it writes through; -1 = none
} tni_op;

const tni_op *tni_op_find(tnp_op number);   // NULL = no op of this release
bool tni_op_is_view(tnp_op number);

// --------------------------------------------------------------------------------------- questions

// The values that a node reads: the operands that are not left out, and the lengths of
// operands and output. Answers how many, each as often as it is read.
enum { TNI_MAX_READS = (TNI_MAX_INPUTS + 1) * (1 + TN_MAX_DIMS) };
uint32_t tni_node_reads(const tn_graph *graph, const tni_node *node,
                        uint32_t values[TNI_MAX_READS]);
// These and its output.
uint32_t tni_node_touches(const tn_graph *graph, const tni_node *node,
                          uint32_t values[TNI_MAX_READS + 1]);

// The source of the storage that a value looks at: a view of a state is TNI_STATE.
tni_source tni_storage_source(const tn_graph *graph, uint32_t storage);

bool tni_value_is_contiguous(const tni_value *value);
int64_t tni_value_elements(const tni_value *value);

// Bytes [from, from + bytes) of a WEIGHT, together, wherever the application has them.
void tni_weight_gather(const tni_value *weight, uint64_t from, uint64_t bytes, void *to);

// "F32 {576, 7}" into room bytes; answers text.
char *tni_value_text(const tni_value *value, char *text, size_t room);

#endif
