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

static tn_graph *decompose(const tn_graph *graph, tni_ops ops)
{
    tn_graph *made = NULL;
    tn_error err = { 0 };
    tni_ops *into = calloc(graph->node_count + 1, sizeof *into);
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
        if (node->op == c->op || (is_whole && tni_composite(after, node)))
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
        const tni_ops sets[] = { tni_composite(made.graph, &made.graph->nodes[it]),
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_variants_give_what_the_composite_gives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
