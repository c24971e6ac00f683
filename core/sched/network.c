// network.c: labels of the variables, and what pairs of them and tables of readers cost.
#include "sched/network.h"

#include <math.h>

#include <tenon/plugin.h>

static bool is_usable(const tni_elimination *how, uint32_t claim)
{
    return !how->is_out || !how->is_out[claim];
}

static void find_places(tni_network *network, const tni_elimination *how)
{
    const tni_problem_index *index = network->index;
    for (uint32_t n = 0; n < index->problem->node_count; n++)
        for (uint32_t i = index->first_claim[n]; i < index->first_claim[n + 1]; i++)
            if (is_usable(how, index->claims[i]))
                network->places[n] |= UINT64_C(1) << index->problem->claims[index->claims[i]].place;
    for (uint32_t n = 0; n < index->problem->node_count; n++)
        for (uint64_t left = network->places[n]; left; left &= left - 1)
            network->place_counts[n]++;
}

static uint64_t places_of_readers(const tni_network *network, uint32_t node)
{
    const tni_problem_index *index = network->index;
    uint64_t places = 0;
    for (uint32_t e = index->first_reader[node]; e < index->first_reader[node + 1]; e++)
        places |= network->places[index->readers[e]];
    return places;
}

// Labels of one claim: sets of copies, or one label.
static uint32_t copy_sets(const tni_network *network, uint32_t node, uint32_t place,
                          uint64_t readers)
{
    uint64_t others = readers & ~(UINT64_C(1) << place);
    return network->telling[node] == TNI_TOLD_BY_LABELS ? 1u << __builtin_popcountll(others) : 1;
}

// What a table tells apart of a node: its places.
static size_t axis_entries(const tni_network *network, uint32_t node)
{
    const uint32_t *first = &network->index->first_claim[node];
    return first[1] - first[0] > TNI_MOST_MAPPED ? first[1] - first[0]
                                                 : network->place_counts[node];
}

// Entries of a table over a node and its readers, or more than fit.
static size_t table_entries(const tni_network *network, const tni_elimination *how, uint32_t node)
{
    const tni_problem_index *index = network->index;
    size_t entries = axis_entries(network, node);
    for (uint32_t e = index->first_reader[node];
         e < index->first_reader[node + 1] && entries <= how->most_told; e++)
        entries *= axis_entries(network, index->readers[e]);
    return entries;
}

// Whether sets of these places are few enough for a label each.
static bool may_be_labels(const tni_elimination *how, uint64_t readers)
{
    return readers && UINT64_C(1) << (__builtin_popcountll(readers) - 1) <= how->most_copies;
}

static void choose_telling(tni_network *network, const tni_elimination *how, uint32_t node,
                           uint64_t readers)
{
    const tni_problem_index *index = network->index;
    uint32_t count = index->first_reader[node + 1] - index->first_reader[node];
    if (count <= 1)
        network->telling[node] = TNI_TOLD_BY_PAIR;
    else if (count <= TNI_FEW_READERS && table_entries(network, how, node) <= how->most_told)
        network->telling[node] = TNI_TOLD_BY_TABLE;
    else
        network->telling[node] = may_be_labels(how, readers) ? TNI_TOLD_BY_LABELS
                                                             : TNI_TOLD_IN_PARTS;
    network->part[node] = count <= 1 ? 1 : 1.0 / count;
    network->is_in_parts |= network->telling[node] == TNI_TOLD_IN_PARTS;
}

static void add_node_labels(tni_network *network, const tni_elimination *how, uint32_t node,
                            uint64_t readers, uint32_t *at)
{
    const tni_problem_index *index = network->index;
    const tni_problem *problem = index->problem;
    for (uint32_t i = index->first_claim[node]; i < index->first_claim[node + 1]; i++) {
        uint32_t c = index->claims[i];
        const tni_problem_claim *claim = &problem->claims[c];
        uint64_t here = UINT64_C(1) << claim->place, others = readers & ~here, copies = 0;
        if (!is_usable(how, c))
            continue;
        double own_ns = claim->nodes[0] == node ? how->claim_ns[c] : 0;
        if (network->telling[node] != TNI_TOLD_BY_LABELS) {
            network->labels[*at] = (tni_label){ here, c, claim->place };
            network->label_ns[(*at)++] = own_ns;
            continue;
        }
        uint32_t count = copy_sets(network, node, claim->place, readers);
        for (uint32_t s = 0; s < count; s++) {
            double ns = own_ns;
            for (uint64_t left = copies; left; left &= left - 1)
                ns += tni_links_cost_ns(problem->links, claim->place,
                                        (uint32_t)__builtin_ctzll(left),
                                        problem->value_bytes[node]);
            network->labels[*at] = (tni_label){ copies | here, c, claim->place };
            network->label_ns[(*at)++] = ns;
            copies = (copies - others) & others;   // the next subset
        }
    }
}

static void add_group_labels(tni_network *network, const tni_elimination *how, uint32_t group,
                             uint32_t *at)
{
    uint32_t places = network->index->problem->place_count;
    for (uint32_t p = 0; p < places; p++) {
        network->labels[*at] = (tni_label){ UINT64_C(1) << p, TNP_NONE, p };
        network->label_ns[(*at)++] = how->group_ns ? how->group_ns[(size_t)group * places + p] : 0;
    }
}

bool tni_network_make(const tni_problem_index *index, const tni_elimination *how, tni_arena *arena,
                      tni_network *out)
{
    const tni_problem *problem = index->problem;
    uint32_t nodes = problem->node_count, variables = nodes + problem->group_count, count = 0;
    uint64_t *readers = tni_arena_take_array(arena, nodes, sizeof *readers);
    *out = (tni_network){
        .index = index,
        .variable_count = variables,
        .first_label = tni_arena_take_array(arena, (size_t)variables + 1, sizeof *out->first_label),
        .places = tni_arena_take_array(arena, nodes, sizeof *out->places),
        .place_counts = tni_arena_take_array(arena, nodes, sizeof *out->place_counts),
        .telling = tni_arena_take_array(arena, nodes, sizeof *out->telling),
        .part = tni_arena_take_array(arena, nodes, sizeof *out->part),
        .is_in_fusion = tni_arena_take_array(arena, nodes, sizeof *out->is_in_fusion),
    };
    if (!readers || !out->first_label || !out->places || !out->place_counts || !out->telling ||
        !out->part || !out->is_in_fusion)
        return false;
    find_places(out, how);
    for (uint32_t n = 0; n < nodes; n++) {
        readers[n] = places_of_readers(out, n);
        choose_telling(out, how, n, readers[n]);
        out->first_label[n] = count;
        for (uint32_t i = index->first_claim[n]; i < index->first_claim[n + 1]; i++) {
            const tni_problem_claim *claim = &problem->claims[index->claims[i]];
            if (!is_usable(how, index->claims[i]))
                continue;
            out->is_in_fusion[n] |= claim->node_count > 1;
            count += copy_sets(out, n, claim->place, readers[n]);
        }
    }
    for (uint32_t g = 0; g < problem->group_count; g++, count += problem->place_count)
        out->first_label[nodes + g] = count;
    out->first_label[variables] = count;
    out->labels = tni_arena_take_array(arena, count, sizeof *out->labels);
    out->label_ns = tni_arena_take_array(arena, count, sizeof *out->label_ns);
    if (!out->labels || !out->label_ns)
        return false;
    count = 0;
    for (uint32_t n = 0; n < nodes; n++)
        add_node_labels(out, how, n, readers[n], &count);
    for (uint32_t g = 0; g < problem->group_count; g++)
        add_group_labels(out, how, g, &count);
    return true;
}

// ------------------------------------------------------------------------------------------- pairs

static bool reads(const tni_problem *problem, uint32_t reader, uint32_t maker)
{
    for (uint32_t e = problem->first_operand[reader]; e < problem->first_operand[reader + 1]; e++)
        if (problem->operands[e] == maker)
            return true;
    return false;
}

static double read_ns(const tni_network *network, uint32_t u, const tni_label *x,
                      const tni_label *y)
{
    const tni_problem *problem = network->index->problem;
    if ((x->copies >> y->place & 1) || network->telling[u] == TNI_TOLD_BY_TABLE)
        return 0;
    if (network->telling[u] == TNI_TOLD_BY_LABELS)
        return INFINITY;
    return network->part[u] *
           tni_links_cost_ns(problem->links, x->place, y->place, problem->value_bytes[u]);
}

// Of two labels of nodes: 0 = one claim has both; INFINITY = one claim has both and is not the
// other's; -1 = no claim has both.
static double fusion_ns(const tni_network *network, uint32_t u, const tni_label *x, uint32_t v,
                        const tni_label *y)
{
    if (x->claim == y->claim)
        return 0;
    return tni_network_has_node(network, x, v) || tni_network_has_node(network, y, u) ? INFINITY
                                                                                      : -1;
}

// A pair of variables u < v: what holds for all their labels.
typedef struct pair {
    const tni_network *network;
    uint32_t u, v;
    const tni_label *labels_u, *labels_v;
    bool is_group, is_read, is_fused;   // v is u's group; v reads u; claims may have both
} pair;

static pair pair_of(const tni_network *network, uint32_t u, uint32_t v)
{
    const tni_problem *problem = network->index->problem;
    bool is_group = v >= problem->node_count;
    return (pair){ .network = network,
                   .u = u,
                   .v = v,
                   .labels_u = &network->labels[network->first_label[u]],
                   .labels_v = &network->labels[network->first_label[v]],
                   .is_group = is_group,
                   .is_read = !is_group && reads(problem, v, u),
                   .is_fused = !is_group && network->is_in_fusion[u] && network->is_in_fusion[v] };
}

static double pair_ns(const pair *p, const tni_label *x, const tni_label *y)
{
    if (p->is_group)
        return x->place == y->place ? 0 : INFINITY;
    double ns = p->is_fused ? fusion_ns(p->network, p->u, x, p->v, y) : -1;
    if (ns >= 0)
        return ns;
    return p->is_read ? read_ns(p->network, p->u, x, y) : 0;
}

// Label i of those given, of all labels of a variable.
static const tni_label *nth(const tni_label *all, tni_labels of, uint32_t i)
{
    return &all[of.labels ? of.labels[i] : i];
}

// Where nothing but the copies tells labels apart.
static void read_pairs(const pair *p, tni_labels of_u, tni_labels of_v, double *out)
{
    const tni_problem *problem = p->network->index->problem;
    double bytes = (double)problem->value_bytes[p->u], part = p->network->part[p->u];
    for (uint32_t a = 0; a < of_u.count; a++) {
        uint32_t from = nth(p->labels_u, of_u, a)->place;
        const tni_links_from row = tni_links_from_place(problem->links, from);
        for (uint32_t b = 0; b < of_v.count; b++)
            out[b] = part * tni_links_from_cost_ns(row, nth(p->labels_v, of_v, b)->place, bytes);
        out += of_v.count;
    }
}

void tni_network_pairs(const tni_network *network, uint32_t u, uint32_t v, tni_labels of_u,
                       tni_labels of_v, double *out)
{
    const pair p = pair_of(network, u, v);
    if (p.is_read && !p.is_fused &&
        (network->telling[u] == TNI_TOLD_BY_PAIR || network->telling[u] == TNI_TOLD_IN_PARTS)) {
        read_pairs(&p, of_u, of_v, out);
        return;
    }
    for (uint32_t a = 0; a < of_u.count; a++)
        for (uint32_t b = 0; b < of_v.count; b++)
            *out++ = pair_ns(&p, nth(p.labels_u, of_u, a), nth(p.labels_v, of_v, b));
}

// Reader by reader: what the copies for those before it cost, and where these are.
void tni_network_table(const tni_network *network, uint32_t node, const tni_labels *of, double *out)
{
    const tni_problem_index *index = network->index;
    const tni_problem *problem = index->problem;
    uint32_t first = index->first_reader[node], last = index->first_reader[node + 1] - first - 1;
    const tni_label *labels[TNI_FEW_READERS];
    for (uint32_t r = 0; r <= last; r++)
        labels[r] = &network->labels[network->first_label[index->readers[first + r]]];
    for (uint32_t a = 0; a < of[0].count; a++) {
        const tni_label *own = nth(&network->labels[network->first_label[node]], of[0], a);
        uint32_t at[TNI_FEW_READERS] = { 0 };
        uint64_t there[TNI_FEW_READERS] = { 0 };
        double ns[TNI_MAX_PLACES], sum[TNI_FEW_READERS] = { 0 };
        for (uint32_t p = 0; p < problem->place_count; p++)
            ns[p] = tni_links_cost_ns(problem->links, own->place, p, problem->value_bytes[node]);
        for (uint32_t r = 0;;) {
            for (; r < last; r++) {
                uint32_t place = nth(labels[r], of[r + 1], at[r])->place;
                sum[r + 1] = sum[r] + (there[r] >> place & 1 ? 0 : ns[place]);
                there[r + 1] = there[r] | UINT64_C(1) << place;
            }
            const tni_labels of_last = of[last + 1];
            for (uint32_t b = 0; b < of_last.count; b++) {
                uint32_t place = nth(labels[last], of_last, b)->place;
                out[b] = sum[last] + (there[last] >> place & 1 ? 0 : ns[place]);
            }
            out += of_last.count;
            while (r > 0 && ++at[r - 1] == of[r].count)
                at[--r] = 0;
            if (r-- == 0)
                break;
        }
    }
}
