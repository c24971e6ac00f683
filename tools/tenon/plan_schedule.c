// plan_schedule.c: who runs what of a model, for the report of `tenon plan`.
#include <stdlib.h>
#include <string.h>

#include "plan.h"

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
    r->link_count = r->device_count * (r->device_count - 1);
    r->links = calloc((size_t)r->link_count + 1, sizeof *r->links);
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
