// Which layers graphs have, what they keep, and that there has to be a place for them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sched/placement.h"
#include "sched_test.h"

static rig r;

// Two GPUs and a CPU.
static int begin(void **state)
{
    (void)state;
    rig_begin(&r, 3);
    r.devices[0].info.kind = r.devices[1].info.kind = TNP_KIND_GPU;
    r.devices[2].info.kind = TNP_KIND_CPU;
    return 0;
}

static int end(void **state)
{
    (void)state;
    rig_end(&r);
    return 0;
}

static tni_layers find(const tn_graph *const *graphs, uint32_t count, uint32_t split_mode)
{
    tn_placement asked = { .size = sizeof asked, .split_mode = split_mode };
    tni_placement p;
    tni_layers layers;
    assert_int_equal(tni_placement_take(&asked, r.list, 3, &r.arena, &p, &r.err), TN_OK);
    assert_int_equal(tni_layers_find(graphs, count, &p, &r.arena, &layers, &r.err), TN_OK);
    return layers;
}

// Layer 7 has w (48 bytes) and a state of 96; layer 3 has w too, and v as part 1.
static void what_several_layers_touch_is_of_the_first(void **state)
{
    (void)state;
    static const float data[2][12];
    tn_value x = rig_input(&r, "x");
    tn_value w = tn_graph_weight(r.graph, "w", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 }, data[0],
                                 sizeof data[0]);
    tn_value v = tn_graph_weight(r.graph, "v", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 }, data[1],
                                 sizeof data[1]);
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 3, (int64_t[]){ 4, 3, 2 });
    tn_graph_mark(r.graph, 7, TN_NO_PART);
    tn_value y = tn_graph_mul(r.graph, x, w);
    tn_graph_output(r.graph, "of the state", rig_op(&r, TNP_OP_NEG, s));
    tn_graph_mark(r.graph, 3, TN_NO_PART);
    y = tn_graph_mul(r.graph, y, w);
    tn_graph_mark(r.graph, 3, 1);
    rig_finish(&r, tn_graph_mul(r.graph, y, v));
    const tn_graph *graphs[] = { r.graph, r.graph };
    tni_layers layers = find(graphs, 2, TN_SPLIT_LAYER);   // the most of any graph, not the sum
    assert_int_equal(layers.count, 2);
    assert_int_equal(layers.part_count, 0);
    assert_int_equal(tni_layers_index(&layers, 3), 0);
    assert_int_equal(tni_layers_index(&layers, 7), 1);
    assert_int_equal(tni_layers_index(&layers, 5), TNP_NONE);
    assert_int_equal(layers.bytes[0], 48 + 48);
    assert_int_equal(layers.bytes[1], 96);
    layers = find(graphs, 1, TN_SPLIT_ROW);
    assert_int_equal(layers.part_count, 2);
    static const uint64_t parts[] = { 0, 48, 48, 0, 0, 96 };
    assert_memory_equal(layers.part_bytes, parts, sizeof parts);
}

static void layers_for_a_cpu_that_is_not_there_are_refused(void **state)
{
    (void)state;
    const uint64_t free_bytes[] = { 1000, 1000, 1000 };
    tn_value out[RIG_LAYERS];
    rig_make_layers(&r, out);
    tn_placement asked = { .size = sizeof asked, .layer_rule = TN_LAYERS_COUNT, .gpu_layers = 2 };
    tni_placement p;
    tni_layers layers;
    assert_int_equal(tni_placement_take(&asked, r.list, 2, &r.arena, &p, &r.err), TN_OK);
    assert_int_equal(
        tni_layers_find((const tn_graph *[]){ r.graph }, 1, &p, &r.arena, &layers, &r.err), TN_OK);
    assert_int_equal(tni_layers_place(&p, r.list, 2, free_bytes, 2, &r.arena, &layers, &r.err),
                     TN_E_ARG);
    assert_non_null(strstr(r.err.text, "3 of 5 layers are not for the devices of the split"));
    assert_int_equal(tni_layers_place(&p, r.list, 3, free_bytes, 2, &r.arena, &layers, &r.err),
                     TN_OK);
    for (uint32_t i = 0; i < RIG_LAYERS; i++)
        assert_int_equal(layers.wishes[i], i < 3 ? 4 : 3);
}

int main(void)
{
#define IN_RIG(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        IN_RIG(what_several_layers_touch_is_of_the_first),
        IN_RIG(layers_for_a_cpu_that_is_not_there_are_refused),
    };
#undef IN_RIG
    return cmocka_run_group_tests(tests, NULL, NULL);
}
