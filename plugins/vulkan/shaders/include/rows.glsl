// rows.glsl: rows of one operand that become rows of another, one for one or by an index. What an
// index chooses from is bound in parts where the device shows too little at once.
#define WALK_OPERANDS 3   // the result, what it is made of, indices
#include "walk.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint DTYPE = 1;   // of the rows that are decoded or encoded
layout(constant_id = 1) const bool BY_INDEX = false;
layout(constant_id = 2) const bool IS_N_LIMITED = false;
layout(constant_id = 3) const bool IS_B_LIMITED = false;
layout(push_constant, std430) uniform Push {
    Walk walk;   // over rows
    uint n, b;   // the first two dims of rows
    uint elements;
    uint out_stride, from_stride;   // of elements, or of blocks
    uint row_stride, row_count;     // what an index is for
    uint first_row, part_rows;
    uint n_length_at, b_length_at;
};
LENGTH(3, n_length)
LENGTH(4, b_length)
layout(std430, binding = 7) buffer Check { uint check_word; };

bool is_beyond_lengths(uint row)
{
    return IS_N_LIMITED && row % n >= n_length_of(n_length_at, n) ||
           IS_B_LIMITED && row / n % b >= b_length_of(b_length_at, b);
}
