// network.h: a problem as variables with labels, and costs on pairs of them.
//
//   variable   a node, or a group of nodes that share a place
//   label      of a node: a claim, and maybe the other places that its value is copied to. Of a
//              group: a place
//   pair       two variables that are not free of each other: one reads the other, they are in one
//              claim, or a node and its group. A pair costs something, or INFINITY
//
// A copy is paid once, however many read it there. What the copies of a value cost is told
//   by the pair with its reader, where that is one;
//   by a table over the node and its readers, where these are few;
//   by labels of the node, where readers are many and places few;
//   in parts, else: each reader pays its part of each copy. That is never too much, and may be too
//   little: then the sum over all is a bound.
#ifndef TNI_SCHED_NETWORK_H
#define TNI_SCHED_NETWORK_H

#include "sched/problem.h"

typedef struct tni_label {
    uint64_t copies;   // places, a bit each, with that of the claim
    uint32_t claim;    // TNP_NONE: of a group
    uint32_t place;
} tni_label;

typedef enum tni_telling { TNI_BY_PAIR, TNI_BY_TABLE, TNI_BY_LABELS, TNI_IN_PARTS } tni_telling;

enum { TNI_FEW_READERS = 3 };

typedef struct tni_network {
    const tni_problem_index *index;
    uint32_t variable_count;   // nodes, then groups
    uint32_t *first_label;     // by variable
    tni_label *labels;
    double *label_ns;
    tni_telling *telling;   // by node: what its value's copies cost
    double *part;           // by node: of each copy that a reader pays
    bool *is_in_fusion;     // by node: it has a claim with others
    bool is_in_parts;       // a value is
} tni_network;

// false: out of memory.
bool tni_network_make(const tni_problem_index *index, const tni_elimination *how, tni_arena *arena,
                      tni_network *out);

static inline uint32_t tni_label_count(const tni_network *network, uint32_t variable)
{
    return network->first_label[variable + 1] - network->first_label[variable];
}

// What labels a of variable u and b of variable v, u < v, cost together.
double tni_network_pair_ns(const tni_network *network, uint32_t u, uint32_t a, uint32_t v,
                           uint32_t b);

// The same for all labels: out[a * row + b * column].
void tni_network_pairs(const tni_network *network, uint32_t u, uint32_t v, size_t row,
                       size_t column, double *out);

// What the value of a node costs, for all labels of the node and of its readers, the last reader's
// the fastest.
void tni_network_table(const tni_network *network, uint32_t node, double *out);

#endif
