#include "plan/levels.h"

#include <string.h>

#include "base/clock.h"
#include "base/macros.h"

enum {
    ROUND_STEPS = 4,      // an item of the level, of the first round: most that can be found is
                          // found without many dead ends, or from another start
    MOST_COVERED = 400,   // sections that the items of a level cover, for each item of all: what is
                          // fixed costs as much in each pass around it
    FAR_PARTS = 32        // of the bound: so much above it is not mended by another pass
};

// Of repairs, where most that come out need a tenth of this work, and those of many items no more.
enum {
    REPAIR_WORK = 16,            // an item of all,
    MOST_REPAIR_WORK = 250000,   // and no more than about a millisecond
    LOOSE_PARTS = 101,           // of the bound: so much above it will do at first
    LEAST_STEP_PARTS = 512       // of the bound, by which a limit is lowered
};

// The longest at the bottom leave room beside a level for what comes around it.
static const tni_plan_pass_kind level_passes[] = { TNI_PASS_BY_LENGTH, TNI_PASS_BY_FULL_LENGTH,
                                                   TNI_PASS_AS_BEFORE_BUT, TNI_PASS_AS_BEFORE_BUT };

bool tni_plan_is_late(const tni_plan_packing *p)
{
    return p->deadline_ns && tni_now_ns() > p->deadline_ns;
}

bool tni_plan_is_done(const tni_plan_packing *p)
{
    return tni_plan_is_late(p) ||
           (p->peak != TNI_NO_PEAK && (p->peak <= p->enough || p->peak <= p->least));
}

uint64_t tni_plan_highest_end(const tni_plan_sections *in, const uint64_t *offsets)
{
    uint64_t highest = 0;
    for (uint32_t i = 0; i < in->item_count; i++) {
        uint64_t end = offsets[i] + in->items[i].bytes;
        highest = end > highest ? end : highest;
    }
    return highest;
}

// -------------------------------------------------------------------------------------------- make

// The sections above the limit, as a sum from the left.
static uint32_t *count_full(const tni_plan_packing *p, uint64_t limit)
{
    uint32_t *before = tni_arena_take_array(p->arena, (size_t)p->sections->count + 1,
                                            sizeof *before);
    for (uint32_t s = 0; before && s < p->sections->count; s++)
        before[s + 1] = before[s] + (p->sections->live[s] > limit);
    return before;
}

static bool pick_items(tni_plan_packing *p, tni_plan_level *l, uint32_t percent)
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

bool tni_plan_level_make(tni_plan_packing *p, tni_plan_level *l, uint32_t percent)
{
    l->is_whole = percent == 0;
    if (!l->is_whole && !pick_items(p, l, percent))
        return false;
    if (l->is_whole) {
        l->sections = p->sections;
        l->desk = &p->desk;
    } else {
        l->desk = tni_arena_take(p->arena, sizeof *l->desk);
        if (!l->desk ||
            !tni_plan_desk_make(l->sections, p->sections->bound, p->chunk_bytes, p->arena, l->desk))
            return false;
    }
    l->peak = TNI_NO_PEAK;
    l->round_steps = ROUND_STEPS * (uint64_t)l->sections->item_count;
    l->offsets = tni_arena_take_array(p->arena, l->sections->item_count, sizeof *l->offsets);
    return l->offsets != NULL;
}

void tni_plan_level_take(tni_plan_level *l, const uint64_t *offsets)
{
    l->peak = tni_plan_highest_end(l->sections, offsets);
    l->is_spread = false;
    memcpy(l->offsets, offsets, l->sections->item_count * sizeof *offsets);
}

// ------------------------------------------------------------------------------------------ spread

// If they are the best of all.
static void keep(tni_plan_packing *p, const uint64_t *offsets)
{
    uint64_t peak = tni_plan_highest_end(p->sections, offsets);
    if (peak >= p->peak)
        return;
    p->peak = peak;
    memcpy(p->best, offsets, p->sections->item_count * sizeof *offsets);
}

// By half the way down to what is near; from there to the level at once.
static uint64_t lower_limit(const tni_plan_packing *p, const tni_plan_level *l, uint64_t limit)
{
    if (limit <= p->near)
        return l->peak < limit ? l->peak : p->least;
    uint64_t down = (limit - p->near) / 2;
    return down > p->sections->bound / LEAST_STEP_PARTS ? limit - down : p->near;
}

uint64_t tni_plan_loose_limit(const tni_plan_packing *p)
{
    return p->sections->bound + p->sections->bound / LOOSE_PARTS;
}

static uint64_t repair_work(const tni_plan_packing *p)
{
    uint64_t work = REPAIR_WORK * (uint64_t)p->sections->item_count;
    return work < MOST_REPAIR_WORK ? work : MOST_REPAIR_WORK;
}

// Repairs what the pass has put around the level, first where it is above the level or above a
// hundredth more than the bound, then to lower and lower limits; all below the best of all.
static void repair(tni_plan_packing *p, const tni_plan_level *l)
{
    uint64_t limit = tni_plan_loose_limit(p);
    const uint64_t *offsets = p->desk.offsets;
    limit = l->peak > limit ? l->peak : limit;
    if (limit >= p->peak)
        limit = lower_limit(p, l, p->peak);
    while (!tni_plan_is_done(p) &&
           (offsets = tni_plan_repair_run(p->desk.repair, offsets, limit, repair_work(p)))) {
        keep(p, offsets);
        limit = lower_limit(p, l, limit < p->peak ? limit : p->peak);
    }
}

// On a desk where the level's items have these places. Returns the peak.
static uint64_t run_pass_around(const tni_plan_level *l, tni_plan_desk *d, const uint32_t *places)
{
    memset(d->is_fixed, 0, d->sections->item_count * sizeof *d->is_fixed);
    for (uint32_t i = 0; i < l->sections->item_count; i++) {
        d->is_fixed[places[i]] = true;
        d->offsets[places[i]] = l->offsets[i];
    }
    return tni_plan_desk_pass(d, TNI_PASS_BY_AREA, l->peak);
}

// The level around this one, with what it has in the midst. Where that does not come out a pass
// over all would not either, and it costs a fifth. false: it is not near.
static bool pack_around(tni_plan_packing *p, const tni_plan_level *l)
{
    tni_plan_level *outer = l->around;
    uint64_t limit = tni_plan_loose_limit(p);
    const uint64_t *offsets = outer->desk->offsets;
    uint32_t *places = p->place + p->sections->item_count;
    for (uint32_t i = 0; i < outer->sections->item_count; i++)
        p->place[outer->items[i]] = i;
    for (uint32_t i = 0; i < l->sections->item_count; i++)
        places[i] = p->place[l->items[i]];
    if (run_pass_around(l, outer->desk, places) > limit)
        offsets = tni_plan_repair_run(outer->desk->repair, offsets, limit, repair_work(p));
    if (offsets)
        tni_plan_level_take(outer, offsets);
    return offsets != NULL;
}

void tni_plan_level_spread_directly(tni_plan_packing *p, tni_plan_level *l)
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

void tni_plan_level_spread(tni_plan_packing *p, tni_plan_level *l)
{
    if (l->peak >= p->peak || l->is_spread)
        return;
    l->is_spread = true;
    if (l->around && l->peak <= tni_plan_loose_limit(p)) {
        if (!pack_around(p, l))
            return;
        l = l->around;
    }
    tni_plan_level_spread_directly(p, l);
}

void tni_plan_level_pack(tni_plan_packing *p, tni_plan_level *l)
{
    uint64_t far = p->sections->bound + p->sections->bound / FAR_PARTS;
    memset(l->desk->is_fixed, 0, l->sections->item_count * sizeof *l->desk->is_fixed);
    for (size_t i = 0; i < TN_COUNT_OF(level_passes); i++) {
        if (tni_plan_desk_pass(l->desk, level_passes[i], p->least) < l->peak)
            tni_plan_level_take(l, l->desk->offsets);
        if (l->peak <= p->near)
            tni_plan_level_spread(p, l);
        if (l->peak <= p->least || l->peak > far || tni_plan_is_done(p))
            break;
    }
}
