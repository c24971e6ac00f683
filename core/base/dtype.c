#include "base/dtype.h"

#include "base/integer.h"
#include "base/macros.h"

static const tni_dtype types[] = {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    { number, #NAME, block_elements, block_bytes },
#include <tenon/dtypes.def>
};

const tni_dtype *tni_dtype_find(tn_dtype number)
{
    for (size_t i = 0; i < TN_COUNT_OF(types); i++)
        if (types[i].number == number)
            return &types[i];
    return NULL;
}

const char *tn_dtype_name(tn_dtype dtype)
{
    const tni_dtype *type = tni_dtype_find(dtype);
    return type ? type->name : "?";
}

uint64_t tn_dtype_bytes(tn_dtype dtype, int64_t elements)
{
    const tni_dtype *type = tni_dtype_find(dtype);
    if (!type || elements < 0 || elements % type->block_elements)
        return 0;
    uint64_t bytes;
    return tni_mul_u64((uint64_t)(elements / type->block_elements), type->block_bytes, &bytes)
               ? bytes
               : 0;
}
