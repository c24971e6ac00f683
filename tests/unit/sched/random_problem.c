#include "random_problem.h"

#include <stdlib.h>
#include <string.h>

#include <tenon/plugin.h>

const char *const shape_names[SHAPES] = { "chain", "series-parallel", "layered", "transformer",
                                          "any" };

enum { MOST_OPERANDS = 3, MOST_CLAIM_NODES = 4, LAYER_WIDTH = 8, BLOCK = 12 };

typedef struct maker {
    const random_options *options;
    uint64_t *seed;
    tni_arena *arena;
    tni_problem *problem;
    uint32_t *first_operand, *operands;
    uint32_t count;   // nodes so far
    tni_problem_claim *claims;
    uint32_t claim_capacity;
    uint32_t *items;   // by claim: its own items, two at most
    uint64_t *weight_bytes;
    uint32_t *weights;   // by node
} maker;

uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

static void *take(maker *m, size_t count, size_t bytes)
{
    void *taken = tni_arena_take_array(m->arena, count, bytes);
    if (!taken)
        abort();
    return taken;
}

// ------------------------------------------------------------------------------------------- nodes

static uint32_t add_node(maker *m, const uint32_t *operands, uint32_t count)
{
    uint32_t at = m->first_operand[m->count];
    for (uint32_t i = 0; i < count; i++) {
        bool is_new = operands[i] < m->count;
        for (uint32_t k = m->first_operand[m->count]; k < at; k++)
            is_new &= m->operands[k] != operands[i];
        if (is_new)
            m->operands[at++] = operands[i];
    }
    m->first_operand[++m->count] = at;
    return m->count - 1;
}

static uint32_t add_after(maker *m, uint32_t operand)
{
    return add_node(m, &operand, 1);
}

// Branches of a few nodes between a node that opens them and one that joins them; nested by a
// branch that begins again.
static void make_series_parallel(maker *m)
{
    uint32_t at = add_node(m, NULL, 0);
    while (m->count < m->options->nodes) {
        uint32_t left = m->options->nodes - m->count, ends[MOST_OPERANDS], branches = 0;
        if (left < 4 || next_random(m->seed) % 3 == 0) {
            at = add_after(m, at);
            continue;
        }
        for (uint32_t want = 2 + next_random(m->seed) % 2;
             branches < want && m->count + 1 < m->options->nodes; branches++) {
            uint32_t end = add_after(m, at);
            for (uint32_t i = next_random(m->seed) % 3; i && m->count + 1 < m->options->nodes; i--)
                end = add_after(m, end);
            ends[branches] = end;
        }
        if (next_random(m->seed) % 2 && branches < MOST_OPERANDS)
            ends[branches++] = at;
        at = add_node(m, ends, branches);
    }
}

// norm, q, k, v, attention, out, add, norm, gate, up, down, add.
static void make_transformer(maker *m)
{
    uint32_t x = add_node(m, NULL, 0);
    uint32_t angles = m->options->nodes > 3 && next_random(m->seed) % 2 ? add_after(m, x) : x;
    while (m->count < m->options->nodes) {
        uint32_t norm = add_after(m, x);
        uint32_t q = add_node(m, (uint32_t[]){ norm, angles }, 2);
        uint32_t k = add_node(m, (uint32_t[]){ norm, angles }, 2), v = add_after(m, norm);
        uint32_t out = add_after(m, add_node(m, (uint32_t[]){ q, k, v }, 3));
        uint32_t middle = add_node(m, (uint32_t[]){ x, out }, 2), other = add_after(m, middle);
        uint32_t gate = add_after(m, other), up = add_after(m, other);
        uint32_t down = add_node(m, (uint32_t[]){ gate, up }, 2);
        x = add_node(m, (uint32_t[]){ middle, down }, 2);
    }
    m->count = m->options->nodes;
}

static void make_nodes(maker *m)
{
    uint32_t nodes = m->options->nodes;
    m->first_operand = take(m, (size_t)nodes + BLOCK + 1, sizeof *m->first_operand);
    m->operands = take(m, ((size_t)nodes + BLOCK) * MOST_OPERANDS, sizeof *m->operands);
    if (m->options->shape == SERIES_PARALLEL)
        make_series_parallel(m);
    if (m->options->shape == TRANSFORMER)
        make_transformer(m);
    while (m->count < nodes) {
        uint32_t n = m->count, operands[MOST_OPERANDS], count = n ? 1 : 0;
        operands[0] = n - 1;
        if (n && m->options->shape == LAYERED) {
            uint32_t layer = n / LAYER_WIDTH * LAYER_WIDTH;
            count = layer ? 1 + next_random(m->seed) % MOST_OPERANDS : 0;
            for (uint32_t i = 0; i < count; i++)
                operands[i] = layer - LAYER_WIDTH + next_random(m->seed) % LAYER_WIDTH;
        } else if (n && m->options->shape == ANY) {
            count = next_random(m->seed) % (MOST_OPERANDS + 1);
            for (uint32_t i = 0; i < count; i++)
                operands[i] = next_random(m->seed) % n;
        }
        add_node(m, operands, count);
    }
}

// ------------------------------------------------------------------------------------------ claims

static double random_cost(maker *m, uint32_t node, uint32_t place)
{
    (void)place;
    double ns = 1 + next_random(m->seed) % 20000;
    return m->options->has_heavy_nodes && node % 5 == 0 ? ns * 100 : ns;
}

// Item 2 * claim: the weight of its node on this place, shared by all claims with it there.
static void add_claim(maker *m, uint32_t place, const uint32_t *nodes, uint32_t count, double ns)
{
    tni_problem *problem = m->problem;
    uint32_t *own = take(m, count, sizeof *own), *items = take(m, count, sizeof *items);
    memcpy(own, nodes, count * sizeof *own);
    tni_problem_claim *claim = &m->claims[problem->claim_count++];
    *claim = (tni_problem_claim){ .place = place,
                                  .node_count = count,
                                  .nodes = own,
                                  .cost_ns = ns,
                                  .bytes = next_random(m->seed) % 3 ? 0 : next_random(m->seed) % 50,
                                  .first_item = (problem->claim_count - 1) * MOST_CLAIM_NODES };
    for (uint32_t i = 0; i < count; i++) {
        uint32_t item = m->weights[nodes[i]] * m->options->places + place;
        bool is_new = true;
        for (uint32_t k = 0; k < claim->item_count; k++)
            is_new &= m->items[claim->first_item + k] != item;
        if (is_new)
            m->items[claim->first_item + claim->item_count++] = item;
    }
}

// Whether no path leaves the nodes and comes back.
static bool is_convex(const maker *m, const uint32_t *nodes, uint32_t count)
{
    uint32_t first = nodes[0], last = nodes[count - 1];
    bool *depends = calloc(last - first + 1, sizeof *depends), is = true;   // on one, from outside
    for (uint32_t n = first; n <= last; n++) {
        bool is_inside = false, is_after = false, is_outside_after = false;
        for (uint32_t i = 0; i < count; i++)
            is_inside |= nodes[i] == n;
        for (uint32_t e = m->first_operand[n]; e < m->first_operand[n + 1]; e++) {
            uint32_t before = m->operands[e];
            bool is_member = false;
            for (uint32_t i = 0; i < count; i++)
                is_member |= nodes[i] == before;
            is_after |= is_member || (before >= first && depends[before - first]);
            is_outside_after |= !is_member && before >= first && depends[before - first];
        }
        depends[n - first] = !is_inside && is_after;
        is &= !(is_inside && is_outside_after);
    }
    free(depends);
    return is;
}

static void add_fusion(maker *m, uint32_t n)
{
    uint32_t nodes[MOST_CLAIM_NODES] = { n }, count = 1, want = 2 + next_random(m->seed) % 3;
    for (uint32_t next = n + 1; next < m->count && next < n + 7 && count < want; next++) {
        bool is_reader = false;
        for (uint32_t e = m->first_operand[next]; e < m->first_operand[next + 1]; e++)
            for (uint32_t i = 0; i < count; i++)
                is_reader |= m->operands[e] == nodes[i];
        if (is_reader || (m->options->has_odd_fusions && next_random(m->seed) % 4 == 0))
            nodes[count++] = next;
    }
    if (count < 2 || !is_convex(m, nodes, count))
        return;
    add_claim(m, next_random(m->seed) % m->options->places, nodes, count,
              (1 + next_random(m->seed) % 20000) * count * 0.7);
}

static void make_claims(maker *m)
{
    uint32_t nodes = m->count, places = m->options->places;
    size_t most = (size_t)nodes * (places + 3);
    m->claims = take(m, most, sizeof *m->claims);
    m->items = take(m, most * MOST_CLAIM_NODES, sizeof *m->items);
    m->weights = take(m, nodes, sizeof *m->weights);
    for (uint32_t n = 0; n < nodes; n++)   // some are used twice
        m->weights[n] = n && next_random(m->seed) % 6 == 0 ? m->weights[n - 1] : n;
    for (uint32_t p = 0; p < places; p++)
        for (uint32_t n = 0; n < nodes; n++)
            if (!m->options->has_refusals || p == places - 1 || next_random(m->seed) % 3)
                add_claim(m, p, &n, 1, random_cost(m, n, p));
    for (uint32_t n = 0; n < nodes && m->options->has_fusions; n++)
        for (uint32_t i = next_random(m->seed) % 3; i; i--)
            add_fusion(m, n);
}

static void make_memory(maker *m)
{
    tni_problem *problem = m->problem;
    uint32_t places = m->options->places;
    uint64_t *bytes = take(m, (size_t)m->count * places, sizeof *bytes), sum = 0;
    uint64_t *limits = take(m, places, sizeof *limits), *fixed = take(m, places, sizeof *fixed);
    for (uint32_t n = 0; n < m->count; n++) {
        uint64_t own = next_random(m->seed) % 1000;
        for (uint32_t p = 0; p < places; p++)   // a pack may be larger
            bytes[n * places + p] = own + own * (next_random(m->seed) % 3) / 8;
        sum += own;
    }
    for (uint32_t p = 0; p < places; p++) {
        limits[p] = sum / (2 + next_random(m->seed) % 3) + 200;
        fixed[p] = next_random(m->seed) % 100;
    }
    if (m->options->has_room || next_random(m->seed) % 2)
        limits[places - 1] = TNI_NO_LIMIT;
    problem->item_count = m->count * places;
    problem->item_bytes = bytes;
    problem->claim_items = m->items;
    problem->limits = limits;
    problem->fixed_bytes = fixed;
}

void random_problem_make(random_problem *r, const random_options *options, uint64_t *seed)
{
    tni_links links;
    tni_arena_init(&r->arena, NULL);
    r->problem = (tni_problem){ .place_count = options->places };
    maker m = { .options = options, .seed = seed, .arena = &r->arena, .problem = &r->problem };
    make_nodes(&m);
    r->problem.node_count = m.count;
    r->problem.first_operand = r->problem.first_before = m.first_operand;
    r->problem.operands = r->problem.before = m.operands;
    make_claims(&m);
    r->problem.claims = m.claims;
    if (options->has_limits)
        make_memory(&m);
    else
        for (uint32_t c = 0; c < r->problem.claim_count; c++)
            m.claims[c].item_count = 0;
    uint64_t *places = take(&m, m.count, sizeof *places);
    uint64_t *value_bytes = take(&m, m.count, sizeof *value_bytes);
    uint32_t *groups = take(&m, m.count, sizeof *groups);
    for (uint32_t n = 0; n < m.count; n++) {
        places[n] = UINT64_MAX;
        value_bytes[n] = next_random(seed) % 100000;
        groups[n] = options->has_groups && next_random(seed) % 3 == 0 ? n / 8 : TNP_NONE;
        if (options->has_refusals && next_random(seed) % 16 == 0)
            places[n] = UINT64_C(1) << (options->places - 1);
    }
    r->problem.group_count = m.count / 8 + 1;
    uint64_t *group_bytes = take(&m, r->problem.group_count, sizeof *group_bytes);
    for (uint32_t g = 0; g < r->problem.group_count; g++)
        group_bytes[g] = next_random(seed) % 500;
    if (!tni_links_default(options->places, &r->arena, &links))
        abort();
    for (uint32_t i = 0; i < options->places * options->places && options->has_uneven_links; i++) {
        links.latency_ns[i] = next_random(seed) % 20000;
        links.ns_per_byte[i] = next_random(seed) % 100 / 400.0;
    }
    for (uint32_t p = 0; p < options->places && options->has_uneven_links; p++)
        links.measured_submit_ns[p] = next_random(seed) % 2 ? next_random(seed) % 10000 : 0;
    tni_links *own_links = take(&m, 1, sizeof *own_links);
    *own_links = links;
    r->problem.links = own_links;
    r->problem.places = places;
    r->problem.value_bytes = value_bytes;
    r->problem.groups = groups;
    r->problem.group_bytes = group_bytes;
}

void random_problem_finish(random_problem *r)
{
    tni_arena_finish(&r->arena);
}
