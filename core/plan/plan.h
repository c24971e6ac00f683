// plan.h: an address for each piece of bytes that lives for a part of a run.
//
// Time is counted in steps: what runs at step t may touch every interval with first <= t <= last.
// Two intervals that share a step never share bytes, except where one takes the place of the other
// (in-place): then the newer begins at the step in which the older ends.
//
//   step      0   1   2   3   4
//   a         ├───────┤                     offset 0
//   b             ├───────┤                 offset 64
//   c                 ├───────┤             takes the place of a
#ifndef TNI_PLAN_H
#define TNI_PLAN_H

#include "graph/graph.h"

typedef struct tni_interval {
    uint32_t first, last;   // steps, inclusive
    uint64_t bytes;
    uint32_t in_place_of;       // interval whose bytes it takes over at `first`, below this one's
                                // index; TNP_NONE = none
    uint64_t in_place_offset;   // from the start of that interval
} tni_interval;

typedef struct tni_plan {
    uint64_t *offsets;   // one an interval
    uint64_t peak_bytes;
    uint64_t bound_bytes;    // largest sum of live bytes, or the highest end of what is pinned: no
                             // plan of these intervals is smaller. Under an order: largest sum of
                             // bytes no two of which may be shared (order_bound.c)
    uint64_t blocks_bytes;   // sum of all where those in place of others count once
    uint64_t unshared_bytes;   // sum of all: what a plan without reuse needs
    bool is_optimal;           // the peak is the bound, or everything below it was ruled out
    uint32_t refused;          // after TN_E_DEVICE_MEMORY: the interval larger than a chunk, or
                               // TNP_NONE; its caller knows the name
} tni_plan;

// --------------------------------------------------------------------------------------- lifetimes

// When the bytes of a storage are touched by the nodes of one place (a device). first > last:
// never.
typedef struct tni_lifetime {
    uint32_t first, last;
} tni_lifetime;

// steps[n], places[n]: when and where node n runs. Fills lifetimes[storage] for all storages of the
// graph.
void tni_plan_lifetimes(const tn_graph *graph, const uint32_t *steps, const uint32_t *places,
                        uint32_t place, tni_lifetime *lifetimes);

// ---------------------------------------------------------------------------------------- in place

// Whether `output`, made by one of these nodes (of one unit), may take the bytes of `input`, which
// one of them reads, by what the ops are (ops.def) and what the values are: same dims, strides and
// element size, nothing in the unit that sees the same bytes differently. Lifetimes are not looked
// at.
bool tni_plan_may_overwrite(const tn_graph *graph, const uint32_t *nodes, uint32_t node_count,
                            uint32_t output, uint32_t input);

// ----------------------------------------------------------------------------------------- packing

// An interval that must lie at an offset: bytes that were placed before. One that takes the place
// of another cannot be pinned.
typedef struct tni_pin {
    uint32_t interval;
    uint64_t offset;
} tni_pin;

// Steps that do not run one after the other. Each belongs to a track, whose steps run in order, and
// a step may wait for steps of other tracks. Their numbers are one order in which they may run:
// what a step waits for has a lower number.
//
//   track 0   0 ──► 1 ──────► 4          step 4 waits for 3
//   track 1         2 ──► 3 ──┘          done[4] = { 2, 4 },  done[3] = { 0, 3 }
//
// An interval is over before step y when for every track ends <= done[y]. Two intervals may share
// bytes when one of them is over before the first step of the other: in every order of execution.
// `first` is then a step that all other steps that touch the interval come after, and `last` + 1
// the largest of its ends. An end of step_count on any track: over before nothing.
typedef struct tni_plan_order {
    uint32_t step_count, track_count;
    const uint32_t *track;   // by step
    const uint32_t *done;    // [step][track]: one past the latest step of the track that has ended
                             // when this step begins; 0 = none. tni_plan_order_done makes it
    const uint32_t *ends;    // [interval][track]: one past its last step on that track; 0 = none
} tni_plan_order;

typedef struct tni_plan_wait {
    uint32_t waiter, waits_for;   // steps: the second one has ended when the first one begins
} tni_plan_wait;

// Makes `done`, from `arena`. steps x tracks. Errors: TN_E_HOST_MEMORY; TN_E_ARG when a step waits
// for itself or a later one, or a number is not below its count.
tn_status tni_plan_order_done(uint32_t step_count, uint32_t track_count, const uint32_t *track,
                              const tni_plan_wait *waits, uint32_t wait_count, tni_arena *arena,
                              const uint32_t **out_done, tn_error *err);

// What a plan must keep to. All fields but alignment may be 0.
typedef struct tni_plan_rules {
    uint64_t alignment;       // of offsets; a power of two
    uint64_t chunk_bytes;     // no interval crosses a multiple of it; a multiple of the alignment
    uint64_t capacity;        // a peak of this much is good enough: nothing lower is looked for. 0
                              // with no time limit and more than 512 blocks: 1/128 above the bound
    uint64_t time_limit_ns;   // of searching; 0 = by steps, some ms: the same plan on every machine
    uint32_t pin_count;
    const tni_pin *pins;
    const tni_plan_order *order;   // NULL = step t has ended when step t + 1 begins
} tni_plan_rules;

// Arrays of the plan come from `arena`. Deterministic where the time limit is 0. A peak above the
// capacity is no error. Errors: TN_E_HOST_MEMORY; TN_E_DEVICE_MEMORY when the sizes exceed 2^63 - 1
// together, or an interval is larger than a chunk (out_plan->refused); TN_E_ARG when rules
// contradict each other or the intervals, or these themselves.
tn_status tni_plan_pack(const tni_interval *intervals, uint32_t count, const tni_plan_rules *rules,
                        tni_arena *arena, tni_plan *out_plan, tn_error *err);

// Independent of the above: TN_E_INTERNAL names the two intervals that clash, or what else is
// wrong. TN_E_HOST_MEMORY when `scratch` has none.
tn_status tni_plan_validate(const tni_interval *intervals, uint32_t count,
                            const tni_plan_rules *rules, const tni_plan *plan, tni_arena *scratch,
                            tn_error *err);

#endif
