// problem.h: an assignment as plain arrays, without graphs and plugins, and how to solve it.
//
// Every node is covered by one claim that is chosen. A node makes at most one value; it goes once
// to each other place where a claim chosen reads it.
#ifndef TNI_SCHED_PROBLEM_H
#define TNI_SCHED_PROBLEM_H

#include "base/arena.h"
#include "sched/links.h"
#include "sched/places.h"

typedef struct tni_problem_claim {
    uint32_t place;
    uint32_t node_count;
    const uint32_t *nodes;   // ascending
    double cost_ns;
    bool is_out;                       // it is not to be chosen
    uint64_t bytes;                    // that it keeps alone on its place
    uint32_t first_item, item_count;   // claim_items[first_item] …: what it keeps with others
} tni_problem_claim;

typedef struct tni_problem {
    uint32_t place_count, node_count, claim_count, group_count, item_count;
    const tni_problem_claim *claims;
    const uint64_t *places;   // by node: where it may run, a bit each
    const uint32_t *groups;   // by node: nodes of one group run on one place; TNP_NONE = of none

    // Node n reads what the nodes operands[first_operand[n]] … operands[first_operand[n + 1] - 1]
    // make, each once, each below n. In the same way it waits for nodes `before`, which hold these.
    const uint32_t *first_operand, *operands;
    const uint32_t *first_before, *before;
    const uint64_t *value_bytes;   // by node: of what it makes
    const tni_links *links;

    // Memory: on each place, together at most limits[place]: fixed_bytes once anything runs there,
    // what the claims keep, an item once however many claims have it, and the group's bytes.
    const uint64_t *limits;        // by place; NULL = nothing is limited
    const uint64_t *fixed_bytes;   // by place
    const uint64_t *group_bytes;   // by group
    const uint32_t *claim_items;
    const uint64_t *item_bytes;   // by item, which belongs to one place
} tni_problem;

// What follows from a problem alone, and room to work in. Made once.
typedef struct tni_problem_index {
    const tni_problem *problem;
    uint32_t *first_reader, *readers;   // by node: nodes that read what it makes, ascending
    uint32_t *first_claim, *claims;     // by node: claims with it, ascending, that are of use
    bool *is_useless;   // by claim: a place forbids it, or another one is never worse
    bool has_fusions;   // a claim of use has several nodes
    uint32_t *stamps;   // by item, then by group: when it was counted last
    uint32_t stamp;
    // By node: of the walk that looks for a circle of units.
    uint32_t *stack_unit, *stack_node, *stack_edge, *unit_color;
} tni_problem_index;

typedef struct tni_solution {
    uint32_t *chosen;   // by node: claim; as the caller gave it
    bool is_found;      // an assignment within the limits; else chosen is the one that lacks least,
                        // or nothing
    uint32_t stuck_node;      // not covered: the first one that greedy finds no claim for
    bool is_covered;          // chosen covers all nodes
    bool is_proved_optimal;   // cost_ns is the least possible; or nothing can be found
    double cost_ns;           // of chosen
    double bound_ns;          // no assignment within the limits costs less
    double greedy_ns;         // what greedy alone costs; INFINITY: it found nothing
    bool greedy_fits;         // what it found is within the limits
    const char *method;    // that found it: "greedy", "elimination", "cut", "prices", "crossing",
                           // "windows", "changes", "search"; NULL: nothing covers all nodes
    uint64_t *used;        // by place: bytes of chosen
    uint32_t full_place;   // nothing fits: the place that lacks most, or TNP_NONE,
    uint64_t lacking_bytes;   // and how much of it
    uint64_t work;            // that it took, in sums, about
} tni_solution;

// chosen: by node, to be filled. Errors: only out of memory, as false. All of it comes from arena.
bool tni_solve(const tni_problem *problem, tni_arena *arena, uint32_t *chosen, tni_solution *out);

// --------------------------------------------------------------------------------------- problem.c

bool tni_problem_index_make(const tni_problem *problem, tni_arena *arena, tni_problem_index *out);

// Costs of claims and transfers: the one function that says what is minimised. What a method finds
// counts as what it says.
double tni_problem_cost_ns(const tni_problem_index *index, const uint32_t *chosen);

// The cheapest claim on a node alone, on a place or anywhere (TNP_NONE); TNP_NONE: there is none.
uint32_t tni_problem_cheapest_alone(const tni_problem_index *index, uint32_t node, uint32_t place);

// used[p]: bytes on place p. The answer: bytes above limits, of all places together.
uint64_t tni_problem_used(tni_problem_index *index, const uint32_t *chosen, uint64_t *used);

// Whether the units have an order. If not: the claims of several nodes that wait for each other, in
// a circle, into cycle, which has room for node_count.
bool tni_problem_has_order(tni_problem_index *index, const uint32_t *chosen, uint32_t *cycle,
                           uint32_t *out_count);

// ----------------------------------------------------------------------------------------- methods

// Node by node, each to the claim that is cheapest given where its operands are; a claim on several
// nodes is weighed against the cheapest claims on them alone. Answers how many nodes were assigned
// before one had no claim: all, if it went well.
uint32_t tni_solve_greedily(const tni_problem_index *index, bool single_nodes_only,
                            tni_arena *arena, uint32_t *chosen, bool *out_has_memory);

typedef struct tni_elimination {
    // in
    const bool *is_out;       // by claim: not to be chosen; NULL = none
    const double *claim_ns;   // by claim: its cost, with prices
    const double *group_ns;   // [group * place_count + place]: prices; NULL = none
    uint32_t most_entries;    // of a table; larger ones are split, and the bound gets loose
    uint64_t most_work;       // sums; beyond it tables are small
    uint32_t most_told;       // entries of a table over a node and its readers
    uint32_t most_copies;     // labels of a node with one claim, for the places its value goes to
    // out
    bool is_exact;     // no table was split
    uint64_t work;     // sums that it took
    bool is_found;     // chosen is an assignment; false and exact: there is none
    double bound_ns;   // of claim_ns, group_ns and transfers together
} tni_elimination;

// false: out of memory.
bool tni_solve_by_elimination(const tni_problem_index *index, tni_elimination *how,
                              const tn_allocator *allocator, uint32_t *chosen);

#endif
