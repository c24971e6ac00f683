// run_generate.c: the prompt through the model, and what it makes of it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"
#include "run.h"

enum {
    TOP_LOGITS = 10,
    PIECE_TOKENS = 512   // of the prompt between two looks at whether somebody interrupts
};

// The highest logits, best first, the lower id first of equals.
static void keep_top(run_state *state, const float *logits, uint32_t vocabulary)
{
    for (uint32_t id = 0; id < vocabulary; id++) {
        uint32_t at = state->top_count;
        while (at > 0 && logits[id] > state->top_logits[at - 1])
            at--;
        if (at == TOP_LOGITS)
            continue;
        if (state->top_count < TOP_LOGITS)
            state->top_count++;
        for (uint32_t i = state->top_count - 1; i > at; i--) {
            state->top_ids[i] = state->top_ids[i - 1];
            state->top_logits[i] = state->top_logits[i - 1];
        }
        state->top_ids[at] = (int32_t)id;
        state->top_logits[at] = logits[id];
    }
}

static void add_text(run_state *state, const char *text, size_t bytes)
{
    if (!state->given->json) {
        cli_write_text(text, bytes);
        return;
    }
    memcpy(state->text + state->text_bytes, text,
           bytes);   // room for the longest token, that many times
    state->text_bytes += bytes;
}

static size_t longest_token(const run_state *state)
{
    size_t longest = 3, bytes;   // U+FFFD
    for (int32_t id = 0; id < tlm_token_count(state->loaded.tokenizer); id++) {
        tlm_token_text(state->loaded.tokenizer, id, &bytes);
        longest = bytes > longest ? bytes : longest;
    }
    return longest;
}

// CLI_INTERRUPTED where somebody interrupts.
static int prefill(run_state *state, const float **out_logits)
{
    cli_progress *progress = state->given->quiet
                                 ? NULL
                                 : cli_progress_begin("prompt", "tokens", state->prompt_count);
    int code = CLI_OK;
    for (uint32_t at = state->reused_count; at < state->prompt_count && code == CLI_OK;) {
        uint32_t left = state->prompt_count - at, size = left < PIECE_TOKENS ? left : PIECE_TOKENS;
        code = cli_is_interrupted()
                   ? CLI_INTERRUPTED
                   : cli_eval(&state->loaded, state->prompt + at, size, out_logits);
        state->read_count += code == CLI_OK ? size : 0;
        at += size;
        cli_progress_at(progress, at);
    }
    cli_progress_end(progress);
    return code;
}

// New tokens, `most` at most, from the logits behind the prompt on.
static int decode(run_state *state, uint32_t most, uint32_t vocabulary, const float *logits)
{
    tn_error err = { 0 };
    size_t bytes;
    while (state->token_count < most) {
        int32_t id;
        if (cli_is_interrupted())
            return CLI_INTERRUPTED;
        if (tlm_sample(state->sampler, logits, vocabulary, &id, &err) != TN_OK)
            return cli_fail_status(&err);
        if (!state->given->ignore_eos && tlm_is_stop(state->loaded.tokenizer, id)) {
            state->finish = RUN_FINISH_STOP;
            break;
        }
        state->tokens[state->token_count++] = id;
        const char *text = tlm_stream_push(state->stream, id, &bytes);
        add_text(state, text, bytes);
        if (ferror(stdout))
            return cli_end_output();
        if (state->token_count == most)
            break;
        int code = cli_eval(&state->loaded, &id, 1, &logits);
        if (code != CLI_OK)
            return code;
        state->decoded_count++;
    }
    return cli_is_interrupted() ? CLI_INTERRUPTED : CLI_OK;
}

static void end_text(run_state *state)
{
    size_t bytes;
    const char *text = tlm_stream_finish(state->stream, &bytes);
    add_text(state, text, bytes);
    if (!state->given->json)
        cli_write_text("\n", 1);
}

// Why it ended, where the model did not end it.
static void find_reason(run_state *state, int code, const tlm_context_info *info, bool is_full)
{
    if (state->finish)
        return;
    state->finish = code == CLI_INTERRUPTED ? RUN_FINISH_INTERRUPTED
                    : code != CLI_OK        ? RUN_FINISH_ERROR
                    : is_full               ? RUN_FINISH_CONTEXT
                                            : RUN_FINISH_LENGTH;
    if (code == CLI_OK && is_full)
        cli_note("the context of %u token%s is full%s", info->context_tokens,
                 cli_plural(info->context_tokens),
                 info->context_tokens < info->model_context_tokens ? ": --ctx takes more" : "");
}

int run_generate(run_state *state)
{
    const run_options *given = state->given;
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(state->loaded.context, &info);
    uint32_t room = info.context_tokens - state->prompt_count +
                    1;   // the last token made needs no place
    uint32_t most = given->max_tokens < room ? (uint32_t)given->max_tokens : room;
    state->tokens = calloc((size_t)most + 1, sizeof *state->tokens);
    state->text = given->json ? calloc((size_t)most + 1, 3 * longest_token(state)) : NULL;
    if (!state->tokens || (given->json && !state->text))
        return cli_fail(CLI_MEMORY, "not enough memory for %u new tokens", most);

    const float *logits;
    double begin = cli_now_ms();
    int code = prefill(state, &logits);
    bool is_read = code == CLI_OK;   // the prompt
    state->prefill_ms = cli_now_ms() - begin;
    if (is_read) {
        run_cache_save(state);
        keep_top(state, logits, info.vocabulary);
        begin = cli_now_ms();
        code = decode(state, most, info.vocabulary, logits);
        state->decode_ms = cli_now_ms() - begin;
    }
    if (given->json || (is_read && (code == CLI_OK || code == CLI_INTERRUPTED)))
        end_text(state);
    find_reason(state, code, &info, state->token_count == room && most < given->max_tokens);
    if (state->finish == RUN_FINISH_ERROR)
        state->error = cli_last_failure();
    state->exit_code = code;
    return code;
}
