// A model's numbers and tensors: what is missing or absurd is named, and what is right becomes
// graphs.
#include "lm_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "arch.h"

// Models of one layer: E 64, H 2, G 1, D 32, F 96, V 263.
typedef struct number {
    const char *key;   // without the architecture before it
    bool is_float;
    double value;
    const char *text;   // not NULL: the key is this text instead; ARRAY: one value for each layer
} number;

static const char ARRAY[] = "";

static const number numbers[] = {
    { "context_length", false, 128, NULL },
    { "embedding_length", false, 64, NULL },
    { "block_count", false, 1, NULL },
    { "feed_forward_length", false, 96, NULL },
    { "attention.head_count", false, 2, NULL },
    { "attention.head_count_kv", false, 1, NULL },
    { "attention.layer_norm_rms_epsilon", true, 1e-5, NULL },
    { "rope.freq_base", true, 10000, NULL },
    { "rope.dimension_count", false, 32, NULL },
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

// What an architecture has besides.
typedef struct special {
    const char *architecture;
    tensor tensors[4];
    number numbers[1];
} special;

static const special specials[] = {
    { .architecture = "llama" },
    { "gemma3",
      { { "blk.0.attn_q_norm.weight", 1, { 32 } },
        { "blk.0.attn_k_norm.weight", 1, { 32 } },
        { "blk.0.post_attention_norm.weight", 1, { 64 } },
        { "blk.0.post_ffw_norm.weight", 1, { 64 } } },
      { { "attention.sliding_window", false, 16, NULL } } },
    { .architecture = "qwen2",
      .tensors = { { "blk.0.attn_q.bias", 1, { 64 } },
                   { "blk.0.attn_k.bias", 1, { 32 } },
                   { "blk.0.attn_v.bias", 1, { 32 } } } },
    { .architecture = "qwen3",
      .tensors = { { "blk.0.attn_q_norm.weight", 1, { 32 } },
                   { "blk.0.attn_k_norm.weight", 1, { 32 } } } },
};

// How a file differs from the right one.
typedef struct change {
    const char *without;    // a key or tensor left out
    number number;          // one added, when it has a key
    tensor tensor;          // one added, when it has a name
    uint32_t tensor_type;   // of that one, as in the file
    number also;            // a second number added
} change;

static void add_number(gguf_builder *b, const char *architecture, const number *n)
{
    char key[64];
    snprintf(key, sizeof key, "%s.%s", architecture, n->key);
    if (n->text == ARRAY) {
        gguf_builder_array(b, key, TN_KEY_U32, 1);
        gguf_builder_u32(b, (uint32_t)n->value);
    } else if (n->text) {
        gguf_builder_key_string(b, key, n->text);
    } else if (n->is_float) {
        gguf_builder_key(b, key, TN_KEY_F32);
        gguf_builder_f32(b, (float)n->value);
    } else {
        gguf_builder_key_u32(b, key, (uint32_t)n->value);
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

static const special *find_special(const char *architecture)
{
    size_t i = 0;
    while (strcmp(specials[i].architecture, architecture) != 0)
        i++;
    return &specials[i];
}

static tn_model *open_changed(const char *architecture, const change *c)
{
    gguf_builder b;
    const special *own = find_special(architecture);
    gguf_builder_init(&b, 3);
    gguf_builder_key_string(&b, "general.architecture", architecture);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (!is_left_out(c, numbers[i].key))
            add_number(&b, architecture, &numbers[i]);
    for (size_t i = 0; i < COUNT_OF(own->numbers) && own->numbers[i].key; i++)
        if (!is_left_out(c, own->numbers[i].key))
            add_number(&b, architecture, &own->numbers[i]);
    if (c->number.key)
        add_number(&b, architecture, &c->number);
    if (c->also.key)
        add_number(&b, architecture, &c->also);
    test_tiny_keys(&b, NULL);
    uint64_t offset = 0;
    for (size_t i = 0; i < COUNT_OF(tensors); i++)
        if (!is_left_out(c, tensors[i].name))
            add_tensor(&b, &tensors[i], 0, &offset);
    for (size_t i = 0; i < COUNT_OF(own->tensors) && own->tensors[i].name; i++)
        if (!is_left_out(c, own->tensors[i].name))
            add_tensor(&b, &own->tensors[i], 0, &offset);
    if (c->tensor.name)
        add_tensor(&b, &c->tensor, c->tensor_type, &offset);
    gguf_builder_align(&b, 32);
    gguf_builder_zeros(&b, offset);
    return test_open_built(&b);
}

static tn_status read_model(const char *architecture, const tn_model *model, tlm_hparams *p,
                            tlm_weights *w, tn_error *err)
{
    const tlm_architecture *a = tlm_architecture_find(architecture);
    tn_allocator allocator = tlm_allocator(NULL);
    tlm_keys keys = { .model = model, .architecture = a->name, .err = err };
    a->read(p, &keys);
    *w = (tlm_weights){ 0 };
    if (keys.status != TN_OK)
        return keys.status;
    return tlm_weights_init(w, model, p, a->rules, a->rule_count, &allocator, err);
}

#define REPLACED(key, is_float, value)                                                             \
    {                                                                                              \
        key, { key, is_float, value, NULL }, { 0 }, 0,                                             \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define ADDED(key, is_float, value)                                                                \
    {                                                                                              \
        NULL, { key, is_float, value, NULL }, { 0 }, 0,                                            \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define WITHOUT(name)                                                                              \
    {                                                                                              \
        name, { 0 }, { 0 }, 0,                                                                     \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define RESHAPED(name, rank, ...)                                                                  \
    {                                                                                              \
        name, { 0 }, { name, rank, { __VA_ARGS__ } }, 0,                                           \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define WITH_TENSOR(name, rank, ...)                                                               \
    {                                                                                              \
        NULL, { 0 }, { name, rank, { __VA_ARGS__ } }, 0,                                           \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

// clang-format off
static const struct {
    const char *says, *architecture;
    change change;
    const char *must_say;
} broken[] = {
    { "no layers key", "llama", WITHOUT("block_count"), "no key llama.block_count" },
    { "a million layers", "llama", REPLACED("block_count", false, 1000000),
      "llama.block_count is 1000000, expected 1 to 1000" },
    { "no layers", "llama", REPLACED("block_count", false, 0), "llama.block_count is 0" },
    { "no heads", "llama", REPLACED("attention.head_count", false, 0),
      "head_count is 0, expected 1" },
    { "heads that do not divide the width", "llama", REPLACED("attention.head_count", false, 3),
      "embedding_length is 64, expected a multiple" },
    { "key heads that do not divide the heads", "llama",
      REPLACED("attention.head_count_kv", false, 3), "head_count is 2, expected a multiple" },
    { "layers as a number with a point", "llama", REPLACED("block_count", true, 1),
      "llama.block_count" },
    { "a rope base that is not a number", "llama",
      REPLACED("rope.freq_base", true, __builtin_nan("")),
      "llama.rope.freq_base is nan, expected 1" },
    { "a rope base of 0", "llama", REPLACED("rope.freq_base", true, 0),
      "llama.rope.freq_base is 0" },
    { "an odd number of rotated dims", "llama", REPLACED("rope.dimension_count", false, 31),
      "dimension_count is 31, expected an even" },
    { "more rotated dims than there are", "llama", REPLACED("rope.dimension_count", false, 64),
      "dimension_count is 64" },
    { "a scale of positions that is not known", "llama",
      { NULL, { "rope.scaling.type", false, 0, "longrope" }, { 0 }, 0, { 0 } },
      "llama.rope.scaling.type is 'longrope', expected none, linear or yarn" },
    { "YaRN without a factor", "llama",
      { NULL, { "rope.scaling.type", false, 0, "yarn" }, { 0 }, 0, { 0 } },
      "no key llama.rope.scaling.factor" },
    { "YaRN for a shorter context", "llama",
      { NULL, { "rope.scaling.type", false, 0, "yarn" }, { 0 }, 0,
        { "rope.scaling.factor", true, 0.5, NULL } },
      "llama.rope.scaling.factor is 0.5, expected 1" },
    { "YaRN on layers with windows", "gemma3",
      { NULL, { "rope.scaling.type", false, 0, "yarn" }, { 0 }, 0,
        { "rope.scaling.factor", true, 4, NULL } },
      "YaRN is not known here" },
    { "heads that differ from layer to layer", "llama",
      { "attention.head_count", { "attention.head_count", false, 2, ARRAY }, { 0 }, 0, { 0 } },
      "'llama.attention.head_count' is an array of U32, a single value was expected" },
    { "key heads that do", "llama",
      { "attention.head_count_kv", { "attention.head_count_kv", false, 1, ARRAY }, { 0 }, 0,
        { 0 } },
      "'llama.attention.head_count_kv' is an array" },
    { "feed-forwards that do", "llama",
      { "feed_forward_length", { "feed_forward_length", false, 96, ARRAY }, { 0 }, 0, { 0 } },
      "'llama.feed_forward_length' is an array" },
    { "linear scale without a factor", "llama",
      { NULL, { "rope.scaling.type", false, 0, "linear" }, { 0 }, 0, { 0 } },
      "no key llama.rope.scaling.factor" },
    { "a scale of positions of 0", "llama", ADDED("rope.scaling.factor", true, 0),
      "llama.rope.scaling.factor is 0" },
    { "an eps that is not a number", "llama",
      REPLACED("attention.layer_norm_rms_epsilon", true, __builtin_nan("")), "rms_epsilon is nan" },
    { "no context", "llama", REPLACED("context_length", false, 0), "context_length is 0" },
    { "experts", "llama", ADDED("expert_count", false, 8), "llama.expert_count" },
    { "values of another width", "llama", ADDED("attention.value_length", false, 16),
      "value_length is 16, expected 32" },
    { "more layers than tensors", "llama", REPLACED("block_count", false, 2),
      "no tensor 'blk.1.attn_norm.weight'" },
    { "a missing tensor", "llama", WITHOUT("blk.0.ffn_up.weight"),
      "no tensor 'blk.0.ffn_up.weight', one of dims {64, 96} was expected" },
    { "one tensor too many", "llama", WITH_TENSOR("blk.0.attn_q_norm.weight", 1, 32),
      "'blk.0.attn_q_norm.weight' has no place" },
    { "a turned tensor", "llama", RESHAPED("blk.0.ffn_down.weight", 2, 64, 96),
      "'blk.0.ffn_down.weight' has dims {64, 96}, expected {96, 64}" },
    { "a vector that is too long", "llama", RESHAPED("output_norm.weight", 1, 65),
      "'output_norm.weight' has dims {65}, expected {64}" },
    { "an embedding for fewer tokens", "llama", RESHAPED("token_embd.weight", 2, 64, 9),
      "'token_embd.weight' has dims {64, 9}, expected {64, 263}" },
    { "a norm in half precision", "llama",
      { "output_norm.weight", { 0 }, { "output_norm.weight", 1, { 64 } }, 1, { 0 } },
      "'output_norm.weight' is F16, expected F32" },
    { "a bias that is too long", "llama", WITH_TENSOR("blk.0.attn_k.bias", 1, 64),
      "'blk.0.attn_k.bias' has dims {64}, expected {32}" },
    { "factors for other frequencies", "llama", WITH_TENSOR("rope_freqs.weight", 1, 32),
      "'rope_freqs.weight' has dims {32}, expected {16}" },

    { "no window", "gemma3", REPLACED("attention.sliding_window", false, 0),
      "gemma3.attention.sliding_window is 0, expected 1" },
    { "a window with a point", "gemma3", REPLACED("attention.sliding_window", true, 16),
      "gemma3.attention.sliding_window" },
    { "no layer is global", "gemma3", ADDED("attention.sliding_window_pattern", false, 0),
      "sliding_window_pattern is 0, expected 1" },
    { "a pattern of too many layers", "gemma3",
      { "block_count", { "block_count", false, 2, NULL }, { 0 }, 0,
        { "attention.sliding_window_pattern", false, 1, ARRAY } },
      "sliding_window_pattern has 1 entries, expected 2, one for each layer" },
    { "a local rope base that is not a number", "gemma3",
      ADDED("rope.freq_base_swa", true, __builtin_nan("")), "gemma3.rope.freq_base_swa is nan" },
    { "logits that are capped", "gemma3", ADDED("final_logit_softcapping", true, 30),
      "final_logit_softcapping are not known" },
    { "no norm after the feed-forward", "gemma3", WITHOUT("blk.0.post_ffw_norm.weight"),
      "no tensor 'blk.0.post_ffw_norm.weight'" },
    { "a norm over all queries", "gemma3", RESHAPED("blk.0.attn_q_norm.weight", 1, 64),
      "'blk.0.attn_q_norm.weight' has dims {64}, expected {32}" },
    { "factors of frequencies", "gemma3", WITH_TENSOR("rope_freqs.weight", 1, 16),
      "'rope_freqs.weight' has no place" },

    { "no bias on values", "qwen2", WITHOUT("blk.0.attn_v.bias"), "no tensor 'blk.0.attn_v.bias'" },
    { "a bias on the output", "qwen2", WITH_TENSOR("blk.0.attn_output.bias", 1, 64),
      "'blk.0.attn_output.bias' has no place" },
    { "no norm of keys", "qwen3", WITHOUT("blk.0.attn_k_norm.weight"),
      "no tensor 'blk.0.attn_k_norm.weight'" },
    { "a bias on queries", "qwen3", WITH_TENSOR("blk.0.attn_q.bias", 1, 64),
      "'blk.0.attn_q.bias' has no place" },
};
// clang-format on

static void broken_models_are_refused_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        tn_model *model = open_changed(broken[i].architecture, &broken[i].change);
        tlm_hparams p;
        tlm_weights w;
        tn_error err = { 0 };
        tn_status status = read_model(broken[i].architecture, model, &p, &w, &err);
        if (status != TN_E_FILE || err.status != status)
            fail_msg("%s: got %s, \"%s\"", broken[i].says, tn_status_name(status), err.text);
        if (!strstr(err.text, broken[i].must_say) || strchr(err.text, '\n'))
            fail_msg("%s: want \"%s\" in one line, got \"%s\"", broken[i].says, broken[i].must_say,
                     err.text);
        tn_model_close(model);
    }
}

// A sink that keeps the lines.
typedef struct listed {
    char text[4096];
} listed;

static void list_problem(void *context, const char *text, size_t bytes)
{
    listed *l = context;
    size_t used = strlen(l->text);
    assert_true(bytes > 0 && !memchr(text, '\n', bytes));
    snprintf(l->text + used, sizeof l->text - used, "%.*s\n", (int)bytes, text);
}

static uint32_t check_model(const tn_model *model, listed *l)
{
    uint32_t count = UINT32_MAX;
    tn_error err = { 0 };
    l->text[0] = '\0';
    if (tlm_model_check(model, &(tn_sink){ l, list_problem }, &count, &err) != TN_OK)
        fail_msg("%s", err.text);
    return count;
}

// Looked at as a whole, a model has the same problem, perhaps among others.
static void a_check_lists_what_is_refused(void **state)
{
    (void)state;
    listed l;
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        tn_model *model = open_changed(broken[i].architecture, &broken[i].change);
        if (check_model(model, &l) == 0 || !strstr(l.text, broken[i].must_say))
            fail_msg("%s: want \"%s\" among \"%s\"", broken[i].says, broken[i].must_say, l.text);
        tn_model_close(model);
    }
    for (size_t i = 0; i < COUNT_OF(specials); i++) {
        tn_model *model = open_changed(specials[i].architecture, &(change){ 0 });
        if (check_model(model, &l) != 0)
            fail_msg("%s: \"%s\"", specials[i].architecture, l.text);
        tn_model_close(model);
    }
}

static void a_check_lists_all_keys_and_all_tensors(void **state)
{
    (void)state;
    listed l;
    change keys = REPLACED("attention.head_count", false, 0);
    keys.also = (number){ "rope.scaling.type", false, 0, "longrope" };
    tn_model *model = open_changed("llama", &keys);
    assert_int_equal(check_model(model, &l), 2);   // and not what follows from no heads
    assert_non_null(strstr(l.text, "head_count is 0, expected 1"));
    assert_non_null(strstr(l.text, "rope.scaling.type is 'longrope'"));
    tn_model_close(model);

    model = open_changed("llama", &(change)RESHAPED("blk.0.attn_q.weighT", 2, 64, 32));
    assert_int_equal(check_model(model, &l), 1);
    tn_model_close(model);
    change renamed = RESHAPED("blk.0.attn_q.weighT", 2, 64, 32);
    renamed.without = "blk.0.attn_q.weight";
    model = open_changed("llama", &renamed);
    assert_int_equal(check_model(model, &l), 2);
    assert_non_null(strstr(l.text, "no tensor 'blk.0.attn_q.weight'"));
    assert_non_null(strstr(l.text, "'blk.0.attn_q.weighT' has no place"));
    tn_model_close(model);

    uint32_t count;
    tn_error err = { 0 };
    model = open_changed("llama", &(change){ 0 });
    assert_int_equal(tlm_model_check(NULL, &(tn_sink){ &l, list_problem }, &count, &err), TN_E_ARG);
    assert_int_equal(tlm_model_check(model, NULL, &count, &err), TN_E_ARG);
    tn_model_close(model);
}

static void a_right_model_gives_its_numbers(void **state)
{
    (void)state;
    tn_model *model = open_changed("llama", &(change){ 0 });
    tlm_hparams p;
    tlm_weights w;
    tn_error err = { 0 };
    assert_int_equal(read_model("llama", model, &p, &w, &err), TN_OK);
    assert_int_equal(p.vocabulary, TEST_TOKENS);
    assert_int_equal(p.head_dim, 32);
    assert_int_equal(p.kv_heads, 1);
    assert_true(p.rope_base == 10000.0f && p.rope_scale == 1.0f);
    assert_non_null(tlm_weights_at(&w, TLM_FFN_DOWN, 0)->data);
    assert_null(tlm_weights_at(&w, TLM_OUTPUT, 0)->data);
    assert_int_equal(p.rope_layout, TNP_ROPE_NORMAL);
    assert_false(p.is_local[0]);
    tlm_weights_finish(&w);
    tn_model_close(model);
}

static void read_numbers(const char *architecture, const change *c, tlm_hparams *p)
{
    tn_model *model = open_changed(architecture, c);
    tn_error err = { 0 };
    tlm_keys keys = { .model = model, .architecture = architecture, .err = &err };
    tlm_architecture_find(architecture)->read(p, &keys);
    if (keys.status != TN_OK)
        fail_msg("%s: %s", architecture, err.text);
    tn_model_close(model);
}

static void five_layers_of_six_of_gemma3_are_local(void **state)
{
    (void)state;
    tlm_hparams p;
    read_numbers("gemma3", &(change)REPLACED("block_count", false, 12), &p);
    assert_int_equal(p.window, 16);
    assert_true(p.local_rope_base == 10000.0f && p.embedding_scale == 8.0f);
    for (uint32_t layer = 0; layer < 12; layer++)
        assert_int_equal(p.is_local[layer], layer != 5 && layer != 11);

    read_numbers("gemma3", &(change)WITHOUT("attention.sliding_window"), &p);
    assert_false(p.is_local[0]);
    change c = REPLACED("block_count", false, 62);   // the model with scores of its own
    c.also = (number){ "attention.key_length", false, 128, NULL };
    read_numbers("gemma3", &c, &p);
    assert_float_equal(p.attention_scale, 1 / sqrtf(32), 1e-6f);   // by E / H, not by D
}

static void the_local_layers_may_be_listed(void **state)
{
    (void)state;
    tlm_hparams p;
    change c = REPLACED("block_count", false, 3);
    c.also = (number){ "attention.sliding_window_pattern", false, 2, NULL };
    read_numbers("gemma3", &c, &p);
    assert_true(p.is_local[0] && !p.is_local[1] && p.is_local[2]);
    read_numbers("gemma3",
                 &(change){ .number = { "attention.sliding_window_pattern", false, 0, ARRAY } },
                 &p);
    assert_false(p.is_local[0]);
    read_numbers("gemma3",
                 &(change){ .number = { "attention.sliding_window_pattern", false, 1, ARRAY } },
                 &p);
    assert_true(p.is_local[0]);
}

static void yarn_is_read_with_its_defaults(void **state)
{
    (void)state;
    tlm_hparams p;
    read_numbers("qwen2",
                 &(change){ .number = { "rope.scaling.type", false, 0, "yarn" },
                            .also = { "rope.scaling.factor", true, 4, NULL } },
                 &p);
    assert_true(p.rope_scale == 0.25f && p.yarn_extrapolation == 1);
    assert_true(p.yarn_beta_fast == 32 && p.yarn_beta_slow == 1 && p.yarn_context == 128);
    assert_float_equal(p.yarn_attention, 1 + 0.1f * logf(4), 1e-6f);
}

static void old_files_give_the_scale_of_positions_alone(void **state)
{
    (void)state;
    tlm_hparams p;
    read_numbers("llama", &(change)ADDED("rope.scale_linear", true, 4), &p);
    assert_true(p.rope_scale == 0.25f);
    read_numbers("llama", &(change)ADDED("rope.scaling.factor", true, 2), &p);
    assert_true(p.rope_scale == 0.5f);
    read_numbers("llama", &(change){ .number = { "rope.scaling.type", false, 0, "none" } }, &p);
    assert_true(p.rope_scale == 1.0f);
}

static void expect_graph(const char *architecture, const tn_model *model, int64_t tokens,
                         tn_dtype kv_type, bool has_all_rows)
{
    tlm_hparams p;
    tlm_weights w;
    tn_error err = { 0 };
    tlm_built built;
    assert_int_equal(read_model(architecture, model, &p, &w, &err), TN_OK);
    tlm_variant variant = {
        .hparams = &p,
        .weights = &w,
        .tokens = tokens,
        .capacity = p.context_tokens,
        .kv_type = kv_type,
        .has_all_rows = has_all_rows,
    };
    tn_allocator allocator = tlm_allocator(NULL);
    if (tlm_build(tlm_architecture_find(architecture), &variant, &allocator, &built, &err) != TN_OK)
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
    for (size_t i = 0; i < COUNT_OF(specials); i++) {
        const char *architecture = specials[i].architecture;
        tn_model *model = open_changed(architecture, &(change){ 0 });
        expect_graph(architecture, model, 1, TN_DTYPE_F16, false);
        expect_graph(architecture, model, 32, TN_DTYPE_F32, false);
        expect_graph(architecture, model, 1, TN_DTYPE_Q8_0, true);
        expect_graph(architecture, model, 128, TN_DTYPE_F16, true);
        tn_model_close(model);
    }
}

static void optional_tensors_have_a_place(void **state)
{
    (void)state;
    static const struct {
        const char *architecture;
        tensor tensor;
    } optional[] = {
        { "llama", { "output.weight", 2, { 64, TEST_TOKENS } } },
        { "llama", { "rope_freqs.weight", 1, { 16 } } },
        { "llama", { "blk.0.attn_q.bias", 1, { 64 } } },
        { "llama", { "blk.0.attn_output.bias", 1, { 64 } } },
        { "llama", { "blk.0.ffn_up.bias", 1, { 96 } } },
        { "gemma3", { "output.weight", 2, { 64, TEST_TOKENS } } },
        { "qwen2", { "output.weight", 2, { 64, TEST_TOKENS } } },
        { "qwen3", { "output.weight", 2, { 64, TEST_TOKENS } } },
    };
    for (size_t i = 0; i < COUNT_OF(optional); i++) {
        tn_model *model = open_changed(optional[i].architecture,
                                       &(change){ .tensor = optional[i].tensor });
        expect_graph(optional[i].architecture, model, 1, TN_DTYPE_F16, false);
        tn_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_models_are_refused_in_words),
        cmocka_unit_test(a_check_lists_what_is_refused),
        cmocka_unit_test(a_check_lists_all_keys_and_all_tensors),
        cmocka_unit_test(a_right_model_gives_its_numbers),
        cmocka_unit_test(five_layers_of_six_of_gemma3_are_local),
        cmocka_unit_test(the_local_layers_may_be_listed),
        cmocka_unit_test(yarn_is_read_with_its_defaults),
        cmocka_unit_test(old_files_give_the_scale_of_positions_alone),
        cmocka_unit_test(every_variant_becomes_a_graph),
        cmocka_unit_test(optional_tensors_have_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
