// dtype.h: the facts of dtypes.def.
#ifndef TNI_DTYPE_H
#define TNI_DTYPE_H

#include <tenon/graph.h>

typedef struct tni_dtype {
    tn_dtype number;
    const char *name;
    int64_t block_elements;
    uint64_t block_bytes;
} tni_dtype;

const tni_dtype *tni_dtype_find(tn_dtype number);   // NULL = no type of this release

#endif
