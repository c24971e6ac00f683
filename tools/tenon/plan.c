// plan.c: tenon plan
#include <inttypes.h>
#include <stdio.h>

#include "plan.h"

enum { MOST_BATCH = 512 };   // of a context

static const cli_option options[] = {
    CLI_TEXTLESS_MODEL_OPTIONS,
    { "batch", 0, CLI_NUMBER, "N", offsetof(plan_options, batch), 1, MOST_BATCH,
      "of a context that takes N tokens at once; placed by that where memory is short (default: "
      "as run has it, 512)" },
    { "explain", 0, CLI_TEXT, "NAME", offsetof(plan_options, explain), 0, 0,
      "say why what has this name is where it is: a node, value, output, op or device" },
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

// ------------------------------------------------------------------------------------------- modes

static int check_plans(plan_report *r, const tn_session *session)
{
    tn_error err = { 0 };
    tn_status status = tn_session_check(session, &err);
    if (status == TN_E_HOST_MEMORY)
        return cli_fail_status(&err);
    r->is_checked = status == TN_OK;
    return status == TN_OK ? CLI_OK : cli_fail(CLI_CHECK_FAILED, "%s", err.text);
}

static void warn_of_cut(const plan_report *r, int64_t batch)
{
    uint32_t tokens = r->tokens[r->graph_count - 1];
    if (tokens < batch)
        cli_note("--batch %" PRId64 " is planned as %" PRIu32
                 ": there are no more in a context of %" PRIu32 " token%s",
                 batch, tokens, r->info.context_tokens, cli_plural(r->info.context_tokens));
}

// The graphs that a session has decide together where its weights are.
static void warn_of_batch(const plan_report *r, int64_t batch)
{
    uint32_t most = r->info.context_tokens < MOST_BATCH ? r->info.context_tokens : MOST_BATCH;
    if (batch && batch < most && r->compared_count)
        cli_note("warning: memory is short, and --batch %" PRId64 " is placed for %" PRId64
                 " token%s at once: run is for %" PRIu32 " and may be placed otherwise",
                 batch, batch, cli_plural((uint64_t)batch), most);
}

// Names come from the file: what controls a terminal is not passed on.
static void write_text(void *context, const char *text, size_t bytes)
{
    (void)context;
    for (size_t i = 0; i < bytes; i++)
        putchar((unsigned char)text[i] >= ' ' || text[i] == '\n' ? text[i] : '?');
}

static tn_status explain_name(const cli_loaded *loaded, const char *name, tn_error *err)
{
    const tn_session *session = tlm_context_session(loaded->context);
    return tn_session_explain_name(session, tn_session_graph_count(session) - 1, name,
                                   &(tn_sink){ NULL, write_text }, err);
}

// All that a name was divided into; TN_E_NOT_FOUND: nothing.
static tn_status explain_parts(const cli_loaded *loaded, const char *name, tn_error *err)
{
    char part[256];
    bool is_found = false;
    for (uint32_t p = 0; p < TLM_MOST_PARTS && tlm_part_name(name, p, part, sizeof part); p++) {
        tn_status status = explain_name(loaded, part, err);
        if (status != TN_OK && status != TN_E_NOT_FOUND)
            return status;
        is_found |= status == TN_OK;
    }
    return is_found ? TN_OK : TN_E_NOT_FOUND;
}

static int explain(const cli_loaded *loaded, const char *name)
{
    tn_error err = { 0 }, of_part = { 0 };
    tn_status status = explain_name(loaded, name, &err);
    if (status == TN_E_NOT_FOUND) {
        status = explain_parts(loaded, name, &of_part);
        if (status != TN_OK && status != TN_E_NOT_FOUND)
            err = of_part;
    }
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
        plan_print_text(report);
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
        code = plan_make_report(&report, &loaded);
    if (code == CLI_OK) {
        cli_catch_interrupt();
        warn_of_cut(&report, given->batch);
        warn_of_batch(&report, given->batch);
        code = tell(given, &loaded, &report);
    }
    plan_drop_report(&report);
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
           : m->no_repack                        ? "no-repack"
           : given->batch                        ? "batch"
           : given->explain                      ? "explain"
                                                 : NULL;
}

static int dispatch(const plan_options *given, const char *model)
{
    const char *of_a_model = option_of_a_model(given);
    if (!model && !given->intervals)
        return cli_fail(CLI_USAGE, "plan takes MODEL or --intervals FILE, see tenon plan --help");
    if (!given->intervals)
        return plan_model(given, model);
    if (model)
        return cli_fail(CLI_USAGE, "plan: '%s' and --intervals are given, take one", model);
    if (of_a_model)
        return cli_fail(CLI_USAGE, "plan: %s is of a model, not of --intervals",
                        cli_typed(of_a_model));
    return plan_intervals(given);
}

static int run(int argc, char **argv)
{
    plan_options given = { .capacity = -1, .time_limit = -1, .align = -1 };
    int count, code = cli_parse(&cli_plan_command, argc, argv, &given, 0, 1, &count);
    if (code < 0) {
        cli_end_at_interrupt();
        code = dispatch(&given, count ? argv[1] : NULL);
    }
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
