// random_problem.h: problems of assignment, made from a seed; for tests and for the bench.
#ifndef RANDOM_PROBLEM_H
#define RANDOM_PROBLEM_H

#include "sched/problem.h"

typedef enum shape { CHAIN, SERIES_PARALLEL, LAYERED, TRANSFORMER, ANY, SHAPES } shape;

extern const char *const shape_names[SHAPES];

typedef struct random_options {
    shape shape;
    uint32_t nodes, places;
    bool has_fusions;       // of a node and readers of what is in it
    bool has_odd_fusions;   // and of nodes that have nothing to do with each other
    bool has_refusals;      // some claims are missing; the last place takes every node
    bool has_groups;
    bool has_limits;   // of memory, around what is needed
    bool has_room;     // with limits: the last place has none
    bool has_uneven_links;
    bool has_heavy_nodes;   // a few cost a thousand times the others
} random_options;

typedef struct random_problem {
    tni_problem problem;
    tni_arena arena;
} random_problem;

uint32_t next_random(uint64_t *seed);   // below 2^31

// Fails the test (CMocka) when there is no memory.
void random_problem_make(random_problem *r, const random_options *options, uint64_t *seed);
void random_problem_finish(random_problem *r);

#endif
