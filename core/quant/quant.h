// quant.h: element types as F32, and back. The reference for what the bytes of a tensor mean: plain
// C, the same bits on every machine. Kernels of plugins are faster; they are tested against this.
//
// No state and no allocation: every call may come from any thread. Blocks need no alignment.
#ifndef TNI_QUANT_H
#define TNI_QUANT_H

#include <tenon/graph.h>
#include <tenon/status.h>

// `elements` elements at blocks to F32.
//   dtype      F32, F16, BF16 or a block type of dtypes.def
//   blocks     tn_dtype_bytes(dtype, elements) bytes
//   elements   at least 0, a multiple of the type's block_elements
// Returns: TN_OK; TN_E_DTYPE: no such type; TN_E_SHAPE: elements are no whole blocks
TN_NODISCARD tn_status tni_quant_decode(tn_dtype dtype, const void *blocks, int64_t elements,
                                        float *to);

// The reverse. How near the result is to what went in stands in README.md, for each type. A block
// that holds an infinity or a NaN decodes to NaN throughout; F32, F16 and BF16 keep both.
TN_NODISCARD tn_status tni_quant_encode(tn_dtype dtype, const float *from, int64_t elements,
                                        void *blocks);

// One number. To 16 bits: rounded to nearest, ties to even; a NaN becomes a quiet one.
float tni_quant_from_f16(uint16_t bits);
uint16_t tni_quant_to_f16(float value);
float tni_quant_from_bf16(uint16_t bits);
uint16_t tni_quant_to_bf16(float value);

#endif
