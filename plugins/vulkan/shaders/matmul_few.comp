// matmul_few.comp: products with few tokens. A workgroup does ROWS rows of the weight and TOKENS
// tokens: its invocations go along K, twice eight elements each at a time, and add up at the end.
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

const bool IS_GATE = TAIL >= OP_SWIGLU;   // or a later one: no sum
const uint ROWS = 4;   // of each weight
const uint ALL_ROWS = IS_GATE ? 2 * ROWS : ROWS;
// One each subgroup, which may be one invocation.
shared float sums[THREADS * ALL_ROWS * TOKENS];

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

    float sum[ALL_ROWS][TOKENS];
    for (uint r = 0; r < ALL_ROWS; r++)
        for (uint t = 0; t < TOKENS; t++)
            sum[r][t] = 0.0;
    uint block = max(block_elements(W_TYPE), 16), pairs = block / 16;
    uint pair_end = (k_end + block - 1) / block * pairs;
    for (uint i = lane; i < pair_end; i += THREADS) {
        uint part = first_of_pair(W_TYPE, i % pairs), step = pair_step(W_TYPE);
        Pair pair[ALL_ROWS];
        for (uint r = 0; r < ROWS && W_TYPE >= Q4_0; r++) {
            uint at = min(row + r, n_count - 1) * w_row + i / pairs * w_element;
            pair[r] = w_pair(w_begin + at, part, W_TYPE);
            if (IS_GATE)
                pair[ROWS + r] = up_pair(ids_at + at, part, W_TYPE);
        }
        for (uint which = 0; which < 2; which++) {
            uint k = i / pairs * block + 8 * (part + which * step);
            if (W_TYPE < Q4_0)
                k = 16 * i + 8 * which;
            if (k >= k_end)
                continue;
            uint count = min(k_end - k, 8);
            vec4 low[TOKENS], high[TOKENS];
            for (uint t = 0; t < TOKENS; t++) {
                uint at = x_begin + min(token + t, m_end - 1) * x_token + k * x_element;
                low[t] = x_four(at, count);
                high[t] = x_four(at + 4 * x_element, max(count, 4) - 4);
            }
            for (uint r = 0; r < ALL_ROWS; r++) {
                uint at = min(row + r % ROWS, n_count - 1) * w_row;
                Eight w;
                if (W_TYPE >= Q4_0)
                    w = eight_of(levels_of_pair(pair[r], part, which, W_TYPE));
                else if (r < ROWS)
                    w = w_eight(w_begin + at, k, count);
                else
                    w = up_eight(ids_at + at, k, count);
                for (uint t = 0; t < TOKENS; t++) {
                    float product = dot(w.a, low[t]) + dot(w.b, high[t]);
                    sum[r][t] = fma(w.scale, product, sum[r][t]);
                    if (has_offset(W_TYPE))
                        sum[r][t] = fma(w.offset, dot(low[t] + high[t], vec4(1.0)), sum[r][t]);
                }
            }
        }
    }

#ifdef SUBGROUPS
    uint own = gl_SubgroupID, own_count = gl_NumSubgroups;
#else
    uint own = lane, own_count = THREADS;
#endif
    for (uint r = 0; r < ALL_ROWS; r++)
        for (uint t = 0; t < TOKENS; t++) {
#ifdef SUBGROUPS
            sum[r][t] = subgroupAdd(sum[r][t]);
            if (subgroupElect())
#endif
                sums[(own * ALL_ROWS + r) * TOKENS + t] = sum[r][t];
        }
    barrier();
    for (uint i = lane; i < ROWS * TOKENS; i += THREADS) {
        uint n = row + i / TOKENS, m = token + i % TOKENS;
        float all = 0.0, other = 0.0;
        for (uint s = 0; s < own_count; s++) {
            all += sums[s * ALL_ROWS * TOKENS + i];
            if (IS_GATE)
                other += sums[(s * ALL_ROWS + ROWS) * TOKENS + i];
        }
        if (n >= n_count || m >= m_end)
            continue;
        if (IS_GATE)
            all = gated(TAIL, all, other);
        if (is_sum())
            all += added(n, m);
        out_put_u32(out_at + along(batch, out_batch) + n * out_row + m * out_token,
                    floatBitsToUint(all));
    }
}
