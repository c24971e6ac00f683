// nll_peer.c: -ln p of each token, by llama.cpp. nll.py builds it against a llama.cpp and runs it:
//   nll_peer MODEL WINDOW THREADS <ids
// Reads numbers of tokens and prints a line for each but the first, from the windows of tenon
// perplexity: those overlap by half, and a term comes from the one that gives it the most context.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <llama.h>

enum { MOST_IDS = 1 << 20, BATCH_TOKENS = 64 };

static double surprise(const float *logits, int count, int id)
{
    double top = logits[0], sum = 0;
    for (int i = 1; i < count; i++)
        top = logits[i] > top ? logits[i] : top;
    for (int i = 0; i < count; i++)
        sum += exp(logits[i] - top);
    return top + log(sum) - logits[id];
}

// The ids {count} through an empty context; prints the terms from `first` on.
static int print_window(struct llama_context *context, int vocabulary, const llama_token *ids,
                        int count, int first)
{
    struct llama_batch batch = llama_batch_init(BATCH_TOKENS, 0, 1);
    int failed = 0;
    llama_memory_clear(llama_get_memory(context), true);
    for (int at = 0; at < count && !failed; at += BATCH_TOKENS) {
        batch.n_tokens = count - at < BATCH_TOKENS ? count - at : BATCH_TOKENS;
        for (int i = 0; i < batch.n_tokens; i++) {
            batch.token[i] = ids[at + i];
            batch.pos[i] = at + i;
            batch.n_seq_id[i] = 1;
            batch.seq_id[i][0] = 0;
            batch.logits[i] = 1;
        }
        failed = llama_decode(context, batch);
        for (int i = 0; i < batch.n_tokens && !failed; i++) {
            int next = at + i + 1;
            if (next < count && next >= first)
                printf("%d %.9g\n", ids[next],
                       surprise(llama_get_logits_ith(context, i), vocabulary, ids[next]));
        }
    }
    llama_batch_free(batch);
    return failed;
}

static void be_silent(enum ggml_log_level level, const char *text, void *data)
{
    (void)level, (void)text, (void)data;
}

int main(int argc, char **argv)
{
    static llama_token ids[MOST_IDS];
    int count = 0, failed = 0;
    if (argc != 4)
        return fputs("usage: nll_peer MODEL WINDOW THREADS <ids\n", stderr), 2;
    while (count < MOST_IDS && scanf("%d", &ids[count]) == 1)
        count++;
    llama_log_set(be_silent, NULL);
    llama_backend_init();
    struct llama_model *model = llama_model_load_from_file(argv[1], llama_model_default_params());
    if (!model)
        return fprintf(stderr, "nll_peer: cannot load %s\n", argv[1]), 1;
    int window = atoi(argv[2]), half = window / 2;
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = (uint32_t)window;
    params.n_batch = params.n_ubatch = BATCH_TOKENS;
    params.n_threads = params.n_threads_batch = atoi(argv[3]);
    struct llama_context *context = llama_init_from_model(model, params);
    if (!context)
        return fputs("nll_peer: no context\n", stderr), 1;
    int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
    for (int at = 0, done = 1; done < count && !failed; at += half) {
        int size = count - at < window ? count - at : window;
        failed = print_window(context, vocabulary, ids + at, size, done - at);
        done = at + size;
    }
    llama_free(context);
    llama_model_free(model);
    return failed;
}
