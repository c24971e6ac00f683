// load.h: a language model opened, with a runtime, tokenizer and context, as subcommands that run
// one need it.
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include <tenon/lm.h>

#include "cli.h"
#include "placement.h"

// To stand first in the struct that the options of such a subcommand fill.
typedef struct cli_model_options {
    cli_common common;
    const char *devices;   // "cpu0,cpu1"; NULL = all
    cli_placement placement;
    const char *kv_type;   // NULL = f16
    const char *pre;       // pre-tokenizer; NULL = that of the file
    int64_t ctx;           // 0 = the default
    bool no_mmap, no_repack, no_failover;
} cli_model_options;

// How the context is made.
#define CLI_CONTEXT_OPTIONS                                                                        \
    { "device",                                                                                    \
      0,                                                                                           \
      CLI_TEXT,                                                                                    \
      "NAME,...",                                                                                  \
      offsetof(cli_model_options, devices),                                                        \
      0,                                                                                           \
      0,                                                                                           \
      "run on these devices only; the earlier wins where costs are equal" },                       \
        CLI_PLACEMENT_OPTIONS(cli_model_options, placement),                                       \
        { "ctx",                                                                                   \
          0,                                                                                       \
          CLI_NUMBER,                                                                              \
          "N",                                                                                     \
          offsetof(cli_model_options, ctx),                                                        \
          0,                                                                                       \
          1 << 30,                                                                                 \
          "tokens of context (default, also as 0: the model's, at most 4096)" },                   \
        { "kv-type",                                                                               \
          0,                                                                                       \
          CLI_TEXT,                                                                                \
          "TYPE",                                                                                  \
          offsetof(cli_model_options, kv_type),                                                    \
          0,                                                                                       \
          0,                                                                                       \
          "f32, f16 or q8_0: how the KV cache is kept (default: f16)" },                           \
        { "no-mmap",                                                                               \
          0,                                                                                       \
          CLI_FLAG,                                                                                \
          NULL,                                                                                    \
          offsetof(cli_model_options, no_mmap),                                                    \
          0,                                                                                       \
          0,                                                                                       \
          "read the model into memory: for files that may change, or a failing disk" },            \
    {                                                                                              \
        "no-repack", 0, CLI_FLAG, NULL, offsetof(cli_model_options, no_repack), 0, 0,              \
            "read weights where they lie: slower, but loads at once and needs no memory for them"  \
    }

// Of those that read no text.
#define CLI_TEXTLESS_MODEL_OPTIONS CLI_COMMON_OPTIONS, CLI_CONTEXT_OPTIONS

// Of those that run one.
#define CLI_FAILOVER_OPTION                                                                        \
    {                                                                                              \
        "no-failover", 0, CLI_FLAG, NULL, offsetof(cli_model_options, no_failover), 0, 0,          \
            "stop when a device fails, in place of going on with what is left"                     \
    }

#define CLI_MODEL_OPTIONS                                                                          \
    CLI_TEXTLESS_MODEL_OPTIONS, CLI_FAILOVER_OPTION,                                               \
    {                                                                                              \
        "pre", 0, CLI_TEXT, "NAME", offsetof(cli_model_options, pre), 0, 0,                        \
            "pre-tokenizer, when the file does not name it or names it wrongly"                    \
    }

typedef struct cli_loaded {
    const char *name;   // as the user wrote it
    tn_model *model;
    tn_runtime *runtime;
    tlm_tokenizer *tokenizer;
    tlm_context *context;
} cli_loaded;

// Model and runtime. CLI_OK, or the exit code after a line; cli_unload in any case.
int cli_load_model(cli_loaded *loaded, const char *name, const cli_model_options *given);

// These and the tokenizer. CLI_OK, or the exit code after a line; cli_unload in any case.
int cli_load(cli_loaded *loaded, const char *name, const cli_model_options *given);

// The context. flags and batch_tokens as in tlm_context_options.
int cli_load_context(cli_loaded *loaded, const cli_model_options *given, uint32_t flags,
                     uint32_t batch_tokens);

// Runs ids through the context. CLI_OK, or the exit code after a line; also when the model's file
// was changed or cut meanwhile.
int cli_eval(const cli_loaded *loaded, const int32_t *ids, uint32_t count,
             const float **out_logits);

// Bytes of weights read in place from mapped files, and bytes of memory planned for the rest: a
// file that was read into memory (cli_is_in_memory) is part of it.
void cli_memory(const cli_loaded *loaded, uint64_t *out_planned, uint64_t *out_mapped);

bool cli_is_in_memory(const cli_loaded *loaded);

void cli_model_options_finish(cli_model_options *given);   // frees lists

void cli_unload(cli_loaded *loaded);   // also half loaded, or zeroed

#endif
