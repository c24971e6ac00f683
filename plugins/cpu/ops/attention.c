// attention.c: softmax(softcap(q.k * scale) + mask) v, without a matrix of scores.
//
// q {D, H, T}, k {D, G, S}, v {E, G, S}, out {E, H, T}; the R = H / G query heads of a group share
// a key head.
//
// Keys are taken in chunks of KEYS, at fixed borders. For one chunk, one group and a few tokens
// ("queries": R heads times the tokens) the scores, their largest, the sum of their exponentials
// and the weighted sum of v are made with all operands in cache, K and V decoded once for all
// queries. Parts of successive chunks are merged in order, rescaled to the larger of the two
// largest scores (Milakov and Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022,
// arXiv:2205.14135). A sink is a score without a value, merged last. What a chunk gives and the
// order of the merges do not depend on who computes it, so the bits are the same for any number of
// workers and tokens.
//
//   one token      phase 0: workers take chunks of groups and leave the parts in scratch; phase 1:
//                  they merge heads. Where whole groups can be dealt out as evenly, each worker
//                  takes those and merges their heads at once, and there is one phase alone
//   more tokens    workers take (group, few tokens) and merge chunk after chunk, in one phase
//
// Scratch:  | parts: H * chunks * (E sums, largest, total) |
//           then for each worker the buffers of struct work
#include "ops.h"

#include <math.h>
#include <string.h>

#define KEYS        64
#define QUERIES     96
#define FEW_QUERIES 6   // up to here F16 and Q8_0 are decoded in the kernels, once a tile

typedef struct shape {
    int64_t D, E, H, G, R, T, S;
    int64_t D_room, E_room;   // rounded up to a block
    int64_t tokens;           // taken together
    int64_t queries;          // R * tokens
    int64_t chunks;           // of KEYS, the last one perhaps in part
    int64_t parts_floats, worker_floats;
} shape;

// The part of a result that comes from some of the keys.
typedef struct part {
    float *sums;      // {E}: of exp(score - largest) * v
    float *largest;   // score; -INFINITY = no key was seen
    float *total;     // of exp(score - largest)
} part;

// One worker's buffers. Queries are numbered token by token: query t * R + r is head g * R + r of
// token t.
typedef struct work {
    float *keys, *values;                        // {D_room, KEYS}, {E_room, KEYS}
    float *q;                                    // {D_room, queries}
    float *scores;                               // {KEYS, queries}
    float *sums, *largest, *total;               // {E, queries}, {queries}, {queries}: of one chunk
    float *all_sums, *all_largest, *all_total;   // the same, of all chunks so far
} work;

typedef struct span {
    int64_t begin, end;
} span;   // of keys

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static shape measure(const cpu_job *job)
{
    const cpu_tensor *q = &job->in[0], *k = &job->in[1], *v = &job->in[2], *out = &job->out;
    shape s = { .D = cpu_min(q->dims[0], k->dims[0]), .E = cpu_min(out->dims[0], v->dims[0]) };

    s.H = cpu_min(out->dims[1], q->dims[1]);
    s.T = cpu_min(out->dims[2], q->dims[2]);
    s.G = cpu_min(k->dims[1], v->dims[1]);
    s.S = cpu_min(k->dims[2], v->dims[2]);
    s.R = s.G > 0 ? s.H / s.G : 0;
    s.D_room = cpu_round_up(s.D, 32);
    s.E_room = cpu_round_up(s.E, 32);
    s.tokens = s.R > 0 && s.R < QUERIES ? QUERIES / s.R : 1;
    s.queries = s.R * s.tokens;
    s.chunks = ceil_div(s.S, KEYS);
    s.parts_floats = cpu_round_up(s.H * s.chunks * (s.E + 2), 16);
    s.worker_floats = KEYS * (s.D_room + s.E_room) +
                      cpu_round_up(s.queries * (s.D_room + KEYS + 2 * (s.E + 2)), 16);
    return s;
}

static int is_key_type(const cpu_tensor *t)
{
    return cpu_is_float(t) || cpu_block_elements(t->dtype) > 1;
}

static const char *refuse_attention(const cpu_job *node)
{
    const tnp_attention_attr *attr = node->attr;
    const cpu_tensor *q = &node->in[0], *k = &node->in[1], *v = &node->in[2];

    if (!cpu_is_float(q) || node->out.dtype != TNP_DTYPE_F32)
        return "attention with queries that are neither F32 nor F16, or a result that is not F32";
    if (!is_key_type(k) || !is_key_type(v))
        return "attention with keys or values other than F32, F16 and block types";
    if (node->in[3].dtype != TNP_DTYPE_I32)
        return "attention with positions that are not I32";
    if (cpu_has(node, 4) && !cpu_is_float(&node->in[4]))
        return "attention with a mask that is neither F32 nor F16";
    if (cpu_has(node, 5) && node->in[5].dtype != TNP_DTYPE_F32)
        return "attention with sinks that are not F32";
    if (!cpu_rank_at_most(q, 3) || !cpu_rank_at_most(k, 3) || !cpu_rank_at_most(v, 3))
        return "attention of more than three dims";
    if (q->dims[1] % k->dims[1])
        return "attention with heads that are no multiple of the key heads";
    if (attr->flags & ~(uint32_t)TNP_ATTENTION_CAUSAL)
        return "attention with a flag unknown here";
    return cpu_refuse_strides(node);
}

static uint64_t scratch_of_attention(const cpu_job *node, uint32_t workers)
{
    shape s = measure(node);

    return (uint64_t)(s.parts_floats + s.worker_floats * workers) * sizeof(float);
}

static work buffers(const cpu_job *job, const shape *s, uint32_t worker)
{
    float *at = (float *)(void *)job->scratch + s->parts_floats + s->worker_floats * worker;
    work w;

    w.keys = at;
    w.values = w.keys + KEYS * s->D_room;
    w.q = w.values + KEYS * s->E_room;
    w.scores = w.q + s->queries * s->D_room;
    w.sums = w.scores + s->queries * KEYS;
    w.largest = w.sums + s->queries * s->E;
    w.total = w.largest + s->queries;
    w.all_sums = w.total + s->queries;
    w.all_largest = w.all_sums + s->queries * s->E;
    w.all_total = w.all_largest + s->queries;
    return w;
}

// The keys that token t sees: always one span.
static span visible(const cpu_job *job, const shape *s, int64_t t)
{
    const tnp_attention_attr *attr = job->attr;
    int64_t position = cpu_index(&job->in[3], t);
    span keys = { 0, s->S };

    if (attr->flags & TNP_ATTENTION_CAUSAL)
        keys.end = cpu_min(keys.end, position + 1);
    if (attr->window && position - attr->window + 1 > 0)
        keys.begin = position - attr->window + 1;
    if (keys.begin >= keys.end)
        keys = (span){ 0, 0 };
    return keys;
}

static span cut(span keys, int64_t begin, int64_t end)
{
    span inside = { keys.begin > begin ? keys.begin : begin, cpu_min(keys.end, end) };

    return inside.begin < inside.end ? inside : (span){ 0, 0 };
}

// With the factor of the scores, so that products are scores, up to softcap and mask.
static void load_queries(const cpu_job *job, const shape *s, const work *w, int64_t g, int64_t t0,
                         int64_t tokens)
{
    const cpu_tensor *q = &job->in[0];
    const tnp_attention_attr *attr = job->attr;
    const float factor = attr->softcap > 0.0f ? attr->scale / attr->softcap : attr->scale;

    for (int64_t t = 0; t < tokens; t++)
        for (int64_t r = 0; r < s->R; r++) {
            const char *row = q->data + (g * s->R + r) * q->strides[1] + (t0 + t) * q->strides[2];
            float *to = w->q + (t * s->R + r) * s->D_room;
            const float *from = cpu_read(job->kernels, q, row, 0, s->D, to);

            job->kernels->scale(s->D, from, factor, 0.0f, to);
        }
}

// Rows of one head of k or v, ready for a kernel.
typedef struct rows {
    const char *data;
    int64_t stride;    // bytes
    tnp_dtype dtype;   // F32, F16 or Q8_0
} rows;

// Rows keys.begin .. keys.end - 1 of head g: F32 where they are, F16 and Q8_0 too when few queries
// meet them, else decoded in room.
static rows load_rows(const cpu_job *job, const cpu_tensor *t, int64_t g, span keys,
                      int64_t elements, int64_t queries, float *room, int64_t room_elements)
{
    const char *row = t->data + g * t->strides[1] + keys.begin * t->strides[2];
    int is_decoded_by_kernels = (t->dtype == TNP_DTYPE_F16 || t->dtype == TNP_DTYPE_Q8_0) &&
                                queries <= FEW_QUERIES;
    rows decoded = { (const char *)room, room_elements * (int64_t)sizeof(float), TNP_DTYPE_F32 };

    if ((t->dtype == TNP_DTYPE_F32 || is_decoded_by_kernels) && cpu_has_unit_rows(t))
        return (rows){ row, t->strides[2], t->dtype };
    for (int64_t s = 0; s < keys.end - keys.begin; s++, row += t->strides[2]) {
        float *to = room + s * room_elements;
        const float *from = cpu_read(job->kernels, t, row, 0, elements, to);

        if (from != to)
            memcpy(to, from, (size_t)elements * sizeof *to);
    }
    return decoded;
}

static cpu_matmul_kernel *products_with(const cpu_kernels *kernels, tnp_dtype dtype)
{
    return dtype == TNP_DTYPE_F16    ? kernels->matmul_f16
           : dtype == TNP_DTYPE_Q8_0 ? kernels->matmul_q8_0
                                     : kernels->matmul_f32;
}

static cpu_row_sums_kernel *sums_of(const cpu_kernels *kernels, tnp_dtype dtype)
{
    return dtype == TNP_DTYPE_F16    ? kernels->row_sums_f16
           : dtype == TNP_DTYPE_Q8_0 ? kernels->row_sums_q8_0
                                     : kernels->row_sums_f32;
}

// Products to scores: softcap, mask, for the keys that token t sees.
static void finish_scores(const cpu_job *job, int64_t t, span keys, float *scores)
{
    const tnp_attention_attr *attr = job->attr;
    const cpu_kernels *kernels = job->kernels;
    const cpu_tensor *mask = job->input_count > 4 && job->in[4].data ? &job->in[4] : NULL;
    int64_t n = keys.end - keys.begin;
    float buffer[KEYS];

    if (attr->softcap > 0.0f) {
        kernels->tanh(n, scores, scores);
        kernels->scale(n, scores, attr->softcap, 0.0f, scores);
    }
    if (mask)
        kernels->add(
            n, scores,
            cpu_read(kernels, mask, mask->data + t * mask->strides[1], keys.begin, n, buffer),
            scores);
}

// The part that keys of one chunk have in the results of the queries of `tokens` tokens from t0 on;
// w->q is loaded.
static void attend_chunk(const cpu_job *job, const shape *s, const work *w, int64_t g, int64_t t0,
                         int64_t tokens, int64_t chunk)
{
    span seen[QUERIES], all = { INT64_MAX, 0 };
    rows keys, values;

    for (int64_t t = 0; t < tokens; t++) {
        seen[t] = cut(visible(job, s, t0 + t), chunk * KEYS, (chunk + 1) * KEYS);
        if (seen[t].begin < seen[t].end)
            all = (span){ cpu_min(all.begin, seen[t].begin),
                          seen[t].end > all.end ? seen[t].end : all.end };
    }
    for (int64_t i = 0; i < tokens * s->R; i++) {
        w->largest[i] = -INFINITY;
        w->total[i] = 0.0f;
    }
    if (all.begin >= all.end)
        return;
    keys = load_rows(job, &job->in[1], g, all, s->D, tokens * s->R, w->keys, s->D_room);
    values = load_rows(job, &job->in[2], g, all, s->E, tokens * s->R, w->values, s->E_room);
    products_with(job->kernels, keys.dtype)(all.end - all.begin, tokens * s->R, s->D, keys.data,
                                            keys.stride, w->q, s->D_room * (int64_t)sizeof(float),
                                            w->scores, KEYS);
    for (int64_t t = 0; t < tokens;) {
        int64_t same = 1, first = t * s->R, offset = seen[t].begin - all.begin,
                n = seen[t].end - seen[t].begin;

        while (t + same < tokens && seen[t + same].begin == seen[t].begin &&
               seen[t + same].end == seen[t].end)
            same++;
        for (int64_t i = first; n > 0 && i < (t + same) * s->R; i++) {
            float *scores = w->scores + i * KEYS + offset;

            finish_scores(job, t0 + i / s->R, seen[t], scores);
            w->largest[i] = job->kernels->softmax_part(n, scores, &w->total[i]);
        }
        if (n > 0)   // what a token does not see is not even multiplied by 0: it may be NaN
            sums_of(job->kernels, values.dtype)(
                same * s->R, n, s->E, w->scores + first * KEYS + offset, KEYS,
                values.data + offset * values.stride, values.stride, w->sums + first * s->E, s->E);
        t += same;
    }
}

static float factor(float part_largest, float largest)
{
    return part_largest == largest ? 1.0f : expf(part_largest - largest);
}

static void merge(const cpu_kernels *kernels, int64_t E, part all, part one)
{
    float largest, factor_all, factor_one;

    if (*one.total == 0.0f)
        return;
    largest = *one.largest > *all.largest ? *one.largest : *all.largest;
    factor_all = *all.total == 0.0f ? 0.0f : factor(*all.largest, largest);
    factor_one = factor(*one.largest, largest);
    *all.total = *all.total * factor_all + *one.total * factor_one;
    *all.largest = largest;
    kernels->blend(E, all.sums, factor_all, one.sums, factor_one, all.sums);
}

static void clear(int64_t E, part all)
{
    memset(all.sums, 0, (size_t)E * sizeof(float));
    *all.largest = -INFINITY;
    *all.total = 0.0f;
}

// exp(sink) joins the sum under the softmax, and no value the sum of values.
static void merge_sink(const cpu_job *job, int64_t head, part all)
{
    const cpu_tensor *sinks = job->input_count > 5 && job->in[5].data ? &job->in[5] : NULL;
    float sink;

    if (!sinks || *all.total == 0.0f)
        return;
    memcpy(&sink, sinks->data + head * sinks->strides[0], sizeof sink);
    *all.total += expf(sink - *all.largest);
}

static void write_result(const cpu_job *job, const shape *s, int64_t head, int64_t t, part all)
{
    const cpu_tensor *out = &job->out;
    char *row = out->data + head * out->strides[1] + t * out->strides[2];

    merge_sink(job, head, all);
    job->kernels->scale(s->E, all.sums, *all.total == 0.0f ? 0.0f : 1.0f / *all.total, 0.0f,
                        all.sums);
    cpu_write(job->kernels, out, row, 0, s->E, all.sums);
}

// More tokens: all chunks of one group for `tokens` tokens from t0 on.
static void attend_tokens(const cpu_job *job, const shape *s, const work *w, int64_t g, int64_t t0,
                          int64_t tokens)
{
    int64_t first = s->chunks, past = 0, queries = tokens * s->R;

    for (int64_t t = t0; t < t0 + tokens; t++) {
        span keys = visible(job, s, t);

        if (keys.begin < keys.end) {
            first = cpu_min(first, keys.begin / KEYS);
            past = ceil_div(keys.end, KEYS) > past ? ceil_div(keys.end, KEYS) : past;
        }
    }
    load_queries(job, s, w, g, t0, tokens);
    for (int64_t i = 0; i < queries; i++)
        clear(s->E, (part){ w->all_sums + i * s->E, w->all_largest + i, w->all_total + i });
    for (int64_t chunk = first; chunk < past; chunk++) {
        attend_chunk(job, s, w, g, t0, tokens, chunk);
        for (int64_t i = 0; i < queries; i++)
            merge(job->kernels, s->E,
                  (part){ w->all_sums + i * s->E, w->all_largest + i, w->all_total + i },
                  (part){ w->sums + i * s->E, w->largest + i, w->total + i });
    }
    for (int64_t i = 0; i < queries; i++)
        write_result(job, s, g * s->R + i % s->R, t0 + i / s->R,
                     (part){ w->all_sums + i * s->E, w->all_largest + i, w->all_total + i });
}

// One token: where the part of a head and a chunk stands in scratch.
static part stored_part(const cpu_job *job, const shape *s, int64_t head, int64_t chunk)
{
    float *at = (float *)(void *)job->scratch + (head * s->chunks + chunk) * (s->E + 2);

    return (part){ at, at + s->E, at + s->E + 1 };
}

// Asks for the rows of one head that a later chunk takes. In a cache they are short and far apart,
// which the processor's own prefetching follows badly.
static void ask_for_rows(const cpu_tensor *t, int64_t g, span keys, int64_t elements)
{
    const int64_t bytes = cpu_round_up(elements, cpu_block_elements(t->dtype)) /
                          cpu_block_elements(t->dtype) * cpu_block_bytes(t->dtype);

    for (int64_t s = keys.begin; s < keys.end; s++)
        for (int64_t i = 0; i < bytes; i += 64)
            __builtin_prefetch(t->data + g * t->strides[1] + s * t->strides[2] + i);
}

// For what a worker attends next: the keys that the one token sees of a chunk, none after the last.
static void ask_for_chunk(const cpu_job *job, const shape *s, int64_t g, int64_t chunk)
{
    span keys = cut(visible(job, s, 0), chunk * KEYS, (chunk + 1) * KEYS);

    ask_for_rows(&job->in[1], g, keys, s->D);
    ask_for_rows(&job->in[2], g, keys, s->E);
}

// Of a group whose queries are loaded.
static void store_parts(const cpu_job *job, const shape *s, const work *w, int64_t g, int64_t chunk)
{
    attend_chunk(job, s, w, g, 0, 1, chunk);
    for (int64_t r = 0; r < s->R; r++) {
        part to = stored_part(job, s, g * s->R + r, chunk);

        memcpy(to.sums, w->sums + r * s->E, (size_t)s->E * sizeof(float));
        *to.largest = w->largest[r];
        *to.total = w->total[r];
    }
}

static void merge_head(const cpu_job *job, const shape *s, const work *w, int64_t head)
{
    part all = { w->all_sums, w->all_largest, w->all_total };

    clear(s->E, all);
    for (int64_t chunk = 0; chunk < s->chunks; chunk++)
        merge(job->kernels, s->E, all, stored_part(job, s, head, chunk));
    write_result(job, s, head, 0, all);
}

// Whether a worker with whole groups has no more chunks to do than one with chunks of any group.
static int can_take_groups(const shape *s, uint32_t workers)
{
    return ceil_div(s->G, workers) * s->chunks <= ceil_div(s->G * s->chunks, workers);
}

static uint32_t phases_of_attention(const cpu_job *job, uint32_t workers)
{
    shape s = measure(job);

    return s.T > 1 || can_take_groups(&s, workers) ? 1 : 2;
}

// A worker's whole groups, chunk after chunk: rows of groups lie side by side in a cache, so memory
// is read in its order, once.
static void attend_groups(const cpu_job *job, const shape *s, const work *w, uint32_t worker,
                          uint32_t workers)
{
    for (int64_t chunk = 0; chunk < s->chunks; chunk++)
        for (int64_t g = worker; g < s->G; g += workers) {
            load_queries(job, s, w, g, 0, 1);
            ask_for_chunk(job, s, g, chunk + 1);
            store_parts(job, s, w, g, chunk);
        }
    for (int64_t g = worker; g < s->G; g += workers)
        for (int64_t head = g * s->R; head < (g + 1) * s->R; head++)
            merge_head(job, s, w, head);
}

// Workers take every workers-th unit: later tokens see more keys, and so the work is even.
static void run_attention(cpu_job *job, uint32_t phase, uint32_t worker, uint32_t workers)
{
    shape s = measure(job);
    work w = buffers(job, &s, worker);

    if (s.R == 0)
        return;
    if (s.T == 1 && can_take_groups(&s, workers))
        attend_groups(job, &s, &w, worker, workers);
    else if (s.T == 1 && phase == 0)
        for (int64_t unit = worker; unit < s.chunks * s.G; unit += workers) {
            load_queries(job, &s, &w, unit % s.G, 0, 1);
            ask_for_chunk(job, &s, (unit + workers) % s.G, (unit + workers) / s.G);
            store_parts(job, &s, &w, unit % s.G, unit / s.G);
        }
    else if (s.T == 1)
        for (int64_t head = worker; head < s.R * s.G; head += workers)
            merge_head(job, &s, &w, head);
    else
        for (int64_t unit = worker; unit < ceil_div(s.T, s.tokens) * s.G; unit += workers) {
            int64_t t0 = unit / s.G * s.tokens;

            attend_tokens(job, &s, &w, unit % s.G, t0, cpu_min(s.T - t0, s.tokens));
        }
}

const cpu_op cpu_attention_ops[] = {
    { TNP_OP_ATTENTION, 2, sizeof(tnp_attention_attr), refuse_attention, scratch_of_attention,
      run_attention, phases_of_attention },
    { 0 },
};
