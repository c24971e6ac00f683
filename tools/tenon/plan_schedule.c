// plan_schedule.c: who runs what of a model, as `tenon plan` prints it.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

enum { MOST_LISTED = 40, MOST_GROUPS = 32 };   // segments of a text, kinds of boundaries

const char *plan_safe(const char *text, tn_error *room)
{
    (void)tn_error_set(room, TN_OK, text);
    return room->text;
}

// ------------------------------------------------------------------------------------- collecting

typedef struct collecting {
    plan_schedule *schedule;
    uint32_t count;
    bool is_short;   // of memory
} collecting;

static void take_segment(void *context, const tn_segment *told)
{
    collecting *c = context;
    plan_segment *segment = &c->schedule->segments[c->count++];
    *segment = (plan_segment){ *told, strdup(told->reason) };
    c->is_short |= !segment->reason;
}

static void take_copy(void *context, const tn_segment_copy *told)
{
    collecting *c = context;
    c->schedule->copies[c->count++] = *told;
}

static tn_status find_schedule(plan_schedule *s, const tn_session *session, uint32_t graph,
                               bool *is_short, tn_error *err)
{
    collecting segments = { .schedule = s }, copies = { .schedule = s };
    s->told.size = sizeof s->told;
    tn_status status = tn_session_graph_schedule(session, graph, &s->told, err);
    if (status != TN_OK)
        return status;
    s->segments = calloc(s->told.segment_count + 1, sizeof *s->segments);
    s->copies = calloc(s->told.copy_count + 1, sizeof *s->copies);
    *is_short = !s->segments || !s->copies;
    if (*is_short)
        return TN_OK;
    status = tn_session_segments(session, graph, &(tn_segment_sink){ &segments, take_segment },
                                 err);
    if (status == TN_OK)
        status = tn_session_copies(session, graph, &(tn_segment_copy_sink){ &copies, take_copy },
                                   err);
    *is_short = segments.is_short;
    return status;
}

static tn_status find_links(plan_report *r, const tn_session *session, tn_error *err)
{
    tn_status status = TN_OK;
    plan_link *link = r->links;
    for (uint32_t from = 0; from < r->device_count; from++)
        for (uint32_t to = 0; to < r->device_count && status == TN_OK; to++) {
            if (from == to)
                continue;
            *link = (plan_link){ from, to, { .size = sizeof link->cost } };
            status = tn_session_link(session, from, to, &link->cost, err);
            link++;
        }
    return status;
}

int plan_find_schedules(plan_report *r, const tn_session *session, tn_runtime *runtime)
{
    tn_error err = { 0 };
    tn_status status = TN_OK;
    r->schedules = calloc(r->graph_count, sizeof *r->schedules);
    r->claim_factors = calloc(r->device_count, sizeof *r->claim_factors);
    r->is_measured = calloc(r->device_count, sizeof *r->is_measured);
    r->links = calloc((size_t)r->device_count * r->device_count, sizeof *r->links);
    bool is_short = !r->schedules || !r->claim_factors || !r->is_measured || !r->links;
    for (uint32_t d = 0; d < r->device_count && !is_short; d++)
        r->claim_factors[d] = tn_device_claim_factor(
            tn_runtime_find_device(runtime, r->devices[d].name), &r->is_measured[d]);
    if (!is_short)
        status = find_links(r, session, &err);
    for (uint32_t g = 0; g < r->graph_count && status == TN_OK && !is_short; g++)
        status = find_schedule(&r->schedules[g], session, g, &is_short, &err);
    if (is_short)
        return cli_fail(CLI_MEMORY, "not enough memory for the report of the plan");
    return status == TN_OK ? CLI_OK : cli_fail_status(&err);
}

void plan_drop_schedules(plan_report *r)
{
    for (uint32_t g = 0; g < r->graph_count && r->schedules; g++) {
        plan_schedule *s = &r->schedules[g];
        for (uint32_t i = 0; i < s->told.segment_count && s->segments; i++)
            free(s->segments[i].reason);
        free(s->segments);
        free(s->copies);
    }
    free(r->schedules);
    free(r->claim_factors);
    free(r->is_measured);
    free(r->links);
}

// ------------------------------------------------------------------------------------------- JSON

static const char *known_by(const tn_link_cost *link)
{
    return link->known_by == TN_KNOWN_BY_MEASURE  ? "measured"
           : link->known_by == TN_KNOWN_BY_PLUGIN ? "plugin"
                                                  : "default";
}

static uint32_t link_count(const plan_report *r)
{
    return r->device_count * (r->device_count - 1);
}

json_t *plan_links(const plan_report *r)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < link_count(r); i++) {
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

bool plan_add_schedule(json_t *to, const plan_report *r, uint32_t graph)
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

// ------------------------------------------------------------------------------------------- text

static bool is_used(const plan_report *r, const plan_link *link)
{
    for (uint32_t g = 0; g < r->graph_count; g++)
        for (uint32_t c = 0; c < r->schedules[g].told.copy_count; c++)
            if (r->schedules[g].copies[c].from == link->from &&
                r->schedules[g].copies[c].to == link->to)
                return true;
    return false;
}

// What the costs are made of: as the devices say, or as it was measured.
static void print_figures(const plan_report *r)
{
    uint32_t measured = 0;
    for (uint32_t d = 0; d < r->device_count; d++) {
        measured += r->is_measured[d];
        if (r->is_measured[d])
            printf("  claims of %s count %.3f times, as measured\n", r->devices[d].name,
                   r->claim_factors[d]);
    }
    if (measured < r->device_count)
        printf("  claims of %s count as they are made: tenon tune measures them\n",
               measured               ? "the others"
               : r->device_count == 1 ? r->devices[0].name
                                      : "all");
    for (uint32_t i = 0; i < link_count(r); i++) {
        const plan_link *link = &r->links[i];
        if (is_used(r, link))
            printf("  %s to %s takes %.3f us and 1 s for %.1f GB, %s\n",
                   r->devices[link->from].name, r->devices[link->to].name,
                   link->cost.latency_ns / 1e3, link->cost.bytes_per_s / 1e9,
                   link->cost.known_by == TN_KNOWN_BY_MEASURE  ? "as measured"
                   : link->cost.known_by == TN_KNOWN_BY_PLUGIN ? "as the plugin says"
                                                               : "by default");
    }
}

static void print_row(const plan_report *r, uint32_t graph)
{
    const tn_graph_schedule *s = &r->schedules[graph].told;
    printf("  %6" PRIu32 "  %8" PRIu32 "  %6" PRIu32 "  %12" PRIu64 "  %9.3f ms  %9.3f ms  ",
           r->tokens[graph], s->segment_count, s->copy_count, s->copy_bytes, s->cost_ns / 1e6,
           s->bound_ns / 1e6);
    if (s->greedy_ns > 0 && s->greedy_fits)
        printf("%9.3f ms  ", s->greedy_ns / 1e6);
    else
        printf("%12s  ", s->greedy_ns > 0 ? "no room" : "none");
    printf("%s%s\n", s->method, s->is_proved_optimal ? ", proved" : "");
}

// Boundaries that are for the same reason.
typedef struct group {
    const plan_segment *first;
    uint32_t count;
} group;

static bool is_alike(const tn_segment *a, const tn_segment *b)
{
    return a->why == b->why && a->device == b->device && strcmp(a->refusal, b->refusal) == 0 &&
           (a->why != TN_BEGINS_UNSUPPORTED || strcmp(a->op, b->op) == 0);
}

// How many boundaries there are for each reason, with the first of each in full.
static void print_reasons(const plan_schedule *s)
{
    group groups[MOST_GROUPS];
    uint32_t count = 0;
    tn_error room;
    for (uint32_t i = 1; i < s->told.segment_count; i++) {
        uint32_t g = 0;
        while (g < count && !is_alike(&groups[g].first->told, &s->segments[i].told))
            g++;
        if (g == MOST_GROUPS)
            continue;
        if (g == count)
            groups[count++] = (group){ &s->segments[i], 0 };
        groups[g].count++;
    }
    for (uint32_t g = 0; g < count; g++)
        printf("  %4" PRIu32 " begin%s %s\n", groups[g].count, groups[g].count == 1 ? "s" : "",
               plan_safe(groups[g].first->reason, &room));
}

static void print_segments(const plan_report *r, const plan_schedule *s)
{
    uint32_t copy = 0, listed = s->told.segment_count;
    tn_error room;
    if (listed > MOST_LISTED)
        listed = MOST_LISTED;
    puts("  segment  device      steps         cost  begins at");
    for (uint32_t i = 0; i < listed; i++) {
        const tn_segment *told = &s->segments[i].told;
        for (; copy < s->told.copy_count && s->copies[copy].segment == i; copy++)
            printf("           copy %s to %s, %" PRIu64 " bytes, %.3f ms: '%s'\n",
                   r->devices[s->copies[copy].from].name, r->devices[s->copies[copy].to].name,
                   s->copies[copy].bytes, s->copies[copy].cost_ns / 1e6,
                   plan_safe(s->copies[copy].value, &room));
        printf("  %7" PRIu32 "  %-10s %6" PRIu32 " %9.3f ms  '%s', %s\n", i,
               r->devices[told->device].name, told->step_count, told->cost_ns / 1e6,
               plan_safe(told->first_node, &room), tn_begins_name(told->why));
    }
    if (s->told.segment_count > listed)
        printf("  and %" PRIu32 " more, see --json\n", s->told.segment_count - listed);
}

void plan_print_schedules(const plan_report *r)
{
    puts("\n  tokens  segments  copies  copied bytes          cost         bound        greedy  "
         "by");
    for (uint32_t g = 0; g < r->graph_count; g++)
        print_row(r, g);
    if (r->device_count > 1)
        puts("  bounds, and what is proved, are for states and weights where they are");
    print_figures(r);
    for (uint32_t g = 0; g < r->graph_count; g++) {
        const plan_schedule *s = &r->schedules[g];
        if (s->told.segment_count < 2)
            continue;
        printf("\n%" PRIu32 " token%s: %" PRIu32 " segments, %" PRIu32 " cop%s of %" PRIu64
               " bytes, %.3f of %.3f ms\n",
               r->tokens[g], cli_plural(r->tokens[g]), s->told.segment_count, s->told.copy_count,
               s->told.copy_count == 1 ? "y" : "ies", s->told.copy_bytes, s->told.copies_ns / 1e6,
               s->told.cost_ns / 1e6);
        print_reasons(s);
        if (g == r->graph_count - 1)
            print_segments(r, s);
    }
}
