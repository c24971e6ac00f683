// spm.c: byte pair encoding by scores. Kudo and Richardson, arXiv:1808.06226.
//
// A text begins as one symbol a character, with U+2581 for each space. Of all neighbours that
// together are a token, those with the highest score become one symbol, the leftmost of equals
// first, until no neighbours are a token. What is still no token then goes byte by byte, as the
// tokens <0x00> to <0xFF>. Words are not cut apart before: a token may hold spaces.
#include "spm.h"

#include "alloc.h"
#include "error.h"
#include "merge.h"
#include "utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define SCORES "tokenizer.ggml.scores"

enum { SPACE_BYTES = 3 };

static const char space[SPACE_BYTES + 1] = "\xE2\x96\x81";   // U+2581

typedef struct spm {
    tn_allocator allocator;
    const tlm_vocabulary *vocabulary;
    float *scores;           // {vocabulary->count}
    int32_t byte_ids[256];   // of the token that is this byte; else the unknown token; else
                             // TLM_NO_TOKEN, and the byte is lost
    uint32_t longest_token;
    bool adds_space;   // before a text that nothing or a special token stands before
} spm;

// ---------------------------------------------------------------------------------------- encoding

// A control token is never made of text that looks like it, and neither is <0x0A>.
static int32_t find_token(const spm *s, const char *text, uint32_t bytes)
{
    if (bytes > s->longest_token)
        return TLM_NO_TOKEN;
    int32_t id = tlm_vocabulary_find(s->vocabulary, text, bytes);
    if (id == TLM_NO_TOKEN)
        return id;
    uint32_t type = s->vocabulary->tokens[id].type;
    return type == TLM_TOKEN_NORMAL || type == TLM_TOKEN_USER_DEFINED || type == TLM_TOKEN_UNUSED
               ? id
               : TLM_NO_TOKEN;
}

// A text while it is encoded.
typedef struct encoding {
    const spm *spm;
    const char *text;   // with U+2581 for spaces
} encoding;

static bool find_pair(const void *context, const tlm_symbol *left, const tlm_symbol *right,
                      int32_t *out_made, double *out_cost)
{
    const encoding *e = context;
    int32_t id = find_token(e->spm, e->text + left->begin, left->bytes + right->bytes);
    if (id == TLM_NO_TOKEN)
        return false;
    *out_made = id;
    *out_cost = -(double)e->spm->scores[id];
    return true;
}

// Copies text with U+2581 for each space; answers the bytes. `to` has room for all to be spaces,
// and one more.
static size_t mark_spaces(const char *text, size_t bytes, bool has_prefix, char *to)
{
    size_t end = 0;
    if (has_prefix) {
        memcpy(to, space, SPACE_BYTES);
        end = SPACE_BYTES;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == ' ') {
            memcpy(to + end, space, SPACE_BYTES);
            end += SPACE_BYTES;
        } else {
            to[end++] = text[i];
        }
    }
    return end;
}

static void add_characters(tlm_merger *m, const spm *s, const char *text, size_t bytes)
{
    for (size_t begin = 0, length; begin < bytes; begin += length) {
        if (tlm_utf8_next(text + begin, bytes - begin, &length) != TLM_UTF8_WHOLE)
            length = 1;
        int32_t id = find_token(s, text + begin, (uint32_t)length);
        tlm_merger_add(m, id, (uint32_t)begin, (uint32_t)length);
    }
}

static tn_status add_ids(const tlm_merger *m, const encoding *e, tlm_ids *ids, tn_error *err)
{
    tn_status status = TN_OK;
    uint32_t i = m->count > 0 ? 0 : TLM_NOWHERE;
    for (; i != TLM_NOWHERE && status == TN_OK; i = m->symbols[i].after) {
        const tlm_symbol *symbol = &m->symbols[i];
        if (symbol->id != TLM_NO_TOKEN) {
            status = tlm_ids_add(ids, symbol->id, err);
            continue;
        }
        for (uint32_t b = 0; b < symbol->bytes && status == TN_OK; b++) {
            int32_t id = e->spm->byte_ids[(unsigned char)e->text[symbol->begin + b]];
            if (id != TLM_NO_TOKEN)
                status = tlm_ids_add(ids, id, err);
        }
    }
    return status;
}

static tn_status spm_encode(const void *state, const char *text, size_t bytes, bool is_first,
                            tlm_ids *ids, tn_error *err)
{
    const spm *s = state;
    if (bytes >= TLM_NOWHERE / SPACE_BYTES - 1)
        return tlm_fail(err, TN_E_ARG, "tokenize: a text of %zu bytes is longer than %u", bytes,
                        TLM_NOWHERE / SPACE_BYTES - 2);
    char *marked = tlm_alloc(&s->allocator, bytes + 1, SPACE_BYTES);
    if (!marked)
        return tlm_fail_memory(err, "the text");
    encoding e = { .spm = s, .text = marked };
    tlm_merger m = { .allocator = s->allocator, .find = find_pair, .context = &e };
    size_t marked_bytes = mark_spaces(text, bytes, is_first && s->adds_space, marked);
    tn_status status = TN_OK;
    if (tlm_merger_begin(&m, bytes + 1))   // no more characters than bytes and the prefix
        add_characters(&m, s, marked, marked_bytes);
    else
        status = tlm_fail_memory(err, "the characters of a text");
    if (status == TN_OK && !tlm_merger_run(&m))
        status = tlm_fail_memory(err, "the pairs of a text");
    if (status == TN_OK)
        status = add_ids(&m, &e, ids, err);
    tlm_merger_finish(&m);
    tlm_free(&s->allocator, marked);
    return status;
}

// ---------------------------------------------------------------------------------------- creation

static void spm_destroy(void *state)
{
    spm *s = state;
    if (!s)
        return;
    tn_allocator allocator = s->allocator;
    tlm_free(&allocator, s->scores);
    tlm_free(&allocator, s);
}

static tn_status read_scores(spm *s, const tn_model *model, tn_error *err)
{
    tn_model_key key = { .size = sizeof key };
    tn_status status = tn_model_find_key(model, SCORES, &key, err);
    if (status == TN_E_NOT_FOUND)
        return tlm_fail(err, TN_E_FILE, "tokenizer: the file has no key " SCORES);
    if (status != TN_OK)
        return status;
    int32_t count = s->vocabulary->count;
    if (key.type != TN_KEY_ARRAY || key.count != (uint64_t)count)
        return tlm_fail(err, TN_E_FILE,
                        "tokenizer: " SCORES " has %" PRIu64 " entries, expected %" PRId32
                        " as tokenizer.ggml.tokens has",
                        key.count, count);
    s->scores = tlm_alloc(&s->allocator, (size_t)count, sizeof *s->scores);
    if (!s->scores)
        return tlm_fail_memory(err, "the scores");
    for (int32_t id = 0; id < count; id++) {
        double score;
        status = tn_model_get_f64_at(model, SCORES, (uint64_t)id, &score, err);
        if (status != TN_OK)
            return status;
        if (isnan(score))
            return tlm_fail(err, TN_E_FILE,
                            "tokenizer: the score of token %" PRId32 " is not a number", id);
        s->scores[id] = (float)score;
    }
    return TN_OK;
}

// The byte of a token of that type, which is spelled <0xE2>; -1 when it is spelled otherwise.
static int byte_of(const tlm_token *token)
{
    static const char digits[] = "0123456789ABCDEF";
    enum { BYTES = 6 };   // of the spelling
    if (token->bytes != BYTES || memcmp(token->text, "<0x", 3) != 0 || token->text[5] != '>')
        return -1;
    const char *high = memchr(digits, token->text[3], 16),
               *low = memchr(digits, token->text[4], 16);
    return high && low ? (int)((high - digits) * 16 + (low - digits)) : -1;
}

// The token of a byte is <0xE2>; else, in files that have none of these, the byte itself.
static tn_status read_bytes(spm *s, const tn_model *model, tn_error *err)
{
    const tlm_vocabulary *v = s->vocabulary;
    int32_t unknown;
    tn_status status = tlm_vocabulary_read_id(v, model, "tokenizer.ggml.unknown_token_id", &unknown,
                                              err);
    if (status != TN_OK)
        return status;
    for (unsigned byte = 0; byte < 256; byte++) {
        char spelled[8], plain = (char)byte;
        snprintf(spelled, sizeof spelled, "<0x%02X>", byte);
        int32_t id = tlm_vocabulary_find(v, spelled, strlen(spelled));
        if (id == TLM_NO_TOKEN)
            id = tlm_vocabulary_find(v, &plain, 1);
        s->byte_ids[byte] = id == TLM_NO_TOKEN ? unknown : id;
    }
    for (int32_t id = 0; id < v->count; id++) {
        if (v->tokens[id].type == TLM_TOKEN_BYTE && byte_of(&v->tokens[id]) < 0)
            return tlm_fail(err, TN_E_FILE,
                            "tokenizer: token %" PRId32
                            " '%.*s' is of the type of bytes, expected <0x00> to <0xFF>",
                            id, (int)(v->tokens[id].bytes < 80 ? v->tokens[id].bytes : 80),
                            v->tokens[id].text);
        if (v->tokens[id].bytes > s->longest_token)
            s->longest_token = v->tokens[id].bytes;
    }
    return TN_OK;
}

static tn_status spm_create(const tlm_tokenizer *tokenizer, const tn_model *model, const char *pre,
                            void **out_state, tn_error *err)
{
    (void)pre;
    *out_state = NULL;
    spm *s = tlm_alloc(&tokenizer->allocator, 1, sizeof *s);
    if (!s)
        return tlm_fail_memory(err, "the tokenizer");
    s->allocator = tokenizer->allocator;
    s->vocabulary = &tokenizer->vocabulary;
    s->adds_space = true;
    tn_status status = tn_model_get_bool(model, "tokenizer.ggml.add_space_prefix", &s->adds_space,
                                         err);
    if (status == TN_E_NOT_FOUND)
        status = TN_OK;
    if (status == TN_OK)
        status = read_scores(s, model, err);
    if (status == TN_OK)
        status = read_bytes(s, model, err);
    if (status != TN_OK)
        spm_destroy(s);
    else
        *out_state = s;
    return status;
}

// A byte token is its byte; in others U+2581 is a space.
static size_t spm_decode(const tlm_token *token, char *to)
{
    int byte = token->type == TLM_TOKEN_BYTE ? byte_of(token) : -1;
    if (byte >= 0) {
        to[0] = (char)byte;
        return 1;
    }
    size_t end = 0;
    for (size_t i = 0; i < token->bytes;) {
        bool is_space = token->bytes - i >= SPACE_BYTES &&
                        memcmp(token->text + i, space, SPACE_BYTES) == 0;
        to[end++] = is_space ? ' ' : token->text[i];
        i += is_space ? SPACE_BYTES : 1;
    }
    return end;
}

const tlm_tokenizer_kind tlm_spm_kind = {
    .name = "llama",
    .create = spm_create,
    .destroy = spm_destroy,
    .encode = spm_encode,
    .decode = spm_decode,
    .default_pre = NULL,
    .adds_bos = true,
};
