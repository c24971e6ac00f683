// decompose.c: which composite nodes are decomposed, and how far.
//
// A device other than a CPU gets a node's decomposition before a CPU gets the node: where no such
// device takes the node, and one of them takes every node in its place. A node that no device takes
// is decomposed when all of what replaces it is taken by someone. The devices are asked about the
// graph that results; what they refuse in it is decomposed further, or its node left whole:
//
//   given graph ─ ask ─► candidates ─► decompose ─ ask ─► judge ─┬─► all is taken: done
//                            ▲                                   │
//                            └── deeper, or left whole ──────────┘
//
// A set of ops only grows or becomes empty, so this ends; mostly after one round, and without any
// when there is no candidate.
#include <string.h>

#include "base/error.h"
#include "sched/sched_internal.h"

typedef struct judging {
    const tni_schedule_request *request;
    tni_schedule *schedule;   // made of it: the answers to the given graph, the decomposed one
    tni_arena *arena;         // until the decision is made
    tni_composites *into;     // by node of the given graph
    uint64_t *preferred;      // by node: places that are no CPUs, of those where it is asked to be
    tni_takers takers;        // of the given graph
    uint64_t *may;            // by node: places where all bytes that stay somewhere can be
    uint64_t *open;           // by node: preferred places that refuse nothing simple in its place
    bool *is_hopeless;        // by node: no place takes something simple in its place
} judging;

uint64_t tni_preferred_places(const tni_schedule_request *request)
{
    uint64_t preferred = 0;
    for (uint32_t i = 0; i < request->device_count; i++)
        if (!tni_is_cpu(request->devices[i]))
            preferred |= UINT64_C(1) << i;
    return preferred & tni_places_of(request);
}

uint64_t tni_preferred_for(const tni_schedule_request *request, uint64_t preferred, uint32_t node)
{
    if (!request->rules)
        return preferred;
    uint64_t asked = request->rules[node].demand & request->rules[node].wish;
    if (asked == UINT64_MAX)
        return preferred;
    return preferred & asked ? preferred & asked : tni_places_of(request) & asked;
}

static bool is_open_question(const judging *j, uint32_t node)
{
    const tn_graph *graph = j->request->graph;
    return !(j->takers.any[node] & j->preferred[node]) &&
           tni_composites_of(graph, &graph->nodes[node]);
}

static uint64_t demand_of(const judging *j, uint32_t node)
{
    return j->request->rules ? j->request->rules[node].demand : UINT64_MAX;
}

// States, and what is written through, stay where every node that touches them can run: nodes that
// may still be decomposed are not asked.
static bool find_where_nodes_may_run(judging *j)
{
    const tn_graph *graph = j->request->graph;
    uint64_t *holds = tni_arena_take_array(j->arena, graph->storage_count, sizeof *holds);
    tni_ties ties;
    if (!holds || !tni_ties_find(graph, j->arena, &ties))
        return false;
    const uint64_t *may_be = j->request->storage_places;
    tni_ties_begin(graph, &ties, may_be, may_be ? graph->storage_count : 0, holds);
    for (uint32_t n = 0; n < graph->node_count; n++)
        if (!is_open_question(j, n))
            tni_ties_narrow(graph, &ties, n, j->takers.any[n] & demand_of(j, n), holds);
    for (uint32_t n = 0; n < graph->node_count; n++)
        j->may[n] = demand_of(j, n) & tni_ties_places(graph, &ties, n, holds);
    return true;
}

// Candidates in j->into; whether there is one.
static bool find_candidates(judging *j)
{
    const tn_graph *graph = j->request->graph;
    bool any = false;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        bool is_refused = is_open_question(j, n) && (j->preferred[n] & j->may[n]);
        if (is_refused || !(j->takers.any[n] & j->may[n]))
            j->into[n] = tni_composites_of(graph, &graph->nodes[n]);
        any |= j->into[n] != 0;
    }
    return any;
}

// ------------------------------------------------------------------------------------------ rounds

// The place that shall get what replaces a node, as a set of one; 0 = any places together.
static uint64_t target_of(const judging *j, uint32_t node)
{
    return j->open[node] & (~j->open[node] + 1);   // the first one
}

static void find_open_places(judging *j, const uint64_t *takes)
{
    const tn_graph *given = j->request->graph, *made = j->schedule->own_graph;
    for (uint32_t n = 0; n < given->node_count; n++) {
        j->open[n] = j->preferred[n] & j->may[n];
        j->is_hopeless[n] = false;
    }
    for (uint32_t m = 0; m < made->node_count; m++) {
        if (tni_composites_of(made, &made->nodes[m]))
            continue;
        j->open[made->nodes[m].origin] &= takes[m];
        j->is_hopeless[made->nodes[m].origin] |= takes[m] == 0;
    }
}

// Whether j->into has changed: what was made of it is not what is wanted.
static bool judge(judging *j, const uint64_t *takes)
{
    const tn_graph *given = j->request->graph, *made = j->schedule->own_graph;
    bool has_changed = false;
    find_open_places(j, takes);
    for (uint32_t n = 0; n < given->node_count; n++) {
        bool is_taken_whole = j->takers.any[n] & j->may[n];
        if (j->into[n] && !j->open[n] && (is_taken_whole || j->is_hopeless[n])) {
            j->into[n] = 0;
            has_changed = true;
        }
    }
    for (uint32_t m = 0; m < made->node_count; m++) {
        uint32_t n = made->nodes[m].origin;
        uint64_t target = target_of(j, n);
        tni_composites deeper = tni_composites_of(made, &made->nodes[m]);
        bool is_taken = target ? (takes[m] & target) != 0 : takes[m] != 0;
        if (!j->into[n] || is_taken || !deeper || (j->into[n] & deeper))
            continue;
        j->into[n] |= deeper;
        has_changed = true;
    }
    return has_changed;
}

static bool is_any_left(const judging *j)
{
    tni_composites all = 0;
    for (uint32_t n = 0; n < j->request->graph->node_count; n++)
        all |= j->into[n];
    return all != 0;
}

// The graph that j->into says, and what the devices say to it.
static tn_status make_graph(judging *j, tni_arena *scratch, tn_error *err)
{
    tni_schedule *s = j->schedule;
    tni_schedule_drop_graph(s);
    tn_status status = tni_graph_decompose(j->request->graph, j->into, &scratch->allocator,
                                           &s->own_graph, err);
    return status == TN_OK ? tni_ask(s->own_graph, j->request->devices, j->request->device_count,
                                     true, scratch, &s->own_answers, err)
                           : status;
}

static tn_status make_until_settled(judging *j, tn_error *err)
{
    bool has_changed = true;
    tn_status status = TN_OK;
    while (has_changed && is_any_left(j) && status == TN_OK) {
        tni_arena scratch;
        tni_arena_init(&scratch, &j->arena->allocator);
        status = make_graph(j, &scratch, err);
        tni_takers takers;
        if (status == TN_OK && !tni_find_takers(j->schedule->own_graph, &j->schedule->own_answers,
                                                j->request, &scratch, &takers))
            status = tni_fail_memory(err, "decompositions",
                                     j->schedule->own_graph->node_count * sizeof *takers.any);
        if (status == TN_OK)
            has_changed = judge(j, takers.any);
        tni_arena_finish(&scratch);
    }
    if (!is_any_left(j))
        tni_schedule_drop_graph(j->schedule);
    return status;
}

static tn_status begin(judging *j, const tni_schedule_request *request, tni_schedule *schedule,
                       tni_arena *arena, tn_error *err)
{
    uint32_t nodes = request->graph->node_count;
    *j = (judging){
        .request = request,
        .schedule = schedule,
        .arena = arena,
        .into = schedule->decomposed,
        .preferred = tni_arena_take_array(arena, nodes, sizeof *j->preferred),
        .may = tni_arena_take_array(arena, nodes, sizeof *j->may),
        .open = tni_arena_take_array(arena, nodes, sizeof *j->open),
        .is_hopeless = tni_arena_take_array(arena, nodes, sizeof *j->is_hopeless),
    };
    uint64_t preferred = tni_preferred_places(request);
    for (uint32_t n = 0; n < nodes && j->preferred; n++)
        j->preferred[n] = tni_preferred_for(request, preferred, n);
    bool has_memory = j->into && j->preferred && j->may && j->open && j->is_hopeless &&
                      tni_find_takers(request->graph, &schedule->given_answers, request, arena,
                                      &j->takers) &&
                      find_where_nodes_may_run(j);
    return has_memory ? TN_OK : tni_fail_memory(err, "decompositions", nodes * sizeof *j->may);
}

tn_status tni_choose_decompositions(const tni_schedule_request *request, tni_arena *arena,
                                    tni_schedule *schedule, tn_error *err)
{
    judging j;
    schedule->decomposed = tni_arena_take_array(arena, request->graph->node_count,
                                                sizeof *schedule->decomposed);
    tni_arena scratch;
    tni_arena_init(&scratch, &arena->allocator);
    tn_status status = begin(&j, request, schedule, &scratch, err);
    if (status == TN_OK && request->like) {
        memcpy(j.into, request->like->decomposed, request->graph->node_count * sizeof *j.into);
        if (is_any_left(&j))
            status = make_graph(&j, &scratch, err);
    } else if (status == TN_OK && find_candidates(&j)) {
        status = make_until_settled(&j, err);
    }
    tni_arena_finish(&scratch);
    return status;
}

// --------------------------------------------------------------------------- after the assignment

// Nodes whose decomposition brought nothing to a preferred place, and which could have stayed
// whole: they do. Whether there was one.
static bool find_useless(judging *j)
{
    const tn_graph *given = j->request->graph, *made = j->schedule->own_graph;
    uint64_t *got = j->open;   // by node: places that run something in its place
    bool any = false;
    memset(got, 0, given->node_count * sizeof *got);
    for (uint32_t m = 0; m < made->node_count; m++)
        got[made->nodes[m].origin] |= UINT64_C(1) << j->schedule->places[m];
    for (uint32_t n = 0; n < given->node_count; n++) {
        if (!j->into[n] || !(j->takers.any[n] & j->may[n]) || (got[n] & j->preferred[n]))
            continue;
        j->into[n] = 0;
        any = true;
    }
    return any;
}

tn_status tni_drop_useless_decompositions(const tni_schedule_request *request,
                                          tni_schedule *schedule, bool *out_has_changed,
                                          tn_error *err)
{
    judging j;
    tni_arena scratch;
    *out_has_changed = false;
    if (!schedule->own_graph || request->like)
        return TN_OK;
    tni_arena_init(&scratch, &schedule->own_graph->arena.allocator);
    tn_status status = begin(&j, request, schedule, &scratch, err);
    if (status == TN_OK)
        *out_has_changed = find_useless(&j);
    if (*out_has_changed && is_any_left(&j))
        status = make_graph(&j, &scratch, err);
    else if (*out_has_changed)
        tni_schedule_drop_graph(schedule);
    tni_arena_finish(&scratch);
    return status;
}
