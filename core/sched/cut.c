// cut.c: minimum cuts, for problems without fusions.
//
// Each node has two choices: to stay, or to go to one place. The best of all these choices together
// is a minimum cut; the side of the source stays. With two places that is the best assignment there
// is. With more, one place after another is the one to go to (expansion moves: Boykov, Veksler and
// Zabih, 2001), from the best assignment so far, as long as that makes it better.
//
// A copy is paid once, however many read it: a helper between a value and its readers.
//
//   maker ──copy──► helper ──∞──► each reader      the maker stays, and a reader goes
//   each reader that stays at q ──∞──► helper ──copy──► maker       the maker goes away from q
//
// The largest flow is found by blocking flows (Dinic, 1970).
//
// What the moves look at together is bounded by the number of nodes, whatever the number of places,
// and by what is left to gain: near the bound they get a part of it. Then the best so far stays.
#include <math.h>
#include <string.h>

#include <tenon/plugin.h>

#include "base/alloc.h"
#include "sched/solve_internal.h"

enum {
    MOST_SWEEPS = 3,         // over the places: a second one finds what the first made possible,
                             // after a third there is nothing left
    MOST_SCANS = 400,        // of all arcs, by one flow; beyond it is given up: ordinary ones end
                             // long before
    WORK_A_NODE = 1 << 15,   // arcs made and looked at, by all moves of more than two places,
    FAR_WORK = 1 << 27,      // and at least so many, where the best is `far` above the bound
    LEAST_WORK = 1 << 25,    // wherever it is
    MOST_SHARE = 4,          // one flow gets no more than this part of what is left: the other
                             // places are to have their turns
    SOURCE = 0,
    SINK = 1,
    FIRST = 2,   // node n is vertex FIRST + n, group g comes after the nodes; then helpers
};

// As part of the best cost: a gap that is worth all of the work. Within it the work falls with it.
static const double far = 0.04;

typedef struct arc {
    uint32_t to, next;   // arc i and arc i ^ 1 are each other's way back
    double room;
} arc;

typedef struct cutting {
    tni_solving *s;
    const tni_problem *problem;
    const tn_allocator *allocator;
    arc *arcs;
    uint32_t arc_count, arc_capacity;
    uint32_t *first;   // by vertex: arc
    uint32_t first_capacity;
    uint32_t vertex_count;
    uint32_t *level, *at, *queue, *path;   // by vertex
    uint32_t table_capacity[4];
    uint32_t *stay, *go;   // by node: claims; TNP_NONE: it has no such choice
    uint32_t target;       // the place to go to
    bool is_whole;         // with the copies that no choice changes: the flow is a bound
    double flow;
    uint64_t work_left;   // arcs
} cutting;

static bool add_vertex(cutting *c, uint32_t *out)
{
    if (!tni_grow(c->allocator, &c->first, &c->first_capacity, c->vertex_count + 1,
                  sizeof *c->first))
        return false;
    c->first[c->vertex_count] = TNP_NONE;
    *out = c->vertex_count++;
    return true;
}

static bool add_arc(cutting *c, uint32_t from, uint32_t to, double room)
{
    if (!tni_grow(c->allocator, &c->arcs, &c->arc_capacity, c->arc_count + 2, sizeof *c->arcs))
        return false;
    c->arcs[c->arc_count] = (arc){ to, c->first[from], room };
    c->first[from] = c->arc_count++;
    c->arcs[c->arc_count] = (arc){ from, c->first[to], 0 };
    c->first[to] = c->arc_count++;
    return true;
}

// ---------------------------------------------------------------------------------------- building

static uint32_t place_to_stay(const cutting *c, uint32_t node)
{
    return c->stay[node] == TNP_NONE ? c->target : c->problem->claims[c->stay[node]].place;
}

static double link_ns(const cutting *c, uint32_t maker, uint32_t from, uint32_t to)
{
    return tni_links_cost_ns(c->problem->links, from, to, c->problem->value_bytes[maker]);
}

// The maker stays elsewhere, and somebody reads its value on the target.
static bool add_copies_there(cutting *c, uint32_t maker)
{
    const tni_problem_index *index = c->s->index;
    uint32_t from = place_to_stay(c, maker), helper;
    if (from == c->target)
        return true;
    if (!add_vertex(c, &helper) ||
        !add_arc(c, FIRST + maker, helper, link_ns(c, maker, from, c->target)))
        return false;
    for (uint32_t e = index->first_reader[maker]; e < index->first_reader[maker + 1]; e++) {
        uint32_t reader = index->readers[e];
        uint32_t to = place_to_stay(c, reader) == c->target ? (uint32_t)SINK : FIRST + reader;
        if (!add_arc(c, helper, to, INFINITY))
            return false;
    }
    return true;
}

// Somebody stays at q and reads the value there. What a copy costs more when the maker stays than
// when it goes is not told: a cut cannot, and links that are alike do not need it.
static bool add_copies_here(cutting *c, uint32_t maker, uint32_t q)
{
    const tni_problem_index *index = c->s->index;
    uint32_t from = place_to_stay(c, maker), helper;
    double stays = from == q ? 0 : link_ns(c, maker, from, q),
           goes = link_ns(c, maker, c->target, q);
    double either = fmin(stays, goes);
    if (!add_vertex(c, &helper) || (either > 0 && !add_arc(c, helper, SINK, either)) ||
        (goes > either && !add_arc(c, helper, FIRST + maker, goes - either)))
        return false;
    for (uint32_t e = index->first_reader[maker]; e < index->first_reader[maker + 1]; e++)
        if (place_to_stay(c, index->readers[e]) == q &&
            !add_arc(c, FIRST + index->readers[e], helper, INFINITY))
            return false;
    return true;
}

static bool has_choice(const cutting *c, uint32_t n)
{
    return c->go[n] != TNP_NONE && c->go[n] != c->stay[n];
}

// Whether its copies hang on a choice.
static bool has_part(const cutting *c, uint32_t maker)
{
    const tni_problem_index *index = c->s->index;
    bool has = c->is_whole || has_choice(c, maker);
    for (uint32_t e = index->first_reader[maker]; e < index->first_reader[maker + 1] && !has; e++)
        has = has_choice(c, index->readers[e]);
    return has;
}

static bool add_copies(cutting *c, uint32_t maker)
{
    const tni_problem_index *index = c->s->index;
    uint64_t read = 0;
    for (uint32_t e = index->first_reader[maker]; e < index->first_reader[maker + 1]; e++)
        read |= UINT64_C(1) << place_to_stay(c, index->readers[e]);
    if (!read)
        return true;
    for (read &= ~(UINT64_C(1) << c->target); read; read &= read - 1)
        if (!add_copies_here(c, maker, (uint32_t)__builtin_ctzll(read)))
            return false;
    return add_copies_there(c, maker);
}

static bool add_node(cutting *c, uint32_t n)
{
    const tni_problem *problem = c->problem;
    double stay = c->stay[n] == TNP_NONE ? INFINITY : problem->claims[c->stay[n]].cost_ns;
    double go = c->go[n] == TNP_NONE ? INFINITY : problem->claims[c->go[n]].cost_ns;
    if (!add_arc(c, FIRST + n, SINK, stay) || !add_arc(c, SOURCE, FIRST + n, go))
        return false;
    if (problem->groups && problem->groups[n] != TNP_NONE) {
        uint32_t group = FIRST + problem->node_count + problem->groups[n];
        if (!add_arc(c, FIRST + n, group, INFINITY) || !add_arc(c, group, FIRST + n, INFINITY))
            return false;
    }
    return !has_part(c, n) || add_copies(c, n);
}

static bool build(cutting *c)
{
    uint32_t vertex;
    c->arc_count = c->vertex_count = 0;
    for (uint32_t i = 0; i < FIRST + c->problem->node_count + c->problem->group_count; i++)
        if (!add_vertex(c, &vertex))
            return false;
    for (uint32_t n = 0; n < c->problem->node_count; n++)
        if (!add_node(c, n))
            return false;
    uint32_t **tables[] = { &c->level, &c->at, &c->queue, &c->path };
    for (int i = 0; i < 4; i++)
        if (!tni_grow(c->allocator, tables[i], &c->table_capacity[i], c->vertex_count,
                      sizeof **tables[i]))
            return false;
    return true;
}

// -------------------------------------------------------------------------------------------- flow

// Distances from the source along arcs with room. Whether the sink is reached.
static bool find_levels(cutting *c, double least)
{
    uint32_t head = 0, tail = 0;
    memset(c->level, 0xff, c->vertex_count * sizeof *c->level);
    c->level[SOURCE] = 0;
    c->queue[tail++] = SOURCE;
    while (head < tail) {
        uint32_t v = c->queue[head++];
        for (uint32_t a = c->first[v]; a != TNP_NONE; a = c->arcs[a].next)
            if (c->arcs[a].room > least && c->level[c->arcs[a].to] == TNP_NONE) {
                c->level[c->arcs[a].to] = c->level[v] + 1;
                c->queue[tail++] = c->arcs[a].to;
            }
    }
    return c->level[SINK] != TNP_NONE;
}

// Sends what fits along the path of arcs; answers how much of the path is still of use.
static uint32_t send(cutting *c, uint32_t length, double least)
{
    double most = INFINITY;
    uint32_t left = length;
    for (uint32_t i = 0; i < length; i++)
        most = fmin(most, c->arcs[c->path[i]].room);
    for (uint32_t i = length; i-- > 0;) {
        c->arcs[c->path[i]].room -= most;
        c->arcs[c->path[i] ^ 1].room += most;
        if (c->arcs[c->path[i]].room <= least)
            left = i;
    }
    c->flow += most;
    return left;
}

// Depth first, by levels, until no path is left. The answer: arcs looked at.
static uint64_t block(cutting *c, double least)
{
    uint32_t v = SOURCE, length = 0;
    uint64_t scans = 0;
    memcpy(c->at, c->first, c->vertex_count * sizeof *c->at);
    for (;;) {
        if (v == SINK) {
            length = send(c, length, least);
            v = length ? c->arcs[c->path[length - 1]].to : (uint32_t)SOURCE;
            continue;
        }
        uint32_t *at = &c->at[v];
        for (; *at != TNP_NONE; *at = c->arcs[*at].next, scans++)
            if (c->arcs[*at].room > least && c->level[c->arcs[*at].to] == c->level[v] + 1)
                break;
        if (*at != TNP_NONE) {
            c->path[length++] = *at;
            v = c->arcs[*at].to;
        } else if (v == SOURCE) {
            return scans;
        } else {
            c->level[v] = TNP_NONE;   // a dead end
            length--;
            v = c->arcs[c->path[length] ^ 1].to;
        }
    }
}

static void take_work(cutting *c, uint64_t arcs)
{
    c->work_left -= arcs < c->work_left ? arcs : c->work_left;
}

// The best of all choices into chosen. false: it took too long.
static bool cut(cutting *c, uint32_t *chosen)
{
    uint64_t scans = c->arc_count;   // they were made
    double least = 1e-6;             // ns: below it room is none
    bool is_largest = false, is_over = false;
    c->flow = 0;
    while (!is_over && !(is_largest = !find_levels(c, least))) {
        scans += block(c, least) + c->arc_count;
        is_over = scans > (uint64_t)MOST_SCANS * c->arc_count || scans > c->work_left / MOST_SHARE;
    }
    take_work(c, scans);
    if (!is_largest)
        return false;
    for (uint32_t n = 0; n < c->problem->node_count; n++) {
        bool stays = c->level[FIRST + n] != TNP_NONE;
        chosen[n] = stays ? c->stay[n] : c->go[n];
        if (chosen[n] == TNP_NONE)
            return false;
    }
    return true;
}

// ----------------------------------------------------------------------------------------- choices

static uint64_t places_in_use(const tni_solving *s)
{
    uint64_t places = 0;
    for (uint32_t n = 0; n < s->problem->node_count; n++)
        for (uint32_t i = s->index->first_claim[n]; i < s->index->first_claim[n + 1]; i++)
            places |= UINT64_C(1) << s->problem->claims[s->index->claims[i]].place;
    return places;
}

static bool solve_two(cutting *c, uint64_t places, uint32_t *chosen)
{
    uint32_t first = (uint32_t)__builtin_ctzll(places);
    c->target = (uint32_t)__builtin_ctzll(places & (places - 1));
    c->is_whole = true;
    c->work_left = UINT64_MAX;
    for (uint32_t n = 0; n < c->problem->node_count; n++) {
        c->stay[n] = tni_problem_cheapest_alone(c->s->index, n, first);
        c->go[n] = tni_problem_cheapest_alone(c->s->index, n, c->target);
    }
    if (!build(c))
        return false;
    if (cut(c, chosen)) {
        c->s->bound_ns = fmax(c->s->bound_ns, c->flow);
        tni_solving_consider(c->s, chosen, "cut");
    }
    return true;
}

static uint64_t work_of(const tni_solving *s)
{
    double most = fmax(FAR_WORK, (double)WORK_A_NODE * s->problem->node_count);
    double gap = s->best_ns > 0 ? (s->best_ns - s->bound_ns) / s->best_ns : 0;
    double work = fmin(1, gap / far) * most;
    return work < LEAST_WORK ? LEAST_WORK : (uint64_t)work;
}

static bool solve_by_expansion(cutting *c, uint64_t places, uint32_t *chosen)
{
    const size_t bytes = c->problem->node_count * sizeof *chosen;
    bool has_changed = c->s->method != NULL;
    c->work_left = work_of(c->s);
    for (int sweep = 0; sweep < MOST_SWEEPS && has_changed; sweep++) {
        has_changed = false;
        for (uint64_t left = places; left && c->work_left; left &= left - 1) {
            c->target = (uint32_t)__builtin_ctzll(left);
            for (uint32_t n = 0; n < c->problem->node_count; n++) {
                c->stay[n] = c->s->best[n];
                c->go[n] = tni_problem_cheapest_alone(c->s->index, n, c->target);
            }
            if (!build(c))
                return false;
            if (cut(c, chosen) && memcmp(chosen, c->s->best, bytes) != 0)
                has_changed |= tni_solving_consider(c->s, chosen, "cut");
        }
    }
    return true;
}

bool tni_solve_by_cuts(tni_solving *s)
{
    uint32_t nodes = s->problem->node_count;
    uint64_t places = places_in_use(s);
    tni_arena arena;
    tni_arena_init(&arena, &s->arena->allocator);
    cutting c = { .s = s, .problem = s->problem, .allocator = &s->arena->allocator };
    uint32_t *chosen = tni_arena_take_array(&arena, nodes, sizeof *chosen);
    c.stay = tni_arena_take_array(&arena, nodes, sizeof *c.stay);
    c.go = tni_arena_take_array(&arena, nodes, sizeof *c.go);
    bool has_memory = chosen && c.stay && c.go;
    if (has_memory && __builtin_popcountll(places) == 2)
        has_memory = solve_two(&c, places, chosen);
    else if (has_memory && __builtin_popcountll(places) > 2)
        has_memory = solve_by_expansion(&c, places, chosen);
    tni_free(c.allocator, c.arcs);
    tni_free(c.allocator, c.first);
    tni_free(c.allocator, c.level);
    tni_free(c.allocator, c.at);
    tni_free(c.allocator, c.queue);
    tni_free(c.allocator, c.path);
    tni_arena_finish(&arena);
    return has_memory;
}
