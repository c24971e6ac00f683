// devices.c: tenon devices
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"

typedef struct devices_options {
    cli_common common;
    bool json;
} devices_options;

static const cli_option options[] = {
    CLI_COMMON_OPTIONS,
    { "json", 0, CLI_FLAG, NULL, offsetof(devices_options, json), 0, 0, "print JSON" },
};

static const char *kind_name(uint32_t kind)
{
    static const char *const names[] = { "unknown",        "cpu",         "gpu",
                                         "integrated gpu", "accelerator", "software" };
    return kind < sizeof names / sizeof *names ? names[kind] : names[0];
}

static void print_text(const tn_runtime *runtime)
{
    for (uint32_t i = 0; i < tn_runtime_device_count(runtime); i++) {
        tn_device_info info = { .size = sizeof info };
        tn_device_describe(tn_runtime_device(runtime, i), &info);
        double size;
        const char *unit = cli_unit(info.memory_bytes, &size);
        printf("%-10s %-14s %8.1f %s  %s\n", info.name, kind_name(info.kind), size, unit,
               info.description);
    }
    for (uint32_t i = 0; i < tn_runtime_shadowed_count(runtime); i++) {
        tn_shadowed_info info = { .size = sizeof info };
        tn_runtime_shadowed(runtime, i, &info);
        printf("%-10s %-14s is %s, %s\n", info.name, "shadowed", info.by, info.reason);
    }
}

static json_t *json_of_shadowed(const tn_runtime *runtime)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < tn_runtime_shadowed_count(runtime); i++) {
        tn_shadowed_info info = { .size = sizeof info };
        tn_runtime_shadowed(runtime, i, &info);
        json_array_append_new(list, json_pack("{ss ss ss ss ss ss}", "name", info.name, "kind",
                                              kind_name(info.kind), "description", info.description,
                                              "plugin", info.plugin, "by", info.by, "reason",
                                              info.reason));
    }
    return list;
}

// Plugins that a setting keeps out, and which: their devices are missing above. Where there is no
// device at all also those that are refused, and all of it is one line. The exit code.
static int tell_what_is_missing(const tn_runtime *runtime)
{
    bool is_any = tn_runtime_device_count(runtime) > 0;
    char why[512] = "";
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        bool is_refused = info.state == TN_PLUGIN_REJECTED || info.state == TN_PLUGIN_QUARANTINED;
        if (info.state != TN_PLUGIN_DISABLED && !(is_refused && !is_any && *info.name))
            continue;
        size_t used = strlen(why);
        if (is_any)
            cli_note("plugin %s is left out: %s", info.name, info.reason);
        else
            snprintf(why + used, sizeof why - used, "; plugin %s is left out: %s", info.name,
                     info.reason);
    }
    return is_any ? CLI_OK
                  : cli_fail(CLI_NO_DEVICE, "no plugin offers a device, see tenon plugins --why%s",
                             why);
}

static json_t *json_of_disabled(const tn_runtime *runtime)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < tn_runtime_plugin_count(runtime); i++) {
        tn_plugin_info info = { .size = sizeof info };
        tn_runtime_plugin(runtime, i, &info);
        if (info.state == TN_PLUGIN_DISABLED)
            json_array_append_new(list,
                                  json_pack("{ss ss}", "plugin", info.name, "reason", info.reason));
    }
    return list;
}

static int print_json(const tn_runtime *runtime)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < tn_runtime_device_count(runtime); i++) {
        tn_device_info info = { .size = sizeof info };
        tn_device_describe(tn_runtime_device(runtime, i), &info);
        json_array_append_new(list, json_pack("{ss ss ss ss ss sI sf}", "name", info.name, "kind",
                                              kind_name(info.kind), "description", info.description,
                                              "driver", info.driver, "plugin", info.plugin,
                                              "memory_bytes", (json_int_t)info.memory_bytes,
                                              "flops_per_s", info.flops_per_s));
    }
    json_t *root = json_pack("{si so so so}", "schema_version", 1, "devices", list, "left_out",
                             json_of_disabled(runtime), "shadowed", json_of_shadowed(runtime));
    return cli_json_print(root, "the list of devices");
}

static int run(int argc, char **argv)
{
    devices_options given = { 0 };
    tn_runtime *runtime = NULL;
    int count, code = cli_parse(&cli_devices_command, argc, argv, &given, 0, 0, &count);
    if (code >= 0) {
        cli_common_finish(&given.common);
        return code;
    }
    code = cli_start(&given.common, &runtime);
    if (code == CLI_OK && given.json)
        code = print_json(runtime);
    else if (code == CLI_OK)
        print_text(runtime);
    if (code == CLI_OK)
        code = tell_what_is_missing(runtime);
    tn_runtime_destroy(runtime);
    cli_common_finish(&given.common);
    return code == CLI_OK ? cli_end_output() : code;
}

const cli_command cli_devices_command = {
    "devices", "[options]", "Lists the devices of all plugins",
    "",        options,     sizeof options / sizeof *options,
    run,
};
