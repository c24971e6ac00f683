// types.c: the type numbers of GGUF files.
#include "gguf/gguf_internal.h"

#include "base/macros.h"

// Numbers that stand in files. dtype 0: known by name, so that the refusal can say it.
static const struct {
    const char *name;
    tn_dtype dtype;
} tensor_types[] = {
    [0] = { "F32", TN_DTYPE_F32 },
    [1] = { "F16", TN_DTYPE_F16 },
    [2] = { "Q4_0", TN_DTYPE_Q4_0 },
    [3] = { "Q4_1", TN_DTYPE_Q4_1 },
    [6] = { "Q5_0", TN_DTYPE_Q5_0 },
    [7] = { "Q5_1", TN_DTYPE_Q5_1 },
    [8] = { "Q8_0", TN_DTYPE_Q8_0 },
    [9] = { "Q8_1", 0 },
    [10] = { "Q2_K", TN_DTYPE_Q2_K },
    [11] = { "Q3_K", TN_DTYPE_Q3_K },
    [12] = { "Q4_K", TN_DTYPE_Q4_K },
    [13] = { "Q5_K", TN_DTYPE_Q5_K },
    [14] = { "Q6_K", TN_DTYPE_Q6_K },
    [15] = { "Q8_K", 0 },
    [16] = { "IQ2_XXS", 0 },
    [17] = { "IQ2_XS", 0 },
    [18] = { "IQ3_XXS", 0 },
    [19] = { "IQ1_S", 0 },
    [20] = { "IQ4_NL", TN_DTYPE_IQ4_NL },
    [21] = { "IQ3_S", 0 },
    [22] = { "IQ2_S", 0 },
    [23] = { "IQ4_XS", 0 },
    [24] = { "I8", TN_DTYPE_I8 },
    [25] = { "I16", TN_DTYPE_I16 },
    [26] = { "I32", TN_DTYPE_I32 },
    [27] = { "I64", TN_DTYPE_I64 },
    [28] = { "F64", 0 },
    [29] = { "IQ1_M", 0 },
    [30] = { "BF16", TN_DTYPE_BF16 },
    [34] = { "TQ1_0", 0 },
    [35] = { "TQ2_0", 0 },
    [39] = { "MXFP4", 0 },
    [40] = { "NVFP4", 0 },
};

static const struct {
    const char *name;
    size_t bytes;
} key_types[] = {
    [TN_KEY_U8] = { "U8", 1 },         [TN_KEY_I8] = { "I8", 1 },
    [TN_KEY_U16] = { "U16", 2 },       [TN_KEY_I16] = { "I16", 2 },
    [TN_KEY_U32] = { "U32", 4 },       [TN_KEY_I32] = { "I32", 4 },
    [TN_KEY_F32] = { "F32", 4 },       [TN_KEY_BOOL] = { "BOOL", 1 },
    [TN_KEY_STRING] = { "STRING", 0 }, [TN_KEY_ARRAY] = { "ARRAY", 0 },
    [TN_KEY_U64] = { "U64", 8 },       [TN_KEY_I64] = { "I64", 8 },
    [TN_KEY_F64] = { "F64", 8 },
};

tn_dtype tni_gguf_dtype(uint32_t file_type)
{
    return file_type < TN_COUNT_OF(tensor_types) ? tensor_types[file_type].dtype : 0;
}

const char *tni_gguf_tensor_type_name(uint32_t file_type)
{
    if (file_type < TN_COUNT_OF(tensor_types) && tensor_types[file_type].name)
        return tensor_types[file_type].name;
    return "unknown";
}

const char *tni_gguf_key_type_name(uint32_t type)
{
    return type < TN_COUNT_OF(key_types) ? key_types[type].name : "unknown";
}

size_t tni_gguf_key_type_bytes(uint32_t type)
{
    return type < TN_COUNT_OF(key_types) ? key_types[type].bytes : 0;
}
