// plugins.c: tenon plugins
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "json.h"

typedef struct plugins_options {
    cli_common common;
    bool json, why;
} plugins_options;

static const cli_option options[] = {
    CLI_COMMON_OPTIONS,
    { "why", 0, CLI_FLAG, NULL, offsetof(plugins_options, why), 0, 0,
      "every candidate file, why it is in or out, and the places searched" },
    { "json", 0, CLI_FLAG, NULL, offsetof(plugins_options, json), 0, 0, "print JSON" },
};

static const char *state_name(uint32_t state)
{
    static const char *const names[] = { "unknown", "loaded", "shadowed", "disabled", "rejected" };
    return state < sizeof names / sizeof *names ? names[state] : names[0];
}

static void print_one(const tn_plugin_info *info, bool why)
{
    if (info->state == TN_PLUGIN_LOADED)
        printf("%-12s %-10s ABI %u.%u  %u device%s  %s\n", info->name, info->version,
               info->abi_major, info->abi_minor, info->device_count,
               info->device_count == 1 ? "" : "s", info->path);
    else if (why)
        printf("%-12s %-10s %s\n", *info->name ? info->name : "-", state_name(info->state),
               info->path);
    if (why)
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
    bool is_any_loaded = false;
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        is_any_loaded |= info.state == TN_PLUGIN_LOADED;
        if (given->json && (given->why || info.state == TN_PLUGIN_LOADED))
            json_array_append_new(list, json_of(&info));
        else if (!given->json)
            print_one(&info, given->why);
    }
    if (given->why && !given->json)
        print_places(runtime);
    else if (!given->why && !is_any_loaded)
        cli_note("no plugin is loaded: tenon plugins --why tells where it looked");
    if (!given->json)
        return CLI_OK;
    json_t *root = json_pack("{si so}", "schema_version", 1, "plugins", list);
    if (given->why)
        json_object_set_new(root, "places", json_of_places(runtime));
    return cli_json_print(root, "the list of plugins");
}

static int run(int argc, char **argv)
{
    plugins_options given = { 0 };
    tn_runtime *runtime = NULL;
    int count, code = cli_parse(&cli_plugins_command, argc, argv, &given, 0, 0, &count);
    if (code >= 0) {
        cli_common_finish(&given.common);
        return code;
    }
    code = cli_start(&given.common, &runtime);
    if (code == CLI_OK)
        code = print_all(runtime, &given);
    tn_runtime_destroy(runtime);
    cli_common_finish(&given.common);
    return code == CLI_OK ? cli_end_output() : code;
}

const cli_command cli_plugins_command = {
    "plugins",
    "[--why] [options]",
    "Lists the plugins that are loaded, or all candidates",
    "Searched in this order: --plugin, TENON_PLUGIN_PATH, the user's tenon.ini, the system's "
    "tenon.ini, lib/tenon/plugins\n"
    "beside libtenon.\n",
    options,
    sizeof options / sizeof *options,
    run,
};
