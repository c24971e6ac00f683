// special.c: cutting special tokens out of a text.
//
// The tokens are kept in the order of their bytes, so those that begin with the text at hand are a
// range that narrows with each byte: the work per place is the longest match times the logarithm of
// their number, however many there are.
#include "tokenizer.h"

#include "alloc.h"
#include "error.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_SPECIAL_BYTES = 1024 };   // what a place of a text may cost; those in use have 50 or so

static bool is_special(const tlm_token *token)
{
    return token->bytes > 0 &&
           (token->type == TLM_TOKEN_CONTROL || token->type == TLM_TOKEN_UNKNOWN ||
            token->type == TLM_TOKEN_USER_DEFINED);
}

static bool is_user_defined(const tlm_vocabulary *v, int32_t id)
{
    return v->tokens[id].type == TLM_TOKEN_USER_DEFINED;
}

// Of equal texts the lowest id stays, and the lowest that is user-defined: no other is ever found,
// and looking through them would cost their number at each place of a text.
static void drop_doubles(tlm_specials *s, const tlm_vocabulary *v)
{
    uint32_t kept = 0, begin = 0;   // begin: of the equals that are kept
    for (uint32_t i = 0; i < s->count; i++) {
        const tlm_token *token = &v->tokens[s->ids[i]];
        const tlm_token *last = kept ? &v->tokens[s->ids[kept - 1]] : NULL;
        if (!last || last->bytes != token->bytes || memcmp(last->text, token->text, token->bytes))
            begin = kept;
        bool has_user_defined = kept > begin && is_user_defined(v, s->ids[kept - 1]);
        if (kept == begin || (!has_user_defined && is_user_defined(v, s->ids[i])))
            s->ids[kept++] = s->ids[i];
    }
    s->count = kept;
}

tn_status tlm_specials_init(tlm_specials *specials, const tlm_vocabulary *vocabulary, tn_error *err)
{
    uint32_t count = 0;
    for (int32_t id = 0; id < vocabulary->count; id++)
        count += is_special(&vocabulary->tokens[id]);
    specials->ids = tlm_alloc(&vocabulary->allocator, count, sizeof *specials->ids);
    if (!specials->ids)
        return tlm_fail_memory(err, "the special tokens");
    for (int32_t id = 0; id < vocabulary->count; id++) {
        const tlm_token *token = &vocabulary->tokens[id];
        if (!is_special(token))
            continue;
        if (token->bytes > MOST_SPECIAL_BYTES)
            return tlm_fail(err, TN_E_FILE,
                            "tokenizer: special token %" PRId32 " has %" PRIu32
                            " bytes, expected at most %d",
                            id, token->bytes, MOST_SPECIAL_BYTES);
        specials->ids[specials->count++] = id;
    }
    tlm_vocabulary_sort(vocabulary, specials->ids, specials->count);
    drop_doubles(specials, vocabulary);
    return TN_OK;
}

void tlm_specials_finish(tlm_specials *specials, const tlm_vocabulary *vocabulary)
{
    if (specials->ids)
        tlm_free(&vocabulary->allocator, specials->ids);
    *specials = (tlm_specials){ 0 };
}

// The first of ids[from..to) whose byte at `depth` is at least `byte`; all of them agree before it.
static uint32_t first_from(const tlm_vocabulary *v, const int32_t *ids, uint32_t from, uint32_t to,
                           size_t depth, unsigned byte)
{
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        const tlm_token *token = &v->tokens[ids[middle]];
        if (token->bytes <= depth || (unsigned char)token->text[depth] < byte)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

// The longest special token that text begins with.
static int32_t find_at_begin(const tlm_specials *s, const tlm_vocabulary *v, const char *text,
                             size_t bytes, bool is_plain)
{
    int32_t best = TLM_NO_TOKEN;
    uint32_t from = 0, to = s->count;
    for (size_t depth = 0; depth < bytes; depth++) {
        unsigned byte = (unsigned char)text[depth];
        from = first_from(v, s->ids, from, to, depth, byte);
        to = first_from(v, s->ids, from, to, depth, byte + 1);
        if (from == to)
            break;
        for (uint32_t i = from; i < to && v->tokens[s->ids[i]].bytes == depth + 1; i++) {
            if (is_plain && !is_user_defined(v, s->ids[i]))
                continue;
            best = s->ids[i];   // of equals, the lowest id comes first
            break;
        }
    }
    return best;
}

int32_t tlm_specials_find(const tlm_specials *specials, const tlm_vocabulary *vocabulary,
                          const char *text, size_t bytes, bool is_plain, size_t *out_begin)
{
    for (size_t begin = 0; begin < bytes && specials->count > 0; begin++) {
        int32_t id = find_at_begin(specials, vocabulary, text + begin, bytes - begin, is_plain);
        if (id != TLM_NO_TOKEN) {
            *out_begin = begin;
            return id;
        }
    }
    *out_begin = bytes;
    return TLM_NO_TOKEN;
}
