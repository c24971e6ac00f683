// run.c: tenon run
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/random.h>
#include <tenon/lm.h>
#include <unistd.h>

#include "run.h"

enum { DEFAULT_NEW_TOKENS = 128 };

static const cli_option options[] = {
    CLI_MODEL_OPTIONS,
    { "max-tokens", 'n', CLI_NUMBER, "N", offsetof(run_options, max_tokens), 0, 1 << 30,
      "new tokens at most (default: {})" },
    { "tokens", 0, CLI_TEXT, "IDS", offsetof(run_options, tokens), 0, 0,
      "the prompt as token ids, used as they are" },
    { "prompt-cache", 0, CLI_TEXT, "FILE", offsetof(run_options, prompt_cache), 0, 0,
      "begin with what FILE holds of the prompt, and keep the prompt there" },
    { "no-special", 0, CLI_FLAG, NULL, offsetof(run_options, no_special), 0, 0,
      "text of the prompt that looks like a special token is text" },
    { "ignore-eos", 0, CLI_FLAG, NULL, offsetof(run_options, ignore_eos), 0, 0,
      "go on past the end of the text" },
    { "greedy", 0, CLI_FLAG, NULL, offsetof(run_options, greedy), 0, 0,
      "always the most likely token" },
    { "temp", 0, CLI_REAL, "X", offsetof(run_options, temperature), 0, TLM_MAX_TEMPERATURE,
      "temperature (default: {}); 0 is greedy" },
    { "top-k", 0, CLI_NUMBER, "N", offsetof(run_options, top_k), 0, 1 << 30,
      "sample from the N most likely (default: {}); 0: all" },
    { "top-p", 0, CLI_REAL, "X", offsetof(run_options, top_p), 1e-6, 1,
      "and from this share of the probability (default: {})" },
    { "min-p", 0, CLI_REAL, "X", offsetof(run_options, min_p), 0, 1,
      "and those this likely relative to the best (default: {})" },
    { "repeat-penalty", 0, CLI_REAL, "X", offsetof(run_options, repetition),
      TLM_MIN_REPETITION_PENALTY, TLM_MAX_REPETITION_PENALTY,
      "make tokens of the last 64 less likely by this factor (default: {})" },
    { "frequency-penalty", 0, CLI_REAL, "X", offsetof(run_options, frequency), -TLM_MAX_PENALTY,
      TLM_MAX_PENALTY, "take X from a token's logit for each time it is among the last 64" },
    { "presence-penalty", 0, CLI_REAL, "X", offsetof(run_options, presence), -TLM_MAX_PENALTY,
      TLM_MAX_PENALTY, "take X once from the logit of a token that is among the last 64" },
    { "logit-bias", 0, CLI_LIST, "ID=VALUE", offsetof(run_options, biases), 0, 0,
      "add VALUE to the logit of a token; -inf forbids it; may be repeated" },
    { "seed", 0, CLI_NUMBER, "N", offsetof(run_options, seed), 0, 9e15,
      "seed of the sampling (default: random, and printed)" },
    { "raw", 0, CLI_FLAG, NULL, offsetof(run_options, raw), 0, 0,
      "print the tokens' bytes as they are, also within a character" },
    { "explain", 0, CLI_FLAG, NULL, offsetof(run_options, explain), 0, 0,
      "print the plan on stderr: segments, copies, memory" },
    { "json", 0, CLI_FLAG, NULL, offsetof(run_options, json), 0, 0,
      "print one JSON object at the end, no stream" },
    { "quiet", 'q', CLI_FLAG, NULL, offsetof(run_options, quiet), 0, 0,
      "no progress of a long prompt, no seed: warnings and errors alone" },
};

static void write_text(void *context, const char *text, size_t bytes)
{
    fwrite(text, 1, bytes, context);
}

// ----------------------------------------------------------------------------------------- prepare

static int take_prompt(run_state *state, const char *prompt)
{
    const run_options *given = state->given;
    tn_error err = { 0 };
    char *from_stdin = NULL;
    size_t bytes = prompt ? strlen(prompt) : 0;
    int code = CLI_OK;
    if (given->tokens)
        return cli_parse_numbers("tokens", "token ids", given->tokens, 0, INT32_MAX, &state->prompt,
                                 &state->prompt_count);
    if (cli_is_stdin(prompt))
        prompt = NULL;
    if (!prompt && isatty(STDIN_FILENO))
        return cli_fail(
            CLI_USAGE,
            "run: no prompt is given: add one, use --tokens, or pipe text into standard input");
    if (!prompt) {
        code = cli_read_stdin(&from_stdin, &bytes);
        prompt = from_stdin;
    }
    int32_t *ids = NULL;
    if (code == CLI_OK &&
        tlm_tokenize(state->loaded.tokenizer, prompt, bytes, given->no_special ? TLM_TEXT_PLAIN : 0,
                     &ids, &state->prompt_count, &err) != TN_OK)
        code = cli_fail_status(&err);
    if (code == CLI_OK &&
        !(state->prompt = calloc((size_t)state->prompt_count + 1, sizeof *state->prompt)))
        code = cli_fail(CLI_MEMORY, "not enough memory for %u tokens", state->prompt_count);
    if (code == CLI_OK)
        memcpy(state->prompt, ids, state->prompt_count * sizeof *ids);
    tlm_ids_free(state->loaded.tokenizer, ids);
    free(from_stdin);
    return code;
}

// Room for the prompt and for what is to follow; the last token made needs none.
static uint32_t context_wanted(const run_state *state, uint32_t most)
{
    uint64_t wanted = (uint64_t)state->prompt_count + (uint64_t)state->given->max_tokens;
    wanted -= state->given->max_tokens > 0;
    return wanted < most ? (uint32_t)wanted : most;
}

static int check_prompt(const run_state *state)
{
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(state->loaded.context, &info);
    for (uint32_t i = 0; i < state->prompt_count; i++)
        if (state->prompt[i] < 0 || (uint32_t)state->prompt[i] >= info.vocabulary)
            return cli_fail(CLI_USAGE, "run: there is no token %d, the vocabulary has %u",
                            state->prompt[i], info.vocabulary);
    if (state->prompt_count == 0)
        return cli_fail(CLI_USAGE,
                        "run: the prompt is empty, and this model adds no token to begin with");
    if (state->prompt_count > info.model_context_tokens)
        return cli_fail(CLI_USAGE, "run: the prompt has %u token%s, the model was made for %u",
                        state->prompt_count, cli_plural(state->prompt_count),
                        info.model_context_tokens);
    if (state->prompt_count > info.context_tokens)
        return cli_fail(
            CLI_USAGE, "run: the prompt has %u token%s, the context holds %u: use --ctx %u or more",
            state->prompt_count, cli_plural(state->prompt_count), info.context_tokens,
            context_wanted(state, info.model_context_tokens));
    return CLI_OK;
}

static int make_sampler(run_state *state)
{
    const run_options *given = state->given;
    tn_error err = { 0 };
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(state->loaded.context, &info);
    tlm_sampler_options how;
    tlm_sampler_defaults(&how);
    how.temperature = given->greedy ? 0 : (float)given->temperature;
    how.top_k = (uint32_t)given->top_k;
    how.top_p = (float)given->top_p;
    how.min_p = (float)given->min_p;
    how.repetition_penalty = (float)given->repetition;
    how.frequency_penalty = (float)given->frequency;
    how.presence_penalty = (float)given->presence;
    bool is_random = given->seed < 0 && how.temperature > 0;
    how.seed = given->seed < 0 ? 0 : (uint64_t)given->seed;
    if (is_random && getrandom(&how.seed, sizeof how.seed, 0) != sizeof how.seed)
        how.seed = (uint64_t)time(NULL);
    if (is_random)   // --seed takes it again
        how.seed &= (UINT64_C(1) << 52) - 1;
    state->seed = how.seed;
    how.biases = state->biases;
    how.bias_count = given->biases.count;
    if (is_random && !given->quiet)
        cli_note("seed %llu", (unsigned long long)how.seed);
    tn_status status = tlm_sampler_create((int32_t)info.vocabulary, &how, NULL, &state->sampler,
                                          &err);
    if (status == TN_OK)
        status = tlm_sampler_accept(state->sampler, state->prompt, state->prompt_count, &err);
    return status == TN_OK ? CLI_OK : cli_fail_status(&err);
}

static int prepare(run_state *state, const char *model, const char *prompt)
{
    const run_options *given = state->given;
    tn_error err = { 0 };
    if (given->tokens && prompt)
        return cli_fail(CLI_USAGE, "run: a prompt and --tokens are given, take one");
    if (given->raw && given->json)
        return cli_fail(CLI_USAGE, "run: --raw and --json are given, take one: JSON is UTF-8");
    if (given->prompt_cache && !*given->prompt_cache)
        return cli_fail(CLI_USAGE, "run: --prompt-cache names no file");
    double begin = cli_now_ms();
    int code = run_take_biases(&given->biases, &state->biases);
    if (code == CLI_OK)
        code = cli_load(&state->loaded, model, &given->model);
    if (code == CLI_OK)
        code = take_prompt(state, prompt);
    if (code == CLI_OK)
        code = cli_load_context(&state->loaded, &given->model, 0, 0);
    state->load_ms = cli_now_ms() - begin;
    if (code == CLI_OK && given->explain)
        tn_session_explain(tlm_context_session(state->loaded.context),
                           &(tn_sink){ stderr, write_text });
    if (code == CLI_OK)
        code = check_prompt(state);
    if (code == CLI_OK)
        code = make_sampler(state);
    if (code == CLI_OK)
        code = run_cache_load(state);
    if (code == CLI_OK &&
        tlm_stream_create(state->loaded.tokenizer, given->raw ? TLM_STREAM_RAW : 0, &state->stream,
                          &err) != TN_OK)
        code = cli_fail_status(&err);
    return code;
}

// ----------------------------------------------------------------------------------------- command

static void release(run_state *state)
{
    tlm_stream_destroy(state->stream);
    tlm_sampler_destroy(state->sampler);
    cli_unload(&state->loaded);
    free(state->biases);
    free(state->prompt);
    free(state->tokens);
    free(state->text);
}

static int run(int argc, char **argv)
{
    tlm_sampler_options defaults;
    tlm_sampler_defaults(&defaults);
    run_options given = { .max_tokens = DEFAULT_NEW_TOKENS,
                          .temperature = (double)defaults.temperature,
                          .top_k = defaults.top_k,
                          .top_p = (double)defaults.top_p,
                          .min_p = (double)defaults.min_p,
                          .repetition = (double)defaults.repetition_penalty,
                          .seed = -1 };
    run_state state = { .given = &given };
    int count, code = cli_parse(&cli_run_command, argc, argv, &given, 1, 2, &count);
    if (code >= 0) {
        free(given.biases.items);
        cli_model_options_finish(&given.model);
        return code;
    }
    cli_catch_interrupt();
    code = prepare(&state, argv[1], count == 2 ? argv[2] : NULL);
    if (code == CLI_OK)
        code = run_generate(&state);
    if (given.json && state.finish) {
        int printed = run_print_json(&state);
        code = printed == CLI_OK ? code : printed;
    }
    release(&state);
    free(given.biases.items);
    cli_model_options_finish(&given.model);
    int ended = cli_end_output();
    if (code == CLI_OK)
        code = state.cache_code;
    return code == CLI_OK ? ended : code;
}

const cli_command cli_run_command = {
    "run",
    "MODEL [PROMPT] [options]",
    "Runs a language model and streams its text",
    "MODEL is a GGUF file, or 'austen', the small model that comes with Tenon. Without PROMPT, or "
    "with "
    "-, it is read\nfrom standard input; a PROMPT that begins with a dash comes behind --.\n",
    options,
    sizeof options / sizeof *options,
    run,
};
