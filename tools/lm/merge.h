// merge.h: symbols that become one pair by pair, the cheapest pair first: what the kinds of byte
// pair encoding have in common.
//
// Symbols are a linked list and candidate pairs a heap, so n symbols cost n log n however they
// merge.
#ifndef TLM_MERGE_H
#define TLM_MERGE_H

#include <tenon/lm.h>

enum { TLM_NOWHERE = UINT32_MAX };

typedef struct tlm_symbol {
    int32_t id;               // its token; may be TLM_NO_TOKEN for one that nothing was merged into
    uint32_t begin, bytes;    // its place in the text; 0 bytes: merged into the one on its left
    uint32_t before, after;   // TLM_NOWHERE at the ends
} tlm_symbol;

// A pair that may be merged. It is stale, and skipped, when its left symbol is gone or the two are
// not of these bytes together any more: symbols only grow.
typedef struct tlm_pair {
    double cost;     // the lowest goes first, the leftmost of equals
    uint32_t left;   // index of the left symbol
    uint32_t bytes;
    int32_t made;
} tlm_pair;

// Whether two neighbours have a merge, and then what it makes and what it costs.
typedef bool tlm_pair_finder(const void *context, const tlm_symbol *left, const tlm_symbol *right,
                             int32_t *out_made, double *out_cost);

typedef struct tlm_merger {
    tn_allocator allocator;
    tlm_pair_finder *find;
    const void *context;   // of find
    tlm_symbol *symbols;
    uint32_t count;
    size_t symbol_capacity;
    tlm_pair *heap;   // heap[i] goes before heap[2 i + 1] and heap[2 i + 2]
    size_t heap_count, heap_capacity;
} tlm_merger;

// Forgets the symbols and makes room for `symbols` new ones, at most TLM_NOWHERE - 1. false: no
// memory.
bool tlm_merger_begin(tlm_merger *merger, size_t symbols);

// Adds a symbol behind the others; there is room for it.
void tlm_merger_add(tlm_merger *merger, int32_t id, uint32_t begin, uint32_t bytes);

// Merges until no pair has a merge. What is left begins at symbols[0], when count is not 0, and
// goes on by `after`. false: no memory.
bool tlm_merger_run(tlm_merger *merger);

void tlm_merger_finish(tlm_merger *merger);

#endif
