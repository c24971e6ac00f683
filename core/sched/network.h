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

typedef enum tni_telling {
    TNI_TOLD_BY_PAIR,
    TNI_TOLD_BY_TABLE,
    TNI_TOLD_BY_LABELS,
    TNI_TOLD_IN_PARTS
} tni_telling;

enum {
    TNI_FEW_READERS = 3,     // of a table, which grows by the places of each: five take up to two
                             // thirds more time, and two leave gaps that are larger by up to one
                             // and a half percent of the cost
    TNI_MOST_MAPPED = 256,   // labels of a variable of which some may stand for others: room on
                             // the stack, more than 64 places have with a few claims each
};

// Some labels of a variable, each once: label labels[i], or i where labels is NULL.
typedef struct tni_labels {
    uint32_t count;
    const uint32_t *labels;
} tni_labels;

typedef struct tni_network {
    const tni_problem_index *index;
    uint32_t variable_count;   // nodes, then groups
    uint32_t *first_label;     // by variable
    tni_label *labels;
    double *label_ns;
    uint64_t *places;        // by node: where it can be, a bit each,
    uint8_t *place_counts;   // and how many these are
    tni_telling *telling;    // by node: what its value's copies cost
    double *part;            // by node: of each copy that a reader pays
    bool *is_in_fusion;      // by node: it has a claim with others
    bool is_in_parts;        // a value is
} tni_network;

// false: out of memory.
bool tni_network_make(const tni_problem_index *index, const tni_elimination *how, tni_arena *arena,
                      tni_network *out);

static inline uint32_t tni_label_count(const tni_network *network, uint32_t variable)
{
    return network->first_label[variable + 1] - network->first_label[variable];
}

// What some labels of variable u cost with some of variable v, u < v, those of v the fastest.
void tni_network_pairs(const tni_network *network, uint32_t u, uint32_t v, tni_labels of_u,
                       tni_labels of_v, double *out);

// What the value of a node costs, for some labels of the node and then of each reader, the last
// reader's the fastest.
void tni_network_table(const tni_network *network, uint32_t node, const tni_labels *of,
                       double *out);

// Whether the claim of a label of another node has this node too.
static inline bool tni_network_has_node(const tni_network *network, const tni_label *label,
                                        uint32_t node)
{
    const tni_problem_claim *claim = &network->index->problem->claims[label->claim];
    uint32_t lo = 0, hi = claim->node_count > 1 ? claim->node_count : 0;   // of one: its own
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (claim->nodes[middle] == node)
            return true;
        if (claim->nodes[middle] < node)
            lo = middle + 1;
        else
            hi = middle;
    }
    return false;
}

#endif
