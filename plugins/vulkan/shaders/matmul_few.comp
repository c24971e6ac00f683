// matmul_few.comp: products with few tokens. A workgroup does ROWS rows of the weight and TOKENS
// tokens: its invocations go along K, eight elements each at a time, and add up at the end.
#version 460
#include "include/base.glsl"
#include "include/blocks.glsl"
#include "include/math.glsl"
#include "include/product.glsl"

layout(constant_id = 8) const uint TOKENS = 1;
layout(constant_id = 9) const uint THREADS = 32;
layout(local_size_x_id = 9) in;
READS(6, up)   // TAIL a gate: the matrix of its other product, which lies as w does
BLOCKS(up)
FOUR(up, W_TYPE, IS_W_FLAT, w_element)
EIGHT(up)

const bool IS_GATE = TAIL >= 48;
const uint ROWS = 4;
const uint PRODUCTS = IS_GATE ? 2 : 1;
#ifdef SUBGROUPS
const uint SUMS = THREADS / 4;   // of subgroups, which have 4 invocations or more
#else
const uint SUMS = THREADS;
#endif
shared float sums[SUMS * ROWS * TOKENS * PRODUCTS];

// The matrix of the choice; what is no matrix fails the work.
bool find_matrix(uvec3 batch, out uint at)
{
    at = 0;
    if (batch.x >= first_count(batch_dims[0]) || batch.y >= second_count(batch_dims[1]))
        return false;
    uint id = ids_u32(ids_at + batch.x * ids_choice + batch.y * ids_token);
    if (id >= matrix_count) {
        check_word = 1;
        return false;
    }
    at = id * w_matrix;
    return true;
}

void main()
{
    uint lane = gl_LocalInvocationIndex;
    uint row = gl_WorkGroupID.x * ROWS, token = gl_WorkGroupID.y * TOKENS;
    uvec3 batch = batch_of(gl_WorkGroupID.z);
    uint w_begin = w_at + along(batch, w_batch), x_begin = x_at + along(batch, x_batch);
    uint k_end = k_count, m_end = m_count;
    if (BY_ID) {
        uint matrix;
        if (!find_matrix(batch, matrix))
            return;
        w_begin += matrix;
    } else {
        k_end = first_count(k_count);
        m_end = second_count(m_count);
    }
    if (token >= m_end)
        return;

    float sum[ROWS * PRODUCTS][TOKENS];
    for (uint r = 0; r < ROWS * PRODUCTS; r++)
        for (uint t = 0; t < TOKENS; t++)
            sum[r][t] = 0.0;
    for (uint k = 8 * lane; k < k_end; k += 8 * THREADS) {
        uint count = min(k_end - k, 8);
        vec4 low[TOKENS], high[TOKENS];
        for (uint t = 0; t < TOKENS; t++) {
            uint at = x_begin + min(token + t, m_end - 1) * x_token + k * x_element;
            low[t] = x_four(at, count);
            high[t] = x_four(at + 4 * x_element, max(count, 4) - 4);
        }
        for (uint r = 0; r < ROWS * PRODUCTS; r++) {
            uint w_at_row = min(row + r % ROWS, n_count - 1) * w_row;
            Eight w;
            if (IS_GATE && r >= ROWS)
                w = up_eight(ids_at + w_at_row, k, count);
            else
                w = w_eight(w_begin + w_at_row, k, count);
            for (uint t = 0; t < TOKENS; t++) {
                float product = dot(w.a, low[t]) + dot(w.b, high[t]);
                sum[r][t] = fma(w.scale, product, sum[r][t]);
                if (has_offset(W_TYPE))
                    sum[r][t] = fma(w.offset, dot(low[t] + high[t], vec4(1.0)), sum[r][t]);
            }
        }
    }

#ifdef SUBGROUPS
    uint own = gl_SubgroupID, own_count = gl_NumSubgroups;
#else
    uint own = lane, own_count = THREADS;
#endif
    for (uint r = 0; r < ROWS * PRODUCTS; r++)
        for (uint t = 0; t < TOKENS; t++) {
#ifdef SUBGROUPS
            sum[r][t] = subgroupAdd(sum[r][t]);
            if (subgroupElect())
#endif
                sums[(own * ROWS * PRODUCTS + r) * TOKENS + t] = sum[r][t];
        }
    barrier();
    for (uint i = lane; i < ROWS * TOKENS; i += THREADS) {
        uint n = row + i / TOKENS, m = token + i % TOKENS;
        float all = 0.0, other = 0.0;
        for (uint s = 0; s < own_count; s++) {
            all += sums[s * ROWS * TOKENS * PRODUCTS + i];
            if (IS_GATE)
                other += sums[(s * PRODUCTS + 1) * ROWS * TOKENS + i];
        }
        if (IS_GATE)
            all = gated(TAIL, all, other);
        if (n >= n_count || m >= m_end)
            continue;
        if (is_sum())
            all += added(n, m);
        out_put_u32(out_at + along(batch, out_batch) + n * out_row + m * out_token,
                    floatBitsToUint(all));
    }
}
