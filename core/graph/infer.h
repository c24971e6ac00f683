// infer.h: the shape rules of the ops that compute, a file a family, and what they share.
//
// A rule sets dtype, rank, dims and extents of rule->out from the operands, or fails with a
// sentence and answers false. Extents travel with dims: a dim of the output that stands for a dim
// of an operand counts as far as that one does.
#ifndef TNI_INFER_H
#define TNI_INFER_H

#include "graph/graph_internal.h"

typedef const tni_value *operand;

// The rule of each family; false with an error set also for a number that is none of its own.
bool tni_infer_elementwise(const tni_rule *rule);
bool tni_infer_rows(const tni_rule *rule);     // along dims: norms, softmax, rope, sums, sorts
bool tni_infer_matmul(const tni_rule *rule);   // matmul, matmul_id, attention
bool tni_infer_move(const tni_rule *rule);     // get_rows, set_rows, convert, concat, pad, repeat
bool tni_infer_image(const tni_rule *rule);    // convolutions, pooling, upscale

// ----------------------------------------------------------------------------------------- shared

// Room for the text of one operand in a message.
typedef struct tni_shape_text {
    char text[160];
} tni_shape_text;
const char *tni_shown(operand x, tni_shape_text *room);

// "<rule_text>, <a_name> is …, <b_name> is …"
bool tni_rule_fail_two(const tni_rule *rule, tn_status status, const char *rule_text,
                       const char *a_name, operand a, const char *b_name, operand b);

bool tni_is_float(operand x);   // F32 or F16
bool tni_need_float(const tni_rule *rule, const char *name, operand x);
bool tni_need_index(const tni_rule *rule, const char *name, operand x);   // I32 with one dim
bool tni_need_axis(const tni_rule *rule, uint32_t axis);                  // below TN_MAX_DIMS
// Dims `first` to `last` of x have no extent.
bool tni_need_whole(const tni_rule *rule, const char *name, operand x, uint32_t first,
                    uint32_t last);
// x is NULL, or F32 with one element for each of `count`.
bool tni_need_vector(const tni_rule *rule, const char *name, operand x, int64_t count);

void tni_copy_shape(tni_value *out, operand x);   // dtype, rank, dims, extents
bool tni_broadcasts(operand b, operand a);        // each dim of b is that of a, or 1
// *extent becomes the one that both have, or the only one; two that differ are an error.
bool tni_join_extent(const tni_rule *rule, uint32_t *extent, uint32_t other, uint32_t dim);
bool tni_join_broadcast(const tni_rule *rule, operand b);   // extents of b into those of the output

#endif
