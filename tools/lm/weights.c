// weights.c: finding a model's tensors, and refusing those that are not as the architecture
// expects.
#include "weights.h"

#include "alloc.h"
#include "error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool is_per_layer;
} slots[TLM_SLOTS] = {
#define GLOBAL(slot, name) [TLM_##slot] = { name, false },
#define LAYER(slot, name)  [TLM_##slot] = { name, true },
#include "tensors.def"
};

enum { NAME_BYTES = 64, DIMS_BYTES = 128 };

// "blk.%u.attn_q.weight" and 3: "blk.3.attn_q.weight".
static void name_of(tlm_slot slot, uint32_t layer, char to[NAME_BYTES])
{
    const char *name = slots[slot].name, *mark = strstr(name, "%u");
    if (mark)
        snprintf(to, NAME_BYTES, "%.*s%" PRIu32 "%s", (int)(mark - name), name, layer, mark + 2);
    else
        snprintf(to, NAME_BYTES, "%s", name);
}

static int64_t dim_of(const tlm_hparams *p, tlm_dim dim)
{
    switch (dim) {
    case TLM_DIM_NONE:
        return 1;
    case TLM_DIM_EMBEDDING:
        return p->embedding;
    case TLM_DIM_VOCABULARY:
        return p->vocabulary;
    case TLM_DIM_HEAD:
        return p->head_dim;
    case TLM_DIM_HEADS:
        return p->head_dim * p->heads;
    case TLM_DIM_KV_HEADS:
        return p->head_dim * p->kv_heads;
    case TLM_DIM_FEED_FORWARD:
        return p->feed_forward;
    case TLM_DIM_HALF_ROT:
        return p->rot_dims / 2;
    }
    return 0;
}

static void print_dims(char to[DIMS_BYTES], const int64_t *dims, uint32_t rank)
{
    size_t used = 0;
    for (uint32_t i = 0; i < rank && used < DIMS_BYTES; i++) {
        int length = snprintf(to + used, DIMS_BYTES - used, "%s%" PRId64, i ? ", " : "", dims[i]);
        used += length > 0 ? (size_t)length : 0;
    }
}

// A model's tensors while they are looked for.
typedef struct search {
    const tn_model *model;
    const tlm_hparams *hparams;
    tlm_weights *weights;
    tlm_problems *problems;
    uint32_t found_count;
} search;

// "64, 96": what a rule expects.
static uint32_t expected_dims(const search *s, const tlm_tensor_rule *rule, int64_t dims[2],
                              char to[DIMS_BYTES])
{
    uint32_t rank = rule->dims[1] == TLM_DIM_NONE ? 1 : 2;
    for (uint32_t i = 0; i < 2; i++)
        dims[i] = dim_of(s->hparams, rule->dims[i]);
    print_dims(to, dims, rank);
    return rank;
}

static tn_status check(const search *s, const tn_model_tensor *t, const tlm_tensor_rule *rule,
                       tn_error *err)
{
    int64_t dims[2];
    char found[DIMS_BYTES] = "", expected[DIMS_BYTES] = "";
    uint32_t rank = expected_dims(s, rule, dims, expected);
    bool fits = t->dims[0] == dims[0] && t->dims[1] == dims[1];
    for (uint32_t i = 2; i < t->rank; i++)
        fits = fits && t->dims[i] == 1;
    print_dims(found, t->dims, t->rank);
    if (!fits)
        return tlm_complain(s->problems, err, "model: tensor '%s' has dims {%s}, expected {%s}",
                            t->name, found, expected);
    if (rank == 1 && t->dtype != TN_DTYPE_F32)
        return tlm_complain(s->problems, err, "model: tensor '%s' is %s, expected F32", t->name,
                            tn_dtype_name(t->dtype));
    if (!t->data)
        return tlm_complain(s->problems, err, "model: tensor '%s' is damaged", t->name);
    return TN_OK;
}

static tn_status fail_missing(const search *s, const tlm_tensor_rule *rule, const char *name,
                              tn_error *err)
{
    int64_t dims[2];
    char expected[DIMS_BYTES] = "";
    expected_dims(s, rule, dims, expected);
    return tlm_complain(s->problems, err,
                        "model: the file has no tensor '%s', one of dims {%s} was expected", name,
                        expected);
}

static tn_status find(search *s, const tlm_tensor_rule *rule, uint32_t layer, tn_error *err)
{
    char name[NAME_BYTES];
    name_of(rule->slot, layer, name);
    tn_model_tensor *t = &s->weights->tensors[(size_t)layer * TLM_SLOTS + rule->slot];
    t->size = sizeof *t;
    tn_status status = tn_model_find_tensor(s->model, name, t, err);
    if (status == TN_E_NOT_FOUND) {
        *t = (tn_model_tensor){ 0 };
        if (rule->is_optional)
            return TN_OK;
        return fail_missing(s, rule, name, err);
    }
    if (status != TN_OK)
        return status;
    s->found_count++;
    return check(s, t, rule, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The names of the tensors that a rule asked for, sorted; NULL: no memory.
static const char **used_names(const search *s, size_t *out_count)
{
    size_t slot_count = (size_t)s->hparams->layers * TLM_SLOTS;
    const char **names = tlm_alloc(&s->weights->allocator, slot_count, sizeof *names);
    *out_count = 0;
    for (size_t i = 0; names && i < slot_count; i++)
        if (s->weights->tensors[i].name)
            names[(*out_count)++] = s->weights->tensors[i].name;
    if (names)
        qsort(names, *out_count, sizeof *names, by_name);
    return names;
}

// Names the tensors that no rule asked for: the first, or all where problems are listed.
static tn_status fail_unused(const search *s, uint32_t tensor_count, tn_error *err)
{
    size_t used_count;
    const char **used = used_names(s, &used_count);
    if (!used)
        return tlm_fail_memory(err, "the names of the tensors");
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < tensor_count && status == TN_OK; i++) {
        tn_model_tensor t = { .size = sizeof t };
        status = tn_model_tensor_at(s->model, i, &t, err);
        if (status == TN_OK && !bsearch(&t.name, used, used_count, sizeof *used, by_name))
            status = tlm_complain(s->problems, err,
                                  "model: tensor '%s' has no place in this architecture", t.name);
    }
    tlm_free(&s->weights->allocator, used);
    return status;
}

tn_status tlm_weights_check(tlm_weights *weights, const tn_model *model, const tlm_hparams *hparams,
                            const tlm_tensor_rule *rules, uint32_t rule_count,
                            const tn_allocator *allocator, tlm_problems *problems, tn_error *err)
{
    *weights = (tlm_weights){ .allocator = *allocator };
    weights->tensors = tlm_alloc(allocator, (size_t)hparams->layers * TLM_SLOTS,
                                 sizeof *weights->tensors);
    if (!weights->tensors)
        return tlm_fail_memory(err, "the list of tensors");
    tn_status status = TN_OK;
    search s = { model, hparams, weights, problems, 0 };
    for (uint32_t r = 0; r < rule_count; r++) {
        uint32_t layers = slots[rules[r].slot].is_per_layer ? (uint32_t)hparams->layers : 1;
        for (uint32_t layer = 0; layer < layers && status == TN_OK; layer++)
            status = find(&s, &rules[r], layer, err);
    }
    tn_model_info info = { .size = sizeof info };
    tn_model_describe(model, &info);
    if (status == TN_OK && s.found_count != info.tensor_count)
        status = fail_unused(&s, info.tensor_count, err);
    if (status != TN_OK)
        tlm_weights_finish(weights);
    return status;
}

tn_status tlm_weights_init(tlm_weights *weights, const tn_model *model, const tlm_hparams *hparams,
                           const tlm_tensor_rule *rules, uint32_t rule_count,
                           const tn_allocator *allocator, tn_error *err)
{
    return tlm_weights_check(weights, model, hparams, rules, rule_count, allocator, NULL, err);
}

void tlm_weights_finish(tlm_weights *weights)
{
    if (weights->tensors)
        tlm_free(&weights->allocator, weights->tensors);
    *weights = (tlm_weights){ 0 };
}
