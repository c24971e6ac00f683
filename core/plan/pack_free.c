// pack_free.c: levels, and whose turn it is.
#include "plan/pack_free.h"

#include "plan/levels.h"

// Chosen by what came out on layered graphs of 1,000 to 100,000 values and on packings of a few
// hundred without a gap: tests/bench/plan.py shows the effect of a change.
enum {
    LEVELS = 4,
    MORE_ROUNDS = 4,         // of a level before it is another's turn
    FEWEST_STEPS = 150000,   // of all searches without a deadline, some 100 ms at most; and two
                             // more an item
    AROUND_PARTS = 2,        // a pass around a level takes as long as one step for so many items
    UNSEARCHED_STEPS = 16,   // an item of all, that a level is behind which is not searched at once
    LOOSE_TURNS = 4,         // of a level, from one pass around a packing that is above what
                             // repairs are after to the next
    MANY_ITEMS = 1024,       // have a level more
    NEAR_PARTS = 128         // near: above the bound by at most one of so many parts
};

// When a level has its first turn. Sections of so many live bytes in 100 of the bound are full:
// above 90 there are a few hundred items in graphs of most lengths. In long ones it is rather those
// above 95, when no pass packs the others: what fits around them is found with a little repairing,
// best in two steps.
typedef struct turn {
    uint32_t full_percent;
    bool is_searched;        // at once, not only when all have had as much
    uint32_t first_rounds;   // of searching at the bound before the limit is relaxed
    uint32_t steps_before;   // an item of all: what each level before it has to have used
    uint32_t around;         // the level that is packed around this one first; 0 = none
} turn;

static const turn turns_of_few[] = { { 90, true, 3, 0, 0 },
                                     { 80, true, 3, 0, 0 },
                                     { 0, true, 3, 0, 0 } };
static const turn turns_of_many[LEVELS] = {
    { 90, false, 0, 0, 0 }, { 95, true, 0, 0, 1 }, { 80, true, 0, 16, 0 }, { 0, true, 0, 32, 0 }
};

typedef struct packer {
    tni_plan_packing all;
    const turn *turns;
    tni_plan_level levels[LEVELS];
    uint32_t level_count;   // that were begun
} packer;

static bool begin_level(packer *p)
{
    const turn *t = &p->turns[p->level_count];
    tni_plan_level *l = &p->levels[p->level_count++];
    tni_plan_packing *all = &p->all;
    uint64_t before = all->steps;
    if (!tni_plan_level_make(all, l, t->full_percent))
        return false;
    l->around = t->around && !l->is_whole ? &p->levels[t->around - 1] : NULL;
    tni_plan_level_pack(all, l);
    if (!t->is_searched)
        l->used = UNSEARCHED_STEPS * (uint64_t)all->sections->item_count;
    if (tni_plan_is_done(all) || l->peak <= all->least || !(t->is_searched || l->is_whole))
        return true;
    if (all->steps && !tni_plan_level_search(all, l, t->first_rounds, true))
        return false;
    tni_plan_level_spread(all, l);
    l->used = before - all->steps;
    return true;
}

static tni_plan_level *least_used(packer *p)
{
    tni_plan_level *least = &p->levels[0];
    for (uint32_t i = 1; i < p->level_count; i++)
        if (p->levels[i].used < least->used)
            least = &p->levels[i];
    return least;
}

// Of few items the whole is searched on. Of many each level as long as the others, and for any
// packing of it that is near: another one may leave more room for what comes around.
static bool search_on(packer *p)
{
    tni_plan_packing *all = &p->all;
    uint32_t count = all->sections->item_count;
    bool has_many = count > TNI_PLAN_FEW_ITEMS;
    tni_plan_level *l = has_many ? least_used(p) : &p->levels[p->level_count - 1];
    uint64_t before = all->steps, near = tni_plan_loose_limit(all);
    if (!l->is_whole && l->is_spread)
        l->peak = TNI_NO_PEAK;
    if (!tni_plan_level_search(all, l, has_many && all->peak > near ? 0 : MORE_ROUNDS, has_many))
        return false;
    if (l->is_whole || l->peak <= near || ++l->loose_turns % LOOSE_TURNS == 0)
        tni_plan_level_spread(all, l);
    l->used += before - all->steps + count / AROUND_PARTS;
    return true;
}

// The search knows no chunks.
static bool pack_in_chunks(packer *p)
{
    tni_plan_level *l = &p->levels[0];
    if (!tni_plan_level_make(&p->all, l, 0))
        return false;
    tni_plan_level_pack(&p->all, l);
    tni_plan_level_spread(&p->all, l);
    return true;
}

static bool is_turn_of_next(packer *p)
{
    if (p->level_count == 0)
        return true;
    return !p->levels[p->level_count - 1].is_whole &&
           least_used(p)->used >=
               p->turns[p->level_count].steps_before * (uint64_t)p->all.sections->item_count;
}

static bool pack(packer *p)
{
    tni_plan_packing *all = &p->all;
    bool has_memory = true;
    if (all->chunk_bytes)
        return pack_in_chunks(p);
    p->turns = all->sections->item_count > MANY_ITEMS ? turns_of_many : turns_of_few;
    while (has_memory && (p->level_count == 0 || !tni_plan_is_done(all))) {
        if (is_turn_of_next(p))
            has_memory = begin_level(p);
        else if (all->steps)
            has_memory = search_on(p);
        else
            break;
    }
    if (has_memory && all->peak == TNI_NO_PEAK)   // late, or nothing came out around a level
        tni_plan_level_spread_directly(all, &p->levels[0]);
    return has_memory;
}

bool tni_plan_pack_free(const tni_plan_sections *sections, tni_arena *arena, tni_free_packing *out)
{
    uint32_t count = sections->item_count;
    if (count == 0) {
        out->is_optimal = true;
        return true;
    }
    packer p = { .all = { .arena = arena,
                          .sections = sections,
                          .peak = TNI_NO_PEAK,
                          .least = sections->bound,
                          .near = sections->bound + sections->bound / NEAR_PARTS,
                          .enough = out->enough,
                          .chunk_bytes = out->chunk_bytes,
                          .deadline_ns = out->deadline_ns,
                          .steps = out->deadline_ns ? UINT64_MAX
                                                    : FEWEST_STEPS + 2 * (uint64_t)count } };
    tni_plan_packing *all = &p.all;
    if (out->enough == 0 && !out->deadline_ns && count > TNI_PLAN_FEW_ITEMS)
        all->enough = all->near;
    all->place = tni_arena_take_array(arena, 2 * (size_t)count, sizeof *all->place);
    all->best = tni_arena_take_array(arena, count, sizeof *all->best);
    bool has_memory = all->place && all->best &&
                      tni_plan_desk_make(sections, sections->bound, out->chunk_bytes, arena,
                                         &all->desk) &&
                      pack(&p);
    for (uint32_t i = 0; i < LEVELS; i++)
        tni_plan_search_destroy(p.levels[i].search);
    out->offsets = all->best;
    out->peak = all->peak;
    out->is_optimal = all->peak == all->least;
    return has_memory;
}
