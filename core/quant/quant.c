// quant.c: which types there are, and the walk from block to block.
#include "quant/quant_internal.h"

#include <math.h>

#include "base/macros.h"

typedef struct kind {
    tn_dtype dtype;
    quant_decode_block *decode;
    quant_encode_block *encode;
} kind;

static const kind kinds[] = {
    { TN_DTYPE_F32, tni_quant_decode_f32, tni_quant_encode_f32 },
    { TN_DTYPE_F16, tni_quant_decode_f16, tni_quant_encode_f16 },
    { TN_DTYPE_BF16, tni_quant_decode_bf16, tni_quant_encode_bf16 },
    { TN_DTYPE_Q4_0, tni_quant_decode_q4_0, tni_quant_encode_q4_0 },
    { TN_DTYPE_Q4_1, tni_quant_decode_q4_1, tni_quant_encode_q4_1 },
    { TN_DTYPE_Q5_0, tni_quant_decode_q5_0, tni_quant_encode_q5_0 },
    { TN_DTYPE_Q5_1, tni_quant_decode_q5_1, tni_quant_encode_q5_1 },
    { TN_DTYPE_Q8_0, tni_quant_decode_q8_0, tni_quant_encode_q8_0 },
    { TN_DTYPE_Q2_K, tni_quant_decode_q2_k, tni_quant_encode_q2_k },
    { TN_DTYPE_Q3_K, tni_quant_decode_q3_k, tni_quant_encode_q3_k },
    { TN_DTYPE_Q4_K, tni_quant_decode_q4_k, tni_quant_encode_q4_k },
    { TN_DTYPE_Q5_K, tni_quant_decode_q5_k, tni_quant_encode_q5_k },
    { TN_DTYPE_Q6_K, tni_quant_decode_q6_k, tni_quant_encode_q6_k },
    { TN_DTYPE_IQ4_NL, tni_quant_decode_iq4_nl, tni_quant_encode_iq4_nl },
};

static const kind *find(tn_dtype dtype)
{
    for (size_t i = 0; i < TN_COUNT_OF(kinds); i++)
        if (kinds[i].dtype == dtype)
            return &kinds[i];
    return NULL;
}

static int64_t block_elements_of(tn_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case TN_DTYPE_##NAME:                                                                          \
        return block_elements;
#include <tenon/dtypes.def>
    default:
        return 1;
    }
}

static size_t block_bytes_of(tn_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case TN_DTYPE_##NAME:                                                                          \
        return block_bytes;
#include <tenon/dtypes.def>
    default:
        return 0;
    }
}

static int is_whole(tn_dtype dtype, int64_t elements)
{
    return elements >= 0 && elements % block_elements_of(dtype) == 0;
}

tn_status tni_quant_decode(tn_dtype dtype, const void *blocks, int64_t elements, float *to)
{
    const kind *k = find(dtype);
    const uint8_t *block = blocks;

    if (!k)
        return TN_E_DTYPE;
    if (!is_whole(dtype, elements))
        return TN_E_SHAPE;
    for (int64_t i = 0; i < elements; i += block_elements_of(dtype)) {
        k->decode(block, to + i);
        block += block_bytes_of(dtype);
    }
    return TN_OK;
}

// A block of zeros, with NaN for its first scale, which every element is multiplied with: so the
// encoders need not think of what is no number.
static void encode_as_nan(const kind *k, uint8_t *block)
{
    size_t bytes = block_bytes_of(k->dtype), scale_at = 0;
    float zeros[LARGE] = { 0 };

    if (k->dtype == TN_DTYPE_Q2_K)
        scale_at = bytes - 4;
    if (k->dtype == TN_DTYPE_Q3_K || k->dtype == TN_DTYPE_Q6_K)
        scale_at = bytes - 2;
    k->encode(zeros, block);
    store_f16(block + scale_at, NAN);
}

tn_status tni_quant_encode(tn_dtype dtype, const float *from, int64_t elements, void *blocks)
{
    const kind *k = find(dtype);
    int64_t n = block_elements_of(dtype);
    uint8_t *block = blocks;

    if (!k)
        return TN_E_DTYPE;
    if (!is_whole(dtype, elements))
        return TN_E_SHAPE;
    for (int64_t i = 0; i < elements; i += n) {
        int is_finite = 1;

        for (int64_t j = 0; j < n; j++)
            is_finite &= isfinite(from[i + j]) != 0;
        if (is_finite || n == 1)
            k->encode(from + i, block);
        else
            encode_as_nan(k, block);
        block += block_bytes_of(dtype);
    }
    return TN_OK;
}
