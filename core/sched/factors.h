// factors.h: costs on the labels of several variables, as elimination makes and uses them up.
//
// A factor is a table with an axis a variable, the last axis the fastest. What it costs often
// depends on less than the label: on the place of a node's claim, and not on which claim it is. So
// an axis has classes of labels that the factor does not tell apart, and its table an entry for
// each combination of classes.
#ifndef TNI_SCHED_FACTORS_H
#define TNI_SCHED_FACTORS_H

#include "sched/network.h"

#define TNI_NO_TABLE   SIZE_MAX     // a pair of the network that was not asked yet
#define TNI_EACH_LABEL UINT32_MAX   // no map: each label is a class of its own

typedef struct tni_axis {
    uint32_t variable, classes;
    uint32_t map;         // the class of each label, in maps; or TNI_EACH_LABEL
    uint32_t half_bits;   // logarithm of classes, in halves of a bit
} tni_axis;

typedef struct tni_factor {
    size_t table;   // its first number in the pool, or TNI_NO_TABLE
    uint32_t first_axis, axis_count;
    bool is_dead;
} tni_factor;

// Of a variable to a factor with it.
typedef struct tni_factor_link {
    uint32_t factor, next;
    uint32_t other, half_bits;   // of two variables the other one, and its axis; else TNP_NONE
} tni_factor_link;

typedef struct tni_factors {
    tni_network network;
    const tn_allocator *allocator;
    tni_factor *factors;
    uint32_t factor_count, factor_capacity;
    tni_axis *axes;
    uint32_t axis_count, axis_capacity;
    uint32_t *maps;
    uint32_t map_count, map_capacity;
    tni_factor_link *links;
    uint32_t link_count, link_capacity;
    double *pool;
    uint32_t pool_count, pool_capacity;
    uint32_t *first_link;    // by variable: the factors with it
    uint32_t *degree;        // by variable: neighbours, counted by factor
    uint32_t *place_axis;    // by node: the map that tells its places apart, once it was asked
    uint32_t *copies_axis;   // by node: likewise, with the places that its value is copied to
    uint32_t *mark, stamp;   // by variable: it is among those at hand
} tni_factors;

// Factors for all that the network's pairs and tables tell. false: out of memory, here and below.
bool tni_factors_make(const tni_problem_index *index, const tni_elimination *how,
                      const tn_allocator *allocator, tni_arena *arena, tni_factors *out);
void tni_factors_finish(tni_factors *factors);   // also of a zeroed struct

// The variables' degrees follow; those that wait in a queue have to be out of it.
bool tni_factors_add(tni_factors *factors, const tni_axis *axes, uint32_t count, size_t table);
void tni_factors_drop(tni_factors *factors, uint32_t factor);

// Numbers in the pool; TNI_NO_TABLE: no memory.
size_t tni_factors_take_table(tni_factors *factors, size_t entries);

// The living factor over just these two variables, or TNP_NONE.
uint32_t tni_factors_find_pair(tni_factors *factors, uint32_t u, uint32_t v);

// The table of a pair that was not asked yet.
void tni_factors_read_pair(const tni_factors *factors, uint32_t factor, double *out);

// Tells labels apart that one of the two does.
bool tni_axis_refine(tni_factors *factors, tni_axis *axis, const tni_axis *by);

static inline const tni_axis *tni_factor_axes(const tni_factors *factors, uint32_t factor)
{
    return &factors->axes[factors->factors[factor].first_axis];
}

static inline uint32_t tni_class_of(const tni_factors *factors, const tni_axis *axis,
                                    uint32_t label)
{
    return axis->map == TNI_EACH_LABEL ? label : factors->maps[axis->map + label];
}

static inline size_t tni_factor_entries(const tni_factors *factors, uint32_t factor)
{
    size_t entries = 1;
    for (uint32_t i = 0; i < factors->factors[factor].axis_count; i++)
        entries *= tni_factor_axes(factors, factor)[i].classes;
    return entries;
}

#endif
