// matmul_many.comp: products with many tokens. A workgroup does 64 rows of the weight and 8 TOKENS
// tokens, 32 elements of K at a time, which it decodes into shared memory; an invocation does 4 of
// these rows and TOKENS of the tokens.
#version 460
#include "include/base.glsl"
#include "include/blocks.glsl"
#include "include/product.glsl"

layout(constant_id = 8) const uint TOKENS = 4;
const uint THREADS = 128, ACROSS = 16, DOWN = THREADS / ACROSS;
const uint ROWS = 4 * ACROSS, K_STEP = 32, FOURS = K_STEP / 4;
const uint W_STRIDE = FOURS + 1;   // neighbouring rows begin in other banks
layout(local_size_x = THREADS) in;

shared vec4 w_tile[ROWS * W_STRIDE];
shared vec4 x_tile[DOWN * TOKENS * FOURS];
shared uint chosen[DOWN * TOKENS];   // BY_ID: choice + U * token
shared uint counts[THREADS];

// Lists those of the choices of a matrix that this workgroup does, and counts all.
uint choose(uint matrix, uint begin)
{
    uint lane = gl_LocalInvocationIndex, choices = batch_dims[0], all = choices * batch_dims[1];
    uint choice_end = first_count(choices), token_end = second_count(batch_dims[1]);
    uint own = (all + THREADS - 1) / THREADS, first = lane * own, last = min(first + own, all);
    uint count = 0;
    for (uint pass = 0; pass < 2; pass++) {
        uint number = 0;
        if (pass == 1) {
            counts[lane] = count;
            barrier();
            for (uint i = 0; i < lane; i++)
                number += counts[i];
        }
        for (uint c = first; c < last; c++) {
            uint u = c % choices, t = c / choices;
            if (u >= choice_end || t >= token_end)
                continue;
            uint id = ids_u32(ids_at + u * ids_choice + t * ids_token);
            if (id >= matrix_count)
                check_word = 1;
            if (id != matrix)
                continue;
            if (pass == 0)
                count++;
            else if (number++ >= begin && number <= begin + DOWN * TOKENS)
                chosen[number - 1 - begin] = c;
        }
    }
    uint total = 0;
    for (uint i = 0; i < THREADS; i++)
        total += counts[i];
    barrier();
    return total;
}

// Where token number i of the tile begins in x or the result.
uint token_at(uint token, uint i, uint stride, uint batch[3])
{
    if (!BY_ID)
        return (token + i) * stride;
    return chosen[i] % batch_dims[0] * batch[0] + chosen[i] / batch_dims[0] * batch[1];
}

void main()
{
    uint lane = gl_LocalInvocationIndex, tx = lane % ACROSS, ty = lane / ACROSS;
    uint row = gl_WorkGroupID.x * ROWS, token = gl_WorkGroupID.y * DOWN * TOKENS;
    uint w_begin = w_at, x_begin = x_at, out_begin = out_at, k_end = k_count, m_end;
    if (BY_ID) {
        m_end = choose(gl_WorkGroupID.z, token);
        w_begin += gl_WorkGroupID.z * w_matrix;
    } else {
        uvec3 batch = batch_of(gl_WorkGroupID.z);
        k_end = first_count(k_count);
        m_end = second_count(m_count);
        w_begin += along(batch, w_batch);
        x_begin += along(batch, x_batch);
        out_begin += along(batch, out_batch);
    }
    if (token >= m_end)
        return;

    float sum[TOKENS][4];
    for (uint t = 0; t < TOKENS; t++)
        for (uint r = 0; r < 4; r++)
            sum[t][r] = 0.0;
    for (uint k_begin = 0; k_begin < k_end; k_begin += K_STEP) {
        for (uint i = lane; i < ROWS * FOURS / 2; i += THREADS) {
            uint r = i / (FOURS / 2), part = i % (FOURS / 2), k = k_begin + 8 * part;
            Eight w = Eight(vec4(0.0), vec4(0.0), 0.0, 0.0);
            if (k < k_end)
                w = w_eight(w_begin + min(row + r, n_count - 1) * w_row, k, k_end - k);
            w_tile[r * W_STRIDE + 2 * part] = fma(vec4(w.scale), w.a, vec4(w.offset));
            w_tile[r * W_STRIDE + 2 * part + 1] = fma(vec4(w.scale), w.b, vec4(w.offset));
        }
        for (uint i = lane; i < DOWN * TOKENS * FOURS; i += THREADS) {
            uint t = i / FOURS, k = k_begin + 4 * (i % FOURS);
            vec4 x = vec4(0.0);
            if (token + t < m_end && k < k_end)
                x = x_four(x_begin + token_at(token, t, x_token, x_batch) + k * x_element,
                           k_end - k);
            x_tile[i] = x;
        }
        barrier();
        for (uint i = 0; i < FOURS; i++) {
            vec4 w[4];
            for (uint r = 0; r < 4; r++)
                w[r] = w_tile[(tx + ACROSS * r) * W_STRIDE + i];
            for (uint t = 0; t < TOKENS; t++) {
                vec4 x = x_tile[(ty + DOWN * t) * FOURS + i];
                for (uint r = 0; r < 4; r++)
                    sum[t][r] += dot(w[r], x);
            }
        }
        barrier();
    }
    for (uint t = 0; t < TOKENS; t++) {
        uint m = ty + DOWN * t;
        if (token + m >= m_end)
            continue;
        uint at = out_begin + token_at(token, m, out_token, out_batch);
        for (uint r = 0; r < 4; r++) {
            uint n = row + tx + ACROSS * r;
            if (n >= n_count)
                continue;
            float all = sum[t][r];
            if (is_sum())
                all += added(n, token + m);
            out_put_u32(at + n * out_row, floatBitsToUint(all));
        }
    }
}
