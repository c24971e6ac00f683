// product.glsl: what the kernels of matmul and matmul_id share: where rows of the weight, tokens
// and results are, and eight elements of each at a time.
layout(constant_id = 0) const uint W_TYPE = 1;
layout(constant_id = 1) const uint X_TYPE = 1;
layout(constant_id = 2) const bool IS_W_FLAT = false;   // side by side, from whole words on
layout(constant_id = 3) const bool IS_X_FLAT = false;
layout(constant_id = 4) const bool IS_FIRST_LIMITED = false;
layout(constant_id = 5) const bool IS_SECOND_LIMITED = false;
layout(constant_id = 6) const bool BY_ID = false;
layout(constant_id = 7) const uint TAIL = 0;   // the op that is done with a product; 0: none
layout(push_constant, std430) uniform Push {
    uint w_at, w_row, w_element;   // strides in bytes; an element of w may be a block
    uint x_at, x_token, x_element;
    uint out_at, out_token, out_row;
    uint k_count, n_count, m_count;
    uint first_length_at, second_length_at;
    uint batch_dims[2];   // of three
    uint w_batch[3], x_batch[3], out_batch[3];
    uint ids_at, ids_choice, ids_token;   // BY_ID; else of what is added: begin, rows, tokens
    uint w_matrix, matrix_count;          // BY_ID
};
WRITES(0, out)
READS(1, w)
READS(2, x)
READS(5, ids)   // TAIL add: what is added
LENGTH(3, first_length)     // of K; BY_ID: of the choices
LENGTH(4, second_length)    // of M; BY_ID: of the tokens
BLOCKS(w)
layout(std430, binding = 7) buffer Check { uint check_word; };

uvec3 batch_of(uint index)
{
    return uvec3(index % batch_dims[0], index / batch_dims[0] % batch_dims[1],
                 index / batch_dims[0] / batch_dims[1]);
}
uint along(uvec3 batch, uint strides[3])
{
    return batch.x * strides[0] + batch.y * strides[1] + batch.z * strides[2];
}

uint first_count(uint dim)
{
    return IS_FIRST_LIMITED ? first_length_of(first_length_at, dim) : dim;
}
uint second_count(uint dim)
{
    return IS_SECOND_LIMITED ? second_length_of(second_length_at, dim) : dim;
}

// Four elements from `at` on, 0 from number `count` on.
#define FOUR(NAME, TYPE, IS_FLAT, STRIDE)                                                          \
    vec4 NAME##_four(uint at, uint count)                                                          \
    {                                                                                              \
        vec4 four = vec4(0.0);                                                                     \
        if (IS_FLAT && count >= 4) {                                                               \
            uint i = at >> 2;                                                                      \
            if (TYPE == F32)                                                                       \
                return uintBitsToFloat(uvec4(NAME##_words[i], NAME##_words[i + 1],                 \
                                             NAME##_words[i + 2], NAME##_words[i + 3]));           \
            uvec2 two = uvec2(NAME##_words[i], NAME##_words[i + 1]);                               \
            if (TYPE == F16)                                                                       \
                return vec4(half_to_float(two.x & 0xffffu), half_to_float(two.x >> 16),            \
                            half_to_float(two.y & 0xffffu), half_to_float(two.y >> 16));           \
            return uintBitsToFloat(uvec4(two.x << 16, two.x & 0xffff0000u, two.y << 16,            \
                                         two.y & 0xffff0000u));                                    \
        }                                                                                          \
        for (uint i = 0; i < 4; i++)                                                               \
            if (i < count)                                                                         \
                four[i] = NAME##_float(at + i * STRIDE, TYPE);                                     \
        return four;                                                                               \
    }
FOUR(x, X_TYPE, IS_X_FLAT, x_element)
FOUR(w, W_TYPE, IS_W_FLAT, w_element)

bool is_sum()
{
    return TAIL == OP_ADD;
}
float added(uint row, uint token)
{
    return uintBitsToFloat(ids_u32(ids_at + row * ids_choice + token * ids_token));
}

// Eight elements of a row of the weight: scale * (a, b) + offset.
struct Eight {
    vec4 a, b;
    float scale, offset;
};

Eight eight_of(Levels levels)
{
    return Eight(floats_of(levels.bytes.x), floats_of(levels.bytes.y), levels.scale, levels.offset);
}

// From k on, a multiple of 8; 0, or any number, from number `count` on.
#define EIGHT(NAME)                                                                                \
    Eight NAME##_eight(uint row_at, uint k, uint count)                                            \
    {                                                                                              \
        if (W_TYPE < Q4_0) {                                                                       \
            uint at = row_at + k * w_element;                                                      \
            return Eight(NAME##_four(at, count),                                                   \
                         NAME##_four(at + 4 * w_element, max(count, 4) - 4), 1.0, 0.0);            \
        }                                                                                          \
        uint parts = block_elements(W_TYPE) / 8, part = k >> 3;                                    \
        return eight_of(NAME##_levels(row_at + part / parts * w_element, part % parts, W_TYPE));   \
    }
EIGHT(w)
