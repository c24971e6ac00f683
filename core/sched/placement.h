// placement.h: a tn_placement, copied and checked, and the rules that it makes for nodes.
//
// Devices are kept as devices, not as places: when a session is made again without one of them,
// what names it says nothing, and the rest holds.
#ifndef TNI_SCHED_PLACEMENT_H
#define TNI_SCHED_PLACEMENT_H

#include <tenon/placement.h>

#include "sched/sched.h"

typedef struct tni_pinned_value {
    const char *value;
    const tn_device *device;
    uint32_t rank;   // as they were given
} tni_pinned_value;

typedef struct tni_placement {
    uint32_t split_mode, layer_rule, gpu_layers;   // as in tn_placement
    uint32_t split_count;                          // devices that layers are divided over
    const tn_device **split;
    const double *shares;   // of these; NULL = by free memory
    const tn_device *main_device, *kv_device;
    uint32_t pin_count;
    tni_pinned_value *pins;   // by name, then by rank; the first of a name counts
} tni_placement;

// asked NULL = nothing. Errors: TN_E_ARG in words; TN_E_HOST_MEMORY.
tn_status tni_placement_take(const tn_placement *asked, tn_device *const *devices,
                             uint32_t device_count, tni_arena *arena, tni_placement *out,
                             tn_error *err);

// Whether it demands anything to be on that device.
bool tni_placement_demands(const tni_placement *placement, const tn_device *device);

// Whether it says anything of layers; whether parts of a layer are on devices of their own; whether
// it says nothing of any node.
bool tni_placement_is_of_layers(const tni_placement *placement);
bool tni_placement_has_parts(const tni_placement *placement);
bool tni_placement_is_free(const tni_placement *placement);

// The layers of all graphs of a session, by the numbers of their marks, ascending.
typedef struct tni_layers {
    uint32_t count;
    uint32_t *marks;
    uint64_t *bytes;         // of weights and states; what several layers touch is of the first
    uint32_t part_count;     // that they are divided into: of modes row and tensor; else 0
    uint64_t *part_bytes;    // by layer, then by part: of these bytes; last what is of no part
    uint32_t offloaded;      // the last so many are on the split, by
    uint64_t *wishes;        // by layer: places; with parts of what is of none
    uint64_t *part_wishes;   // by layer, then by part
    uint64_t split_places, rest_places;   // rest: CPUs beside the split
    uint32_t main_place;                  // TNP_NONE = there is no split
    // By place: what layers may take there, UINT64_MAX = as much as they are to; and what they do,
    // where the mode says which device gets it.
    uint64_t most_bytes[TNI_MAX_PLACES], given_bytes[TNI_MAX_PLACES];
} tni_layers;

// The layer of this mark; TNP_NONE = there is none.
uint32_t tni_layers_index(const tni_layers *layers, uint32_t mark);

// As much is allowed on each place as there is to be.
tn_status tni_layers_find(const tn_graph *const *graphs, uint32_t graph_count,
                          const tni_placement *placement, tni_arena *arena, tni_layers *out,
                          tn_error *err);

// Places the last `offloaded` of the layers, and the others on CPUs. free_bytes: by place;
// UINT64_MAX = not told. Errors: TN_E_ARG there is no CPU for the others; TN_E_DEVICE_MEMORY
// most_bytes does not allow it; TN_E_HOST_MEMORY.
tn_status tni_layers_place(const tni_placement *placement, tn_device *const *devices,
                           uint32_t device_count, const uint64_t *free_bytes, uint32_t offloaded,
                           tni_arena *scratch, tni_layers *layers, tn_error *err);

// rules: by node. is_met: by pin, set where a node touches its value; NULL = not wanted. Errors:
// TN_E_ARG two pins, or a pin and kv_device, want a node on two devices.
tn_status tni_placement_rules(const tni_placement *placement, const tni_layers *layers,
                              tn_device *const *devices, uint32_t device_count,
                              const tn_graph *graph, tni_rule *rules, bool *is_met, tn_error *err);

// spread.c: the offloaded layers in whole, in a row by shares; those in parts by device.
typedef enum tni_spread {
    TNI_SPREAD_DONE,
    TNI_SPREAD_FULL,   // most_bytes does not allow it
    TNI_SPREAD_NO_MEMORY
} tni_spread;
tni_spread tni_spread_layers(const tni_placement *placement, tn_device *const *devices,
                             uint32_t device_count, const uint64_t *free_bytes, tni_arena *scratch,
                             tni_layers *layers);
tni_spread tni_spread_parts(const tni_placement *placement, tn_device *const *devices,
                            uint32_t device_count, tni_layers *layers);

// layers {count} of these bytes in neighbours over shares {devices}: ends[d] is one beyond the last
// of device d. The sum of squared distances from the shares is least; of equal ones the first
// devices get more. false: out of memory.
bool tni_apportion(const uint64_t *bytes, uint32_t count, const double *shares, uint32_t devices,
                   tni_arena *scratch, uint32_t *ends);

#endif
