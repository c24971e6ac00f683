// split.h: what each of several devices gets of a layer's matrices.
//
// A size (rows, columns, heads) is cut into units, and each part gets units that follow each other,
// as many as its share says by largest remainders: quotas are rounded down, and what is left goes
// to the largest fractions, of equals to the earlier part. The last unit may be smaller. A part may
// get nothing.
#ifndef TLM_SPLIT_H
#define TLM_SPLIT_H

#include "weights.h"

#include <tenon/lm.h>

enum { TLM_NOTE_BYTES = 256 };

typedef struct tlm_split {
    bool has_heads;         // TN_SPLIT_TENSOR, else TN_SPLIT_ROW
    uint32_t first_layer;   // the first that is divided
    uint32_t parts;         // devices; below 2: nothing is divided
    double shares[TLM_MOST_PARTS];
    // The first id of each part of the vocabulary: constants of the graphs, which lie here.
    float first_id[TLM_MOST_PARTS];
} tlm_split;

// Part p has [begin[p], begin[p + 1]).
typedef struct tlm_cut {
    uint32_t parts;
    int64_t begin[TLM_MOST_PARTS + 1];
} tlm_cut;

typedef struct tlm_range {
    int64_t begin, count;
} tlm_range;

static inline tlm_range tlm_cut_range(const tlm_cut *cut, uint32_t part)
{
    return (tlm_range){ cut->begin[part], cut->begin[part + 1] - cut->begin[part] };
}

// What a placement asks for on the devices of a session; device_count 0: those that the runtime
// uses unnamed. Part p is the p-th of them that is no CPU, or the p-th where all are CPUs. Mistakes
// in it are left to tn_session_create.
void tlm_split_init(tlm_split *split, const tn_placement *placement, const tn_runtime *runtime,
                    tn_device *const *devices, uint32_t device_count, const tlm_hparams *hparams);

// Whether a layer is divided; layer L: what comes after the last, and the embeddings.
bool tlm_split_divides(const tlm_split *split, uint32_t layer);

// `total` in units of `unit`.
tlm_cut tlm_split_cut(const tlm_split *split, int64_t total, int64_t unit);

// Rows of a matrix. The unit is 32, so that each part begins at an address as aligned as that of
// the matrix, and less where that would give coarse shares.
tlm_cut tlm_split_rows(const tlm_split *split, int64_t rows);

// Key heads with their query heads. false: they are not divided, and `why`, where it is not NULL
// and the mode asks for it, says why not: there is one alone, or the columns of the output matrix
// would be cut within a block.
bool tlm_split_heads(const tlm_split *split, const tlm_hparams *hparams, const tlm_weights *weights,
                     uint32_t layer, tlm_cut *out_heads, char why[TLM_NOTE_BYTES]);

// The columns of ffn_down, which are the rows of gate and up. false: as above, then *out_columns
// are rows of gate and up alone.
bool tlm_split_feed_forward(const tlm_split *split, const tlm_hparams *hparams,
                            const tlm_weights *weights, uint32_t layer, tlm_cut *out_columns,
                            char why[TLM_NOTE_BYTES]);

// One line on what of the model cannot be divided as the mode says, and what is done instead; ""
// when there is nothing to tell.
void tlm_split_describe(const tlm_split *split, const tlm_hparams *hparams,
                        const tlm_weights *weights, char note[2 * TLM_NOTE_BYTES]);

#endif
