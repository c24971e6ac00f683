// The plan of a session in numbers: devices, graphs, values, and what lives at the peak.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"

static tn_runtime *runtime;

static int make_runtime(void **state)
{
    (void)state;
    runtime = rig_runtime(
        true, (const char *[]){ "plugin.partial.refuse=72", "plugin.partial.cost=0.0001", NULL });
    return 0;
}

static int drop_runtime(void **state)
{
    (void)state;
    tn_runtime_destroy(runtime);
    return 0;
}

static tn_device_memory device_memory(const tn_session *session, uint32_t device)
{
    tn_device_memory memory = { .size = sizeof memory };
    tn_error err = { 0 };
    if (tn_session_device_memory(session, device, &memory, &err) != TN_OK)
        fail_msg("%s", err.text);
    return memory;
}

static tn_graph_memory graph_memory(const tn_session *session, uint32_t graph, uint32_t device)
{
    tn_graph_memory memory = { .size = sizeof memory };
    tn_error err = { 0 };
    if (tn_session_graph_memory(session, graph, device, &memory, &err) != TN_OK)
        fail_msg("%s", err.text);
    return memory;
}

enum { MOST = 64 };
typedef struct collected {
    tn_planned_value values[MOST];
    uint32_t count;
} collected;

static void collect(void *context, const tn_planned_value *value)
{
    collected *c = context;
    assert_int_equal(value->size, sizeof *value);
    assert_true(c->count < MOST);
    c->values[c->count++] = *value;
}

static collected values_of(const tn_session *session, uint32_t graph, uint32_t device)
{
    collected c = { .count = 0 };
    tn_error err = { 0 };
    if (tn_session_values(session, graph, device, &(tn_planned_value_sink){ &c, collect }, &err) !=
        TN_OK)
        fail_msg("%s", err.text);
    return c;
}

static const tn_planned_value *find(const collected *c, const char *name)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (strcmp(c->values[i].name, name) == 0)
            return &c->values[i];
    fail_msg("'%s' is not told", name);
    return NULL;
}

static tn_value named(tn_graph *graph, tnp_op op, const char *name, tn_value a, tn_value b)
{
    const tn_value inputs[] = { a, b };
    return tn_graph_op(graph, op, name, inputs, tn_value_is_none(b) ? 1 : 2, NULL);
}

// Floats: x 256 is an input, so there for the whole run, as is the output.
//
//   step   0   1   2   3   4
//   x      ├───────────────┤   1,024 bytes
//   a      ├───┤               1,024
//   b          ├───┤           in place of a
//   c              ├───┤       1,024: reads b twice, transposed: not in place
//   d                  ├───┤   in place of c
static tn_graph *chain(void)
{
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 2, 16, 16, 0);
    tn_value a = named(graph, TNP_OP_TANH, "a", x, TN_NO_VALUE);
    tn_value b = named(graph, TNP_OP_NEG, "b", a, TN_NO_VALUE);
    tn_value c = named(graph, TNP_OP_ADD, "c", b,
                       tn_graph_permute(graph, b, 2, (uint32_t[]){ 1, 0 }));
    rig_finish(graph, named(graph, TNP_OP_NEG, "d", c, TN_NO_VALUE));
    return graph;
}

static void a_value_made_in_place_has_no_bytes_of_its_own(void **state)
{
    (void)state;
    tn_graph *graph = chain();
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    const collected c = values_of(session, 0, 0);
    assert_int_equal(c.count, 5);
    const tn_planned_value *x = find(&c, "x"), *a = find(&c, "a"), *b = find(&c, "b");
    const tn_planned_value *third = find(&c, "c"), *d = find(&c, "d");
    assert_int_equal(x->bytes, 1024);
    assert_int_equal(x->first_step, 0);
    assert_int_equal(x->last_step, 3);
    assert_int_equal(a->bytes, 1024);
    assert_null(a->in_place_of);
    assert_string_equal(b->in_place_of, "a");
    assert_int_equal(b->bytes, 0);
    assert_int_equal(b->offset, a->offset);
    assert_int_equal(b->first_step, a->last_step);
    assert_string_equal(d->in_place_of, "c");
    // The peak is step 2: x, what b holds, and c.
    const tn_graph_memory memory = graph_memory(session, 0, 0);
    assert_int_equal(memory.step_count, 4);
    assert_int_equal(memory.peak_step, 2);
    assert_string_equal(memory.peak_name, "c");
    assert_int_equal(memory.peak_bytes, 3072);
    assert_int_equal(memory.lower_bound_bytes, 3072);
    assert_true(memory.is_proved_optimal);
    assert_int_equal(memory.unshared_bytes, 5120);
    assert_int_equal(memory.in_place_saved_bytes, 2048);
    assert_int_equal(memory.packing_saved_bytes, 0);
    assert_int_equal(x->peak_bytes, 1024);
    assert_int_equal(a->peak_bytes, 0);
    assert_int_equal(b->peak_bytes, 1024);
    assert_int_equal(third->peak_bytes, 1024);
    assert_int_equal(d->peak_bytes, 0);
    for (uint32_t i = 0; i < c.count; i++)
        assert_int_equal(c.values[i].kind, TN_PLANNED_VALUE);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

// b has all of a, c the upper half of b, d what c has: bytes up to the highest end, which is not
// that of the last one's size, count once, and up to the last step of d.
static void a_chain_in_place_counts_up_to_its_highest_end(void **state)
{
    (void)state;
    tn_graph *graph = rig_graph();
    tn_value x = rig_input(graph, "x", 2, 8, 4, 0);
    tn_value a = named(graph, TNP_OP_TANH, "a", x, TN_NO_VALUE);
    tn_value b = named(graph, TNP_OP_NEG, "b", a, TN_NO_VALUE);
    tn_value upper = tn_graph_reshape(graph, tn_graph_slice(graph, b, 1, 2, 2), 1,
                                      (int64_t[]){ 16 });
    tn_value c = named(graph, TNP_OP_NEG, "c", upper, TN_NO_VALUE);
    rig_finish(graph, named(graph, TNP_OP_ABS, "d", c, TN_NO_VALUE));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    const collected all = values_of(session, 0, 0);
    const tn_planned_value *first = find(&all, "a"), *last = find(&all, "d");
    assert_string_equal(find(&all, "c")->in_place_of, "b");
    assert_string_equal(last->in_place_of, "c");
    assert_int_equal(last->offset, first->offset + 64);
    assert_int_equal(last->bytes, 0);
    assert_int_equal(first->bytes, 128);
    const tn_graph_memory memory = graph_memory(session, 0, 0);
    assert_int_equal(memory.lower_bound_bytes, 256);   // x is there too
    assert_int_equal(memory.peak_step, 0);
    assert_int_equal(find(&all, "x")->peak_bytes + first->peak_bytes, 256);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

// partial0 refuses matmul, 72, which runs on cpu0.
static void each_device_and_graph_is_told_alone(void **state)
{
    (void)state;
    static const float weight[16 * 16] = { 1 };
    const int64_t dims[] = { 16, 16 };
    tn_graph *graphs[2];
    for (int g = 0; g < 2; g++) {
        tn_graph *graph = rig_graph();
        tn_value x = rig_input(graph, "x", 2, 16, g ? 160 : 16, 0);
        tn_value w = tn_graph_weight(graph, "w", TN_DTYPE_F32, 2, dims, weight, sizeof weight);
        tn_value s = tn_graph_state(graph, "s", TN_DTYPE_F32, 1, (int64_t[]){ 16 });
        tn_value y = rig_op(graph, TNP_OP_NEG, rig_op(graph, TNP_OP_TANH, x));
        rig_finish(graph, tn_graph_add(graph, tn_graph_matmul(graph, y, w), s));
        graphs[g] = graph;
    }
    tn_session *session = rig_session(runtime, (const tn_graph *const *)graphs, 2,
                                      (const char *[]){ "partial0", "cpu0", NULL });
    tn_memory_report all = rig_memory(session);
    tn_device_memory sum = { 0 };
    assert_int_equal(tn_session_device_count(session), 2);
    assert_int_equal(tn_session_graph_count(session), 2);
    for (uint32_t d = 0; d < 2; d++) {
        const tn_device_memory memory = device_memory(session, d);
        assert_int_equal(memory.size, sizeof memory);
        assert_string_equal(memory.name, d ? "cpu0" : "partial0");
        sum.peak_bytes += memory.peak_bytes;
        sum.unshared_bytes += memory.unshared_bytes;
        sum.state_bytes += memory.state_bytes;
        sum.weight_mapped_bytes += memory.weight_mapped_bytes;
        sum.weight_copied_bytes += memory.weight_copied_bytes;
        assert_int_equal(memory.unshared_bytes - memory.in_place_saved_bytes -
                             memory.packing_saved_bytes,
                         memory.peak_bytes);
        // The arena is as large as the second graph needs: its inputs and outputs are ten times as
        // large.
        assert_int_equal(memory.peak_bytes, graph_memory(session, 1, d).peak_bytes);
        assert_true(graph_memory(session, 0, d).peak_bytes < memory.peak_bytes);
        for (uint32_t g = 0; g < 2; g++) {
            const collected c = values_of(session, g, d);
            uint64_t own = 0, at_peak = 0, highest = 0;
            for (uint32_t i = 0; i < c.count; i++) {
                own += c.values[i].bytes;
                at_peak += c.values[i].peak_bytes;
                if (c.values[i].offset + c.values[i].bytes > highest)
                    highest = c.values[i].offset + c.values[i].bytes;
            }
            const tn_graph_memory of_graph = graph_memory(session, g, d);
            assert_int_equal(own, of_graph.unshared_bytes - of_graph.in_place_saved_bytes);
            assert_int_equal(at_peak, of_graph.lower_bound_bytes);
            assert_int_equal(highest, of_graph.peak_bytes);
        }
    }
    assert_int_equal(sum.peak_bytes, all.arena_bytes);
    assert_int_equal(sum.unshared_bytes, all.unshared_bytes);
    assert_int_equal(sum.state_bytes, all.state_bytes);
    assert_int_equal(sum.weight_mapped_bytes, all.weight_mapped_bytes);
    assert_int_equal(sum.weight_copied_bytes, all.weight_copied_bytes);
    assert_int_equal(tn_session_check(session, NULL), TN_OK);
    tn_session_destroy(session);
    for (int g = 0; g < 2; g++)
        tn_graph_destroy(graphs[g]);
}

static void what_is_not_there_is_refused_with_the_numbers(void **state)
{
    (void)state;
    tn_graph *graph = chain();
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    tn_device_memory of_device = { .size = sizeof of_device, .peak_bytes = 9 };
    tn_graph_memory of_graph = { .size = sizeof of_graph, .peak_bytes = 9 };
    collected c = { .count = 0 };
    tn_error err = { 0 };
    assert_int_equal(tn_session_device_memory(session, 1, &of_device, &err), TN_E_ARG);
    assert_non_null(strstr(err.text, "device 1 is asked, the session has 1"));
    assert_int_equal(of_device.peak_bytes, 0);
    assert_int_equal(tn_session_graph_memory(session, 7, 0, &of_graph, &err), TN_E_ARG);
    assert_non_null(strstr(err.text, "there is no graph 7, the session was given 1"));
    assert_int_equal(of_graph.peak_bytes, 0);
    assert_int_equal(
        tn_session_values(session, 0, 2, &(tn_planned_value_sink){ &c, collect }, &err), TN_E_ARG);
    assert_int_equal(c.count, 0);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_made_in_place_has_no_bytes_of_its_own),
        cmocka_unit_test(a_chain_in_place_counts_up_to_its_highest_end),
        cmocka_unit_test(each_device_and_graph_is_told_alone),
        cmocka_unit_test(what_is_not_there_is_refused_with_the_numbers),
    };
    return cmocka_run_group_tests(tests, make_runtime, drop_runtime);
}
