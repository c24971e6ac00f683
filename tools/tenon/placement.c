// placement.c: see placement.h.
#include "placement.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char words[][20] = { "--gpu-layers",  "--split-mode",      "--tensor-split",
                            "--main-device", "--override-tensor", "--device" };
static const char *const shorts[] = { "-ngl", "-sm", "-ts", "-mg", "-ot", "-dev" };

void cli_expand_short_words(const cli_command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        for (size_t k = 0; k < sizeof shorts / sizeof *shorts; k++)
            for (uint32_t o = 0; o < command->option_count; o++)
                if (strcmp(argv[i], shorts[k]) == 0 &&
                    strcmp(command->options[o].name, words[k] + 2) == 0)
                    argv[i] = words[k];
}

const char *cli_short_word(const char *word)
{
    for (size_t k = 0; k < sizeof shorts / sizeof *shorts; k++)
        if (word == words[k])
            return shorts[k];
    return NULL;
}

const char *cli_brief_word(const char *option)
{
    for (size_t k = 0; k < sizeof shorts / sizeof *shorts; k++)
        if (strcmp(option, words[k] + 2) == 0)
            return shorts[k];
    return NULL;
}

const char *cli_placement_option(const cli_placement *given)
{
    return given->gpu_layers        ? "gpu-layers"
           : given->split_mode      ? "split-mode"
           : given->tensor_split    ? "tensor-split"
           : given->main_device     ? "main-device"
           : given->kv_device       ? "kv-device"
           : given->overrides.count ? "override-tensor"
                                    : NULL;
}

void cli_name_placement(tn_error *err)
{
    static const struct {
        const char *field, *option;
    } names[] = { { "gpu_layers", "gpu-layers" },   { "layer_rule", "gpu-layers" },
                  { "split_mode", "split-mode" },   { "shares", "tensor-split" },
                  { "main_device", "main-device" }, { "kv_device", "kv-device" },
                  { "pins", "override-tensor" } };
    static const char prefix[] = "placement: ";
    static const char override[] = "override '";
    size_t skip = sizeof prefix - 1;
    if (strncmp(err->text, override, sizeof override - 1) == 0) {
        tn_error told = *err;
        snprintf(err->text, sizeof err->text, "%s: %.400s", cli_typed("override-tensor"),
                 told.text);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && !strncmp(err->text, prefix, skip); i++) {
        size_t length = strlen(names[i].field);
        const char *rest = err->text + skip + length;
        if (strncmp(err->text + skip, names[i].field, length) != 0 || strncmp(rest, ": ", 2) != 0)
            continue;
        tn_error told = *err;
        snprintf(err->text, sizeof err->text, "%s%s", cli_typed(names[i].option),
                 told.text + skip + length);
        return;
    }
}

void cli_placement_finish(cli_placement *given)
{
    free(given->overrides.items);
    given->overrides = (cli_list){ 0 };
}

void cli_drop_placed(cli_placed *placed)
{
    for (uint32_t i = 0; i < placed->override_count && placed->patterns; i++)
        free(placed->patterns[i]);
    free(placed->patterns);
    free(placed->overrides);
    free(placed->shares);
    *placed = (cli_placed){ 0 };
}

static int take_gpu_layers(const char *text, tn_placement *to)
{
    char *end;
    if (!text || strcmp(text, "auto") == 0)
        return CLI_OK;
    if (strcmp(text, "all") == 0) {
        to->layer_rule = TN_LAYERS_ALL;
        return CLI_OK;
    }
    errno = 0;
    long long layers = strtoll(text, &end, 10);
    if (end == text || *end || errno || layers < 0 || layers > UINT32_MAX)
        return cli_fail(CLI_USAGE, "%s '%s': a whole number from 0, auto or all is expected",
                        cli_typed("gpu-layers"), text);
    to->layer_rule = TN_LAYERS_COUNT;
    to->gpu_layers = (uint32_t)layers;
    return CLI_OK;
}

// Shares alone are of whole layers, as elsewhere.
static int take_split_mode(const cli_placement *given, tn_placement *to)
{
    static const struct {
        const char *name;
        uint32_t mode;
    } modes[] = { { "none", TN_SPLIT_NONE },
                  { "layer", TN_SPLIT_LAYER },
                  { "row", TN_SPLIT_ROW },
                  { "tensor", TN_SPLIT_TENSOR } };
    if (!given->split_mode) {
        to->split_mode = given->tensor_split  ? TN_SPLIT_LAYER
                         : given->main_device ? TN_SPLIT_NONE
                                              : TN_SPLIT_FREE;
        return CLI_OK;
    }
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(given->split_mode, modes[i].name) == 0) {
            to->split_mode = modes[i].mode;
            return CLI_OK;
        }
    return cli_fail(CLI_USAGE, "%s is none, layer, row or tensor, not '%s'",
                    cli_typed("split-mode"), given->split_mode);
}

static int take_shares(const char *text, cli_placed *to)
{
    size_t most = 1;
    if (!text)
        return CLI_OK;
    for (const char *at = text; *at; at++)
        most += *at == ',' || *at == '/';
    to->shares = calloc(most, sizeof *to->shares);
    if (!to->shares)
        return cli_fail(CLI_MEMORY, "not enough memory for %zu shares", most);
    for (const char *at = text;; at++) {
        char *end;
        double share = strtod(at, &end);
        if (end == at || (*end && *end != ',' && *end != '/') || !isfinite(share) || share < 0)
            return cli_fail(CLI_USAGE,
                            "%s '%s': numbers from 0 with commas between them are expected, such "
                            "as 3,1",
                            cli_typed("tensor-split"), text);
        to->shares[to->placement.share_count++] = share;
        at = end;
        if (!*at)
            break;
    }
    to->placement.shares = to->shares;
    return CLI_OK;
}

// Where the devices are not named those of software are not used.
static int find_device(tn_runtime *runtime, bool are_named, const char *option, const char *name,
                       tn_device **out_device)
{
    int code = name ? cli_find_device(runtime, option, name, out_device) : CLI_OK;
    if (name && code == CLI_OK && !are_named && !tn_device_is_default(*out_device))
        return cli_fail(CLI_USAGE,
                        "%s: %s is a software device, which is used only where --device names it",
                        option, name);
    return code;
}

// "a=b,c=d" in place of two options: a pattern that contains what could be the name of a device,
// whether there is one or not. "(?=b,c)" is none.
static int check_pattern(const char *option, const char *text, size_t length)
{
    for (const char *at = text; (at = memchr(at, '=', length - (size_t)(at - text))); at++) {
        size_t size = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789_-");
        bool is_lookaround = at > text && (at[-1] == '?' || at[-1] == '<');
        if (size && at[1 + size] == ',' && !is_lookaround)
            return cli_fail(CLI_USAGE, "%s '%s': one REGEX=DEVICE is expected: repeat %s for more",
                            option, text, option);
    }
    return CLI_OK;
}

static int take_overrides(tn_runtime *runtime, bool are_named, const cli_list *texts,
                          cli_placed *to)
{
    int code = CLI_OK;
    if (texts->count == 0)
        return CLI_OK;
    to->overrides = calloc(texts->count, sizeof *to->overrides);
    to->patterns = calloc(texts->count, sizeof *to->patterns);
    if (!to->overrides || !to->patterns)
        return cli_fail(CLI_MEMORY, "not enough memory for %u overrides", texts->count);
    for (uint32_t i = 0; i < texts->count && code == CLI_OK; i++) {
        const char *text = texts->items[i], *equals = strrchr(text, '=');
        if (!equals || equals == text || !equals[1])
            return cli_fail(CLI_USAGE, "%s '%s': REGEX=DEVICE is expected", texts->typed[i], text);
        to->patterns[to->override_count++] = strndup(text, (size_t)(equals - text));
        to->overrides[i].pattern = to->patterns[i];
        if (!to->patterns[i])
            return cli_fail(CLI_MEMORY, "not enough memory for %u overrides", texts->count);
        code = check_pattern(texts->typed[i], text, (size_t)(equals - text));
        if (code == CLI_OK)
            code = find_device(runtime, are_named, texts->typed[i], equals + 1,
                               &to->overrides[i].device);
    }
    return code;
}

int cli_place(tn_runtime *runtime, const cli_placement *given, bool are_named, cli_placed *out)
{
    *out = (cli_placed){ .placement = { .size = sizeof out->placement } };
    int code = take_gpu_layers(given->gpu_layers, &out->placement);
    if (code == CLI_OK)
        code = take_split_mode(given, &out->placement);
    if (code == CLI_OK)
        code = take_shares(given->tensor_split, out);
    if (code == CLI_OK)
        code = find_device(runtime, are_named, cli_typed("main-device"), given->main_device,
                           &out->placement.main_device);
    if (code == CLI_OK)
        code = find_device(runtime, are_named, cli_typed("kv-device"), given->kv_device,
                           &out->placement.kv_device);
    return code == CLI_OK ? take_overrides(runtime, are_named, &given->overrides, out) : code;
}
