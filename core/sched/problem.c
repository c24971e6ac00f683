// problem.c: what follows from a problem alone; what an assignment costs and needs.
#include "sched/problem.h"

#include <string.h>

#include <tenon/plugin.h>

#include "base/lists.h"

static bool is_allowed(const tni_problem *problem, const tni_problem_claim *claim,
                       const uint64_t *group_places)
{
    uint64_t here = UINT64_C(1) << claim->place;
    if (claim->is_out)
        return false;
    for (uint32_t i = 0; i < claim->node_count; i++) {
        uint32_t n = claim->nodes[i], group = problem->groups ? problem->groups[n] : TNP_NONE;
        if (!(problem->places[n] & here) || (group != TNP_NONE && !(group_places[group] & here)))
            return false;
    }
    return true;
}

// A group can only be where every node of it has a claim.
static bool find_useless(tni_problem_index *index, tni_arena *arena)
{
    const tni_problem *problem = index->problem;
    uint64_t *takers = tni_arena_take_array(arena, problem->node_count, sizeof *takers);
    uint64_t *groups = tni_arena_take_array(arena, problem->group_count, sizeof *groups);
    if (!takers || !groups)
        return false;
    memset(groups, 0xff, problem->group_count * sizeof *groups);
    for (uint32_t c = 0; c < problem->claim_count; c++)
        for (uint32_t i = 0; i < problem->claims[c].node_count && !problem->claims[c].is_out; i++)
            takers[problem->claims[c].nodes[i]] |= UINT64_C(1) << problem->claims[c].place;
    for (uint32_t n = 0; n < problem->node_count; n++)
        if (problem->groups && problem->groups[n] != TNP_NONE)
            groups[problem->groups[n]] &= takers[n] & problem->places[n];
    for (uint32_t c = 0; c < problem->claim_count; c++)
        index->is_useless[c] = !is_allowed(problem, &problem->claims[c], groups);
    return true;
}

// Whether b can always be replaced by a: the same nodes and place, and never more cost or bytes.
static bool replaces(const tni_problem *problem, uint32_t a, uint32_t b)
{
    const tni_problem_claim *x = &problem->claims[a], *y = &problem->claims[b];
    if (x->place != y->place || x->node_count != y->node_count || x->cost_ns > y->cost_ns ||
        memcmp(x->nodes, y->nodes, x->node_count * sizeof *x->nodes) != 0)
        return false;
    if (problem->limits && (x->bytes > y->bytes || x->item_count)) {
        size_t item_bytes = x->item_count * sizeof *problem->claim_items;
        if (x->bytes > y->bytes || x->item_count != y->item_count ||
            memcmp(&problem->claim_items[x->first_item], &problem->claim_items[y->first_item],
                   item_bytes) != 0)
            return false;
    }
    return x->cost_ns < y->cost_ns || a < b;
}

static bool has_place_twice(const tni_problem_index *index, uint32_t node)
{
    uint64_t seen = 0;
    for (uint32_t i = index->first_claim[node]; i < index->first_claim[node + 1]; i++) {
        uint64_t here = UINT64_C(1) << index->problem->claims[index->claims[i]].place;
        if (seen & here)
            return true;
        seen |= here;
    }
    return false;
}

// Claims of a node are few: each is compared with each that begins at the same node.
// Whether one was dropped.
static bool drop_replaced(tni_problem_index *index)
{
    const tni_problem *problem = index->problem;
    bool is_any = false;
    for (uint32_t n = 0; n < problem->node_count; n++) {
        if (!has_place_twice(index, n))
            continue;
        for (uint32_t i = index->first_claim[n]; i < index->first_claim[n + 1]; i++) {
            uint32_t b = index->claims[i];
            for (uint32_t j = index->first_claim[n];
                 j < index->first_claim[n + 1] && problem->claims[b].nodes[0] == n; j++) {
                uint32_t a = index->claims[j];
                if (a != b && problem->claims[a].place == problem->claims[b].place &&
                    !index->is_useless[a] && replaces(problem, a, b))
                    index->is_useless[b] = is_any = true;
            }
        }
    }
    return is_any;
}

// The lists of claims by node, of those that are of use; made again, they have no more of them.
static bool list_claims(tni_problem_index *index, tni_arena *arena)
{
    const tni_problem *problem = index->problem;
    uint32_t *first = tni_lists_begin(arena, problem->node_count);
    if (!first)
        return false;
    index->first_claim = first;
    for (uint32_t c = 0; c < problem->claim_count; c++)
        for (uint32_t i = 0; i < problem->claims[c].node_count && !index->is_useless[c]; i++)
            tni_lists_count(first, problem->claims[c].nodes[i]);
    uint32_t count = tni_lists_sum(first, problem->node_count);
    if (!index->claims)
        index->claims = tni_arena_take_array(arena, count, sizeof *index->claims);
    if (!index->claims)
        return false;
    index->has_fusions = false;
    for (uint32_t c = 0; c < problem->claim_count; c++) {
        if (index->is_useless[c])
            continue;
        index->has_fusions |= problem->claims[c].node_count > 1;
        for (uint32_t i = 0; i < problem->claims[c].node_count; i++)
            index->claims[tni_lists_next(first, problem->claims[c].nodes[i])] = c;
    }
    return true;
}

static bool list_readers(tni_problem_index *index, tni_arena *arena)
{
    const tni_problem *problem = index->problem;
    uint32_t nodes = problem->node_count, count = problem->first_operand[nodes];
    uint32_t *first = tni_lists_begin(arena, nodes);
    index->first_reader = first;
    index->readers = tni_arena_take_array(arena, count, sizeof *index->readers);
    if (!first || !index->readers)
        return false;
    for (uint32_t e = 0; e < count; e++)
        tni_lists_count(first, problem->operands[e]);
    tni_lists_sum(first, nodes);
    for (uint32_t n = 0; n < nodes; n++)
        for (uint32_t e = problem->first_operand[n]; e < problem->first_operand[n + 1]; e++)
            index->readers[tni_lists_next(first, problem->operands[e])] = n;
    return true;
}

bool tni_problem_index_make(const tni_problem *problem, tni_arena *arena, tni_problem_index *out)
{
    uint32_t nodes = problem->node_count;
    *out = (tni_problem_index){
        .problem = problem,
        .is_useless = tni_arena_take_array(arena, problem->claim_count, sizeof *out->is_useless),
        .stamps = tni_arena_take_array(arena, (size_t)problem->item_count + problem->group_count,
                                       sizeof *out->stamps),
        .stack_unit = tni_arena_take_array(arena, nodes, sizeof *out->stack_unit),
        .stack_node = tni_arena_take_array(arena, nodes, sizeof *out->stack_node),
        .stack_edge = tni_arena_take_array(arena, nodes, sizeof *out->stack_edge),
        .unit_color = tni_arena_take_array(arena, nodes, sizeof *out->unit_color),
    };
    if (!out->is_useless || !out->stamps || !out->stack_unit || !out->stack_node ||
        !out->stack_edge || !out->unit_color || !list_readers(out, arena) ||
        !find_useless(out, arena) || !list_claims(out, arena))
        return false;
    return !drop_replaced(out) || list_claims(out, arena);
}

double tni_problem_cost_ns(const tni_problem_index *index, const uint32_t *chosen)
{
    const tni_problem *problem = index->problem;
    double ns = 0;
    for (uint32_t n = 0; n < problem->node_count; n++) {
        const tni_problem_claim *claim = &problem->claims[chosen[n]];
        uint64_t read = 0;
        if (claim->nodes[0] == n)
            ns += claim->cost_ns;
        for (uint32_t e = index->first_reader[n]; e < index->first_reader[n + 1]; e++)
            read |= UINT64_C(1) << problem->claims[chosen[index->readers[e]]].place;
        read &= ~(UINT64_C(1) << claim->place);
        for (; read; read &= read - 1)
            ns += tni_links_cost_ns(problem->links, claim->place, (uint32_t)__builtin_ctzll(read),
                                    problem->value_bytes[n]);
    }
    return ns;
}

uint32_t tni_problem_cheapest_alone(const tni_problem_index *index, uint32_t node, uint32_t place)
{
    const tni_problem_claim *claims = index->problem->claims;
    uint32_t best = TNP_NONE;
    for (uint32_t i = index->first_claim[node]; i < index->first_claim[node + 1]; i++) {
        const tni_problem_claim *claim = &claims[index->claims[i]];
        if (claim->node_count == 1 && (place == TNP_NONE || claim->place == place) &&
            (best == TNP_NONE || claim->cost_ns < claims[best].cost_ns))
            best = index->claims[i];
    }
    return best;
}

uint64_t tni_problem_used(tni_problem_index *index, const uint32_t *chosen, uint64_t *used)
{
    const tni_problem *problem = index->problem;
    uint64_t above = 0, used_places = 0;
    memset(used, 0, problem->place_count * sizeof *used);
    index->stamp++;
    for (uint32_t n = 0; n < problem->node_count; n++) {
        const tni_problem_claim *claim = &problem->claims[chosen[n]];
        uint32_t group = problem->groups ? problem->groups[n] : TNP_NONE;
        used_places |= UINT64_C(1) << claim->place;
        if (group != TNP_NONE && index->stamps[problem->item_count + group] != index->stamp) {
            index->stamps[problem->item_count + group] = index->stamp;
            used[claim->place] += problem->group_bytes ? problem->group_bytes[group] : 0;
        }
        if (claim->nodes[0] != n)
            continue;
        used[claim->place] += claim->bytes;
        for (uint32_t i = 0; i < claim->item_count; i++) {
            uint32_t item = problem->claim_items[claim->first_item + i];
            if (index->stamps[item] != index->stamp)
                used[claim->place] += problem->item_bytes[item];
            index->stamps[item] = index->stamp;
        }
    }
    for (uint32_t p = 0; p < problem->place_count; p++) {
        if ((used_places >> p & 1) && problem->fixed_bytes)
            used[p] += problem->fixed_bytes[p];
        if (problem->limits && used[p] > problem->limits[p])
            above += used[p] - problem->limits[p];
    }
    return above;
}

// ------------------------------------------------------------------------------------------- order

enum { WHITE, GREY, BLACK };

// A unit is known by its first node. The walk goes against the edges: from a unit to those that it
// waits for. A frame knows which node of its unit is at hand, and the next edge of that.
typedef struct walk {
    tni_problem_index *index;
    const uint32_t *chosen;
    uint32_t depth;
} walk;

static uint32_t unit_of(const walk *w, uint32_t node)
{
    return w->index->problem->claims[w->chosen[node]].nodes[0];
}

static void enter(walk *w, uint32_t unit)
{
    w->index->unit_color[unit] = GREY;
    w->index->stack_unit[w->depth] = unit;
    w->index->stack_node[w->depth] = 0;
    w->index->stack_edge[w->depth++] = 0;
}

// The next unit that the top one waits for, or TNP_NONE.
static uint32_t next_unit(const walk *w)
{
    const tni_problem *problem = w->index->problem;
    uint32_t top = w->depth - 1;
    const tni_problem_claim *claim = &problem->claims[w->chosen[w->index->stack_unit[top]]];
    uint32_t *at = &w->index->stack_node[top], *edge = &w->index->stack_edge[top];
    for (; *at < claim->node_count; (*at)++, *edge = 0) {
        uint32_t first = problem->first_before[claim->nodes[*at]];
        if (*edge < problem->first_before[claim->nodes[*at] + 1] - first)
            return unit_of(w, problem->before[first + (*edge)++]);
    }
    return TNP_NONE;
}

bool tni_problem_has_order(tni_problem_index *index, const uint32_t *chosen, uint32_t *cycle,
                           uint32_t *out_count)
{
    const tni_problem *problem = index->problem;
    walk w = { .index = index, .chosen = chosen };
    *out_count = 0;
    if (!index->has_fusions)
        return true;
    memset(index->unit_color, 0, problem->node_count * sizeof *index->unit_color);
    for (uint32_t n = 0; n < problem->node_count; n++) {
        if (unit_of(&w, n) != n || index->unit_color[n] != WHITE)
            continue;
        enter(&w, n);
        while (w.depth) {
            uint32_t unit = index->stack_unit[w.depth - 1], next = next_unit(&w);
            if (next == TNP_NONE) {
                index->unit_color[unit] = BLACK;
                w.depth--;
            } else if (next != unit && index->unit_color[next] == WHITE) {
                enter(&w, next);
            } else if (next != unit && index->unit_color[next] == GREY) {
                for (uint32_t d = w.depth; d-- > 0;) {
                    uint32_t claim = chosen[index->stack_unit[d]];
                    if (problem->claims[claim].node_count > 1)
                        cycle[(*out_count)++] = claim;
                    if (index->stack_unit[d] == next)
                        return false;
                }
            }
        }
    }
    return true;
}
