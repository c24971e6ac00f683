// perplexity.c: tenon perplexity
//
// A text that fits into the context is one pass. A longer one goes through it in windows that
// overlap by half: each term is taken from the window that gives it the most context, at least half
// of one.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

enum { BATCH_TOKENS = 64 };   // logits of so many positions are kept at once

typedef struct perplexity_options {
    cli_model_options model;
    int64_t max_tokens;
    bool each;
    bool json;
} perplexity_options;

static const cli_option options[] = {
    CLI_MODEL_OPTIONS,
    { "max-tokens", 0, CLI_NUMBER, "N", offsetof(perplexity_options, max_tokens), 2, 1 << 30,
      "only the first N tokens of the file" },
    { "each", 0, CLI_FLAG, NULL, offsetof(perplexity_options, each), 0, 0,
      "print each token's number and its -ln p as well" },
    { "json", 0, CLI_FLAG, NULL, offsetof(perplexity_options, json), 0, 0, "print JSON" },
};

typedef struct terms {
    double sum, squares;   // of -ln p
    uint32_t count;
    double *each;   // {count} as far as asked for; NULL: not
} terms;

// -ln p(id) from logits F32 {count}, in double.
static double surprise(const float *logits, uint32_t count, int32_t id)
{
    double top = logits[0], sum = 0;
    for (uint32_t i = 1; i < count; i++)
        top = logits[i] > top ? logits[i] : top;
    for (uint32_t i = 0; i < count; i++)
        sum += exp(logits[i] - top);
    return top + log(sum) - logits[id];
}

// ids {count} through an empty context; the terms of ids from `first` on are added, as far as
// nobody interrupts.
static int add_window(const cli_loaded *loaded, uint32_t vocabulary, const int32_t *ids,
                      uint32_t count, uint32_t first, terms *into)
{
    tn_error err = { 0 };
    if (tlm_context_rewind(loaded->context, 0, &err) != TN_OK)
        return cli_fail_status(&err);
    for (uint32_t at = 0; at < count; at += BATCH_TOKENS) {
        uint32_t size = count - at < BATCH_TOKENS ? count - at : BATCH_TOKENS;
        const float *logits;
        int code = cli_is_interrupted() ? CLI_INTERRUPTED
                                        : cli_eval(loaded, ids + at, size, &logits);
        if (code != CLI_OK)
            return code;
        for (uint32_t i = 0; i < size; i++) {
            uint32_t next = at + i + 1;
            if (next >= count || next < first)
                continue;
            double term = surprise(logits + (size_t)i * vocabulary, vocabulary, ids[next]);
            into->sum += term;
            into->squares += term * term;
            if (into->each)
                into->each[into->count] = term;
            into->count++;
        }
    }
    return CLI_OK;
}

static int add_all(const cli_loaded *loaded, const int32_t *ids, uint32_t count, terms *into)
{
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(loaded->context, &info);
    uint32_t window = info.context_tokens, half = window / 2;
    int code = CLI_OK;
    if (window < 2)
        return cli_fail(CLI_USAGE,
                        "perplexity: a context of %u token predicts nothing, use --ctx 2 or more",
                        window);
    for (uint32_t at = 0, done = 1; done < count && code == CLI_OK; at += half) {
        uint32_t size = count - at < window ? count - at : window;
        code = add_window(loaded, info.vocabulary, ids + at, size, done - at, into);
        done = at + size;
    }
    return code;
}

// ids: of the tokens that the terms are of.
static void print_each(const terms *t, const int32_t *ids, bool as_json)
{
    if (as_json)
        printf(",\"each\":[");
    for (uint32_t i = 0; i < t->count; i++)
        if (as_json)
            printf("%s{\"id\":%d,\"nll\":%.9g}", i ? "," : "", ids[i], t->each[i]);
        else
            printf("%8d %.9g\n", ids[i], t->each[i]);
    if (as_json)
        printf("]");
}

// What there is; of an interrupted text that is of its beginning.
static int print(const terms *t, const int32_t *ids, bool as_json, bool is_interrupted)
{
    double mean = t->count ? t->sum / t->count : 0;
    double deviation = t->count ? sqrt(fmax(0, t->squares / t->count - mean * mean) / t->count) : 0;
    char nll[32] = "null";
    if (t->count)
        snprintf(nll, sizeof nll, "%.9g", mean);
    if (as_json)
        printf("{\"schema_version\":1,\"tokens\":%u,\"nll\":%s%s", t->count, nll,
               is_interrupted ? ",\"interrupted\":true" : "");
    if (t->each)
        print_each(t, ids, as_json);
    if (as_json)
        printf("}\n");
    else if (t->count)
        printf("%u token%s, %.5f nats each (standard error %.5f), perplexity %.4f\n", t->count,
               cli_plural(t->count), mean, deviation, exp(mean));
    return cli_end_output();
}

static int measure(cli_loaded *loaded, const perplexity_options *given, const char *path)
{
    tn_error err = { 0 };
    char *text = NULL;
    size_t bytes = 0;
    int32_t *ids = NULL;
    uint32_t count = 0;
    terms sum = { 0 };
    int code = cli_is_stdin(path) ? cli_read_stdin(&text, &bytes)
                                  : cli_read_file(path, &text, &bytes);
    if (code == CLI_OK &&
        tlm_tokenize(loaded->tokenizer, text, bytes, 0, &ids, &count, &err) != TN_OK)
        code = cli_fail_status(&err);
    if (given->max_tokens && count > given->max_tokens)
        count = (uint32_t)given->max_tokens;
    if (code == CLI_OK && count < 2)
        code = cli_fail(CLI_USAGE, "%s: has %u token%s, at least 2 are needed", path, count,
                        count == 1 ? "" : "s");
    if (code == CLI_OK && given->each && !(sum.each = calloc(count, sizeof *sum.each)))
        code = cli_fail(CLI_MEMORY, "no memory for %u numbers", count);
    if (code == CLI_OK)
        code = cli_load_context(loaded, &given->model, TLM_ALL_LOGITS, BATCH_TOKENS);
    if (code == CLI_OK)
        code = add_all(loaded, ids, count, &sum);
    if (code == CLI_INTERRUPTED && loaded->context)
        cli_note("interrupted behind %u of %u tokens", sum.count, count - 1);
    if (code == CLI_OK || (code == CLI_INTERRUPTED && loaded->context)) {
        int printed = print(&sum, ids + 1, given->json, code == CLI_INTERRUPTED);
        code = printed == CLI_OK ? code : printed;
    }
    tlm_ids_free(loaded->tokenizer, ids);
    free(sum.each);
    free(text);
    return code;
}

static int run(int argc, char **argv)
{
    perplexity_options given = { 0 };
    cli_loaded loaded = { 0 };
    int count, code = cli_parse(&cli_perplexity_command, argc, argv, &given, 2, 2, &count);
    if (code < 0) {
        cli_catch_interrupt();
        code = cli_load(&loaded, argv[1], &given.model);
        if (code == CLI_OK)
            code = measure(&loaded, &given, argv[2]);
    }
    cli_unload(&loaded);
    cli_model_options_finish(&given.model);
    return code;
}

const cli_command cli_perplexity_command = {
    "perplexity",
    "MODEL FILE [options]",
    "Measures how well a model predicts a text",
    "Prints the mean of -ln p over all tokens but the first. BOS is added as the metadata says, "
    "special text is parsed.\n"
    "FILE - is standard input. "
    "A text longer than the context goes through it in windows that overlap by half.\n",
    options,
    sizeof options / sizeof *options,
    run,
};
