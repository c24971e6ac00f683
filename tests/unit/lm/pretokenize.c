// Every pre-tokenizer on long texts that are hard to cut: all bytes come out once and in order, in
// near-linear time, the same words with compiled patterns and without.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "lm_test.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "pretokenize.h"

// How patterns run. A system may forbid to make code, and compiled patterns may find their stack
// too small.
static enum { COMPILED, INTERPRETED, OUT_OF_STACK, MODES } mode;

// The program is linked so that these two calls come through here.
int __real_pcre2_jit_compile_8(pcre2_code *code, uint32_t options);
int __wrap_pcre2_jit_compile_8(pcre2_code *code, uint32_t options);
int __real_pcre2_match_8(const pcre2_code *code, PCRE2_SPTR text, PCRE2_SIZE bytes,
                         PCRE2_SIZE begin, uint32_t options, pcre2_match_data *data,
                         pcre2_match_context *limits);
int __wrap_pcre2_match_8(const pcre2_code *code, PCRE2_SPTR text, PCRE2_SIZE bytes,
                         PCRE2_SIZE begin, uint32_t options, pcre2_match_data *data,
                         pcre2_match_context *limits);

int __wrap_pcre2_jit_compile_8(pcre2_code *code, uint32_t options)
{
    return mode == INTERPRETED ? PCRE2_ERROR_JIT_BADOPTION
                               : __real_pcre2_jit_compile_8(code, options);
}

int __wrap_pcre2_match_8(const pcre2_code *code, PCRE2_SPTR text, PCRE2_SIZE bytes,
                         PCRE2_SIZE begin, uint32_t options, pcre2_match_data *data,
                         pcre2_match_context *limits)
{
    if (mode == OUT_OF_STACK && !(options & PCRE2_NO_JIT))
        return PCRE2_ERROR_JIT_STACKLIMIT;
    return __real_pcre2_match_8(code, text, bytes, begin, options, data, limits);
}

typedef struct words {
    const char *next;   // what the next word begins with
    size_t count, longest;
} words;

static tn_status take(void *context, const char *word, size_t bytes, tn_error *err)
{
    (void)err;
    words *w = context;
    assert_ptr_equal(word, w->next);
    assert_true(bytes > 0);
    w->next += bytes;
    w->count++;
    w->longest = bytes > w->longest ? bytes : w->longest;
    return TN_OK;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// A bound that a quadratic way would miss by far, even with sanitizers on a slow machine.
enum { MOST_SECONDS = 10 };

static const struct {
    const char *unit;
    size_t repeats;
    const char *end;
} texts[] = {
    { "a", 800000, "" },
    { "\xC3\xA9", 80000, "" },
    { "\xE6\xBC\xA2", 50000, "" },
    { "\xF0\x9F\x98\x80", 40000, "" },
    { "1", 80000, "" },
    { "=", 80000, "" },
    { "'", 80000, "s" },
    { " ", 80000, "" },
    { " ", 80000, "b" },
    { "\n", 80000, "b" },
    { " \n", 80000, "" },
    { "\xE3\x80\x80", 50000, "b" },   // a wide space
    { "a ", 80000, "" },
    { "=\r\n", 50000, "" },
    { "a\x80", 80000, "" },
    { "\x80", 80000, "" },
    { "\xE6\xBC", 80000, "" },
};

// Answers the number of words.
static size_t expect_all_words(const tlm_pretokenizer *p, const char *name, size_t which)
{
    size_t unit_bytes = strlen(texts[which].unit), end_bytes = strlen(texts[which].end);
    size_t bytes = unit_bytes * texts[which].repeats + end_bytes;
    char *text = malloc(bytes);
    assert_non_null(text);
    for (size_t at = 0; at < bytes - end_bytes; at += unit_bytes)
        memcpy(text + at, texts[which].unit, unit_bytes);
    memcpy(text + bytes - end_bytes, texts[which].end, end_bytes);
    words w = { .next = text };
    tn_error err = { 0 };
    double begin = seconds();
    if (tlm_pretokenize(p, text, bytes, take, &w, &err) != TN_OK)
        fail_msg("%s, text %zu: %s", name, which, err.text);
    assert_ptr_equal(w.next, text + bytes);
    if (seconds() - begin > MOST_SECONDS)
        fail_msg("%s, text %zu: %g s", name, which, seconds() - begin);
    free(text);
    return w.count;
}

// Of a pre-tokenizer that is here by its first name.
static bool is_other_name(const char *name)
{
    return strcmp(name, "llama3") == 0 || strcmp(name, "llama-v3") == 0 ||
           strcmp(name, "deepseek-r1-qwen") == 0;
}

static void expect_of_every_pretokenizer(void)
{
    enum { NAMES = 32 };
    static size_t counts[NAMES][COUNT_OF(texts)];   // those of the mode COMPILED
    char names[512], *rest = names, *name;
    tlm_pretokenizer_names(names, sizeof names);
    tn_allocator allocator = tlm_allocator(NULL);
    for (size_t at = 0; (name = strsep(&rest, ", ")) != NULL;) {
        if (!*name || is_other_name(name))
            continue;
        tlm_pretokenizer *p = NULL;
        tn_error err = { 0 };
        if (tlm_pretokenizer_create(name, &allocator, &p, &err) != TN_OK)
            fail_msg("%s", err.text);
        for (size_t i = 0; i < COUNT_OF(texts); i++) {
            size_t count = expect_all_words(p, name, i);
            if (mode == COMPILED)
                counts[at][i] = count;
            assert_int_equal(count, counts[at][i]);
        }
        tlm_pretokenizer_destroy(p);
        assert_in_range(++at, 1, NAMES - 1);
    }
}

static void long_texts_are_cut_in_near_linear_time(void **state)
{
    (void)state;
    for (mode = COMPILED; mode < MODES; mode++)
        expect_of_every_pretokenizer();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_texts_are_cut_in_near_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
