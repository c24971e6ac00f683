// Every pre-tokenizer on long texts that are hard to cut: all bytes come out once and in order, in
// near-linear time, with compiled patterns and without.
#include "lm_test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "pretokenize.h"

// The program is linked so that patterns are compiled through here: no memory may be executed where
// a system forbids it, and patterns are then interpreted.
int __real_pcre2_jit_compile_8(void *code, uint32_t options);
int __wrap_pcre2_jit_compile_8(void *code, uint32_t options);

enum { BAD_OPTION = -45 };   // PCRE2_ERROR_JIT_BADOPTION

static bool is_interpreted;

int __wrap_pcre2_jit_compile_8(void *code, uint32_t options)
{
    return is_interpreted ? BAD_OPTION : __real_pcre2_jit_compile_8(code, options);
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
    { "a", 1000000, "" },          { "\xC3\xA9", 100000, "" },
    { "\xE6\xBC\xA2", 50000, "" }, { "\xF0\x9F\x98\x80", 40000, "" },
    { "1", 150000, "" },           { "=", 150000, "" },
    { "'", 150000, "s" },          { " ", 100000, "" },
    { " ", 150000, "b" },          { "\n", 150000, "b" },
    { " \n", 100000, "" },         { "\xE3\x80\x80", 50000, "b" },   // a wide space
    { "a ", 100000, "" },          { "=\r\n", 50000, "" },
    { "a\x80", 100000, "" },       { "\x80", 150000, "" },
    { "\xE6\xBC", 100000, "" },
};

static void expect_all_words(const tlm_pretokenizer *p, const char *name, size_t which)
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
}

static void expect_of_every_pretokenizer(void)
{
    char names[512], *rest = names, *name;
    tlm_pretokenizer_names(names, sizeof names);
    tn_allocator allocator = tlm_allocator(NULL);
    while ((name = strsep(&rest, ", ")) != NULL) {
        if (!*name)
            continue;
        tlm_pretokenizer *p = NULL;
        tn_error err = { 0 };
        if (tlm_pretokenizer_create(name, &allocator, &p, &err) != TN_OK)
            fail_msg("%s", err.text);
        for (size_t i = 0; i < COUNT_OF(texts); i++)
            expect_all_words(p, name, i);
        tlm_pretokenizer_destroy(p);
    }
}

static void long_texts_are_cut_in_near_linear_time(void **state)
{
    (void)state;
    is_interpreted = false;
    expect_of_every_pretokenizer();
}

static void they_are_where_no_code_may_be_made(void **state)
{
    (void)state;
    is_interpreted = true;
    expect_of_every_pretokenizer();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_texts_are_cut_in_near_linear_time),
        cmocka_unit_test(they_are_where_no_code_may_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
