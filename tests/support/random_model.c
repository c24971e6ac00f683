#include "random_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gguf_builder.h"

enum { MOST_TENSORS = 128, NAME_BYTES = 64 };

// How a type's blocks are: its number in a file, and where its half-precision scales stand; the
// second one, of a minimum, has its sign from the type.
static const struct {
    tn_dtype dtype;
    uint32_t in_file;
    uint32_t block_elements, block_bytes;
    uint32_t scale_at, scales;
    uint16_t minimum;   // bits of the second scale
} types[] = {
    { TN_DTYPE_F32, 0, 1, 4, 0, 0, 0 },
    { TN_DTYPE_F16, 1, 1, 2, 0, 0, 0 },
    { TN_DTYPE_Q4_0, 2, 32, 18, 0, 1, 0 },
    { TN_DTYPE_Q4_1, 3, 32, 20, 0, 2, 0xac00 },   // about -8 scales
    { TN_DTYPE_Q5_0, 6, 32, 22, 0, 1, 0 },
    { TN_DTYPE_Q5_1, 7, 32, 24, 0, 2, 0xb000 },   // about -16 scales
    { TN_DTYPE_Q8_0, 8, 32, 34, 0, 1, 0 },
    { TN_DTYPE_Q2_K, 10, 256, 84, 80, 2, 0x2600 },
    { TN_DTYPE_Q3_K, 11, 256, 110, 108, 1, 0 },
    { TN_DTYPE_Q4_K, 12, 256, 144, 0, 2, 0x2c00 },
    { TN_DTYPE_Q5_K, 13, 256, 176, 0, 2, 0x3000 },
    { TN_DTYPE_Q6_K, 14, 256, 210, 208, 1, 0 },
    { TN_DTYPE_IQ4_NL, 20, 32, 18, 0, 1, 0 },
};

typedef struct tensor {
    char name[NAME_BYTES];
    uint32_t type;   // index of types
    uint64_t dims[2];
} tensor;

typedef struct maker {
    const random_model *of;
    gguf_builder builder;
    tensor tensors[MOST_TENSORS];
    uint32_t count, random;
} maker;

static uint32_t draw(maker *m)   // 16 bits
{
    m->random = m->random * 1664525 + 1013904223;
    return m->random >> 16;
}

// columns 0: a vector. layer: UINT32_MAX = of none.
static void add(maker *m, const char *name, uint32_t layer, uint64_t columns, uint64_t rows)
{
    assert_in_range(m->count, 0, MOST_TENSORS - 1);
    tensor *t = &m->tensors[m->count++];
    if (layer == UINT32_MAX)
        snprintf(t->name, NAME_BYTES, "%s", name);
    else
        snprintf(t->name, NAME_BYTES, "blk.%u.%s", layer, name);
    while (columns && types[t->type].dtype != m->of->matrices)
        t->type++;
    t->dims[0] = columns ? columns : rows;
    t->dims[1] = columns ? rows : 1;
}

static void add_layer(maker *m, uint32_t l)
{
    const random_model *o = m->of;
    uint64_t e = o->embedding, f = o->feed_forward, q = (uint64_t)o->heads * o->head_dim,
             kv = (uint64_t)o->kv_heads * o->head_dim;
    bool is_gemma = strcmp(o->architecture, "gemma3") == 0,
         is_llama = strcmp(o->architecture, "llama") == 0,
         has_norms = is_gemma || strcmp(o->architecture, "qwen3") == 0;
    add(m, "attn_norm.weight", l, 0, e);
    add(m, "attn_q.weight", l, e, q);
    add(m, "attn_k.weight", l, e, kv);
    add(m, "attn_v.weight", l, e, kv);
    add(m, "attn_output.weight", l, q, e);
    add(m, "ffn_norm.weight", l, 0, e);
    add(m, "ffn_gate.weight", l, e, f);
    add(m, "ffn_up.weight", l, e, f);
    add(m, "ffn_down.weight", l, f, e);
    for (int i = 0; i < 2 && has_norms; i++)
        add(m, i ? "attn_k_norm.weight" : "attn_q_norm.weight", l, 0, o->head_dim);
    for (int i = 0; i < 2 && is_gemma; i++)
        add(m, i ? "post_ffw_norm.weight" : "post_attention_norm.weight", l, 0, e);
    if (!o->has_biases)
        return;
    add(m, "attn_q.bias", l, 0, q);
    add(m, "attn_k.bias", l, 0, kv);
    add(m, "attn_v.bias", l, 0, kv);
    if (!is_llama)
        return;
    add(m, "attn_output.bias", l, 0, e);
    add(m, "ffn_gate.bias", l, 0, f);
    add(m, "ffn_up.bias", l, 0, f);
    add(m, "ffn_down.bias", l, 0, e);
}

static void add_numbers(maker *m)
{
    const random_model *o = m->of;
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {
        { "context_length", o->context },
        { "embedding_length", o->embedding },
        { "block_count", o->layers },
        { "feed_forward_length", o->feed_forward },
        { "attention.head_count", o->heads },
        { "attention.head_count_kv", o->kv_heads },
        { "attention.key_length", o->head_dim },
        { "attention.value_length", o->head_dim },
        { "vocab_size", o->vocabulary },
        { "attention.sliding_window", o->window },   // the last, as it may be left out
    };
    char key[NAME_BYTES];
    gguf_builder_key_string(&m->builder, "general.architecture", o->architecture);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] - (o->window ? 0 : 1); i++) {
        snprintf(key, sizeof key, "%s.%s", o->architecture, numbers[i].name);
        gguf_builder_key_u32(&m->builder, key, numbers[i].value);
    }
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", o->architecture);
    gguf_builder_key(&m->builder, key, TN_KEY_F32);
    gguf_builder_f32(&m->builder, 1e-5f);
}

// Vectors are about 1 (norms, factors) or about 0 (biases); matrices have any digits, scales of
// about 1 / 64.
static void write_data(maker *m, const tensor *t)
{
    bool is_vector = types[t->type].in_file == 0 && t->dims[1] == 1;
    uint64_t blocks = t->dims[0] / types[t->type].block_elements * t->dims[1];
    for (uint64_t b = 0; b < blocks; b++) {
        float number = ((float)draw(m) / 65536 - 0.5f) * 0.2f;
        if (types[t->type].dtype == TN_DTYPE_F32) {
            gguf_builder_f32(&m->builder,
                             is_vector && !strstr(t->name, ".bias") ? 1 + number : number);
        } else if (types[t->type].dtype == TN_DTYPE_F16) {
            gguf_builder_u16(&m->builder,
                             (uint16_t)((draw(m) & 0x83ff) | 0x2400 | (draw(m) & 0x400)));
        } else {
            unsigned char block[256];
            for (uint32_t i = 0; i < types[t->type].block_bytes; i++)
                block[i] = (unsigned char)draw(m);
            for (uint32_t s = 0; s < types[t->type].scales; s++) {
                uint32_t bits = s ? types[t->type].minimum : 0x2000 + draw(m) % 0x400;
                block[types[t->type].scale_at + 2 * s] = (unsigned char)bits;
                block[types[t->type].scale_at + 2 * s + 1] = (unsigned char)(bits >> 8);
            }
            gguf_builder_bytes(&m->builder, block, types[t->type].block_bytes);
        }
    }
    gguf_builder_align(&m->builder, 32);
}

static uint64_t bytes_of(const tensor *t)
{
    return t->dims[0] / types[t->type].block_elements * t->dims[1] * types[t->type].block_bytes;
}

static tn_model *open_built(gguf_builder *builder)
{
    char path[] = "/tmp/tenon-random-model-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    for (size_t done = 0; done < builder->bytes;) {
        ssize_t wrote = write(file, builder->data + done, builder->bytes - done);
        assert_true(wrote > 0);
        done += (size_t)wrote;
    }
    close(file);
    tn_model *model = NULL;
    tn_error err = { 0 };
    tn_status status = tn_model_open(path, NULL, &model, &err);
    unlink(path);
    if (status != TN_OK)
        fail_msg("%s", err.text);
    return model;
}

tn_model *random_model_open(const random_model *of)
{
    static maker m;
    m = (maker){ .of = of, .random = 7 };
    gguf_builder_init(&m.builder, 3);
    add_numbers(&m);
    add(&m, "token_embd.weight", UINT32_MAX, of->embedding, of->vocabulary);
    add(&m, "output_norm.weight", UINT32_MAX, 0, of->embedding);
    if (of->has_output)
        add(&m, "output.weight", UINT32_MAX, of->embedding, of->vocabulary);
    if (of->has_frequencies)
        add(&m, "rope_freqs.weight", UINT32_MAX, 0, of->head_dim / 2);
    for (uint32_t l = 0; l < of->layers; l++)
        add_layer(&m, l);
    uint64_t offset = 0;
    for (uint32_t t = 0; t < m.count; t++) {
        const tensor *at = &m.tensors[t];
        gguf_builder_tensor(&m.builder, at->name, at->dims[1] > 1 ? 2 : 1, at->dims,
                            types[at->type].in_file, offset);
        offset += (bytes_of(at) + 31) / 32 * 32;
    }
    gguf_builder_align(&m.builder, 32);
    for (uint32_t t = 0; t < m.count; t++)
        write_data(&m, &m.tensors[t]);
    tn_model *model = open_built(&m.builder);
    gguf_builder_finish(&m.builder);
    return model;
}
