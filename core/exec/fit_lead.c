// fit_lead.c: one assignment for all graphs of a session, by how often each is likely to run: where
// states and, while memory is short, weights are.
//
// Graphs of one session share weights and states, so what suits one of them decides over the
// others. Of graphs that are the same nodes for other sizes (a model's, by batch) claims and copies
// cost what they do in each, times its runs; the assignment of that problem is nobody's schedule,
// but what it keeps, and where, is what the schedules of the graphs then follow.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "exec/fit_internal.h"

typedef struct leading {
    tn_session *session;
    tni_compiled *base;   // the graph that the problem is said in
    tni_arena scratch;
    tni_answers blended;
    double *own_times;   // by place: as claims became dearer
    tni_links links;
    double runs;
    bool is_whole;   // all graphs are in it
} leading;

static double made_bytes(const tn_graph *graph)
{
    double bytes = 0;
    for (uint32_t s = 0; s < graph->storage_count; s++)
        if (tni_storage_source(graph, s) == TNI_MADE)
            bytes += (double)graph->storages[s].bytes;
    return bytes;
}

// What needs the largest buffers.
static tni_compiled *find_base(const tn_session *session)
{
    tni_compiled *found = NULL;
    for (uint32_t g = 0; g < session->graph_count; g++) {
        tni_compiled *c = session->graphs[g];
        if (c->given.runs > 0 && (!found || made_bytes(c->graph) > made_bytes(found->graph)))
            found = c;
    }
    return found;
}

// Whether nodes with one index are the same work.
static bool is_alike(const tn_graph *a, const tn_graph *b)
{
    if (a->node_count != b->node_count)
        return false;
    for (uint32_t n = 0; n < a->node_count; n++)
        if (a->nodes[n].op != b->nodes[n].op || a->nodes[n].mark.layer != b->nodes[n].mark.layer ||
            a->nodes[n].mark.part != b->nodes[n].mark.part)
            return false;
    return true;
}

// [place * node_count + node]: what the cheapest claim costs there, a node's share of it.
static double *take_shares(leading *l, const tni_compiled *c)
{
    uint32_t nodes = c->graph->node_count;
    size_t count = (size_t)l->session->lane_count * nodes;
    double *shares = tni_arena_take_array(&l->scratch, count, sizeof *shares);
    for (size_t i = 0; i < count && shares; i++)
        shares[i] = INFINITY;
    for (uint32_t i = 0; i < c->answers.claim_count && shares; i++) {
        const tni_claim *claim = &c->answers.claims[i];
        for (uint32_t n = 0; n < claim->node_count; n++) {
            double *share = &shares[(size_t)claim->place * nodes + claim->nodes[n]];
            *share = fmin(*share, claim->cost_ns / claim->node_count);
        }
    }
    return shares;
}

static bool is_same(const tni_claim *a, const tni_claim *b)
{
    return a->place == b->place && a->node_count == b->node_count &&
           memcmp(a->nodes, b->nodes, a->node_count * sizeof *a->nodes) == 0;
}

// What the claim at `index` of the base costs in another graph: the same claim, or its nodes.
static double cost_in(const tni_compiled *c, const double *shares, const tni_claim *claim,
                      uint32_t index)
{
    if (index < c->answers.claim_count && is_same(claim, &c->answers.claims[index]))
        return c->answers.claims[index].cost_ns;
    double cost = 0;
    for (uint32_t n = 0; n < claim->node_count; n++)
        cost += shares[(size_t)claim->place * c->graph->node_count + claim->nodes[n]];
    return isfinite(cost) ? cost : claim->cost_ns;
}

static bool copy_answers(leading *l)
{
    const tni_answers *of = &l->base->answers;
    tni_answers *to = &l->blended;
    tni_arena_init(&to->arena, &l->session->arena.allocator);
    if (!tni_grow(&to->arena.allocator, &to->claims, &to->claim_capacity, of->claim_count,
                  sizeof *to->claims) ||
        !tni_grow(&to->arena.allocator, &to->refusals, &to->refusal_capacity, of->refusal_count,
                  sizeof *to->refusals))
        return false;
    for (uint32_t i = 0; i < of->claim_count; i++) {
        to->claims[i] = of->claims[i];
        to->claims[i].cost_ns = 0;
    }
    for (uint32_t i = 0; i < of->refusal_count; i++)
        to->refusals[i] = of->refusals[i];
    to->claim_count = of->claim_count;
    to->refusal_count = of->refusal_count;
    return true;
}

// What becomes of claims that only a graph with decomposed composites gets, as far as those here
// tell.
static bool find_own_times(leading *l)
{
    uint32_t places = l->session->lane_count;
    double *before = tni_arena_take_array(&l->scratch, places, sizeof *before);
    l->own_times = tni_arena_take_array(&l->scratch, places, sizeof *l->own_times);
    for (uint32_t i = 0; i < l->blended.claim_count && before && l->own_times; i++) {
        uint32_t place = l->blended.claims[i].place;
        before[place] += l->base->answers.claims[i].cost_ns;
        l->own_times[place] += l->blended.claims[i].cost_ns;
    }
    for (uint32_t p = 0; p < places && before && l->own_times; p++)
        l->own_times[p] = before[p] > 0 ? l->own_times[p] / before[p] : 1;
    return before && l->own_times;
}

// Costs of a run as it is on average.
static bool blend(leading *l)
{
    const tn_session *session = l->session;
    double bytes = 0;
    l->is_whole = true;
    if (!copy_answers(l))
        return false;
    for (uint32_t g = 0; g < session->graph_count; g++) {
        const tni_compiled *c = session->graphs[g];
        const double *shares;
        bool is_in = is_alike(c->graph, l->base->graph);
        l->is_whole &= is_in || c->given.runs == 0;
        if (c->given.runs == 0 || !is_in)
            continue;
        if (!(shares = take_shares(l, c)))
            return false;
        for (uint32_t i = 0; i < l->blended.claim_count; i++)
            l->blended.claims[i].cost_ns += c->given.runs *
                                            cost_in(c, shares, &l->blended.claims[i], i);
        l->runs += c->given.runs;
        bytes += c->given.runs * made_bytes(c->graph);
    }
    for (uint32_t i = 0; i < l->blended.claim_count; i++)
        l->blended.claims[i].cost_ns /= l->runs;
    size_t pairs = (size_t)session->lane_count * session->lane_count;
    double base_bytes = made_bytes(l->base->graph);
    double part = base_bytes > 0 ? bytes / l->runs / base_bytes : 1;
    double *per_byte = tni_arena_take_array(&l->scratch, pairs, sizeof *per_byte);
    for (size_t i = 0; i < pairs && per_byte; i++)
        per_byte[i] = session->links.ns_per_byte[i] * part;
    l->links = session->links;
    l->links.ns_per_byte = per_byte;
    return per_byte && find_own_times(l);
}

static tn_status lead(leading *l, tn_error *err)
{
    tn_session *session = l->session;
    tni_compiled *c = l->base;
    tni_schedule_request request;
    if (!blend(l))
        return tni_fail_memory(err, "a placement",
                               c->answers.claim_count * sizeof *l->blended.claims);
    tn_status status = tni_session_request(session, c, &l->scratch, &request, err);
    if (status != TN_OK)
        return status;
    request.answers = &l->blended;
    request.links = &l->links;
    request.own_times = l->own_times;
    tni_schedule schedule = { 0 };
    status = tni_schedule_make(&request, &l->scratch, &schedule, err);
    status = tni_session_check_answers(session, &schedule.own_answers, status, err);
    if (status == TN_OK) {
        tni_session_note_places(session, c, &schedule);
        if (l->is_whole && !schedule.own_graph)
            tni_fit_note_bound(session, schedule.bound_ns * l->runs);
        if (session->fit.is_short)
            status = tni_fit_note_resident(session, c, &schedule, err);
    }
    session->fit.work += schedule.work;
    tni_schedule_finish(&schedule);
    return status;
}

tn_status tni_fit_lead(tn_session *session, tn_error *err)
{
    leading l = { .session = session, .base = find_base(session) };
    bool has_to_share = session->fit.is_short || session->state_count > 0;
    tn_status status = TN_OK;
    if (session->graph_count == 1 || session->lane_count == 1 || !has_to_share || !l.base)
        return TN_OK;
    for (uint32_t g = 0; g < session->graph_count && status == TN_OK; g++) {
        status = tni_fit_begin_graph(session, session->graphs[g], err);
        if (status == TN_OK)
            status = tni_session_ask(session, session->graphs[g], err);
    }
    if (status != TN_OK)
        return status;
    tni_arena_init(&l.scratch, &session->arena.allocator);
    status = lead(&l, err);
    tni_answers_finish(&l.blended);
    tni_arena_finish(&l.scratch);
    return status;
}
