// pretokenize.c: patterns compiled by PCRE2 and run over the well-formed parts of a text.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pretokenize.h"

#include "alloc.h"
#include "error.h"
#include "utf8.h"

#include <pcre2.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 4 };

static const struct {
    const char *name;
    uint32_t traits;
    const char *patterns[STEPS];   // NULL behind the last
} table[] = {
#define PRETOKENIZER(name, traits, ...) { name, traits, { __VA_ARGS__ } },
#include "pretokenizers.def"
};

enum { PRETOKENIZERS = sizeof table / sizeof table[0] };

struct tlm_pretokenizer {
    tn_allocator allocator;
    pcre2_general_context *memory;
    pcre2_code *steps[STEPS];   // NULL: the step cuts nothing
};

// What one call of tlm_pretokenize works with; a pretokenizer itself is shared by threads.
typedef struct cutter {
    const tlm_pretokenizer *pretokenizer;
    pcre2_match_data *matches[STEPS];
    pcre2_match_context *limits;
    tlm_word_taker *take;
    void *context;
} cutter;

static void *allocate(size_t bytes, void *context)
{
    return tlm_alloc(context, bytes, 1);
}

static void release(void *pointer, void *context)
{
    tlm_free(context, pointer);
}

static size_t find_name(const char *name)
{
    size_t i = 0;
    while (i < PRETOKENIZERS && strcmp(table[i].name, name) != 0)
        i++;
    return i;
}

bool tlm_pretokenizer_is_known(const char *name)
{
    return find_name(name) < PRETOKENIZERS;
}

uint32_t tlm_pretokenizer_traits(const char *name)
{
    size_t entry = find_name(name);
    return entry < PRETOKENIZERS ? table[entry].traits : 0;
}

void tlm_pretokenizer_names(char *to, size_t room)
{
    size_t used = 0;
    to[0] = '\0';
    for (size_t i = 0; i < PRETOKENIZERS && used < room; i++) {
        int length = snprintf(to + used, room - used, "%s%s", i ? ", " : "", table[i].name);
        used += length > 0 ? (size_t)length : 0;
    }
}

static tn_status compile(tlm_pretokenizer *p, uint32_t step, const char *pattern, tn_error *err)
{
    int code = 0;
    PCRE2_SIZE offset = 0;
    PCRE2_UCHAR text[128];
    pcre2_compile_context *context = pcre2_compile_context_create(p->memory);
    if (!context)
        return tlm_fail_memory(err, "a pattern");
    p->steps[step] = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                   PCRE2_UTF | PCRE2_UCP, &code, &offset, context);
    pcre2_compile_context_free(context);
    if (!p->steps[step] && code == PCRE2_ERROR_HEAP_FAILED)
        return tlm_fail_memory(err, "a pattern");
    if (!p->steps[step]) {
        pcre2_get_error_message(code, text, sizeof text);
        return tlm_fail(err, TN_E_INTERNAL, "tokenizer: pattern '%s' at %zu: %s", pattern,
                        (size_t)offset, (const char *)text);
    }
    (void)pcre2_jit_compile(p->steps[step],
                            PCRE2_JIT_COMPLETE);   // where it cannot, the interpreter does the same
    return TN_OK;
}

tn_status tlm_pretokenizer_create(const char *name, const tn_allocator *allocator,
                                  tlm_pretokenizer **out_pretokenizer, tn_error *err)
{
    *out_pretokenizer = NULL;
    size_t entry = find_name(name);
    if (entry == PRETOKENIZERS)
        return tlm_fail(err, TN_E_INTERNAL, "tokenizer: no pre-tokenizer is called '%s'", name);
    tlm_pretokenizer *p = tlm_alloc(allocator, 1, sizeof *p);
    if (!p)
        return tlm_fail_memory(err, "the pre-tokenizer");
    p->allocator = *allocator;
    p->memory = pcre2_general_context_create(allocate, release, &p->allocator);
    tn_status status = p->memory ? TN_OK : tlm_fail_memory(err, "the pre-tokenizer");
    for (uint32_t step = 0; step < STEPS && status == TN_OK; step++)
        if (table[entry].patterns[step])
            status = compile(p, step, table[entry].patterns[step], err);
    if (status != TN_OK) {
        tlm_pretokenizer_destroy(p);
        return status;
    }
    *out_pretokenizer = p;
    return TN_OK;
}

void tlm_pretokenizer_destroy(tlm_pretokenizer *pretokenizer)
{
    if (!pretokenizer)
        return;
    for (uint32_t step = 0; step < STEPS; step++)
        pcre2_code_free(pretokenizer->steps[step]);
    pcre2_general_context_free(pretokenizer->memory);
    tn_allocator allocator = pretokenizer->allocator;
    tlm_free(&allocator, pretokenizer);
}

static tn_status fail_match(int code, tn_error *err)
{
    PCRE2_UCHAR text[128];
    if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAPLIMIT)
        return tlm_fail_memory(err, "matching a pattern");
    pcre2_get_error_message(code, text, sizeof text);
    return tlm_fail(err, TN_E_INTERNAL, "tokenizer: matching a pattern failed: %s",
                    (const char *)text);
}

// Cuts a piece of well-formed text by the patterns from `step` on; calls itself once a step, so at
// most STEPS deep.
static tn_status cut_piece(const cutter *c, uint32_t step, const char *text, size_t bytes,
                           tn_error *err)
{
    while (step < STEPS && !c->pretokenizer->steps[step])
        step++;
    if (step == STEPS)
        return c->take(c->context, text, bytes, err);

    const pcre2_code *code = c->pretokenizer->steps[step];
    tn_status status = TN_OK;
    size_t done = 0;
    while (done < bytes && status == TN_OK) {
        uint32_t flags = PCRE2_NO_UTF_CHECK;   // the piece is known to be well-formed, checking it
                                               // anew is quadratic
        int found = pcre2_match(code, (PCRE2_SPTR)text, bytes, done, flags, c->matches[step],
                                c->limits);
        if (found == PCRE2_ERROR_JIT_STACKLIMIT)
            found = pcre2_match(code, (PCRE2_SPTR)text, bytes, done, flags | PCRE2_NO_JIT,
                                c->matches[step], c->limits);
        if (found < 0 && found != PCRE2_ERROR_NOMATCH)
            return fail_match(found, err);
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(c->matches[step]);
        size_t begin = found < 0 ? bytes : ends[0], end = found < 0 ? bytes : ends[1];
        if (end == begin)
            begin = end = bytes;
        if (begin > done)
            status = cut_piece(c, step + 1, text + done, begin - done, err);
        if (end > begin && status == TN_OK)
            status = cut_piece(c, step + 1, text + begin, end - begin, err);
        done = end;
    }
    return status;
}

// Cuts a text into runs that are UTF-8 and runs that are not.
static tn_status cut_text(const cutter *c, const char *text, size_t bytes, tn_error *err)
{
    tn_status status = TN_OK;
    size_t begin = 0, end = 0;
    bool is_whole = true;
    while (end < bytes && status == TN_OK) {
        size_t length;
        bool next_is_whole = tlm_utf8_next(text + end, bytes - end, &length) == TLM_UTF8_WHOLE;
        if (next_is_whole != is_whole && end > begin) {
            status = is_whole ? cut_piece(c, 0, text + begin, end - begin, err)
                              : c->take(c->context, text + begin, end - begin, err);
            begin = end;
        }
        is_whole = next_is_whole;
        end += length;
    }
    if (end > begin && status == TN_OK)
        status = is_whole ? cut_piece(c, 0, text + begin, end - begin, err)
                          : c->take(c->context, text + begin, end - begin, err);
    return status;
}

tn_status tlm_pretokenize(const tlm_pretokenizer *pretokenizer, const char *text, size_t bytes,
                          tlm_word_taker *take, void *context, tn_error *err)
{
    cutter c = { .pretokenizer = pretokenizer, .take = take, .context = context };
    c.limits = pcre2_match_context_create(pretokenizer->memory);
    bool has_memory = c.limits != NULL;
    for (uint32_t step = 0; step < STEPS; step++) {
        c.matches[step] = pcre2_match_data_create(1, pretokenizer->memory);
        has_memory = has_memory && c.matches[step];
    }
    tn_status status;
    if (has_memory) {
        pcre2_set_match_limit(
            c.limits, UINT32_MAX);   // the patterns do not backtrack far, however long a word
        status = cut_text(&c, text, bytes, err);
    } else {
        status = tlm_fail_memory(err, "matching a pattern");
    }
    for (uint32_t step = 0; step < STEPS; step++)
        pcre2_match_data_free(c.matches[step]);
    pcre2_match_context_free(c.limits);
    return status;
}
