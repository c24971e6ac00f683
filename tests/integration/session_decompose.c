// Sessions on a device that lacks composite ops: what replaces them gives the same numbers, runs on
// that device, and is told.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/lm.h>

#include "composites.h"
#include "failing_alloc.h"
#include "session_rig.h"

#define REFUSE "plugin.partial.refuse="
#define GPU    "plugin.partial.kind=2"
#define FAST   "plugin.partial.cost=0.5"

static char refuse_all[256] = REFUSE;   // every composite op: those that have a case

static void append_op(char *text, size_t bytes, tnp_op op)
{
    size_t used = strlen(text);
    int wanted = snprintf(text + used, bytes - used, "%u,", op);
    assert_in_range(wanted, 1, bytes - used - 1);
}

static void refuse_composites(void)
{
    tnp_op last = 0;
    for (unsigned i = 0; i < composite_case_count; i++) {   // those of one op follow each other
        if (composite_cases[i].op != last)
            append_op(refuse_all, sizeof refuse_all, composite_cases[i].op);
        last = composite_cases[i].op;
    }
}

// -------------------------------------------------------------------------------- the same numbers

static tn_session *session_on(tn_runtime *runtime, const tn_graph *graph, const char *first,
                              const char *second)
{
    return rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                       (const char *[]){ first, second, NULL });
}

static void run_composite(tn_runtime *runtime, const composite_graph *c, const char *device,
                          float *out)
{
    tn_session *session = session_on(runtime, c->graph, device, NULL);
    tn_feed feeds[10];
    tn_error err = { 0 };
    for (unsigned i = 0; i < c->input_count; i++)
        feeds[i] = (tn_feed){ tn_graph_find(c->graph, c->inputs[i].name), c->inputs[i].data,
                              c->inputs[i].bytes };
    if (tn_session_run(session, 0, feeds, c->input_count, &err) != TN_OK)
        fail_msg("%s", err.text);
    rig_read(session, 0, c->graph, "out", out, c->elements * sizeof *out);
    tn_session_destroy(session);
}

static void all_variants_give_what_the_kernel_gives(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(true, (const char *[]){ refuse_all, NULL });
    for (unsigned i = 0; i < composite_case_count; i++) {
        const composite *c = &composite_cases[i];
        composite_graph made = composite_make(c);
        float *want = calloc(made.elements, sizeof *want),
              *got = calloc(made.elements, sizeof *got);
        run_composite(runtime, &made, "cpu0", want);
        run_composite(runtime, &made, "partial0", got);
        composite_compare(c, &made, "on the CPU plugin", got, want);
        free(want);
        free(got);
        composite_drop(&made);
    }
    tn_runtime_destroy(runtime);
}

// --------------------------------------------------------------------------------------- placement

enum { WIDTH = 32, HEADS = 2, HEAD = WIDTH / HEADS, TOKENS = 3, SLOTS = 8 };

static float weight[WIDTH * WIDTH], scale[WIDTH];

// Two layers like those of a language model, with a cache.
static tn_graph *make_model(void)
{
    static const tnp_attention_attr sees = { .size = sizeof sees,
                                             .flags = TNP_ATTENTION_CAUSAL,
                                             .scale = 0.25f };
    static const tnp_rope_attr turn = {
        .size = sizeof turn, .rot_dims = HEAD, .base = 10000, .scale = 1
    };
    tn_graph *graph = rig_graph();
    const int64_t square[] = { WIDTH, WIDTH }, heads[] = { HEAD, HEADS, TOKENS },
                  cache_heads[] = { HEAD, HEADS, SLOTS }, flat[] = { WIDTH, TOKENS };
    tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, square, weight, sizeof weight);
    tn_value s = tn_graph_weight(graph, "scale", TN_DTYPE_F32, 1, square, scale, sizeof scale);
    tn_value position = tn_graph_input(graph, "position", TN_DTYPE_I32, 1, (int64_t[]){ TOKENS });
    tn_value filled = tn_graph_input(graph, "filled", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value y = rig_input(graph, "x", 2, WIDTH, TOKENS, 0);
    for (int layer = 0; layer < 2; layer++) {
        char name[16];
        snprintf(name, sizeof name, "cache.%d", layer);
        tn_value cache = tn_graph_state(graph, name, TN_DTYPE_F16, 2, (int64_t[]){ WIDTH, SLOTS });
        tn_value h = tn_graph_matmul(graph, tn_graph_rms_norm(graph, y, s, 1e-5f), w);
        tn_value q = tn_graph_rope(graph, tn_graph_reshape(graph, h, 3, heads), position,
                                   TN_NO_VALUE, &turn);
        cache = tn_graph_set_rows(graph, cache, tn_graph_reshape(graph, q, 2, flat), position);
        cache = tn_graph_limit(graph, tn_graph_reshape(graph, cache, 3, cache_heads), 2, filled);
        snprintf(name, sizeof name, "attn.%d", layer);
        tn_value a = tn_graph_op(graph, TNP_OP_ATTENTION, name,
                                 (tn_value[]){ q, cache, cache, position }, 4, &sees);
        y = tn_graph_add(graph, y, tn_graph_reshape(graph, a, 2, flat));
        y = tn_graph_add(graph, y, tn_graph_swiglu(graph, y, tn_graph_matmul(graph, y, w)));
    }
    rig_finish(graph,
               tn_graph_op(graph, TNP_OP_SOFTMAX, "shares", &y, 1,
                           &(tnp_softmax_attr){ .size = sizeof(tnp_softmax_attr), .scale = 1 }));
    return graph;
}

static int set_up(void **state)
{
    (void)state;
    refuse_composites();
    rig_fill(weight, WIDTH * WIDTH, 1);
    rig_fill(scale, WIDTH, 2);
    return 0;
}

static void run_model(tn_session *session, const tn_graph *graph, float out[WIDTH * TOKENS])
{
    float x[WIDTH * TOKENS];
    for (int step = 0; step < 2; step++) {   // the second one reads what the first has kept
        const int32_t position[] = { step * 3, step * 3 + 1, step * 3 + 2 }, filled = step * 3 + 3;
        rig_fill(x, WIDTH * TOKENS, 3 + (uint32_t)step);
        rig_run(session, 0, graph, "x", x, sizeof x, "position", position, sizeof position,
                "filled", &filled, sizeof filled, NULL);
    }
    rig_read(session, 0, graph, "out", out, WIDTH * TOKENS * sizeof *out);
}

static void run_on_the_cpu(float out[WIDTH * TOKENS])
{
    tn_runtime *runtime = rig_runtime(false, NULL);
    tn_graph *graph = make_model();
    tn_session *session = session_on(runtime, graph, "cpu0", NULL);
    run_model(session, graph, out);
    assert_null(strstr(rig_explain(session), "decomposed"));
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

typedef struct placement {
    const char *says, *settings[5];
    bool has_cpu;
    const char *must_say[4], *must_not_say[3];   // of explain
} placement;

static const placement placements[] = {
    { "alone, it gets what replaces them",
      { REFUSE "48,56,60,64,80", NULL },
      false,
      { "decomposed 2 attention, 'attn.0' into ", "partial0 refused it: it is told to refuse this",
        "decomposed 1 softmax, 'shares' into 7 nodes", "decomposed 2 swiglu, 'swiglu." },
      { NULL } },
    { "alone, to the ground", { refuse_all, NULL }, false, { "decomposed 2 attention" }, { NULL } },
    { "beside the CPU, work stays on it",
      { REFUSE "48,56,60,64,80", GPU, FAST, NULL },
      true,
      { "1 segment, 0 copies", "decomposed 2 attention", "cpu0: " },
      { "on cpu0" } },
    { "one level is enough",
      { REFUSE "48", GPU, FAST, NULL },
      true,
      { "1 segment, 0 copies", "into 2 nodes" },
      { "on cpu0", "decomposed 2 attention" } },
    { "hidden memory, all the way",
      { refuse_all, GPU, FAST, "plugin.partial.hidden=1", NULL },
      true,
      { "1 segment, 0 copies" },
      { "on cpu0" } },
    { "what it cannot take in whole is left whole",
      { REFUSE "48,35", GPU, FAST, NULL },   // swiglu and exp: no silu then, but silu it has
      true,
      { "decomposed 2 swiglu, ", "into 2 nodes", "1 segment, 0 copies" },
      { "on cpu0" } },
    { "without exp the CPU keeps softmax whole",
      { REFUSE "60,35", GPU, FAST, NULL },
      true,
      { "segment 1 on cpu0: steps ", "partial0 refused softmax 'shares'" },
      { "decomposed" } },
    { "where the state cannot be, attention is not decomposed",
      { REFUSE "80,89", GPU, FAST, NULL },   // set_rows goes to the CPU, and with it the cache
      true,
      { "on cpu0" },
      { "decomposed" } },
    { "a second CPU gets no decomposition of what the first has whole",
      { REFUSE "48,56", FAST, NULL },
      true,
      { "on cpu0" },
      { "decomposed" } },
    { "so dear that all stays on the CPU: whole",
      { REFUSE "48,60", GPU, "plugin.partial.cost=1000000", NULL },
      true,
      { "on cpu0" },
      { "decomposed" } },
};

static void nodes_run_where_they_should(void **state)
{
    (void)state;
    float want[WIDTH * TOKENS], got[WIDTH * TOKENS];
    run_on_the_cpu(want);
    for (size_t i = 0; i < sizeof placements / sizeof placements[0]; i++) {
        const placement *p = &placements[i];
        tn_runtime *runtime = rig_runtime(true, p->settings);
        tn_graph *graph = make_model();
        tn_session *session = session_on(runtime, graph, "partial0", p->has_cpu ? "cpu0" : NULL);
        const char *text = rig_explain(session);
        for (size_t k = 0; k < 4 && p->must_say[k]; k++)
            if (!strstr(text, p->must_say[k]))
                fail_msg("%s: \"%s\" is not in:\n%s", p->says, p->must_say[k], text);
        for (size_t k = 0; k < 3 && p->must_not_say[k]; k++)
            if (strstr(text, p->must_not_say[k]))
                fail_msg("%s: \"%s\" is in:\n%s", p->says, p->must_not_say[k], text);
        run_model(session, graph, got);
        for (size_t e = 0; e < WIDTH * TOKENS; e++)
            if (!(fabs((double)got[e] - (double)want[e]) <= 2e-5))
                fail_msg("%s: element %zu is %.9g, not %.9g", p->says, e, (double)got[e],
                         (double)want[e]);
        tn_session_destroy(session);
        tn_graph_destroy(graph);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
}

static void what_nobody_takes_either_way_is_told_as_it_was_built(void **state)
{
    (void)state;
    tn_runtime *runtime = rig_runtime(true, (const char *[]){ REFUSE "60,35", NULL });
    tn_graph *graph = make_model();
    tn_session *session = NULL;
    tn_error err = { 0 };
    tn_device *devices[] = { rig_device(runtime, "partial0") };
    tn_session_options options = { .size = sizeof options, .device_count = 1, .devices = devices };
    assert_int_equal(
        tn_session_create(runtime, (const tn_graph *[]){ graph }, 1, &options, &session, &err),
        TN_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "no device takes softmax 'shares'"));
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
}

// ------------------------------------------------------------------------------------ whole models

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static tlm_context *context_on(tn_runtime *runtime, const tn_model *model, const char *device)
{
    tn_device *devices[] = { rig_device(runtime, device) };
    tlm_context_options options = {
        .size = sizeof options, .context_tokens = 128, .device_count = 1, .devices = devices
    };
    tlm_context *context = NULL;
    tn_error err = { 0 };
    need(tlm_context_create(runtime, model, &options, &context, &err), &err);
    return context;
}

// A prompt, then token by token: the graphs for 32 tokens and for one.
static void need_same_logits(const char *refused, const char *path)
{
    tn_error err = { 0 };
    tn_model *model = NULL;
    tn_runtime *runtime = rig_runtime(true, (const char *[]){ refused, NULL });
    need(tn_model_open(path, NULL, &model, &err), &err);
    tlm_context *whole = context_on(runtime, model, "cpu0"),
                *simple = context_on(runtime, model, "partial0");
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(whole, &info);
    int32_t ids[20];
    for (int i = 0; i < 20; i++)
        ids[i] = (5 + 37 * i) % (int)info.vocabulary;
    double worst = 0, square = 0;
    for (int step = 0; step < 5; step++) {
        const float *want, *got;
        uint32_t count = step ? 1 : 16;
        const int32_t *next = step ? &ids[15 + step] : ids;
        need(tlm_eval(whole, next, count, &want, &err), &err);
        need(tlm_eval(simple, next, count, &got, &err), &err);
        for (uint32_t v = 0; v < info.vocabulary; v++) {
            double difference = fabs((double)got[v] - (double)want[v]);
            worst = difference > worst ? difference : worst;
            square += (double)want[v] * (double)want[v];
        }
    }
    double spread = sqrt(square / (5.0 * info.vocabulary));
    if (!(worst <= 2e-3 * spread))
        fail_msg("%s: a logit differs by %g, they are about %g", path, worst, spread);
    assert_non_null(strstr(rig_explain(tlm_context_session(simple)), "decomposed"));
    tlm_context_destroy(whole);
    tlm_context_destroy(simple);
    tn_model_close(model);
    tn_runtime_destroy(runtime);
}

// A small model of every architecture, and the embedded one. All ops are refused but those that
// sdk/docs/refusing.md names as enough for a language model.
static void eighteen_ops_run_every_model(void **state)
{
    (void)state;
    static const tnp_op enough[] = {
        TNP_OP_ADD,    TNP_OP_SUB,    TNP_OP_MUL,      TNP_OP_DIV,      TNP_OP_SCALE,
        TNP_OP_SQRT,   TNP_OP_EXP,    TNP_OP_LOG,      TNP_OP_SIN,      TNP_OP_COS,
        TNP_OP_CLAMP,  TNP_OP_MATMUL, TNP_OP_GET_ROWS, TNP_OP_SET_ROWS, TNP_OP_CONVERT,
        TNP_OP_CONCAT, TNP_OP_SUM,    TNP_OP_MAX,
    };
    char refused[512] = REFUSE;
    for (tnp_op op = 1; op < 128; op++) {
        bool is_enough = false;
        for (size_t i = 0; i < sizeof enough / sizeof enough[0]; i++)
            is_enough |= enough[i] == op;
        if (!is_enough)
            append_op(refused, sizeof refused, op);
    }
    static const char *const paths[] = { TEST_MODEL,
                                         TEST_ARCHITECTURES "/llama.gguf",
                                         TEST_ARCHITECTURES "/llama_full.gguf",
                                         TEST_ARCHITECTURES "/llama_plain.gguf",
                                         TEST_ARCHITECTURES "/gemma3.gguf",
                                         TEST_ARCHITECTURES "/gemma3_listed.gguf",
                                         TEST_ARCHITECTURES "/qwen2.gguf",
                                         TEST_ARCHITECTURES "/qwen3.gguf",
                                         TEST_ARCHITECTURES "/qwen3_yarn.gguf" };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        need_same_logits(refused, paths[i]);
}

// ------------------------------------------------------------------------------------------ memory

typedef struct fixture {
    tn_runtime *runtime;
    tn_graph *graph;
    tn_device *devices[2];
} fixture;

static tn_status make_session(const tn_allocator *allocator, void *context)
{
    const fixture *f = context;
    tn_session_options options = {
        .size = sizeof options, .device_count = 2, .devices = f->devices, .allocator = allocator
    };
    tn_session *session = NULL;
    tn_error err = { 0 };
    tn_status status = tn_session_create(f->runtime, (const tn_graph *[]){ f->graph }, 1, &options,
                                         &session, &err);
    assert_int_equal(session != NULL, status == TN_OK);
    if (status != TN_OK && (status != TN_E_HOST_MEMORY || !*err.text))
        fail_msg("%s: \"%s\"", tn_status_name(status), err.text);
    if (status == TN_OK) {
        failing_alloc *failing = (failing_alloc *)allocator->context;
        uint64_t calls = failing->calls;
        float out[WIDTH * TOKENS];
        run_model(session, f->graph, out);
        assert_int_equal(failing->calls, calls);   // a run allocates nothing
    }
    tn_session_destroy(session);
    return status;
}

static void memory_that_is_not_there_is_a_status(void **state)
{
    (void)state;
    fixture f = { .runtime = rig_runtime(true, (const char *[]){ refuse_all, GPU, FAST, NULL }) };
    f.devices[0] = rig_device(f.runtime, "partial0");
    f.devices[1] = rig_device(f.runtime, "cpu0");
    f.graph = make_model();
    for_each_failing_allocation(make_session, &f);
    tn_graph_destroy(f.graph);
    tn_runtime_destroy(f.runtime);
    assert_string_equal(rig_log(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_variants_give_what_the_kernel_gives),
        cmocka_unit_test(nodes_run_where_they_should),
        cmocka_unit_test(what_nobody_takes_either_way_is_told_as_it_was_built),
        cmocka_unit_test(eighteen_ops_run_every_model),
        cmocka_unit_test(memory_that_is_not_there_is_a_status),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
