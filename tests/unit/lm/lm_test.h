// lm_test.h: what the tests of tools/lm share: model files written on the fly, golden files, text
// as ids.
#ifndef LM_TEST_H
#define LM_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <tenon/lm.h>

#include "gguf_builder.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// Opens the file; fails the test when that does not work.
tn_model *test_open(const char *path);

// Writes what was built to a temporary file, opens it, and finishes the builder.
tn_model *test_open_built(gguf_builder *b);

json_t *test_golden(const char *path);

// Fails, naming `says`, unless the text gives the ids.
void test_expect_ids(const tlm_tokenizer *t, const char *says, const char *text, size_t bytes,
                     uint32_t flags, const int32_t *ids, uint32_t count);

// Fails unless a few thousand random texts, of any bytes and of characters, give themselves back
// when their ids are put together. flags: of tlm_tokenize.
void test_expect_round_trips(const tlm_tokenizer *t, uint32_t flags);

// A vocabulary for tests: token ids 0 … 255 are the bytes, then merges "a b", "ab c", "  ", and
// special tokens.
enum {
    TEST_AB = 256,
    TEST_ABC,
    TEST_TWO_SPACES,
    TEST_EURO_START,
    TEST_END,
    TEST_TURN,
    TEST_USER,
    TEST_TOKENS
};
tn_model *test_tiny_model(void);

// Pieces of that vocabulary for models that differ in one key: all keys but those of `without`,
// NULL = all.
void test_tiny_keys(gguf_builder *b, const char *without);

#endif
