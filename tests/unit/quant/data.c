// data.c: see data.h.
#include "data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_BYTES    (1 << 20)
#define MAX_SECTIONS 64

static data_section sections[MAX_SECTIONS];
static size_t section_count;

static uint64_t take(const unsigned char **at, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)(*at)[i] << 8 * i;
    *at += bytes;
    return value;
}

static void load(void)
{
    static unsigned char bytes[MAX_BYTES];
    const unsigned char *at = bytes;
    FILE *file = fopen(QUANT_DATA, "rb");
    size_t size, count;

    if (!file)
        fail_msg("%s cannot be opened", QUANT_DATA);
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (size < 12 || memcmp(bytes, "TNQUANT1", 8) != 0)
        fail_msg("%s is no data of this test: run make.py beside it again", QUANT_DATA);
    at += 8;
    count = (size_t)take(&at, 4);
    assert_true(count <= MAX_SECTIONS);
    for (size_t i = 0; i < count; i++) {
        data_section *s = &sections[i];

        assert_true(size - (size_t)(at - bytes) >= 40);
        s->kind = (uint32_t)take(&at, 4);
        s->dtype = (uint32_t)take(&at, 4);
        s->seed = take(&at, 8);
        s->many = take(&at, 8);
        s->checksum = take(&at, 8);
        s->before_bytes = (uint32_t)take(&at, 4);
        s->after_bytes = (uint32_t)take(&at, 4);
        assert_true(size - (size_t)(at - bytes) >= (uint64_t)s->before_bytes + s->after_bytes);
        s->before = at;
        s->after = at + s->before_bytes;
        at = s->after + s->after_bytes;
    }
    assert_ptr_equal(at, bytes + size);
    section_count = count;
}

const data_section *data_next(const data_section *last)
{
    const data_section *next = last ? last + 1 : sections;

    if (section_count == 0)
        load();
    return next < sections + section_count ? next : NULL;
}

const data_section *data_find(uint32_t kind, uint32_t dtype)
{
    for (const data_section *s = data_next(NULL); s; s = data_next(s))
        if (s->kind == kind && s->dtype == dtype)
            return s;
    return NULL;
}

// splitmix64 (Steele, Lea, Flood 2014).
static uint64_t word(uint64_t seed, uint64_t i)
{
    uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void data_random_bytes(uint64_t seed, size_t bytes, unsigned char *to)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)(word(seed, i / 8) >> 8 * (i % 8) & 255);
}

void data_patterns(unsigned char *to)
{
    for (size_t i = 0; i < 65536; i++) {
        to[2 * i] = (unsigned char)(i & 255);
        to[2 * i + 1] = (unsigned char)(i >> 8);
    }
}

void data_random_numbers(uint64_t seed, size_t count, float *to)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t w = word(seed, i);

        to[i] = ldexpf((float)((int64_t)(w >> 40) - (1 << 23)), (int)(w & 15) - 31);
    }
}

uint64_t data_checksum_floats(size_t count, const float *x)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (i + 1) * (uint64_t)data_bits(x + i);
    return sum;
}

uint64_t data_checksum_bytes(size_t count, const unsigned char *x)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += (i + 1) * (uint64_t)x[i];
    return sum;
}

uint32_t data_bits(const float *x)
{
    uint32_t bits;

    memcpy(&bits, x, sizeof bits);
    return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits;
}

static const struct {
    uint32_t number;
    const char *name;
    uint32_t elements, bytes;
} dtypes[] = {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    { number, #NAME, block_elements, block_bytes },
#include <tenon/dtypes.def>
};

static size_t find(uint32_t dtype)
{
    size_t i = 0, count = sizeof dtypes / sizeof dtypes[0];

    while (i < count && dtypes[i].number != dtype)
        i++;
    if (i == count)
        fail_msg("no dtype has number %u", dtype);
    return i;
}

uint32_t data_block_elements(uint32_t dtype)
{
    return dtypes[find(dtype)].elements;
}

uint32_t data_block_bytes(uint32_t dtype)
{
    return dtypes[find(dtype)].bytes;
}

const char *data_dtype_name(uint32_t dtype)
{
    return dtypes[find(dtype)].name;
}
