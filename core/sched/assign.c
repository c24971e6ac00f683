// assign.c: which claim gets each node: a graph and the answers to it as a problem for the solver
// (problem.h).
//
// Values that a node makes are what is copied. Bytes that are written through (states) stay on one
// place, together with those that a node touches beside them: such nodes are a group.
#include <string.h>

#include "base/error.h"
#include "sched/assign.h"

static bool take_tables(tni_assigning *a)
{
    uint32_t nodes = a->graph->node_count, storages = a->graph->storage_count;
    a->places = tni_arena_take_array(a->arena, nodes, sizeof *a->places);
    a->groups = tni_arena_take_indices(a->arena, nodes);
    a->group_bytes = tni_arena_take_array(a->arena, storages, sizeof *a->group_bytes);
    a->claims = tni_arena_take_array(a->arena, a->answers->claim_count, sizeof *a->claims);
    return a->places && a->groups && a->group_bytes && a->claims &&
           tni_ties_find(a->graph, a->arena, &a->ties) &&
           tni_find_takers(a->graph, a->answers, a->request, a->arena, &a->takers);
}

static void list_claims(tni_assigning *a)
{
    for (uint32_t c = 0; c < a->answers->claim_count; c++) {
        const tni_claim *claim = &a->answers->claims[c];
        const double *times = a->assigned->is_decomposed ? a->request->own_times : NULL;
        a->claims[c] = (tni_problem_claim){ .place = claim->place,
                                            .node_count = claim->node_count,
                                            .nodes = claim->nodes,
                                            .cost_ns = claim->cost_ns *
                                                       (times ? times[claim->place] : 1),
                                            .bytes = claim->resident_bytes };
    }
}

// Claims that cannot run, where each of their nodes has another on the same place. Where one has
// none, no place has: it is for the layout to say what is lacking.
static void leave_out_cramped(tni_assigning *a)
{
    for (uint32_t c = 0; c < a->answers->claim_count; c++) {
        const tni_claim *claim = &a->answers->claims[c];
        bool has_others = tni_claim_is_cramped(&a->request->memories, claim);
        for (uint32_t i = 0; i < claim->node_count && has_others; i++)
            has_others = !(a->takers.cramped[claim->nodes[i]] >> claim->place & 1);
        a->claims[c].is_out = has_others;
    }
}

static bool is_same_unit(const tni_claim *a, const tni_claim *b)
{
    return a->place == b->place && a->node_count == b->node_count &&
           memcmp(a->nodes, b->nodes, a->node_count * sizeof *a->nodes) == 0;
}

static bool is_like(const tni_assigning *a, const tni_claim *claim)
{
    const tni_schedule *like = a->request->like;
    return is_same_unit(claim, like->units[like->steps[claim->nodes[0]]]);
}

// Leaves no other choice than that of the schedule which this one is to be like. *out_places: by
// node; NULL where not all of it is offered.
static bool follow(tni_assigning *a, uint64_t **out_places)
{
    const tni_schedule *like = a->request->like;
    uint32_t nodes = a->graph->node_count, met = 0;
    uint64_t *places = tni_arena_take_array(a->arena, nodes, sizeof *places);
    *out_places = NULL;
    if (!places || like->graph->node_count != nodes)
        return places != NULL;
    for (uint32_t c = 0; c < a->answers->claim_count; c++) {
        const tni_claim *claim = &a->answers->claims[c];
        for (uint32_t i = 0; i < claim->node_count && is_like(a, claim); i++) {
            met += places[claim->nodes[i]] == 0;
            places[claim->nodes[i]] = UINT64_C(1) << claim->place;
        }
    }
    for (uint32_t c = 0; c < a->answers->claim_count && met == nodes; c++)
        a->claims[c].is_out = !is_like(a, &a->answers->claims[c]);
    *out_places = met == nodes ? places : NULL;
    return true;
}

// Storages that the caller pins, states, what is written through, and what is asked of nodes.
static bool find_places(tni_assigning *a, const tni_bars *bars)
{
    const uint64_t *may_be = a->request->storage_places;
    uint32_t count = a->request->graph->storage_count;
    return tni_asked_make(&a->ruling, a->arena, may_be, NULL, count, &a->asked) &&
           tni_rules_apply(&a->ruling, a->arena, &a->asked, a->places, bars);
}

// The group of each node, and what the states of each group take.
static bool group_nodes(tni_assigning *a)
{
    const tn_graph *graph = a->graph;
    uint32_t *numbers = tni_arena_take_indices(a->arena,
                                               graph->storage_count);   // by least storage
    if (!numbers)
        return false;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t storage = tni_ties_touched(graph, a->ties.is_tied, n);
        if (storage == TNP_NONE)
            continue;
        uint32_t *number = &numbers[a->ties.tied_to[storage]];
        if (*number == TNP_NONE)
            *number = a->problem.group_count++;
        a->groups[n] = *number;
    }
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (numbers[a->ties.tied_to[s]] != TNP_NONE && tni_storage_source(graph, s) == TNI_STATE)
            a->group_bytes[numbers[a->ties.tied_to[s]]] += graph->storages[s].bytes;
    return true;
}

// What each node reads of what others make, each once; two passes: count, then fill.
static bool list_operands(tni_assigning *a)
{
    const tn_graph *graph = a->graph;
    uint32_t *first = tni_arena_take_array(a->arena, (size_t)graph->node_count + 1, sizeof *first);
    uint64_t *bytes = tni_arena_take_array(a->arena, graph->node_count, sizeof *bytes);
    uint32_t *seen = tni_arena_take_indices(a->arena, graph->node_count), *operands = NULL;
    if (!first || !bytes || !seen)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t at = 0;
        for (uint32_t n = 0; n < graph->node_count; n++) {
            uint32_t reads[TNI_MAX_READS], count = tni_node_reads(graph, &graph->nodes[n], reads);
            first[n] = at;
            for (uint32_t i = 0; i < count; i++) {
                uint32_t storage = graph->values[reads[i]].storage;
                uint32_t maker = graph->values[graph->storages[storage].owner].node;
                uint32_t now = 2 * n + (uint32_t)pass;
                if (tni_storage_source(graph, storage) != TNI_MADE || a->ties.is_tied[storage] ||
                    seen[maker] == now)
                    continue;
                seen[maker] = now;
                if (pass == 1)
                    operands[at] = maker;
                at++;
            }
            bytes[n] = graph->storages[graph->values[graph->nodes[n].output].storage].bytes;
        }
        first[graph->node_count] = at;
        if (pass == 0 && !(operands = tni_arena_take_array(a->arena, at, sizeof *operands)))
            return false;
    }
    a->problem.first_operand = first;
    a->problem.operands = operands;
    a->problem.value_bytes = bytes;
    return true;
}

static tn_status fail_memory(const tni_assigning *a, tn_error *err)
{
    return tni_fail(err, TN_E_HOST_MEMORY, "not enough memory to assign %u nodes",
                    a->graph->node_count);
}

tn_status tni_assign(const tni_assign_request *assigned, tni_arena *arena, uint32_t *chosen,
                     const tni_bars *bars, tni_solution *out, tn_error *err)
{
    const tni_schedule_request *request = assigned->of;
    tni_assigning a = { .assigned = assigned,
                        .request = request,
                        .graph = assigned->graph,
                        .answers = assigned->answers,
                        .arena = arena };
    a.ruling = (tni_ruling){ .graph = a.graph,
                             .device_count = request->device_count,
                             .places = tni_places_of(request),
                             .answers = a.answers,
                             .takers = &a.takers,
                             .ties = &a.ties,
                             .rules = request->rules,
                             .is_decomposed = assigned->is_decomposed,
                             .memories = &request->memories };
    uint64_t *followed = NULL;
    if (!take_tables(&a))
        return fail_memory(&a, err);
    list_claims(&a);
    tni_items_request items = { a.graph, a.answers, &request->memories };
    if (!find_places(&a, bars) || !group_nodes(&a) || !list_operands(&a) ||
        (request->limits && !tni_list_items(&items, arena, a.claims, &a.problem)))
        return fail_memory(&a, err);
    a.problem.place_count = request->device_count;
    a.problem.node_count = a.graph->node_count;
    a.problem.claim_count = a.answers->claim_count;
    a.problem.claims = a.claims;
    a.problem.groups = a.groups;
    a.problem.group_bytes = a.group_bytes;
    a.problem.first_before = a.graph->order.first;
    a.problem.before = a.graph->order.before;
    a.problem.links = assigned->links;
    a.problem.limits = request->limits;
    a.problem.fixed_bytes = request->arena_bytes;
    if (request->like && !follow(&a, &followed))
        return fail_memory(&a, err);
    if (followed) {
        a.problem.places = followed;
        if (!tni_solve(&a.problem, arena, chosen, out))
            return fail_memory(&a, err);
        if (out->is_found)
            return TN_OK;
    }
    leave_out_cramped(&a);
    a.problem.places = a.places;
    if (!tni_solve(&a.problem, arena, chosen, out))
        return fail_memory(&a, err);
    if (!out->is_covered)
        return tni_assign_fail_unsupported(&a, out->stuck_node, err);
    return out->is_found ? TN_OK : tni_assign_fail_full(&a, out, err);
}
