// run_json.c: what `tenon run --json` prints.
#include <stdio.h>
#include <string.h>

#include "events.h"
#include "json.h"
#include "run.h"

static json_t *ids_of(const int32_t *ids, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(ids[i]));
    return list;
}

static json_t *top_logits(const run_state *state)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < state->top_count; i++)
        json_array_append_new(list,
                              json_pack("[if]", state->top_ids[i], (double)state->top_logits[i]));
    return list;
}

// Resident bytes of this process that no file backs.
static json_int_t resident_anonymous_bytes(void)
{
    char line[256];
    long long kib = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "RssAnon: %lld kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib * 1024;
}

static double per_second(uint32_t count, double ms)
{
    return ms > 0 ? count / ms * 1e3 : 0;
}

static const char *finish_reason(run_finish finish)
{
    static const char *const names[] = { [RUN_FINISH_STOP] = "stop",
                                         [RUN_FINISH_LENGTH] = "length",
                                         [RUN_FINISH_CONTEXT] = "context",
                                         [RUN_FINISH_INTERRUPTED] = "interrupted",
                                         [RUN_FINISH_ERROR] = "error" };
    return names[finish];
}

int run_print_json(const run_state *state)
{
    uint64_t planned, mapped;
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(state->loaded.context, &info);
    cli_memory(&state->loaded, &planned, &mapped);
    json_t *timing = json_pack("{sf sf sf}", "load_ms", state->load_ms, "prefill_tokens_per_s",
                               per_second(state->read_count, state->prefill_ms),
                               "decode_tokens_per_s",
                               per_second(state->decoded_count, state->decode_ms));
    json_t *bytes = json_pack("{sI sI sI}", "planned_bytes", (json_int_t)planned, "mapped_bytes",
                              (json_int_t)mapped, "rss_anon_bytes", resident_anonymous_bytes());
    json_t *root = json_pack("{si ss sI sI so si so ss# ss so so so so}", "schema_version", 1,
                             "model", state->loaded.name, "context_tokens",
                             (json_int_t)info.context_tokens, "seed", (json_int_t)state->seed,
                             "prompt_tokens", ids_of(state->prompt, state->prompt_count),
                             "reused_tokens", (int)state->reused_count, "tokens",
                             ids_of(state->tokens, state->token_count), "text", state->text,
                             (int)state->text_bytes, "finish_reason", finish_reason(state->finish),
                             "top_logits", top_logits(state), "timing", timing, "memory", bytes,
                             "events", cli_events(tlm_context_session(state->loaded.context), 0));
    if (root && state->error)
        json_object_set_new(
            root, "error",
            json_pack("{si ss}", "exit_code", state->exit_code, "text", state->error));
    return cli_json_print(root, "the result");
}
