// plan_text.c: what `tenon plan MODEL` prints.
#include <inttypes.h>
#include <stdio.h>

#include "plan.h"

static void print_bytes(const char *what, uint64_t bytes)
{
    double size;
    const char *unit = cli_unit(bytes, &size);
    printf("  %-18s %15" PRIu64, what, bytes);
    if (bytes >= 1024)
        printf(" %8.1f %s", size, unit);
    putchar('\n');
}

static bool is_used(const tn_device_memory *m)
{
    return m->unshared_bytes || m->state_bytes || m->weight_mapped_bytes ||
           m->weight_copied_bytes || m->weight_cached_bytes;
}

static void print_device(const tn_device_memory *m)
{
    if (!is_used(m)) {
        printf("%s: %s\n", m->name, m->is_left_out ? "left out, it failed" : "nothing runs here");
        return;
    }
    printf("%s, bytes\n", m->name);
    print_bytes("needed", plan_needed(m));
    print_bytes("peak", m->peak_bytes);
    print_bytes("lower bound", m->lower_bound_bytes);
    print_bytes("gap", m->peak_bytes - m->lower_bound_bytes);
    print_bytes("without reuse", m->unshared_bytes);
    print_bytes("saved in place", m->in_place_saved_bytes);
    print_bytes("saved by packing", m->packing_saved_bytes);
    print_bytes("states", m->state_bytes);
    print_bytes("weights copied", m->weight_copied_bytes);
    print_bytes("weights mapped", m->weight_mapped_bytes);
    if (m->weight_cached_bytes)
        print_bytes("packs in the cache", m->weight_cached_bytes);
    if (m->capacity_bytes)
        print_bytes("capacity", m->capacity_bytes);
    else
        printf("  %-18s %15s\n", "capacity", "not known");
}

// As `run --json` counts them, with all of a file that was read into memory.
static void print_all(const plan_report *r)
{
    puts("in all, bytes");
    print_bytes("needed", r->needed_bytes);
    print_bytes("mapped", r->mapped_bytes);
}

static void print_graphs(const plan_report *r)
{
    puts("\n  tokens   steps  device               peak     lower bound  planned in");
    for (uint32_t g = 0; g < r->graph_count; g++)
        for (uint32_t d = 0; d < r->device_count; d++) {
            const tn_graph_memory *m = &r->graphs[(size_t)g * r->device_count + d];
            if (!is_used(&r->devices[d]))
                continue;
            printf("  %6" PRIu32 "  %6" PRIu32 "  %-10s %14" PRIu64 "  %14" PRIu64 "  %.3f ms\n",
                   r->tokens[g], m->step_count, r->devices[d].name, m->peak_bytes,
                   m->lower_bound_bytes, (double)m->planning_ns / 1e6);
        }
}

static void print_live(const plan_report *r)
{
    tn_error room;
    for (uint32_t i = 0; i < r->live_count; i++) {
        const plan_live *live = &r->live[i];
        const tn_planned_value *v = &live->value;
        const tn_graph_memory *m = &r->graphs[(size_t)live->graph * r->device_count + live->device];
        if (i == 0 || live->device != r->live[i - 1].device) {
            printf("\nlive at the peak on %s: %" PRIu32 " token%s, step %" PRIu32 " of %" PRIu32
                   ", '%s'\n           bytes          offset      steps  value\n",
                   r->devices[live->device].name, r->tokens[live->graph],
                   cli_plural(r->tokens[live->graph]), m->peak_step, m->step_count,
                   plan_safe(m->peak_name, &room));
        }
        printf("  %14" PRIu64 "  %14" PRIu64 "  %4" PRIu32 "-%-4" PRIu32 "  %s%s\n", v->peak_bytes,
               v->offset, v->first_step, v->last_step,
               v->kind == TN_PLANNED_SCRATCH ? "scratch of " : "", plan_safe(v->name, &room));
    }
}

void plan_print_text(const plan_report *r)
{
    tn_error room;
    printf("%s: %s, a context of %" PRIu32 " token%s, %" PRIu32 " at once, %" PRIu32
           " thread%s\n\n",
           plan_safe(r->model, &room), r->info.architecture, r->info.context_tokens,
           cli_plural(r->info.context_tokens), r->tokens[r->graph_count - 1], r->threads,
           cli_plural(r->threads));
    for (uint32_t d = 0; d < r->device_count; d++)
        print_device(&r->devices[d]);
    print_all(r);
    plan_print_placement(r);
    plan_print_schedules(r);
    print_graphs(r);
    print_live(r);
    if (r->is_checked)
        puts(
            "\nchecked: no two values that live at one step share a byte, but those made in place");
}
