// What a placement asks of nodes, and what the schedule makes of it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "failing_alloc.h"
#include "sched/placement.h"
#include "sched_test.h"

static rig r;

// Two GPUs and a CPU, which all take everything for the same cost.
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

static uint32_t offloaded_of(const tni_placement *p, const tni_layers *layers)
{
    return p->layer_rule == TN_LAYERS_COUNT && p->gpu_layers < layers->count ? p->gpu_layers
                                                                             : layers->count;
}

// The schedule of r.graph under a placement.
static tn_status place(const tn_placement *asked, tni_arena *arena)
{
    static const uint64_t free_bytes[RIG_DEVICES] = { 3000, 1000, 500, 500 };
    tni_placement p;
    tni_layers layers;
    tni_rule *rules = tni_arena_take_array(arena, r.graph->node_count, sizeof *rules);
    tni_schedule_finish(&r.schedule);
    if (!rules)
        return TN_E_HOST_MEMORY;
    tn_status status = tni_placement_take(asked, r.list, r.device_count, arena, &p, &r.err);
    if (status == TN_OK)
        status = tni_layers_find((const tn_graph *[]){ r.graph }, 1, &p, arena, &layers, &r.err);
    if (status == TN_OK)
        status = tni_layers_place(&p, r.list, r.device_count, free_bytes, offloaded_of(&p, &layers),
                                  arena, &layers, &r.err);
    if (status == TN_OK)
        status = tni_placement_rules(&p, &layers, r.list, r.device_count, r.graph, rules, NULL,
                                     &r.err);
    tni_schedule_request request = {
        .graph = r.graph, .devices = r.list, .device_count = r.device_count, .rules = rules
    };
    return status == TN_OK ? tni_schedule_make(&request, arena, &r.schedule, &r.err) : status;
}

static void modes_say_where_layers_go(void **state)
{
    (void)state;
    static const struct {
        const char *says;
        uint32_t mode, rule, count;
        double shares[2];
        int main;            // -1 = none
        const char *where;   // by layer; '.' = any GPU
    } cases[] = {
        { "none", TN_SPLIT_NONE, TN_LAYERS_ALL, 0, { 0 }, -1, "00000" },
        { "none, the other one", TN_SPLIT_NONE, TN_LAYERS_ALL, 0, { 0 }, 1, "11111" },
        { "the last two", TN_SPLIT_NONE, TN_LAYERS_COUNT, 2, { 0 }, -1, "22200" },
        { "no layer", TN_SPLIT_NONE, TN_LAYERS_COUNT, 0, { 0 }, -1, "22222" },
        { "more than there are", TN_SPLIT_NONE, TN_LAYERS_COUNT, 99, { 0 }, 1, "11111" },
        { "shares", TN_SPLIT_LAYER, TN_LAYERS_ALL, 0, { 0.5, 1 }, -1, "00111" },
        { "a share of none", TN_SPLIT_LAYER, TN_LAYERS_ALL, 0, { 0, 1 }, -1, "11111" },
        { "one share for two", TN_SPLIT_LAYER, TN_LAYERS_ALL, 0, { 1, -1 }, -1, "00000" },
        { "shares of the last three", TN_SPLIT_LAYER, TN_LAYERS_COUNT, 3, { 1, 1 }, -1, "22001" },
        { "free memory, 3 : 1", TN_SPLIT_LAYER, TN_LAYERS_ALL, 0, { -1 }, -1, "00001" },
        { "GPUs as they like", TN_SPLIT_FREE, TN_LAYERS_COUNT, 2, { -1 }, -1, "222.." },
        { "rows without parts", TN_SPLIT_ROW, TN_LAYERS_COUNT, 4, { 1, 1 }, 1, "21111" },
    };
    tn_value out[RIG_LAYERS];
    rig_make_layers(&r, out);
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_placement asked = { .size = sizeof asked,
                               .split_mode = cases[i].mode,
                               .layer_rule = cases[i].rule,
                               .gpu_layers = cases[i].count,
                               .main_device = cases[i].main < 0 ? NULL : r.list[cases[i].main] };
        if (cases[i].mode == TN_SPLIT_LAYER || cases[i].mode == TN_SPLIT_ROW)
            while (asked.share_count < 2 && cases[i].shares[asked.share_count] >= 0)
                asked.share_count++;
        asked.shares = asked.share_count ? cases[i].shares : NULL;
        if (place(&asked, &r.arena) != TN_OK)
            fail_msg("%s: %s", cases[i].says, r.err.text);
        rig_check(&r);
        for (uint32_t k = 0; k < RIG_LAYERS; k++) {
            char got = (char)('0' + rig_place(&r, out[k])), want = cases[i].where[k];
            if (want == '.' ? got == '2' : got != want)
                fail_msg("%s: layer %u is on %c, not %c", cases[i].says, k, got, want);
            assert_int_equal(r.schedule.bars.why[rig_node(&r, out[k])], TNI_WHY_LAYER);
        }
    }
}

// Of a graph that divides its layers: each part on its device, the sum on the main one.
static void parts_go_to_the_devices_of_the_split_in_their_order(void **state)
{
    (void)state;
    tn_value x = rig_input(&r, "x"), parts[2];
    for (uint32_t p = 0; p < 2; p++) {
        tn_graph_mark(r.graph, 0, p);
        parts[p] = rig_op(&r, TNP_OP_NEG, x);
    }
    tn_graph_mark(r.graph, 0, TN_NO_PART);
    tn_value sum = tn_graph_add(r.graph, parts[0], parts[1]);
    tn_graph_mark(r.graph, 1, 7);   // the split has no such part
    tn_value more = rig_op(&r, TNP_OP_NEG, sum);
    rig_finish(&r, more);
    for (uint32_t mode = TN_SPLIT_ROW; mode <= TN_SPLIT_TENSOR; mode++)
        for (uint32_t main = 0; main < 2; main++) {
            tn_placement asked = { .size = sizeof asked,
                                   .split_mode = mode,
                                   .main_device = r.list[main] };
            assert_int_equal(place(&asked, &r.arena), TN_OK);
            assert_int_equal(rig_place(&r, parts[0]), 0);
            assert_int_equal(rig_place(&r, parts[1]), 1);
            assert_int_equal(rig_place(&r, sum), main);
            assert_int_equal(rig_place(&r, more), main);
        }
}

static void a_wish_gives_way_and_an_order_does_not(void **state)
{
    (void)state;
    tn_value out[RIG_LAYERS];
    rig_make_layers(&r, out);
    tn_placement wish = { .size = sizeof wish,
                          .split_mode = TN_SPLIT_NONE,
                          .layer_rule = TN_LAYERS_ALL };
    r.fakes[0].refused_ops[0] = TNP_OP_MUL;
    r.fakes[0].reason = "no products";
    assert_int_equal(place(&wish, &r.arena), TN_OK);
    for (uint32_t i = 0; i < RIG_LAYERS; i++)
        assert_true(rig_place(&r, out[i]) != 0);
    tn_pin pin = { "w3", r.list[0] };
    wish.pins = &pin;
    wish.pin_count = 1;
    assert_int_equal(place(&wish, &r.arena), TN_E_UNSUPPORTED);
    if (!strstr(r.err.text, "fake0: no products") ||
        !strstr(r.err.text, "fake1: it is ordered to be elsewhere"))
        fail_msg("%s", r.err.text);
    r.fakes[0].refused_ops[0] = 0;
    wish.main_device = r.list[1];
    assert_int_equal(place(&wish, &r.arena), TN_OK);
    for (uint32_t i = 0; i < RIG_LAYERS; i++) {
        assert_int_equal(rig_place(&r, out[i]), i == 3 ? 0 : 1);
        assert_int_equal(r.schedule.bars.why[rig_node(&r, out[i])],
                         i == 3 ? TNI_WHY_PINNED : TNI_WHY_LAYER);
    }
}

// What an output is called is a name for a pin too.
static void an_output_is_pinned_by_its_name(void **state)
{
    (void)state;
    tn_value y = rig_op(&r, TNP_OP_NEG, rig_input(&r, "x")), z = rig_op(&r, TNP_OP_ABS, y);
    tn_graph_output(r.graph, "result", z);
    rig_finish(&r, y);
    tn_placement asked = { .size = sizeof asked,
                           .pins = &(tn_pin){ "result", r.list[2] },
                           .pin_count = 1 };
    assert_int_equal(place(&asked, &r.arena), TN_OK);
    assert_int_equal(rig_place(&r, z), 2);
    assert_int_equal(r.schedule.bars.why[rig_node(&r, z)], TNI_WHY_PINNED);
    assert_int_equal(r.schedule.bars.why[rig_node(&r, y)], TNI_WHY_COST);
}

// A composite that the device refuses is said in simpler ops there before it goes elsewhere.
static void a_refused_composite_is_decomposed_where_it_is_wished(void **state)
{
    (void)state;
    tn_graph_mark(r.graph, 0, TN_NO_PART);
    tn_value y = rig_op(&r, TNP_OP_SILU, rig_input(&r, "x"));
    rig_finish(&r, y);
    r.fakes[1].refused_ops[0] = TNP_OP_SILU;
    tn_placement asked = { .size = sizeof asked,
                           .split_mode = TN_SPLIT_NONE,
                           .main_device = r.list[1] };
    tn_pin pin = { r.graph->values[y.index].name, r.list[1] };
    for (int ordered = 0; ordered < 2; ordered++) {
        assert_int_equal(place(&asked, &r.arena), TN_OK);
        assert_non_null(r.schedule.own_graph);
        for (uint32_t n = 0; n < r.schedule.graph->node_count; n++)
            assert_int_equal(r.schedule.places[n], 1);
        asked = (tn_placement){ .size = sizeof asked, .pins = &pin, .pin_count = 1 };
    }
}

static void states_go_to_the_device_of_states(void **state)
{
    (void)state;
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_graph_mark(r.graph, 0, TN_NO_PART);
    tn_value y = rig_op(&r, TNP_OP_NEG, s), z = rig_op(&r, TNP_OP_ABS, y);
    rig_finish(&r, z);
    tn_placement asked = { .size = sizeof asked,
                           .split_mode = TN_SPLIT_NONE,
                           .kv_device = r.list[2] };
    assert_int_equal(place(&asked, &r.arena), TN_OK);
    assert_int_equal(rig_place(&r, y), 2);
    assert_int_equal(rig_place(&r, z), 0);
}

// ------------------------------------------------------------------------------------------ errors

static void what_cannot_be_is_one_clear_line(void **state)
{
    (void)state;
    tn_device other = r.devices[0];
    snprintf(other.name, sizeof other.name, "other");
    static const double shares[] = { 1, 1, 1 }, negative[] = { 1, -1 }, zeros[] = { 0, 0 },
                        endless[] = { INFINITY };
    const tn_pin far = { "w0", &other }, nameless = { NULL, &other }, homeless = { "w0", NULL };
    const tn_pin both[] = { { "w0", r.list[0] }, { "x", r.list[1] }, { "x", r.list[0] } };
    const struct {
        tn_placement asked;
        const char *words;
    } cases[] = {
        { { .split_mode = 5 }, "placement: split_mode: 5 is not known" },
        { { .layer_rule = 3 }, "placement: layer_rule: 3 is not known" },
        { { .gpu_layers = 3 },
          "placement: gpu_layers: it is 3, but layer_rule is not TN_LAYERS_COUNT" },
        { { .share_count = 1 }, "shares is NULL" },
        { { .pin_count = 1 }, "pins is NULL" },
        { { .split_mode = TN_SPLIT_NONE, .share_count = 1, .shares = shares }, "shares are of" },
        { { .split_mode = TN_SPLIT_LAYER, .share_count = 3, .shares = shares },
          "3 shares are given, layers are divided over 2 devices" },
        { { .split_mode = TN_SPLIT_LAYER, .share_count = 2, .shares = negative }, "share 1 is -1" },
        { { .split_mode = TN_SPLIT_ROW, .share_count = 1, .shares = endless }, "share 0 is inf" },
        { { .split_mode = TN_SPLIT_LAYER, .share_count = 2, .shares = zeros }, "all shares are 0" },
        { { .main_device = r.list[0] }, "a main device is of the split modes" },
        { { .split_mode = TN_SPLIT_NONE, .main_device = &other }, "the main device other is not" },
        { { .kv_device = &other }, "the device of states other is not one of" },
        { { .pins = &far, .pin_count = 1 }, "a pin's device other is not one of" },
        { { .pins = &nameless, .pin_count = 1 }, "pin 0 has no value" },
        { { .pins = &homeless, .pin_count = 1 }, "pin 0 has no device" },
        { { .pins = both, .pin_count = 3 }, "is pinned to fake" },
    };
    tn_value x = rig_input(&r, "x");
    tn_value w = tn_graph_weight(r.graph, "w0", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 },
                                 rig_layer_weights[0], sizeof rig_layer_weights[0]);
    rig_finish(&r, tn_graph_mul(r.graph, x, w));
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        tn_placement asked = cases[i].asked;
        asked.size = sizeof asked;
        r.err = (tn_error){ 0 };
        assert_int_equal(place(&asked, &r.arena), TN_E_ARG);
        if (!strstr(r.err.text, cases[i].words) || strncmp(r.err.text, "placement: ", 11) != 0)
            fail_msg("\"%s\" does not say \"%s\"", r.err.text, cases[i].words);
    }
}

// Of a placement for three devices, when a session has to do without one.
static void what_names_a_device_that_is_gone_says_nothing(void **state)
{
    (void)state;
    tn_value out[RIG_LAYERS];
    rig_make_layers(&r, out);
    static const double shares[] = { 3, 1 };
    tn_pin pins[] = { { "w0", r.list[0] }, { "w1", r.list[1] } };
    tn_placement asked = { .size = sizeof asked,
                           .split_mode = TN_SPLIT_LAYER,
                           .shares = shares,
                           .share_count = 2,
                           .kv_device = r.list[0],
                           .pins = pins,
                           .pin_count = 2 };
    tni_placement p;
    tni_layers layers;
    tni_rule rules[RIG_LAYERS + 1];
    tn_device *left[] = { r.list[1], r.list[2] };
    uint64_t free_bytes[] = { 1, 1 };
    assert_int_equal(tni_placement_take(&asked, r.list, 3, &r.arena, &p, &r.err), TN_OK);
    assert_int_equal(
        tni_layers_find((const tn_graph *[]){ r.graph }, 1, &p, &r.arena, &layers, &r.err), TN_OK);
    assert_int_equal(tni_layers_place(&p, left, 2, free_bytes, 3, &r.arena, &layers, &r.err),
                     TN_OK);
    assert_int_equal(tni_placement_rules(&p, &layers, left, 2, r.graph, rules, NULL, &r.err),
                     TN_OK);
    for (uint32_t i = 0; i < RIG_LAYERS; i++)
        assert_true(rules[rig_node(&r, out[i])].wish == (i < 2 ? 2 : 1));
    assert_true(rules[rig_node(&r, out[0])].demand == UINT64_MAX);
    assert_true(rules[rig_node(&r, out[1])].demand == 1);
    // Without any of the split: nothing is wished but for the rest.
    assert_int_equal(tni_layers_place(&p, left + 1, 1, free_bytes, 3, &r.arena, &layers, &r.err),
                     TN_OK);
    assert_int_equal(tni_placement_rules(&p, &layers, left + 1, 1, r.graph, rules, NULL, &r.err),
                     TN_OK);
    assert_true(rules[rig_node(&r, out[0])].wish == 1);
}

// --------------------------------------------------------------------------------------- at random

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

// Of ops that are no composites.
static void make_random_graph(void)
{
    static const tnp_op ops[] = { TNP_OP_TANH, TNP_OP_ABS, TNP_OP_EXP, TNP_OP_SQRT };
    tn_value made[12];
    uint32_t count = 2 + draw(10);
    made[0] = rig_input(&r, "x");
    for (uint32_t i = 1; i < count; i++) {
        if (draw(2))
            tn_graph_mark(r.graph, draw(4), draw(3) ? TN_NO_PART : draw(3));
        tn_value a = made[draw(i)], b = made[draw(i)];
        made[i] = draw(3) ? rig_op(&r, ops[draw(4)], a) : tn_graph_add(r.graph, a, b);
        char name[8];
        snprintf(name, sizeof name, "o%u", i);
        tn_graph_output(r.graph, name, made[i]);
    }
    if (tn_graph_finish(r.graph, &r.err) != TN_OK)
        fail_msg("%s", r.err.text);
    for (uint32_t d = 0; d < 2; d++)   // the CPU takes everything
        for (uint32_t k = 0; k < draw(3); k++)
            r.fakes[d].refused_ops[k] = ops[draw(4)];
    for (uint32_t d = 0; d < 3; d++)
        r.fakes[d].cost_ns = 100 + draw(1000);
}

static bool takes(uint32_t place, tnp_op op)
{
    for (int i = 0; i < FAKE_OPS && r.fakes[place].refused_ops[i]; i++)
        if (r.fakes[place].refused_ops[i] == op)
            return false;
    return true;
}

static void place_at_random(uint32_t round)
{
    double shares[] = { draw(3), 1 + draw(3) };
    tni_placement p;
    tni_layers layers;
    tni_rule rules[16];
    uint64_t free_bytes[] = { draw(3) * 1000, draw(3) * 1000, 5000 };
    tn_pin pins[2];
    tn_placement asked = { .size = sizeof asked,
                           .split_mode = draw(5),
                           .layer_rule = draw(3),
                           .pins = pins,
                           .pin_count = draw(3) };
    asked.gpu_layers = asked.layer_rule == TN_LAYERS_COUNT ? draw(6) : 0;
    if (asked.split_mode >= TN_SPLIT_LAYER && draw(2)) {
        asked.shares = shares;
        asked.share_count = 2;
    }
    for (uint32_t i = 0; i < asked.pin_count; i++) {
        const tni_node *node = &r.graph->nodes[draw(r.graph->node_count)];
        pins[i] = (tn_pin){ r.graph->values[node->output].name, r.list[draw(3)] };
    }
    tn_status status = place(&asked, &r.arena);
    if (status != TN_OK) {
        bool is_right = (status == TN_E_UNSUPPORTED && strstr(r.err.text, "ordered")) ||
                        (status == TN_E_ARG && strstr(r.err.text, "is pinned to"));
        if (!is_right)
            fail_msg("round %u: %s", round, r.err.text);
        return;
    }
    rig_check(&r);
    assert_int_equal(tni_placement_take(&asked, r.list, 3, &r.arena, &p, &r.err), TN_OK);
    assert_int_equal(
        tni_layers_find((const tn_graph *[]){ r.graph }, 1, &p, &r.arena, &layers, &r.err), TN_OK);
    free_bytes[0] = 3000, free_bytes[1] = 1000, free_bytes[2] = 500;   // as in place
    assert_int_equal(tni_layers_place(&p, r.list, 3, free_bytes, offloaded_of(&p, &layers),
                                      &r.arena, &layers, &r.err),
                     TN_OK);
    assert_int_equal(tni_placement_rules(&p, &layers, r.list, 3, r.graph, rules, NULL, &r.err),
                     TN_OK);
    for (uint32_t n = 0; n < r.graph->node_count; n++) {
        uint64_t here = UINT64_C(1) << r.schedule.places[n], willing = 0;
        for (uint32_t d = 0; d < 3; d++)
            if (takes(d, r.graph->nodes[n].op))
                willing |= UINT64_C(1) << d & rules[n].wish & rules[n].demand;
        if (!(rules[n].demand & here) || (willing && !(willing & here)))
            fail_msg("round %u: node %u is on %u", round, n, r.schedule.places[n]);
    }
}

static void random_placements_are_followed(void **state)
{
    for (uint32_t round = 0; round < 600; round++) {
        seed = round;
        begin(state);
        make_random_graph();
        for (int i = 0; i < 5; i++)
            place_at_random(round);
        end(state);
    }
}

static tn_status place_with(const tn_allocator *allocator, void *context)
{
    tni_arena arena;
    tni_arena_init(&arena, allocator);
    tn_status status = place(context, &arena);
    tni_schedule_finish(&r.schedule);
    tni_arena_finish(&arena);
    return status;
}

static void failing_allocations_are_told(void **state)
{
    (void)state;
    tn_value out[RIG_LAYERS];
    rig_make_layers(&r, out);
    tn_pin pin = { "w3", r.list[2] };
    tn_placement asked = { .size = sizeof asked,
                           .split_mode = TN_SPLIT_LAYER,
                           .layer_rule = TN_LAYERS_COUNT,
                           .gpu_layers = 4,
                           .pins = &pin,
                           .pin_count = 1 };
    for_each_failing_allocation(place_with, &asked);
}

int main(void)
{
#define IN_RIG(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        IN_RIG(modes_say_where_layers_go),
        IN_RIG(parts_go_to_the_devices_of_the_split_in_their_order),
        IN_RIG(a_wish_gives_way_and_an_order_does_not),
        IN_RIG(an_output_is_pinned_by_its_name),
        IN_RIG(a_refused_composite_is_decomposed_where_it_is_wished),
        IN_RIG(states_go_to_the_device_of_states),
        IN_RIG(what_cannot_be_is_one_clear_line),
        IN_RIG(what_names_a_device_that_is_gone_says_nothing),
        cmocka_unit_test(random_placements_are_followed),
        IN_RIG(failing_allocations_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
