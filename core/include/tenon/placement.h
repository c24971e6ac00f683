// placement.h: where the layers of a model go, said the way people say it. For tn_session_options.
//
// A layer is what tn_graph_mark says; the last one marked (of a language model: the output norm and
// matrix) counts as one more. Layers are divided over the session's devices that are no CPUs, in
// their order, or over all of them where all are CPUs. What is said of layers is a wish: a node
// goes elsewhere where its device does not take it, or holds no buffer as large. A pin and
// kv_device are orders: a node that cannot be there is an error. Results keep their bits where the
// same ops run on devices of the same type. Within the tolerance of the types, and no nearer, they
// agree where a device of another type rounds otherwise, where a composite op runs whole on one and
// in simpler ops on another, and where the graph is divided so that sums have another order, as a
// model's is by TN_SPLIT_TENSOR: text that is made of them may differ.
//
// Without a placement, or with all of it zero: the fastest assignment by the cost model that fits
// the memory that is free on each device and the host. While memory is short that is the cheapest
// of several, by what all likely runs cost (graph_runs in tenon/session.h): each node by the
// solver; whole layers off the CPU; these in neighbours, cut by free memory or with one device
// full; all on one device; these with the largest weight on one device, or without a device.
// tn_session_explain tells which. With one: what it says, as far as it fits. What a device of modes
// layer, row or tensor has no room for goes to those others that have a share and room;
// where they have none, fewer layers are off the CPUs, the last ones. A warning tells how many, and
// what each device would need and has.
#ifndef TENON_PLACEMENT_H
#define TENON_PLACEMENT_H

#include <tenon/device.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TN_SPLIT_FREE = 0,     // each node where the cost model wants it
    TN_SPLIT_NONE = 1,     // all layers on the main device
    TN_SPLIT_LAYER = 2,    // whole layers, neighbours together; bytes by shares, or by free memory
    // Part p of a layer that the graph divides on the p-th device of the split, the rest on the
    // main device. It is the graph that is divided, by rows, or by heads and columns: both are
    // placed alike.
    TN_SPLIT_ROW = 3,
    TN_SPLIT_TENSOR = 4,
};

enum {
    TN_LAYERS_AUTO = 0,    // all that fit; with TN_SPLIT_FREE all that are faster there
    TN_LAYERS_COUNT = 1,   // the last gpu_layers, the others on CPUs
    TN_LAYERS_ALL = 2,
};

// A value by its exact name, or an output by its own, of any graph of the session: the nodes that
// make it, read it or touch bytes of it run on the device. Of a weight: the nodes that read it. Of
// two pins of one name the first counts. A name that no graph has is a warning in the log, once.
typedef struct tn_pin {
    const char *value;
    tn_device *device;
} tn_pin;

// All fields but size may be 0 or NULL. Copied during the call. What one of them makes impossible
// is told with "placement: ", the field's name and ": " before it.
typedef struct tn_placement {
    uint32_t size;         // sizeof
    uint32_t split_mode;   // TN_SPLIT_…
    uint32_t layer_rule;   // TN_LAYERS_…
    uint32_t gpu_layers;   // with TN_LAYERS_COUNT; more than there are = all
    // Of modes layer, row and tensor: the parts that each device of the split gets, in its order;
    // devices beyond share_count get none. Whole layers are cut where the bytes come nearest to the
    // shares (least squares; for layers of one size that is the largest remainder: 5 layers at
    // 0.5 : 1.0 are 2 and 3). None = by the memory that is free; of row and tensor, where the graph
    // has its own, it says how (of models: tenon/lm.h).
    uint32_t share_count;
    uint32_t pin_count;
    const double *shares;
    tn_device *main_device;   // of modes none, row and tensor; NULL = the first of the split
    tn_device *kv_device;     // of all states, and of what touches them; NULL = with their layers
    const tn_pin *pins;
} tn_placement;

#ifdef __cplusplus
}
#endif
#endif
