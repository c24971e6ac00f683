// Which composite nodes are decomposed, for whom, and how often devices are asked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/macros.h"
#include "sched_test.h"

static rig r;

static int begin(void **state)
{
    (void)state;
    rig_begin(&r, 3);
    return 0;
}

static int end(void **state)
{
    (void)state;
    rig_end(&r);
    return 0;
}

enum { CPU = TNP_KIND_CPU, GPU = TNP_KIND_GPU, NONE = 0 };

// Graph: neg, silu, neg. Where no kind is given there is no such device.
typedef struct silu_case {
    const char *says;
    uint32_t kinds[3];
    tnp_op refused[3][4];   // up to 0
    uint32_t nodes;         // of the graph that is scheduled
    int place;              // of the node that makes what silu makes; -1: nothing takes it
    uint32_t asked;         // times
} silu_case;

static const silu_case cases[] = {
    { "all is taken", { GPU, CPU }, { { 0 } }, 3, 0, 1 },
    { "a CPU keeps what it has", { CPU }, { { 0 } }, 3, 0, 1 },
    { "the GPU gets the steps", { GPU, CPU }, { { TNP_OP_SILU } }, 6, 0, 2 },
    { "in the other order of devices too", { CPU, GPU }, { { 0 }, { TNP_OP_SILU } }, 6, 1, 2 },
    { "a GPU that lacks a step gets nothing",
      { GPU, CPU },
      { { TNP_OP_SILU, TNP_OP_EXP } },
      3,
      1,
      2 },
    { "another GPU takes it whole", { GPU, GPU, CPU }, { { TNP_OP_SILU }, { 0 } }, 3, 1, 1 },
    { "another GPU takes the steps",
      { GPU, GPU, CPU },
      { { TNP_OP_SILU, TNP_OP_EXP, TNP_OP_SCALE, TNP_OP_DIV }, { TNP_OP_SILU } },
      6,
      1,
      2 },
    { "nobody takes it, one takes the steps", { CPU }, { { TNP_OP_SILU } }, 6, 0, 2 },
    { "nobody takes it, together they take the steps",
      { CPU, CPU },
      { { TNP_OP_SILU, TNP_OP_EXP }, { TNP_OP_SILU, TNP_OP_DIV } },
      6,
      0,
      2 },
    { "nobody takes it, nor a step",
      { CPU, CPU },
      { { TNP_OP_SILU, TNP_OP_EXP }, { TNP_OP_SILU, TNP_OP_EXP } },
      3,
      -1,
      2 },
};

static void prepare(const silu_case *c)
{
    static const uint32_t dear = 1000;   // what a CPU costs more
    rig_end(&r);
    rig_begin(&r, 3);
    for (uint32_t i = 0; i < 3; i++) {
        r.fakes[i].cost_ns = c->kinds[i] == CPU ? 1000 * dear : 1000;
        r.fakes[i].reason = "not here";
        memcpy(r.fakes[i].refused_ops, c->refused[i], sizeof c->refused[i]);
        r.devices[i].info.kind = c->kinds[i];
    }
    r.device_count = c->kinds[2] ? 3 : c->kinds[1] ? 2 : 1;
}

static void those_who_take_the_steps_get_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT_OF(cases); i++) {
        const silu_case *c = &cases[i];
        prepare(c);
        tn_value silu = rig_op(&r, TNP_OP_SILU, rig_op(&r, TNP_OP_NEG, rig_input(&r, "x")));
        rig_finish(&r, rig_op(&r, TNP_OP_NEG, silu));
        tn_status status = rig_try(&r, NULL);
        if ((status == TN_OK) != (c->place >= 0))
            fail_msg("%s: %s: %s", c->says, tn_status_name(status), r.err.text);
        if (status != TN_OK) {
            assert_non_null(strstr(r.err.text, "no device takes silu 'silu."));
            continue;
        }
        const tn_graph *graph = r.schedule.graph;
        uint32_t maker = graph->values[silu.index].node;
        if (graph->node_count != c->nodes || r.schedule.places[maker] != (uint32_t)c->place ||
            r.fakes[0].claim_count != c->asked)
            fail_msg("%s: %u nodes, silu on %u, asked %u times", c->says, graph->node_count,
                     r.schedule.places[maker], r.fakes[0].claim_count);
        assert_ptr_equal(r.schedule.given, r.graph);
        assert_int_equal(r.graph->node_count, 3);
        assert_int_equal(r.schedule.own_graph != NULL, c->nodes != 3);
        assert_int_equal(r.schedule.decomposed[1] != 0, c->nodes != 3);
    }
}

// swiglu, silu, and what it is made of: as far as the device needs, and no further.
static void refused_steps_are_decomposed_in_turn(void **state)
{
    (void)state;
    static const struct {
        tnp_op refused[3];
        uint32_t nodes, asked;
    } depths[] = { { { 0 }, 1, 1 },
                   { { TNP_OP_SWIGLU }, 2, 2 },
                   { { TNP_OP_SWIGLU, TNP_OP_SILU }, 5, 3 } };
    for (size_t i = 0; i < TN_COUNT_OF(depths); i++) {
        prepare(&(silu_case){ .kinds = { GPU, CPU } });
        memcpy(r.fakes[0].refused_ops, depths[i].refused, sizeof depths[i].refused);
        rig_finish(&r, tn_graph_swiglu(r.graph, rig_input(&r, "x"), rig_input(&r, "y")));
        assert_int_equal(rig_try(&r, NULL), TN_OK);
        assert_int_equal(r.schedule.graph->node_count, depths[i].nodes);
        assert_int_equal(r.fakes[0].claim_count, depths[i].asked);
        assert_string_equal(rig_segments(&r), "0");
    }
}

static void a_state_elsewhere_keeps_a_node_whole(void **state)
{
    (void)state;
    prepare(&(silu_case){ .kinds = { GPU, CPU }, .refused = { { TNP_OP_SILU } } });
    tn_value s = tn_graph_state(r.graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value free_one = rig_op(&r, TNP_OP_SILU, rig_input(&r, "x"));
    tn_value of_state = rig_op(&r, TNP_OP_SILU, s);
    rig_finish(&r, tn_graph_add(r.graph, free_one, of_state));
    uint64_t pins[16];
    memset(pins, 0xff, sizeof pins);
    pins[rig_storage(&r, s)] = 2;   // the second place
    assert_int_equal(rig_try(&r, pins), TN_OK);
    assert_true(r.schedule.decomposed[0] != 0);
    assert_true(r.schedule.decomposed[1] == 0);
    assert_int_equal(r.schedule.places[r.schedule.graph->values[of_state.index].node], 1);
    pins[rig_storage(&r, s)] = 1;
    assert_int_equal(rig_try(&r, pins), TN_OK);   // now it is where the steps can be
    assert_true(r.schedule.decomposed[1] != 0);
}

static void what_brings_nothing_is_taken_back(void **state)
{
    (void)state;
    prepare(&(silu_case){ .kinds = { GPU, CPU }, .refused = { { TNP_OP_SILU } } });
    r.fakes[0].cost_ns = 1e9;   // takes the steps, and is never the cheaper one
    rig_finish(&r, rig_op(&r, TNP_OP_SILU, rig_input(&r, "x")));
    rig_schedule(&r, NULL);
    assert_ptr_equal(r.schedule.graph, r.graph);
    assert_null(r.schedule.own_graph);
    assert_true(r.schedule.decomposed[0] == 0);
    assert_string_equal(rig_segments(&r), "1");
}

static void give_a_bad_claim(const fake_device *device, const tnp_slice *slice,
                             const tnp_claim_sink *sink)
{
    (void)device, (void)slice;
    tnp_claim claim = fake_claim_on((uint32_t[]){ 0 }, 1, -5);
    sink->take(sink->context, &claim);
}

static void a_fault_is_logged_once(void **state)
{
    (void)state;
    prepare(&(silu_case){ .kinds = { GPU, CPU }, .refused = { { TNP_OP_SWIGLU, TNP_OP_SILU } } });
    r.fakes[0].answer = give_a_bad_claim;
    rig_finish(&r, tn_graph_swiglu(r.graph, rig_input(&r, "x"), rig_input(&r, "y")));
    assert_int_equal(rig_try(&r, NULL), TN_OK);
    assert_int_equal(r.fakes[0].claim_count, 3);
    const char *first = strstr(r.log, "its cost is not a positive number");
    assert_non_null(first);
    assert_null(strstr(first + 1, "its cost is not a positive number"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(those_who_take_the_steps_get_them, begin, end),
        cmocka_unit_test_setup_teardown(refused_steps_are_decomposed_in_turn, begin, end),
        cmocka_unit_test_setup_teardown(a_state_elsewhere_keeps_a_node_whole, begin, end),
        cmocka_unit_test_setup_teardown(what_brings_nothing_is_taken_back, begin, end),
        cmocka_unit_test_setup_teardown(a_fault_is_logged_once, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
