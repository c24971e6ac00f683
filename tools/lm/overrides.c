// overrides.c: see overrides.h.
#include "overrides.h"

#include "alloc.h"
#include "error.h"
#include "options.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Names are bytes: what a file calls a tensor need not be UTF-8.
typedef struct matching {
    tlm_overrides *to;
    const tn_model *model;
    const tlm_context_options *options;
    pcre2_general_context *memory;
    pcre2_code **patterns;
    pcre2_match_data *match;
    bool *is_met;   // by override
} matching;

static void *allocate(size_t bytes, void *context)
{
    return tlm_alloc(context, bytes, 1);
}

static void release(void *pointer, void *context)
{
    tlm_free(context, pointer);
}

static tn_status fail_pattern(const char *pattern, int code, const char *where, tn_error *err)
{
    PCRE2_UCHAR text[128];
    pcre2_get_error_message(code, text, sizeof text);
    return tlm_fail(err, TN_E_ARG, "override '%.80s' %s: %s", pattern, where, (const char *)text);
}

static tn_status compile(matching *m, uint32_t i, tn_error *err)
{
    const tlm_override *o = &m->options->overrides[i];
    char where[40];
    int code;
    PCRE2_SIZE offset;
    if (!o->pattern || !o->device)
        return tlm_fail(err, TN_E_ARG, "context: override %" PRIu32 " has no %s", i,
                        o->pattern ? "device" : "pattern");
    pcre2_compile_context *context = pcre2_compile_context_create(m->memory);
    if (!context)
        return tlm_fail_memory(err, "a pattern");
    m->patterns[i] = pcre2_compile((PCRE2_SPTR)o->pattern, PCRE2_ZERO_TERMINATED, 0, &code, &offset,
                                   context);
    pcre2_compile_context_free(context);
    if (m->patterns[i])
        return TN_OK;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return tlm_fail_memory(err, "a pattern");
    snprintf(where, sizeof where, "at character %zu", (size_t)offset);
    return fail_pattern(o->pattern, code, where, err);
}

// The first override that matches gets the tensor; whether later ones do is noted too.
static tn_status match(matching *m, const tn_model_tensor *tensor, tn_error *err)
{
    bool is_pinned = false;
    for (uint32_t i = 0; i < m->options->override_count; i++) {
        const tlm_override *o = &m->options->overrides[i];
        int found = pcre2_match(m->patterns[i], (PCRE2_SPTR)tensor->name, strlen(tensor->name), 0,
                                0, m->match, NULL);
        if (found == PCRE2_ERROR_NOMATCH)
            continue;
        if (found == PCRE2_ERROR_NOMEMORY)
            return tlm_fail_memory(err, "matching a pattern");
        if (found < 0)
            return fail_pattern(o->pattern, found, "cannot be matched", err);
        m->is_met[i] = true;
        if (!is_pinned)
            m->to->pins[m->to->placement.pin_count++] = (tn_pin){ tensor->name, o->device };
        is_pinned = true;
    }
    return TN_OK;
}

static void warn(matching *m)
{
    char *text = m->to->warning;
    size_t used = 0;
    for (uint32_t i = 0; i < m->options->override_count; i++) {
        if (m->is_met[i] || used >= TLM_WARNING_BYTES)
            continue;
        int length = snprintf(text + used, TLM_WARNING_BYTES - used, "%s'%.60s'",
                              used ? ", " : "no tensor of the model has a name that is matched by ",
                              m->options->overrides[i].pattern);
        used += length > 0 ? (size_t)length : 0;
    }
}

static tn_status match_all(matching *m, uint64_t tensors, tn_error *err)
{
    const tn_allocator *allocator = &m->to->allocator;
    uint32_t count = m->options->override_count;
    tn_status status = TN_OK;
    m->memory = pcre2_general_context_create(allocate, release, (void *)allocator);
    m->patterns = tlm_alloc(allocator, count, sizeof *m->patterns);
    m->is_met = tlm_alloc(allocator, count, sizeof *m->is_met);
    m->match = m->memory ? pcre2_match_data_create(1, m->memory) : NULL;
    if (!m->memory || !m->patterns || !m->is_met || !m->match)
        return tlm_fail_memory(err, "the overrides");
    for (uint32_t i = 0; i < count && status == TN_OK; i++)
        status = compile(m, i, err);
    for (uint32_t t = 0; t < tensors && status == TN_OK; t++) {
        tn_model_tensor tensor = { .size = sizeof tensor };
        status = tn_model_tensor_at(m->model, t, &tensor, err);
        if (status == TN_OK)
            status = match(m, &tensor, err);
    }
    if (status == TN_OK)
        warn(m);
    return status;
}

static void drop(matching *m)
{
    const tn_allocator *allocator = &m->to->allocator;
    pcre2_match_data_free(m->match);
    for (uint32_t i = 0; i < m->options->override_count && m->patterns; i++)
        pcre2_code_free(m->patterns[i]);
    pcre2_general_context_free(m->memory);
    tlm_free(allocator, m->patterns);
    tlm_free(allocator, m->is_met);
}

tn_status tlm_overrides_take(tlm_overrides *overrides, const tn_model *model,
                             const tlm_context_options *options, const tn_allocator *allocator,
                             tn_error *err)
{
    tn_model_info info = { .size = sizeof info };
    tn_status status = TN_OK;
    *overrides = (tlm_overrides){ .allocator = *allocator,
                                  .is_given = options->placement || options->override_count };
    if (options->override_count && !options->overrides)
        return tlm_fail(err, TN_E_ARG, "context: %" PRIu32 " overrides are counted, none is given",
                        options->override_count);
    status = tlm_take_options(&overrides->placement, sizeof overrides->placement,
                              TLM_UP_TO(tn_placement, pins), options->placement, "placement", err);
    if (status != TN_OK || !options->override_count)
        return status;
    const tn_pin *given = overrides->placement.pins;
    uint32_t given_count = given ? overrides->placement.pin_count : 0;
    tn_model_describe(model, &info);
    overrides->pins = tlm_alloc(allocator, (size_t)info.tensor_count + given_count,
                                sizeof *overrides->pins);
    if (!overrides->pins)
        return tlm_fail_memory(err, "the overrides");
    overrides->placement.pins = overrides->pins;
    overrides->placement.pin_count = 0;
    matching m = { .to = overrides, .model = model, .options = options };
    status = match_all(&m, info.tensor_count, err);
    drop(&m);
    for (uint32_t i = 0; i < given_count && status == TN_OK; i++)
        overrides->pins[overrides->placement.pin_count++] = given[i];
    return status;
}

void tlm_overrides_finish(tlm_overrides *overrides)
{
    if (overrides->pins)
        tlm_free(&overrides->allocator, overrides->pins);
    *overrides = (tlm_overrides){ 0 };
}
