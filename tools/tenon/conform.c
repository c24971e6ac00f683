// conform.c: tenon conform
#include <conform.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "json.h"

typedef struct conform_options {
    cli_common common;   // only the settings
    cli_list filters;
    double timeout_ms;
    bool json, list, verbose;
} conform_options;

static const cli_option options[] = {
    { "filter", 0, CLI_LIST, "CASE", offsetof(conform_options, filters), 0, 0,
      "only these: a case, a theme, or a pattern with * and ?; may be repeated" },
    { "list", 0, CLI_FLAG, NULL, offsetof(conform_options, list), 0, 0, "print the cases" },
    { "set", 0, CLI_LIST, "KEY=VALUE", offsetof(conform_options, common.settings), 0, 0,
      "setting of the plugin, without its name; may be repeated" },
    { "timeout", 0, CLI_REAL, "MS", offsetof(conform_options, timeout_ms), 1, 1e9,
      "most that a case may take, in ms (default {})" },
    { "verbose", 'v', CLI_FLAG, NULL, offsetof(conform_options, verbose), 0, 0,
      "also what passes, and what is skipped and why" },
    { "json", 0, CLI_FLAG, NULL, offsetof(conform_options, json), 0, 0, "print JSON" },
};

typedef struct output {
    const conform_options *given;
    const char *plugin;
    json_t *cases;
} output;

static const char *outcome_name(kit_outcome outcome)
{
    static const char *const names[] = { "passed", "failed", "skipped" };
    return names[outcome];
}

static void add_json(const output *out, const kit_result *r)
{
    json_t *one = json_pack("{ss si ss sf}", "name", r->name, "device", (int)r->device, "outcome",
                            outcome_name(r->outcome), "ms", r->ms);
    // A plugin's words need not be UTF-8: then they are left out.
    if (r->outcome == KIT_FAILED)
        json_object_set_new(one, "expected", json_string(r->expected));
    if (r->outcome != KIT_PASSED)
        json_object_set_new(one, r->outcome == KIT_FAILED ? "got" : "reason", json_string(r->got));
    json_array_append_new(out->cases, one);
}

static void print_failed(const output *out, const kit_result *r)
{
    const cli_list *settings = &out->given->common.settings;
    char device[32] = "";
    if (r->device > 0)
        snprintf(device, sizeof device, " on device %u", r->device);
    printf("FAILED %s%s: want %s; got %s; again: tenon conform %s --filter '%s'", r->name, device,
           r->expected, r->got, out->plugin, r->name);
    for (uint32_t i = 0; i < settings->count; i++)
        printf(" --set '%s'", settings->items[i]);
    putchar('\n');
}

static void report(void *context, const kit_result *r)
{
    const output *out = context;
    if (out->given->json) {
        add_json(out, r);
        return;
    }
    if (r->outcome == KIT_FAILED)
        print_failed(out, r);
    else if (out->given->verbose && r->outcome == KIT_SKIPPED)
        printf("skipped %s: %s\n", r->name, r->got);
    else if (out->given->verbose)
        printf("passed %s (%.1f ms)\n", r->name, r->ms);
    fflush(stdout);
}

static int print_summary(const output *out, const kit_summary *s)
{
    if (!out->given->json) {
        printf("%s: %u case%s passed, %u failed, %u skipped on %u device%s; %u of %u ops tried; "
               "%.1f s\n",
               out->plugin, s->passed, cli_plural(s->passed), s->failed, s->skipped, s->devices,
               cli_plural(s->devices), s->ops_claimed, s->ops_known, s->ms / 1000);
        return CLI_OK;
    }
    json_t *root = json_pack("{si ss si si si si si si sf sO}", "schema_version", 1, "plugin",
                             out->plugin, "passed", (int)s->passed, "failed", (int)s->failed,
                             "skipped", (int)s->skipped, "devices", (int)s->devices, "ops_tried",
                             (int)s->ops_claimed, "ops_known", (int)s->ops_known, "ms", s->ms,
                             "cases", out->cases);
    return cli_json_print(root, "the results");
}

static int code_of(kit_status status, const char *why)
{
    switch (status) {
    case KIT_OK:
        return CLI_OK;
    case KIT_NO_CASE:
        return cli_fail(CLI_USAGE, "%s; tenon conform --list shows the cases", why);
    case KIT_NO_PLUGIN:
        return cli_fail(CLI_PLUGIN, "%s", why);
    case KIT_NO_DEVICE:
        return cli_fail(CLI_NO_DEVICE, "%s", why);
    case KIT_NO_MEMORY:
        return cli_fail(CLI_MEMORY, "%s", why);
    default:
        return cli_fail(CLI_FAILED, "%s", why);
    }
}

static void print_name(void *context, const char *name)
{
    if (context)
        json_array_append_new(context, json_string(name));
    else
        printf("%s\n", name);
}

static int print_list(const conform_options *given)
{
    json_t *names = given->json ? json_array() : NULL;
    kit_status status = kit_names(given->filters.items, given->filters.count, print_name, names);
    if (status != KIT_OK) {
        json_decref(names);
        return code_of(status, status == KIT_NO_CASE ? "no case fits the filter" : "out of memory");
    }
    if (!names)
        return CLI_OK;
    json_t *root = json_pack("{si so}", "schema_version", 1, "cases", names);
    return cli_json_print(root, "the list of cases");
}

static int check_settings(const cli_list *settings)
{
    for (uint32_t i = 0; i < settings->count; i++)
        if (!strchr(settings->items[i], '=') || settings->items[i][0] == '=' ||
            strncmp(settings->items[i], "plugin.", strlen("plugin.")) == 0)
            return cli_fail(CLI_USAGE,
                            "--set %s: KEY=VALUE of the plugin is meant, without its name, such as "
                            "threads=2",
                            settings->items[i]);
    return CLI_OK;
}

static int conform(const conform_options *given, const char *plugin)
{
    output out = { given, plugin, given->json ? json_array() : NULL };
    kit_options how = { .plugin = plugin,
                        .filters = given->filters.items,
                        .filter_count = given->filters.count,
                        .settings = given->common.settings.items,
                        .setting_count = given->common.settings.count,
                        .timeout_ms = given->timeout_ms,
                        .report = report,
                        .context = &out };
    kit_summary summary;
    char why[1024];
    if (access(plugin, R_OK) != 0) {
        int code = cli_fail(CLI_FILE, "%s: %s", plugin, strerror(errno));
        json_decref(out.cases);
        return code;
    }
    int code = code_of(kit_run(&how, &summary, why, sizeof why), why);
    if (code == CLI_OK)
        code = print_summary(&out, &summary);
    json_decref(out.cases);
    return code == CLI_OK && summary.failed > 0 ? CLI_CHECK_FAILED : code;
}

static int run(int argc, char **argv)
{
    conform_options given = { .timeout_ms = 20000 };
    int count, code = cli_parse(&cli_conform_command, argc, argv, &given, 0, 1, &count);
    if (code < 0) {
        code = check_settings(&given.common.settings);
        if (code == CLI_OK && given.list && count == 0)
            code = print_list(&given);
        else if (code == CLI_OK && (count == 0 || given.list))
            code = cli_fail(CLI_USAGE, given.list ? "--list takes no file"
                                                  : "conform: the file of a plugin is missing");
        else if (code == CLI_OK)
            code = conform(&given, argv[1]);
    }
    cli_common_finish(&given.common);
    free(given.filters.items);
    int printed = cli_end_output();
    return code == CLI_OK ? printed : code;
}

const cli_command cli_conform_command = {
    "conform",
    "PLUGIN.so [--filter CASE] [options]",
    "Tries the rules of the plugin contract on a plugin's file",
    "Each case runs in a process of its own. A line for each that fails: what was wanted, what "
    "came, "
    "and how to run it\n"
    "again. Exit codes: 0 all passed, 1 one failed.\n",
    options,
    sizeof options / sizeof *options,
    run,
};
