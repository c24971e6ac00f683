// reasons.c: why a schedule is as it is: what each device offered for a node, what the whole would
// cost if a unit ran elsewhere, and why a segment begins where it does.
//
// Nothing here is kept: it is found anew when somebody asks, from the answers and the schedule.
#include <math.h>
#include <string.h>

#include "base/integer.h"
#include "base/lists.h"
#include "sched/sched_internal.h"

// ---------------------------------------------------------------------------------------- by node

// Lists by key, in two passes over add: counts, then fills.
typedef struct listing {
    uint32_t *first;   // by key, and one more
    uint32_t *items;   // NULL = counts
} listing;

static void add(listing *l, uint32_t key, uint32_t item)
{
    if (l->items)
        l->items[tni_lists_next(l->first, key)] = item;
    else
        tni_lists_count(l->first, key);
}

static bool end_counting(listing *l, uint32_t keys, tni_arena *arena)
{
    l->items = tni_arena_take_array(arena, tni_lists_sum(l->first, keys), sizeof *l->items);
    return l->items != NULL;
}

static void list_claims(const tni_answers *answers, listing *l)
{
    for (uint32_t c = 0; c < answers->claim_count; c++)
        for (uint32_t i = 0; i < answers->claims[c].node_count; i++)
            add(l, answers->claims[c].nodes[i], c);
}

static void list_refusals(const tni_answers *answers, listing *l)
{
    for (uint32_t r = 0; r < answers->refusal_count; r++)
        add(l, answers->refusals[r].node, r);
}

// Only of bytes that a node makes and that may be copied. seen: by storage, the node that was
// listed last; a node reads a storage once, however many of its operands look at it.
static void list_readers(const tn_graph *graph, const bool *is_tied, uint32_t *seen, listing *l)
{
    memset(seen, 0xff, graph->storage_count * sizeof *seen);
    for (uint32_t n = 0; n < graph->node_count; n++) {
        uint32_t values[TNI_MAX_READS], count = tni_node_reads(graph, &graph->nodes[n], values);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t storage = graph->values[values[i]].storage;
            if (seen[storage] == n || is_tied[storage] ||
                tni_storage_source(graph, storage) != TNI_MADE)
                continue;
            seen[storage] = n;
            add(l, storage, n);
        }
    }
}

bool tni_offers_make(const tni_schedule *schedule, tni_arena *arena, tni_offers *out)
{
    const tn_graph *graph = schedule->graph;
    uint32_t nodes = graph->node_count, storages = graph->storage_count;
    listing claims = { .first = tni_lists_begin(arena, nodes) };
    listing refusals = { .first = tni_lists_begin(arena, nodes) };
    listing readers = { .first = tni_lists_begin(arena, storages) };
    tni_ties ties;
    uint32_t *seen = tni_arena_take_array(arena, storages, sizeof *seen);
    if (!seen || !claims.first || !refusals.first || !readers.first ||
        !tni_ties_find(graph, arena, &ties))
        return false;
    list_claims(schedule->answers, &claims);
    list_refusals(schedule->answers, &refusals);
    list_readers(graph, ties.is_tied, seen, &readers);
    if (!end_counting(&claims, nodes, arena) || !end_counting(&refusals, nodes, arena) ||
        !end_counting(&readers, storages, arena))
        return false;
    list_claims(schedule->answers, &claims);
    list_refusals(schedule->answers, &refusals);
    list_readers(graph, ties.is_tied, seen, &readers);
    *out = (tni_offers){ .schedule = schedule,
                         .first_claim = claims.first,
                         .claims = claims.items,
                         .first_refusal = refusals.first,
                         .refusals = refusals.items,
                         .first_reader = readers.first,
                         .readers = readers.items,
                         .is_tied = ties.is_tied };
    return true;
}

const char *tni_refusal_of(const tni_offers *o, uint32_t node, uint32_t place)
{
    const tni_answers *answers = o->schedule->answers;
    for (uint32_t i = o->first_refusal[node]; i < o->first_refusal[node + 1]; i++)
        if (answers->refusals[o->refusals[i]].place == place)
            return answers->refusals[o->refusals[i]].reason;
    return NULL;
}

// ------------------------------------------------------------------------------------------- moves

// The cheapest claim at a place on these nodes together; INFINITY = there is none.
static double cheapest_ns(const tni_offers *o, const uint32_t *nodes, uint32_t count,
                          uint32_t place)
{
    double least = INFINITY;
    for (uint32_t i = o->first_claim[nodes[0]]; i < o->first_claim[nodes[0] + 1]; i++) {
        const tni_claim *claim = &o->schedule->answers->claims[o->claims[i]];
        if (claim->place == place && claim->node_count == count && claim->cost_ns < least &&
            memcmp(claim->nodes, nodes, count * sizeof *nodes) == 0)
            least = claim->cost_ns;
    }
    return least;
}

// The same, or of each node alone. *out_lacking: a node that is not taken there.
static double claims_ns(const tni_offers *o, const tni_claim *unit, uint32_t place,
                        uint32_t *out_lacking)
{
    double together = cheapest_ns(o, unit->nodes, unit->node_count, place), sum = 0;
    for (uint32_t i = 0; i < unit->node_count; i++) {
        double alone = cheapest_ns(o, &unit->nodes[i], 1, place);
        if (alone == INFINITY && sum != INFINITY)
            *out_lacking = unit->nodes[i];
        sum += alone;
    }
    return together < sum ? together : sum;
}

// Copies of what a node makes, if the nodes of a unit ran at `place`.
static double copies_ns(const tni_offers *o, uint32_t storage, const tni_claim *unit,
                        uint32_t place)
{
    const tni_schedule *s = o->schedule;
    uint32_t maker = s->graph->values[s->graph->storages[storage].owner].node;
    uint32_t from = tni_is_among(unit->nodes, unit->node_count, maker) ? place : s->places[maker];
    uint64_t readers = 0;
    double sum = 0;
    for (uint32_t i = o->first_reader[storage]; i < o->first_reader[storage + 1]; i++)
        readers |= UINT64_C(1) << (tni_is_among(unit->nodes, unit->node_count, o->readers[i])
                                       ? place
                                       : s->places[o->readers[i]]);
    for (uint32_t to = 0; to < s->links->place_count; to++)
        if (readers >> to & 1)
            sum += tni_links_cost_ns(s->links, from, to, s->graph->storages[storage].bytes);
    return sum;
}

// What the copies of a node's operands and of what it makes cost more at `place`. Of a unit of
// several nodes a storage counts with the first that touches it.
static double more_copies_ns(const tni_offers *o, const tni_claim *unit, uint32_t place)
{
    const tn_graph *graph = o->schedule->graph;
    double more = 0;
    for (uint32_t k = 0; k < unit->node_count; k++) {
        const tni_node *node = &graph->nodes[unit->nodes[k]];
        uint32_t values[TNI_MAX_READS + 1], count = tni_node_touches(graph, node, values);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t storage = graph->values[values[i]].storage;
            bool is_first = !o->is_tied[storage] && tni_storage_source(graph, storage) == TNI_MADE;
            for (uint32_t j = 0; j < i && is_first; j++)
                is_first = graph->values[values[j]].storage != storage;
            for (uint32_t before = 0; before < k && is_first; before++) {
                uint32_t others[TNI_MAX_READS + 1];
                uint32_t number = tni_node_touches(graph, &graph->nodes[unit->nodes[before]],
                                                   others);
                for (uint32_t j = 0; j < number && is_first; j++)
                    is_first = graph->values[others[j]].storage != storage;
            }
            if (is_first)
                more += copies_ns(o, storage, unit, place) -
                        copies_ns(o, storage, unit, unit->place);
        }
    }
    return more;
}

tni_move tni_move_of(const tni_offers *o, uint32_t step, uint32_t place)
{
    const tni_claim *unit = o->schedule->units[step];
    tni_move move = { .lacking = TNP_NONE, .tied = TNP_NONE, .here_ns = unit->cost_ns };
    for (uint32_t i = 0; i < unit->node_count && move.tied == TNP_NONE; i++)
        move.tied = tni_ties_touched(o->schedule->graph, o->is_tied, unit->nodes[i]);
    move.there_ns = claims_ns(o, unit, place, &move.lacking);
    move.is_taken = move.there_ns != INFINITY;
    if (move.is_taken)
        move.more_ns = move.there_ns - move.here_ns + more_copies_ns(o, unit, place);
    return move;
}

// -------------------------------------------------------------------------------------- boundaries

// Whether what keeps the step from a place is memory, or its rule.
static bool is_barred(const tni_offers *o, uint32_t step, uint32_t place, bool *out_is_roomless)
{
    const tni_claim *unit = o->schedule->units[step];
    const tni_bars *bars = &o->schedule->bars;
    bool is = false;
    for (uint32_t i = 0; i < unit->node_count; i++) {
        is |= bars->barred[unit->nodes[i]] >> place & 1;
        *out_is_roomless |= bars->roomless[unit->nodes[i]] >> place & 1;
    }
    return is || *out_is_roomless;
}

static uint32_t begins_by(tni_why rule, const tni_move *move)
{
    switch (rule) {
    case TNI_WHY_PINNED:
        return TN_BEGINS_PIN;
    case TNI_WHY_LAYER:
        return TN_BEGINS_LAYER;
    case TNI_WHY_MEMORY:
        return TN_BEGINS_MEMORY;
    default:
        return move->tied != TNP_NONE ? TN_BEGINS_STATE
               : move->more_ns > 0    ? TN_BEGINS_COST
                                      : TN_BEGINS_ORDER;
    }
}

tni_why tni_step_rule(const tni_offers *o, uint32_t step)
{
    const tni_claim *unit = o->schedule->units[step];
    for (uint32_t i = 0; i < unit->node_count; i++)
        if (o->schedule->bars.why[unit->nodes[i]] != TNI_WHY_COST)
            return (tni_why)o->schedule->bars.why[unit->nodes[i]];
    return TNI_WHY_COST;
}

tni_boundary tni_boundary_of(const tni_offers *o, uint32_t segment)
{
    const tni_schedule *s = o->schedule;
    uint32_t step = s->segments[segment].first_unit;
    tni_boundary b = { .why = TN_BEGINS_FIRST, .node = s->units[step]->nodes[0] };
    if (segment == 0)
        return b;
    b.before = s->segments[segment - 1].place;
    if (b.before == s->segments[segment].place) {
        b.why = TN_BEGINS_OVERLAP;
        return b;
    }
    b.move = tni_move_of(o, step, b.before);
    tni_why rule = is_barred(o, step, b.before, &b.is_roomless) ? tni_step_rule(o, step)
                                                                : TNI_WHY_COST;
    b.why = b.move.is_taken ? begins_by(b.is_roomless ? TNI_WHY_MEMORY : rule, &b.move)
                            : TN_BEGINS_UNSUPPORTED;
    if (!b.move.is_taken)
        b.node = b.move.lacking;
    return b;
}
