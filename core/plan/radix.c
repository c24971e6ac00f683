#include "plan/radix.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };   // counters of a digit stay in the first cache

static void sort_by_digit(const tni_keyed *from, tni_keyed *to, size_t count, unsigned shift)
{
    size_t begin[DIGITS + 1] = { 0 };
    for (size_t i = 0; i < count; i++)
        begin[(from[i].key >> shift) % DIGITS + 1]++;
    for (uint32_t d = 0; d < DIGITS; d++)
        begin[d + 1] += begin[d];
    for (size_t i = 0; i < count; i++)
        to[begin[(from[i].key >> shift) % DIGITS]++] = from[i];
}

tni_keyed *tni_plan_sort(tni_keyed *keys, tni_keyed *spare, size_t count)
{
    uint64_t differing = 0;
    for (size_t i = 0; i < count; i++)
        differing |= keys[i].key ^ keys[0].key;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if ((differing >> shift) % DIGITS == 0)
            continue;
        sort_by_digit(keys, spare, count, shift);
        tni_keyed *sorted = spare;
        spare = keys;
        keys = sorted;
    }
    return keys;
}
