// minimise.h: factors of one variable, put together and minimised over its labels.
#ifndef TNI_SCHED_MINIMISE_H
#define TNI_SCHED_MINIMISE_H

#include "sched/factors.h"

enum {
    TNI_MOST_JOINED = 24,   // factors, and axes around: a table of 2^14 entries has 14 axes at most
    TNI_OWN_AXIS = 255,
};

// Some of the factors that have a variable, minimised by themselves.
typedef struct tni_piece {
    tni_axis own;        // of the variable: its labels that these factors tell apart
    bool has_label_ns;   // what the labels cost by themselves is counted in this piece
    uint32_t factors[TNI_MOST_JOINED], factor_count;
    uint8_t joint[TNI_MOST_JOINED][TNI_MOST_JOINED + 1];   // by factor and axis: the axis of the
                                                           // piece, or TNI_OWN_AXIS
    tni_axis around[TNI_MOST_JOINED];                      // the other variables
    uint32_t around_count;
    size_t entries;   // of the table over them
} tni_piece;

typedef struct tni_minimiser {
    tni_factors *factors;
    double *sums;   // scratch, as is live
    uint32_t sums_capacity;
    uint32_t *live;
    uint32_t live_capacity;
    uint64_t work;     // sums so far
    double constant;   // what was minimised with nothing around
} tni_minimiser;

void tni_minimiser_finish(tni_minimiser *minimiser);

void tni_piece_begin(uint32_t variable, bool has_label_ns, tni_piece *out);

// Puts a factor into a piece. *out_is_in: false where the table would have more entries than
// `most`, or too many axes. false: out of memory, here and below.
bool tni_piece_join(tni_factors *factors, tni_piece *piece, uint32_t factor, size_t most,
                    bool *out_is_in);

// What is left when the variable is gone: a new factor, costs of labels, or a constant.
bool tni_piece_minimise(tni_minimiser *minimiser, const tni_piece *piece);

#endif
