// plan.h: what the files of `tenon plan` share.
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include <jansson.h>

#include <tenon/tune.h>

#include "load.h"

typedef struct plan_options {
    cli_model_options model;
    int64_t batch;   // 0 = as run has it
    const char *intervals, *explain;
    int64_t capacity, time_limit, align;   // of intervals; -1 = not given
    bool json, check;
} plan_options;

// ------------------------------------------------------------------------------------------ models

typedef struct plan_live {   // a value that has bytes at the peak
    tn_planned_value value;
    uint32_t device, graph;
} plan_live;

// Who runs a graph, and what is copied. Texts are the report's own.
typedef struct plan_segment {
    tn_segment told;
    char *reason;
} plan_segment;

typedef struct plan_schedule {
    tn_graph_schedule told;
    plan_segment *segments;    // told.segment_count
    tn_segment_copy *copies;   // told.copy_count
} plan_schedule;

// Between two devices that copies of a plan use.
typedef struct plan_link {
    uint32_t from, to;
    tn_link_cost cost;
} plan_link;

// What was compared with what was chosen.
typedef struct plan_compared {
    uint32_t outcome;   // TN_COMPARED_…
    double times;
    char *name;
} plan_compared;

typedef struct plan_report {
    const char *model;   // as the user wrote it
    tn_placement_report placement;
    plan_compared *compared;   // the chosen one first
    uint32_t compared_count;
    tlm_context_info info;
    uint32_t threads, device_count, graph_count;
    uint64_t needed_bytes, mapped_bytes;   // of all devices and the file, as `run` counts them
    tn_device_memory *devices;   // weights in a file that was read into memory count as copied
    tn_graph_memory *graphs;     // [graph][device]
    plan_schedule *schedules;    // by graph
    double *claim_factors;       // by device: its claims cost so many times what it says
    uint32_t *is_measured;       // by device: whether that was measured
    uint32_t link_count;
    plan_link *links;    // between any two devices, both ways
    uint32_t *tokens;    // by graph: at once
    uint32_t *largest;   // by device: the graph that its arena is sized for
    plan_live *live;     // of these graphs, by device, the largest value first
    uint32_t live_count;
    bool is_checked;
} plan_report;

// Bytes of the device's memory: arena, states, copied weights.
uint64_t plan_needed(const tn_device_memory *device);

// plan_report.c: fills a report that has its model and is zero else. CLI_OK, or the exit code after
// a line; plan_drop_report in any case.
int plan_make_report(plan_report *report, const cli_loaded *loaded);
void plan_drop_report(plan_report *report);
// One line that is safe to show: names come from the file.
const char *plan_safe(const char *text, tn_error *room);

void plan_print_text(const plan_report *report);
int plan_print_json(const plan_report *report);

// plan_placement.c: what became of the placement. CLI_OK, or the exit code after a line.
int plan_find_placement(plan_report *report, const tn_session *session);
void plan_drop_placement(plan_report *report);
void plan_print_placement(const plan_report *report);
json_t *plan_placement(const plan_report *report);
json_t *plan_warnings(void);

// plan_schedule.c: fills schedules and what costs are reckoned with. CLI_OK, or the exit code after
// a line.
int plan_find_schedules(plan_report *report, const tn_session *session, tn_runtime *runtime);
void plan_drop_schedules(plan_report *report);
void plan_print_schedules(const plan_report *report);   // plan_schedule_text.c

// --------------------------------------------------------------------------------------- intervals

// tenon plan --intervals FILE. The exit code.
int plan_intervals(const plan_options *given);

#endif
