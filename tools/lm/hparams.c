// hparams.c: reading a model's numbers, believing none of them.
#include "hparams.h"

#include "error.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 160 };

static void full_name(const tlm_keys *keys, const char *name, char to[NAME_BYTES])
{
    snprintf(to, NAME_BYTES, "%s.%s", keys->architecture, name);
}

void tlm_keys_fail(tlm_keys *keys, tn_status status, const char *format, ...)
{
    if (keys->status != TN_OK)
        return;
    char text[sizeof keys->err->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    keys->status = status == TN_E_FILE ? tlm_complain(keys->problems, keys->err, "model: %s", text)
                                       : tlm_fail(keys->err, status, "model: %s", text);
}

// A value that the file's reader refused: its text tells why.
static void keep_failure(tlm_keys *keys, tn_status status, const tn_error *problem)
{
    keys->status = status == TN_E_FILE
                       ? tlm_complain(keys->problems, keys->err, "%s", problem->text)
                       : tn_error_set(keys->err, status, problem->text);
}

static int64_t read_integer(tlm_keys *keys, const char *name, int64_t low, int64_t high,
                            int64_t otherwise, bool is_required)
{
    char full[NAME_BYTES];
    full_name(keys, name, full);
    int64_t value = otherwise;
    if (keys->status != TN_OK)
        return low;
    tn_error problem;
    tn_status status = tn_model_get_i64(keys->model, full, &value, &problem);
    if (status == TN_E_NOT_FOUND && !is_required)
        return otherwise;
    if (status == TN_E_NOT_FOUND)
        tlm_keys_fail(keys, TN_E_FILE,
                      "the file has no key %s, expected a number from %" PRId64 " to %" PRId64,
                      full, low, high);
    else if (status != TN_OK)
        keep_failure(keys, status, &problem);
    else if (value >= low && value <= high)
        return value;
    else
        tlm_keys_fail(keys, TN_E_FILE, "%s is %" PRId64 ", expected %" PRId64 " to %" PRId64, full,
                      value, low, high);
    return low;
}

static double read_number(tlm_keys *keys, const char *name, double low, double high,
                          double otherwise, bool is_required)
{
    char full[NAME_BYTES];
    full_name(keys, name, full);
    double value = otherwise;
    if (keys->status != TN_OK)
        return low;
    tn_error problem;
    tn_status status = tn_model_get_f64(keys->model, full, &value, &problem);
    if (status == TN_E_NOT_FOUND && !is_required)
        return otherwise;
    if (status == TN_E_NOT_FOUND)
        tlm_keys_fail(keys, TN_E_FILE, "the file has no key %s, expected a number from %g to %g",
                      full, low, high);
    else if (status != TN_OK)
        keep_failure(keys, status, &problem);
    else if (value >= low && value <= high)   // NaN is not
        return value;
    else
        tlm_keys_fail(keys, TN_E_FILE, "%s is %g, expected %g to %g", full, value, low, high);
    return low;
}

int64_t tlm_keys_integer(tlm_keys *keys, const char *name, int64_t low, int64_t high)
{
    return read_integer(keys, name, low, high, low, true);
}

int64_t tlm_keys_integer_or(tlm_keys *keys, const char *name, int64_t low, int64_t high,
                            int64_t otherwise)
{
    return read_integer(keys, name, low, high, otherwise, false);
}

double tlm_keys_number(tlm_keys *keys, const char *name, double low, double high)
{
    return read_number(keys, name, low, high, low, true);
}

double tlm_keys_number_or(tlm_keys *keys, const char *name, double low, double high,
                          double otherwise)
{
    return read_number(keys, name, low, high, otherwise, false);
}

const char *tlm_keys_text_or(tlm_keys *keys, const char *name, const char *otherwise)
{
    char full[NAME_BYTES];
    full_name(keys, name, full);
    const char *text = otherwise;
    if (keys->status != TN_OK)
        return otherwise;
    tn_error problem;
    tn_status status = tn_model_get_string(keys->model, full, &text, NULL, &problem);
    if (status != TN_OK && status != TN_E_NOT_FOUND)
        keep_failure(keys, status, &problem);
    return status == TN_OK ? text : otherwise;
}

// One entry of an array of truth values or numbers.
static bool read_truth_at(tlm_keys *keys, const tn_model_key *key, uint64_t index)
{
    bool is_true = false;
    int64_t number = 0;
    tn_error problem;
    tn_status status = key->element_type == TN_KEY_BOOL
                           ? tn_model_get_bool_at(keys->model, key->name, index, &is_true, &problem)
                           : tn_model_get_i64_at(keys->model, key->name, index, &number, &problem);
    if (status != TN_OK)
        keep_failure(keys, status, &problem);
    return is_true || number != 0;
}

void tlm_keys_local_layers(tlm_keys *keys, const char *name, int64_t otherwise, int64_t layers,
                           bool is_local[TLM_MOST_LAYERS])
{
    char full[NAME_BYTES];
    full_name(keys, name, full);
    tn_model_key key = { .size = sizeof key };
    bool is_array = keys->status == TN_OK &&
                    tn_model_find_key(keys->model, full, &key, NULL) == TN_OK &&
                    key.type == TN_KEY_ARRAY;
    int64_t every = is_array ? 1 : tlm_keys_integer_or(keys, name, 1, TLM_MOST_LAYERS, otherwise);
    if (is_array && key.count != (uint64_t)layers) {
        tlm_keys_fail(keys, TN_E_FILE,
                      "%s has %" PRIu64 " entries, expected %" PRId64 ", one for each layer", full,
                      key.count, layers);
        return;
    }
    for (int64_t layer = 0; layer < layers && keys->status == TN_OK; layer++)
        is_local[layer] = is_array ? read_truth_at(keys, &key, (uint64_t)layer)
                                   : (layer + 1) % every != 0;
}

// The number of tokens: that of the tokenizer, and vocab_size where the file has no tokenizer.
static int64_t read_vocabulary(tlm_keys *keys)
{
    enum { MOST = INT32_MAX };
    tn_model_key tokens = { .size = sizeof tokens };
    if (keys->status != TN_OK)
        return 1;
    if (tn_model_find_key(keys->model, "tokenizer.ggml.tokens", &tokens, NULL) != TN_OK)
        return tlm_keys_integer(keys, "vocab_size", 1, MOST);
    if (tokens.type != TN_KEY_ARRAY || tokens.count < 1 || tokens.count > MOST)
        tlm_keys_fail(keys, TN_E_FILE, "tokenizer.ggml.tokens is not an array of 1 to %d tokens",
                      MOST);
    else
        return (int64_t)tokens.count;
    return 1;
}

static void read_heads(tlm_hparams *p, tlm_keys *keys)
{
    const char *a = keys->architecture;
    p->heads = tlm_keys_integer(keys, "attention.head_count", 1, 1 << 16);
    p->kv_heads = tlm_keys_integer_or(keys, "attention.head_count_kv", 1, 1 << 16, p->heads);
    if (keys->status == TN_OK && p->heads % p->kv_heads != 0)
        tlm_keys_fail(keys, TN_E_FILE,
                      "%s.attention.head_count is %" PRId64
                      ", expected a multiple of head_count_kv, which is %" PRId64,
                      a, p->heads, p->kv_heads);
    p->head_dim = tlm_keys_integer_or(keys, "attention.key_length", 1, 1 << 16, 0);
    if (keys->status == TN_OK && p->head_dim == 0) {
        if (p->embedding % p->heads != 0)
            tlm_keys_fail(keys, TN_E_FILE,
                          "%s.embedding_length is %" PRId64
                          ", expected a multiple of attention.head_count, which is %" PRId64,
                          a, p->embedding, p->heads);
        p->head_dim = p->embedding / p->heads;
    }
    int64_t value_dim = tlm_keys_integer_or(keys, "attention.value_length", 1, 1 << 16,
                                            p->head_dim);
    if (keys->status == TN_OK && value_dim != p->head_dim)
        tlm_keys_fail(keys, TN_E_FILE,
                      "%s.attention.value_length is %" PRId64 ", expected %" PRId64 " as keys have",
                      a, value_dim, p->head_dim);
}

// Peng et al., arXiv:2309.00071, with the betas of its authors; answers the factor by which the
// context grew. Where the file does not say, cos and sin grow by 0.1 ln(factor) + 1.
static double read_yarn(tlm_hparams *p, tlm_keys *keys)
{
    double factor = tlm_keys_number(keys, "rope.scaling.factor", 1, 1e6);
    double growth = tlm_keys_number_or(keys, "rope.scaling.attn_factor", 1e-3, 1e3, 1);
    p->yarn_extrapolation = (float)tlm_keys_number_or(keys, "rope.scaling.yarn_ext_factor", 0, 1,
                                                      1);
    p->yarn_attention = (float)(growth * (0.1 * log(factor) + 1));
    p->yarn_beta_fast = (float)tlm_keys_number_or(keys, "rope.scaling.yarn_beta_fast", 1e-3, 1e6,
                                                  32);
    p->yarn_beta_slow = (float)tlm_keys_number_or(keys, "rope.scaling.yarn_beta_slow", 1e-3, 1e6,
                                                  1);
    // Programs disagree on what these do to the growth; 1 and 0 leave it alone.
    (void)tlm_keys_number_or(keys, "rope.scaling.yarn_attn_factor", 1, 1, 1);
    (void)tlm_keys_number_or(keys, "rope.scaling.yarn_log_multiplier", 0, 0, 0);
    p->yarn_context = (uint32_t)tlm_keys_integer_or(keys, "rope.scaling.original_context_length", 1,
                                                    1 << 30, p->context_tokens);
    if (keys->status == TN_OK && p->rope_base <= 1)
        tlm_keys_fail(keys, TN_E_FILE, "%s.rope.freq_base is %g, expected more than 1 with YaRN",
                      keys->architecture, (double)p->rope_base);
    return factor;
}

static void read_rope(tlm_hparams *p, tlm_keys *keys)
{
    const char *a = keys->architecture;
    p->rot_dims = tlm_keys_integer_or(keys, "rope.dimension_count", 2, 1 << 16, p->head_dim);
    if (keys->status == TN_OK && (p->rot_dims % 2 != 0 || p->rot_dims > p->head_dim))
        tlm_keys_fail(keys, TN_E_FILE,
                      "%s.rope.dimension_count is %" PRId64
                      ", expected an even number up to %" PRId64,
                      a, p->rot_dims, p->head_dim);
    p->rope_base = (float)tlm_keys_number_or(keys, "rope.freq_base", 1, 1e12, 10000);
    // Files from before there were kinds of scaling give the factor alone.
    const char *scaling = tlm_keys_text_or(keys, "rope.scaling.type", "");
    double factor = tlm_keys_number_or(keys, "rope.scale_linear", 1e-3, 1e6, 1);
    if (strcmp(scaling, "linear") == 0)
        factor = tlm_keys_number(keys, "rope.scaling.factor", 1e-3, 1e6);
    else if (*scaling == '\0')
        factor = tlm_keys_number_or(keys, "rope.scaling.factor", 1e-3, 1e6, factor);
    else if (strcmp(scaling, "none") == 0)
        factor = 1;
    else if (strcmp(scaling, "yarn") == 0)
        factor = read_yarn(p, keys);
    else
        tlm_keys_fail(keys, TN_E_FILE,
                      "%s.rope.scaling.type is '%.40s', expected none, linear or yarn", a, scaling);
    p->rope_scale = (float)(1 / factor);
    p->rope_layout = TNP_ROPE_NORMAL;
}

void tlm_hparams_read(tlm_hparams *hparams, tlm_keys *keys)
{
    tlm_hparams *p = hparams;
    *p = (tlm_hparams){ 0 };
    p->vocabulary = read_vocabulary(keys);
    p->context_tokens = tlm_keys_integer(keys, "context_length", 1, 1 << 30);
    p->embedding = tlm_keys_integer(keys, "embedding_length", 1, 1 << 20);
    p->layers = tlm_keys_integer(keys, "block_count", 1, TLM_MOST_LAYERS);
    p->feed_forward = tlm_keys_integer(keys, "feed_forward_length", 1, 1 << 24);
    p->rms_eps = (float)tlm_keys_number(keys, "attention.layer_norm_rms_epsilon", 0, 1);
    read_heads(p, keys);
    read_rope(p, keys);
    p->attention_scale = (float)(1 / sqrt((double)p->head_dim));
    p->embedding_scale = 1;
    if (tlm_keys_integer_or(keys, "expert_count", 0, 1 << 20, 0) > 0)
        tlm_keys_fail(keys, TN_E_FILE, "%s.expert_count: mixtures of experts are not known",
                      keys->architecture);
}
