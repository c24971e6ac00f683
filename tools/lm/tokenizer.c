// tokenizer.c: a tokenizer as a whole: what the file says about it, text to ids, ids to bytes.
#include "tokenizer.h"

#include "alloc.h"
#include "options.h"
#include "bpe.h"
#include "error.h"
#include "pretokenize.h"
#include "spm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "tokenizer.ggml."

static const tlm_tokenizer_kind *const kinds[] = {
#define KIND(kind) &kind,
#include "tokenizer_kinds.def"
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

// ---------------------------------------------------------------------------------------- creation

static void kind_names(char *to, size_t room)
{
    size_t used = 0;
    to[0] = '\0';
    for (uint32_t i = 0; i < KINDS && used < room; i++) {
        int length = snprintf(to + used, room - used, "%s%s", i ? ", " : "", kinds[i]->name);
        used += length > 0 ? (size_t)length : 0;
    }
}

static tn_status find_kind(tlm_tokenizer *t, const tn_model *model, tn_error *err)
{
    const char *name;
    tn_status status = tn_model_get_string(model, PREFIX "model", &name, NULL, err);
    if (status == TN_E_NOT_FOUND)
        return tlm_fail(err, TN_E_FILE, "tokenizer: the file has no key " PREFIX "model");
    if (status != TN_OK)
        return status;
    for (uint32_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            t->kind = kinds[i];
    if (t->kind)
        return TN_OK;
    char known[128];
    kind_names(known, sizeof known);
    return tlm_fail(err, TN_E_FILE,
                    "tokenizer: " PREFIX "model is '%.60s', which is not known (known: %s)", name,
                    known);
}

// The pre-tokenizer: that of the options, else of the file, else an assumption with a warning.
static tn_status find_pre(tlm_tokenizer *t, const tn_model *model, const char *asked,
                          const char **out_pre, tn_error *err)
{
    const char *pre = NULL;
    char known[256];
    tlm_pretokenizer_names(known, sizeof known);
    *out_pre = asked;
    if (!t->kind->default_pre && !asked)
        return TN_OK;
    if (!t->kind->default_pre)
        return tlm_fail(err, TN_E_ARG,
                        "tokenizer: the file's tokenizer '%s' has no pre-tokenizer, but '%.60s' is "
                        "asked for",
                        t->kind->name, asked);
    if (asked && !tlm_pretokenizer_is_known(asked))
        return tlm_fail(err, TN_E_ARG, "tokenizer: no pre-tokenizer is called '%.60s' (known: %s)",
                        asked, known);
    if (asked)
        return TN_OK;
    tn_status status = tn_model_get_string(model, PREFIX "pre", &pre, NULL, err);
    if (status != TN_OK && status != TN_E_NOT_FOUND)
        return status;
    *out_pre = pre;
    if (pre && tlm_pretokenizer_is_known(pre))
        return TN_OK;
    *out_pre = t->kind->default_pre;
    if (pre)
        snprintf(t->warning, sizeof t->warning,
                 "the file's pre-tokenizer '%.60s' is not known, '%s' is assumed; the option pre "
                 "sets another one of %s",
                 pre, t->kind->default_pre, known);
    else
        snprintf(t->warning, sizeof t->warning,
                 "the file names no pre-tokenizer, '%s' is assumed; the option pre sets another "
                 "one of %s",
                 t->kind->default_pre, known);
    return TN_OK;
}

static tn_status read_flag(const tn_model *model, const char *key, bool otherwise, bool *out,
                           tn_error *err)
{
    *out = otherwise;
    tn_status status = tn_model_get_bool(model, key, out, err);
    return status == TN_E_NOT_FOUND ? TN_OK : status;
}

static tn_status read_ends(tlm_tokenizer *t, const tn_model *model, const char *pre, tn_error *err)
{
    bool adds_bos = t->kind->adds_bos || (pre && tlm_pretokenizer_traits(pre) & TLM_PRE_ADDS_BOS);
    tn_status status = tlm_vocabulary_read_id(&t->vocabulary, model, PREFIX "bos_token_id",
                                              &t->bos_id, err);
    if (status == TN_OK)
        status = tlm_vocabulary_read_id(&t->vocabulary, model, PREFIX "eos_token_id", &t->eos_id,
                                        err);
    if (status == TN_OK)
        status = read_flag(model, PREFIX "add_bos_token", adds_bos && t->bos_id != TLM_NO_TOKEN,
                           &t->adds_bos, err);
    if (status == TN_OK)
        status = read_flag(model, PREFIX "add_eos_token", false, &t->adds_eos, err);
    if (status != TN_OK)
        return status;
    if (t->adds_bos && t->bos_id == TLM_NO_TOKEN)
        return tlm_fail(err, TN_E_FILE,
                        "tokenizer: " PREFIX
                        "add_bos_token is true, but the file has no key " PREFIX "bos_token_id");
    if (t->adds_eos && t->eos_id == TLM_NO_TOKEN)
        return tlm_fail(err, TN_E_FILE,
                        "tokenizer: " PREFIX
                        "add_eos_token is true, but the file has no key " PREFIX "eos_token_id");
    return TN_OK;
}

// Decodes every token once, so that reading one is a lookup.
static tn_status decode_tokens(tlm_tokenizer *t, tn_error *err)
{
    const tlm_vocabulary *v = &t->vocabulary;
    size_t room = 0;
    for (int32_t id = 0; id < v->count; id++)
        room += v->tokens[id].bytes;   // cannot wrap: the texts lie in one file
    t->pieces = tlm_alloc(&t->allocator, room, 1);
    t->piece_ends = tlm_alloc(&t->allocator, (size_t)v->count, sizeof *t->piece_ends);
    if (!t->pieces || !t->piece_ends)
        return tlm_fail_memory(err, "the decoded tokens");
    size_t end = 0;
    for (int32_t id = 0; id < v->count; id++) {
        const tlm_token *token = &v->tokens[id];
        size_t bytes = token->bytes;
        if (token->type == TLM_TOKEN_NORMAL || token->type == TLM_TOKEN_UNUSED ||
            token->type == TLM_TOKEN_BYTE)
            bytes = t->kind->decode(token, t->pieces + end);
        else
            memcpy(t->pieces + end, token->text, bytes);
        end += bytes;
        t->piece_ends[id] = end;
        t->longest_piece = bytes > t->longest_piece ? bytes : t->longest_piece;
    }
    return TN_OK;
}

tn_status tlm_tokenizer_create(const tn_model *model, const tlm_tokenizer_options *options,
                               tlm_tokenizer **out_tokenizer, tn_error *err)
{
    tlm_tokenizer_options given;
    tn_status status = tlm_need(err, __func__, "model", model, "out_tokenizer", out_tokenizer,
                                NULL);
    if (out_tokenizer)
        *out_tokenizer = NULL;
    if (status == TN_OK)
        status = tlm_take_options(&given, sizeof given, TLM_UP_TO(tlm_tokenizer_options, allocator),
                                  options, "tokenizer", err);
    if (status == TN_OK)
        status = tlm_need_zero(given.reserved, "reserved", "tokenizer", err);
    if (status == TN_OK)
        status = tlm_check_allocator(given.allocator, __func__, err);
    if (status != TN_OK)
        return status;
    tn_allocator allocator = tlm_allocator(given.allocator);
    tlm_tokenizer *t = tlm_alloc(&allocator, 1, sizeof *t);
    if (!t)
        return tlm_fail_memory(err, "the tokenizer");
    t->allocator = allocator;

    const char *pre = NULL;
    status = find_kind(t, model, err);
    if (status == TN_OK)
        status = tlm_vocabulary_init(&t->vocabulary, model, &allocator, err);
    if (status == TN_OK)
        status = find_pre(t, model, given.pre, &pre, err);
    if (status == TN_OK)
        status = t->kind->create(t, model, pre, &t->state, err);
    if (status == TN_OK)
        status = read_ends(t, model, pre, err);
    if (status == TN_OK)
        status = tlm_specials_init(&t->specials, &t->vocabulary, err);
    if (status == TN_OK)
        status = tlm_stops_init(&t->stops, &t->vocabulary, model, err);
    if (status == TN_OK)
        status = decode_tokens(t, err);
    if (status != TN_OK) {
        tlm_tokenizer_destroy(t);
        return status;
    }
    *out_tokenizer = t;
    return tlm_succeed(err);
}

void tlm_tokenizer_destroy(tlm_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    tn_allocator allocator = tokenizer->allocator;
    if (tokenizer->kind)
        tokenizer->kind->destroy(tokenizer->state);
    tlm_stops_finish(&tokenizer->stops, &tokenizer->vocabulary);
    tlm_specials_finish(&tokenizer->specials, &tokenizer->vocabulary);
    tlm_vocabulary_finish(&tokenizer->vocabulary);
    tlm_free(&allocator, tokenizer->pieces);
    tlm_free(&allocator, tokenizer->piece_ends);
    tlm_free(&allocator, tokenizer);
}

const char *tlm_tokenizer_warning(const tlm_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->warning : "";
}

// ------------------------------------------------------------------------------------- text to ids

tn_status tlm_ids_add(tlm_ids *ids, int32_t id, tn_error *err)
{
    if (ids->count == UINT32_MAX)
        return tlm_fail(err, TN_E_ARG, "tokenize: the text makes more than %" PRIu32 " tokens",
                        UINT32_MAX);
    if (!tlm_grow(&ids->allocator, &ids->ids, &ids->capacity, ids->count + 1, sizeof *ids->ids))
        return tlm_fail_memory(err, "the ids");
    ids->ids[ids->count++] = id;
    return TN_OK;
}

static tn_status encode_text(const tlm_tokenizer *t, const char *text, size_t bytes, uint32_t flags,
                             tlm_ids *ids, tn_error *err)
{
    bool is_plain = flags & TLM_TEXT_PLAIN, is_first = !(flags & TLM_TEXT_CONTINUES);
    tn_status status = TN_OK;
    while (bytes > 0 && status == TN_OK) {
        size_t begin;
        int32_t special = tlm_specials_find(&t->specials, &t->vocabulary, text, bytes, is_plain,
                                            &begin);
        if (begin > 0)
            status = t->kind->encode(t->state, text, begin, is_first, ids, err);
        if (special != TLM_NO_TOKEN && status == TN_OK)
            status = tlm_ids_add(ids, special, err);
        size_t done = begin + (special == TLM_NO_TOKEN ? 0 : t->vocabulary.tokens[special].bytes);
        text += done;
        bytes -= done;
        is_first = true;   // what comes next follows a special token
    }
    return status;
}

tn_status tlm_tokenize(const tlm_tokenizer *tokenizer, const char *text, size_t bytes,
                       uint32_t flags, int32_t **out_ids, uint32_t *out_count, tn_error *err)
{
    tn_status status = tlm_need(err, __func__, "tokenizer", tokenizer, "text", bytes ? text : "",
                                "out_ids", out_ids, "out_count", out_count, NULL);
    if (out_ids)
        *out_ids = NULL;
    if (out_count)
        *out_count = 0;
    if (status != TN_OK)
        return status;
    if (flags & ~(uint32_t)(TLM_TEXT_PLAIN | TLM_TEXT_CONTINUES))
        return tlm_fail(err, TN_E_ARG, "tokenize: flags 0x%" PRIx32 " are not known", flags);
    tlm_ids ids = { .allocator = tokenizer->allocator };
    bool is_whole = !(flags & TLM_TEXT_CONTINUES);
    if (!tlm_grow(&ids.allocator, &ids.ids, &ids.capacity, 1, sizeof *ids.ids))
        status = tlm_fail_memory(err, "the ids");
    if (status == TN_OK && is_whole && tokenizer->adds_bos)
        status = tlm_ids_add(&ids, tokenizer->bos_id, err);
    if (status == TN_OK)
        status = encode_text(tokenizer, text, bytes, flags, &ids, err);
    if (status == TN_OK && is_whole && tokenizer->adds_eos)
        status = tlm_ids_add(&ids, tokenizer->eos_id, err);
    if (status != TN_OK) {
        tlm_free(&ids.allocator, ids.ids);
        return status;
    }
    *out_ids = ids.ids;
    *out_count = (uint32_t)ids.count;
    return tlm_succeed(err);
}

void tlm_ids_free(const tlm_tokenizer *tokenizer, int32_t *ids)
{
    if (tokenizer && ids)
        tlm_free(&tokenizer->allocator, ids);
}

// -------------------------------------------------------------------------------------- the tokens

int32_t tlm_token_count(const tlm_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->vocabulary.count : 0;
}

const char *tlm_token_text(const tlm_tokenizer *tokenizer, int32_t id, size_t *out_bytes)
{
    bool is_there = tokenizer && tlm_vocabulary_has(&tokenizer->vocabulary, id);
    size_t begin = is_there && id > 0 ? tokenizer->piece_ends[id - 1] : 0;
    if (out_bytes)
        *out_bytes = is_there ? tokenizer->piece_ends[id] - begin : 0;
    if (!is_there)
        return "";
    return tokenizer->pieces + begin;
}

uint32_t tlm_token_type(const tlm_tokenizer *tokenizer, int32_t id)
{
    return tokenizer && tlm_vocabulary_has(&tokenizer->vocabulary, id)
               ? tokenizer->vocabulary.tokens[id].type
               : 0;
}

int32_t tlm_bos_id(const tlm_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->bos_id : TLM_NO_TOKEN;
}

int32_t tlm_eos_id(const tlm_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->eos_id : TLM_NO_TOKEN;
}

bool tlm_adds_bos(const tlm_tokenizer *tokenizer)
{
    return tokenizer && tokenizer->adds_bos;
}
