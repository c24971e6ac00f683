// check.h: what the tests of this folder share.
#ifndef TEST_GGUF_CHECK_H
#define TEST_GGUF_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <tenon/model.h>

#include "gguf_builder.h"

// One wrong file: built, opened, and refused with a line that has `must_say` in it.
typedef struct check_case {
    const char *says;
    void (*build)(gguf_builder *b);
    const char *must_say;
} check_case;

void check_refused(const check_case *cases, size_t count);

// Opens `bytes` bytes of data from a block of just that size, so that reading past its end is
// found. *out_block is freed by the caller after the model is closed.
tn_status check_open(const void *data, size_t bytes, const tn_allocator *allocator,
                     void **out_block, tn_model **out_model, tn_error *err);

// Calls every accessor for every key, element and tensor, and reads all bytes of all tensors.
void check_walk(const tn_model *model);

// Opens bytes to inspect them: the first problem is `text`, what an ordinary opening said, "" for
// none. Answers how many there are; 1 also where it does not open.
uint32_t check_inspect(const void *block, size_t bytes, const char *text);

// The bytes of a file, from malloc; skips the test when it is not there.
unsigned char *check_read_file(const char *path, size_t *out_bytes);

#endif
