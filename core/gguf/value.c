// value.c: elements of metadata, converted. Always read with the width of the type in the file.
#include "gguf/gguf_internal.h"

#include <string.h>

static const unsigned char *element(const tni_gguf_key *key, uint64_t index)
{
    return key->values + index * tni_gguf_key_type_bytes(key->element_type);
}

bool tni_gguf_value_i64(const tni_gguf_key *key, uint64_t index, int64_t *out)
{
    if (!key->values)
        return false;
    const unsigned char *at = element(key, index);
    switch (key->element_type) {
    case TN_KEY_U8:
        *out = *at;
        return true;
    case TN_KEY_I8:
        *out = (int8_t)*at;
        return true;
    case TN_KEY_U16:
        *out = tni_gguf_u16(at);
        return true;
    case TN_KEY_I16:
        *out = (int16_t)tni_gguf_u16(at);
        return true;
    case TN_KEY_U32:
        *out = tni_gguf_u32(at);
        return true;
    case TN_KEY_I32:
        *out = (int32_t)tni_gguf_u32(at);
        return true;
    case TN_KEY_U64:
        if (tni_gguf_u64(at) > INT64_MAX)
            return false;
        *out = (int64_t)tni_gguf_u64(at);
        return true;
    case TN_KEY_I64:
        *out = (int64_t)tni_gguf_u64(at);
        return true;
    default:
        return false;
    }
}

bool tni_gguf_value_f64(const tni_gguf_key *key, uint64_t index, double *out)
{
    int64_t integer;
    if (tni_gguf_value_i64(key, index, &integer)) {
        *out = (double)integer;
        return true;
    }
    if (!key->values)
        return false;
    const unsigned char *at = element(key, index);
    uint32_t bits;
    uint64_t wide_bits;
    float narrow;
    switch (key->element_type) {
    case TN_KEY_F32:
        bits = tni_gguf_u32(at);
        memcpy(&narrow, &bits, sizeof narrow);
        *out = (double)narrow;
        return true;
    case TN_KEY_F64:
        wide_bits = tni_gguf_u64(at);
        memcpy(out, &wide_bits, sizeof *out);
        return true;
    case TN_KEY_U64:   // above INT64_MAX
        *out = (double)tni_gguf_u64(at);
        return true;
    default:
        return false;
    }
}

bool tni_gguf_value_bool(const tni_gguf_key *key, uint64_t index, bool *out)
{
    if (key->element_type != TN_KEY_BOOL)
        return false;
    *out = *element(key, index) != 0;
    return true;
}

bool tni_gguf_value_string(const tni_gguf_key *key, uint64_t index, const char **out_text,
                           size_t *out_bytes)
{
    if (key->element_type != TN_KEY_STRING)
        return false;
    *out_text = key->texts + key->starts[index];
    if (out_bytes)
        *out_bytes = key->starts[index + 1] - key->starts[index] - 1;
    return true;
}
