// vocabulary.h: the tokens of a model's file, and the way back from a text to its token.
#ifndef TLM_VOCABULARY_H
#define TLM_VOCABULARY_H

#include <tenon/lm.h>

typedef struct tlm_token {
    const char *text;   // as the file spells it, lent by the model
    uint32_t bytes;
    uint32_t type;   // TLM_TOKEN_…
} tlm_token;

typedef struct tlm_vocabulary {
    tn_allocator allocator;
    tlm_token *tokens;
    int32_t count;
    uint32_t slot_mask;   // slots is a hash table with open addressing, at most half full; -1 =
                          // free
    int32_t *slots;
    int32_t *sorted;   // {count}, by their texts: in place of slots where a file has texts that
                       // collide too often; else NULL
} tlm_vocabulary;

// Reads tokenizer.ggml.tokens and .token_type (absent: all tokens are normal). Where two tokens
// have one text, that text finds the lower id. Errors: TN_E_FILE, TN_E_HOST_MEMORY.
tn_status tlm_vocabulary_init(tlm_vocabulary *vocabulary, const tn_model *model,
                              const tn_allocator *allocator, tn_error *err);
void tlm_vocabulary_finish(tlm_vocabulary *vocabulary);   // zeros are fine

// The id of the token that is spelled so; TLM_NO_TOKEN when there is none.
int32_t tlm_vocabulary_find(const tlm_vocabulary *vocabulary, const char *text, size_t bytes);

// Orders ids by the bytes of their texts, of equal texts the lower id first.
void tlm_vocabulary_sort(const tlm_vocabulary *vocabulary, int32_t *ids, uint32_t count);

static inline bool tlm_vocabulary_has(const tlm_vocabulary *vocabulary, int32_t id)
{
    return id >= 0 && id < vocabulary->count;
}

// A key that holds a token's id; *out_id is TLM_NO_TOKEN when the file does not have it. Errors:
// TN_E_FILE.
tn_status tlm_vocabulary_read_id(const tlm_vocabulary *vocabulary, const tn_model *model,
                                 const char *key, int32_t *out_id, tn_error *err);

#endif
