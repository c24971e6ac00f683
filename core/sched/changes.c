// changes.c: an assignment that is changed a claim at a time.
#include <string.h>

#include <tenon/plugin.h>

#include "sched/solve_internal.h"

// All nodes are bare.
static void clear(tni_changes *c)
{
    const tni_problem *problem = c->problem;
    size_t places = problem->place_count;
    memset(c->chosen, 0xff, problem->node_count * sizeof *c->chosen);
    memset(c->readers_on, 0, problem->node_count * places * sizeof *c->readers_on);
    memset(c->items, 0, problem->item_count * sizeof *c->items);
    memset(c->group_nodes, 0, problem->group_count * places * sizeof *c->group_nodes);
    memset(c->nodes_on, 0, sizeof c->nodes_on);
    memset(c->used, 0, sizeof c->used);
    c->bare_count = problem->node_count;
    c->torn_count = 0;
    c->ns = 0;
}

bool tni_changes_make(const tni_problem_index *index, tni_arena *arena, tni_changes *out)
{
    const tni_problem *problem = index->problem;
    size_t places = problem->place_count;
    *out = (tni_changes){
        .index = index,
        .problem = problem,
        .chosen = tni_arena_take_array(arena, problem->node_count, sizeof *out->chosen),
        .readers_on = tni_arena_take_array(arena, problem->node_count * places,
                                           sizeof *out->readers_on),
        .items = tni_arena_take_array(arena, problem->item_count, sizeof *out->items),
        .group_nodes = tni_arena_take_array(arena, problem->group_count * places,
                                            sizeof *out->group_nodes),
    };
    if (!out->chosen || !out->readers_on || !out->items || !out->group_nodes)
        return false;
    clear(out);
    return true;
}

// What it costs that the value of `maker` is read on a place; 0 while the maker is bare.
static double copy_ns(const tni_changes *c, uint32_t maker, uint32_t place)
{
    if (c->chosen[maker] == TNP_NONE)
        return 0;
    return tni_links_cost_ns(c->problem->links, c->problem->claims[c->chosen[maker]].place, place,
                             c->problem->value_bytes[maker]);
}

static double all_copies_ns(const tni_changes *c, uint32_t maker)
{
    const uint32_t *on = &c->readers_on[(size_t)maker * c->problem->place_count];
    double ns = 0;
    for (uint32_t p = 0; p < c->problem->place_count; p++)
        if (on[p])
            ns += copy_ns(c, maker, p);
    return ns;
}

static void count_group(tni_changes *c, uint32_t node, uint32_t place, bool is_added)
{
    uint32_t group = c->problem->groups ? c->problem->groups[node] : TNP_NONE;
    if (group == TNP_NONE)
        return;
    uint32_t *on = &c->group_nodes[(size_t)group * c->problem->place_count], others = 0;
    uint64_t bytes = c->problem->group_bytes ? c->problem->group_bytes[group] : 0;
    for (uint32_t p = 0; p < c->problem->place_count; p++)
        others += p != place && on[p];
    if (is_added && on[place]++ == 0) {
        c->used[place] += bytes;
        c->torn_count += others > 0;
    } else if (!is_added && --on[place] == 0) {
        c->used[place] -= bytes;
        c->torn_count -= others > 0;
    }
}

void tni_changes_add(tni_changes *c, uint32_t claim)
{
    const tni_problem *problem = c->problem;
    const tni_problem_claim *added = &problem->claims[claim];
    uint32_t place = added->place;
    c->ns += added->cost_ns;
    c->work += (uint64_t)added->node_count * problem->place_count;
    c->used[place] += added->bytes;
    for (uint32_t i = 0; i < added->item_count; i++) {
        uint32_t item = problem->claim_items[added->first_item + i];
        if (c->items[item]++ == 0)
            c->used[place] += problem->item_bytes[item];
    }
    for (uint32_t i = 0; i < added->node_count; i++) {
        uint32_t n = added->nodes[i];
        c->chosen[n] = claim;
        c->ns += all_copies_ns(c, n);
        c->bare_count--;
        c->nodes_on[place]++;
        count_group(c, n, place, true);
        for (uint32_t e = problem->first_operand[n]; e < problem->first_operand[n + 1]; e++) {
            uint32_t maker = problem->operands[e];
            if (c->readers_on[(size_t)maker * problem->place_count + place]++ == 0)
                c->ns += copy_ns(c, maker, place);
        }
    }
}

void tni_changes_remove(tni_changes *c, uint32_t claim)
{
    const tni_problem *problem = c->problem;
    const tni_problem_claim *removed = &problem->claims[claim];
    uint32_t place = removed->place;
    c->ns -= removed->cost_ns;
    c->work += (uint64_t)removed->node_count * problem->place_count;
    c->used[place] -= removed->bytes;
    for (uint32_t i = 0; i < removed->item_count; i++) {
        uint32_t item = problem->claim_items[removed->first_item + i];
        if (--c->items[item] == 0)
            c->used[place] -= problem->item_bytes[item];
    }
    for (uint32_t i = removed->node_count; i-- > 0;) {
        uint32_t n = removed->nodes[i];
        for (uint32_t e = problem->first_operand[n]; e < problem->first_operand[n + 1]; e++) {
            uint32_t maker = problem->operands[e];
            if (--c->readers_on[(size_t)maker * problem->place_count + place] == 0)
                c->ns -= copy_ns(c, maker, place);
        }
        count_group(c, n, place, false);
        c->nodes_on[place]--;
        c->bare_count++;
        c->ns -= all_copies_ns(c, n);
        c->chosen[n] = TNP_NONE;
    }
}

// What is as it was stays: assignments that are set one after the other are much alike. After so
// many all is added up again: what sums lose meanwhile is far below TNI_ROUNDING.
void tni_changes_set(tni_changes *c, const uint32_t *chosen)
{
    enum { MOST_SETS = 256 };
    if (c->set_count++ % MOST_SETS == 0)
        clear(c);
    for (uint32_t n = 0; n < c->problem->node_count; n++)
        if (c->chosen[n] != TNP_NONE && c->chosen[n] != chosen[n])
            tni_changes_remove(c, c->chosen[n]);
    for (uint32_t n = 0; n < c->problem->node_count; n++)
        if (c->chosen[n] == TNP_NONE)   // then so are the others of its claim
            tni_changes_add(c, chosen[n]);
}

uint64_t tni_changes_above(const tni_changes *c)
{
    uint64_t above = 0;
    for (uint32_t p = 0; c->problem->limits && p < c->problem->place_count; p++) {
        uint64_t used = c->used[p];
        if (c->problem->fixed_bytes && c->nodes_on[p])
            used += c->problem->fixed_bytes[p];
        if (used > c->problem->limits[p])
            above += used - c->problem->limits[p];
    }
    return above;
}
