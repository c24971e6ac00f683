// plan_intervals.c: tenon plan --intervals FILE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "intervals.h"
#include "plan.h"

enum { DEFAULT_TIME_LIMIT_MS = 1000 };

typedef struct planned {
    cli_intervals intervals;
    uint64_t *offsets;   // in the file's order
    tn_plan_result result;
    double time_ms;
} planned;

static int read_intervals(const char *path, cli_intervals *out)
{
    tn_error err = { 0 };
    char *text = NULL;
    size_t bytes = 0;
    int code = cli_is_stdin(path) ? cli_read_stdin(&text, &bytes)
                                  : cli_read_file(path, &text, &bytes);
    if (code == CLI_OK && cli_intervals_read(path, text, bytes, out, &err) != TN_OK)
        code = cli_fail_status(&err);
    free(text);
    return code;
}

static int make_plan(const plan_options *given, const tn_plan_options *options, planned *p)
{
    tn_error err = { 0 };
    uint32_t count = p->intervals.count;
    p->offsets = calloc((size_t)count + 1, sizeof *p->offsets);
    if (!p->offsets)
        return cli_fail(CLI_MEMORY, "not enough memory for %" PRIu32 " offsets", count);
    double begin = cli_now_ms();
    tn_status status = tn_plan_intervals(p->intervals.items, count, options, p->offsets, &p->result,
                                         &err);
    p->time_ms = cli_now_ms() - begin;
    if (status == TN_E_DEVICE_MEMORY)
        return cli_fail(CLI_MEMORY,
                        "%s: the sizes, rounded up to multiples of %" PRIu64
                        ", are together more than %" PRId64 " bytes",
                        given->intervals, options->alignment, INT64_MAX);
    return status == TN_OK ? CLI_OK : cli_fail_status(&err);
}

static int check_plan(const tn_plan_options *options, const planned *p)
{
    tn_error err = { 0 };
    tn_status status = tn_plan_check(p->intervals.items, p->intervals.count, options, p->offsets,
                                     &p->result, &err);
    if (status == TN_E_HOST_MEMORY)
        return cli_fail_status(&err);
    return status == TN_OK ? CLI_OK : cli_fail(CLI_CHECK_FAILED, "%s", err.text);
}

// is_checked: NULL = it was not asked for.
static void print_json(const planned *p, const bool *is_checked)
{
    printf("{\"schema_version\":1,\"peak\":%" PRIu64 ",\"lower_bound\":%" PRIu64
           ",\"proved_optimal\":%s,\"time_ms\":%.3f,\"offsets\":[",
           p->result.peak_bytes, p->result.lower_bound_bytes,
           p->result.is_proved_optimal ? "true" : "false", p->time_ms);
    for (uint32_t i = 0; i < p->intervals.count; i++)
        printf("%s%" PRIu64, i ? "," : "", p->offsets[i]);
    fputs("]", stdout);
    if (is_checked)
        printf(",\"checked\":%s", *is_checked ? "true" : "false");
    puts("}");
}

static void print_text(const planned *p, bool is_checked)
{
    const tn_plan_result *r = &p->result;
    printf("intervals      %" PRIu32 "\n", p->intervals.count);
    printf("peak           %" PRIu64 " bytes, %s\n", r->peak_bytes,
           r->is_proved_optimal ? "proved optimal" : "not proved optimal");
    printf("lower bound    %" PRIu64 " bytes", r->lower_bound_bytes);
    if (r->lower_bound_bytes)
        printf(" (the peak is %.4f of it)", (double)r->peak_bytes / (double)r->lower_bound_bytes);
    putchar('\n');
    printf("without reuse  %" PRIu64 " bytes\n", r->unshared_bytes);
    printf("time           %.3f ms\n", p->time_ms);
    puts("offsets        with --json, one a row");
    if (is_checked)
        puts("checked        no two that are live at one time share a byte");
}

static int fail_capacity(const tn_plan_result *r, const tn_plan_options *options)
{
    bool fits_none = r->lower_bound_bytes > options->capacity || r->is_proved_optimal;
    return cli_fail(CLI_MEMORY,
                    "no plan within the capacity of %" PRIu64 " bytes was found: the best peak is "
                    "%" PRIu64 ", the lower bound %" PRIu64 "; %s",
                    options->capacity, r->peak_bytes, r->lower_bound_bytes,
                    fits_none                ? "there is none"
                    : options->time_limit_ms ? "a longer --time-limit may find one"
                                             : "a --time-limit above 0 may find one");
}

static int run(const plan_options *given, planned *p)
{
    const tn_plan_options options = {
        .size = sizeof options,
        .time_limit_ms = (uint32_t)(given->time_limit < 0 ? DEFAULT_TIME_LIMIT_MS
                                                          : given->time_limit),
        .alignment = given->align < 0 ? 1 : (uint64_t)given->align,
        .capacity = given->capacity < 0 ? 0 : (uint64_t)given->capacity,
    };
    int code = read_intervals(given->intervals, &p->intervals);
    if (code == CLI_OK)
        code = make_plan(given, &options, p);
    if (code != CLI_OK)
        return code;
    code = given->check ? check_plan(&options, p) : CLI_OK;
    bool is_checked = given->check && code == CLI_OK;
    cli_catch_interrupt();
    if (given->json)
        print_json(p, given->check ? &is_checked : NULL);
    else
        print_text(p, is_checked);
    if (code == CLI_OK && options.capacity && p->result.peak_bytes > options.capacity)
        code = fail_capacity(&p->result, &options);
    int ended = cli_end_output();
    return code == CLI_OK ? ended : code;
}

int plan_intervals(const plan_options *given)
{
    planned p = { .result = { .size = sizeof p.result } };
    if (!*given->intervals)
        return cli_fail(CLI_USAGE, "plan: --intervals names no file");
    if (given->align > 0 && (given->align & (given->align - 1)))
        return cli_fail(CLI_USAGE, "--align '%" PRId64 "': a power of two is expected",
                        given->align);
    int code = run(given, &p);
    free(p.offsets);
    cli_intervals_free(&p.intervals);
    return code;
}
