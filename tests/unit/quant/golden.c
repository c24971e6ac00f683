// golden.c: decoding and encoding against the Python package gguf, bit for bit.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data.h"
#include "quant/quant.h"

static void *exact(size_t bytes)
{
    void *at = malloc(bytes ? bytes : 1);

    assert_non_null(at);
    memset(at, 0xa5, bytes);
    return at;
}

// A copy in exactly as many bytes, so that a read past the end is found.
static void *copy_of(const void *from, size_t bytes)
{
    return memcpy(exact(bytes), from, bytes);
}

static void decode_in_full(const data_section *s)
{
    uint32_t n = s->after_bytes / 4;
    void *blocks = copy_of(s->before, s->before_bytes);
    float *got = exact(s->after_bytes);

    assert_int_equal(tni_quant_decode(s->dtype, blocks, n, got), TN_OK);
    for (uint32_t i = 0; i < n; i++) {
        float want;

        memcpy(&want, s->after + 4 * i, sizeof want);
        if (data_bits(got + i) != data_bits(&want))
            fail_msg("%s: element %u of block %u decodes to %.9g, not to %.9g",
                     data_dtype_name(s->dtype), i % data_block_elements(s->dtype),
                     i / data_block_elements(s->dtype), (double)got[i], (double)want);
    }
    free(blocks);
    free(got);
}

static void decode_many(const data_section *s)
{
    size_t bytes = (size_t)s->many * data_block_bytes(s->dtype),
           n = (size_t)s->many * data_block_elements(s->dtype);
    unsigned char *blocks = exact(bytes);
    float *got = exact(n * sizeof *got);

    if (data_block_elements(s->dtype) == 1)
        data_patterns(blocks);
    else
        data_random_bytes(s->seed, bytes, blocks);
    assert_int_equal(tni_quant_decode(s->dtype, blocks, (int64_t)n, got), TN_OK);
    if (data_checksum_floats(n, got) != s->checksum)
        fail_msg("%s: the checksum of %zu decoded elements is wrong", data_dtype_name(s->dtype), n);
    free(blocks);
    free(got);
}

static void blocks_decode_as_gguf_decodes_them(void **state)
{
    uint32_t types = 0;

    (void)state;
    for (const data_section *s = data_next(NULL); s; s = data_next(s))
        if (s->kind == DATA_DECODE) {
            decode_in_full(s);
            decode_many(s);
            types++;
        }
    assert_int_equal(types, 13);
}

static void encode_in_full(const data_section *s)
{
    uint32_t block = data_block_bytes(s->dtype);
    float *from = copy_of(s->before, s->before_bytes);
    unsigned char *got = exact(s->after_bytes);

    assert_int_equal(tni_quant_encode(s->dtype, from, s->before_bytes / 4, got), TN_OK);
    for (uint32_t i = 0; i < s->after_bytes; i++)
        if (got[i] != s->after[i])
            fail_msg("%s: byte %u of block %u is encoded as %u, not as %u",
                     data_dtype_name(s->dtype), i % block, i / block, got[i], s->after[i]);
    free(from);
    free(got);
}

static void encode_many(const data_section *s)
{
    size_t n = (size_t)s->many,
           bytes = n / data_block_elements(s->dtype) * data_block_bytes(s->dtype);
    float *from = exact(n * sizeof *from);
    unsigned char *got = exact(bytes);

    data_random_numbers(s->seed, n, from);
    assert_int_equal(tni_quant_encode(s->dtype, from, (int64_t)n, got), TN_OK);
    if (data_checksum_bytes(bytes, got) != s->checksum)
        fail_msg("%s: the checksum of %zu encoded numbers is wrong", data_dtype_name(s->dtype), n);
    free(from);
    free(got);
}

static void numbers_encode_as_gguf_encodes_them(void **state)
{
    uint32_t types = 0;

    (void)state;
    for (const data_section *s = data_next(NULL); s; s = data_next(s))
        if (s->kind == DATA_ENCODE) {
            encode_in_full(s);
            encode_many(s);
            types++;
        }
    assert_int_equal(types, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_decode_as_gguf_decodes_them),
        cmocka_unit_test(numbers_encode_as_gguf_encodes_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
