// placement.h: the options that say where a model's layers go, for every subcommand that loads one.
#ifndef CLI_PLACEMENT_H
#define CLI_PLACEMENT_H

#include <tenon/lm.h>

#include "cli.h"

typedef struct cli_placement {
    const char *gpu_layers, *split_mode, *tensor_split, *main_device, *kv_device;
    cli_list overrides;   // "REGEX=DEVICE"
} cli_placement;

// Rows of a table of options: type is the struct that they fill, field its cli_placement.
#define CLI_PLACEMENT_OPTION(type, field, name, kind, argument, help)                              \
    {                                                                                              \
        name, 0, kind, argument, offsetof(type, field), 0, 0, help                                 \
    }
#define CLI_PLACEMENT_OPTIONS(type, field)                                                         \
    CLI_PLACEMENT_OPTION(type, field.gpu_layers, "gpu-layers", CLI_TEXT, "N",                      \
                         "the last N layers on GPUs, the output is one more; auto (the default) "  \
                         "or all"),                                                                \
        CLI_PLACEMENT_OPTION(type, field.split_mode, "split-mode", CLI_TEXT, "MODE",               \
                             "over several GPUs: none, layer, row or tensor (default: nodes and "  \
                             "whole layers, as is fastest; row and tensor only if asked)"),        \
        CLI_PLACEMENT_OPTION(type, field.tensor_split, "tensor-split", CLI_TEXT, "X,...",          \
                             "the part of each GPU, such as 3,1 (default: by memory)"),            \
        CLI_PLACEMENT_OPTION(type, field.main_device, "main-device", CLI_TEXT, "NAME",             \
                             "GPU of split mode none, and of what row and tensor do not divide"),  \
        CLI_PLACEMENT_OPTION(type, field.kv_device, "kv-device", CLI_TEXT, "NAME",                 \
                             "keep the KV cache there, and attend there; cpu is the first CPU"),   \
        CLI_PLACEMENT_OPTION(type, field.overrides, "override-tensor", CLI_LIST, "REGEX=DEVICE",   \
                             "what reads tensors of such names runs there; may be repeated; the "  \
                             "first that matches counts")

// What these options mean for tlm_context_options. To be given to cli_drop_placed in any case.
typedef struct cli_placed {
    tn_placement placement;
    double *shares;
    tlm_override *overrides;
    char **patterns;   // of these, without the device
    uint32_t override_count;
} cli_placed;

// CLI_OK, or the exit code after a line.
int cli_place(tn_runtime *runtime, const cli_placement *given, bool are_named, cli_placed *out);
void cli_drop_placed(cli_placed *placed);

// Errors that name a field of a tn_placement name the option instead, as it was typed.
void cli_name_placement(tn_error *err);

void cli_placement_finish(cli_placement *given);   // frees the list

// The first of these options that is given, or NULL.
const char *cli_placement_option(const cli_placement *given);

// Words that people know of other programs, "-ngl", become the long options that they are short
// for.
void cli_expand_short_words(const cli_command *command, int argc, char **argv);
const char *cli_short_word(const char *word);     // what such a word was before; NULL: it is none
const char *cli_brief_word(const char *option);   // that such an option has, "-ngl"; NULL: none

#endif
