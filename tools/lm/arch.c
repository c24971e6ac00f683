// arch.c: the architectures by name, and the building of a graph around what they define.
#include "arch.h"

#include "error.h"

#include <stdio.h>
#include <string.h>

static const tlm_architecture *const architectures[] = {
#define ARCHITECTURE(architecture) &architecture,
#include "architectures.def"
};

enum { ARCHITECTURES = sizeof architectures / sizeof architectures[0] };

const tlm_architecture *tlm_architecture_find(const char *name)
{
    for (uint32_t i = 0; i < ARCHITECTURES; i++)
        if (strcmp(architectures[i]->name, name) == 0)
            return architectures[i];
    return NULL;
}

// "llama, …", for messages.
static void list_names(char *to, size_t room)
{
    size_t used = 0;
    to[0] = '\0';
    for (uint32_t i = 0; i < ARCHITECTURES && used < room; i++) {
        int length = snprintf(to + used, room - used, "%s%s", i ? ", " : "",
                              architectures[i]->name);
        used += length > 0 ? (size_t)length : 0;
    }
}

tn_status tlm_architecture_of(const tn_model *model, const tlm_architecture **out_architecture,
                              tn_error *err)
{
    const char *name;
    char names[128];
    *out_architecture = NULL;
    tn_status status = tn_model_get_string(model, "general.architecture", &name, NULL, err);
    if (status == TN_E_NOT_FOUND)
        return tlm_fail(err, TN_E_FILE, "model: the file has no key general.architecture");
    if (status != TN_OK)
        return status;
    *out_architecture = tlm_architecture_find(name);
    if (*out_architecture)
        return TN_OK;
    list_names(names, sizeof names);
    return tlm_fail(err, TN_E_FILE, "model: architecture '%.60s' is not known (known: %s)", name,
                    names);
}

// An input of one I32 for each token, or for each wanted row.
static tn_value add_list(tn_graph *graph, const char *name, int64_t count)
{
    return tn_graph_input(graph, name, TN_DTYPE_I32, 1, &count);
}

// Makes the inputs, and the views of them of which only the first `rows` elements count. One token
// always counts.
static void build_inputs(const tlm_variant *v, tlm_built *built, tlm_builder *b)
{
    tn_graph *graph = b->graph;
    built->tokens = b->tokens = add_list(graph, "tokens", v->tokens);
    built->position = b->position = add_list(graph, "position", v->tokens);
    built->kv_len = b->kv_len = add_list(graph, "kv_len", 1);
    built->output_rows = b->output_rows = add_list(graph, "output_rows",
                                                   v->has_all_rows ? v->tokens : 1);
    built->rows = TN_NO_VALUE;
    tn_graph_expect(graph, built->kv_len, v->capacity < 512 ? v->capacity : 512, v->capacity);
    if (v->tokens == 1)
        return;

    built->rows = add_list(graph, "rows", 1);
    tn_graph_expect(graph, built->rows, v->tokens, v->tokens);
    b->tokens = tn_graph_limit(graph, built->tokens, 0, built->rows);
    b->position = tn_graph_limit(graph, built->position, 0, built->rows);
    if (v->has_all_rows)
        b->output_rows = tn_graph_limit(graph, built->output_rows, 0, built->rows);
}

tn_status tlm_build(const tlm_architecture *architecture, const tlm_variant *variant,
                    const tn_allocator *allocator, tlm_built *out_built, tn_error *err)
{
    tlm_built built = { 0 };
    *out_built = built;
    tn_status status = tn_graph_create(allocator, &built.graph, err);
    if (status != TN_OK)
        return status;
    tlm_builder b = { .variant = variant, .graph = built.graph, .part = TN_NO_PART };
    build_inputs(variant, &built, &b);
    b.rope_factors = tlm_build_weight(&b, TLM_ROPE_FREQS, 0);
    built.logits = architecture->build(&b);
    tn_graph_output(built.graph, "logits", built.logits);
    status = tn_graph_finish(built.graph, err);
    if (status != TN_OK)
        tn_graph_destroy(built.graph);
    else
        *out_built = built;
    return status;
}
