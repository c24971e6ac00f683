// generate.c: opens a model and goes on with a prompt, 40 tokens, each shown as it comes.
//
//   cc generate.c $(pkg-config --cflags --libs tenon-lm) -o generate
//   ./generate MODEL.gguf "Once upon a time"
#include <stdio.h>
#include <string.h>
#include <tenon/lm.h>

enum { NEW_TOKENS = 40 };

// All that is made on the way, in this order; the later ones use the earlier.
typedef struct writer {
    tn_model *model;
    tn_runtime *runtime;   // finds the plugins, and so the devices
    tlm_tokenizer *tokenizer;
    tlm_context *context;   // the model compiled for the devices, and its KV cache
    tlm_sampler *sampler;
    tlm_stream *stream;
    int32_t *prompt;
    uint32_t prompt_count;
} writer;

static tn_status open_all(writer *w, const char *path, const char *text, tn_error *err)
{
    tn_status status = tn_model_open(path, NULL, &w->model, err);
    if (status == TN_OK)
        status = tn_runtime_create(NULL, &w->runtime, err);
    if (status == TN_OK)
        status = tlm_tokenizer_create(w->model, NULL, &w->tokenizer, err);
    if (status == TN_OK)
        status = tlm_context_create(w->runtime, w->model, NULL, &w->context, err);
    if (status == TN_OK)
        status = tlm_sampler_create(tlm_token_count(w->tokenizer), NULL, NULL, &w->sampler, err);
    if (status == TN_OK)
        status = tlm_stream_create(w->tokenizer, 0, &w->stream, err);
    if (status == TN_OK)   // flags 0: the text of a control token, as <|im_start|>, is that token
        status = tlm_tokenize(w->tokenizer, text, strlen(text), 0, &w->prompt, &w->prompt_count,
                              err);
    return status;
}

static tn_status generate(writer *w, tn_error *err)
{
    uint32_t vocabulary = (uint32_t)tlm_token_count(w->tokenizer);
    const int32_t *ids = w->prompt;
    uint32_t count = w->prompt_count;
    const char *text;
    size_t bytes;
    int32_t id;
    for (int i = 0; i < NEW_TOKENS; i++, ids = &id, count = 1) {
        const float *logits;
        tn_status status = tlm_eval(w->context, ids, count, &logits, err);
        if (status == TN_OK)
            status = tlm_sample(w->sampler, logits, vocabulary, &id, err);
        if (status != TN_OK)
            return status;
        if (tlm_is_stop(w->tokenizer, id))
            break;
        text = tlm_stream_push(w->stream, id, &bytes);   // whole characters, so perhaps none yet
        fwrite(text, 1, bytes, stdout);
        fflush(stdout);
    }
    text = tlm_stream_finish(w->stream, &bytes);
    fwrite(text, 1, bytes, stdout);
    putchar('\n');
    return TN_OK;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return fprintf(stderr, "usage: %s MODEL.gguf PROMPT\n", argv[0]), 2;
    writer w = { 0 };
    tn_error err = { 0 };
    tn_status status = open_all(&w, argv[1], argv[2], &err);
    if (status == TN_OK)
        status = generate(&w, &err);
    if (status != TN_OK)
        fprintf(stderr, "%s: %s\n", tn_status_name(status), err.text);

    if (w.prompt)
        tlm_ids_free(w.tokenizer, w.prompt);
    tlm_stream_destroy(w.stream);   // NULL is fine, here and below
    tlm_sampler_destroy(w.sampler);
    tlm_context_destroy(w.context);
    tlm_tokenizer_destroy(w.tokenizer);
    tn_runtime_destroy(w.runtime);
    tn_model_close(w.model);
    return status == TN_OK ? 0 : 1;
}
