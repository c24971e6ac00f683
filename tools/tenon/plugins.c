// plugins.c: tenon plugins, and what can be done with a plugin's file: pin, retry; and new
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"
#include "plugins_new.h"

typedef struct plugins_options {
    cli_common common;
    bool json, why;
    const char *folder;
} plugins_options;

static const cli_option options[] = {
    CLI_COMMON_OPTIONS,
    { "why", 0, CLI_FLAG, NULL, offsetof(plugins_options, why), 0, 0,
      "every candidate file, why it is in or out, and the places searched" },
    { "json", 0, CLI_FLAG, NULL, offsetof(plugins_options, json), 0, 0, "print JSON" },
    { "dir", 0, CLI_TEXT, "DIR", offsetof(plugins_options, folder), 0, 0,
      "of new: the folder to make (default: NAME)" },
};

static const char *state_name(uint32_t state)
{
    static const char *const names[] = { "unknown",  "loaded",   "shadowed",
                                         "disabled", "rejected", "quarantined" };
    return state < sizeof names / sizeof *names ? names[state] : names[0];
}

static void print_one(const tn_plugin_info *info, bool why)
{
    if (info->state == TN_PLUGIN_LOADED)
        printf("%-12s %-10s ABI %u.%u  %u device%s  %s\n", info->name, info->version,
               info->abi_major, info->abi_minor, info->device_count,
               info->device_count == 1 ? "" : "s", info->path);
    else if (why || info->state == TN_PLUGIN_QUARANTINED)
        printf("%-12s %-10s %s\n", *info->name ? info->name : "-", state_name(info->state),
               info->path);
    if (why || info->state == TN_PLUGIN_QUARANTINED)
        printf("             %s: %s\n", info->origin, info->reason);
}

static json_t *json_of(const tn_plugin_info *info)
{
    char abi[32];
    snprintf(abi, sizeof abi, "%u.%u", info->abi_major, info->abi_minor);
    return json_pack("{ss ss ss ss ss ss ss ss ss si sb}", "name", info->name, "state",
                     state_name(info->state), "path", info->path, "origin", info->origin, "version",
                     info->version, "vendor", info->vendor, "license", info->license, "abi", abi,
                     "reason", info->reason, "devices", (int)info->device_count, "named",
                     (int)info->is_named);
}

static void print_places(const tn_runtime *runtime)
{
    printf("searched, in this order:\n");
    for (uint32_t i = 0; i < tn_runtime_place_count(runtime); i++) {
        tn_place_info info = { .size = sizeof info };
        tn_runtime_place(runtime, i, &info);
        printf("  %-18s %s%s%s\n", info.origin, info.path, *info.path ? ": " : "", info.found);
    }
}

static json_t *json_of_places(const tn_runtime *runtime)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < tn_runtime_place_count(runtime); i++) {
        tn_place_info info = { .size = sizeof info };
        tn_runtime_place(runtime, i, &info);
        json_array_append_new(list,
                              json_pack("{ss ss ss si}", "origin", info.origin, "path", info.path,
                                        "found", info.found, "files", (int)info.file_count));
    }
    return list;
}

static int print_all(const tn_runtime *runtime, const plugins_options *given)
{
    json_t *list = given->json ? json_array() : NULL;
    bool is_any_loaded = false, is_any_quarantined = false;
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        bool is_quarantined = info.state == TN_PLUGIN_QUARANTINED;
        is_any_loaded |= info.state == TN_PLUGIN_LOADED;
        is_any_quarantined |= is_quarantined;
        if (given->json && (given->why || is_quarantined || info.state == TN_PLUGIN_LOADED))
            json_array_append_new(list, json_of(&info));
        else if (!given->json)
            print_one(&info, given->why);
    }
    if (given->why && !given->json)
        print_places(runtime);
    else if (!given->why && !is_any_loaded)
        cli_note("no plugin is loaded: tenon plugins --why tells where it looked");
    if (is_any_quarantined)
        cli_note("what is quarantined is not loaded until its file changes; tenon plugins retry "
                 "FILE tries it again");
    if (!given->json)
        return CLI_OK;
    json_t *root = json_pack("{si so}", "schema_version", 1, "plugins", list);
    if (given->why)
        json_object_set_new(root, "places", json_of_places(runtime));
    return cli_json_print(root, "the list of plugins");
}

// Files that were named and are refused stand in the table of --why; the error is as without it.
static int fail_refused(const tn_runtime *runtime)
{
    int code = CLI_OK;
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime) && code == CLI_OK; i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        if (info.is_named && info.state != TN_PLUGIN_LOADED && info.state != TN_PLUGIN_SHADOWED)
            code = cli_fail(CLI_PLUGIN, "plugin %s: %s%s", info.path,
                            info.state == TN_PLUGIN_QUARANTINED ? "in quarantine, " : "",
                            info.reason);
    }
    return code;
}

static int list(plugins_options *given)
{
    tn_runtime *runtime = NULL;
    given->common.flags = given->why ? TN_RUNTIME_LIST_REFUSED : 0;
    int code = cli_start(&given->common, &runtime);
    if (code == CLI_OK)
        code = print_all(runtime, given);
    if (code == CLI_OK)
        code = fail_refused(runtime);
    tn_runtime_destroy(runtime);
    return code;
}

// --------------------------------------------------------------------------------------------- pin

static int pin(const plugins_options *given, const char *path)
{
    tn_plugin_pin_info info = { .size = sizeof info };
    tn_error err = { 0 };
    if (tn_plugin_pin(path, given->common.config, &info, &err) != TN_OK)
        return cli_fail_status(&err);
    if (given->json) {
        json_t *root = json_pack("{si ss ss ss}", "schema_version", 1, "name", info.name, "sha256",
                                 info.sha256, "config", info.config);
        return cli_json_print(root, "the pin");
    }
    printf("%s: [plugin.%s] sha256 = %s\n", info.config, info.name, info.sha256);
    return CLI_OK;
}

// ------------------------------------------------------------------------------------------- retry

// That nothing is kept of it, is as well.
static int forget(const char *path)
{
    tn_error err = { 0 };
    tn_status status = tn_plugin_forget(path, &err);
    return status == TN_OK || status == TN_E_FILE ? CLI_OK : cli_fail_status(&err);
}

static int retry_all(plugins_options *given)
{
    tn_runtime *runtime = NULL;
    int code = cli_start(&given->common, &runtime);
    for (uint32_t i = 0; code == CLI_OK && i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        code = forget(info.path);
    }
    tn_runtime_destroy(runtime);
    return code == CLI_OK ? list(given) : code;
}

// One file: it counts as named, so that a failure is the answer.
static int retry_one(plugins_options *given, const char *path)
{
    int code = forget(path);
    cli_list *paths = &given->common.plugins;
    const char **more = calloc(paths->count + (size_t)1, sizeof *more);
    if (!more)
        return cli_fail(CLI_MEMORY, "not enough memory for the options");
    more[0] = path;
    if (paths->count)
        memcpy(more + 1, paths->items, paths->count * sizeof *more);
    free(paths->items);
    paths->items = more;
    paths->count++;
    return code == CLI_OK ? list(given) : code;
}

// verb: "" = none.
static int act(plugins_options *given, const char *verb, const char *what)
{
    bool is_new = strcmp(verb, "new") == 0;
    if (given->folder && !is_new)
        return cli_fail(CLI_USAGE, "plugins: --dir is of 'plugins new NAME' only");
    if (!*verb)
        return list(given);
    if (strcmp(verb, "pin") == 0)
        return what ? pin(given, what) : cli_fail(CLI_USAGE, "plugins pin: which FILE?");
    if (strcmp(verb, "retry") == 0)
        return what ? retry_one(given, what) : retry_all(given);
    if (is_new)
        return what ? plugins_new(what, given->folder, given->json)
                    : cli_fail(CLI_USAGE, "plugins new: which NAME?");
    return cli_fail(CLI_USAGE, "plugins: '%s' is none of pin, retry and new", verb);
}

static int run(int argc, char **argv)
{
    plugins_options given = { 0 };
    int count, code = cli_parse(&cli_plugins_command, argc, argv, &given, 0, 2, &count);
    if (code >= 0) {
        cli_common_finish(&given.common);
        return code;
    }
    code = act(&given, count ? argv[1] : "", count > 1 ? argv[2] : NULL);
    cli_common_finish(&given.common);
    return code == CLI_OK ? cli_end_output() : code;
}

const cli_command cli_plugins_command = {
    "plugins",
    "[pin FILE | retry [FILE] | new NAME [--dir DIR]] [--why] [options]",
    "Lists the plugins that are loaded, or all candidates",
    "Searched in this order: --plugin, TENON_PLUGIN_PATH, the user's tenon.ini, the system's "
    "tenon.ini, lib/tenon/plugins\n"
    "beside libtenon. A file not seen before is tried in a process of its own; what crashes or "
    "hangs "
    "there is quarantined\n"
    "until it changes.\n\n"
    "  pin FILE       writes the file's SHA-256 into tenon.ini (the user's, or --config): from "
    "then "
    "on only this file\n"
    "                 is used as that plugin\n"
    "  retry [FILE]   forgets what was found out about the file, or about all, and tries it "
    "again\n"
    "  new NAME       writes a plugin to begin with, from the template of the sdk, into the folder "
    "NAME or\n"
    "                 --dir\n",
    options,
    sizeof options / sizeof *options,
    run,
};
