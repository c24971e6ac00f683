// run.h: shared by run.c and its parts, run_*.c.
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "load.h"

typedef struct run_options {
    cli_model_options model;
    const char *tokens, *prompt_cache;
    int64_t max_tokens, top_k, seed;   // seed -1 = random
    double temperature, top_p, min_p, repetition, frequency, presence;
    cli_list biases;   // "ID=VALUE"
    bool greedy, ignore_eos, no_special, explain, json, raw, quiet;
} run_options;

// Why the text ended; 0 as long as the prompt is not being read. run_json.c has the names.
typedef enum run_finish {
    RUN_FINISH_STOP = 1,   // the model ended it
    RUN_FINISH_LENGTH,
    RUN_FINISH_CONTEXT,   // it is full
    RUN_FINISH_INTERRUPTED,
    RUN_FINISH_ERROR
} run_finish;

typedef struct run_state {
    const run_options *given;
    cli_loaded loaded;
    tlm_logit_bias *biases;
    tlm_sampler *sampler;
    tlm_stream *stream;
    int32_t *prompt;
    uint32_t prompt_count;
    uint32_t reused_count;   // of these, from the prompt cache
    uint32_t read_count;     // of the others, through the model
    bool is_cached;          // the prompt cache holds all of it
    int cache_code;          // exit code of a cache that could not be written; else CLI_OK
    int32_t *tokens;         // made, without the stop id
    uint32_t token_count, decoded_count;
    char *text;   // of tokens, with --json
    size_t text_bytes;
    int32_t top_ids[10];   // at the last prompt position, before samplers
    float top_logits[10];
    uint32_t top_count;
    double load_ms, prefill_ms, decode_ms;
    uint64_t seed;
    run_finish finish;
    const char *error;   // the line of RUN_FINISH_ERROR
    int exit_code;       // with it
} run_state;

// The biases of --logit-bias; the ids are checked by the sampler. CLI_OK, or the exit code after a
// line. *out_biases: to be freed, NULL when none is given.
int run_take_biases(const cli_list *texts, tlm_logit_bias **out_biases);
// Brings what the file of --prompt-cache and the prompt begin with in common into the context, but
// for the last id, whose logits are wanted. A file that is not there yet, or is one of another
// model, release or damaged gives nothing. CLI_OK, or the exit code after a line.
int run_cache_load(run_state *state);
// Writes the prompt that the context now holds, where the file does not have it already.
void run_cache_save(run_state *state);

// The prompt and the new tokens. finish and what there is are set whatever happens, but
// where there is no memory for them. The exit code, after a line where it is an error.
int run_generate(run_state *state);

int run_print_json(const run_state *state);

#endif
