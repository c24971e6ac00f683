// level_search.c: rounds of searching for a packing of a level, at the bound or near it.
#include "plan/levels.h"

enum {
    GROWTH_PARTS = 16,      // of the steps, by which the next turn has more
    AT_LEAST_ROUNDS = 40,   // all at the bound
    LOWERING = 5,           // then one of so many is not, and so many times as long
    LOWER_PARTS = 16,       // of what is between the best and the bound: it tries to save one
    NEAR_TRIES = 8          // of a relaxed search, before one that may end anywhere
};

// Of few items the dead ends tell more, and a packing at the bound is what is searched.
static const tni_plan_relaxing relaxing_few = { 8, 16384, UINT64_MAX };
static const tni_plan_relaxing relaxing_many = { 4, 8192, UINT64_MAX };

static void take_found(tni_plan_level *l)
{
    const uint64_t *found = tni_plan_search_offsets(l->search);
    if (tni_plan_highest_end(l->sections, found) < l->peak)
        tni_plan_level_take(l, found);
}

// Rounds are at the least that is not ruled out, which is easier to find than what lies a little
// above it. When many have found nothing, in case that there is nothing so low, one of a few is
// just below the best that is known, and longer. Once a limit was ruled out, all are.
static bool is_lowering(const tni_plan_packing *p, const tni_plan_level *l)
{
    return p->least > p->sections->bound ||
           (l->round > AT_LEAST_ROUNDS && l->round % LOWERING == 0);
}

static uint64_t limit_below(const tni_plan_packing *p, const tni_plan_level *l)
{
    uint64_t best = l->peak < p->peak ? l->peak : p->peak;
    if (p->least > p->sections->bound)
        return best - 1;
    return best - (best - p->least + LOWER_PARTS - 1) / LOWER_PARTS;
}

static bool search_rounds(tni_plan_packing *p, tni_plan_level *l, uint32_t rounds)
{
    for (uint32_t end = l->round + rounds;
         l->round < end && l->peak > p->least && p->steps && !tni_plan_is_late(p); l->round++) {
        bool lowers = is_lowering(p, l);
        uint64_t limit = lowers ? limit_below(p, l) : p->least;
        uint64_t begin = lowers ? LOWERING * l->round_steps : l->round_steps, steps = begin;
        tni_plan_search_answer answer = tni_plan_search_run(l->search, limit, l->round, &steps);
        p->steps -= begin - steps < p->steps ? begin - steps : p->steps;
        if (answer == TNI_PLAN_SEARCH_NO_MEMORY)
            return false;
        if (answer == TNI_PLAN_SEARCH_FOUND)
            take_found(l);
        if (answer == TNI_PLAN_SEARCH_IMPOSSIBLE)
            p->least = limit + 1;
    }
    l->round_steps += l->round_steps / GROWTH_PARTS;
    return true;
}

// With the weights that are left from before, another packing each time. Several tries for one that
// is near, and one for any.
static bool search_relaxed(tni_plan_packing *p, tni_plan_level *l)
{
    bool has_many = p->sections->item_count > TNI_PLAN_FEW_ITEMS;
    tni_plan_relaxing how = has_many ? relaxing_many : relaxing_few;
    for (uint32_t tries = has_many ? NEAR_TRIES : 0;
         l->peak > p->least && p->steps && !tni_plan_is_late(p); tries--) {
        uint64_t limit = p->least;
        how.most_limit = tries ? tni_plan_loose_limit(p) : UINT64_MAX;
        tni_plan_search_answer answer = tni_plan_search_run_relaxed(l->search, &how, &limit,
                                                                    &p->steps);
        if (answer == TNI_PLAN_SEARCH_FOUND)
            take_found(l);
        if (answer != TNI_PLAN_SEARCH_GAVE_UP || tries == 0)
            return answer != TNI_PLAN_SEARCH_NO_MEMORY;
    }
    return true;
}

bool tni_plan_level_search(tni_plan_packing *p, tni_plan_level *l, uint32_t rounds,
                           bool is_relaxed_after)
{
    if (!l->search) {
        l->search = tni_plan_search_create(&p->arena->allocator, l->sections);
        if (!l->search)
            return false;
        tni_plan_search_set_deadline(l->search, p->deadline_ns);
    }
    return search_rounds(p, l, rounds) && (!is_relaxed_after || search_relaxed(p, l));
}
