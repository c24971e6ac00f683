// data.h: the blocks and numbers of tests/data/quant/blocks.bin. QUANT_DATA is its path.
#ifndef TEST_QUANT_DATA_H
#define TEST_QUANT_DATA_H

#include <stddef.h>
#include <stdint.h>

enum { DATA_DECODE = 1, DATA_ENCODE = 2 };

typedef struct data_section {
    uint32_t kind, dtype;
    uint64_t seed, many, checksum;
    uint32_t before_bytes, after_bytes;
    const unsigned char *before, *after;
} data_section;

// Sections one after the other; NULL after the last. The bytes stay for the whole program. Fails
// the test when the file is missing or not what its README says.
const data_section *data_next(const data_section *last);
const data_section *data_find(uint32_t kind, uint32_t dtype);   // NULL = there is none

// The inputs that the checksum is about: `bytes` bytes, every 16-bit pattern, `count` numbers.
void data_random_bytes(uint64_t seed, size_t bytes, unsigned char *to);
void data_patterns(unsigned char *to);   // 131072 bytes
void data_random_numbers(uint64_t seed, size_t count, float *to);

uint64_t data_checksum_floats(size_t count, const float *x);
uint64_t data_checksum_bytes(size_t count, const unsigned char *x);

uint32_t data_bits(const float *x);   // of one F32; every NaN gives 0x7fc00000
uint32_t data_block_elements(uint32_t dtype);
uint32_t data_block_bytes(uint32_t dtype);
const char *data_dtype_name(uint32_t dtype);

#endif
