// stop.c: which ids end generation.
//
// Files name the end of the text (eos), of a turn (eot) and of a message (eom), but often not all
// of those their models use. So control tokens with one of the usual texts count as well, and so do
// the marks that models for code put between files and repositories. Some files call such a token
// user-defined.
#include "tokenizer.h"

#include "alloc.h"
#include "error.h"

#include <string.h>

static const char *const keys[] = {
    "tokenizer.ggml.eos_token_id",     "tokenizer.ggml.eot_token_id",
    "tokenizer.ggml.eom_token_id",     "tokenizer.ggml.fim_pad_token_id",
    "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id",
};

static const char *const end_texts[] = {
    "</s>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|return|>",
    "<|call|>",
    "<EOT>",
    "<|EOT|>",
    "_<EOT>",
    "< EOT >",
    "[EOS]",
    "[EOT]",
    "<end_of_utterance>",
    "<|fim_pad|>",
    "<fim-pad>",
    "<fim_pad>",
    "<PAD>",
    "<|fim_repo|>",
    "<|repo_name|>",
    "<fim-repo>",
    "<REPO>",
    "<reponame>",
    "<|file_sep|>",
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
};

enum { KEYS = sizeof keys / sizeof keys[0], END_TEXTS = sizeof end_texts / sizeof end_texts[0] };

// Keeps the list ascending and free of doubles; ids has room for one of each key and text.
static void add(tlm_stops *stops, int32_t id)
{
    uint32_t at = stops->count;
    while (at > 0 && stops->ids[at - 1] > id)
        at--;
    if (at > 0 && stops->ids[at - 1] == id)
        return;
    memmove(stops->ids + at + 1, stops->ids + at, (stops->count - at) * sizeof *stops->ids);
    stops->ids[at] = id;
    stops->count++;
}

tn_status tlm_stops_init(tlm_stops *stops, const tlm_vocabulary *vocabulary, const tn_model *model,
                         tn_error *err)
{
    stops->ids = tlm_alloc(&vocabulary->allocator, KEYS + END_TEXTS, sizeof *stops->ids);
    if (!stops->ids)
        return tlm_fail_memory(err, "the stop ids");
    for (uint32_t i = 0; i < KEYS; i++) {
        int32_t id;
        tn_status status = tlm_vocabulary_read_id(vocabulary, model, keys[i], &id, err);
        if (status != TN_OK)
            return status;
        if (id != TLM_NO_TOKEN)
            add(stops, id);
    }
    for (uint32_t i = 0; i < END_TEXTS; i++) {
        int32_t id = tlm_vocabulary_find(vocabulary, end_texts[i], strlen(end_texts[i]));
        uint32_t type = id != TLM_NO_TOKEN ? vocabulary->tokens[id].type : TLM_TOKEN_NORMAL;
        if (type == TLM_TOKEN_CONTROL || type == TLM_TOKEN_USER_DEFINED)
            add(stops, id);
    }
    return TN_OK;
}

void tlm_stops_finish(tlm_stops *stops, const tlm_vocabulary *vocabulary)
{
    if (stops->ids)
        tlm_free(&vocabulary->allocator, stops->ids);
    *stops = (tlm_stops){ 0 };
}

const int32_t *tlm_stop_ids(const tlm_tokenizer *tokenizer, uint32_t *out_count)
{
    if (out_count)
        *out_count = tokenizer ? tokenizer->stops.count : 0;
    return tokenizer ? tokenizer->stops.ids : NULL;
}

bool tlm_is_stop(const tlm_tokenizer *tokenizer, int32_t id)
{
    for (uint32_t i = 0; tokenizer && i < tokenizer->stops.count; i++)
        if (tokenizer->stops.ids[i] == id)
            return true;
    return false;
}
