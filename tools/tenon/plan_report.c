// plan_report.c: gathers what a session tells of its plans.
#include <stdlib.h>

#include "plan.h"

const char *plan_safe(const char *text, tn_error *room)
{
    (void)tn_error_set(room, TN_OK, text);
    return room->text;
}

static int larger_first(const void *a, const void *b)
{
    const plan_live *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->value.peak_bytes != y->value.peak_bytes)
        return x->value.peak_bytes > y->value.peak_bytes ? -1 : 1;
    return x->value.offset < y->value.offset ? -1 : x->value.offset > y->value.offset;
}

typedef struct collecting {
    plan_report *report;
    uint32_t device, room;
    bool is_short;   // of memory
} collecting;

static void collect(void *context, const tn_planned_value *value)
{
    collecting *c = context;
    plan_report *r = c->report;
    if (!value->peak_bytes || c->is_short)
        return;
    if (r->live_count == c->room) {
        uint32_t room = c->room ? 2 * c->room : 64;
        plan_live *larger = realloc(r->live, room * sizeof *larger);
        c->is_short = !larger;
        if (!larger)
            return;
        r->live = larger;
        c->room = room;
    }
    r->live[r->live_count++] = (plan_live){ *value, c->device, r->largest[c->device] };
}

static tn_status fill_graphs(plan_report *r, const tlm_context *context, tn_error *err)
{
    const tn_session *session = tlm_context_session(context);
    tn_status status = TN_OK;
    for (uint32_t g = 0; g < r->graph_count; g++) {
        r->tokens[g] = tlm_context_batch(context, g);
        for (uint32_t d = 0; d < r->device_count && status == TN_OK; d++) {
            tn_graph_memory *memory = &r->graphs[(size_t)g * r->device_count + d];
            memory->size = sizeof *memory;
            status = tn_session_graph_memory(session, g, d, memory, err);
            uint64_t most = r->graphs[(size_t)r->largest[d] * r->device_count + d].peak_bytes;
            if (memory->peak_bytes > most)
                r->largest[d] = g;
        }
    }
    return status;
}

static tn_status fill_devices(plan_report *r, const cli_loaded *loaded, bool *is_short,
                              tn_error *err)
{
    const tn_session *session = tlm_context_session(loaded->context);
    const bool is_in_memory = cli_is_in_memory(loaded);
    collecting c = { .report = r };
    tn_status status = TN_OK;
    for (uint32_t d = 0; d < r->device_count && status == TN_OK; d++) {
        c.device = d;
        r->devices[d].size = sizeof r->devices[d];
        status = tn_session_device_memory(session, d, &r->devices[d], err);
        if (status == TN_OK)
            status = tn_session_values(session, r->largest[d], d,
                                       &(tn_planned_value_sink){ &c, collect }, err);
        if (is_in_memory) {
            r->devices[d].weight_copied_bytes += r->devices[d].weight_mapped_bytes;
            r->devices[d].weight_mapped_bytes = 0;
        }
    }
    *is_short = c.is_short;
    if (r->live_count)
        qsort(r->live, r->live_count, sizeof *r->live, larger_first);
    return status;
}

uint64_t plan_needed(const tn_device_memory *device)
{
    return device->peak_bytes + device->state_bytes + device->weight_copied_bytes;
}

int plan_make_report(plan_report *r, const cli_loaded *loaded)
{
    const tn_session *session = tlm_context_session(loaded->context);
    tn_error err = { 0 };
    bool is_short = false;
    r->info.size = sizeof r->info;
    tlm_context_describe(loaded->context, &r->info);
    cli_memory(loaded, &r->needed_bytes, &r->mapped_bytes);
    r->threads = tn_runtime_threads(loaded->runtime);
    r->device_count = tn_session_device_count(session);
    r->graph_count = tn_session_graph_count(session);
    r->devices = calloc(r->device_count, sizeof *r->devices);
    r->graphs = calloc((size_t)r->graph_count * r->device_count, sizeof *r->graphs);
    r->tokens = calloc(r->graph_count, sizeof *r->tokens);
    r->largest = calloc(r->device_count, sizeof *r->largest);
    if (!r->devices || !r->graphs || !r->tokens || !r->largest)
        return cli_fail(CLI_MEMORY, "not enough memory for the report of the plan");
    tn_status status = fill_graphs(r, loaded->context, &err);
    if (status == TN_OK)
        status = fill_devices(r, loaded, &is_short, &err);
    if (is_short)
        return cli_fail(CLI_MEMORY, "not enough memory for the report of the plan");
    if (status != TN_OK)
        return cli_fail_status(&err);
    int code = plan_find_placement(r, session);
    return code == CLI_OK ? plan_find_schedules(r, session, loaded->runtime) : code;
}

void plan_drop_report(plan_report *r)
{
    plan_drop_schedules(r);
    plan_drop_placement(r);
    free(r->devices);
    free(r->graphs);
    free(r->tokens);
    free(r->largest);
    free(r->live);
}
