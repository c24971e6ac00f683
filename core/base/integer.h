// integer.h: integers that cannot wrap. Each answers false, and leaves *out alone, when the result
// does not fit; and some that need no check.
#ifndef TNI_INTEGER_H
#define TNI_INTEGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool tni_add_size(size_t a, size_t b, size_t *out)
{
    size_t r;
    return !__builtin_add_overflow(a, b, &r) && (*out = r, true);
}
static inline bool tni_mul_size(size_t a, size_t b, size_t *out)
{
    size_t r;
    return !__builtin_mul_overflow(a, b, &r) && (*out = r, true);
}
static inline bool tni_add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    return !__builtin_add_overflow(a, b, &r) && (*out = r, true);
}
static inline bool tni_mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t r;
    return !__builtin_mul_overflow(a, b, &r) && (*out = r, true);
}

static inline uint32_t tni_larger_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline bool tni_is_among(const uint32_t *list, uint32_t count, uint32_t one)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == one)
            return true;
    return false;
}

static inline bool tni_is_power_of_two(uint64_t x)
{
    return x && !(x & (x - 1));
}

// The next multiple of `alignment`, a power of two.
static inline bool tni_align_u64(uint64_t x, uint64_t alignment, uint64_t *out)
{
    uint64_t r;
    return tni_add_u64(x, alignment - 1, &r) && (*out = r & ~(alignment - 1), true);
}

#endif
