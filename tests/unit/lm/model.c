// A model's numbers and tensors: what is missing or absurd is named, and what is right becomes
// graphs.
#include "lm_test.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "arch.h"

// A llama of one layer: E 64, H 2, G 1, D 32, F 96, V 263.
typedef struct number {
    const char *key;
    bool is_float;
    double value;
} number;

static const number numbers[] = {
    { "llama.context_length", false, 128 },
    { "llama.embedding_length", false, 64 },
    { "llama.block_count", false, 1 },
    { "llama.feed_forward_length", false, 96 },
    { "llama.attention.head_count", false, 2 },
    { "llama.attention.head_count_kv", false, 1 },
    { "llama.attention.layer_norm_rms_epsilon", true, 1e-5 },
    { "llama.rope.freq_base", true, 10000 },
    { "llama.rope.dimension_count", false, 32 },
};

typedef struct tensor {
    const char *name;
    uint32_t rank;
    uint64_t dims[2];
} tensor;

static const tensor tensors[] = {
    { "token_embd.weight", 2, { 64, TEST_TOKENS } }, { "output_norm.weight", 1, { 64 } },
    { "blk.0.attn_norm.weight", 1, { 64 } },         { "blk.0.attn_q.weight", 2, { 64, 64 } },
    { "blk.0.attn_k.weight", 2, { 64, 32 } },        { "blk.0.attn_v.weight", 2, { 64, 32 } },
    { "blk.0.attn_output.weight", 2, { 64, 64 } },   { "blk.0.ffn_norm.weight", 1, { 64 } },
    { "blk.0.ffn_gate.weight", 2, { 64, 96 } },      { "blk.0.ffn_up.weight", 2, { 64, 96 } },
    { "blk.0.ffn_down.weight", 2, { 96, 64 } },
};

// How a file differs from the right one.
typedef struct change {
    const char *without;    // a key or tensor left out
    number number;          // one added, when it has a key
    tensor tensor;          // one added, when it has a name
    uint32_t tensor_type;   // of that one, as in the file
} change;

static void add_number(gguf_builder *b, const number *n)
{
    if (n->is_float) {
        gguf_builder_key(b, n->key, TN_KEY_F32);
        gguf_builder_f32(b, (float)n->value);
    } else {
        gguf_builder_key_u32(b, n->key, (uint32_t)n->value);
    }
}

static void add_tensor(gguf_builder *b, const tensor *t, uint32_t type, uint64_t *offset)
{
    uint64_t elements = t->dims[0] * (t->rank > 1 ? t->dims[1] : 1);
    gguf_builder_tensor(b, t->name, t->rank, t->dims, type, *offset);
    *offset += (elements * (type == 0 ? 4 : 2) + 31) / 32 * 32;
}

static bool is_left_out(const change *c, const char *name)
{
    return c->without && strcmp(c->without, name) == 0;
}

static tn_model *open_changed(const change *c)
{
    gguf_builder b;
    gguf_builder_init(&b, 3);
    gguf_builder_key_string(&b, "general.architecture", "llama");
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (!is_left_out(c, numbers[i].key))
            add_number(&b, &numbers[i]);
    if (c->number.key)
        add_number(&b, &c->number);
    test_tiny_keys(&b, NULL);
    uint64_t offset = 0;
    for (size_t i = 0; i < COUNT_OF(tensors); i++)
        if (!is_left_out(c, tensors[i].name))
            add_tensor(&b, &tensors[i], 0, &offset);
    if (c->tensor.name)
        add_tensor(&b, &c->tensor, c->tensor_type, &offset);
    gguf_builder_align(&b, 32);
    gguf_builder_zeros(&b, offset);
    return test_open_built(&b);
}

static tn_status read_model(const tn_model *model, tlm_hparams *p, tlm_weights *w, tn_error *err)
{
    const tlm_architecture *a = tlm_architecture_find("llama");
    tn_allocator allocator = tlm_allocator(NULL);
    tlm_keys keys = { .model = model, .architecture = a->name, .err = err };
    a->read(p, &keys);
    *w = (tlm_weights){ 0 };
    if (keys.status != TN_OK)
        return keys.status;
    return tlm_weights_init(w, model, p, a->rules, a->rule_count, &allocator, err);
}

#define REPLACE(key, is_float, value)                                                              \
    {                                                                                              \
        key, { key, is_float, value }, { 0 }, 0                                                    \
    }
#define RESHAPED(name, rank, ...)                                                                  \
    {                                                                                              \
        name, { 0 }, { name, rank, { __VA_ARGS__ } }, 0                                            \
    }

static const struct {
    const char *says;
    change change;
    tn_status status;
    const char *must_say;
} broken[] = {
    { "no layers key",
      { "llama.block_count", { 0 }, { 0 }, 0 },
      TN_E_FILE,
      "no key llama.block_count" },
    { "a million layers", REPLACE("llama.block_count", false, 1000000), TN_E_FILE,
      "llama.block_count is 1000000, expected 1 to 1000" },
    { "no layers", REPLACE("llama.block_count", false, 0), TN_E_FILE, "llama.block_count is 0" },
    { "no heads", REPLACE("llama.attention.head_count", false, 0), TN_E_FILE,
      "head_count is 0, expected 1" },
    { "heads that do not divide the width", REPLACE("llama.attention.head_count", false, 3),
      TN_E_FILE, "embedding_length is 64, expected a multiple" },
    { "key heads that do not divide the heads", REPLACE("llama.attention.head_count_kv", false, 3),
      TN_E_FILE, "head_count is 2, expected a multiple" },
    { "layers as a number with a point", REPLACE("llama.block_count", true, 1), TN_E_FILE,
      "llama.block_count" },
    { "a rope base that is not a number", REPLACE("llama.rope.freq_base", true, __builtin_nan("")),
      TN_E_FILE, "llama.rope.freq_base is nan, expected 1" },
    { "a rope base of 0", REPLACE("llama.rope.freq_base", true, 0), TN_E_FILE,
      "llama.rope.freq_base is 0" },
    { "an odd number of rotated dims", REPLACE("llama.rope.dimension_count", false, 31), TN_E_FILE,
      "dimension_count is 31, expected an even" },
    { "more rotated dims than there are", REPLACE("llama.rope.dimension_count", false, 64),
      TN_E_FILE, "dimension_count is 64" },
    { "an eps that is not a number",
      REPLACE("llama.attention.layer_norm_rms_epsilon", true, __builtin_nan("")), TN_E_FILE,
      "rms_epsilon is nan" },
    { "no context", REPLACE("llama.context_length", false, 0), TN_E_FILE, "context_length is 0" },
    { "experts",
      { NULL, { "llama.expert_count", false, 8 }, { 0 }, 0 },
      TN_E_FILE,
      "llama.expert_count" },
    { "values of another width",
      { NULL, { "llama.attention.value_length", false, 16 }, { 0 }, 0 },
      TN_E_FILE,
      "value_length is 16, expected 32" },
    { "more layers than tensors", REPLACE("llama.block_count", false, 2), TN_E_FILE,
      "no tensor 'blk.1.attn_norm.weight'" },
    { "a missing tensor",
      { "blk.0.ffn_up.weight", { 0 }, { 0 }, 0 },
      TN_E_FILE,
      "no tensor 'blk.0.ffn_up.weight'" },
    { "one tensor too many",
      { NULL, { 0 }, { "blk.0.attn_q.bias", 1, { 64 } }, 0 },
      TN_E_FILE,
      "'blk.0.attn_q.bias'" },
    { "a turned tensor", RESHAPED("blk.0.ffn_down.weight", 2, 64, 96), TN_E_FILE,
      "'blk.0.ffn_down.weight' has dims {64, 96}, expected {96, 64}" },
    { "a vector that is too long", RESHAPED("output_norm.weight", 1, 65), TN_E_FILE,
      "'output_norm.weight' has dims {65}, expected {64}" },
    { "an embedding for fewer tokens", RESHAPED("token_embd.weight", 2, 64, 9), TN_E_FILE,
      "'token_embd.weight' has dims {64, 9}, expected {64, 263}" },
    { "a norm in half precision",
      { "output_norm.weight", { 0 }, { "output_norm.weight", 1, { 64 } }, 1 },
      TN_E_FILE,
      "'output_norm.weight' is F16, expected F32" },
};

static void broken_models_are_refused_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        tn_model *model = open_changed(&broken[i].change);
        tlm_hparams p;
        tlm_weights w;
        tn_error err = { 0 };
        tn_status status = read_model(model, &p, &w, &err);
        if (status != broken[i].status || err.status != status)
            fail_msg("%s: got %s, \"%s\"", broken[i].says, tn_status_name(status), err.text);
        if (!strstr(err.text, broken[i].must_say) || strchr(err.text, '\n'))
            fail_msg("%s: want \"%s\" in one line, got \"%s\"", broken[i].says, broken[i].must_say,
                     err.text);
        tn_model_close(model);
    }
}

static void a_right_model_gives_its_numbers(void **state)
{
    (void)state;
    tn_model *model = open_changed(&(change){ 0 });
    tlm_hparams p;
    tlm_weights w;
    tn_error err = { 0 };
    assert_int_equal(read_model(model, &p, &w, &err), TN_OK);
    assert_int_equal(p.vocabulary, TEST_TOKENS);
    assert_int_equal(p.head_dim, 32);
    assert_int_equal(p.kv_heads, 1);
    assert_true(p.rope_base == 10000.0f && p.rope_scale == 1.0f);
    assert_non_null(tlm_weights_at(&w, TLM_FFN_DOWN, 0)->data);
    assert_null(tlm_weights_at(&w, TLM_OUTPUT, 0)->data);
    tlm_weights_finish(&w);
    tn_model_close(model);
}

static void expect_graph(const tn_model *model, int64_t tokens, tn_dtype kv_type, bool has_all_rows)
{
    tlm_hparams p;
    tlm_weights w;
    tn_error err = { 0 };
    tlm_built built;
    assert_int_equal(read_model(model, &p, &w, &err), TN_OK);
    tlm_variant variant = {
        .hparams = &p,
        .weights = &w,
        .tokens = tokens,
        .capacity = p.context_tokens,
        .kv_type = kv_type,
        .has_all_rows = has_all_rows,
    };
    tn_allocator allocator = tlm_allocator(NULL);
    if (tlm_build(tlm_architecture_find("llama"), &variant, &allocator, &built, &err) != TN_OK)
        fail_msg("%s", err.text);
    tn_value_info info = { .size = sizeof info };
    assert_int_equal(tn_graph_value_info(built.graph, built.logits, &info, &err), TN_OK);
    assert_int_equal(info.dtype, TN_DTYPE_F32);
    assert_int_equal(info.dims[0], p.vocabulary);
    assert_int_equal(info.dims[1], has_all_rows ? tokens : 1);
    tn_value state = tn_graph_find(built.graph, "k.0");
    assert_false(tn_value_is_none(state));
    assert_int_equal(tn_graph_value_info(built.graph, state, &info, &err), TN_OK);
    assert_int_equal(info.dtype, kv_type);
    assert_int_equal(info.dims[0], p.head_dim * p.kv_heads);
    assert_int_equal(info.dims[1], p.context_tokens);
    tn_graph_destroy(built.graph);
    tlm_weights_finish(&w);
}

static void every_variant_becomes_a_graph(void **state)
{
    (void)state;
    tn_model *model = open_changed(&(change){ 0 });
    expect_graph(model, 1, TN_DTYPE_F16, false);
    expect_graph(model, 32, TN_DTYPE_F32, false);
    expect_graph(model, 1, TN_DTYPE_Q8_0, true);
    expect_graph(model, 128, TN_DTYPE_F16, true);
    tn_model_close(model);
}

static void an_output_of_its_own_and_rope_factors_have_a_place(void **state)
{
    (void)state;
    tn_model *model = open_changed(
        &(change){ .tensor = { "output.weight", 2, { 64, TEST_TOKENS } } });
    expect_graph(model, 1, TN_DTYPE_F16, false);
    tn_model_close(model);
    model = open_changed(&(change){ .tensor = { "rope_freqs.weight", 1, { 16 } } });
    expect_graph(model, 1, TN_DTYPE_F16, false);
    tn_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_models_are_refused_in_words),
        cmocka_unit_test(a_right_model_gives_its_numbers),
        cmocka_unit_test(every_variant_becomes_a_graph),
        cmocka_unit_test(an_output_of_its_own_and_rope_factors_have_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
