// bpe.c: byte-level byte pair encoding. Sennrich et al., arXiv:1508.07909, on bytes instead of
// characters.
//
// A word begins as one symbol a byte. The pair with the best merge becomes one symbol, the leftmost
// of equals first, until no pair has a merge.
#include "bpe.h"

#include "alloc.h"
#include "byte_alphabet.h"
#include "error.h"
#include "merge.h"
#include "pretokenize.h"

#include <inttypes.h>
#include <string.h>

#define MERGES "tokenizer.ggml.merges"

enum { MOST_MERGES = 1 << 26 };

typedef struct merge {
    int32_t left, right;
    int32_t made;
    uint32_t rank;   // its place in the file: lower goes first
} merge;

typedef struct bpe {
    tn_allocator allocator;
    const tlm_vocabulary *vocabulary;
    tlm_pretokenizer *pretokenizer;
    bool takes_whole_words;
    uint32_t longest_token;
    int32_t byte_ids[256];   // of the token that is this byte; else the unknown token; else
                             // TLM_NO_TOKEN, and the byte is lost
    merge *merges;           // by left, right and rank
    uint32_t *firsts;        // {tokens + 1}: the merges of a left id begin at firsts[id]
} bpe;

// ------------------------------------------------------------------------------------------ merges

// The first by rank of those of a pair. A search by halves among the merges of the left id: no file
// can make it slow.
static const merge *find_merge(const bpe *b, int32_t left, int32_t right)
{
    uint32_t from = b->firsts[left], end = b->firsts[left + 1], to = end;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (b->merges[middle].right < right)
            from = middle + 1;
        else
            to = middle;
    }
    return from < end && b->merges[from].right == right ? &b->merges[from] : NULL;
}

// Orders merges by one of their ids, those of one id as they stood.
static void distribute(const merge *from, merge *to, uint32_t count, bool is_by_left,
                       uint32_t *firsts, int32_t tokens)
{
    memset(firsts, 0, ((size_t)tokens + 1) * sizeof *firsts);
    for (uint32_t i = 0; i < count; i++)
        firsts[is_by_left ? from[i].left : from[i].right]++;
    uint32_t begin = 0;
    for (int32_t id = 0; id <= tokens; id++) {
        uint32_t next = begin + firsts[id];
        firsts[id] = begin;
        begin = next;
    }
    for (uint32_t i = 0; i < count; i++)
        to[firsts[is_by_left ? from[i].left : from[i].right]++] = from[i];
    memmove(firsts + 1, firsts, (size_t)tokens * sizeof *firsts);   // they point at the ends now
    firsts[0] = 0;
}

// "left right": the letters of bytes have no space among them, so the one past the first byte parts
// the two.
static tn_status read_merge(const bpe *b, const char *text, size_t bytes, uint32_t rank, merge *out,
                            tn_error *err)
{
    const tlm_vocabulary *v = b->vocabulary;
    const char *space = bytes > 1 ? memchr(text + 1, ' ', bytes - 1) : NULL;
    if (!space)
        return tlm_fail(err, TN_E_FILE,
                        "tokenizer: merge %" PRIu32 " '%.*s' is not two texts with a space between",
                        rank, (int)(bytes < 80 ? bytes : 80), text);
    size_t left_bytes = (size_t)(space - text), right_bytes = bytes - left_bytes - 1;
    int32_t left = tlm_vocabulary_find(v, text, left_bytes);
    int32_t right = tlm_vocabulary_find(v, space + 1, right_bytes);

    enum { ROOM = 512 };
    char joined[ROOM],
        *made_text = left_bytes + right_bytes <= ROOM ? joined : tlm_alloc(&b->allocator, bytes, 1);
    if (!made_text)
        return tlm_fail_memory(err, "a merge");
    memcpy(made_text, text, left_bytes);
    memcpy(made_text + left_bytes, space + 1, right_bytes);
    int32_t made = tlm_vocabulary_find(v, made_text, left_bytes + right_bytes);
    if (made_text != joined)
        tlm_free(&b->allocator, made_text);

    if (left == TLM_NO_TOKEN || right == TLM_NO_TOKEN || made == TLM_NO_TOKEN)
        return tlm_fail(err, TN_E_FILE, "tokenizer: merge %" PRIu32 " '%.*s' %s that is no token",
                        rank, (int)(bytes < 80 ? bytes : 80), text,
                        made == TLM_NO_TOKEN ? "makes a text" : "joins a text");
    *out = (merge){ left, right, made, rank };
    return TN_OK;
}

static tn_status read_merges(bpe *b, const tn_model *model, tn_error *err)
{
    tn_model_key key = { .size = sizeof key };
    tn_status status = tn_model_find_key(model, MERGES, &key, err);
    if (status == TN_E_NOT_FOUND)
        return tlm_fail(err, TN_E_FILE, "tokenizer: the file has no key " MERGES);
    if (status != TN_OK)
        return status;
    if (key.type != TN_KEY_ARRAY || (key.element_type != TN_KEY_STRING && key.count > 0))
        return tlm_fail(err, TN_E_FILE, "tokenizer: " MERGES " is no array of strings");
    if (key.count > MOST_MERGES)
        return tlm_fail(err, TN_E_FILE,
                        "tokenizer: " MERGES " has %" PRIu64 " entries, expected at most %d",
                        key.count, MOST_MERGES);

    uint32_t count = (uint32_t)key.count;
    int32_t tokens = b->vocabulary->count;
    merge *by_right = tlm_alloc(&b->allocator, count, sizeof *by_right);
    b->merges = tlm_alloc(&b->allocator, count, sizeof *b->merges);
    b->firsts = tlm_alloc(&b->allocator, (size_t)tokens + 1, sizeof *b->firsts);
    if (!by_right || !b->merges || !b->firsts)
        status = tlm_fail_memory(err, "the merges");
    for (uint32_t rank = 0; rank < count && status == TN_OK; rank++) {
        const char *text;
        size_t bytes;
        status = tn_model_get_string_at(model, MERGES, rank, &text, &bytes, err);
        if (status == TN_OK)
            status = read_merge(b, text, bytes, rank, &b->merges[rank], err);
    }
    if (status == TN_OK) {
        distribute(b->merges, by_right, count, false, b->firsts, tokens);
        distribute(by_right, b->merges, count, true, b->firsts, tokens);
    }
    tlm_free(&b->allocator, by_right);
    return status;
}

// ------------------------------------------------------------------------------------------ a word

typedef struct encoder {
    const bpe *bpe;
    tlm_ids *ids;
    tlm_merger merger;
} encoder;

static bool find_pair(const void *context, const tlm_symbol *left, const tlm_symbol *right,
                      int32_t *out_made, double *out_cost)
{
    const merge *found = find_merge(context, left->id, right->id);
    if (!found)
        return false;
    *out_made = found->made;
    *out_cost = found->rank;
    return true;
}

// The token that a whole word is, where the vocabulary says to look words up before merging.
static int32_t find_word(const bpe *b, const char *word, size_t bytes)
{
    enum { ROOM = 512 };
    char letters[ROOM + 2];
    size_t end = 0;
    if (!b->takes_whole_words)
        return TLM_NO_TOKEN;
    for (size_t i = 0; i < bytes; i++) {
        if (end >= b->longest_token || end >= ROOM)
            return TLM_NO_TOKEN;
        end += tlm_byte_letter((unsigned char)word[i], letters + end);
    }
    int32_t id = tlm_vocabulary_find(b->vocabulary, letters, end);
    return id != TLM_NO_TOKEN && b->vocabulary->tokens[id].type == TLM_TOKEN_NORMAL ? id
                                                                                    : TLM_NO_TOKEN;
}

static tn_status encode_word(void *context, const char *word, size_t bytes, tn_error *err)
{
    encoder *e = context;
    tlm_merger *m = &e->merger;
    int32_t whole = find_word(e->bpe, word, bytes);
    if (whole != TLM_NO_TOKEN)
        return tlm_ids_add(e->ids, whole, err);
    if (bytes >= TLM_NOWHERE)
        return tlm_fail(err, TN_E_ARG, "tokenize: a word of %zu bytes is longer than %u", bytes,
                        TLM_NOWHERE - 1);
    if (!tlm_merger_begin(m, bytes))
        return tlm_fail_memory(err, "a word");
    for (size_t i = 0; i < bytes; i++) {
        int32_t id = e->bpe->byte_ids[(unsigned char)word[i]];
        if (id != TLM_NO_TOKEN)
            tlm_merger_add(m, id, (uint32_t)i, 1);
    }
    if (!tlm_merger_run(m))
        return tlm_fail_memory(err, "the pairs of a word");
    tn_status status = TN_OK;
    uint32_t i = m->count > 0 ? 0 : TLM_NOWHERE;
    for (; i != TLM_NOWHERE && status == TN_OK; i = m->symbols[i].after)
        status = tlm_ids_add(e->ids, m->symbols[i].id, err);
    return status;
}

// ---------------------------------------------------------------------------------------- the kind

static void bpe_destroy(void *state)
{
    bpe *b = state;
    if (!b)
        return;
    tn_allocator allocator = b->allocator;
    tlm_pretokenizer_destroy(b->pretokenizer);
    tlm_free(&allocator, b->merges);
    tlm_free(&allocator, b->firsts);
    tlm_free(&allocator, b);
}

static tn_status read_bytes(bpe *b, const tlm_vocabulary *v, const tn_model *model, tn_error *err)
{
    int32_t unknown;
    tn_status status = tlm_vocabulary_read_id(v, model, "tokenizer.ggml.unknown_token_id", &unknown,
                                              err);
    for (unsigned byte = 0; byte < 256; byte++) {
        char letter[2];
        size_t length = tlm_byte_letter((unsigned char)byte, letter);
        int32_t id = tlm_vocabulary_find(v, letter, length);
        b->byte_ids[byte] = id == TLM_NO_TOKEN ? unknown : id;
    }
    for (int32_t id = 0; id < v->count; id++)
        b->longest_token = v->tokens[id].bytes > b->longest_token ? v->tokens[id].bytes
                                                                  : b->longest_token;
    return status;
}

static tn_status bpe_create(const tlm_tokenizer *tokenizer, const tn_model *model, const char *pre,
                            void **out_state, tn_error *err)
{
    *out_state = NULL;
    bpe *b = tlm_alloc(&tokenizer->allocator, 1, sizeof *b);
    if (!b)
        return tlm_fail_memory(err, "the tokenizer");
    b->allocator = tokenizer->allocator;
    b->vocabulary = &tokenizer->vocabulary;
    b->takes_whole_words = tlm_pretokenizer_traits(pre) & TLM_PRE_WHOLE_WORDS;
    tn_status status = tlm_pretokenizer_create(pre, &b->allocator, &b->pretokenizer, err);
    if (status == TN_OK)
        status = read_bytes(b, &tokenizer->vocabulary, model, err);
    if (status == TN_OK)
        status = read_merges(b, model, err);
    if (status != TN_OK)
        bpe_destroy(b);
    else
        *out_state = b;
    return status;
}

static tn_status bpe_encode(const void *state, const char *text, size_t bytes, bool is_first,
                            tlm_ids *ids, tn_error *err)
{
    (void)is_first;
    const bpe *b = state;
    encoder e = {
        .bpe = b,
        .ids = ids,
        .merger = { .allocator = b->allocator, .find = find_pair, .context = b },
    };
    tn_status status = tlm_pretokenize(b->pretokenizer, text, bytes, encode_word, &e, err);
    tlm_merger_finish(&e.merger);
    return status;
}

static size_t bpe_decode(const tlm_token *token, char *to)
{
    return tlm_letters_to_bytes(token->text, token->bytes, to);
}

const tlm_tokenizer_kind tlm_bpe_kind = {
    .name = "gpt2",
    .create = bpe_create,
    .destroy = bpe_destroy,
    .encode = bpe_encode,
    .decode = bpe_decode,
    .default_pre = "default",
    .adds_bos = false,
};
