#include "plan/pack_free.h"

#include <string.h>

#include "base/clock.h"
#include "base/macros.h"
#include "plan/repair.h"
#include "plan/search.h"
#include "plan/skyline.h"

// Chosen by what came out on layered graphs of 1,000 to 100,000 values and on packings of a few
// hundred without a gap: tests/bench/plan.py shows the effect of a change.
enum {
    LEVELS = 4,
    MORE_URGENT = 2,         // times
    MORE_ROUNDS = 4,         // of a level before it is another's turn
    ROUND_STEPS = 4,         // an item of the level, of the first round: most that can be found is
                             // found without many dead ends, or from another start
    GROWTH_PARTS = 16,       // of the steps, by which the next turn has more
    AT_LEAST_ROUNDS = 40,    // all at the bound
    LOWERING = 5,            // then one of so many is not, and so many times as long
    LOWER_PARTS = 16,        // of what is between the best and the bound: it tries to save one
    FEWEST_STEPS = 150000,   // of all searches without a deadline, some 100 ms at most; and two
                             // more an item
    MOST_COVERED = 400,      // sections that the items of a level cover, for each item of all: what
                             // is fixed costs as much in each pass around it
    AROUND_PARTS = 2,        // such a pass takes as long as one step for so many items
    UNSEARCHED_STEPS = 16,   // an item of all, that a level is behind which is not searched at once
    NEAR_TRIES = 8,          // of a relaxed search, before one that may end anywhere
    FAR_PARTS = 32,          // of the bound: so much above it is not mended by another pass
    LOOSE_TURNS = 4,         // of a level, from one pass around a packing that is above what
                             // repairs are after to the next
    FEW_ITEMS = 512,         // are searched on as a whole; of more, a peak near the bound is enough
                             // where nothing says how low it has to be
    MANY_ITEMS = 1024,       // have a level more
    NEAR_PARTS = 128         // near: above the bound by at most one of so many parts
};

// Of repairs, where most that come out need a tenth of this work, and those of many items no more.
enum {
    REPAIR_WORK = 16,            // an item of all,
    MOST_REPAIR_WORK = 250000,   // and no more than about a millisecond
    LOOSE_PARTS = 101,           // of the bound: so much above it will do at first
    LEAST_STEP_PARTS = 512       // of the bound, by which a limit is lowered
};

#define NO_PEAK UINT64_MAX   // nothing was placed yet

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

// Of few items the dead ends tell more, and a packing at the bound is what is searched.
static const tni_plan_relaxing relaxing_few = { 8, 16384, UINT64_MAX };
static const tni_plan_relaxing relaxing_many = { 4, 8192, UINT64_MAX };

// What passes over some items, and repairs, need. All arrays are by item.
typedef struct desk {
    const tni_plan_sections *sections;
    tni_plan_skyline *skyline;
    tni_plan_repair *repair;
    float *full_length;
    bool *is_fixed;
    float *urgency;      // of the latest pass
    uint64_t *offsets;   // of the latest pass
} desk;

typedef enum pass_kind {
    BY_LENGTH,        // what lives longest comes first
    BY_FULL_LENGTH,   // the same where it counts: in full sections
    BY_AREA,          // that length squared, times bytes: around a level
    AS_BEFORE_BUT     // what ended above the limit is more urgent
} pass_kind;

// The longest at the bottom leave room beside a level for what comes around it.
static const pass_kind level_passes[] = { BY_LENGTH, BY_FULL_LENGTH, AS_BEFORE_BUT, AS_BEFORE_BUT };

// Items that cover a section of so many live bytes, as a problem of their own.
typedef struct level {
    bool is_whole;
    const tni_plan_sections *sections;
    desk *desk;
    struct level *around;   // one that holds its items and is packed around it first; NULL
    uint32_t *items;        // by its own item: the item of all
    uint64_t *offsets;      // by its own item: the best so far
    uint64_t peak;          // of those
    bool is_spread;         // the others were put around those
    tni_plan_search *search;
    uint32_t round;
    uint32_t loose_turns;   // that left a packing with no pass around it
    uint64_t round_steps;
    uint64_t used;   // steps, and what passes around it cost in steps
} level;

typedef struct packer {
    tni_arena *arena;
    const tni_plan_sections *sections;
    desk desk;         // of all items
    uint32_t *place;   // by item: its place on another desk; scratch
    uint64_t *best;    // by item
    uint64_t peak;     // of the best
    uint64_t chunk_bytes;
    uint64_t least;    // no peak is below
    uint64_t near;     // the bound, as far as passes go
    uint64_t enough;   // ends it; nothing else depends on it, so that what is found without it is
                       // found with it too
    uint64_t deadline_ns;
    uint64_t steps;   // of searching that are left
    level levels[LEVELS];
    uint32_t level_count;   // that were begun
} packer;

static bool is_late(const packer *p)
{
    return p->deadline_ns && tni_now_ns() > p->deadline_ns;
}

static bool is_done(const packer *p)
{
    return is_late(p) || (p->peak != NO_PEAK && (p->peak <= p->enough || p->peak <= p->least));
}

static uint64_t highest_end(const tni_plan_sections *in, const uint64_t *offsets)
{
    uint64_t highest = 0;
    for (uint32_t i = 0; i < in->item_count; i++) {
        uint64_t end = offsets[i] + in->items[i].bytes;
        highest = end > highest ? end : highest;
    }
    return highest;
}

// ----------------------------------------------------------------------------------------- skyline

// How long each item lives, counted in sections by how full they are: to the eighth power of their
// part of the bound, by which one of half the bound counts next to nothing. (Powers of 4 to 16
// halve what passes over all items lose against 0.)
static bool find_full_lengths(packer *p, const tni_plan_sections *in, float *full_length)
{
    float *sum = tni_arena_take_array(p->arena, (size_t)in->count + 1, sizeof *sum);
    if (!sum)
        return false;
    for (uint32_t s = 0; s < in->count; s++) {
        float part = (float)in->live[s] / (float)p->sections->bound;
        part *= part;
        part *= part;
        sum[s + 1] = sum[s] + part * part;
    }
    for (uint32_t i = 0; i < in->item_count; i++)
        full_length[i] = sum[in->items[i].end] - sum[in->items[i].first];
    return true;
}

static void set_urgency(const desk *d, pass_kind kind, uint64_t limit)
{
    for (uint32_t i = 0; i < d->sections->item_count; i++) {
        const tni_item *item = &d->sections->items[i];
        switch (kind) {
        case BY_LENGTH:
            d->urgency[i] = (float)(item->end - item->first);
            break;
        case BY_FULL_LENGTH:
            d->urgency[i] = d->full_length[i];
            break;
        case BY_AREA:
            d->urgency[i] = d->full_length[i] * d->full_length[i] * (float)item->bytes;
            break;
        case AS_BEFORE_BUT:
            d->urgency[i] *= d->offsets[i] + item->bytes > limit ? MORE_URGENT : 1;
            break;
        }
    }
}

// Leaves the offsets on the desk and returns the peak.
static uint64_t run_pass(const desk *d, pass_kind kind, uint64_t limit)
{
    set_urgency(d, kind, limit);
    return tni_plan_skyline_run(d->skyline, d->urgency, d->is_fixed, d->offsets);
}

static bool make_desk(packer *p, const tni_plan_sections *sections, desk *d)
{
    d->sections = sections;
    d->skyline = tni_plan_skyline_make(sections, p->chunk_bytes, p->arena);
    d->full_length = tni_arena_take_array(p->arena, sections->item_count, sizeof *d->full_length);
    d->is_fixed = tni_arena_take_array(p->arena, sections->item_count, sizeof *d->is_fixed);
    d->urgency = tni_arena_take_array(p->arena, sections->item_count, sizeof *d->urgency);
    d->offsets = tni_arena_take_array(p->arena, sections->item_count, sizeof *d->offsets);
    if (!d->skyline || !d->full_length || !d->is_fixed || !d->urgency || !d->offsets ||
        !find_full_lengths(p, sections, d->full_length))
        return false;
    d->repair = tni_plan_repair_make(sections, d->full_length, p->arena);
    return d->repair != NULL;
}

// ------------------------------------------------------------------------------------------ levels

// The sections above the limit, as a sum from the left.
static uint32_t *count_full(const packer *p, uint64_t limit)
{
    uint32_t *before = tni_arena_take_array(p->arena, (size_t)p->sections->count + 1,
                                            sizeof *before);
    for (uint32_t s = 0; before && s < p->sections->count; s++)
        before[s + 1] = before[s] + (p->sections->live[s] > limit);
    return before;
}

static bool pick_items(packer *p, level *l, uint32_t percent)
{
    const tni_plan_sections *in = p->sections;
    uint32_t *before = count_full(p, in->bound / 100 * percent);
    tni_block *blocks = tni_arena_take_array(p->arena, in->item_count, sizeof *blocks);
    uint32_t *picked = tni_arena_take_array(p->arena, in->item_count, sizeof *picked);
    tni_plan_sections *own = tni_arena_take(p->arena, sizeof *own);
    if (!before || !blocks || !picked || !own)
        return false;
    uint32_t count = 0;
    uint64_t covered = 0;
    for (uint32_t i = 0; i < in->item_count; i++) {
        const tni_item *item = &in->items[i];
        if (before[item->end] == before[item->first])
            continue;
        picked[count] = i;
        blocks[count++] = (tni_block){ item->first, item->end - 1, item->bytes, 0 };
        covered += item->end - item->first;
    }
    l->is_whole = count == in->item_count || covered / MOST_COVERED > in->item_count;
    if (l->is_whole)
        return true;
    l->items = tni_arena_take_array(p->arena, count, sizeof *l->items);
    if (!l->items || !tni_plan_sections_make(blocks, count, p->arena, own))
        return false;
    for (uint32_t i = 0; i < count; i++)
        l->items[i] = picked[own->items[i].block];
    l->sections = own;
    return true;
}

static bool make_level(packer *p, level *l, uint32_t percent)
{
    l->is_whole = percent == 0;
    if (!l->is_whole && !pick_items(p, l, percent))
        return false;
    if (l->is_whole)
        l->sections = p->sections;
    l->desk = l->is_whole ? &p->desk : tni_arena_take(p->arena, sizeof *l->desk);
    if (!l->desk || (!l->is_whole && !make_desk(p, l->sections, l->desk)))
        return false;
    l->peak = NO_PEAK;
    l->round_steps = ROUND_STEPS * (uint64_t)l->sections->item_count;
    l->offsets = tni_arena_take_array(p->arena, l->sections->item_count, sizeof *l->offsets);
    return l->offsets != NULL;
}

static void take(level *l, const uint64_t *offsets)
{
    l->peak = highest_end(l->sections, offsets);
    l->is_spread = false;
    memcpy(l->offsets, offsets, l->sections->item_count * sizeof *offsets);
}

static void take_found(level *l)
{
    const uint64_t *found = tni_plan_search_offsets(l->search);
    if (highest_end(l->sections, found) < l->peak)
        take(l, found);
}

// If they are the best of all.
static void keep(packer *p, const uint64_t *offsets)
{
    uint64_t peak = highest_end(p->sections, offsets);
    if (peak >= p->peak)
        return;
    p->peak = peak;
    memcpy(p->best, offsets, p->sections->item_count * sizeof *offsets);
}

// By half the way down to what is near; from there to the level at once.
static uint64_t lower_limit(const packer *p, const level *l, uint64_t limit)
{
    if (limit <= p->near)
        return l->peak < limit ? l->peak : p->least;
    uint64_t down = (limit - p->near) / 2;
    return down > p->sections->bound / LEAST_STEP_PARTS ? limit - down : p->near;
}

static uint64_t loose_limit(const packer *p)
{
    return p->sections->bound + p->sections->bound / LOOSE_PARTS;
}

static uint64_t repair_work(const packer *p)
{
    uint64_t work = REPAIR_WORK * (uint64_t)p->sections->item_count;
    return work < MOST_REPAIR_WORK ? work : MOST_REPAIR_WORK;
}

// Repairs what the pass has put around the level, first where it is above the level or above a
// hundredth more than the bound, then to lower and lower limits; all below the best of all.
static void repair(packer *p, const level *l)
{
    uint64_t limit = loose_limit(p);
    const uint64_t *offsets = p->desk.offsets;
    limit = l->peak > limit ? l->peak : limit;
    if (limit >= p->peak)
        limit = lower_limit(p, l, p->peak);
    while (!is_done(p) &&
           (offsets = tni_plan_repair_run(p->desk.repair, offsets, limit, repair_work(p)))) {
        keep(p, offsets);
        limit = lower_limit(p, l, limit < p->peak ? limit : p->peak);
    }
}

// On a desk where the level's items have these places. Returns the peak.
static uint64_t run_pass_around(const level *l, desk *d, const uint32_t *places)
{
    memset(d->is_fixed, 0, d->sections->item_count * sizeof *d->is_fixed);
    for (uint32_t i = 0; i < l->sections->item_count; i++) {
        d->is_fixed[places[i]] = true;
        d->offsets[places[i]] = l->offsets[i];
    }
    return run_pass(d, BY_AREA, l->peak);
}

// The level around this one, with what it has in the midst. Where that does not come out a pass
// over all would not either, and it costs a fifth. false: it is not near.
static bool pack_around(packer *p, const level *l)
{
    level *outer = l->around;
    uint64_t limit = loose_limit(p);
    const uint64_t *offsets = outer->desk->offsets;
    uint32_t *places = p->place + p->sections->item_count;
    for (uint32_t i = 0; i < outer->sections->item_count; i++)
        p->place[outer->items[i]] = i;
    for (uint32_t i = 0; i < l->sections->item_count; i++)
        places[i] = p->place[l->items[i]];
    if (run_pass_around(l, outer->desk, places) > limit)
        offsets = tni_plan_repair_run(outer->desk->repair, offsets, limit, repair_work(p));
    if (offsets)
        take(outer, offsets);
    return offsets != NULL;
}

static void spread_directly(packer *p, level *l)
{
    l->is_spread = true;
    if (l->is_whole) {
        keep(p, l->offsets);
        return;
    }
    uint64_t peak = run_pass_around(l, &p->desk, l->items);
    keep(p, p->desk.offsets);
    if (peak > l->peak)
        repair(p, l);
}

// What the level has as the best of all, with the other items around it.
static void spread(packer *p, level *l)
{
    if (l->peak >= p->peak || l->is_spread)
        return;
    l->is_spread = true;
    if (l->around && l->peak <= loose_limit(p)) {
        if (!pack_around(p, l))
            return;
        l = l->around;
    }
    spread_directly(p, l);
}

// The quick ways. A packing of the level that is near the bound is spread at once: the other items
// seldom reach above it.
static void pack_quickly(packer *p, level *l)
{
    uint64_t far = p->sections->bound + p->sections->bound / FAR_PARTS;
    memset(l->desk->is_fixed, 0, l->sections->item_count * sizeof *l->desk->is_fixed);
    for (size_t i = 0; i < TN_COUNT_OF(level_passes); i++) {
        if (run_pass(l->desk, level_passes[i], p->least) < l->peak)
            take(l, l->desk->offsets);
        if (l->peak <= p->near)
            spread(p, l);
        if (l->peak <= p->least || l->peak > far || is_done(p))
            break;
    }
}

// Rounds are at the least that is not ruled out, which is easier to find than what lies a little
// above it. When many have found nothing, in case that there is nothing so low, one of a few is
// just below the best that is known, and longer. Once a limit was ruled out, all are.
static bool is_lowering(const packer *p, const level *l)
{
    return p->least > p->sections->bound ||
           (l->round > AT_LEAST_ROUNDS && l->round % LOWERING == 0);
}

static uint64_t limit_below(const packer *p, const level *l)
{
    uint64_t best = l->peak < p->peak ? l->peak : p->peak;
    if (p->least > p->sections->bound)
        return best - 1;
    return best - (best - p->least + LOWER_PARTS - 1) / LOWER_PARTS;
}

static bool search_rounds(packer *p, level *l, uint32_t rounds)
{
    for (uint32_t end = l->round + rounds;
         l->round < end && l->peak > p->least && p->steps && !is_late(p); l->round++) {
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
static bool search_relaxed(packer *p, level *l)
{
    bool has_many = p->sections->item_count > FEW_ITEMS;
    tni_plan_relaxing how = has_many ? relaxing_many : relaxing_few;
    for (uint32_t tries = has_many ? NEAR_TRIES : 0; l->peak > p->least && p->steps && !is_late(p);
         tries--) {
        uint64_t limit = p->least;
        how.most_limit = tries ? loose_limit(p) : UINT64_MAX;
        tni_plan_search_answer answer = tni_plan_search_run_relaxed(l->search, &how, &limit,
                                                                    &p->steps);
        if (answer == TNI_PLAN_SEARCH_FOUND)
            take_found(l);
        if (answer != TNI_PLAN_SEARCH_GAVE_UP || tries == 0)
            return answer != TNI_PLAN_SEARCH_NO_MEMORY;
    }
    return true;
}

// One turn of a level; some rounds, and on demand a packing near the bound.
static bool search_level(packer *p, level *l, uint32_t rounds, bool is_relaxed_after)
{
    if (!l->search) {
        l->search = tni_plan_search_create(&p->arena->allocator, l->sections);
        if (!l->search)
            return false;
        tni_plan_search_set_deadline(l->search, p->deadline_ns);
    }
    return search_rounds(p, l, rounds) && (!is_relaxed_after || search_relaxed(p, l));
}

static bool begin_level(packer *p, const turn *turns)
{
    const turn *t = &turns[p->level_count];
    level *l = &p->levels[p->level_count++];
    uint64_t before = p->steps;
    if (!make_level(p, l, t->full_percent))
        return false;
    l->around = t->around && !l->is_whole ? &p->levels[t->around - 1] : NULL;
    pack_quickly(p, l);
    if (!t->is_searched)
        l->used = UNSEARCHED_STEPS * (uint64_t)p->sections->item_count;
    if (is_done(p) || l->peak <= p->least || !(t->is_searched || l->is_whole))
        return true;
    if (p->steps && !search_level(p, l, t->first_rounds, true))
        return false;
    spread(p, l);
    l->used = before - p->steps;
    return true;
}

static level *least_used(packer *p)
{
    level *least = &p->levels[0];
    for (uint32_t i = 1; i < p->level_count; i++)
        if (p->levels[i].used < least->used)
            least = &p->levels[i];
    return least;
}

// Of few items the whole is searched on. Of many each level as long as the others, and for any
// packing of it that is near: another one may leave more room for what comes around.
static bool search_on(packer *p)
{
    bool has_many = p->sections->item_count > FEW_ITEMS;
    level *l = has_many ? least_used(p) : &p->levels[p->level_count - 1];
    uint64_t before = p->steps;
    if (!l->is_whole && l->is_spread)
        l->peak = NO_PEAK;
    bool is_near = p->peak <= loose_limit(p);
    if (!search_level(p, l, has_many && !is_near ? 0 : MORE_ROUNDS, has_many))
        return false;
    if (l->is_whole || l->peak <= loose_limit(p) || ++l->loose_turns % LOOSE_TURNS == 0)
        spread(p, l);
    l->used += before - p->steps + p->sections->item_count / AROUND_PARTS;
    return true;
}

// The search knows no chunks.
static bool pack_in_chunks(packer *p)
{
    level *l = &p->levels[0];
    if (!make_level(p, l, 0))
        return false;
    pack_quickly(p, l);
    spread(p, l);
    return true;
}

static bool is_turn_of_next(packer *p, const turn *turns)
{
    if (p->level_count == 0)
        return true;
    return !p->levels[p->level_count - 1].is_whole &&
           least_used(p)->used >=
               turns[p->level_count].steps_before * (uint64_t)p->sections->item_count;
}

static bool pack(packer *p)
{
    const turn *turns = p->sections->item_count > MANY_ITEMS ? turns_of_many : turns_of_few;
    bool has_memory = true;
    if (p->chunk_bytes)
        return pack_in_chunks(p);
    while (has_memory && (p->level_count == 0 || !is_done(p))) {
        if (is_turn_of_next(p, turns))
            has_memory = begin_level(p, turns);
        else if (p->steps)
            has_memory = search_on(p);
        else
            break;
    }
    if (has_memory && p->peak == NO_PEAK)   // late, or nothing came out around a level
        spread_directly(p, &p->levels[0]);
    return has_memory;
}

bool tni_plan_pack_free(const tni_plan_sections *sections, tni_arena *arena, tni_free_packing *out)
{
    uint32_t count = sections->item_count;
    if (count == 0) {
        out->is_optimal = true;
        return true;
    }
    packer p = { .arena = arena,
                 .sections = sections,
                 .peak = NO_PEAK,
                 .least = sections->bound,
                 .enough = out->enough,
                 .chunk_bytes = out->chunk_bytes,
                 .deadline_ns = out->deadline_ns,
                 .steps = out->deadline_ns ? UINT64_MAX : FEWEST_STEPS + 2 * (uint64_t)count };
    p.near = sections->bound + sections->bound / NEAR_PARTS;
    if (out->enough == 0 && !out->deadline_ns && count > FEW_ITEMS)
        p.enough = p.near;
    p.place = tni_arena_take_array(arena, 2 * (size_t)count, sizeof *p.place);
    p.best = tni_arena_take_array(arena, count, sizeof *p.best);
    bool has_memory = p.place && p.best && make_desk(&p, sections, &p.desk) && pack(&p);
    for (uint32_t i = 0; i < LEVELS; i++)
        tni_plan_search_destroy(p.levels[i].search);
    out->offsets = p.best;
    out->peak = p.peak;
    out->is_optimal = p.peak == p.least;
    return has_memory;
}
