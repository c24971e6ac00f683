// eliminate.c: bucket elimination (Dechter, 1999) over the network of a problem.
//
// One variable after another is eliminated: for all labels of its neighbours, what it and its pairs
// cost at least is a new factor over these neighbours. At the end a constant is left: the least
// cost. Going back, each variable takes the label that is cheapest given its neighbours. The one
// with the fewest neighbours goes first, so chains make factors over one variable, and graphs that
// are series and parallel factors over two: time is linear in both.
//
// Where neighbours are many, their labels make too large a table. Then its factors are divided into
// groups that are minimised each by itself (mini-buckets: Dechter and Rish, 2003). What comes out
// is a lower bound, and an assignment that need not be the best.
#include <math.h>
#include <string.h>

#include <tenon/plugin.h>

#include "base/alloc.h"
#include "sched/network.h"

enum { SLOTS = 64, MOST_SEEN = 32, MOST_SCOPE = 24, WINDOW = 64, SMALL_TABLE = 64 };

#define NO_TABLE SIZE_MAX

// A cost on the labels of some variables: a table, the last variable of the scope the fastest, or a
// pair of the network that was not asked yet.
typedef struct factor {
    size_t table;   // its first number in the pool
    uint32_t scope, scope_count;
    bool is_dead;
} factor;

typedef struct link {
    uint32_t factor, next;
} link;

typedef struct eliminator {
    tni_network network;
    tni_elimination *how;
    const tn_allocator *allocator;
    factor *factors;
    uint32_t factor_count, factor_capacity;
    uint32_t *scopes;
    uint32_t scope_count, scope_capacity;
    link *links;
    uint32_t link_count, link_capacity;
    double *pool;
    uint32_t pool_count, pool_capacity;
    uint32_t *buckets;   // factors, by variable in the order of elimination
    uint32_t bucket_count, bucket_capacity;
    double *scratch;
    uint32_t scratch_capacity;
    uint32_t *first_link;     // by variable
    uint32_t *degree;         // by variable: neighbours, counted by factor
    uint32_t *first_bucket;   // by variable
    uint32_t *bucket_size;    // by variable
    uint32_t *order;          // variables as they were eliminated
    uint32_t order_count;
    uint32_t *slot;             // by variable: of the queue
    uint32_t *half_bits;        // by variable: logarithm of its labels
    uint32_t *before, *after;   // by variable: those of the same slot
    uint32_t first_of[SLOTS];
    uint32_t *mark, stamp;   // by variable: it is in the union at hand
    uint32_t *label;         // by variable
    uint64_t work;
    double constant;
} eliminator;

// -------------------------------------------------------------------------------------- the queue

// How large a table eliminating v would make, in half bits: the labels of those around it. What has
// many factors comes last; what has one label, first.
static uint32_t slot_of(eliminator *e, uint32_t v)
{
    uint32_t half_bits = 0, seen = 0;
    if (tni_label_count(&e->network, v) <= 1)
        return 0;
    e->stamp++;
    e->mark[v] = e->stamp;
    for (uint32_t *at = &e->first_link[v]; *at != TNP_NONE;) {
        uint32_t f = e->links[*at].factor;
        if (e->factors[f].is_dead) {
            *at = e->links[*at].next;
            continue;
        }
        if (seen++ == MOST_SEEN)
            return SLOTS - 1;
        for (uint32_t i = 0; i < e->factors[f].scope_count; i++) {
            uint32_t w = e->scopes[e->factors[f].scope + i];
            half_bits += e->mark[w] == e->stamp ? 0 : e->half_bits[w];
            e->mark[w] = e->stamp;
        }
        at = &e->links[*at].next;
    }
    return half_bits < SLOTS - 2 ? half_bits + 1 : SLOTS - 2;
}

static void leave_queue(eliminator *e, uint32_t v)
{
    if (e->before[v] == TNP_NONE)
        e->first_of[e->slot[v]] = e->after[v];
    else
        e->after[e->before[v]] = e->after[v];
    if (e->after[v] != TNP_NONE)
        e->before[e->after[v]] = e->before[v];
}

static void enter_queue(eliminator *e, uint32_t v)
{
    uint32_t slot = e->slot[v] = slot_of(e, v);
    e->before[v] = TNP_NONE;
    e->after[v] = e->first_of[slot];
    if (e->after[v] != TNP_NONE)
        e->before[e->after[v]] = v;
    e->first_of[slot] = v;
}

static uint32_t take_next(eliminator *e)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (e->first_of[slot] != TNP_NONE) {
            uint32_t v = e->first_of[slot];
            leave_queue(e, v);
            return v;
        }
    return TNP_NONE;
}

// ---------------------------------------------------------------------------------------- factors

static uint32_t *scope_of(const eliminator *e, uint32_t f)
{
    return &e->scopes[e->factors[f].scope];
}

// Numbers in the pool; NO_TABLE: no memory.
static size_t take_table(eliminator *e, size_t entries)
{
    if (entries > UINT32_MAX - e->pool_count ||
        !tni_grow(e->allocator, &e->pool, &e->pool_capacity, e->pool_count + (uint32_t)entries,
                  sizeof *e->pool))
        return NO_TABLE;
    e->pool_count += (uint32_t)entries;
    return e->pool_count - entries;
}

// The variables' degrees follow; those that wait in the queue have to be out of it.
static bool add_factor(eliminator *e, const uint32_t *scope, uint32_t count, size_t table)
{
    if (!tni_grow(e->allocator, &e->factors, &e->factor_capacity, e->factor_count + 1,
                  sizeof *e->factors) ||
        !tni_grow(e->allocator, &e->scopes, &e->scope_capacity, e->scope_count + count,
                  sizeof *e->scopes) ||
        !tni_grow(e->allocator, &e->links, &e->link_capacity, e->link_count + count,
                  sizeof *e->links))
        return false;
    memcpy(&e->scopes[e->scope_count], scope, count * sizeof *scope);
    e->factors[e->factor_count] = (factor){ table, e->scope_count, count, false };
    e->scope_count += count;
    for (uint32_t i = 0; i < count; i++) {
        e->links[e->link_count] = (link){ e->factor_count, e->first_link[scope[i]] };
        e->first_link[scope[i]] = e->link_count++;
        e->degree[scope[i]] += count - 1;
    }
    e->factor_count++;
    return true;
}

static void drop_factor(eliminator *e, uint32_t f)
{
    e->factors[f].is_dead = true;
    for (uint32_t i = 0; i < e->factors[f].scope_count; i++)
        e->degree[scope_of(e, f)[i]] -= e->factors[f].scope_count - 1;
}

// The living factor over just these two variables; dead ones on the way are unlinked.
static uint32_t find_pair(eliminator *e, uint32_t u, uint32_t v)
{
    if (e->degree[u] > e->degree[v]) {
        uint32_t other = u;
        u = v;
        v = other;
    }
    for (uint32_t *at = &e->first_link[u]; *at != TNP_NONE;) {
        uint32_t f = e->links[*at].factor;
        const uint32_t *scope = scope_of(e, f);
        if (e->factors[f].is_dead) {
            *at = e->links[*at].next;
            continue;
        }
        if (e->factors[f].scope_count == 2 && (scope[0] == v || scope[1] == v))
            return f;
        at = &e->links[*at].next;
    }
    return TNP_NONE;
}

// The cost of a pair, oriented: out[label of u * columns + label of v].
static void read_pair(const eliminator *e, uint32_t f, uint32_t u, uint32_t v, double *out)
{
    uint32_t rows = tni_label_count(&e->network, u), columns = tni_label_count(&e->network, v);
    const uint32_t *scope = scope_of(e, f);
    if (rows == 0 || columns == 0)   // a node that nothing may take
        return;
    if (e->factors[f].table == NO_TABLE && u < v) {
        tni_network_pairs(&e->network, u, v, columns, 1, out);
    } else if (e->factors[f].table == NO_TABLE) {
        tni_network_pairs(&e->network, v, u, 1, columns, out);
    } else if (scope[0] == u) {
        memcpy(out, &e->pool[e->factors[f].table], (size_t)rows * columns * sizeof *out);
    } else {
        const double *from = &e->pool[e->factors[f].table];
        for (uint32_t a = 0; a < rows; a++)
            for (uint32_t b = 0; b < columns; b++)
                out[a * columns + b] = from[b * rows + a];
    }
}

// ----------------------------------------------------------------------------------------- pieces

// A group of factors of the variable that is eliminated, minimised by itself.
typedef struct piece {
    uint32_t v;
    const double *label_ns;   // of v: counted in this piece, or zeros
    uint32_t factors[MOST_SCOPE], factor_count;
    uint32_t around[MOST_SCOPE], around_count;   // the other variables
    size_t entries;                              // of the table over them
} piece;

static bool need_scratch(eliminator *e, size_t entries)
{
    return entries <= UINT32_MAX && tni_grow(e->allocator, &e->scratch, &e->scratch_capacity,
                                             (uint32_t)entries, sizeof *e->scratch);
}

// Over one neighbour: its labels get dearer.
static bool minimise_to_one(eliminator *e, const piece *p)
{
    uint32_t u = p->around[0], labels = tni_label_count(&e->network, p->v);
    uint32_t rows = tni_label_count(&e->network, u);
    if (!need_scratch(e, (size_t)rows * labels))
        return false;
    read_pair(e, p->factors[0], u, p->v, e->scratch);
    for (uint32_t a = 0; a < rows; a++) {
        double best = INFINITY;
        for (uint32_t k = 0; k < labels; k++) {
            double ns = e->scratch[a * labels + k] + p->label_ns[k];
            best = ns < best ? ns : best;
        }
        e->network.label_ns[e->network.first_label[u] + a] += best;
    }
    return true;
}

// Over two neighbours, by a pair with each: a product of matrices, with min for + and + for *.
static bool minimise_to_two(eliminator *e, const piece *p, double *restrict out)
{
    uint32_t u = p->around[0], w = p->around[1];
    uint32_t rows = tni_label_count(&e->network, u), columns = tni_label_count(&e->network, w);
    uint32_t labels = tni_label_count(&e->network, p->v);
    if (!need_scratch(e, ((size_t)rows + columns) * labels))
        return false;
    double *left = e->scratch, *right = e->scratch + (size_t)rows * labels;
    const uint32_t *scope = scope_of(e, p->factors[0]);
    bool is_first = scope[0] == u || scope[1] == u;
    read_pair(e, p->factors[is_first ? 0 : 1], u, p->v, left);
    read_pair(e, p->factors[is_first ? 1 : 0], p->v, w, right);
    for (size_t i = 0; i < p->entries; i++)
        out[i] = INFINITY;
    for (uint32_t a = 0; a < rows; a++)
        for (uint32_t k = 0; k < labels; k++) {
            double ns = left[a * labels + k] + p->label_ns[k];
            double *restrict to = &out[(size_t)a * columns];
            const double *restrict from = &right[(size_t)k * columns];
            for (uint32_t b = 0; b < columns && ns < INFINITY; b++) {
                double sum = ns + from[b];
                to[b] = sum < to[b] ? sum : to[b];
            }
        }
    return true;
}

// Adds a factor to the sums, by labels around and labels of v, the latter the fastest.
static void add_up(const eliminator *e, const piece *p, uint32_t f, const double *from, double *to)
{
    uint32_t counts[MOST_SCOPE], at[MOST_SCOPE] = { 0 },
                                 labels = tni_label_count(&e->network, p->v);
    size_t strides[MOST_SCOPE] = { 0 }, own_stride = 0, stride = 1;
    const uint32_t *scope = scope_of(e, f);
    for (uint32_t i = e->factors[f].scope_count; i-- > 0;) {
        own_stride = scope[i] == p->v ? stride : own_stride;
        for (uint32_t k = 0; k < p->around_count; k++)
            strides[k] = scope[i] == p->around[k] ? stride : strides[k];
        stride *= tni_label_count(&e->network, scope[i]);
    }
    for (uint32_t i = 0; i < p->around_count; i++)
        counts[i] = tni_label_count(&e->network, p->around[i]);
    for (size_t entry = 0; entry < p->entries; entry++, to += labels) {
        for (uint32_t k = 0; k < labels; k++)
            to[k] += from[k * own_stride];
        for (uint32_t i = p->around_count; i-- > 0;) {
            if (++at[i] < counts[i]) {
                from += strides[i];
                break;
            }
            from -= strides[i] * (counts[i] - 1);
            at[i] = 0;
        }
    }
}

// Over any number of neighbours.
static bool minimise_to_many(eliminator *e, const piece *p, double *out)
{
    uint32_t labels = tni_label_count(&e->network, p->v);
    size_t sums = p->entries * labels, most_pair = 0;
    for (uint32_t i = 0; i < p->factor_count; i++) {
        const uint32_t *scope = scope_of(e, p->factors[i]);
        size_t pair = (size_t)tni_label_count(&e->network, scope[0]) *
                      tni_label_count(&e->network, scope[1]);
        most_pair = pair > most_pair ? pair : most_pair;
    }
    if (!need_scratch(e, sums + most_pair))
        return false;
    for (size_t i = 0; i < sums; i += labels)
        for (uint32_t k = 0; k < labels; k++)
            e->scratch[i + k] = p->label_ns[k];
    for (uint32_t i = 0; i < p->factor_count; i++) {
        const factor *f = &e->factors[p->factors[i]];
        const uint32_t *scope = scope_of(e, p->factors[i]);
        if (f->table == NO_TABLE)
            read_pair(e, p->factors[i], scope[0], scope[1], e->scratch + sums);
        add_up(e, p, p->factors[i], f->table == NO_TABLE ? e->scratch + sums : &e->pool[f->table],
               e->scratch);
    }
    const double *from = e->scratch;
    for (size_t entry = 0; entry < p->entries; entry++, from += labels) {
        double best = INFINITY;
        for (uint32_t k = 0; k < labels; k++)
            best = from[k] < best ? from[k] : best;
        out[entry] = best;
    }
    return true;
}

// The new factor takes over one that is there already.
static void absorb_pair(eliminator *e, const piece *p, size_t table)
{
    uint32_t u = p->around[0], w = p->around[1], there = find_pair(e, u, w);
    if (there == TNP_NONE)
        return;
    read_pair(e, there, u, w, e->scratch);
    for (size_t i = 0; i < p->entries; i++)
        e->pool[table + i] += e->scratch[i];
    drop_factor(e, there);
}

static bool finish_piece(eliminator *e, const piece *p)
{
    uint32_t labels = tni_label_count(&e->network, p->v);
    e->work += p->entries * labels * (p->factor_count + 1);
    if (p->around_count == 0) {
        double best = INFINITY;
        for (uint32_t k = 0; k < labels; k++)
            best = p->label_ns[k] < best ? p->label_ns[k] : best;
        e->constant += best;
        return true;
    }
    if (p->around_count == 1)
        return minimise_to_one(e, p);
    size_t table = take_table(e, p->entries);
    if (table == NO_TABLE)
        return false;
    bool is_two = p->around_count == 2 && p->factor_count == 2 &&
                  e->factors[p->factors[0]].scope_count == 2 &&
                  e->factors[p->factors[1]].scope_count == 2;
    if (!(is_two ? minimise_to_two(e, p, &e->pool[table])
                 : minimise_to_many(e, p, &e->pool[table])))
        return false;
    if (p->around_count == 2) {
        if (!need_scratch(e, p->entries))
            return false;
        absorb_pair(e, p, table);
    }
    return add_factor(e, p->around, p->around_count, table);
}

// Puts a factor into a piece, when the table does not get too large.
static bool join_piece(eliminator *e, piece *p, uint32_t f, bool is_first)
{
    size_t most = e->work > e->how->most_work ? SMALL_TABLE : e->how->most_entries;
    size_t entries = p->entries;
    const uint32_t *scope = scope_of(e, f);
    uint32_t fresh[MOST_SCOPE], fresh_count = 0;
    if (p->factor_count == MOST_SCOPE)
        return false;
    for (uint32_t i = 0; i < e->factors[f].scope_count; i++) {
        bool is_there = scope[i] == p->v;
        for (uint32_t k = 0; k < p->around_count && !is_there; k++)
            is_there = p->around[k] == scope[i];
        if (is_there)
            continue;
        fresh[fresh_count++] = scope[i];
        entries *= tni_label_count(&e->network, scope[i]);
        if (!is_first && (entries > most || p->around_count + fresh_count > MOST_SCOPE))
            return false;
    }
    memcpy(&p->around[p->around_count], fresh, fresh_count * sizeof *fresh);
    p->around_count += fresh_count;
    p->factors[p->factor_count++] = f;
    p->entries = entries;
    return true;
}

// ------------------------------------------------------------------------------------- elimination

// The living factors of v, into its bucket; the variables around leave the queue.
static bool fill_bucket(eliminator *e, uint32_t v, uint32_t *around, uint32_t *out_count)
{
    e->first_bucket[v] = e->bucket_count;
    e->stamp++;
    e->mark[v] = e->stamp;
    *out_count = 0;
    for (uint32_t at = e->first_link[v]; at != TNP_NONE; at = e->links[at].next) {
        uint32_t f = e->links[at].factor;
        if (e->factors[f].is_dead)
            continue;
        if (!tni_grow(e->allocator, &e->buckets, &e->bucket_capacity, e->bucket_count + 1,
                      sizeof *e->buckets))
            return false;
        e->buckets[e->bucket_count++] = f;
        for (uint32_t i = 0; i < e->factors[f].scope_count; i++) {
            uint32_t w = scope_of(e, f)[i];
            if (e->mark[w] == e->stamp)
                continue;
            e->mark[w] = e->stamp;
            around[(*out_count)++] = w;
            leave_queue(e, w);
        }
    }
    e->bucket_size[v] = e->bucket_count - e->first_bucket[v];
    return true;
}

// A piece takes as many factors as it can, of the next few; one label needs no common table.
static bool minimise_bucket(eliminator *e, uint32_t v, const double *zeros)
{
    bool is_alone = tni_label_count(&e->network, v) == 1;
    uint32_t at = e->first_bucket[v], end = at + e->bucket_size[v];
    const double *label_ns = &e->network.label_ns[e->network.first_label[v]];
    for (bool is_first = true; is_first || at < end; is_first = false) {
        piece p = { .v = v, .label_ns = is_first ? label_ns : zeros, .entries = 1 };
        for (uint32_t i = at; i < end && i < at + WINDOW; i++) {
            uint32_t f = e->buckets[i];
            if (p.factor_count && (is_alone || !join_piece(e, &p, f, false)))
                continue;
            if (p.factor_count == 0)
                join_piece(e, &p, f, true);
            e->buckets[i] = e->buckets[at];   // what has joined is left behind
            e->buckets[at++] = f;
        }
        e->how->is_exact &= is_alone || at == end;
        if (!finish_piece(e, &p))
            return false;
    }
    return true;
}

static bool eliminate_all(eliminator *e, uint32_t *around, const double *zeros)
{
    for (uint32_t v; (v = take_next(e)) != TNP_NONE;) {
        uint32_t count;
        e->order[e->order_count++] = v;
        if (!fill_bucket(e, v, around, &count))
            return false;
        for (uint32_t i = 0; i < e->bucket_size[v]; i++)
            drop_factor(e, e->buckets[e->first_bucket[v] + i]);
        if (!minimise_bucket(e, v, zeros))
            return false;
        for (uint32_t i = count; i-- > 0;)
            enter_queue(e, around[i]);
    }
    return true;
}

// What the factor costs, by the label of each variable.
static double factor_ns(const eliminator *e, uint32_t f)
{
    const uint32_t *scope = scope_of(e, f);
    size_t at = e->factors[f].table;
    if (at == NO_TABLE)
        return tni_network_pair_ns(&e->network, scope[0], e->label[scope[0]], scope[1],
                                   e->label[scope[1]]);
    size_t index = 0;
    for (uint32_t i = 0; i < e->factors[f].scope_count; i++)
        index = index * tni_label_count(&e->network, scope[i]) + e->label[scope[i]];
    return e->pool[at + index];
}

// Backwards, each variable takes the label that is cheapest given those around it.
static bool choose_labels(eliminator *e, uint32_t *chosen)
{
    for (uint32_t i = e->order_count; i-- > 0;) {
        uint32_t v = e->order[i], best = TNP_NONE;
        double best_ns = INFINITY;
        for (uint32_t k = 0; k < tni_label_count(&e->network, v); k++) {
            double ns = e->network.label_ns[e->network.first_label[v] + k];
            e->label[v] = k;
            for (uint32_t b = 0; b < e->bucket_size[v] && ns < best_ns; b++)
                ns += factor_ns(e, e->buckets[e->first_bucket[v] + b]);
            if (ns < best_ns) {
                best_ns = ns;
                best = k;
            }
        }
        if (best == TNP_NONE)
            return false;
        e->label[v] = best;
        if (v < e->network.index->problem->node_count)
            chosen[v] = e->network.labels[e->network.first_label[v] + best].claim;
    }
    return true;
}

// ------------------------------------------------------------------------------------------ making

static bool add_pair(eliminator *e, uint32_t u, uint32_t v)
{
    return add_factor(e, (uint32_t[]){ u, v }, 2, NO_TABLE);
}

// A table over a node and its readers.
static bool add_table(eliminator *e, uint32_t v)
{
    const tni_problem_index *index = e->network.index;
    uint32_t scope[1 + TNI_FEW_READERS] = { v }, count = 1;
    size_t entries = tni_label_count(&e->network, v);
    for (uint32_t i = index->first_reader[v]; i < index->first_reader[v + 1]; i++) {
        scope[count++] = index->readers[i];
        entries *= tni_label_count(&e->network, index->readers[i]);
    }
    size_t table = take_table(e, entries);
    if (table == NO_TABLE)
        return false;
    if (entries)
        tni_network_table(&e->network, v, &e->pool[table]);
    return add_factor(e, scope, count, table);
}

// Pairs of a node with nodes before it and its group.
static bool add_pairs_of(eliminator *e, uint32_t v)
{
    const tni_problem_index *index = e->network.index;
    const tni_problem *problem = index->problem;
    e->stamp++;
    for (uint32_t i = problem->first_operand[v]; i < problem->first_operand[v + 1]; i++) {
        if (e->network.telling[problem->operands[i]] == TNI_BY_TABLE)
            continue;
        e->mark[problem->operands[i]] = e->stamp;
        if (!add_pair(e, problem->operands[i], v))
            return false;
    }
    for (uint32_t i = index->first_claim[v];
         i < index->first_claim[v + 1] && e->network.is_in_fusion[v]; i++) {
        const tni_problem_claim *claim = &problem->claims[index->claims[i]];
        uint32_t at = 0, end = claim->node_count;
        while (claim->nodes[at] != v) {   // halves: a claim may have the whole graph
            uint32_t middle = at + (end - at) / 2;
            if (claim->nodes[middle] <= v)
                at = middle;
            else
                end = middle;
        }
        if (at == 0 || e->mark[claim->nodes[at - 1]] == e->stamp)
            continue;
        e->mark[claim->nodes[at - 1]] = e->stamp;
        if (!add_pair(e, claim->nodes[at - 1], v))
            return false;
    }
    return !problem->groups || problem->groups[v] == TNP_NONE ||
           add_pair(e, v, problem->node_count + problem->groups[v]);
}

static bool take_tables(eliminator *e, tni_arena *arena)
{
    size_t count = e->network.variable_count;
    e->first_link = tni_arena_take_indices(arena, count);
    e->degree = tni_arena_take_array(arena, count, sizeof *e->degree);
    e->first_bucket = tni_arena_take_array(arena, count, sizeof *e->first_bucket);
    e->bucket_size = tni_arena_take_array(arena, count, sizeof *e->bucket_size);
    e->order = tni_arena_take_array(arena, count, sizeof *e->order);
    e->slot = tni_arena_take_array(arena, count, sizeof *e->slot);
    e->half_bits = tni_arena_take_array(arena, count, sizeof *e->half_bits);
    e->before = tni_arena_take_array(arena, count, sizeof *e->before);
    e->after = tni_arena_take_array(arena, count, sizeof *e->after);
    e->mark = tni_arena_take_array(arena, count, sizeof *e->mark);
    e->label = tni_arena_take_array(arena, count, sizeof *e->label);
    memset(e->first_of, 0xff, sizeof e->first_of);
    return e->first_link && e->degree && e->first_bucket && e->bucket_size && e->order && e->slot &&
           e->half_bits && e->before && e->after && e->mark && e->label;
}

static bool solve(eliminator *e, tni_arena *arena, uint32_t *chosen)
{
    uint32_t most_labels = 0;
    if (!tni_network_make(e->network.index, e->how, arena, &e->network) || !take_tables(e, arena))
        return false;
    for (uint32_t v = 0; v < e->network.variable_count; v++) {
        uint32_t labels = tni_label_count(&e->network, v);
        most_labels = labels > most_labels ? labels : most_labels;
        e->half_bits[v] = labels > 1 ? (uint32_t)lround(2 * log2(labels)) : 0;
    }
    uint32_t *around = tni_arena_take_array(arena, e->network.variable_count, sizeof *around);
    double *zeros = tni_arena_take_array(arena, most_labels, sizeof *zeros);
    if (!around || !zeros)
        return false;
    for (uint32_t n = 0; n < e->network.index->problem->node_count; n++)
        if (!add_pairs_of(e, n) || (e->network.telling[n] == TNI_BY_TABLE && !add_table(e, n)))
            return false;
    for (uint32_t v = e->network.variable_count; v-- > 0;)
        enter_queue(e, v);
    e->how->is_exact = true;
    if (!eliminate_all(e, around, zeros))
        return false;
    e->how->bound_ns = e->constant;
    e->how->is_exact &= !e->network.is_in_parts;
    e->how->is_found = e->constant < INFINITY && choose_labels(e, chosen);
    return true;
}

bool tni_solve_by_elimination(const tni_problem_index *index, tni_elimination *how,
                              const tn_allocator *allocator, uint32_t *chosen)
{
    tni_arena arena;
    eliminator e = { .network = { .index = index }, .how = how, .allocator = allocator };
    tni_arena_init(&arena, allocator);
    bool has_memory = solve(&e, &arena, chosen);
    tni_free(allocator, e.factors);
    tni_free(allocator, e.scopes);
    tni_free(allocator, e.links);
    tni_free(allocator, e.pool);
    tni_free(allocator, e.buckets);
    tni_free(allocator, e.scratch);
    tni_arena_finish(&arena);
    return has_memory;
}
