// minimise.c: a table of least sums.
//
// For all classes of the variables around, one level each, the sums of the factors by the labels of
// the variable are built up from the first level to the last: a factor is added at the last level
// that it depends on, so that what does not change is not added again. At the last level the least
// of the sums is an entry. Of many labels those that cannot be (INFINITY) are left out there.
#include "sched/minimise.h"

#include <math.h>
#include <string.h>

#include <tenon/plugin.h>

#include "base/alloc.h"

void tni_minimiser_finish(tni_minimiser *m)
{
    tni_free(m->factors->allocator, m->sums);
    tni_free(m->factors->allocator, m->live);
}

// ----------------------------------------------------------------------------------------- joining

void tni_piece_begin(uint32_t variable, bool has_label_ns, tni_piece *out)
{
    out->own = (tni_axis){ .variable = variable };
    out->has_label_ns = has_label_ns;
    out->factor_count = out->around_count = 0;
    out->entries = 1;
}

// The axis of the piece that an axis of its factor t has become.
static const tni_axis *joint_of(const tni_piece *p, uint32_t t, uint32_t axis)
{
    uint32_t at = p->joint[t][axis];
    return at == TNI_OWN_AXIS ? &p->own : &p->around[at];
}

// Finds the factor's axes among those of the piece, new ones behind them. Whether it fits, by how
// many entries there would be at most.
static bool fits(const tni_factors *f, tni_piece *p, uint32_t factor, size_t most)
{
    const tni_axis *axes = tni_factor_axes(f, factor);
    uint32_t count = f->factors[factor].axis_count, around = p->around_count;
    size_t entries = p->entries;
    if (p->factor_count == TNI_MOST_JOINED)
        return false;
    uint8_t *joint = p->joint[p->factor_count];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        if (axes[i].variable == p->own.variable) {
            joint[i] = TNI_OWN_AXIS;
            continue;
        }
        while (k < p->around_count && p->around[k].variable != axes[i].variable)
            k++;
        if (k == p->around_count) {
            if (around == TNI_MOST_JOINED)
                return false;
            k = around++;
            entries *= axes[i].classes;
        } else if (p->around[k].map != axes[i].map) {
            size_t labels = tni_label_count(&f->network, axes[i].variable);
            size_t both = (size_t)p->around[k].classes * axes[i].classes;
            entries = entries / p->around[k].classes * (both < labels ? both : labels);
        }
        joint[i] = (uint8_t)k;
    }
    return p->factor_count == 0 || entries <= most;
}

// The axis of the piece at a place that `fits` has found. *out_is_new: it has none yet.
static tni_axis *take_axis(tni_piece *p, uint32_t at, bool *out_is_new)
{
    if (at == TNI_OWN_AXIS) {
        *out_is_new = p->factor_count == 0;
        return &p->own;
    }
    *out_is_new = at >= p->around_count;
    p->around_count += *out_is_new;
    return &p->around[at];
}

bool tni_piece_join(tni_factors *f, tni_piece *p, uint32_t factor, size_t most, bool *out_is_in)
{
    const tni_axis *axes = tni_factor_axes(f, factor);
    *out_is_in = fits(f, p, factor, most);
    if (!*out_is_in)
        return true;
    p->entries = 1;
    for (uint32_t i = 0; i < f->factors[factor].axis_count; i++) {
        bool is_new;
        tni_axis *joint = take_axis(p, p->joint[p->factor_count][i], &is_new);
        if (is_new)
            *joint = axes[i];
        else if (!tni_axis_refine(f, joint, &axes[i]))
            return false;
    }
    for (uint32_t i = 0; i < p->around_count; i++)
        p->entries *= p->around[i].classes;
    p->factors[p->factor_count++] = factor;
    return true;
}

// ------------------------------------------------------------------------------------------ tables

// Whether a factor has a table, by the classes that the piece tells apart.
static bool is_as_it_is(const tni_factors *f, const tni_piece *p, uint32_t t)
{
    const tni_factor *factor = &f->factors[p->factors[t]];
    const tni_axis *axes = &f->axes[factor->first_axis];
    bool is = factor->table != TNI_NO_TABLE;
    for (uint32_t i = 0; i < factor->axis_count && is; i++)
        is = joint_of(p, t, i)->map == axes[i].map;
    return is;
}

// Numbers that a factor's table needs in scratch: a pair that was not asked yet, and once more for
// each axis of which the piece tells more apart than the factor.
static size_t scratch_of(const tni_factors *f, const tni_piece *p, uint32_t t)
{
    const tni_factor *factor = &f->factors[p->factors[t]];
    const tni_axis *axes = &f->axes[factor->first_axis];
    size_t sum = 0;
    if (is_as_it_is(f, p, t))
        return 0;
    size_t entries = tni_factor_entries(f, p->factors[t]);
    if (factor->table == TNI_NO_TABLE)
        sum += entries;
    for (uint32_t i = factor->axis_count; i-- > 0;) {
        const tni_axis *joint = joint_of(p, t, i);
        if (joint->map == axes[i].map)
            continue;
        entries = entries / axes[i].classes * joint->classes;
        sum += entries;
    }
    return sum;
}

// The table of a factor, with these numbers to an entry of the axis, as the piece tells it apart.
static void widen(const tni_factors *f, const tni_axis *axis, const tni_axis *joint, size_t outer,
                  size_t inner, const double *from, double *to)
{
    for (uint32_t a = 0, next = 0; next < joint->classes; a++) {
        if (tni_class_of(f, joint, a) != next)   // classes are numbered by their first labels
            continue;
        const double *row = from + tni_class_of(f, axis, a) * inner;
        for (size_t o = 0; o < outer; o++)
            memcpy(to + (o * joint->classes + next) * inner, row + o * axis->classes * inner,
                   inner * sizeof *to);
        next++;
    }
}

// The table of a factor by the classes of the piece's axes.
static const double *table_of(const tni_factors *f, const tni_piece *p, uint32_t t,
                              double **scratch)
{
    const tni_factor *factor = &f->factors[p->factors[t]];
    const tni_axis *axes = &f->axes[factor->first_axis];
    if (is_as_it_is(f, p, t))
        return &f->pool[factor->table];
    size_t inner = 1, entries = tni_factor_entries(f, p->factors[t]);
    const double *table = *scratch;
    if (factor->table == TNI_NO_TABLE) {
        tni_factors_read_pair(f, p->factors[t], *scratch);
        *scratch += entries;
    } else {
        table = &f->pool[factor->table];
    }
    for (uint32_t i = factor->axis_count; i-- > 0;) {
        const tni_axis *joint = joint_of(p, t, i);
        if (joint->map != axes[i].map) {
            size_t outer = entries / axes[i].classes / inner;
            widen(f, &axes[i], joint, outer, inner, table, *scratch);
            table = *scratch;
            entries = outer * joint->classes * inner;
            *scratch += entries;
        }
        inner *= joint->classes;
    }
    return table;
}

// ----------------------------------------------------------------------------------------- summing

// Of so few labels loops are unrolled (sum_up), and it takes longer to find those that cannot be
// than to add them.
enum { FEW_LABELS = 3 };

// What is to be done at a level: one axis more of a term.
typedef struct step {
    const double *row;   // of the term's table, at the classes of the levels so far
    size_t stride, own_stride;
    uint32_t below;   // the term's next step, or TNP_NONE: it is added here
} step;

// A factor of the piece, with the strides of its table by level: 0 where it has no such axis.
typedef struct term {
    const double *table;
    size_t own_stride, strides[TNI_MOST_JOINED];
    uint32_t last;   // step so far
} term;

typedef struct summing {
    const tni_piece *piece;
    term terms[TNI_MOST_JOINED];
    step steps[TNI_MOST_JOINED * TNI_MOST_JOINED];
    uint32_t first_step[TNI_MOST_JOINED + 1];   // by level
    uint32_t at[TNI_MOST_JOINED];               // by level: class
    const double *sums[TNI_MOST_JOINED + 1];    // by level: of all before, by class of the variable
    double *room;                               // for sums, a level's behind the other's
    double *live_ns;                            // those that are not INFINITY,
    uint32_t *live;                             // and their classes
} summing;

// What each factor adds, and where.
static void list_steps(summing *s, const tni_factors *f, double *scratch)
{
    const tni_piece *p = s->piece;
    uint32_t count = 0;
    for (uint32_t t = 0; t < p->factor_count; t++) {
        term *made = &s->terms[t];
        size_t stride = 1;
        made->table = table_of(f, p, t, &scratch);
        made->own_stride = 0;
        made->last = TNP_NONE;
        for (uint32_t level = 0; level < p->around_count; level++)
            made->strides[level] = 0;
        for (uint32_t i = f->factors[p->factors[t]].axis_count; i-- > 0;) {
            uint32_t at = p->joint[t][i];
            *(at == TNI_OWN_AXIS ? &made->own_stride : &made->strides[at]) = stride;
            stride *= joint_of(p, t, i)->classes;
        }
    }
    for (uint32_t level = 0; level < p->around_count; level++) {
        s->first_step[level] = count;
        for (term *t = s->terms; t < s->terms + p->factor_count; t++) {
            if (!t->strides[level])
                continue;
            step *added = &s->steps[count];
            added->row = t->table;
            added->stride = t->strides[level];
            added->own_stride = t->own_stride;
            added->below = TNP_NONE;
            if (t->last != TNP_NONE)
                s->steps[t->last].below = count;
            t->last = count++;
        }
    }
    s->first_step[p->around_count] = count;
}

// The least of the labels of each class, if they are counted in this piece.
static void begin_sums(const tni_factors *f, const tni_piece *p, double *sums)
{
    const double *label_ns = &f->network.label_ns[f->network.first_label[p->own.variable]];
    uint32_t labels = tni_label_count(&f->network, p->own.variable);
    for (uint32_t c = 0; c < p->own.classes; c++)
        sums[c] = p->has_label_ns ? INFINITY : 0;
    for (uint32_t a = 0; p->has_label_ns && a < labels; a++) {
        double *least = &sums[tni_class_of(f, &p->own, a)];
        *least = label_ns[a] < *least ? label_ns[a] : *least;
    }
}

// The sums with what ends at this level, at its class.
static void add_level(summing *s, uint32_t level)
{
    uint32_t labels = s->piece->own.classes;
    const double *from = s->sums[level];
    double *to = s->room + (size_t)level * labels;
    const step *end = &s->steps[s->first_step[level + 1]];
    for (const step *at = &s->steps[s->first_step[level]]; at < end; at++) {
        const double *row = at->row;
        size_t stride = at->own_stride;
        if (at->below != TNP_NONE) {
            s->steps[at->below].row = row;
            continue;
        }
        for (uint32_t k = 0; k < labels; k++, row += stride)
            to[k] = from[k] + *row;
        from = to;
    }
    s->sums[level + 1] = from;
}

static void advance(summing *s, uint32_t level)
{
    uint32_t classes = s->piece->around[level].classes;
    bool is_over = ++s->at[level] == classes;
    step *end = &s->steps[s->first_step[level + 1]];
    for (step *at = &s->steps[s->first_step[level]]; at < end; at++)
        at->row = is_over ? at->row - (classes - 1) * at->stride : at->row + at->stride;
    s->at[level] = is_over ? 0 : s->at[level];
}

// The entries of the last level: of one term, whose rows follow each other.
static inline void minimise_rows(const double *restrict from, const step *at, uint32_t labels,
                                 uint32_t rows, double *restrict out)
{
    const double *row = at->row;
    size_t stride = at->stride, own_stride = at->own_stride;
    for (uint32_t c = 0; c < rows; c++, row += stride) {
        double best = from[0] + row[0];
        for (uint32_t k = 1; k < labels; k++) {
            double ns = from[k] + row[k * own_stride];
            best = ns < best ? ns : best;
        }
        out[c] = best;
    }
}

// Of two.
static inline void minimise_two_terms(const double *restrict from, const step *at, uint32_t labels,
                                      uint32_t rows, double *restrict out)
{
    const double *row = at[0].row, *other = at[1].row;
    size_t stride = at[0].own_stride, other_stride = at[1].own_stride;
    for (uint32_t c = 0; c < rows; c++, row += at[0].stride, other += at[1].stride) {
        double best = from[0] + row[0] + other[0];
        for (uint32_t k = 1; k < labels; k++) {
            double ns = from[k] + row[k * stride] + other[k * other_stride];
            best = ns < best ? ns : best;
        }
        out[c] = best;
    }
}

// Of several terms.
static inline void minimise_terms(const double *restrict from, const uint32_t *live,
                                  const step *first, const step *end, uint32_t labels,
                                  uint32_t rows, double *restrict out)
{
    const double *row = first->row;
    for (uint32_t c = 0; c < rows; c++, row += first->stride) {
        double best = INFINITY;
        for (uint32_t i = 0; i < labels; i++) {
            uint32_t k = live ? live[i] : i;
            double ns = from[i] + row[k * first->own_stride];
            for (const step *at = first + 1; at < end; at++)
                ns += at->row[c * at->stride + k * at->own_stride];
            best = ns < best ? ns : best;
        }
        out[c] = best;
    }
}

// Always inlined, as is what it calls, so that few labels make loops of known length. Of many those
// that cannot be are left out.
static inline void minimise_last(const summing *s, const double *from, uint32_t labels, double *out)
{
    uint32_t level = s->piece->around_count - 1, rows = s->piece->around[level].classes, live = 0;
    const step *first = &s->steps[s->first_step[level]], *end = &s->steps[s->first_step[level + 1]];
    if (labels <= FEW_LABELS && end - first == 1) {
        minimise_rows(from, first, labels, rows, out);
        return;
    }
    if (labels <= FEW_LABELS && end - first == 2) {
        minimise_two_terms(from, first, labels, rows, out);
        return;
    }
    if (labels <= FEW_LABELS) {
        minimise_terms(from, NULL, first, end, labels, rows, out);
        return;
    }
    for (uint32_t k = 0; k < labels; k++) {
        s->live_ns[live] = from[k];
        s->live[live] = k;
        live += from[k] < INFINITY;
    }
    minimise_terms(s->live_ns, s->live, first, end, live, rows, out);
}

// The entries of the last two levels.
static inline void minimise_two(summing *s, uint32_t labels, double *out)
{
    uint32_t level = s->piece->around_count - 2;
    uint32_t classes = s->piece->around[level].classes, rows = s->piece->around[level + 1].classes;
    const step *first = &s->steps[s->first_step[level]], *end = &s->steps[s->first_step[level + 1]];
    const double *from = s->sums[level];
    double few[FEW_LABELS], *sums = labels <= FEW_LABELS ? few : s->room + (size_t)level * labels;
    for (uint32_t c = 0; c < classes; c++, out += rows) {
        const double *before = from;
        for (const step *at = first; at < end; at++) {
            const double *row = at->row + c * at->stride;
            size_t stride = at->own_stride;
            if (at->below != TNP_NONE) {
                s->steps[at->below].row = row;
                continue;
            }
            for (uint32_t k = 0; k < labels; k++)
                sums[k] = before[k] + row[k * stride];
            before = sums;
        }
        minimise_last(s, before, labels, out);
    }
}

static void minimise_levels(summing *s, double *out)
{
    bool is_one = s->piece->around_count == 1;
    switch (s->piece->own.classes) {
    case 2:
        if (is_one)
            minimise_last(s, s->sums[0], 2, out);
        else
            minimise_two(s, 2, out);
        return;
    case 3:
        if (is_one)
            minimise_last(s, s->sums[0], 3, out);
        else
            minimise_two(s, 3, out);
        return;
    default:
        if (is_one)
            minimise_last(s, s->sums[0], s->piece->own.classes, out);
        else
            minimise_two(s, s->piece->own.classes, out);
    }
}

static void sum_up(summing *s, double *out)
{
    uint32_t count = s->piece->around_count, inner = count < 2 ? 0 : count - 2;
    size_t rows = s->piece->around[count - 1].classes;
    if (count > 1)
        rows *= s->piece->around[inner].classes;
    for (uint32_t level = 0; level < inner; level++)
        s->at[level] = 0;
    for (uint32_t level = 0;;) {
        for (; level < inner; level++)
            add_level(s, level);
        minimise_levels(s, out);
        out += rows;
        do {
            if (level == 0)
                return;
            advance(s, --level);
        } while (s->at[level] == 0);
    }
}

// -------------------------------------------------------------------------------------- the result

static void minimise_labels(tni_minimiser *m, const tni_piece *p)
{
    const tni_network *network = &m->factors->network;
    double best = INFINITY;
    for (uint32_t l = network->first_label[p->own.variable];
         l < network->first_label[p->own.variable + 1]; l++)
        best = network->label_ns[l] < best ? network->label_ns[l] : best;
    m->constant += best;
}

// Over one variable: its labels get dearer.
static void add_to_labels(tni_minimiser *m, const tni_axis *axis, const double *ns)
{
    const tni_network *network = &m->factors->network;
    double *label_ns = &network->label_ns[network->first_label[axis->variable]];
    for (uint32_t a = 0; a < tni_label_count(network, axis->variable); a++)
        label_ns[a] += ns[tni_class_of(m->factors, axis, a)];
}

static bool need_scratch(tni_minimiser *m, const tni_piece *p)
{
    size_t sums = ((size_t)p->around_count + 2) * p->own.classes;
    sums += p->around_count > 1 ? 0 : p->entries;
    for (uint32_t t = 0; t < p->factor_count; t++)
        sums += scratch_of(m->factors, p, t);
    return sums <= UINT32_MAX &&
           tni_grow(m->factors->allocator, &m->sums, &m->sums_capacity, (uint32_t)sums,
                    sizeof *m->sums) &&
           tni_grow(m->factors->allocator, &m->live, &m->live_capacity, p->own.classes,
                    sizeof *m->live);
}

bool tni_piece_minimise(tni_minimiser *m, const tni_piece *p)
{
    summing s;
    tni_factors *f = m->factors;
    size_t table = 0;
    m->work += p->entries * p->own.classes * (p->factor_count + 1);
    if (p->around_count == 0) {
        minimise_labels(m, p);
        return true;
    }
    if (!need_scratch(m, p))
        return false;
    double *scratch = m->sums, *labels_out = scratch;
    if (p->around_count > 1 && (table = tni_factors_take_table(f, p->entries)) == TNI_NO_TABLE)
        return false;
    scratch += p->around_count > 1 ? 0 : p->entries;
    s.piece = p;
    s.sums[0] = scratch;
    begin_sums(f, p, scratch);
    s.room = scratch + p->own.classes;
    s.live_ns = s.room + (size_t)p->around_count * p->own.classes;
    s.live = m->live;
    scratch = s.live_ns + p->own.classes;
    list_steps(&s, f, scratch);
    sum_up(&s, p->around_count > 1 ? &f->pool[table] : labels_out);
    if (p->around_count > 1)
        return tni_factors_add(f, p->around, p->around_count, table);
    add_to_labels(m, &p->around[0], labels_out);
    return true;
}
