// assign_words.c: words for what cannot be assigned: the node and each device's reason, or the
// device that lacks most.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sched/assign.h"

// Texts that do not fit are cut. All reasons, with the node's name, are to fit into an error.
enum { BY_BYTES = 40, REASON_BYTES = 200, REASONS_BYTES = 400 };

static const char *storage_name(const tni_assigning *a, uint32_t storage)
{
    return a->graph->values[a->graph->storages[storage].owner].name;
}

static const char *op_name(const tni_assigning *a, uint32_t n)
{
    return tni_op_find(a->graph->nodes[n].op)->name;
}

// What the node touches, is tied, and cannot be on this place: a storage. *out_node: the first node
// that touches it, or what is tied to it, and has no place there; TNP_NONE = there is none, it has
// been put elsewhere.
static uint32_t tied_elsewhere(const tni_assigning *a, uint32_t n, uint32_t place,
                               uint32_t *out_node)
{
    const uint32_t *tied_to = a->ties.tied_to;
    uint32_t storage = tni_ties_touched(a->graph, a->ties.is_tied, n);
    *out_node = TNP_NONE;
    if (storage == TNP_NONE || (a->asked.holds[tied_to[storage]] >> place & 1))
        return TNP_NONE;
    for (uint32_t m = 0; m < a->graph->node_count; m++) {
        uint32_t other = tni_ties_touched(a->graph, a->ties.is_tied, m);
        uint64_t may = tni_takers_of(&a->takers, m) & tni_rule_of(&a->ruling, m).demand;
        if (other == TNP_NONE || tied_to[other] != tied_to[storage] || (may >> place & 1))
            continue;
        *out_node = m;
        break;
    }
    return storage;
}

static const char *refusal_of(const tni_assigning *a, uint32_t n, uint32_t place)
{
    bool is_closed = !(tni_places_of(a->request) >> place & 1);
    return tni_refusal_words(a->answers, n, place, is_closed ? a->request->closed_why : NULL);
}

// Why a node cannot be on a place that takes it: of what it touches, something cannot.
static void tell_tied(const tni_assigning *a, uint32_t n, uint32_t place, char *out, size_t bytes)
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
static const char *asked_by(const tni_assigning *a, uint32_t n, char *room, size_t bytes)
{
    const char *by = tni_rule_of(&a->ruling, n).by;
    tni_format_text(room, bytes, by ? "placement: %s: " : "", by);
    return room;
}

// A node that is taken where it is demanded to be, but for something too large for any buffer
// there.
static tn_status fail_too_large(const tni_assigning *a, uint32_t n, uint32_t place,
                                uint32_t storage, tn_error *err)
{
    char by[BY_BYTES];
    return tni_fail(err, TN_E_DEVICE_MEMORY,
                    "%s'%s' is ordered to be on %s, but '%s' has %" PRIu64
                    " bytes, and a buffer there has at most %" PRIu64,
                    asked_by(a, n, by, sizeof by), a->graph->nodes[n].name,
                    a->request->devices[place]->name, storage_name(a, storage),
                    a->graph->storages[storage].bytes, a->request->memories.largest[place]);
}

// The same of the scratch and the packs that it needs there.
static tn_status fail_cramped(const tni_assigning *a, uint32_t n, uint32_t place, tn_error *err)
{
    char by[BY_BYTES];
    return tni_fail(err, TN_E_DEVICE_MEMORY,
                    "%s'%s' is ordered to be on %s, but the scratch or a packed weight that it "
                    "needs there is larger than a buffer there, which has at most %" PRIu64
                    " bytes",
                    asked_by(a, n, by, sizeof by), a->graph->nodes[n].name,
                    a->request->devices[place]->name, a->request->memories.largest[place]);
}

// A node that is taken where it is demanded to be, with something that another node touches which
// is not taken there.
static tn_status fail_together(const tni_assigning *a, uint32_t n, uint32_t place, uint32_t storage,
                               uint32_t other, tn_error *err)
{
    char by[BY_BYTES];
    return tni_fail(err, TN_E_UNSUPPORTED,
                    "%s'%s' is ordered to be on %s, which does not take %s '%s' with it: %s",
                    asked_by(a, n, by, sizeof by), storage_name(a, storage),
                    a->request->devices[place]->name, op_name(a, other),
                    a->graph->nodes[other].name, refusal_of(a, other, place));
}

tn_status tni_assign_fail_unsupported(const tni_assigning *a, uint32_t n, tn_error *err)
{
    char reasons[REASONS_BYTES] = "", moved[REASON_BYTES];
    const tni_node *node = &a->graph->nodes[n];
    for (uint32_t place = 0; place < a->request->device_count; place++) {
        tni_rule rule = tni_rule_of(&a->ruling, n);
        bool is_taken = a->takers.any[n] >> place & 1;
        uint32_t large = tni_rules_too_large(&a->ruling, n, place);
        bool is_demanded = is_taken && rule.demand == UINT64_C(1) << place;
        if (is_demanded && large != TNP_NONE)
            return fail_too_large(a, n, place, large, err);
        if (is_demanded && (a->takers.cramped[n] >> place & 1))
            return fail_cramped(a, n, place, err);
        uint32_t other, storage = tied_elsewhere(a, n, place, &other);
        if (is_demanded && other != TNP_NONE && !(a->takers.any[other] >> place & 1))
            return fail_together(a, n, place, storage, other, err);
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

tn_status tni_assign_fail_full(const tni_assigning *a, const tni_solution *solution, tn_error *err)
{
    uint32_t place = solution->full_place;
    return tni_fail(err, TN_E_DEVICE_MEMORY,
                    "weights and states do not fit: at least %" PRIu64
                    " bytes would be on %s, %" PRIu64 " are free, %" PRIu64 " are lacking",
                    solution->used[place], a->request->devices[place]->name,
                    a->request->limits[place], solution->lacking_bytes);
}
