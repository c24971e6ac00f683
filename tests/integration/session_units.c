// Nodes that the CPU plugin takes together, and the same ones by one: the bits have to be the same,
// for every number of tokens and threads, packed or not; and what passes between them gets no
// memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"

enum { WIDTH = 512, MOST_ROWS = 200, MOST_TOKENS = 70, MOST_BYTES = MOST_ROWS * WIDTH * 2 };

// A type of weights, and where halves stand alone in its blocks.
static const struct {
    tn_dtype dtype;
    uint32_t elements, bytes, halves, first_half;
} types[] = {
    { TN_DTYPE_Q4_0, 32, 18, 1, 0 },     { TN_DTYPE_Q4_1, 32, 20, 2, 0 },
    { TN_DTYPE_Q5_1, 32, 24, 2, 0 },     { TN_DTYPE_Q8_0, 32, 34, 1, 0 },
    { TN_DTYPE_IQ4_NL, 32, 18, 1, 0 },   { TN_DTYPE_Q2_K, 256, 84, 2, 80 },
    { TN_DTYPE_Q3_K, 256, 110, 1, 108 }, { TN_DTYPE_Q4_K, 256, 144, 2, 0 },
    { TN_DTYPE_Q6_K, 256, 210, 1, 208 },
};

static char weights[3][MOST_BYTES];
static float x[WIDTH * MOST_TOKENS], norm_weight[WIDTH];

static void fill_weight(size_t type, int64_t rows, uint32_t seed, char *to)
{
    const uint32_t blocks = (uint32_t)rows * WIDTH / types[type].elements;
    for (uint32_t b = 0; b < blocks; b++, to += types[type].bytes) {
        for (uint32_t i = 0; i < types[type].bytes; i++)
            to[i] = (char)((seed = seed * 1664525 + 1013904223) >> 24);
        for (uint32_t h = 0; h < types[type].halves; h++)
            memcpy(to + types[type].first_half + 2 * h, (const char[]){ (char)(b + h), 0x1c }, 2);
    }
}

typedef struct unit {
    const char *name;   // in a report, when its nodes are one
    uint32_t products;
    int64_t rows[3];
    bool is_normed, has_norm_weight;
    tnp_op tail;       // what takes the products; 0 = nothing
    bool is_swapped;   // up comes before gate; the product before what it is added to
} unit;

static const unit units[] = {
    { "matmul+matmul+matmul", 3, { 200, 64, 72 }, false, false, 0, false },
    { "rms_norm+matmul+matmul+matmul", 3, { 96, 33, 32 }, true, true, 0, false },
    { "rms_norm+matmul+matmul", 2, { 104, 8 }, true, false, 0, false },
    { "rms_norm+matmul", 1, { 120 }, true, true, 0, false },
    { "matmul+matmul+swiglu", 2, { 168, 168 }, false, false, TNP_OP_SWIGLU, false },
    { "rms_norm+matmul+matmul+geglu", 2, { 70, 70 }, true, true, TNP_OP_GEGLU, true },
    { "rms_norm+matmul+matmul+reglu", 2, { 136, 136 }, true, false, TNP_OP_REGLU, false },
    { "matmul+add", 1, { 184 }, false, false, TNP_OP_ADD, true },
    { "rms_norm+matmul+add", 1, { 66 }, true, true, TNP_OP_ADD, false },
};

static tn_graph *make_graph(const unit *u, size_t type, int64_t tokens)
{
    tn_graph *graph = rig_graph();
    const tnp_norm_attr norm = { sizeof norm, 1e-5f };
    tn_value made[3], operand[2];
    tn_value in = rig_input(graph, "x", 2, WIDTH, tokens, 1);
    // A norm of what enters would have it to itself; most in a model share it.
    operand[0] = rig_op(graph, TNP_OP_TANH, in);
    if (u->is_normed) {
        if (u->has_norm_weight)
            operand[1] = tn_graph_weight(graph, "norm", TN_DTYPE_F32, 1, (int64_t[]){ WIDTH },
                                         norm_weight, sizeof norm_weight);
        operand[0] = tn_graph_op(graph, TNP_OP_RMS_NORM, NULL, operand, 1 + u->has_norm_weight,
                                 &norm);
    }
    for (uint32_t i = 0; i < u->products; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%u", i);
        operand[1] = tn_graph_weight(
            graph, name, types[type].dtype, 2, (int64_t[]){ WIDTH, u->rows[i] }, weights[i],
            (uint64_t)u->rows[i] * WIDTH / types[type].elements * types[type].bytes);
        made[i] = tn_graph_op(graph, TNP_OP_MATMUL, i == 0 ? "first" : NULL, operand, 2, NULL);
    }
    if (u->tail == TNP_OP_ADD)
        made[1] = rig_op(graph, TNP_OP_TANH,
                         tn_graph_weight(graph, "rest", TN_DTYPE_F32, 2,
                                         (int64_t[]){ u->rows[0], tokens }, x,
                                         (uint64_t)(u->rows[0] * tokens) * sizeof *x));
    if (u->tail) {
        const tn_value pair[] = { made[u->is_swapped], made[!u->is_swapped] };
        rig_finish(graph, tn_graph_op(graph, u->tail, NULL, pair, 2, NULL));
        return graph;
    }
    for (uint32_t i = 1; i < u->products; i++) {
        char name[16];
        snprintf(name, sizeof name, "out%u", i);
        tn_graph_output(graph, name, made[i]);
    }
    rig_finish(graph, made[0]);
    return graph;
}

typedef struct results {
    float out[3][MOST_ROWS * MOST_TOKENS];
    bool is_together;
    bool has_first;   // the first product has bytes
} results;

static void add_text(void *context, const char *text, size_t size)
{
    strncat(context, text, size);
}

// Whether the plan has the first product in the unit of all nodes.
static bool are_together(const tn_session *session, const unit *u)
{
    char told[4096] = "", chosen[128];
    tn_error err = { 0 };
    const tn_sink sink = { told, add_text };
    if (tn_session_explain_name(session, 0, "first", &sink, &err) != TN_OK)
        fail_msg("%s", err.text);
    snprintf(chosen, sizeof chosen, " as '%s', with", u->name);
    const char *at = strstr(told, chosen), *end = at ? strchr(at, '\n') : NULL;
    return end && strncmp(end - 8, ", chosen", 8) == 0;
}

static void run(tn_runtime *runtime, const unit *u, size_t type, int64_t tokens, results *to)
{
    tn_graph *graph = make_graph(u, type, tokens);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    memset(to, 0, sizeof *to);
    rig_run(session, 0, graph, "x", x, (uint64_t)(WIDTH * tokens) * sizeof *x, NULL);
    for (uint32_t i = 0; i < (u->tail ? 1 : u->products); i++)
        rig_read(session, 0, graph, (const char *[]){ "out", "out1", "out2" }[i], to->out[i],
                 (uint64_t)(u->rows[i] * tokens) * sizeof(float));
    to->is_together = are_together(session, u);
    to->has_first = strstr(rig_plan(session, 0), ": first ") != NULL;
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

static tn_runtime *start(const char *threads, const char *fuse, const char *repack)
{
    return rig_runtime(
        false, (const char *[]){ threads, "plugin.cpu.activations=q8", fuse, repack, NULL });
}

static results alone, together;

static void nodes_taken_together_give_the_bits_of_each(void **state)
{
    static const int64_t tokens[] = { 1, 2, 33, MOST_TOKENS };
    (void)state;
    tn_runtime *one_by_one = start("threads=1", "plugin.cpu.fuse=off", "plugin.cpu.repack=off");
    for (int threads = 1; threads <= 3; threads++)
        for (int is_packed = 0; is_packed < 2; is_packed++) {
            char setting[16];
            snprintf(setting, sizeof setting, "threads=%d", threads);
            tn_runtime *runtime = start(setting, "plugin.cpu.fuse=on",
                                        is_packed ? "plugin.cpu.repack=on"
                                                  : "plugin.cpu.repack=off");
            for (size_t u = 0; u < sizeof units / sizeof *units; u++)
                for (size_t t = 0; t < sizeof tokens / sizeof *tokens; t++) {
                    const size_t type = (u + t) % (sizeof types / sizeof *types);
                    for (uint32_t i = 0; i < units[u].products; i++)
                        fill_weight(type, units[u].rows[i], 7 * i + 1, weights[i]);
                    run(one_by_one, &units[u], type, tokens[t], &alone);
                    run(runtime, &units[u], type, tokens[t], &together);
                    if (memcmp(alone.out, together.out, sizeof alone.out) != 0)
                        fail_msg("%s: other bits for %d tokens, type %u, %d threads, %s",
                                 units[u].name, (int)tokens[t], types[type].dtype, threads,
                                 is_packed ? "packed" : "as it is");
                }
            tn_runtime_destroy(runtime);
        }
    tn_runtime_destroy(one_by_one);
}

static void what_passes_between_nodes_taken_together_gets_no_memory(void **state)
{
    (void)state;
    tn_runtime *runtimes[] = { start("threads=1", "plugin.cpu.fuse=off", "plugin.cpu.repack=on"),
                               start("threads=1", "plugin.cpu.fuse=on", "plugin.cpu.repack=on") };
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        fill_weight(1, MOST_ROWS, 1, weights[0]);
        run(runtimes[0], &units[u], 1, MOST_TOKENS, &alone);
        run(runtimes[1], &units[u], 1, MOST_TOKENS, &together);
        if (alone.is_together || !together.is_together)
            fail_msg("%s: the nodes are one: %d and %d", units[u].name, alone.is_together,
                     together.is_together);
        if (units[u].tail && (!alone.has_first || together.has_first))
            fail_msg("%s: the first product has bytes: %d and %d", units[u].name, alone.has_first,
                     together.has_first);
    }
    tn_runtime_destroy(runtimes[0]);
    tn_runtime_destroy(runtimes[1]);
}

static int fill(void **state)
{
    (void)state;
    rig_fill(x, WIDTH * MOST_TOKENS, 5);
    rig_fill(norm_weight, WIDTH, 6);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_taken_together_give_the_bits_of_each),
        cmocka_unit_test(what_passes_between_nodes_taken_together_gets_no_memory),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
