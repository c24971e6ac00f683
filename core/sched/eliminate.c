// eliminate.c: bucket elimination (Dechter, 1999) over the network of a problem.
//
// One variable after another is eliminated: for all labels of its neighbours, what it and its pairs
// cost at least is a new factor over these neighbours. At the end a constant is left: the least
// cost. Going back, each variable takes the label that is cheapest given its neighbours. The one
// whose factor is the smallest table, by the classes of labels that its neighbours tell apart, goes
// first: chains make factors over one variable, and graphs that are series and parallel factors
// over two, so time is linear in both.
//
// Where neighbours are many, their labels make too large a table. Then its factors are divided into
// pieces that are minimised each by itself (mini-buckets: Dechter and Rish, 2003). What comes out
// is a lower bound, and an assignment that need not be the best.
//
//   factors.c            costs on labels of several variables, and which labels they tell apart
//   elimination_queue.c  which variable is the next
//   minimise.c           the factors of a variable put together, and minimised over its labels
#include <math.h>
#include <string.h>

#include <tenon/plugin.h>

#include "base/alloc.h"
#include "sched/elimination_queue.h"
#include "sched/minimise.h"

// Factors that are looked at for one piece: more do not fit into it.
enum { WINDOW = 64 };
// Entries of a table, once the work is used up. A quarter of it makes bounds lower by a tenth of a
// percent, and four times as much takes up to a quarter more time where memory is short.
enum { SMALL_TABLE = 64 };

typedef struct eliminator {
    tni_factors factors;
    tni_elimination_queue waiting;
    tni_minimiser minimiser;
    tni_elimination *how;
    const tn_allocator *allocator;
    uint32_t *buckets;   // factors, by variable as they were eliminated
    uint32_t bucket_count, bucket_capacity;
    uint32_t *first_bucket;   // by variable
    uint32_t *bucket_size;    // by variable
    uint32_t *eliminated;     // variables, one after the other
    uint32_t eliminated_count;
    uint32_t *around;             // scratch, by variable
    uint32_t *label;              // by variable
    double *label_ns, *pair_ns;   // scratch: of the labels of one variable
} eliminator;

static void take_around(eliminator *e, uint32_t w, uint32_t *count)
{
    if (e->factors.mark[w] == e->factors.stamp)
        return;
    e->factors.mark[w] = e->factors.stamp;
    e->around[(*count)++] = w;
    tni_elimination_queue_leave(&e->waiting, w);
}

// The living factors of v, into its bucket; the variables around wait no longer.
static bool fill_bucket(eliminator *e, uint32_t v, uint32_t *out_count)
{
    tni_factors *f = &e->factors;
    e->first_bucket[v] = e->bucket_count;
    f->stamp++;
    f->mark[v] = f->stamp;
    *out_count = 0;
    for (uint32_t at = f->first_link[v]; at != TNP_NONE; at = f->links[at].next) {
        uint32_t factor = f->links[at].factor;
        if (f->factors[factor].is_dead)
            continue;
        if (e->bucket_count == e->bucket_capacity &&
            !tni_grow(e->allocator, &e->buckets, &e->bucket_capacity, e->bucket_count + 1,
                      sizeof *e->buckets))
            return false;
        e->buckets[e->bucket_count++] = factor;
        if (f->links[at].other != TNP_NONE) {
            take_around(e, f->links[at].other, out_count);
            continue;
        }
        const tni_axis *axis = tni_factor_axes(f, factor);
        for (uint32_t i = f->factors[factor].axis_count; i-- > 0; axis++)
            take_around(e, axis->variable, out_count);
    }
    e->bucket_size[v] = e->bucket_count - e->first_bucket[v];
    return true;
}

// A factor over just the two variables around is taken over by the one that comes.
static bool absorb_pair(eliminator *e, tni_piece *p)
{
    uint32_t there = tni_factors_find_pair(&e->factors, p->around[0].variable,
                                           p->around[1].variable);
    bool is_in = false;
    if (there != TNP_NONE && !tni_piece_join(&e->factors, p, there, SIZE_MAX, &is_in))
        return false;
    if (is_in)
        tni_factors_drop(&e->factors, there);
    return true;
}

// A piece takes as many factors as it can, of the next few; one label needs no common table.
static bool minimise_bucket(eliminator *e, uint32_t v)
{
    bool is_alone = tni_label_count(&e->factors.network, v) == 1;
    uint32_t at = e->first_bucket[v], end = at + e->bucket_size[v];
    size_t most = e->minimiser.work > e->how->most_work ? SMALL_TABLE : e->how->most_entries;
    for (bool is_first = true; is_first || at < end; is_first = false) {
        tni_piece p;
        tni_piece_begin(v, is_first, &p);
        for (uint32_t i = at; i < end && i < at + WINDOW && (!is_alone || !p.factor_count); i++) {
            uint32_t f = e->buckets[i];
            bool is_in;
            if (!tni_piece_join(&e->factors, &p, f, most, &is_in))
                return false;
            if (!is_in)
                continue;
            e->buckets[i] = e->buckets[at];   // what has joined is left behind
            e->buckets[at++] = f;
        }
        e->how->is_exact &= is_alone || at == end;
        if (p.around_count == 2 && !absorb_pair(e, &p))
            return false;
        if (!tni_piece_minimise(&e->minimiser, &p))
            return false;
    }
    return true;
}

static bool eliminate_all(eliminator *e)
{
    for (uint32_t v; (v = tni_elimination_queue_take(&e->waiting)) != TNP_NONE;) {
        uint32_t count;
        e->eliminated[e->eliminated_count++] = v;
        if (!fill_bucket(e, v, &count))
            return false;
        for (uint32_t i = 0; i < e->bucket_size[v]; i++)
            tni_factors_drop(&e->factors, e->buckets[e->first_bucket[v] + i]);
        if (!minimise_bucket(e, v))
            return false;
        for (uint32_t i = count; i-- > 0;)
            tni_elimination_queue_enter(&e->waiting, e->around[i]);
    }
    return true;
}

// -------------------------------------------------------------------------------------- going back

// Adds what a factor costs to each label of v, given the labels of the others.
static void add_factor(const eliminator *e, uint32_t factor, uint32_t v)
{
    const tni_factors *f = &e->factors;
    const tni_axis *axes = tni_factor_axes(f, factor), *own = NULL;
    uint32_t labels = tni_label_count(&f->network, v);
    size_t at = f->factors[factor].table, stride = 1, own_stride = 1;
    if (at == TNI_NO_TABLE) {
        uint32_t first = axes[0].variable, second = axes[1].variable;
        tni_labels all = { labels, NULL }, one = { 1, &e->label[first == v ? second : first] };
        tni_network_pairs(&f->network, first, second, first == v ? all : one,
                          first == v ? one : all, e->pair_ns);
        for (uint32_t k = 0; k < labels; k++)
            e->label_ns[k] += e->pair_ns[k];
        return;
    }
    for (uint32_t i = f->factors[factor].axis_count; i-- > 0; stride *= axes[i].classes) {
        if (axes[i].variable != v) {
            at += stride * tni_class_of(f, &axes[i], e->label[axes[i].variable]);
            continue;
        }
        own = &axes[i];
        own_stride = stride;
    }
    for (uint32_t k = 0; k < labels; k++)
        e->label_ns[k] += f->pool[at + own_stride * tni_class_of(f, own, k)];
}

// Backwards, each variable takes the label that is cheapest given those around it.
static bool choose_labels(eliminator *e, uint32_t *chosen)
{
    const tni_network *network = &e->factors.network;
    for (uint32_t i = e->eliminated_count; i-- > 0;) {
        uint32_t v = e->eliminated[i], best = 0, labels = tni_label_count(network, v);
        memcpy(e->label_ns, &network->label_ns[network->first_label[v]],
               labels * sizeof *e->label_ns);
        for (uint32_t b = 0; b < e->bucket_size[v] && (labels > 1 || !e->how->is_exact); b++)
            add_factor(e, e->buckets[e->first_bucket[v] + b], v);
        for (uint32_t k = 1; k < labels; k++)
            best = e->label_ns[k] < e->label_ns[best] ? k : best;
        if (e->label_ns[best] == INFINITY)
            return false;
        e->label[v] = best;
        if (v < network->index->problem->node_count)
            chosen[v] = network->labels[network->first_label[v] + best].claim;
    }
    return true;
}

// ------------------------------------------------------------------------------------------ making

static bool take_tables(eliminator *e, tni_arena *arena, uint32_t most_labels)
{
    size_t count = e->factors.network.variable_count;
    e->first_bucket = tni_arena_take_array(arena, count, sizeof *e->first_bucket);
    e->bucket_size = tni_arena_take_array(arena, count, sizeof *e->bucket_size);
    e->eliminated = tni_arena_take_array(arena, count, sizeof *e->eliminated);
    e->around = tni_arena_take_array(arena, count, sizeof *e->around);
    e->label = tni_arena_take_array(arena, count, sizeof *e->label);
    e->label_ns = tni_arena_take_array(arena, most_labels, sizeof *e->label_ns);
    e->pair_ns = tni_arena_take_array(arena, most_labels, sizeof *e->pair_ns);
    return e->first_bucket && e->bucket_size && e->eliminated && e->around && e->label &&
           e->label_ns && e->pair_ns;
}

static bool solve(eliminator *e, const tni_problem_index *index, tni_arena *arena, uint32_t *chosen)
{
    uint32_t most_labels = 0, fewest_labels = UINT32_MAX;
    e->how->is_exact = true;
    e->how->is_found = false;
    e->how->bound_ns = INFINITY;
    if (!tni_factors_make(index, e->how, e->allocator, arena, &e->factors))
        return false;
    const tni_network *network = &e->factors.network;
    for (uint32_t v = 0; v < network->variable_count; v++) {
        uint32_t labels = tni_label_count(network, v);
        most_labels = labels > most_labels ? labels : most_labels;
        fewest_labels = labels < fewest_labels ? labels : fewest_labels;
    }
    if (fewest_labels == 0)   // a node that nothing may take
        return true;
    if (!take_tables(e, arena, most_labels) ||
        !tni_elimination_queue_make(&e->factors, arena, &e->waiting) || !eliminate_all(e))
        return false;
    e->how->bound_ns = e->minimiser.constant;
    e->how->work = e->minimiser.work;
    e->how->is_exact &= !network->is_in_parts;
    e->how->is_found = e->how->bound_ns < INFINITY && choose_labels(e, chosen);
    return true;
}

bool tni_solve_by_elimination(const tni_problem_index *index, tni_elimination *how,
                              const tn_allocator *allocator, uint32_t *chosen)
{
    tni_arena arena;
    eliminator e = { .how = how, .allocator = allocator };
    e.factors.allocator = allocator;
    e.minimiser.factors = &e.factors;
    tni_arena_init(&arena, allocator);
    bool has_memory = solve(&e, index, &arena, chosen);
    tni_minimiser_finish(&e.minimiser);
    tni_factors_finish(&e.factors);
    tni_free(allocator, e.buckets);
    tni_arena_finish(&arena);
    return has_memory;
}
