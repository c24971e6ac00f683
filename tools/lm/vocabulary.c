// vocabulary.c: reading tokens and their types, and the way from text to id: a hash table, or,
// where a file is made so that its texts collide, a search by halves, which nothing can make slow.
#include "vocabulary.h"

#include "alloc.h"
#include "error.h"

#include <inttypes.h>
#include <string.h>

#define TOKENS "tokenizer.ggml.tokens"
#define TYPES  "tokenizer.ggml.token_type"

// MOST_PROBES: texts that did not choose their hashes need 70 or so among 2^18 tokens.
enum { MOST_TOKENS = 1 << 26, MOST_TOKEN_BYTES = 1 << 20, MOST_PROBES = 256 };

// FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/
static uint32_t hash_text(const char *text, size_t bytes)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return (uint32_t)(hash ^ hash >> 32);
}

// The slot that holds this text, or the free one where it belongs; TLM_NO_TOKEN when MOST_PROBES
// others are in the way.
static int64_t slot_of(const tlm_vocabulary *v, const char *text, size_t bytes)
{
    uint32_t home = hash_text(text, bytes);
    for (uint32_t probe = 0; probe < MOST_PROBES; probe++) {
        uint32_t slot = (home + probe) & v->slot_mask;
        if (v->slots[slot] == TLM_NO_TOKEN)
            return slot;
        const tlm_token *token = &v->tokens[v->slots[slot]];
        if (token->bytes == bytes && memcmp(token->text, text, bytes) == 0)
            return slot;
    }
    return TLM_NO_TOKEN;
}

static int order_of(const tlm_token *token, const char *text, size_t bytes)
{
    int order = memcmp(token->text, text, token->bytes < bytes ? token->bytes : bytes);
    return order != 0 ? order : (token->bytes > bytes) - (token->bytes < bytes);
}

static int32_t find_sorted(const tlm_vocabulary *v, const char *text, size_t bytes)
{
    int32_t from = 0, to = v->count;
    while (from < to) {
        int32_t middle = from + (to - from) / 2;
        if (order_of(&v->tokens[v->sorted[middle]], text, bytes) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    bool is_found = from < v->count && order_of(&v->tokens[v->sorted[from]], text, bytes) == 0;
    return is_found ? v->sorted[from] : TLM_NO_TOKEN;
}

int32_t tlm_vocabulary_find(const tlm_vocabulary *vocabulary, const char *text, size_t bytes)
{
    if (vocabulary->sorted)
        return find_sorted(vocabulary, text, bytes);
    int64_t slot = slot_of(vocabulary, text, bytes);
    return slot == TLM_NO_TOKEN ? TLM_NO_TOKEN : vocabulary->slots[slot];
}

static bool is_before(const tlm_vocabulary *v, int32_t a, int32_t b)
{
    int order = order_of(&v->tokens[a], v->tokens[b].text, v->tokens[b].bytes);
    return order != 0 ? order < 0 : a < b;
}

// Heap sort: no recursion and no memory, however the file orders its tokens.
static void sift_down(const tlm_vocabulary *v, int32_t *ids, uint32_t root, uint32_t count)
{
    for (uint32_t child; (child = root * 2 + 1) < count; root = child) {
        if (child + 1 < count && is_before(v, ids[child], ids[child + 1]))
            child++;
        if (!is_before(v, ids[root], ids[child]))
            return;
        int32_t swap = ids[root];
        ids[root] = ids[child];
        ids[child] = swap;
    }
}

void tlm_vocabulary_sort(const tlm_vocabulary *vocabulary, int32_t *ids, uint32_t count)
{
    const tlm_vocabulary *v = vocabulary;
    for (uint32_t root = count / 2; root-- > 0;)
        sift_down(v, ids, root, count);
    for (uint32_t end = count; end-- > 1;) {
        int32_t swap = ids[0];
        ids[0] = ids[end];
        ids[end] = swap;
        sift_down(v, ids, 0, end);
    }
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

static tn_status sort_texts(tlm_vocabulary *v, tn_error *err)
{
    tlm_free(&v->allocator, v->slots);
    v->slots = NULL;
    v->sorted = tlm_alloc(&v->allocator, (size_t)v->count, sizeof *v->sorted);
    if (!v->sorted)
        return tlm_fail_memory(err, "the index of tokens");
    for (int32_t id = 0; id < v->count; id++)
        v->sorted[id] = id;
    tlm_vocabulary_sort(v, v->sorted, (uint32_t)v->count);
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
        int64_t slot = slot_of(v, v->tokens[id].text, v->tokens[id].bytes);
        if (slot == TLM_NO_TOKEN)
            return sort_texts(v, err);
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
    tlm_free(&vocabulary->allocator, vocabulary->sorted);
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
