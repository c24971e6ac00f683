// plan_schedule_text.c: who runs what of a model, as `tenon plan` prints it.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan.h"

enum { MOST_LISTED = 40, MOST_GROUPS = 32 };   // segments, kinds of boundaries

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
    for (uint32_t i = 0; i < r->link_count; i++) {
        const plan_link *link = &r->links[i];
        if (is_used(r, link))
            printf("  %s to %s: latency %.3f us, %.1f GB/s, %s\n", r->devices[link->from].name,
                   r->devices[link->to].name, link->cost.latency_ns / 1e3,
                   link->cost.bytes_per_s / 1e9,
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
