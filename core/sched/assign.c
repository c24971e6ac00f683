// assign.c: which claim gets each node: a graph and the answers to it as a problem for the solver
// (problem.h), and words for what has no solution.
//
// Values that a node makes are what is copied. Bytes that are written through (states) stay on one
// place, together with those that a node touches beside them: such nodes are a group.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sched/sched_internal.h"

typedef struct assigning {
    const tni_assign_request *assigned;
    const tni_schedule_request *request;   // of which it is
    const tn_graph *graph;
    const tni_answers *answers;
    tni_arena *arena;
    tni_takers takers;
    uint64_t *may_hold;      // by least storage of those tied to it: places that may touch them
    tni_ties ties;           // what stays on one place
    uint64_t *places;        // by node
    uint32_t *groups;        // by node
    uint64_t *group_bytes;   // by group, at most as many as storages
    tni_problem_claim *claims;
    tni_problem problem;
} assigning;

static bool take_tables(assigning *a)
{
    uint32_t nodes = a->graph->node_count, storages = a->graph->storage_count;
    a->may_hold = tni_arena_take_array(a->arena, storages, sizeof *a->may_hold);
    a->places = tni_arena_take_array(a->arena, nodes, sizeof *a->places);
    a->groups = tni_arena_take_indices(a->arena, nodes);
    a->group_bytes = tni_arena_take_array(a->arena, storages, sizeof *a->group_bytes);
    a->claims = tni_arena_take_array(a->arena, a->answers->claim_count, sizeof *a->claims);
    return a->may_hold && a->places && a->groups && a->group_bytes && a->claims &&
           tni_ties_find(a->graph, a->arena, &a->ties) &&
           tni_find_takers(a->graph, a->answers, a->request, a->arena, &a->takers);
}

static void list_claims(assigning *a)
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
static void leave_out_cramped(assigning *a)
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

static bool is_like(const assigning *a, const tni_claim *claim)
{
    const tni_schedule *like = a->request->like;
    return is_same_unit(claim, like->units[like->steps[claim->nodes[0]]]);
}

// Leaves no other choice than that of the schedule which this one is to be like. *out_places: by
// node; NULL where not all of it is offered.
static bool follow(assigning *a, uint64_t **out_places)
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

static tni_ruling ruling_of(const assigning *a)
{
    return (tni_ruling){ .graph = a->graph,
                         .device_count = a->request->device_count,
                         .places = tni_places_of(a->request),
                         .answers = a->answers,
                         .takers = &a->takers,
                         .ties = &a->ties,
                         .rules = a->request->rules,
                         .is_decomposed = a->assigned->is_decomposed,
                         .memories = &a->request->memories };
}

// Storages that the caller pins, states, what is written through, and what is asked of nodes.
static bool find_places(assigning *a, const tni_bars *bars)
{
    const uint64_t *may_be = a->request->storage_places;
    tni_ruling ruling = ruling_of(a);
    tni_ties_begin(a->graph, &a->ties, may_be, may_be ? a->request->graph->storage_count : 0,
                   a->may_hold);
    return tni_rules_apply(&ruling, a->arena, a->may_hold, a->places, bars);
}

// The group of each node, and what the states of each group take.
static bool group_nodes(assigning *a)
{
    const tn_graph *graph = a->graph;
    uint32_t *numbers = tni_arena_take_indices(a->arena,
                                               graph->storage_count);   // by least storage
    if (!numbers)
        return false;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t values[TNI_MAX_READS + 1],
            count = tni_node_touches(graph, &graph->nodes[n], values);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t storage = graph->values[values[i]].storage, least = a->ties.tied_to[storage];
            if (!a->ties.is_tied[storage])
                continue;
            if (numbers[least] == TNP_NONE)
                numbers[least] = a->problem.group_count++;
            a->groups[n] = numbers[least];
        }
    }
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (numbers[a->ties.tied_to[s]] != TNP_NONE && tni_storage_source(graph, s) == TNI_STATE)
            a->group_bytes[numbers[a->ties.tied_to[s]]] += graph->storages[s].bytes;
    return true;
}

// What each node reads of what others make, each once; two passes: count, then fill.
static bool list_operands(assigning *a)
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

// ---------------------------------------------------------------------------------------- failures

static const char *storage_name(const assigning *a, uint32_t storage)
{
    return a->graph->values[a->graph->storages[storage].owner].name;
}

static const char *op_name(const assigning *a, uint32_t n)
{
    return tni_op_find(a->graph->nodes[n].op)->name;
}

// What the node touches, stays on one place, and cannot be on this one: a storage. *out_node: the
// first other node that touches it, or what stays with it, and has no place there; TNP_NONE = there
// is none, it has been put elsewhere.
static uint32_t tied_elsewhere(const assigning *a, uint32_t n, uint32_t place, uint32_t *out_node)
{
    const tn_graph *graph = a->graph;
    tni_ruling ruling = ruling_of(a);
    uint32_t values[TNI_MAX_READS + 1], found = TNP_NONE;
    uint32_t count = tni_node_touches(graph, &graph->nodes[n], values);
    *out_node = TNP_NONE;
    for (uint32_t i = 0; i < count && found == TNP_NONE; i++) {
        uint32_t storage = graph->values[values[i]].storage;
        if (a->ties.is_tied[storage] && !(a->may_hold[a->ties.tied_to[storage]] >> place & 1))
            found = storage;
    }
    for (uint32_t m = 0; m < graph->node_count && found != TNP_NONE; m++) {
        count = tni_node_touches(graph, &graph->nodes[m], values);
        uint64_t may = tni_takers_of(&a->takers, m) & tni_rule_of(&ruling, m).demand;
        for (uint32_t i = 0; i < count && !(may >> place & 1); i++) {
            uint32_t storage = graph->values[values[i]].storage;
            if (a->ties.is_tied[storage] && a->ties.tied_to[storage] == a->ties.tied_to[found]) {
                *out_node = m;
                return found;
            }
        }
    }
    return found;
}

static const char *refusal_of(const assigning *a, uint32_t n, uint32_t place)
{
    for (uint32_t r = 0; r < a->answers->refusal_count; r++)
        if (a->answers->refusals[r].node == n && a->answers->refusals[r].place == place)
            return a->answers->refusals[r].reason;
    return "no claim";
}

// Why a node cannot be on a place that takes it: of what it touches, something cannot.
static void tell_tied(const assigning *a, uint32_t n, uint32_t place, char *out, size_t bytes)
{
    uint32_t other, storage = tied_elsewhere(a, n, place, &other);
    const char *name = storage == TNP_NONE ? a->graph->nodes[n].name : storage_name(a, storage);
    if (other == TNP_NONE)
        tni_format_text(out, bytes, "it would have to move '%s' there", name);
    else if (a->takers.any[other] >> place & 1)
        tni_format_text(out, bytes,
                        "it would have to move '%s' there, with %s '%s', which is ordered to be "
                        "elsewhere",
                        name, op_name(a, other), a->graph->nodes[other].name);
    else
        tni_format_text(
            out, bytes, "it would have to move '%s' there, with %s '%s', which is not taken: %s",
            name, op_name(a, other), a->graph->nodes[other].name, refusal_of(a, other, place));
}

// "placement: pins: ", of what is demanded of a node; "" = nothing is.
static const char *asked_by(const assigning *a, uint32_t n, char *room, size_t bytes)
{
    tni_ruling ruling = ruling_of(a);
    const char *by = tni_rule_of(&ruling, n).by;
    tni_format_text(room, bytes, by ? "placement: %s: " : "", by);
    return room;
}

// A node that is taken where it is demanded to be, but for something too large for any buffer
// there.
static tn_status fail_too_large(const assigning *a, uint32_t n, uint32_t place, uint32_t storage,
                                tn_error *err)
{
    char by[40];
    return tni_fail(err, TN_E_DEVICE_MEMORY,
                    "%s'%s' is ordered to be on %s, but '%s' has %" PRIu64
                    " bytes, and a buffer there has at most %" PRIu64,
                    asked_by(a, n, by, sizeof by), a->graph->nodes[n].name,
                    a->request->devices[place]->name, storage_name(a, storage),
                    a->graph->storages[storage].bytes, a->request->memories.largest[place]);
}

// The same of the scratch and the packs that it needs there.
static tn_status fail_cramped(const assigning *a, uint32_t n, uint32_t place, tn_error *err)
{
    char by[40];
    return tni_fail(err, TN_E_DEVICE_MEMORY,
                    "%s'%s' is ordered to be on %s, but the scratch or a packed weight that it "
                    "needs there is larger than a buffer there, which has at most %" PRIu64
                    " bytes",
                    asked_by(a, n, by, sizeof by), a->graph->nodes[n].name,
                    a->request->devices[place]->name, a->request->memories.largest[place]);
}

// A node that is taken where it is demanded to be, with something that another node touches which
// is not taken there.
static tn_status fail_order(const assigning *a, uint32_t n, uint32_t place, uint32_t storage,
                            uint32_t other, tn_error *err)
{
    char by[40];
    return tni_fail(err, TN_E_UNSUPPORTED,
                    "%s'%s' is ordered to be on %s, which does not take %s '%s' with it: %s",
                    asked_by(a, n, by, sizeof by), storage_name(a, storage),
                    a->request->devices[place]->name, op_name(a, other),
                    a->graph->nodes[other].name, refusal_of(a, other, place));
}

static tn_status fail_unsupported(const assigning *a, uint32_t n, tn_error *err)
{
    char reasons[400] = "", moved[200];
    const tni_node *node = &a->graph->nodes[n];
    for (uint32_t place = 0; place < a->request->device_count; place++) {
        tni_ruling ruling = ruling_of(a);
        tni_rule rule = tni_rule_of(&ruling, n);
        bool is_taken = a->takers.any[n] >> place & 1;
        uint32_t large = tni_rules_too_large(&ruling, n, place);
        bool is_ordered = is_taken && rule.demand == UINT64_C(1) << place;
        if (is_ordered && large != TNP_NONE)
            return fail_too_large(a, n, place, large, err);
        if (is_ordered && (a->takers.cramped[n] >> place & 1))
            return fail_cramped(a, n, place, err);
        uint32_t other, storage = tied_elsewhere(a, n, place, &other);
        if (is_ordered && other != TNP_NONE && !(a->takers.any[other] >> place & 1))
            return fail_order(a, n, place, storage, other, err);
        tell_tied(a, n, place, moved, sizeof moved);
        const char *reason = is_taken && !(rule.demand >> place & 1)
                                 ? "it is ordered to be elsewhere"
                             : is_taken ? moved
                                        : refusal_of(a, n, place);
        size_t used = strlen(reasons);
        snprintf(reasons + used, sizeof reasons - used, "%s%s: %s", place ? "; " : "",
                 a->request->devices[place]->name, reason);
    }
    return tni_fail(err, TN_E_UNSUPPORTED, "%sno device takes %s '%s' (%s)",
                    asked_by(a, n, moved, sizeof moved), op_name(a, n), node->name, reasons);
}

static tn_status fail_memory(const assigning *a, tn_error *err)
{
    return tni_fail(err, TN_E_HOST_MEMORY, "not enough memory to assign %u nodes",
                    a->graph->node_count);
}

static tn_status fail_full(const assigning *a, const tni_solution *solution, tn_error *err)
{
    uint32_t place = solution->full_place;
    return tni_fail(err, TN_E_DEVICE_MEMORY,
                    "weights and states do not fit: at least %" PRIu64
                    " bytes would be on %s, %" PRIu64 " are free, %" PRIu64 " are lacking",
                    solution->used[place], a->request->devices[place]->name,
                    a->request->limits[place], solution->lacking_bytes);
}

tn_status tni_assign(const tni_assign_request *assigned, tni_arena *arena, uint32_t *chosen,
                     const tni_bars *bars, tni_solution *out, tn_error *err)
{
    const tni_schedule_request *request = assigned->of;
    assigning a = { .assigned = assigned,
                    .request = request,
                    .graph = assigned->graph,
                    .answers = assigned->answers,
                    .arena = arena };
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
        return fail_unsupported(&a, out->stuck_node, err);
    return out->is_found ? TN_OK : fail_full(&a, out, err);
}
