// assign.c: which claim gets each node: in order, each to the claim that is cheapest given where
// its operands are.
//
// A claim on several nodes is weighed against the cheapest single claims on the same nodes. Bytes
// that are written through (states) stay on one device: the first one chosen of those that take
// every node which touches them, together with the bytes that such a node touches beside them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sched/sched_internal.h"

typedef struct assigning {
    const tni_assign_request *request;
    const tn_graph *graph;
    const tni_answers *answers;
    uint32_t *next_claim;    // by claim: the next with the same first node; TNP_NONE ends
    uint32_t *first_claim;   // by node
    double *single_ns;       // by node: cheapest claim on it alone
    uint64_t *takes_alone;   // by node: places with a claim on it alone
    uint64_t *takes;         // by node: places with any claim on it
    uint64_t *may_hold;      // by group of storages: places that may touch it
    uint64_t *holds;         // by storage: places where its bytes are
    tni_kept kept;           // what stays on one place
    uint32_t *chosen;        // by node: claim, or TNP_NONE
} assigning;

static void index_claims(assigning *a)
{
    for (uint32_t n = 0; n < a->graph->node_count; n++) {
        a->first_claim[n] = a->chosen[n] = TNP_NONE;
        a->single_ns[n] = INFINITY;
    }
    for (uint32_t c = a->answers->claim_count; c-- > 0;) {
        const tni_claim *claim = &a->answers->claims[c];
        uint32_t first = claim->nodes[0];
        a->next_claim[c] = TNP_NONE;
        bool is_open = a->request->places >> claim->place & 1;
        if (!is_open || (claim->node_count > 1 && a->request->single_nodes_only))
            continue;
        for (uint32_t i = 0; i < claim->node_count; i++)
            a->takes[claim->nodes[i]] |= UINT64_C(1) << claim->place;
        if (claim->node_count == 1)
            a->takes_alone[first] |= UINT64_C(1) << claim->place;
        if (claim->node_count == 1 && claim->cost_ns < a->single_ns[first])
            a->single_ns[first] = claim->cost_ns;
        a->next_claim[c] = a->first_claim[first];
        a->first_claim[first] = c;
    }
}

// Storages that the caller pins, states, and what is written through: every node that touches one
// must run where it is. Fusions count only where no device takes the node alone: whether one can be
// chosen depends on its other nodes.
static void pin_storages(assigning *a)
{
    const tn_graph *graph = a->graph;
    const uint64_t *may_be = a->request->storage_places;
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        if (a->kept.groups[s] == s)   // the least of its group comes first
            a->may_hold[s] = UINT64_MAX;
        if (may_be && s < a->request->pinned_count)
            a->may_hold[a->kept.groups[s]] &= may_be[s];
    }
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint64_t takers = a->takes_alone[n] ? a->takes_alone[n] : a->takes[n];

        uint32_t values[TNI_MAX_READS + 1],
            count = tni_node_touches(graph, &graph->nodes[n], values);
        for (uint32_t i = 0; i < count; i++)
            if (a->kept.is_kept[graph->values[values[i]].storage])
                a->may_hold[a->kept.groups[graph->values[values[i]].storage]] &= takers;
    }
}

// Whether the claim can be chosen now, and what that adds: its cost, what must be moved to it, less
// the single claims.
static bool weigh(const assigning *a, const tni_claim *claim, double *out_ns)
{
    const tn_graph *graph = a->graph;
    double ns = claim->cost_ns;
    uint64_t here = UINT64_C(1) << claim->place;
    for (uint32_t i = 0; i < claim->node_count; i++) {
        uint32_t n = claim->nodes[i];
        if (a->chosen[n] != TNP_NONE)
            return false;
        if (claim->node_count > 1)
            ns -= a->single_ns[n];
        uint32_t values[TNI_MAX_READS + 1],
            count = tni_node_touches(graph, &graph->nodes[n], values);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t storage = graph->values[values[k]].storage;
            if (!(a->may_hold[a->kept.groups[storage]] & here))
                return false;
            if (tni_storage_source(graph, storage) == TNI_MADE && a->holds[storage] &&
                !(a->holds[storage] & here))
                ns += tni_transfer_cost_ns(graph->storages[storage].bytes);
        }
    }
    *out_ns = ns;
    return true;
}

// What is read is here from now on, what is made or written is only here; a storage that is kept
// has found its place.
static void choose(assigning *a, uint32_t c)
{
    const tn_graph *graph = a->graph;
    const tni_claim *claim = &a->answers->claims[c];
    uint64_t here = UINT64_C(1) << claim->place;
    for (uint32_t i = 0; i < claim->node_count; i++) {
        uint32_t n = claim->nodes[i];
        a->chosen[n] = c;
        uint32_t values[TNI_MAX_READS + 1],
            count = tni_node_touches(graph, &graph->nodes[n], values);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t storage = graph->values[values[k]].storage;
            a->holds[storage] |= here;
            if (a->kept.is_kept[storage])
                a->may_hold[a->kept.groups[storage]] = here;
        }
        a->holds[graph->values[graph->nodes[n].output].storage] = here;
    }
}

static tn_status fail_unsupported(const assigning *a, uint32_t n, tn_error *err)
{
    char reasons[400] = "";
    const tni_node *node = &a->graph->nodes[n];
    for (uint32_t place = 0; place < a->request->device_count; place++) {
        const char *reason = "no claim";
        for (uint32_t c = a->first_claim[n]; c != TNP_NONE; c = a->next_claim[c])
            if (a->answers->claims[c].place == place)
                reason = "it would have to move a state there";
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

static tn_status assign_all(assigning *a, tn_error *err)
{
    for (uint32_t n = 0; n < a->graph->node_count; n++) {
        if (a->chosen[n] != TNP_NONE)
            continue;
        uint32_t best = TNP_NONE;
        double best_ns = INFINITY, ns;
        for (uint32_t c = a->first_claim[n]; c != TNP_NONE; c = a->next_claim[c]) {
            const tni_claim *claim = &a->answers->claims[c];
            if (!weigh(a, claim, &ns))
                continue;
            if (claim->node_count > 1)   // comparable with a claim on this node alone
                ns += isfinite(a->single_ns[n]) ? a->single_ns[n] : 0;
            if (best == TNP_NONE || ns < best_ns) {
                best = c;
                best_ns = ns;
            }
        }
        if (best == TNP_NONE)
            return fail_unsupported(a, n, err);
        choose(a, best);
    }
    return TN_OK;
}

tn_status tni_assign(const tni_assign_request *request, tni_arena *arena, uint32_t *chosen,
                     tn_error *err)
{
    const tn_graph *graph = request->graph;
    assigning a = {
        .request = request,
        .graph = graph,
        .answers = request->answers,
        .next_claim = tni_arena_take_array(arena, request->answers->claim_count,
                                           sizeof *a.next_claim),
        .first_claim = tni_arena_take_array(arena, graph->node_count, sizeof *a.first_claim),
        .single_ns = tni_arena_take_array(arena, graph->node_count, sizeof *a.single_ns),
        .takes_alone = tni_arena_take_array(arena, graph->node_count, sizeof *a.takes_alone),
        .takes = tni_arena_take_array(arena, graph->node_count, sizeof *a.takes),
        .may_hold = tni_arena_take_array(arena, graph->storage_count, sizeof *a.may_hold),
        .holds = tni_arena_take_array(arena, graph->storage_count, sizeof *a.holds),
        .chosen = chosen,
    };
    if (!a.next_claim || !a.first_claim || !a.single_ns || !a.takes_alone || !a.takes ||
        !a.may_hold || !a.holds || !tni_find_kept(graph, arena, &a.kept))
        return tni_fail(err, TN_E_HOST_MEMORY, "not enough memory to assign %u nodes",
                        graph->node_count);
    index_claims(&a);
    pin_storages(&a);
    return assign_all(&a, err);
}
