// Bytes taken in place, by a session on the CPU plugin: each operand that ops.def permits, and
// through a view. Each is compared with the same graph whose operand is an output
// as well, which may not be overwritten: one value more of bytes, and the same bits.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"

enum { COUNT = 8 * 4 * 16 * 2, BYTES = COUNT * 4, TOKENS = 16 };
static const int64_t dims[] = { 8, 4, TOKENS, 2 };

static tn_runtime *runtime;

static int make_runtime(void **state)
{
    (void)state;
    runtime = rig_runtime(false, NULL);
    return 0;
}

static int drop_runtime(void **state)
{
    (void)state;
    tn_runtime_destroy(runtime);
    return 0;
}

static const struct {
    tnp_op op;
    const char *name;
    uint32_t in_place, inputs;
} ops[] = {
#define IN(i) (1u << (i))
#define OP(number, NAME, name, inputs_min, inputs_max, attr, in_place, ...)                        \
    { number, #name, in_place, inputs_min },
#include <tenon/ops.def>
#undef IN
};

typedef union attributes {
    tnp_scale_attr scale;
    tnp_clamp_attr clamp;
    tnp_softcap_attr softcap;
    tnp_norm_attr norm;
    tnp_group_norm_attr group_norm;
    tnp_softmax_attr softmax;
    tnp_rope_attr rope;
    tnp_convert_attr convert;
} attributes;

static const void *attributes_of(tnp_op op, attributes *a)
{
    memset(a, 0, sizeof *a);
    if (op == TNP_OP_SCALE)
        a->scale = (tnp_scale_attr){ sizeof a->scale, 2, 1, 0 };
    else if (op == TNP_OP_CLAMP)
        a->clamp = (tnp_clamp_attr){ sizeof a->clamp, -0.5f, 0.5f, 0 };
    else if (op == TNP_OP_SOFTCAP)
        a->softcap = (tnp_softcap_attr){ sizeof a->softcap, 2 };
    else if (op == TNP_OP_RMS_NORM || op == TNP_OP_LAYER_NORM || op == TNP_OP_L2_NORM)
        a->norm = (tnp_norm_attr){ sizeof a->norm, 1e-5f };
    else if (op == TNP_OP_GROUP_NORM)
        a->group_norm = (tnp_group_norm_attr){ sizeof a->group_norm, 4, 1e-5f, 0 };
    else if (op == TNP_OP_SOFTMAX)
        a->softmax = (tnp_softmax_attr){ sizeof a->softmax, 1, 0, 0 };
    else if (op == TNP_OP_ROPE)
        a->rope = (tnp_rope_attr){
            .size = sizeof a->rope, .rot_dims = 8, .base = 10000, .scale = 1
        };
    else if (op == TNP_OP_CONVERT)
        a->convert = (tnp_convert_attr){ sizeof a->convert, TN_DTYPE_I32 };
    else
        return NULL;
    return a;
}

// out = op, with tanh(x) as one operand and x as the others; is_kept: tanh(x) is an output too. The
// arena's bytes.
static uint64_t run(tnp_op op, uint32_t inputs, uint32_t operand, bool is_kept, float *out)
{
    float x[COUNT];
    int32_t position[TOKENS];
    attributes attr;
    tn_graph *graph = rig_graph();
    tn_value in = tn_graph_input(graph, "x", TN_DTYPE_F32, 4, dims), operands[3] = { in, in, in };
    tn_value y = rig_op(graph, TNP_OP_TANH, in);
    operands[operand] = y;
    if (op == TNP_OP_ROPE)
        operands[1] = tn_graph_input(graph, "position", TN_DTYPE_I32, 1, (int64_t[]){ TOKENS });
    if (is_kept)
        tn_graph_output(graph, "kept", y);
    rig_finish(graph, tn_graph_op(graph, op, NULL, operands, inputs, attributes_of(op, &attr)));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    rig_fill(x, COUNT, 3);
    for (int32_t t = 0; t < TOKENS; t++)
        position[t] = 3 * t;
    if (op == TNP_OP_ROPE)
        rig_run(session, 0, graph, "x", x, sizeof x, "position", position, sizeof position, NULL);
    else
        rig_run(session, 0, graph, "x", x, sizeof x, NULL);
    rig_read(session, 0, graph, "out", out, BYTES);
    uint64_t bytes = rig_memory(session).arena_bytes;
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    return bytes;
}

static void every_operand_that_the_table_permits_is_overwritten(void **state)
{
    (void)state;
    uint32_t tried = 0;
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (uint32_t i = 0; i < 3; i++) {
            float got[COUNT], want[COUNT];
            if (!(ops[o].in_place & 1u << i))
                continue;
            uint64_t bytes = run(ops[o].op, ops[o].inputs, i, false, got);
            uint64_t kept_bytes = run(ops[o].op, ops[o].inputs, i, true, want);
            if (bytes + BYTES != kept_bytes)
                fail_msg("%s, operand %u: %" PRIu64 " bytes, and %" PRIu64 " when it is kept",
                         ops[o].name, i, bytes, kept_bytes);
            if (memcmp(got, want, sizeof got) != 0)
                fail_msg("%s, operand %u: other bits in place", ops[o].name, i);
            tried++;
        }
    assert_in_range(tried, 35, 1000);
}

// scale(reshape(sin(x))) of 32,768 floats: beside the input the bytes of one value.
static void a_value_is_overwritten_through_a_view(void **state)
{
    (void)state;
    enum { FLOATS = 32768, VALUE_BYTES = 131072 };
    tn_graph *graph = rig_graph();
    tn_value y = rig_op(graph, TNP_OP_SIN, rig_input(graph, "x", 1, FLOATS, 0, 0));
    rig_finish(graph,
               tn_graph_scale(graph, tn_graph_reshape(graph, y, 2, (int64_t[]){ 128, 256 }), 2));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    assert_int_equal(rig_memory(session).arena_bytes, 2 * VALUE_BYTES);
    assert_int_equal(rig_memory(session).unshared_bytes, 3 * VALUE_BYTES);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

// A layer of a model: both residual adds, the gated activation, norm, rope and softmax take the
// place of what they read last.
static void a_chain_of_a_layer_needs_the_values_that_are_read_together(void **state)
{
    (void)state;
    attributes norm, softmax, rope;
    tn_graph *graph = rig_graph();
    tn_value x = tn_graph_input(graph, "x", TN_DTYPE_F32, 4, dims);
    tn_value position = tn_graph_input(graph, "position", TN_DTYPE_I32, 1, (int64_t[]){ TOKENS });
    tn_value residual = rig_op(graph, TNP_OP_TANH, x);   // 1 value
    tn_value y = tn_graph_op(graph, TNP_OP_RMS_NORM, NULL, &residual, 1,
                             attributes_of(TNP_OP_RMS_NORM, &norm));   // 2
    y = tn_graph_op(graph, TNP_OP_ROPE, NULL, (tn_value[]){ y, position }, 2,
                    attributes_of(TNP_OP_ROPE, &rope));
    y = tn_graph_op(graph, TNP_OP_SOFTMAX, NULL, &y, 1, attributes_of(TNP_OP_SOFTMAX, &softmax));
    residual = tn_graph_add(graph, y, residual);   // 1
    tn_value gate = rig_op(graph, TNP_OP_NEG, residual), up = rig_op(graph, TNP_OP_SQR, residual);
    y = tn_graph_swiglu(graph, gate, up);   // 3, then 2
    rig_finish(graph, tn_graph_add(graph, residual, y));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1,
                                      (const char *[]){ "cpu0", NULL });
    assert_int_equal(rig_memory(session).arena_bytes,
                     4 * BYTES + TOKENS * sizeof(int32_t));   // with both inputs
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operand_that_the_table_permits_is_overwritten),
        cmocka_unit_test(a_value_is_overwritten_through_a_view),
        cmocka_unit_test(a_chain_of_a_layer_needs_the_values_that_are_read_together),
    };
    return cmocka_run_group_tests(tests, make_runtime, drop_runtime);
}
