// solve_internal.h: shared by the methods that solve a problem.
#ifndef TNI_SCHED_SOLVE_INTERNAL_H
#define TNI_SCHED_SOLVE_INTERNAL_H

#include <tenon/plugin.h>

#include "sched/problem.h"

// What sums of one cost that were added up in different ways differ by, as a part of it; and those
// that one function added up. What is less by no more is no better.
#define TNI_ROUNDING       1e-9
#define TNI_LEAST_ROUNDING 1e-12

// The best assignment so far, and what no assignment can be below.
typedef struct tni_solving {
    tni_problem_index *index;
    const tni_problem *problem;
    tni_arena *arena;
    uint32_t *best;        // by node
    double best_ns;        // INFINITY: none yet
    uint64_t best_above;   // bytes above limits
    double bound_ns, greedy_ns;
    bool greedy_fits;
    const char *method;    // that found it
    uint32_t stuck_node;   // where greedy ended
    uint32_t *chosen;      // by node: of the method at hand
    uint32_t *cycle;       // by node; scratch
    uint64_t *used;        // by place; scratch
    bool *is_out;          // by claim; scratch, all false between calls
    double *claim_ns;      // by claim: as the problem says
    uint64_t work;         // in sums, about: counted, so that a machine's speed changes nothing
} tni_solving;

// Takes an assignment with an order, if it is better. Whether it is.
bool tni_solving_consider(tni_solving *s, const uint32_t *chosen, const char *method);
bool tni_solving_is_done(const tni_solving *s);   // within the limits, and proven the best

// Elimination, until the units have an order: of claim costs and prices as given.
typedef struct tni_ordered {
    const double *claim_ns, *group_ns;   // as in tni_elimination
    uint32_t most_branches;
    bool is_found;     // chosen is an assignment with an order
    double bound_ns;   // INFINITY: there is none
} tni_ordered;
// false: out of memory.
bool tni_solve_ordered(tni_solving *s, tni_ordered *how, uint32_t *chosen);

// --------------------------------------------------------------------------------------- changes.c

// An assignment that is changed claim by claim, with what it costs and needs. Nodes may be without
// a claim meanwhile.
typedef struct tni_changes {
    const tni_problem_index *index;
    const tni_problem *problem;
    uint32_t *chosen;        // by node: claim or TNP_NONE
    uint32_t *readers_on;    // [node * place_count + place]: readers of its value there
    uint32_t *items;         // by item: claims chosen that have it
    uint32_t *group_nodes;   // [group * place_count + place]
    uint32_t nodes_on[TNI_MAX_PLACES];
    uint64_t used[TNI_MAX_PLACES];   // without fixed bytes
    uint32_t bare_count;             // nodes without a claim
    uint32_t torn_count;             // places of groups beyond the first
    double ns;
    uint32_t set_count;   // calls of tni_changes_set
    uint64_t work;        // as in tni_solving
} tni_changes;

// All nodes bare. false: out of memory.
bool tni_changes_make(const tni_problem_index *index, tni_arena *arena, tni_changes *out);
void tni_changes_add(tni_changes *changes, uint32_t claim);      // its nodes are bare
void tni_changes_remove(tni_changes *changes, uint32_t claim);   // it is chosen
void tni_changes_set(tni_changes *changes, const uint32_t *chosen);
uint64_t tni_changes_above(const tni_changes *changes);   // bytes above limits

// Whether all nodes of a claim are bare.
static inline bool tni_changes_are_bare(const tni_changes *changes, const tni_problem_claim *claim)
{
    for (uint32_t i = 0; i < claim->node_count; i++)
        if (changes->chosen[claim->nodes[i]] != TNP_NONE)
            return false;
    return true;
}

// ----------------------------------------------------------------------------------------- methods

// Changes the best one claim or one group at a time while that makes it better. false: no memory.
bool tni_improve(tni_solving *s);

// All assignments of few nodes, those that cannot be better left out. false: no memory.
bool tni_search_all(tni_solving *s);

// Within limits of memory. false: no memory.
bool tni_solve_within_limits(tni_solving *s);

// By minimum cuts, of a problem without fusions. false: no memory.
bool tni_solve_by_cuts(tni_solving *s);

#endif
