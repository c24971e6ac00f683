// assign.c: which claim gets each node: a graph and the answers to it as a problem for the solver
// (problem.h), and words for what has no solution.
//
// Values that a node makes are what is copied. Bytes that are written through (states) stay on one
// place, together with those that a node touches beside them: such nodes are a group.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sched/sched_internal.h"

typedef struct assigning {
    const tni_assign_request *request;
    const tn_graph *graph;
    const tni_answers *answers;
    tni_arena *arena;
    tni_takers takers;
    uint64_t *may_hold;      // by group of storages: places that may touch it
    tni_kept kept;           // what stays on one place
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
           tni_find_kept(a->graph, a->arena, &a->kept) &&
           tni_find_takers(a->graph, a->answers, a->request->places, a->arena, &a->takers);
}

static void list_claims(assigning *a)
{
    for (uint32_t c = 0; c < a->answers->claim_count; c++) {
        const tni_claim *claim = &a->answers->claims[c];
        a->claims[c] = (tni_problem_claim){ .place = claim->place,
                                            .node_count = claim->node_count,
                                            .nodes = claim->nodes,
                                            .cost_ns = claim->cost_ns,
                                            .bytes = claim->resident_bytes };
    }
}

// Storages that the caller pins, states, and what is written through: every node that touches one
// must run where it is.
static void pin_storages(assigning *a)
{
    const uint64_t *may_be = a->request->storage_places;
    tni_kept_begin(a->graph, &a->kept, may_be, may_be ? a->request->pinned_count : 0, a->may_hold);
    for (uint32_t n = 0; n < a->graph->node_count; n++)
        tni_kept_narrow(a->graph, &a->kept, n, tni_takers_of(&a->takers, n), a->may_hold);
}

// The places and the group of each node, and what the states of each group take.
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
        a->places[n] = a->request->places;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t storage = graph->values[values[i]].storage, least = a->kept.groups[storage];
            a->places[n] &= a->may_hold[least];
            if (!a->kept.is_kept[storage])
                continue;
            if (numbers[least] == TNP_NONE)
                numbers[least] = a->problem.group_count++;
            a->groups[n] = numbers[least];
        }
    }
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (numbers[a->kept.groups[s]] != TNP_NONE && tni_storage_source(graph, s) == TNI_STATE)
            a->group_bytes[numbers[a->kept.groups[s]]] += graph->storages[s].bytes;
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
                if (tni_storage_source(graph, storage) != TNI_MADE || a->kept.is_kept[storage] ||
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

// ------------------------------------------------------------------------------------------ memory

// A weight as a claim keeps it: as it is, or packed.
typedef struct kept_weight {
    uint32_t claim, place, storage, layout;
    uint64_t group_rows, bytes;
} kept_weight;

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_weights(const void *left, const void *right)
{
    const kept_weight *a = left, *b = right;
    int order = compare(a->place, b->place);
    order = order ? order : compare(a->storage, b->storage);
    order = order ? order : compare(a->layout, b->layout);
    order = order ? order : compare(a->group_rows, b->group_rows);
    return order ? order : compare(a->bytes, b->bytes);
}

static int compare_by_claim(const void *left, const void *right)
{
    const kept_weight *a = left, *b = right;
    int order = compare(a->claim, b->claim);
    return order ? order : compare(a->storage, b->storage);
}

// The weights of one claim into `out`; NULL = count only.
static uint32_t weights_of(const assigning *a, uint32_t c, kept_weight *out)
{
    const tni_claim *claim = &a->answers->claims[c];
    uint32_t found = 0;
    for (uint32_t i = 0; i < claim->node_count; i++) {
        const tni_node *node = &a->graph->nodes[claim->nodes[i]];
        uint32_t reads[TNI_MAX_READS], count = tni_node_reads(a->graph, node, reads);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t storage = a->graph->values[reads[k]].storage;
            kept_weight weight = {
                c, claim->place, storage, 0, 0, a->graph->storages[storage].bytes
            };
            if (tni_storage_source(a->graph, storage) != TNI_WEIGHT)
                continue;
            bool is_packed = false;
            for (uint32_t p = 0; p < claim->pack_count; p++)
                if (a->graph->values[claim->packs[p].value].storage == storage) {
                    weight.layout = claim->packs[p].layout;
                    weight.group_rows = claim->packs[p].group_rows;
                    weight.bytes = claim->packs[p].bytes;
                    is_packed = true;
                }
            if (!is_packed && a->request->maps_weights >> claim->place & 1)
                continue;
            if (out)
                out[found] = weight;
            found++;
        }
    }
    return found;
}

// Items: equal weights on one place are one. Their lists by claim, without doubles.
static bool list_items(assigning *a)
{
    size_t count = 0;
    for (uint32_t c = 0; c < a->answers->claim_count; c++)
        count += weights_of(a, c, NULL);
    kept_weight *weights = tni_arena_take_array(a->arena, count, sizeof *weights);
    uint64_t *bytes = tni_arena_take_array(a->arena, count, sizeof *bytes);
    uint32_t *items = tni_arena_take_array(a->arena, count, sizeof *items);
    if (!weights || !bytes || !items || count > UINT32_MAX)
        return false;
    count = 0;
    for (uint32_t c = 0; c < a->answers->claim_count; c++)
        count += weights_of(a, c, &weights[count]);
    qsort(weights, count, sizeof *weights, compare_weights);
    for (size_t i = 0, next; i < count; i = next) {   // the storage becomes the item
        kept_weight first = weights[i];
        for (next = i; next < count && compare_weights(&first, &weights[next]) == 0; next++)
            ;
        for (size_t k = i; k < next; k++)
            weights[k].layout = a->problem.item_count;
        bytes[a->problem.item_count++] = first.bytes;
    }
    for (size_t i = 0; i < count; i++)
        weights[i].storage = weights[i].layout;
    qsort(weights, count, sizeof *weights, compare_by_claim);
    uint32_t at = 0;
    for (size_t i = 0; i < count; i++) {
        tni_problem_claim *claim = &a->claims[weights[i].claim];
        if (i && weights[i].claim == weights[i - 1].claim &&
            weights[i].storage == weights[i - 1].storage)
            continue;
        if (claim->item_count++ == 0)
            claim->first_item = at;
        items[at++] = weights[i].storage;
    }
    a->problem.claim_items = items;
    a->problem.item_bytes = bytes;
    return true;
}

// ---------------------------------------------------------------------------------------- failures

static tn_status fail_unsupported(const assigning *a, uint32_t n, tn_error *err)
{
    char reasons[400] = "";
    const tni_node *node = &a->graph->nodes[n];
    for (uint32_t place = 0; place < a->request->device_count; place++) {
        const char *reason = a->takers.any[n] >> place & 1 ? "it would have to move a state there"
                                                           : "no claim";
        for (uint32_t r = 0; r < a->answers->refusal_count; r++)
            if (a->answers->refusals[r].node == n && a->answers->refusals[r].place == place)
                reason = a->answers->refusals[r].reason;
        size_t used = strlen(reasons);
        snprintf(reasons + used, sizeof reasons - used, "%s%s: %s", place ? "; " : "",
                 a->request->devices[place]->name, reason);
    }
    return tni_fail(err, TN_E_UNSUPPORTED, "no device takes %s '%s' (%s)",
                    tni_op_find(node->op)->name, node->name, reasons);
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

tn_status tni_assign(const tni_assign_request *request, tni_arena *arena, uint32_t *chosen,
                     tni_solution *out, tn_error *err)
{
    assigning a = {
        .request = request, .graph = request->graph, .answers = request->answers, .arena = arena
    };
    if (!take_tables(&a))
        return fail_memory(&a, err);
    list_claims(&a);
    pin_storages(&a);
    if (!group_nodes(&a) || !list_operands(&a) || (request->limits && !list_items(&a)))
        return fail_memory(&a, err);
    a.problem.place_count = request->device_count;
    a.problem.node_count = a.graph->node_count;
    a.problem.claim_count = a.answers->claim_count;
    a.problem.claims = a.claims;
    a.problem.places = a.places;
    a.problem.groups = a.groups;
    a.problem.group_bytes = a.group_bytes;
    a.problem.first_before = a.graph->order.first;
    a.problem.before = a.graph->order.before;
    a.problem.links = request->links;
    a.problem.limits = request->limits;
    a.problem.fixed_bytes = request->arena_bytes;
    if (!tni_solve(&a.problem, arena, chosen, out))
        return fail_memory(&a, err);
    if (!out->is_covered)
        return fail_unsupported(&a, out->stuck_node, err);
    return out->is_found ? TN_OK : fail_full(&a, out, err);
}
