// pack_ruled.c: packing around what is pinned, within chunks, under an order of tracks.
//
// A pass (ruled_pass.h) places the blocks one after the other. What it gives depends on their order
// alone, so several are tried: first those that live where most bytes do, the latest, the longest,
// the largest. A pass ends at the first block that would reach what is known already; that block
// moves forward in the order, and the next pass begins: blocks that are hard to place come to the
// front by themselves (squeaky wheel optimization: Joslin and Clements, JAIR 10, 1999).
//
// Numbers are drawn from a seed of its own, and without a time limit neighbours looked at are
// counted: the same blocks give the same plan. The first pass takes what it takes, about the blocks
// times how many live with each; the others end when work or time is used up.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/macros.h"
#include "plan/ruled_pass.h"

enum {
    WORK_A_BLOCK = 4000,   // without a time: neighbours looked at,
    MOST_WORK = 2000000,   // and no more than some 20 ms
    MOST_KEPT = 1 << 22,   // entries of lists of neighbours: 16 MiB
    PATIENCE = 60          // passes without a better plan before the best order is taken up again
};

typedef uint32_t (*pass_kind)(tni_pass *pass, uint64_t limit, uint64_t *out_peak);

// By what blocks are sorted, the most first.
typedef enum order_kind { HOTTEST, LATEST, LONGEST, LARGEST_AREA, EARLIEST, LARGEST } order_kind;

typedef struct ranked {
    uint64_t key[2];   // the higher first
    uint32_t item;
} ranked;

typedef struct packing {
    tni_pass pass;
    pass_kind best_kind;   // what made the best
    uint32_t *best_order;
    uint64_t *best;   // by item: offset
    uint64_t peak;    // of the best; UINT64_MAX: none yet
    uint64_t goal;    // a peak of this needs no improving
    uint32_t seed;
    ranked *list;
    uint64_t *heat;   // by item: the largest sum of live bytes while it lives
} packing;

static uint32_t draw(packing *p, uint32_t below)
{
    p->seed = p->seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(p->seed >> 8) * below >> 24);
}

static int higher_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    for (int k = 0; k < 2; k++)
        if (x->key[k] != y->key[k])
            return x->key[k] > y->key[k] ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

// The best first: on hard instances and on layered graphs the first two led to the least most
// often.
static const struct {
    pass_kind kind;
    order_kind order;
} ways[] = {
    { tni_plan_pass_bottom_up, HOTTEST },      { tni_plan_pass_first_fit, HOTTEST },
    { tni_plan_pass_bottom_up, LATEST },       { tni_plan_pass_bottom_up, LONGEST },
    { tni_plan_pass_bottom_up, LARGEST_AREA }, { tni_plan_pass_bottom_up, EARLIEST },
    { tni_plan_pass_first_fit, LARGEST },
};

static void sort_order(packing *p, order_kind kind)
{
    for (uint32_t i = 0; i < p->pass.count; i++) {
        uint32_t index = p->pass.order[i];
        const tni_neighbours_item *item = &p->pass.neighbours.items[index];
        uint64_t steps = (uint64_t)item->until - item->first + 1, area;
        if (!tni_mul_u64(steps, item->bytes, &area))
            area = UINT64_MAX;
        const uint64_t keys[][2] = {
            [HOTTEST] = { p->heat[index], steps },
            [LATEST] = { item->until, item->bytes },
            [LONGEST] = { steps, item->bytes },
            [LARGEST_AREA] = { area, item->bytes },
            [EARLIEST] = { UINT64_MAX - item->first, item->bytes },
            [LARGEST] = { item->bytes, steps },
        };
        p->list[i] = (ranked){ { keys[kind][0], keys[kind][1] }, index };
    }
    qsort(p->list, p->pass.count, sizeof *p->list, higher_first);
    for (uint32_t i = 0; i < p->pass.count; i++)
        p->pass.order[i] = p->list[i].item;
}

// A pass that gives less than the best is kept. Where in the order it ended.
static uint32_t try_pass(packing *p, pass_kind kind)
{
    uint64_t peak = 0;
    uint32_t at = kind(&p->pass, p->peak - (p->peak != UINT64_MAX), &peak);
    if (at < p->pass.count)
        return at;
    p->peak = peak;
    p->best_kind = kind;
    memcpy(p->best_order, p->pass.order, p->pass.count * sizeof *p->pass.order);
    memcpy(p->best, p->pass.offsets, p->pass.neighbours.count * sizeof *p->best);
    return at;
}

static bool is_done(const packing *p)
{
    if (p->peak == UINT64_MAX)
        return false;
    return p->peak <= p->goal || p->peak == p->pass.pinned_end ||
           (p->pass.deadline_ns ? tni_now_ns() >= p->pass.deadline_ns
                                : p->pass.work >= p->pass.most_work);
}

static void move_forward(packing *p, uint32_t at)
{
    uint32_t *order = p->pass.order, item = order[at];
    uint32_t to = at - (at ? 1 + draw(p, draw(p, 2) ? at : 1 + at / 8) : 0);
    memmove(&order[to + 1], &order[to], (at - to) * sizeof *order);
    order[to] = item;
}

static void improve(packing *p)
{
    uint32_t failed = PATIENCE - 1;
    while (!is_done(p)) {
        uint32_t at = p->pass.count;
        if (++failed % PATIENCE)
            at = try_pass(p, p->best_kind);
        else
            memcpy(p->pass.order, p->best_order, p->pass.count * sizeof *p->pass.order);
        p->pass.work += p->pass.count;
        if (at < p->pass.count)
            move_forward(p, at);
    }
}

static void place_all(packing *p)
{
    for (size_t w = 0; w < TN_COUNT_OF(ways) && !is_done(p); w++) {
        if (ways[w].kind == tni_plan_pass_bottom_up && !p->pass.neighbours.lists)
            continue;   // it asks for the same neighbours again and again
        sort_order(p, ways[w].order);
        (void)try_pass(p, ways[w].kind);
    }
    if (p->peak != UINT64_MAX)
        improve(p);
}

static tn_status check_pins(packing *p, const tni_block *blocks, tn_error *err)
{
    tni_pass *pass = &p->pass;
    const tni_neighbours_item *items = pass->neighbours.items;
    for (uint32_t i = 0; i < pass->neighbours.count; i++) {
        uint32_t count = 0;
        const uint32_t *list = pass->is_pinned[i]
                                   ? tni_plan_neighbours_of(&pass->neighbours, i, &count)
                                   : NULL;
        for (uint32_t j = 0; j < count; j++)
            if (pass->is_pinned[list[j]] &&
                pass->offsets[i] < pass->offsets[list[j]] + items[list[j]].bytes &&
                pass->offsets[list[j]] < pass->offsets[i] + items[i].bytes)
                return tni_fail(err, TN_E_ARG,
                                "plan: what is pinned at %" PRIu64 " from step %u to %u and at "
                                "%" PRIu64 " from %u to %u may live together and shares bytes",
                                pass->offsets[i], items[i].first, blocks[items[i].block].last,
                                pass->offsets[list[j]], items[list[j]].first,
                                blocks[items[list[j]].block].last);
    }
    return TN_OK;
}

static bool make(packing *p, const tni_block *blocks, uint32_t count, const tni_block_rules *rules,
                 tni_arena *arena)
{
    p->best_order = tni_arena_take_array(arena, count, sizeof *p->best_order);
    p->best = tni_arena_take_array(arena, count, sizeof *p->best);
    p->list = tni_arena_take_array(arena, count, sizeof *p->list);
    p->heat = tni_arena_take_array(arena, count, sizeof *p->heat);
    return p->best_order && p->best && p->list && p->heat &&
           tni_plan_pass_make(blocks, count, rules, MOST_KEPT, arena, &p->pass) &&
           tni_plan_neighbours_heat(&p->pass.neighbours, arena, p->heat);
}

tn_status tni_plan_pack_ruled(tni_block *blocks, uint32_t count, const tni_block_rules *rules,
                              uint64_t bound, tni_arena *arena, uint64_t *out_peak, tn_error *err)
{
    uint64_t work = WORK_A_BLOCK * (uint64_t)count, capacity = rules->given->capacity;
    packing p = { .peak = UINT64_MAX, .goal = bound > capacity ? bound : capacity, .seed = 1 };
    if (!make(&p, blocks, count, rules, arena))
        return tni_fail_memory(err, "a memory plan",
                               (uint64_t)count * sizeof *p.pass.neighbours.items);
    p.pass.deadline_ns = rules->deadline_ns;
    p.pass.most_work = work < MOST_WORK ? work : MOST_WORK;
    tn_status status = check_pins(&p, blocks, err);
    if (status != TN_OK)
        return status;
    place_all(&p);
    if (p.peak == UINT64_MAX)
        return tni_plan_fail_wrap(err);
    for (uint32_t b = 0; b < count; b++)   // of no bytes, as far as no item
        blocks[b].offset = tni_plan_is_pinned(rules, b) ? rules->pinned[b] : 0;
    for (uint32_t i = 0; i < p.pass.neighbours.count; i++)
        blocks[p.pass.neighbours.items[i].block].offset = p.best[i];
    *out_peak = p.peak;
    for (uint32_t b = 0; b < count; b++)   // a pin of no bytes has an end too
        if (tni_plan_is_pinned(rules, b) && blocks[b].offset > *out_peak)
            *out_peak = blocks[b].offset;
    return TN_OK;
}
