// factors.c: axes by classes of labels, and the factors over them, as the network tells them.
#include "sched/factors.h"

#include <string.h>

#include <tenon/plugin.h>

#include "base/alloc.h"

// ------------------------------------------------------------------------------------------- axes

// What tells labels of a variable apart.
typedef struct telling {
    const tni_network *network;
    uint32_t variable, other;   // other: TNP_NONE, or a node that a claim of the variable may have
    bool by_copies;             // the places that its value is copied to are told apart
} telling;

static bool are_alike(const telling *t, const tni_label *x, const tni_label *y)
{
    if (t->other != TNP_NONE) {
        bool has_x = tni_network_has_node(t->network, x, t->other);
        if (has_x || tni_network_has_node(t->network, y, t->other))
            return x->claim == y->claim;
    }
    return x->place == y->place && (!t->by_copies || x->copies == y->copies);
}

static tni_axis axis_with(uint32_t variable, uint32_t classes, uint32_t map)
{
    uint32_t bits = classes > 1 ? 31u - (uint32_t)__builtin_clz(classes) : 0;
    uint64_t square = (uint64_t)classes * classes;   // from 2^(2 * bits + 1) on: half a bit more
    return (tni_axis){ variable, classes, map, 2 * bits + (square >> (2 * bits + 1) > 0) };
}

// Classes are numbered by their first labels.
static bool make_map(tni_factors *f, const telling *t, tni_axis *out)
{
    const tni_label *labels = &f->network.labels[f->network.first_label[t->variable]];
    uint32_t count = tni_label_count(&f->network, t->variable), firsts[TNI_MOST_MAPPED],
             classes = 0;
    *out = axis_with(t->variable, count, TNI_EACH_LABEL);
    if (count > TNI_MOST_MAPPED)
        return true;
    if (!tni_grow(f->allocator, &f->maps, &f->map_capacity, f->map_count + count, sizeof *f->maps))
        return false;
    for (uint32_t a = 0; a < count; a++) {
        uint32_t c = 0;
        while (c < classes && !are_alike(t, &labels[firsts[c]], &labels[a]))
            c++;
        if (c == classes)
            firsts[classes++] = a;
        f->maps[f->map_count + a] = c;
    }
    if (classes == count)
        return true;
    *out = axis_with(t->variable, classes, f->map_count);
    f->map_count += count;
    return true;
}

static bool is_fused_with(const tni_factors *f, uint32_t node, uint32_t other)
{
    const tni_network *network = &f->network;
    if (!network->is_in_fusion[node] || !network->is_in_fusion[other])
        return false;
    for (uint32_t l = network->first_label[node]; l < network->first_label[node + 1]; l++)
        if (tni_network_has_node(network, &network->labels[l], other))
            return true;
    return false;
}

// What a factor tells apart of a variable: of a group each label; of a node the places of its
// claims, where its copies are paid by its labels these, and which claims have the other node.
static bool make_axis(tni_factors *f, uint32_t variable, uint32_t other, bool by_copies,
                      tni_axis *out)
{
    uint32_t count = tni_label_count(&f->network, variable);
    telling t = { &f->network, variable, TNP_NONE, by_copies };
    *out = axis_with(variable, count, TNI_EACH_LABEL);
    if (count <= 1 || variable >= f->network.index->problem->node_count ||
        (!f->network.is_in_fusion[variable] && count == f->network.place_counts[variable]))
        return true;
    if (other < f->network.index->problem->node_count && is_fused_with(f, variable, other)) {
        t.other = other;
        return make_map(f, &t, out);
    }
    uint32_t *cached = by_copies ? &f->copies_axis[variable] : &f->place_axis[variable];
    if (*cached == TNP_NONE) {
        *cached = f->axis_count;
        tni_axis axis;
        if (!tni_grow(f->allocator, &f->axes, &f->axis_capacity, f->axis_count + 1,
                      sizeof *f->axes) ||
            !make_map(f, &t, &axis))
            return false;
        f->axes[f->axis_count++] = axis;
    }
    *out = f->axes[*cached];
    return true;
}

bool tni_axis_refine(tni_factors *f, tni_axis *axis, const tni_axis *by)
{
    uint32_t labels = tni_label_count(&f->network, axis->variable), classes = 0;
    uint32_t firsts[TNI_MOST_MAPPED];
    if (axis->map == by->map || axis->map == TNI_EACH_LABEL)
        return true;
    if (by->map == TNI_EACH_LABEL) {
        *axis = *by;
        return true;
    }
    if (!tni_grow(f->allocator, &f->maps, &f->map_capacity, f->map_count + labels, sizeof *f->maps))
        return false;
    const uint32_t *x = &f->maps[axis->map], *y = &f->maps[by->map];
    uint32_t *joint = &f->maps[f->map_count];
    for (uint32_t a = 0; a < labels; a++) {
        uint32_t c = 0;
        while (c < classes && (x[firsts[c]] != x[a] || y[firsts[c]] != y[a]))
            c++;
        if (c == classes)
            firsts[classes++] = a;
        joint[a] = c;
    }
    if (classes == by->classes)
        *axis = *by;
    if (classes == axis->classes)
        return true;
    *axis = axis_with(axis->variable, classes, classes == labels ? TNI_EACH_LABEL : f->map_count);
    f->map_count += classes == labels ? 0 : labels;
    return true;
}

// ---------------------------------------------------------------------------------------- factors

size_t tni_factors_take_table(tni_factors *f, size_t entries)
{
    if (entries > UINT32_MAX - f->pool_count ||
        !tni_grow(f->allocator, &f->pool, &f->pool_capacity, f->pool_count + (uint32_t)entries,
                  sizeof *f->pool))
        return TNI_NO_TABLE;
    f->pool_count += (uint32_t)entries;
    return f->pool_count - entries;
}

// For one factor more, with so many axes.
static bool make_room(tni_factors *f, uint32_t axes)
{
    return tni_grow(f->allocator, &f->factors, &f->factor_capacity, f->factor_count + 1,
                    sizeof *f->factors) &&
           tni_grow(f->allocator, &f->axes, &f->axis_capacity, f->axis_count + axes,
                    sizeof *f->axes) &&
           tni_grow(f->allocator, &f->links, &f->link_capacity, f->link_count + axes,
                    sizeof *f->links);
}

bool tni_factors_add(tni_factors *f, const tni_axis *axes, uint32_t count, size_t table)
{
    bool has_room = f->factor_count < f->factor_capacity &&
                    f->axis_capacity - f->axis_count >= count &&
                    f->link_capacity - f->link_count >= count;
    if (!has_room && !make_room(f, count))
        return false;
    tni_axis *to = f->axes + f->axis_count;
    tni_factor_link *link = f->links + f->link_count;
    f->factors[f->factor_count] = (tni_factor){ table, f->axis_count, count, false };
    for (uint32_t i = 0; i < count; i++) {
        uint32_t v = axes[i].variable;
        to[i] = axes[i];
        link[i] = (tni_factor_link){ f->factor_count, f->first_link[v], TNP_NONE, 0 };
        if (count == 2) {
            link[i].other = axes[1 - i].variable;
            link[i].half_bits = axes[1 - i].half_bits;
        }
        f->first_link[v] = f->link_count + i;
        f->degree[v] += count - 1;
    }
    f->axis_count += count;
    f->link_count += count;
    f->factor_count++;
    return true;
}

void tni_factors_drop(tni_factors *f, uint32_t factor)
{
    uint32_t count = f->factors[factor].axis_count;
    f->factors[factor].is_dead = true;
    for (uint32_t i = 0; i < count; i++)
        f->degree[tni_factor_axes(f, factor)[i].variable] -= count - 1;
}

uint32_t tni_factors_find_pair(tni_factors *f, uint32_t u, uint32_t v)
{
    if (f->degree[u] > f->degree[v]) {
        uint32_t other = u;
        u = v;
        v = other;
    }
    for (uint32_t *at = &f->first_link[u]; *at != TNP_NONE;) {
        uint32_t factor = f->links[*at].factor;
        const tni_axis *axes = tni_factor_axes(f, factor);
        if (f->factors[factor].is_dead) {   // unlinked on the way
            *at = f->links[*at].next;
            continue;
        }
        if (f->factors[factor].axis_count == 2 && (axes[0].variable == v || axes[1].variable == v))
            return factor;
        at = &f->links[*at].next;
    }
    return TNP_NONE;
}

// The labels that stand for the classes of an axis; room is for those of a mapped one.
static tni_labels labels_of(const tni_factors *f, const tni_axis *axis,
                            uint32_t room[TNI_MOST_MAPPED])
{
    if (axis->map == TNI_EACH_LABEL)
        return (tni_labels){ axis->classes, NULL };
    for (uint32_t a = tni_label_count(&f->network, axis->variable); a-- > 0;)
        room[f->maps[axis->map + a]] = a;
    return (tni_labels){ axis->classes, room };
}

static void read_pair(const tni_factors *f, const tni_axis *axes, double *out)
{
    uint32_t rows[TNI_MOST_MAPPED], columns[TNI_MOST_MAPPED];
    tni_network_pairs(&f->network, axes[0].variable, axes[1].variable, labels_of(f, &axes[0], rows),
                      labels_of(f, &axes[1], columns), out);
}

void tni_factors_read_pair(const tni_factors *f, uint32_t factor, double *out)
{
    read_pair(f, tni_factor_axes(f, factor), out);
}

// ----------------------------------------------------------------------------------------- making

// A factor that the network tells. Variables that have one label need no axis: what is left over
// one variable are costs of its labels.
static bool add_told(tni_factors *f, const tni_axis *axes, uint32_t count, size_t table)
{
    tni_axis left[1 + TNI_FEW_READERS];
    uint32_t left_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (tni_label_count(&f->network, axes[i].variable) > 1)
            left[left_count++] = axes[i];
    if (left_count > 1)
        return tni_factors_add(f, left, left_count, table);
    const tni_axis *one = left_count ? left : axes;
    double *label_ns = &f->network.label_ns[f->network.first_label[one->variable]];
    for (uint32_t a = 0; a < tni_label_count(&f->network, one->variable); a++)
        label_ns[a] += f->pool[table + tni_class_of(f, one, a)];
    f->pool_count = (uint32_t)table;   // the last one that was taken
    return true;
}

static bool add_pair(tni_factors *f, uint32_t u, uint32_t v)
{
    tni_axis axes[2];
    bool by_copies = v < f->network.index->problem->node_count &&
                     f->network.telling[u] == TNI_TOLD_BY_LABELS;
    if (!make_axis(f, u, v, by_copies, &axes[0]) || !make_axis(f, v, u, false, &axes[1]))
        return false;
    if (tni_label_count(&f->network, u) > 1 && tni_label_count(&f->network, v) > 1)
        return tni_factors_add(f, axes, 2, TNI_NO_TABLE);
    size_t entries = (size_t)axes[0].classes * axes[1].classes;
    if (entries == 0)   // a node that nothing may take
        return true;
    size_t table = tni_factors_take_table(f, entries);
    if (table == TNI_NO_TABLE)
        return false;
    read_pair(f, axes, &f->pool[table]);
    return add_told(f, axes, 2, table);
}

// A table over a node and its readers.
static bool add_table(tni_factors *f, uint32_t v)
{
    const tni_problem_index *index = f->network.index;
    tni_axis axes[1 + TNI_FEW_READERS];
    tni_labels labels[1 + TNI_FEW_READERS];
    uint32_t room[1 + TNI_FEW_READERS][TNI_MOST_MAPPED], count = 0;
    size_t entries = 1;
    for (uint32_t i = index->first_reader[v]; i <= index->first_reader[v + 1]; i++, count++) {
        uint32_t of = count ? index->readers[i - 1] : v;
        if (!make_axis(f, of, TNP_NONE, false, &axes[count]))
            return false;
        labels[count] = labels_of(f, &axes[count], room[count]);
        entries *= axes[count].classes;
    }
    if (entries == 0)   // a node that nothing may take
        return true;
    size_t table = tni_factors_take_table(f, entries);
    if (table == TNI_NO_TABLE)
        return false;
    tni_network_table(&f->network, v, labels, &f->pool[table]);
    return add_told(f, axes, count, table);
}

// Pairs of a node with nodes before it and its group.
static bool add_pairs_of(tni_factors *f, uint32_t v)
{
    const tni_problem_index *index = f->network.index;
    const tni_problem *problem = index->problem;
    f->stamp++;
    for (uint32_t i = problem->first_operand[v]; i < problem->first_operand[v + 1]; i++) {
        if (f->network.telling[problem->operands[i]] == TNI_TOLD_BY_TABLE)
            continue;
        f->mark[problem->operands[i]] = f->stamp;
        if (!add_pair(f, problem->operands[i], v))
            return false;
    }
    for (uint32_t i = index->first_claim[v];
         i < index->first_claim[v + 1] && f->network.is_in_fusion[v]; i++) {
        const tni_problem_claim *claim = &problem->claims[index->claims[i]];
        uint32_t at = 0, end = claim->node_count;
        while (claim->nodes[at] != v) {   // halves: a claim may have the whole graph
            uint32_t middle = at + (end - at) / 2;
            if (claim->nodes[middle] <= v)
                at = middle;
            else
                end = middle;
        }
        if (at == 0 || f->mark[claim->nodes[at - 1]] == f->stamp)
            continue;
        f->mark[claim->nodes[at - 1]] = f->stamp;
        if (!add_pair(f, claim->nodes[at - 1], v))
            return false;
    }
    return !problem->groups || problem->groups[v] == TNP_NONE ||
           add_pair(f, v, problem->node_count + problem->groups[v]);
}

// Room for about as many as there will be, so that few have to move: pairs of a few labels, and
// what elimination makes of them.
static bool reserve(tni_factors *f)
{
    enum { AXES_A_FACTOR = 3, NUMBERS_A_FACTOR = 32 };
    const tni_problem *problem = f->network.index->problem;
    uint32_t nodes = problem->node_count, pairs = problem->first_operand[nodes];
    return tni_grow(f->allocator, &f->factors, &f->factor_capacity, nodes + pairs,
                    sizeof *f->factors) &&
           tni_grow(f->allocator, &f->axes, &f->axis_capacity, AXES_A_FACTOR * (nodes + pairs),
                    sizeof *f->axes) &&
           tni_grow(f->allocator, &f->links, &f->link_capacity, AXES_A_FACTOR * (nodes + pairs),
                    sizeof *f->links) &&
           tni_grow(f->allocator, &f->pool, &f->pool_capacity, NUMBERS_A_FACTOR * (nodes + pairs),
                    sizeof *f->pool);
}

bool tni_factors_make(const tni_problem_index *index, const tni_elimination *how,
                      const tn_allocator *allocator, tni_arena *arena, tni_factors *out)
{
    uint32_t nodes = index->problem->node_count;
    *out = (tni_factors){ .allocator = allocator };
    if (!tni_network_make(index, how, arena, &out->network))
        return false;
    size_t count = out->network.variable_count;
    out->first_link = tni_arena_take_indices(arena, count);
    out->degree = tni_arena_take_array(arena, count, sizeof *out->degree);
    out->place_axis = tni_arena_take_indices(arena, nodes);
    out->copies_axis = tni_arena_take_indices(arena, nodes);
    out->mark = tni_arena_take_array(arena, count, sizeof *out->mark);
    if (!out->first_link || !out->degree || !out->place_axis || !out->copies_axis || !out->mark ||
        !reserve(out))
        return false;
    for (uint32_t n = 0; n < nodes; n++)
        if (!add_pairs_of(out, n) ||
            (out->network.telling[n] == TNI_TOLD_BY_TABLE && !add_table(out, n)))
            return false;
    return true;
}

void tni_factors_finish(tni_factors *f)
{
    tni_free(f->allocator, f->factors);
    tni_free(f->allocator, f->axes);
    tni_free(f->allocator, f->maps);
    tni_free(f->allocator, f->links);
    tni_free(f->allocator, f->pool);
}
