// gguf_builder.h: a GGUF file in memory, piece by piece. It checks nothing, so that wrong files can
// be built.
//
//   gguf_builder b;
//   gguf_builder_init(&b, 3);
//   gguf_builder_key_u32(&b, "llama.block_count", 4);                     // keys, then
//   gguf_builder_tensor(&b, "w", 2, (const uint64_t[]){ 32, 2 }, 0, 0);   // tensors, then
//   gguf_builder_align(&b, 32);
//   gguf_builder_zeros(&b, 256);                                          // data
//   gguf_builder_finish(&b);
#ifndef TEST_GGUF_BUILDER_H
#define TEST_GGUF_BUILDER_H

#include <stddef.h>
#include <stdint.h>

typedef struct gguf_builder {
    unsigned char *data;
    size_t bytes, capacity;
} gguf_builder;

void gguf_builder_init(gguf_builder *b, uint32_t version);   // the header, with no keys and tensors
void gguf_builder_finish(gguf_builder *b);

// Pieces, little-endian.
void gguf_builder_bytes(gguf_builder *b, const void *data, size_t bytes);
void gguf_builder_u8(gguf_builder *b, uint8_t value);
void gguf_builder_u16(gguf_builder *b, uint16_t value);
void gguf_builder_u32(gguf_builder *b, uint32_t value);
void gguf_builder_u64(gguf_builder *b, uint64_t value);
void gguf_builder_f32(gguf_builder *b, float value);
void gguf_builder_f64(gguf_builder *b, double value);
void gguf_builder_string(gguf_builder *b, const char *text);
void gguf_builder_zeros(gguf_builder *b, size_t bytes);
void gguf_builder_align(gguf_builder *b, size_t alignment);

// Overwrites what stands at `at`.
void gguf_builder_set_u32(gguf_builder *b, size_t at, uint32_t value);
void gguf_builder_set_u64(gguf_builder *b, size_t at, uint64_t value);

// A key without its value, and keys with one; the header's count goes up.
void gguf_builder_key(gguf_builder *b, const char *name, uint32_t type);
void gguf_builder_key_u32(gguf_builder *b, const char *name, uint32_t value);
void gguf_builder_key_string(gguf_builder *b, const char *name, const char *value);
// An array without its elements.
void gguf_builder_array(gguf_builder *b, const char *name, uint32_t element_type, uint64_t count);

// An entry of the table of tensors; the header's count goes up. type: as in the file.
void gguf_builder_tensor(gguf_builder *b, const char *name, uint32_t rank, const uint64_t *dims,
                         uint32_t type, uint64_t offset);

// A small valid file: a key of every type, an array of numbers, one of strings, three tensors.
void gguf_builder_sample(gguf_builder *b);

#endif
