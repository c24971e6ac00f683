#include "plan/neighbours.h"

#include <stdlib.h>

#include "plan/radix.h"

static int by_first(const void *a, const void *b)
{
    const tni_neighbours_item *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

// The latest step before which a block may not be over.
static uint32_t find_until(const tni_block_rules *rules, const tni_tracks *tracks, uint32_t block)
{
    uint32_t until = 0;
    for (uint32_t t = 0; t < rules->given->order->track_count; t++) {
        uint32_t over = tni_plan_first_over(rules, tracks, block, t);
        if (over > tracks->begin[t] && tracks->steps[over - 1] > until)
            until = tracks->steps[over - 1];
    }
    return until;
}

static bool find_untils(tni_neighbours *n, tni_arena *arena)
{
    tni_tracks tracks;
    if (!tni_plan_tracks_make(n->rules->given->order, arena, &tracks))
        return false;
    for (uint32_t i = 0; i < n->count; i++)
        n->items[i].until = find_until(n->rules, &tracks, n->items[i].block);
    return true;
}

static uint32_t find_reach(const tni_neighbours *n, uint32_t item)
{
    uint32_t low = item, high = n->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (n->items[middle].first > n->items[item].until)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool make_tree(tni_neighbours *n, tni_arena *arena)
{
    n->leaves = 1;
    while (n->leaves < n->count)
        n->leaves *= 2;
    n->tree = tni_arena_take_array(arena, 2 * (size_t)n->leaves, sizeof *n->tree);
    if (!n->tree)
        return false;
    for (uint32_t i = 0; i < n->count; i++)
        n->tree[n->leaves + i] = (uint64_t)n->items[i].until + 1;
    for (uint32_t node = n->leaves - 1; node > 0; node--)
        n->tree[node] = n->tree[2 * node] > n->tree[2 * node + 1] ? n->tree[2 * node]
                                                                  : n->tree[2 * node + 1];
    return true;
}

// The first leaf at or after `from` of at least this number, or TNP_NONE.
static uint32_t next_leaf(const tni_neighbours *n, uint32_t from, uint64_t least)
{
    const uint64_t *tree = n->tree;
    uint32_t node = n->leaves + from;
    if (from >= n->count)
        return TNP_NONE;
    if (tree[node] < least) {
        do {   // up, and to the right
            while (node % 2)
                node /= 2;
            if (node == 0)
                return TNP_NONE;
            node++;
        } while (tree[node] < least);
        while (node < n->leaves)
            node = tree[2 * node] >= least ? 2 * node : 2 * node + 1;
    }
    return node - n->leaves;
}

static bool may_live_together(const tni_neighbours *n, const tni_neighbours_item *x,
                              const tni_neighbours_item *y)
{
    return !n->rules->given->order || (!tni_plan_is_over(n->rules, x->block, y->first) &&
                                       !tni_plan_is_over(n->rules, y->block, x->first));
}

static uint32_t find(const tni_neighbours *n, uint32_t item, uint32_t *list)
{
    const tni_neighbours_item *own = &n->items[item];
    uint32_t count = 0;
    for (uint32_t i = next_leaf(n, 0, (uint64_t)own->first + 1); i < item;
         i = next_leaf(n, i + 1, (uint64_t)own->first + 1))
        if (may_live_together(n, own, &n->items[i]))
            list[count++] = i;
    for (uint32_t i = item + 1; i < own->reach; i++)   // what begins while it lives
        if (may_live_together(n, own, &n->items[i]))
            list[count++] = i;
    return count;
}

// Goes through the items in order, with those that are not over at hand. Counts the neighbours of
// each, or with `next` writes them into the lists; false: more than are kept.
static bool sweep(tni_neighbours *n, size_t most, uint32_t *alive, size_t *counts, size_t *next)
{
    size_t total = 0;
    uint32_t alive_count = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        uint32_t kept = 0;
        for (uint32_t a = 0; a < alive_count; a++) {
            uint32_t other = alive[a];
            if (n->items[other].until < n->items[i].first)
                continue;
            alive[kept++] = other;
            if (!may_live_together(n, &n->items[i], &n->items[other]))
                continue;
            if (next) {
                n->lists[next[i]++] = other;
                n->lists[next[other]++] = i;
            } else {
                counts[i]++;
                counts[other]++;
            }
            total += 2;
        }
        if (total > most)
            return false;
        alive[kept] = i;
        alive_count = kept + 1;
    }
    return true;
}

// The lists of all, one behind the other, when they are short enough. false: out of memory.
static bool keep_lists(tni_neighbours *n, size_t most, tni_arena *arena)
{
    size_t *begin = tni_arena_take_array(arena, (size_t)n->count + 1, sizeof *begin);
    size_t *next = tni_arena_take_array(arena, n->count, sizeof *next);
    if (!begin || !next)
        return false;
    if (!sweep(n, most, n->list, begin + 1, NULL))
        return true;
    for (uint32_t i = 0; i < n->count; i++) {
        begin[i + 1] += begin[i];
        next[i] = begin[i];
    }
    n->lists = tni_arena_take_array(arena, begin[n->count], sizeof *n->lists);
    if (!n->lists)
        return false;
    (void)sweep(n, most, n->list, NULL, next);
    n->begin = begin;
    return true;
}

bool tni_plan_neighbours_make(const tni_block *blocks, uint32_t count, const tni_block_rules *rules,
                              size_t most_kept, tni_arena *arena, tni_neighbours *out)
{
    *out = (tni_neighbours){ .rules = rules,
                             .items = tni_arena_take_array(arena, count, sizeof *out->items),
                             .list = tni_arena_take_array(arena, count, sizeof *out->list) };
    if (!out->items || !out->list)
        return false;
    for (uint32_t b = 0; b < count; b++)
        if (blocks[b].bytes)
            out->items[out->count++] = (tni_neighbours_item){ .first = blocks[b].first,
                                                              .until = blocks[b].last,
                                                              .block = b,
                                                              .bytes = blocks[b].bytes };
    qsort(out->items, out->count, sizeof *out->items, by_first);
    if (rules->given->order && !find_untils(out, arena))
        return false;
    for (uint32_t i = 0; i < out->count; i++)
        out->items[i].reach = find_reach(out, i);
    return make_tree(out, arena) && keep_lists(out, most_kept, arena);
}

const uint32_t *tni_plan_neighbours_of(tni_neighbours *n, uint32_t item, uint32_t *out_count)
{
    if (n->begin) {
        *out_count = (uint32_t)(n->begin[item + 1] - n->begin[item]);
        return n->lists + n->begin[item];
    }
    *out_count = find(n, item, n->list);
    return n->list;
}

// The sum of live bytes is highest where an item begins: a tree of these sums, and for each item
// the largest of those that begin while it lives, and its own.
bool tni_plan_neighbours_heat(const tni_neighbours *n, tni_arena *arena, uint64_t *heat)
{
    tni_keyed *ends = tni_arena_take_array(arena, n->count, sizeof *ends);
    tni_keyed *spare = tni_arena_take_array(arena, n->count, sizeof *spare);
    uint64_t *tree = tni_arena_take_array(arena, 2 * (size_t)n->leaves, sizeof *tree);
    uint64_t live = 0;
    uint32_t over = 0;
    if (!ends || !spare || !tree)
        return false;
    for (uint32_t i = 0; i < n->count; i++)
        ends[i] = (tni_keyed){ n->items[i].until, i };
    ends = tni_plan_sort(ends, spare, n->count);
    for (uint32_t i = 0; i < n->count; i++) {
        for (; ends[over].key < n->items[i].first; over++)
            live -= n->items[ends[over].what].bytes;
        live += n->items[i].bytes;
        tree[n->leaves + i] = live;
    }
    for (uint32_t node = n->leaves - 1; node > 0; node--)
        tree[node] = tree[2 * node] > tree[2 * node + 1] ? tree[2 * node] : tree[2 * node + 1];
    for (uint32_t i = 0; i < n->count; i++) {
        heat[i] = 0;
        for (uint32_t low = n->leaves + i, high = n->leaves + n->items[i].reach; low < high;
             low /= 2, high /= 2) {
            if (low % 2 && tree[low] > heat[i])
                heat[i] = tree[low];
            low += low % 2;
            if (high % 2 && tree[--high] > heat[i])
                heat[i] = tree[high];
        }
    }
    return true;
}
