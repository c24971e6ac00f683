// Composite ops against their decompositions, by the reference; and what holds for the graph that
// is made.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "composites.h"
#include "failing_alloc.h"
#include "graph/decompose.h"
#include "graph_test.h"
#include "interpret.h"

static tn_graph *decompose(const tn_graph *graph, tni_composites ops)
{
    tn_graph *made = NULL;
    tn_error err = { 0 };
    tni_composites *into = calloc(graph->node_count + 1, sizeof *into);
    for (uint32_t n = 0; n < graph->node_count; n++)
        into[n] = ops;
    if (tni_graph_decompose(graph, into, NULL, &made, &err) != TN_OK)
        fail_msg("%s", err.text);
    free(into);
    return made;
}

static void run(const composite_graph *c, const tn_graph *graph, float *out)
{
    interpreter it = interpret_begin(graph);
    for (unsigned i = 0; i < c->input_count; i++)
        interpret_feed(&it, c->inputs[i].name, c->inputs[i].data, c->inputs[i].bytes);
    interpret_run(&it);
    memcpy(out, interpret_bytes(&it, tn_graph_find(graph, "out").index), c->elements * sizeof *out);
    interpret_end(&it);
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// What was there is as it was; what is new is of the op, and says so.
static void check_graph(const composite *c, const tn_graph *before, const tn_graph *after,
                        bool is_whole)
{
    assert_int_equal(before->generation, after->generation);
    assert_true(after->node_count > before->node_count || c->op == TNP_OP_NEG ||
                c->op == TNP_OP_SQR || c->op == TNP_OP_RELU);
    for (uint32_t v = 0; v < before->value_count; v++) {
        const tni_value *old = &before->values[v], *same = &after->values[v];
        assert_string_equal(old->name, same->name);
        assert_int_equal(old->storage, same->storage);
        assert_int_equal(old->source, same->source);
        assert_memory_equal(old->dims, same->dims, sizeof old->dims);
        assert_memory_equal(old->extent, same->extent, sizeof old->extent);
    }
    for (uint32_t v = before->value_count; v < after->value_count; v++)
        if (!begins_with(after->values[v].name, "it/"))
            fail_msg("%s: a new value is named '%s'", c->says, after->values[v].name);
    for (uint32_t n = 0; n < after->node_count; n++) {
        const tni_node *node = &after->nodes[n];
        bool is_of_it = before->nodes[node->origin].op == c->op;
        if (is_of_it != begins_with(node->name, "it"))
            fail_msg("%s: '%s' comes from '%s'", c->says, node->name,
                     before->nodes[node->origin].name);
        if (node->op == c->op || (is_whole && tni_composites_of(after, node)))
            fail_msg("%s: %s '%s' is left", c->says, tni_op_find(node->op)->name, node->name);
    }
}

static void all_variants_give_what_the_composite_gives(void **state)
{
    (void)state;
    for (unsigned i = 0; i < composite_case_count; i++) {
        const composite *c = &composite_cases[i];
        composite_graph made = composite_make(c);
        float *want = calloc(made.elements, sizeof *want),
              *got = calloc(made.elements, sizeof *got);
        run(&made, made.graph, want);
        uint32_t it = test_node(made.graph, made.result);
        const tni_composites sets[] = { tni_composites_of(made.graph, &made.graph->nodes[it]),
                                        TNI_ALL_COMPOSITES };
        for (unsigned s = 0; s < TN_COUNT_OF(sets); s++) {
            tn_graph *simple = decompose(made.graph, sets[s]);
            check_graph(c, made.graph, simple, s == 1);
            run(&made, simple, got);
            composite_compare(c, &made, s ? "all the way" : "one level", got, want);
            tn_graph_destroy(simple);
        }
        free(want);
        free(got);
        composite_drop(&made);
    }
}

// ------------------------------------------------------------------------------------ what is made

static const tnp_attention_attr causal = { .size = sizeof causal,
                                           .flags = TNP_ATTENTION_CAUSAL,
                                           .scale = 0.5f };
static const tnp_rope_attr turn = { .size = sizeof turn, .rot_dims = 4, .base = 10000, .scale = 1 };

static uint32_t count_named(const tn_graph *graph, const char *end)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const char *name = graph->nodes[n].name;
        size_t bytes = strlen(name), tail = strlen(end);
        count += bytes >= tail && strcmp(name + bytes - tail, end) == 0;
    }
    return count;
}

static tn_value attend(tn_graph *graph, const char *name, tn_value q, tn_value cache,
                       tn_value position)
{
    return tn_graph_op(graph, TNP_OP_ATTENTION, name, (tn_value[]){ q, cache, cache, position }, 4,
                       &causal);
}

static void names_tell_where_a_value_comes_from(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value q = test_value(graph, "q", "F32 {4, 2, 3}"),
             k = test_value(graph, "k", "F32 {4, 2, 5}");
    test_finish(graph, attend(graph, "attn.0", q, k, test_value(graph, "p", "I32 {3}")));
    tn_graph *simple = decompose(graph, TNI_ALL_COMPOSITES);
    static const char *const names[] = { "attn.0/scores",  "attn.0/sight",    "attn.0/softmax/exp",
                                         "attn.0/softmax", "attn.0/weighted", "attn.0" };
    for (size_t i = 0; i < TN_COUNT_OF(names); i++)
        if (count_named(simple, names[i]) != 1)
            fail_msg("no node is named '%s'", names[i]);
    tn_graph_destroy(simple);
    tn_graph_destroy(graph);
}

static void what_was_given_is_not_changed(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F16 {4, 3}");
    tn_value y = tn_graph_op(graph, TNP_OP_GEGLU, NULL, (tn_value[]){ x, x }, 2, NULL);
    test_finish(graph, y);
    tn_graph before = *graph;
    tni_node node = graph->nodes[0];
    tn_graph *simple = decompose(graph, TNI_ALL_COMPOSITES);
    tn_graph_destroy(simple);
    assert_memory_equal(&before, graph, sizeof before);
    assert_memory_equal(&node, &graph->nodes[0], sizeof node);
    tn_graph_destroy(graph);
}

static void a_cache_is_read_after_it_is_written(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value cache = tn_graph_state(graph, "cache", TN_DTYPE_F16, 2, (int64_t[]){ 8, 5 });
    tn_value heads = tn_graph_reshape(graph, cache, 3, (int64_t[]){ 4, 2, 5 });
    tn_value q = test_value(graph, "q", "F32 {4, 2, 3}"), p = test_value(graph, "p", "I32 {3}");
    tn_value before = attend(graph, "before", q, heads, p);
    tn_value written = tn_graph_set_rows(graph, cache,
                                         tn_graph_reshape(graph, q, 2, (int64_t[]){ 8, 3 }), p);
    tn_value after = attend(graph, "after", q, heads, p);   // by the handle from before the write
    tn_graph_output(graph, "before", before);
    test_finish(graph, after);
    tn_graph *simple = decompose(graph, TNI_ALL_COMPOSITES);
    uint32_t write = test_node(simple, written);
    assert_true(test_is_after(simple, test_node(simple, after), write));
    for (uint32_t n = 0; n < simple->node_count; n++) {
        const char *name = simple->nodes[n].name;
        if (strcmp(name, "after/scores") == 0 || strcmp(name, "after/values") == 0)
            assert_true(test_is_after(simple, n, write));
        if (strcmp(name, "before/scores") == 0 || strcmp(name, "before/values") == 0)
            assert_true(test_is_after(simple, write, n));
    }
    tn_graph_destroy(simple);
    tn_graph_destroy(graph);
}

static void waves_and_masks_in_common_are_made_once(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value p = test_value(graph, "p", "I32 {3}"), other = test_value(graph, "other", "I32 {3}");
    tn_value x = test_value(graph, "x", "F32 {4, 2, 3}"),
             k = test_value(graph, "k", "F32 {4, 2, 5}");
    tnp_rope_attr slow = turn;
    slow.base = 500000;
    tn_value a = tn_graph_rope(graph, x, p, TN_NO_VALUE, &turn);
    tn_value b = tn_graph_rope(graph, k, test_value(graph, "pk", "I32 {5}"), TN_NO_VALUE, &turn);
    a = tn_graph_rope(graph, a, p, TN_NO_VALUE, &turn);   // as the first
    a = tn_graph_rope(graph, a, other, TN_NO_VALUE, &turn);
    a = tn_graph_rope(graph, a, p, TN_NO_VALUE, &slow);
    for (int i = 0; i < 3; i++)
        a = attend(graph, NULL, a, b, i == 2 ? other : p);
    test_finish(graph, a);
    tn_graph *simple = decompose(graph, TNI_ALL_COMPOSITES);
    assert_int_equal(count_named(simple, "/cos"), 4);     // x and k, other, slow
    assert_int_equal(count_named(simple, "/sight"), 2);   // p, other
    tn_graph_destroy(simple);
    tn_graph_destroy(graph);
}

static void what_a_state_holds_is_looked_at_anew(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value p = tn_graph_state(graph, "p", TN_DTYPE_I32, 2, (int64_t[]){ 1, 3 });
    tn_value position = tn_graph_reshape(graph, p, 1, (int64_t[]){ 3 });
    tn_value x = test_value(graph, "x", "F32 {4, 2, 3}");
    x = tn_graph_rope(graph, x, position, TN_NO_VALUE, &turn);
    (void)tn_graph_set_rows(graph, p, test_value(graph, "r", "F32 {1, 1}"),
                            test_value(graph, "i", "I32 {1}"));
    test_finish(graph, tn_graph_rope(graph, x, position, TN_NO_VALUE, &turn));
    tn_graph *simple = decompose(graph, TNI_ALL_COMPOSITES);
    assert_int_equal(count_named(simple, "/cos"), 2);
    tn_graph_destroy(simple);
    tn_graph_destroy(graph);
}

// Shapes, or lengths, that the steps cannot have.
static void some_are_left_whole(void **state)
{
    (void)state;
    const struct {
        const char *says, *in[3];
        tnp_op op;
        const void *attr;
    } cases[] = {
        { "an op that is no composite", { "F32 {4, 3}" }, TNP_OP_GELU_ERF, NULL },
        { "a mean of as many as a run tells",
          { "F32 {4 of n, 3}" },
          TNP_OP_MEAN,
          &(tnp_axis_attr){ sizeof(tnp_axis_attr), 0 } },
        { "slopes of as many heads as a run tells",
          { "F32 {4, 3, 2 of n}", "F32 {4, 3}" },
          TNP_OP_SOFTMAX,
          &(tnp_softmax_attr){
              .size = sizeof(tnp_softmax_attr), .scale = 1, .alibi_max_bias = 8 } },
        { "factors that are no weight",
          { "F32 {4, 2, 3}", "I32 {3}", "F32 {2}" },
          TNP_OP_ROPE,
          &turn },
        { "no dim is left for pairs",
          { "F32 {4, 2, 3, 1, 1, 1, 1, 2}", "I32 {3}" },
          TNP_OP_ROPE,
          &turn },
        { "a weight of which not all counts",
          { "F32 {4, 3}", "F32 {4 of n}" },
          TNP_OP_RMS_NORM,
          &(tnp_norm_attr){ sizeof(tnp_norm_attr), 0 } },
    };
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_graph *graph = test_graph();
        tn_value in[3];
        uint32_t count = 0;
        for (; count < 3 && cases[i].in[count]; count++)
            in[count] = test_value(graph, (char[]){ (char)('a' + count), 0 }, cases[i].in[count]);
        tn_value out = tn_graph_op(graph, cases[i].op, "it", in, count, cases[i].attr);
        test_finish(graph, out);
        if (tni_composites_of(graph, &graph->nodes[test_node(graph, out)]))
            fail_msg("%s: it is decomposed", cases[i].says);
        tn_graph *same = decompose(graph, TNI_ALL_COMPOSITES);
        assert_int_equal(same->fingerprint, graph->fingerprint);
        tn_graph_destroy(same);
        tn_graph_destroy(graph);
    }
}

// A sink is one more score of each head, and no value.
static void sinks_take_their_share(void **state)
{
    (void)state;
    enum { D = 2, H = 2, S = 3 };
    static const float sinks[H] = { 0.5f, 7 };
    float q[D * H] = { 1, -1, 0.5f, 2 }, k[D * H * S], v[D * H * S], want[D * H], got[D * H];
    const int32_t position = 1;   // sees two of the three
    for (int i = 0; i < D * H * S; i++) {
        k[i] = (float)(i % 5) - 2;
        v[i] = (float)(i % 7) - 3;
    }
    for (int h = 0; h < H; h++) {
        double sum = exp((double)sinks[h]), out[D] = { 0 };
        for (int s = 0; s <= position; s++) {
            double score = 0;
            for (int d = 0; d < D; d++)
                score += 0.5 * (double)(q[h * D + d] * k[(s * H + h) * D + d]);
            sum += exp(score);
            for (int d = 0; d < D; d++)
                out[d] += exp(score) * (double)v[(s * H + h) * D + d];
        }
        for (int d = 0; d < D; d++)
            want[h * D + d] = (float)(out[d] / sum);
    }
    tn_graph *graph = test_graph();
    tn_value in[6] = { test_value(graph, "q", "F32 {2, 2, 1}"),
                       test_value(graph, "k", "F32 {2, 2, 3}"),
                       test_value(graph, "v", "F32 {2, 2, 3}"),
                       test_value(graph, "p", "I32 {1}"),
                       TN_NO_VALUE,
                       tn_graph_weight(graph, "sinks", TN_DTYPE_F32, 1, (int64_t[]){ H }, sinks,
                                       sizeof sinks) };
    test_finish(graph, tn_graph_op(graph, TNP_OP_ATTENTION, "it", in, 6, &causal));
    tn_graph *simple = decompose(graph, TNI_ALL_COMPOSITES);
    interpreter it = interpret_begin(simple);
    interpret_feed(&it, "q", q, sizeof q);
    interpret_feed(&it, "k", k, sizeof k);
    interpret_feed(&it, "v", v, sizeof v);
    interpret_feed(&it, "p", &position, sizeof position);
    interpret_run(&it);
    interpret_read(&it, tn_graph_find(simple, "out").index, got, D * H);
    for (int i = 0; i < D * H; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= 1e-5))
            fail_msg("element %d is %g, not %g", i, (double)got[i], (double)want[i]);
    interpret_end(&it);
    tn_graph_destroy(simple);
    tn_graph_destroy(graph);
}

static tn_status decompose_with(const tn_allocator *allocator, void *context)
{
    const tn_graph *graph = context;
    tn_graph *made = NULL;
    tn_error err = { 0 };
    tni_composites into[8];
    for (int i = 0; i < 8; i++)
        into[i] = TNI_ALL_COMPOSITES;
    tn_status status = tni_graph_decompose(graph, into, allocator, &made, &err);
    assert_int_equal(made != NULL, status == TN_OK);
    if (status != TN_OK && (status != TN_E_HOST_MEMORY || !*err.text))
        fail_msg("%s: \"%s\"", tn_status_name(status), err.text);
    tn_graph_destroy(made);
    return status;
}

static void memory_that_is_not_there_is_a_status(void **state)
{
    (void)state;
    tn_graph *graph = test_graph();
    tn_value x = test_value(graph, "x", "F16 {4, 2, 3}"), p = test_value(graph, "p", "I32 {3}");
    tn_value mask = test_value(graph, "mask", "F32 {4, 2}");
    tnp_softmax_attr slopes = { .size = sizeof slopes, .scale = 1, .alibi_max_bias = 8 };
    tn_value y = tn_graph_rope(graph, x, p, TN_NO_VALUE, &turn);
    y = attend(graph, NULL, y, y, p);
    y = tn_graph_op(graph, TNP_OP_SIGMOID, NULL, &y, 1, NULL);
    test_finish(graph,
                tn_graph_op(graph, TNP_OP_SOFTMAX, NULL, (tn_value[]){ y, mask }, 2, &slopes));
    for_each_failing_allocation(decompose_with, graph);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_variants_give_what_the_composite_gives),
        cmocka_unit_test(names_tell_where_a_value_comes_from),
        cmocka_unit_test(what_was_given_is_not_changed),
        cmocka_unit_test(a_cache_is_read_after_it_is_written),
        cmocka_unit_test(waves_and_masks_in_common_are_made_once),
        cmocka_unit_test(what_a_state_holds_is_looked_at_anew),
        cmocka_unit_test(some_are_left_whole),
        cmocka_unit_test(sinks_take_their_share),
        cmocka_unit_test(memory_that_is_not_there_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
