// items.c: what claims have on their places, for the solver: each once on a place, however many
// claims have it.
#include <stdlib.h>

#include "sched/sched_internal.h"

// Where a claim has an item.
typedef struct use {
    uint32_t claim, item;
} use;

static int compare_uses(const void *left, const void *right)
{
    const use *a = left, *b = right;
    return a->claim != b->claim ? (a->claim > b->claim) - (a->claim < b->claim)
                                : (a->item > b->item) - (a->item < b->item);
}

static bool is_there(const tni_memories *m, const tni_resident_bytes *what)
{
    return tni_resident_bytes_find(m->there, m->there_count, what) != TNP_NONE ||
           tni_resident_bytes_find(m->shared, m->shared_count, what) != TNP_NONE;
}

// Every constant that a claim has resident, as often as claims do; then each once.
static bool list_residents(const tni_items_request *r, tni_arena *arena,
                           tni_resident_bytes **out_all, tni_resident_bytes **out_items,
                           uint32_t *out_count, uint32_t *out_item_count)
{
    uint64_t count = 0;
    for (uint32_t c = 0; c < r->answers->claim_count; c++)
        count += tni_resident_bytes_of(r->graph, &r->answers->claims[c], r->memories, NULL);
    if (count > UINT32_MAX)
        return false;
    tni_resident_bytes *all = tni_arena_take_array(arena, count, sizeof *all);
    if (!all)
        return false;
    *out_count = 0;
    for (uint32_t c = 0; c < r->answers->claim_count; c++)
        *out_count += tni_resident_bytes_of(r->graph, &r->answers->claims[c], r->memories,
                                            &all[*out_count]);
    *out_all = all;
    *out_items = tni_arena_copy(arena, all, *out_count, sizeof *all);
    if (!*out_items && *out_count)
        return false;
    *out_item_count = tni_resident_bytes_sort(*out_items, *out_count);
    return true;
}

bool tni_list_items(const tni_items_request *r, tni_arena *arena, tni_problem_claim *claims,
                    tni_problem *problem)
{
    tni_resident_bytes *all = NULL, *items = NULL;
    uint32_t count = 0, item_count = 0, use_count = 0, at = 0;
    if (!list_residents(r, arena, &all, &items, &count, &item_count))
        return false;
    use *uses = tni_arena_take_array(arena, count, sizeof *uses);
    uint64_t *bytes = tni_arena_take_array(arena, item_count, sizeof *bytes);
    uint32_t *list = tni_arena_take_array(arena, count, sizeof *list);
    if (!uses || !bytes || !list)
        return false;
    for (uint32_t i = 0; i < item_count; i++)   // what is there already takes nothing more
        bytes[i] = is_there(r->memories, &items[i]) ? 0 : items[i].bytes;
    for (uint32_t c = 0; c < r->answers->claim_count; c++) {
        uint32_t own = tni_resident_bytes_of(r->graph, &r->answers->claims[c], r->memories, NULL);
        for (uint32_t i = 0; i < own; i++, use_count++)
            uses[use_count] = (use){ c,
                                     tni_resident_bytes_find(items, item_count, &all[use_count]) };
    }
    if (use_count)
        qsort(uses, use_count, sizeof *uses, compare_uses);
    for (uint32_t i = 0; i < use_count; i++) {
        tni_problem_claim *claim = &claims[uses[i].claim];
        if (i && compare_uses(&uses[i], &uses[i - 1]) == 0)
            continue;
        if (claim->item_count++ == 0)
            claim->first_item = at;
        list[at++] = uses[i].item;
    }
    problem->claim_items = list;
    problem->item_bytes = bytes;
    problem->item_count = item_count;
    return true;
}
