// plan.c: tenon plan
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

enum { MOST_BATCH = 512 };   // of a context

static const cli_option options[] = {
    CLI_TEXTLESS_MODEL_OPTIONS,
    { "batch", 0, CLI_NUMBER, "N", offsetof(plan_options, batch), 1, MOST_BATCH,
      "tokens at once, at most the context (default: as run has it, 512)" },
    { "explain", 0, CLI_TEXT, "NAME", offsetof(plan_options, explain), 0, 0,
      "say why what has this name is where it is: a node, value, op or device" },
    { "intervals", 0, CLI_TEXT, "FILE", offsetof(plan_options, intervals), 0, 0,
      "in place of a model: a CSV file with the columns lower, upper, size and, if wanted, id" },
    { "capacity", 0, CLI_NUMBER, "BYTES", offsetof(plan_options, capacity), 1, 0x1p63,
      "of --intervals: any peak up to this will do (default: as low as can be)" },
    { "time-limit", 0, CLI_NUMBER, "MS", offsetof(plan_options, time_limit), 0, 3600000,
      "of --intervals: the search is no longer (default: 1000); 0: by steps, not by time" },
    { "align", 0, CLI_NUMBER, "N", offsetof(plan_options, align), 1, 0x1p40,
      "of --intervals: offsets are multiples of N, a power of two (default: 1)" },
    { "check", 0, CLI_FLAG, NULL, offsetof(plan_options, check), 0, 0,
      "look for faults in the plan, by other code than made it" },
    { "json", 0, CLI_FLAG, NULL, offsetof(plan_options, json), 0, 0,
      "print JSON; of --intervals with the offsets" },
};

// ------------------------------------------------------------------------------------------ report

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

static int make_report(plan_report *r, const cli_loaded *loaded)
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
    return status == TN_OK ? plan_find_schedules(r, session, loaded->runtime)
                           : cli_fail_status(&err);
}

static void drop_report(plan_report *r)
{
    plan_drop_schedules(r);
    free(r->devices);
    free(r->graphs);
    free(r->tokens);
    free(r->largest);
    free(r->live);
}

static int check_plans(plan_report *r, const tn_session *session)
{
    tn_error err = { 0 };
    tn_status status = tn_session_check(session, &err);
    if (status == TN_E_HOST_MEMORY)
        return cli_fail_status(&err);
    r->is_checked = status == TN_OK;
    return status == TN_OK ? CLI_OK : cli_fail(CLI_CHECK_FAILED, "%s", err.text);
}

// -------------------------------------------------------------------------------------------- text

static void print_bytes(const char *what, uint64_t bytes)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double size = (double)bytes / 1024;
    int unit = 0;
    for (; size >= 1024; size /= 1024)
        unit++;
    printf("  %-18s %15" PRIu64, what, bytes);
    if (bytes >= 1024)
        printf(" %8.1f %s", size, units[unit]);
    putchar('\n');
}

static bool is_used(const tn_device_memory *m)
{
    return m->unshared_bytes || m->state_bytes || m->weight_mapped_bytes || m->weight_copied_bytes;
}

static void print_device(const tn_device_memory *m)
{
    if (!is_used(m)) {
        printf("%s: nothing runs here\n", m->name);
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

static void print_text(const plan_report *r)
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
    plan_print_schedules(r);
    print_graphs(r);
    print_live(r);
    if (r->is_checked)
        puts(
            "\nchecked: no two values that live at one step share a byte, but those made in place");
}

// ------------------------------------------------------------------------------------------- modes

static void warn_of_cut(const plan_report *r, int64_t batch)
{
    uint32_t tokens = r->tokens[r->graph_count - 1];
    if (tokens < batch)
        cli_note("--batch %" PRId64 " is planned as %" PRIu32
                 ": there are no more in a context of %" PRIu32 " token%s",
                 batch, tokens, r->info.context_tokens, cli_plural(r->info.context_tokens));
}

// Names come from the file: what controls a terminal is not passed on.
static void write_text(void *context, const char *text, size_t bytes)
{
    (void)context;
    for (size_t i = 0; i < bytes; i++)
        putchar((unsigned char)text[i] >= ' ' || text[i] == '\n' ? text[i] : '?');
}

static int explain(const cli_loaded *loaded, const char *name)
{
    tn_error err = { 0 };
    const tn_session *session = tlm_context_session(loaded->context);
    tn_status status = tn_session_explain_name(session, tn_session_graph_count(session) - 1, name,
                                               &(tn_sink){ NULL, write_text }, &err);
    if (status == TN_E_NOT_FOUND)
        return cli_fail(CLI_USAGE, "plan: --explain: %s", err.text);
    return status == TN_OK ? CLI_OK : cli_fail_status(&err);
}

static int tell(const plan_options *given, const cli_loaded *loaded, plan_report *report)
{
    int code = CLI_OK;
    int checked = given->check ? check_plans(report, tlm_context_session(loaded->context)) : CLI_OK;
    if (given->explain)
        code = explain(loaded, given->explain);
    else if (given->json)
        code = plan_print_json(report);
    else
        print_text(report);
    return checked == CLI_OK ? code : checked;
}

static int plan_model(const plan_options *given, const char *model)
{
    cli_loaded loaded = { 0 };
    plan_report report = { .model = model };
    if (given->capacity >= 0 || given->time_limit >= 0 || given->align >= 0)
        return cli_fail(CLI_USAGE,
                        "plan: --capacity, --time-limit and --align are of --intervals, not of a "
                        "model");
    if (given->explain && given->json)
        return cli_fail(CLI_USAGE, "plan: --explain and --json are given, take one");
    int code = cli_load_model(&loaded, model, &given->model);
    if (code == CLI_OK)
        code = cli_load_context(&loaded, &given->model, 0, (uint32_t)given->batch);
    if (code == CLI_OK)
        code = make_report(&report, &loaded);
    if (code == CLI_OK) {
        warn_of_cut(&report, given->batch);
        code = tell(given, &loaded, &report);
    }
    drop_report(&report);
    cli_unload(&loaded);
    int ended = cli_end_output();
    return code == CLI_OK ? ended : code;
}

// The first option that says something of a model, or NULL.
static const char *option_of_a_model(const plan_options *given)
{
    const cli_model_options *m = &given->model;
    return m->common.plugins.count               ? "plugin"
           : m->common.settings.count            ? "set"
           : m->common.config                    ? "config"
           : m->common.threads                   ? "threads"
           : m->devices                          ? "device"
           : cli_placement_option(&m->placement) ? cli_placement_option(&m->placement)
           : m->ctx                              ? "ctx"
           : m->kv_type                          ? "kv-type"
           : m->no_mmap                          ? "no-mmap"
           : given->batch                        ? "batch"
           : given->explain                      ? "explain"
                                                 : NULL;
}

// As it was typed: by its letter where it has one and the name is not there.
static const char *as_typed(const char *name, int argc, char **argv, char *room, size_t bytes)
{
    snprintf(room, bytes, "--%s", name);
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], room, strlen(room)) == 0)
            return room;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].letter && strcmp(options[i].name, name) == 0)
            snprintf(room, bytes, "-%c", options[i].letter);
    return room;
}

static int dispatch(const plan_options *given, const char *model, int argc, char **argv)
{
    char typed[32];
    const char *of_a_model = option_of_a_model(given);
    if (!model && !given->intervals)
        return cli_fail(CLI_USAGE, "plan takes MODEL or --intervals FILE, see tenon plan --help");
    if (!given->intervals)
        return plan_model(given, model);
    if (model)
        return cli_fail(CLI_USAGE, "plan: '%s' and --intervals are given, take one", model);
    if (of_a_model)
        return cli_fail(CLI_USAGE, "plan: %s is of a model, not of --intervals",
                        as_typed(of_a_model, argc, argv, typed, sizeof typed));
    return plan_intervals(given);
}

static int run(int argc, char **argv)
{
    plan_options given = { .capacity = -1, .time_limit = -1, .align = -1 };
    int count, code = cli_parse(&cli_plan_command, argc, argv, &given, 0, 1, &count);
    if (code < 0)
        code = dispatch(&given, count ? argv[1] : NULL, argc, argv);
    cli_model_options_finish(&given.model);
    return code;
}

const cli_command cli_plan_command = {
    "plan",
    "MODEL | --intervals FILE [options]",
    "Shows which device runs what of a model and why, what memory it needs, and what lives at the "
    "peak",
    "The peak is that of the values that live within a run; no plan is below the lower bound. What "
    "is needed is the\n"
    "peak, the states and the copied weights. A session keeps plans for batches of 1, 32 and the "
    "largest: a row each.\n"
    "Costs are those of the cost model: claims as the devices make them, and copies over their "
    "links.\n"
    "\n"
    "Of --intervals each is live from lower up to, not at, upper; times may be negative. "
    "--time-limit "
    "bounds the\n"
    "search; the first plan takes what it takes, and with 0 the plan is the same on every machine. "
    "When a --capacity\n"
    "is not reached, the best plan is printed all the same, and the exit code is 5. With --check "
    "it is 1 when the\n"
    "plan is wrong. The offsets are printed with --json.\n",
    options,
    sizeof options / sizeof *options,
    run,
};
