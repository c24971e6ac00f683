// windows.c: a run of nodes that goes to another place as a whole, the best one first.
//
// Where memory is short the way to something better often leads over what does not fit: a run comes
// in, then what makes room for it goes out. So bytes above a limit cost at first what they are
// worth, then more, and at last more than all else.
#include <math.h>
#include <string.h>

#include <tenon/plugin.h>

#include "sched/limits.h"

enum {
    MOST_MOVES = 20,          // at one strictness: each looks at all runs anew
    MOST_CHANGES = 1 << 20,   // of claims, all together: about a tenth of a second
    LOOK_SHARE = 4,           // one look at all runs gets this part of them, or has fewer parents
};

// Times what bytes above a limit are worth: as much, more, and more than anything saves.
static const double strictness[] = { 1, 3, 1000 };

typedef struct moving {
    tni_limited *l;
    double strict;
    uint64_t change_count;
} moving;

typedef struct window {
    const uint32_t *from;   // what its nodes are to have; NULL: nothing is better
    uint32_t begin, end;
    double ns;   // with what is above limits
} window;

// With what is too much: a byte of it at the price of its place, or what would double the cost if
// the whole limit had it.
static double priced_ns(const moving *m)
{
    const tni_problem *problem = m->l->problem;
    const tni_changes *changes = &m->l->changes;
    double ns = changes->ns;
    for (uint32_t p = 0; p < problem->place_count; p++) {
        uint64_t used = changes->used[p];
        if (problem->fixed_bytes && changes->nodes_on[p])
            used += problem->fixed_bytes[p];
        if (used <= problem->limits[p])
            continue;
        double least = m->l->s->best_ns / (tni_limited_room(m->l, p) + 1);
        ns += m->strict * fmax(m->l->best_price[p], least) * (double)(used - problem->limits[p]);
    }
    return ns;
}

// From the base on, node by node. best NULL: does it, else looks at each end for a better one.
static void take(moving *m, const uint32_t *base, const window *w, window *best)
{
    tni_changes *changes = &m->l->changes;
    const tni_problem *problem = m->l->problem;
    tni_changes_set(changes, base);
    m->change_count += problem->node_count + w->end - w->begin;
    for (uint32_t n = w->begin; n < w->end; n++) {
        const tni_problem_claim *claim = &problem->claims[w->from[n]];
        if (changes->chosen[n] == w->from[n])
            continue;
        if (changes->chosen[n] != TNP_NONE)
            tni_changes_remove(changes, changes->chosen[n]);
        if (claim->nodes[claim->node_count - 1] == n && tni_changes_are_bare(changes, claim))
            tni_changes_add(changes, w->from[n]);
        if (!best || changes->bare_count || changes->torn_count)
            continue;
        double ns = priced_ns(m);
        if (ns < best->ns * (1 - TNI_ROUNDING))
            *best = (window){ w->from, w->begin, n + 1, ns };
    }
}

// The assignments that runs are taken from: all parents where nodes are few, else those with
// everything on one place.
static window find(moving *m, const uint32_t *base)
{
    const tni_limited *l = m->l;
    uint64_t nodes = l->problem->node_count;
    bool are_few = nodes * nodes * l->parent_count <= MOST_CHANGES / LOOK_SHARE;
    uint32_t first = are_few ? 0 : l->first_on_place;
    uint32_t end = are_few ? l->parent_count : first + l->on_place_count;
    tni_changes_set(&m->l->changes, base);
    window best = { .ns = priced_ns(m) };
    for (uint32_t k = first; k < end; k++) {
        const uint32_t *from = l->parents[k];
        for (uint32_t n = 0; n < l->problem->node_count && m->change_count < MOST_CHANGES; n++)
            if (from[n] != base[n] && l->problem->claims[from[n]].nodes[0] == n)
                take(m, base, &(window){ from, n, l->problem->node_count, 0 }, &best);
    }
    return best;
}

bool tni_limited_move_windows(tni_limited *l)
{
    size_t bytes = l->problem->node_count * sizeof *l->s->best;
    uint32_t *base = tni_arena_take_array(l->arena, l->problem->node_count, sizeof *base), cycles;
    moving m = { .l = l };
    if (!base)
        return false;
    memcpy(base, l->s->best, bytes);
    for (size_t i = 0; i < sizeof strictness / sizeof strictness[0]; i++) {
        m.strict = strictness[i];
        for (uint32_t moves = 0; moves < MOST_MOVES && m.change_count < MOST_CHANGES; moves++) {
            window best = find(&m, base);
            if (!best.from)
                break;
            take(&m, base, &best, NULL);
            if (!tni_problem_has_order(l->s->index, l->changes.chosen, l->s->cycle, &cycles))
                break;
            memcpy(base, l->changes.chosen, bytes);
            tni_solving_consider(l->s, base, "windows");
        }
    }
    return true;
}
