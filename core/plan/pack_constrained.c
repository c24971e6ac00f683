// pack_constrained.c: packing around what is pinned, within chunks, under an order of tracks.
//
// A pass (pack_pass.h) places the blocks one after the other. What it gives depends on their order
// alone, so several are tried: first those that live where most bytes do, the latest, the longest,
// the largest. A pass ends at the first block that would reach what is known already; that block
// moves forward in the order, and the next pass begins: blocks that are hard to place come to the
// front by themselves (squeaky wheel optimization: Joslin and Clements, JAIR 10, 1999).
//
// Numbers are drawn from a seed of its own, and without a time limit neighbours looked at are
// counted: the same blocks give the same plan. Work and time are looked at between passes; one pass
// costs about the blocks times how many live with each.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/macros.h"
#include "plan/pack_pass.h"

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
    uint64_t *best;         // by item: offset
    uint64_t peak;          // of the best; UINT64_MAX: none yet
    uint64_t goal;          // a peak of this needs no improving
    uint64_t deadline_ns;   // 0: none
    uint64_t most_work;     // without a deadline
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
    { tni_plan_pass_skyline, HOTTEST },      { tni_plan_pass_first_fit, HOTTEST },
    { tni_plan_pass_skyline, LATEST },       { tni_plan_pass_skyline, LONGEST },
    { tni_plan_pass_skyline, LARGEST_AREA }, { tni_plan_pass_skyline, EARLIEST },
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
           (p->deadline_ns ? tni_now_ns() >= p->deadline_ns : p->pass.work >= p->most_work);
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
        sort_order(p, ways[w].order);
        (void)try_pass(p, ways[w].kind);
    }
    if (p->peak != UINT64_MAX)
        improve(p);
}

static int by_until(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->key[0] < y->key[0] ? -1 : x->key[0] > y->key[0];
}

// The sum of live bytes is highest where an item begins: a tree of these sums, and for each item
// the largest of those that begin while it lives, and its own.
static void find_heat(packing *p, uint64_t *tree)
{
    tni_neighbours *n = &p->pass.neighbours;
    uint64_t live = 0;
    uint32_t over = 0;
    for (uint32_t i = 0; i < n->count; i++)
        p->list[i] = (ranked){ { n->items[i].until, 0 }, i };
    qsort(p->list, n->count, sizeof *p->list, by_until);
    for (uint32_t i = 0; i < n->count; i++) {
        for (; p->list[over].key[0] < n->items[i].first; over++)
            live -= n->items[p->list[over].item].bytes;
        live += n->items[i].bytes;
        tree[n->leaves + i] = live;
    }
    for (uint32_t node = n->leaves - 1; node > 0; node--)
        tree[node] = tree[2 * node] > tree[2 * node + 1] ? tree[2 * node] : tree[2 * node + 1];
    for (uint32_t i = 0; i < n->count; i++) {
        p->heat[i] = 0;
        for (uint32_t low = n->leaves + i, high = n->leaves + n->items[i].reach; low < high;
             low /= 2, high /= 2) {
            if (low % 2 && tree[low] > p->heat[i])
                p->heat[i] = tree[low];
            low += low % 2;
            if (high % 2 && tree[--high] > p->heat[i])
                p->heat[i] = tree[high];
        }
    }
}

// Pinned blocks have their offsets, the others come into the order.
static void take_pins(packing *p, const tni_block_rules *rules)
{
    tni_pass *pass = &p->pass;
    for (uint32_t i = 0; i < pass->neighbours.count; i++) {
        uint32_t block = pass->neighbours.items[i].block;
        pass->is_pinned[i] = rules->pinned && rules->pinned[block] != TNI_NOT_PINNED;
        if (pass->is_pinned[i])
            pass->offsets[i] = rules->pinned[block];
        else
            pass->order[pass->count++] = i;
    }
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

static bool take_tables(packing *p, const tni_block *blocks, uint32_t count,
                        const tni_block_rules *rules, tni_arena *arena)
{
    tni_pass *pass = &p->pass;
    pass->offsets = tni_arena_take_array(arena, count, sizeof *pass->offsets);
    pass->is_pinned = tni_arena_take_array(arena, count, sizeof *pass->is_pinned);
    pass->order = tni_arena_take_array(arena, count, sizeof *pass->order);
    pass->is_placed = tni_arena_take_array(arena, count, sizeof *pass->is_placed);
    pass->found = tni_arena_take_array(arena, count, sizeof *pass->found);
    pass->merged = tni_arena_take_array(arena, count, sizeof *pass->merged);
    pass->rank = tni_arena_take_array(arena, count, sizeof *pass->rank);
    pass->floor = tni_arena_take_array(arena, count, sizeof *pass->floor);
    pass->heap = tni_arena_take_array(arena, count, sizeof *pass->heap);
    p->best_order = tni_arena_take_array(arena, count, sizeof *p->best_order);
    p->best = tni_arena_take_array(arena, count, sizeof *p->best);
    p->list = tni_arena_take_array(arena, count, sizeof *p->list);
    p->heat = tni_arena_take_array(arena, count, sizeof *p->heat);
    return pass->offsets && pass->is_pinned && pass->order && pass->is_placed && pass->found &&
           pass->merged && pass->rank && pass->floor && pass->heap && p->best_order && p->best &&
           p->list && p->heat &&
           tni_plan_neighbours_make(blocks, count, rules, MOST_KEPT, arena, &pass->neighbours);
}

tn_status tni_plan_place_constrained(tni_block *blocks, uint32_t count,
                                     const tni_block_rules *rules, uint64_t bound, tni_arena *arena,
                                     uint64_t *out_peak, tn_error *err)
{
    const tni_plan_rules *given = rules->rules;
    packing p = { .pass.chunk_bytes = given->chunk_bytes,
                  .peak = UINT64_MAX,
                  .goal = bound > given->capacity ? bound : given->capacity,
                  .deadline_ns = given->time_limit_ns ? tni_now_ns() + given->time_limit_ns : 0,
                  .seed = 1 };
    uint64_t *tree = NULL;
    if (take_tables(&p, blocks, count, rules, arena))
        tree = tni_arena_take_array(arena, 2 * (size_t)p.pass.neighbours.leaves, sizeof *tree);
    if (!tree)
        return tni_fail_memory(err, "a memory plan",
                               (uint64_t)count * sizeof *p.pass.neighbours.items);
    for (uint32_t b = 0; b < count; b++) {
        bool is_pinned = rules->pinned && rules->pinned[b] != TNI_NOT_PINNED;
        blocks[b].offset = is_pinned ? rules->pinned[b] : 0;
        uint64_t end = blocks[b].offset + (is_pinned ? blocks[b].bytes : 0);
        p.pass.pinned_end = end > p.pass.pinned_end ? end : p.pass.pinned_end;
    }
    take_pins(&p, rules);
    tn_status status = check_pins(&p, blocks, err);
    if (status != TN_OK)
        return status;
    p.most_work = WORK_A_BLOCK * (uint64_t)count < MOST_WORK ? WORK_A_BLOCK * (uint64_t)count
                                                             : MOST_WORK;
    find_heat(&p, tree);
    place_all(&p);
    if (p.peak == UINT64_MAX)
        return tni_fail(err, TN_E_DEVICE_MEMORY,
                        "the values of this graph together exceed 2^64 bytes");
    for (uint32_t i = 0; i < p.pass.neighbours.count; i++)
        blocks[p.pass.neighbours.items[i].block].offset = p.best[i];
    *out_peak = p.peak;
    return TN_OK;
}
