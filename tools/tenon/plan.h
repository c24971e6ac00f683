// plan.h: what the files of `tenon plan` share.
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "load.h"

typedef struct plan_options {
    cli_model_options model;
    int64_t batch;   // 0 = as run has it
    const char *intervals;
    int64_t capacity, time_limit, align;   // of intervals; -1 = not given
    bool json, check;
} plan_options;

// ------------------------------------------------------------------------------------------ models

typedef struct plan_live {   // a value that has bytes at the peak
    tn_planned_value value;
    uint32_t device, graph;
} plan_live;

typedef struct plan_report {
    const char *model;   // as the user wrote it
    tlm_context_info info;
    uint32_t threads, device_count, graph_count;
    uint64_t needed_bytes, mapped_bytes;   // of all devices and the file, as `run` counts them
    tn_device_memory *devices;   // weights in a file that was read into memory count as copied
    tn_graph_memory *graphs;     // [graph][device]
    uint32_t *tokens;            // by graph: at once
    uint32_t *largest;           // by device: the graph that its arena is sized for
    plan_live *live;             // of these graphs, by device, the largest value first
    uint32_t live_count;
    bool is_checked;
} plan_report;

// Bytes of the device's memory: arena, states, copied weights.
uint64_t plan_needed(const tn_device_memory *device);

int plan_print_json(const plan_report *report);

// --------------------------------------------------------------------------------------- intervals

// tenon plan --intervals FILE. The exit code.
int plan_intervals(const plan_options *given);

#endif
