// decode_neon.c: F16 to F32, as decode_scalar.c, with the processor's own conversion.
#include "../kernels.h"
#include "floats_neon.h"

void cpu_decode_f16_neon(int64_t n, const void *from, float *to)
{
    for (int64_t i = 0; i < n; i += LANES)
        store_first(to + i, n - i, load_f16((const char *)from + 2 * i, 0, n - i));
}
