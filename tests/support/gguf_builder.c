#include "gguf_builder.h"

#include <stdlib.h>
#include <string.h>
#include <tenon/model.h>

enum { TENSOR_COUNT_AT = 8, KEY_COUNT_AT = 16 };

void gguf_builder_bytes(gguf_builder *b, const void *data, size_t bytes)
{
    if (b->bytes + bytes > b->capacity) {
        b->capacity = 2 * (b->bytes + bytes);
        b->data = realloc(b->data, b->capacity);
        if (!b->data)
            abort();
    }
    if (bytes)
        memcpy(b->data + b->bytes, data, bytes);
    b->bytes += bytes;
}

// The lowest `bytes` bytes of value.
static void append(gguf_builder *b, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char byte = (unsigned char)(value >> 8 * i);
        gguf_builder_bytes(b, &byte, 1);
    }
}

void gguf_builder_u8(gguf_builder *b, uint8_t value)
{
    append(b, value, 1);
}

void gguf_builder_u16(gguf_builder *b, uint16_t value)
{
    append(b, value, 2);
}

void gguf_builder_u32(gguf_builder *b, uint32_t value)
{
    append(b, value, 4);
}

void gguf_builder_u64(gguf_builder *b, uint64_t value)
{
    append(b, value, 8);
}

void gguf_builder_f32(gguf_builder *b, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    append(b, bits, 4);
}

void gguf_builder_f64(gguf_builder *b, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    append(b, bits, 8);
}

void gguf_builder_string(gguf_builder *b, const char *text)
{
    append(b, strlen(text), 8);
    gguf_builder_bytes(b, text, strlen(text));
}

void gguf_builder_zeros(gguf_builder *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        append(b, 0, 1);
}

void gguf_builder_align(gguf_builder *b, size_t alignment)
{
    while (b->bytes % alignment)
        append(b, 0, 1);
}

void gguf_builder_set_u32(gguf_builder *b, size_t at, uint32_t value)
{
    for (size_t i = 0; i < 4; i++)
        b->data[at + i] = (unsigned char)(value >> 8 * i);
}

void gguf_builder_set_u64(gguf_builder *b, size_t at, uint64_t value)
{
    gguf_builder_set_u32(b, at, (uint32_t)value);
    gguf_builder_set_u32(b, at + 4, (uint32_t)(value >> 32));
}

void gguf_builder_init(gguf_builder *b, uint32_t version)
{
    *b = (gguf_builder){ 0 };
    gguf_builder_bytes(b, "GGUF", 4);
    gguf_builder_u32(b, version);
    gguf_builder_u64(b, 0);
    gguf_builder_u64(b, 0);
}

void gguf_builder_finish(gguf_builder *b)
{
    free(b->data);
    *b = (gguf_builder){ 0 };
}

void gguf_builder_key(gguf_builder *b, const char *name, uint32_t type)
{
    b->data[KEY_COUNT_AT]++;   // tests build fewer than 256
    gguf_builder_string(b, name);
    gguf_builder_u32(b, type);
}

void gguf_builder_key_u32(gguf_builder *b, const char *name, uint32_t value)
{
    gguf_builder_key(b, name, TN_KEY_U32);
    gguf_builder_u32(b, value);
}

void gguf_builder_key_string(gguf_builder *b, const char *name, const char *value)
{
    gguf_builder_key(b, name, TN_KEY_STRING);
    gguf_builder_string(b, value);
}

void gguf_builder_array(gguf_builder *b, const char *name, uint32_t element_type, uint64_t count)
{
    gguf_builder_key(b, name, TN_KEY_ARRAY);
    gguf_builder_u32(b, element_type);
    gguf_builder_u64(b, count);
}

void gguf_builder_tensor(gguf_builder *b, const char *name, uint32_t rank, const uint64_t *dims,
                         uint32_t type, uint64_t offset)
{
    b->data[TENSOR_COUNT_AT]++;
    gguf_builder_string(b, name);
    gguf_builder_u32(b, rank);
    for (uint32_t i = 0; i < rank; i++)
        gguf_builder_u64(b, dims[i]);
    gguf_builder_u32(b, type);
    gguf_builder_u64(b, offset);
}

void gguf_builder_sample(gguf_builder *b)
{
    gguf_builder_init(b, 3);
    gguf_builder_key_string(b, "general.architecture", "llama");
    gguf_builder_key_u32(b, "general.alignment", 32);
    gguf_builder_key(b, "u8", TN_KEY_U8);
    gguf_builder_u8(b, 200);
    gguf_builder_key(b, "i8", TN_KEY_I8);
    gguf_builder_u8(b, 0xff);
    gguf_builder_key(b, "u16", TN_KEY_U16);
    gguf_builder_u16(b, 60000);
    gguf_builder_key(b, "i16", TN_KEY_I16);
    gguf_builder_u16(b, 0xfffe);
    gguf_builder_key(b, "i32", TN_KEY_I32);
    gguf_builder_u32(b, 0xfffffffd);
    gguf_builder_key(b, "f32", TN_KEY_F32);
    gguf_builder_f32(b, 0.5f);
    gguf_builder_key(b, "bool", TN_KEY_BOOL);
    gguf_builder_u8(b, 1);
    gguf_builder_key(b, "u64", TN_KEY_U64);
    gguf_builder_u64(b, UINT64_MAX);
    gguf_builder_key(b, "i64", TN_KEY_I64);
    gguf_builder_u64(b, (uint64_t)INT64_MIN);
    gguf_builder_key(b, "f64", TN_KEY_F64);
    gguf_builder_f64(b, 0.1);
    gguf_builder_array(b, "types", TN_KEY_I32, 3);
    gguf_builder_u32(b, 3);
    gguf_builder_u32(b, 1);
    gguf_builder_u32(b, 0xffffffff);
    gguf_builder_array(b, "tokens", TN_KEY_STRING, 3);
    gguf_builder_string(b, "<s>");
    gguf_builder_string(b, "");
    gguf_builder_string(b, "end");
    gguf_builder_tensor(b, "norm", 1, (const uint64_t[]){ 5 }, 0, 0);      // F32, 20 bytes
    gguf_builder_tensor(b, "up", 2, (const uint64_t[]){ 64, 3 }, 8, 32);   // Q8_0, 204 bytes
    gguf_builder_tensor(b, "conv", 4, (const uint64_t[]){ 2, 1, 3, 1 }, 1, 256);   // F16, 12 bytes
    gguf_builder_align(b, 32);
    for (unsigned i = 0; i < 256 + 12; i++)
        gguf_builder_u8(b, (uint8_t)i);
}
