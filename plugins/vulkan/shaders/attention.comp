// attention.comp: softmax(softcap(q.k * scale) + mask) v, without a matrix of scores.
//
// q {D, H, T}, k {D, G, S}, v {E, G, S}, out {E, H, T}; R = H / G heads share a key head. A row is
// one head of one token, row t * R + r of key head g being head g * R + r of token t. A workgroup
// has ROWS of them, and goes through the keys that any of them sees, KEYS at a time, with the
// largest score so far, the sum of exponentials and the weighted sum of v in registers (Milakov and
// Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135).
//
// An invocation has ROWS_EACH rows, and of these every LANES-th key and every LANES-th element of v.
// Elements go through shared memory, CHUNK at a time; SLICES chunks of v are one workgroup's.
//
// IS_PART: the keys are dealt out to `splits` workgroups; each leaves for attention_merge.comp, by
// split, head and token, | E sums, the largest score, the sum of exponentials |.
#version 460
#define GROUP 128
#include "include/base.glsl"
#include "include/blocks.glsl"
#include "include/math.glsl"

layout(local_size_x = GROUP) in;
layout(constant_id = 0) const uint Q_TYPE = 1;
layout(constant_id = 1) const uint K_TYPE = 1;
layout(constant_id = 2) const uint V_TYPE = 1;
layout(constant_id = 3) const uint MASK_TYPE = 0;   // 0: no mask
layout(constant_id = 4) const bool HAS_SINKS = false;
layout(constant_id = 5) const bool IS_CAUSAL = false;
layout(constant_id = 6) const bool HAS_LENGTH = false;   // of S
layout(constant_id = 7) const bool HAS_TOKENS = false;   // a length of T, in the place of a mask
layout(constant_id = 8) const bool IS_PART = false;
layout(constant_id = 9) const uint ROWS = 32;
layout(constant_id = 10) const uint LANES = 8;
layout(constant_id = 11) const uint KEYS = 32;
layout(constant_id = 12) const uint CHUNK = 32;
layout(constant_id = 13) const uint SLICES = 8;
const uint ROWS_EACH = ROWS * LANES / GROUP;
const uint KEYS_EACH = KEYS / LANES;
const uint COLUMNS_EACH = CHUNK / LANES;
const uint PITCH = CHUNK + 1, SHARE_PITCH = KEYS + 1;   // odd: columns lie in different banks

layout(push_constant, std430) uniform Push {
    uint out_e, out_h, out_t, q_d, q_h, q_t, k_d, k_g, k_s, v_e, v_g, v_s;   // strides
    uint mask_s, mask_t, position_t, sink_h;
    uint offsets, more_offsets;   // a byte each: out q k v; position, mask or tokens, sinks, length
    uint D, E, S, T, R, H;
    float scale, softcap;
    uint window, splits;
};
WRITES(0, out)
READS(1, q)
READS(2, k)
READS(3, v)
READS(4, position)
READS(5, mask)
LENGTH(5, tokens)
READS(6, sinks)
LENGTH(7, keys)
BLOCKS(k)
BLOCKS(v)

shared float queries[ROWS * PITCH];
shared float columns[KEYS * PITCH];   // of k, then of v
shared float shares[ROWS * SHARE_PITCH];
shared float lane_numbers[ROWS * LANES];
shared int positions[ROWS];

// What this workgroup and this invocation have.
uint first_row, row_count, group, lane, own_row;
uint head_of(uint row) { return group * R + row % R; }
uint token_of(uint row) { return row / R; }
uint row_at(uint i) { return min(first_row + i, row_count - 1); }   // beyond the last: the last

// Keys [x, y) that some row sees, and of these [seen_from, seen_to) that all do.
uint seen_from = 0, seen_to = 0xffffffffu;
uvec2 keys_seen()
{
    const uint length = HAS_LENGTH ? keys_of(more_offsets >> 24, S) : S;
    int lowest = positions[0], highest = positions[0];
    for (uint i = 1; i < ROWS; i++) {
        lowest = min(lowest, positions[i]);
        highest = max(highest, positions[i]);
    }
    const uint end = IS_CAUSAL ? min(length, uint(highest + 1)) : length;
    uint begin = 0;
    if (window > 0 && uint(lowest + 1) > window)
        begin = uint(lowest + 1) - window;
    if (window > 0 && uint(highest + 1) > window)
        seen_from = uint(highest + 1) - window;
    if (IS_CAUSAL)
        seen_to = uint(lowest + 1);
    return uvec2(min(begin, end), end);
}

bool is_seen(int at, uint key)
{
    if (IS_CAUSAL && int(key) > at)
        return false;
    return window == 0 || int(key) > at || uint(at - int(key)) < window;
}

// CHUNK elements, from number `first` on, of each of `count` keys from `at` on; 0 where none is.
#define COLUMNS(NAME, TYPE, SIZE, STRIDE, KEY_STRIDE)                                              \
    void NAME##_columns(uint at, uint count, uint first)                                           \
    {                                                                                              \
        const uint parts = block_elements(TYPE) / 8, parts_of_chunk = CHUNK / 8;                   \
        uint n = gl_LocalInvocationIndex;                                                          \
        for (; TYPE >= Q4_0 && n < KEYS * parts_of_chunk; n += GROUP) {                            \
            const uint key = n / parts_of_chunk, part = n % parts_of_chunk;                        \
            const uint from = first / 8 + part, to = key * PITCH + part * 8;                       \
            vec4 a = vec4(0.0), b = vec4(0.0);                                                     \
            if (key < count && 8 * from < SIZE) {                                                  \
                const Levels levels =                                                              \
                    NAME##_levels(at + key * KEY_STRIDE + from / parts * block_bytes(TYPE),        \
                                  from % parts, TYPE);                                             \
                a = floats_of(levels.bytes.x) * levels.scale + levels.offset;                      \
                b = floats_of(levels.bytes.y) * levels.scale + levels.offset;                      \
            }                                                                                      \
            for (uint i = 0; i < 4; i++) {                                                         \
                columns[to + i] = a[i];                                                            \
                columns[to + 4 + i] = b[i];                                                        \
            }                                                                                      \
        }                                                                                          \
        const bool is_paired = TYPE == F16 && STRIDE == 2 && ((at | KEY_STRIDE) & 3u) == 0;        \
        for (; is_paired && n < KEYS * CHUNK / 2; n += GROUP) {                                    \
            const uint key = n / (CHUNK / 2), i = n % (CHUNK / 2) * 2, from = first + i;           \
            const bool is_there = key < count && from < SIZE;                                      \
            const uint two = is_there ? NAME##_u32(at + key * KEY_STRIDE + 2 * from) : 0;          \
            columns[key * PITCH + i] = half_to_float(two & 0xffffu);                               \
            columns[key * PITCH + i + 1] = from + 1 < SIZE ? half_to_float(two >> 16) : 0.0;       \
        }                                                                                          \
        for (; TYPE < Q4_0 && !is_paired && n < KEYS * CHUNK; n += GROUP) {                        \
            const uint key = n / CHUNK, from = first + n % CHUNK;                                  \
            columns[key * PITCH + n % CHUNK] =                                                     \
                key < count && from < SIZE                                                         \
                    ? NAME##_float(at + key * KEY_STRIDE + from * STRIDE, TYPE)                    \
                    : 0.0;                                                                         \
        }                                                                                          \
    }
COLUMNS(k, K_TYPE, D, k_d, k_s)
COLUMNS(v, V_TYPE, E, v_e, v_s)

// The scores of own rows and own keys of those from `begin` on.
float scores[ROWS_EACH * KEYS_EACH];
void score(uint begin, uint end)
{
    for (uint i = 0; i < ROWS_EACH * KEYS_EACH; i++)
        scores[i] = 0.0;
    for (uint chunk = 0; chunk < D; chunk += CHUNK) {
        const uint count = min(CHUNK, D - chunk);
        barrier();   // what was there has been read
        for (uint n = gl_LocalInvocationIndex; n < ROWS * CHUNK; n += GROUP) {
            const uint row = row_at(n / CHUNK), d = chunk + n % CHUNK;
            const uint at = (offsets >> 8 & 255u) + head_of(row) * q_h + token_of(row) * q_t;
            queries[n / CHUNK * PITCH + n % CHUNK] = d < D ? q_float(at + d * q_d, Q_TYPE) : 0.0;
        }
        k_columns((offsets >> 16 & 255u) + group * k_g + begin * k_s, end - begin, chunk);
        barrier();
        for (uint d = 0; d < count; d++) {
            float x[ROWS_EACH];
            for (uint i = 0; i < ROWS_EACH; i++)
                x[i] = queries[(own_row + i) * PITCH + d];
            for (uint j = 0; j < KEYS_EACH; j++) {
                const float y = columns[(lane + j * LANES) * PITCH + d];
                for (uint i = 0; i < ROWS_EACH; i++)
                    scores[i * KEYS_EACH + j] = fma(x[i], y, scores[i * KEYS_EACH + j]);
            }
        }
    }
    for (uint i = 0; i < ROWS_EACH; i++)
        for (uint j = 0; j < KEYS_EACH; j++) {
            const uint key = begin + lane + j * LANES, row = row_at(own_row + i);
            float x = scores[i * KEYS_EACH + j] * scale;
            if (softcap > 0.0)
                x = softcap * tanh_of(x / softcap);
            if (key >= end || !is_seen(positions[own_row + i], key))
                x = -INFINITY;
            else if (MASK_TYPE != 0)
                x += mask_float((more_offsets >> 8 & 255u) + key * mask_s + token_of(row) * mask_t,
                                MASK_TYPE);
            scores[i * KEYS_EACH + j] = x;
        }
}

uint part_of(uint split, uint row)
{
    return (offsets & 255u) + 4 * (((split * H + head_of(row)) * T + token_of(row)) * (E + 2));
}
void put_part_end(uint part, float largest, float total)
{
    out_put_u32(part + 4 * E, floatBitsToUint(largest));
    out_put_u32(part + 4 * E + 4, floatBitsToUint(total));
}

void main()
{
    const uint slices = (E + CHUNK * SLICES - 1) / (CHUNK * SLICES);
    const uint slice = gl_WorkGroupID.z % slices * CHUNK * SLICES;
    const uint split = gl_WorkGroupID.z / slices;
    group = gl_WorkGroupID.y;
    lane = gl_LocalInvocationIndex % LANES;
    own_row = gl_LocalInvocationIndex / LANES * ROWS_EACH;
    first_row = gl_WorkGroupID.x * ROWS;
    row_count = (HAS_TOKENS ? tokens_of(more_offsets >> 8 & 255u, T) : T) * R;
    if (first_row >= row_count)
        return;
    if (gl_LocalInvocationIndex < ROWS) {
        const uint t = token_of(row_at(gl_LocalInvocationIndex));
        positions[gl_LocalInvocationIndex] =   // below 0 all are alike
            max(int(position_u32((more_offsets & 255u) + t * position_t)), -1);
    }
    barrier();
    uvec2 range = keys_seen();
    if (IS_PART) {
        uint each = (range.y - range.x + splits - 1) / splits;
        each = (each + KEYS - 1) / KEYS * KEYS;
        range.x = min(range.x + split * each, range.y);
        range.y = min(range.x + each, range.y);
        if (range.x == range.y) {   // sums of no key are not looked at
            const uint row = first_row + own_row;
            for (uint i = 0; i < ROWS_EACH; i++)
                if (slice == 0 && lane == 0 && row + i < row_count)
                    put_part_end(part_of(split, row + i), -INFINITY, 0.0);
            return;
        }
    }

    float sums[SLICES * COLUMNS_EACH * ROWS_EACH], largest[ROWS_EACH], total[ROWS_EACH];
    for (uint i = 0; i < SLICES * COLUMNS_EACH * ROWS_EACH; i++)
        sums[i] = 0.0;
    for (uint i = 0; i < ROWS_EACH; i++) {
        largest[i] = -INFINITY;
        total[i] = 0.0;   // of own keys
    }
    for (uint begin = range.x; begin < range.y; begin += KEYS) {
        const uint count = min(KEYS, range.y - begin);
        const bool is_mixed = begin < seen_from || begin + count > seen_to;
        score(begin, range.y);
        for (uint i = 0; i < ROWS_EACH; i++) {
            float most = scores[i * KEYS_EACH];
            for (uint j = 1; j < KEYS_EACH; j++)
                most = max(most, scores[i * KEYS_EACH + j]);
            lane_numbers[(own_row + i) * LANES + lane] = most;
        }
        barrier();
        for (uint i = 0; i < ROWS_EACH; i++) {
            float most = largest[i];
            for (uint l = 0; l < LANES; l++)
                most = max(most, lane_numbers[(own_row + i) * LANES + l]);
            const float base = most == -INFINITY ? 0.0 : most;
            const float kept = exp_of(largest[i] - base);
            largest[i] = most;
            total[i] *= kept;
            for (uint j = 0; j < KEYS_EACH; j++) {
                const float share = exp_of(scores[i * KEYS_EACH + j] - base);
                shares[(own_row + i) * SHARE_PITCH + lane + j * LANES] = share;
                total[i] += share;
            }
            for (uint j = 0; j < SLICES * COLUMNS_EACH; j++)
                sums[j * ROWS_EACH + i] *= kept;
        }
        for (uint s = 0; s < SLICES; s++) {
            barrier();   // the columns there have been read
            v_columns((offsets >> 24) + group * v_g + begin * v_s, range.y - begin,
                      slice + s * CHUNK);
            barrier();
            for (uint key = 0; key < count; key++) {
                float x[ROWS_EACH];
                for (uint i = 0; i < ROWS_EACH; i++)
                    x[i] = shares[(own_row + i) * SHARE_PITCH + key];
                if (is_mixed) {   // a NaN or an infinity that a row does not see is not its own
                    for (uint j = 0; j < COLUMNS_EACH; j++) {
                        const float y = columns[key * PITCH + lane + j * LANES];
                        const uint at = (s * COLUMNS_EACH + j) * ROWS_EACH;
                        for (uint i = 0; i < ROWS_EACH; i++)
                            sums[at + i] = fma(x[i], x[i] == 0.0 ? 0.0 : y, sums[at + i]);
                    }
                    continue;
                }
                for (uint j = 0; j < COLUMNS_EACH; j++) {
                    const float y = columns[key * PITCH + lane + j * LANES];
                    const uint at = (s * COLUMNS_EACH + j) * ROWS_EACH;
                    for (uint i = 0; i < ROWS_EACH; i++)
                        sums[at + i] = fma(x[i], y, sums[at + i]);
                }
            }
        }
    }

    barrier();   // numbers there have been read
    for (uint i = 0; i < ROWS_EACH; i++)
        lane_numbers[(own_row + i) * LANES + lane] = total[i];
    barrier();
    for (uint i = 0; i < ROWS_EACH; i++) {
        const uint row = first_row + own_row + i;
        if (row >= row_count)
            continue;
        const uint head = head_of(row), t = token_of(row);
        float all = 0.0, factor = 1.0;
        for (uint l = 0; l < LANES; l++)
            all += lane_numbers[(own_row + i) * LANES + l];
        if (IS_PART && slice == 0 && lane == 0)
            put_part_end(part_of(split, row), largest[i], all);
        if (!IS_PART) {
            if (HAS_SINKS) {
                const float sink = sinks_float((more_offsets >> 16 & 255u) + head * sink_h, F32);
                const float most = max(largest[i], sink);
                const float base = most == -INFINITY ? 0.0 : most;
                factor = exp_of(largest[i] - base);
                all = all * factor + exp_of(sink - base);
            }
            factor = all == 0.0 ? 0.0 : factor / all;
        }
        const uint to = IS_PART ? part_of(split, row) : (offsets & 255u) + head * out_h + t * out_t;
        for (uint j = 0; j < SLICES * COLUMNS_EACH; j++) {
            const uint e = slice + j / COLUMNS_EACH * CHUNK + j % COLUMNS_EACH * LANES + lane;
            if (e < E)
                out_put_u32(to + e * (IS_PART ? 4 : out_e),
                            floatBitsToUint(sums[j * ROWS_EACH + i] * factor));
        }
    }
}
