// plan_json.c: what `tenon plan MODEL --json` prints.
#include <math.h>

#include "json.h"
#include "plan.h"

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *device_of(const plan_report *r, uint32_t device)
{
    const tn_device_memory *m = &r->devices[device];
    return json_pack(
        "{ss so so so so so so so so so so so so sf sb sb si}", "name", m->name, "peak_bytes",
        integer(m->peak_bytes), "lower_bound_bytes", integer(m->lower_bound_bytes),
        "capacity_bytes", integer(m->capacity_bytes), "gap_bytes",
        integer(m->peak_bytes - m->lower_bound_bytes), "unshared_bytes", integer(m->unshared_bytes),
        "in_place_saved_bytes", integer(m->in_place_saved_bytes), "packing_saved_bytes",
        integer(m->packing_saved_bytes), "state_bytes", integer(m->state_bytes),
        "weight_mapped_bytes", integer(m->weight_mapped_bytes), "weight_copied_bytes",
        integer(m->weight_copied_bytes), "weight_cached_bytes", integer(m->weight_cached_bytes),
        "needed_bytes", integer(plan_needed(m)), "claim_factor", r->claim_factors[device],
        "measured", (int)r->is_measured[device], "left_out", (int)m->is_left_out, "layers",
        (int)m->layer_count);
}

static json_t *plan_of(const char *device, const tn_graph_memory *m)
{
    return json_pack("{ss so so sb so so so sf si ss}", "device", device, "peak_bytes",
                     integer(m->peak_bytes), "lower_bound_bytes", integer(m->lower_bound_bytes),
                     "proved_optimal", (int)m->is_proved_optimal, "unshared_bytes",
                     integer(m->unshared_bytes), "in_place_saved_bytes",
                     integer(m->in_place_saved_bytes), "packing_saved_bytes",
                     integer(m->packing_saved_bytes), "planning_ms", (double)m->planning_ns / 1e6,
                     "peak_step", (int)m->peak_step, "peak_node", m->peak_name);
}

static json_t *devices_of(const plan_report *r)
{
    json_t *list = json_array();
    for (uint32_t d = 0; d < r->device_count; d++)
        json_array_append_new(list, device_of(r, d));
    return list;
}

static const char *known_by(const tn_link_cost *link)
{
    return link->known_by == TN_KNOWN_BY_MEASURE  ? "measured"
           : link->known_by == TN_KNOWN_BY_PLUGIN ? "plugin"
                                                  : "default";
}

static json_t *links_of(const plan_report *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->link_count; i++) {
        const plan_link *link = &r->links[i];
        if (!link->cost.known_by)   // one of them is left out
            continue;
        json_array_append_new(list,
                              json_pack("{ss ss sf sf ss}", "from", r->devices[link->from].name,
                                        "to", r->devices[link->to].name, "latency_ns",
                                        link->cost.latency_ns, "bytes_per_s",
                                        link->cost.bytes_per_s, "known_by", known_by(&link->cost)));
    }
    return list;
}

static json_t *segments_of(const plan_report *r, const plan_schedule *s)
{
    json_t *list = json_array();
    tn_error node, reason;
    for (uint32_t i = 0; i < s->told.segment_count; i++) {
        const tn_segment *told = &s->segments[i].told;
        json_array_append_new(
            list,
            json_pack("{ss ss si ss ss si si sf}", "device", r->devices[told->device].name,
                      "first_node", plan_safe(told->first_node, &node), "nodes",
                      (int)told->node_count, "reason", plan_safe(s->segments[i].reason, &reason),
                      "why", tn_begins_name(told->why), "first_step", (int)told->first_step,
                      "steps", (int)told->step_count, "cost_ns", told->cost_ns));
    }
    return list;
}

static json_t *copies_of(const plan_report *r, const plan_schedule *s)
{
    json_t *list = json_array();
    tn_error value;
    for (uint32_t i = 0; i < s->told.copy_count; i++) {
        const tn_segment_copy *told = &s->copies[i];
        json_array_append_new(
            list, json_pack("{ss ss ss sI si sf}", "value", plan_safe(told->value, &value), "from",
                            r->devices[told->from].name, "to", r->devices[told->to].name, "bytes",
                            (json_int_t)told->bytes, "segment", (int)told->segment, "cost_ns",
                            told->cost_ns));
    }
    return list;
}

static bool add_schedule(json_t *to, const plan_report *r, uint32_t graph)
{
    const plan_schedule *s = &r->schedules[graph];
    json_t *own = json_pack("{so so sf sf sf sf sb sf sb ss}", "segments", segments_of(r, s),
                            "copies", copies_of(r, s), "cost_ns", s->told.cost_ns, "bound_ns",
                            s->told.bound_ns, "gap_ns", fmax(s->told.cost_ns - s->told.bound_ns, 0),
                            "greedy_ns", s->told.greedy_ns, "greedy_fits", (int)s->told.greedy_fits,
                            "copies_ns", s->told.copies_ns, "cost_proved_optimal",
                            (int)s->told.is_proved_optimal, "method", s->told.method);
    bool is_added = own && json_object_update(to, own) == 0;
    json_decref(own);
    return is_added;
}

static json_t *graphs_of(const plan_report *r)
{
    json_t *list = json_array();
    for (uint32_t g = 0; g < r->graph_count; g++) {
        const tn_graph_memory *memory = &r->graphs[(size_t)g * r->device_count];
        json_t *plans = json_array();
        for (uint32_t d = 0; d < r->device_count; d++)
            json_array_append_new(plans, plan_of(r->devices[d].name, &memory[d]));
        json_t *graph = json_pack("{si si so}", "tokens", (int)r->tokens[g], "steps",
                                  (int)memory->step_count, "plans", plans);
        (void)add_schedule(graph, r, g);   // what lacks memory here lacks it at the end too
        json_array_append_new(list, graph);
    }
    return list;
}

static json_t *live_of(const plan_report *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->live_count; i++) {
        const plan_live *live = &r->live[i];
        json_array_append_new(
            list, json_pack("{ss si ss sb so so si si}", "device", r->devices[live->device].name,
                            "tokens", (int)r->tokens[live->graph], "name", live->value.name,
                            "scratch", live->value.kind == TN_PLANNED_SCRATCH, "bytes",
                            integer(live->value.peak_bytes), "offset", integer(live->value.offset),
                            "first_step", (int)live->value.first_step, "last_step",
                            (int)live->value.last_step));
    }
    return list;
}

int plan_print_json(const plan_report *r)
{
    json_t *root = json_pack("{si so so so ss si si si sb so so so so so}", "schema_version", 1,
                             "devices", devices_of(r), "needed_bytes", integer(r->needed_bytes),
                             "mapped_bytes", integer(r->mapped_bytes), "architecture",
                             r->info.architecture, "context_tokens", (int)r->info.context_tokens,
                             "batch_tokens", (int)r->tokens[r->graph_count - 1], "threads",
                             (int)r->threads, "checked", r->is_checked, "graphs", graphs_of(r),
                             "live_at_peak", live_of(r), "links", links_of(r), "placement",
                             plan_placement(r), "warnings", plan_warnings());
    if (root)
        (void)add_schedule(root, r, r->graph_count - 1);   // cli_json_print finds what lacks
    return cli_json_print(root, "the report of the plan");
}
