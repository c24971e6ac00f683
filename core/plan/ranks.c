#include "plan/ranks.h"

#include "plan/radix.h"

enum { DENSE = 4 };   // times the count: a range up to that is walked over

// range: from the least number to the largest.
static bool find_in_range(const uint64_t *numbers, uint32_t count, uint64_t least, uint64_t range,
                          tni_arena *arena, uint32_t *ranks)
{
    uint32_t *before = tni_arena_take_array(arena, (size_t)range + 2, sizeof *before);
    if (!before)
        return false;
    for (uint32_t i = 0; i < count; i++)
        before[numbers[i] - least + 1] = 1;
    for (uint64_t n = 0; n < range; n++)
        before[n + 1] += before[n];
    for (uint32_t i = 0; i < count; i++)
        ranks[i] = before[numbers[i] - least];
    return true;
}

static bool find_by_sorting(const uint64_t *numbers, uint32_t count, tni_arena *arena,
                            uint32_t *ranks)
{
    tni_keyed *keyed = tni_arena_take_array(arena, count, sizeof *keyed);
    tni_keyed *spare = tni_arena_take_array(arena, count, sizeof *spare);
    if (!keyed || !spare)
        return false;
    for (uint32_t i = 0; i < count; i++)
        keyed[i] = (tni_keyed){ numbers[i], i };
    keyed = tni_plan_sort(keyed, spare, count);
    uint32_t rank = 0;
    for (uint32_t i = 0; i < count; i++) {
        rank += i > 0 && keyed[i].key != keyed[i - 1].key;
        ranks[keyed[i].what] = rank;
    }
    return true;
}

bool tni_plan_find_ranks(const uint64_t *numbers, uint32_t count, tni_arena *arena, uint32_t *ranks)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        least = numbers[i] < least ? numbers[i] : least;
        most = numbers[i] > most ? numbers[i] : most;
    }
    if (count == 0)
        return true;
    if (most - least < DENSE * (uint64_t)count)
        return find_in_range(numbers, count, least, most - least, arena, ranks);
    return find_by_sorting(numbers, count, arena, ranks);
}
