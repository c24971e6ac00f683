// vocabulary.c: reading tokens and their types, and a hash table from text to id.
#include "vocabulary.h"

#include "alloc.h"
#include "error.h"

#include <inttypes.h>
#include <string.h>

#define TOKENS "tokenizer.ggml.tokens"
#define TYPES  "tokenizer.ggml.token_type"

enum { MOST_TOKENS = 1 << 26, MOST_TOKEN_BYTES = 1 << 20 };

// FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
static uint32_t hash_text(const char *text, size_t bytes)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return (uint32_t)(hash ^ hash >> 32);
}

// The slot that holds this text, or the free one where it belongs.
static uint32_t slot_of(const tlm_vocabulary *v, const char *text, size_t bytes)
{
    uint32_t slot = hash_text(text, bytes) & v->slot_mask;
    for (; v->slots[slot] != TLM_NO_TOKEN; slot = (slot + 1) & v->slot_mask) {
        const tlm_token *token = &v->tokens[v->slots[slot]];
        if (token->bytes == bytes && memcmp(token->text, text, bytes) == 0)
            break;
    }
    return slot;
}

int32_t tlm_vocabulary_find(const tlm_vocabulary *vocabulary, const char *text, size_t bytes)
{
    return vocabulary->slots[slot_of(vocabulary, text, bytes)];
}

static tn_status read_tokens(tlm_vocabulary *v, const tn_model *model, tn_error *err)
{
    tn_model_key key = { .size = sizeof key };
    tn_status status = tn_model_find_key(model, TOKENS, &key, err);
    if (status == TN_E_NOT_FOUND)
        return tlm_fail(err, TN_E_FILE, "tokenizer: the file has no key " TOKENS);
    if (status != TN_OK)
        return status;
    if (key.type != TN_KEY_ARRAY || key.element_type != TN_KEY_STRING)
        return tlm_fail(err, TN_E_FILE, "tokenizer: " TOKENS " is no array of strings");
    if (key.count == 0 || key.count > MOST_TOKENS)
        return tlm_fail(err, TN_E_FILE,
                        "tokenizer: " TOKENS " has %" PRIu64 " entries, expected 1 to %d",
                        key.count, MOST_TOKENS);

    v->count = (int32_t)key.count;
    v->tokens = tlm_alloc(&v->allocator, (size_t)key.count, sizeof *v->tokens);
    if (!v->tokens)
        return tlm_fail_memory(err, "the tokens");
    for (int32_t id = 0; id < v->count; id++) {
        size_t bytes;
        status = tn_model_get_string_at(model, TOKENS, (uint64_t)id, &v->tokens[id].text, &bytes,
                                        err);
        if (status != TN_OK)
            return status;
        if (bytes > MOST_TOKEN_BYTES)
            return tlm_fail(err, TN_E_FILE,
                            "tokenizer: token %" PRId32 " has %zu bytes, expected at most %d", id,
                            bytes, MOST_TOKEN_BYTES);
        v->tokens[id].bytes = (uint32_t)bytes;
        v->tokens[id].type = TLM_TOKEN_NORMAL;
    }
    return TN_OK;
}

static tn_status read_types(tlm_vocabulary *v, const tn_model *model, tn_error *err)
{
    tn_model_key key = { .size = sizeof key };
    tn_status status = tn_model_find_key(model, TYPES, &key, err);
    if (status == TN_E_NOT_FOUND)
        return TN_OK;
    if (status != TN_OK)
        return status;
    if (key.type != TN_KEY_ARRAY || key.count != (uint64_t)v->count)
        return tlm_fail(err, TN_E_FILE,
                        "tokenizer: " TYPES " has %" PRIu64 " entries, expected %" PRId32
                        " as " TOKENS " has",
                        key.count, v->count);
    for (int32_t id = 0; id < v->count; id++) {
        int64_t type;
        status = tn_model_get_i64_at(model, TYPES, (uint64_t)id, &type, err);
        if (status != TN_OK)
            return status;
        if (type < TLM_TOKEN_NORMAL || type > TLM_TOKEN_BYTE)
            return tlm_fail(err, TN_E_FILE,
                            "tokenizer: token %" PRId32 " has type %" PRId64 ", expected %d to %d",
                            id, type, TLM_TOKEN_NORMAL, TLM_TOKEN_BYTE);
        v->tokens[id].type = (uint32_t)type;
    }
    return TN_OK;
}

static tn_status index_texts(tlm_vocabulary *v, tn_error *err)
{
    uint32_t capacity = 2;
    while (capacity < (uint32_t)v->count * 2)
        capacity *= 2;
    v->slot_mask = capacity - 1;
    v->slots = tlm_alloc(&v->allocator, capacity, sizeof *v->slots);
    if (!v->slots)
        return tlm_fail_memory(err, "the index of tokens");
    for (uint32_t i = 0; i < capacity; i++)
        v->slots[i] = TLM_NO_TOKEN;
    for (int32_t id = 0; id < v->count; id++) {
        uint32_t slot = slot_of(v, v->tokens[id].text, v->tokens[id].bytes);
        if (v->slots[slot] == TLM_NO_TOKEN)
            v->slots[slot] = id;
    }
    return TN_OK;
}

tn_status tlm_vocabulary_init(tlm_vocabulary *vocabulary, const tn_model *model,
                              const tn_allocator *allocator, tn_error *err)
{
    *vocabulary = (tlm_vocabulary){ .allocator = *allocator };
    tn_status status = read_tokens(vocabulary, model, err);
    if (status == TN_OK)
        status = read_types(vocabulary, model, err);
    if (status == TN_OK)
        status = index_texts(vocabulary, err);
    if (status != TN_OK)
        tlm_vocabulary_finish(vocabulary);
    return status;
}

void tlm_vocabulary_finish(tlm_vocabulary *vocabulary)
{
    if (!vocabulary->allocator.free)
        return;
    tlm_free(&vocabulary->allocator, vocabulary->tokens);
    tlm_free(&vocabulary->allocator, vocabulary->slots);
    *vocabulary = (tlm_vocabulary){ 0 };
}

tn_status tlm_vocabulary_read_id(const tlm_vocabulary *vocabulary, const tn_model *model,
                                 const char *key, int32_t *out_id, tn_error *err)
{
    int64_t id = TLM_NO_TOKEN;
    *out_id = TLM_NO_TOKEN;
    tn_status status = tn_model_get_i64(model, key, &id, err);
    if (status == TN_E_NOT_FOUND)
        return TN_OK;
    if (status != TN_OK)
        return status;
    if (id < 0 || id >= vocabulary->count)
        return tlm_fail(err, TN_E_FILE,
                        "tokenizer: %s is %" PRId64 ", but the ids are 0 to %" PRId32, key, id,
                        vocabulary->count - 1);
    *out_id = (int32_t)id;
    return TN_OK;
}
