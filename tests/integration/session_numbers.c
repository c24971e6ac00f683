// Results of small graphs through a session, against plain C.
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session_rig.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static tn_runtime *runtime;

static int make_runtime(void **state)
{
    (void)state;
    runtime = rig_runtime(false, (const char *[]){ "threads=2", NULL });
    return 0;
}

static int drop_runtime(void **state)
{
    (void)state;
    tn_runtime_destroy(runtime);
    return 0;
}

static void need_close(const char *says, const float *got, const float *want, size_t count,
                       double tolerance)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance * (1 + fabs((double)want[i]))))
            fail_msg("%s: element %zu is %.9g, not %.9g", says, i, (double)got[i], (double)want[i]);
}

// ------------------------------------------------------------------------------------- one op each

// Operands {7, 5} and what is broadcast to them; element by element.
typedef double element(double a, double b);

static double add(double a, double b)
{
    return a + b;
}

static double subtract(double a, double b)
{
    return a - b;
}

static double multiply(double a, double b)
{
    return a * b;
}

static double divide(double a, double b)
{
    return a / b;
}

static double scale_and_shift(double a, double b)
{
    (void)b;
    return a * 3 - 0.5;
}

static double negate(double a, double b)
{
    (void)b;
    return -a;
}

static double exponential(double a, double b)
{
    (void)b;
    return exp(a);
}

static double hyperbolic_tangent(double a, double b)
{
    (void)b;
    return tanh(a);
}

static double sigmoid(double a, double b)
{
    (void)b;
    return 1 / (1 + exp(-a));
}

static double relu(double a, double b)
{
    (void)b;
    return a > 0 ? a : 0;
}

static double silu(double a, double b)
{
    (void)b;
    return a / (1 + exp(-a));
}

static double gelu(double a, double b)
{
    (void)b;
    return 0.5 * a * (1 + tanh(0.79788456080286535588 * (a + 0.044715 * a * a * a)));
}

static double swiglu(double a, double b)
{
    return silu(a, 0) * b;
}

enum { COLUMNS = 7, LINES = 5 };

static void ops_of_elements_give_what_plain_c_gives(void **state)
{
    (void)state;
    static const tnp_scale_attr scale = { .size = sizeof scale, .scale = 3, .bias = -0.5f };
    static const struct {
        const char *says;
        tnp_op op;
        element *plain;
        const void *attr;
        uint32_t operands;
        bool broadcasts;
    } cases[] = {
        { "add", TNP_OP_ADD, add, NULL, 2, true },
        { "sub", TNP_OP_SUB, subtract, NULL, 2, true },
        { "mul", TNP_OP_MUL, multiply, NULL, 2, true },
        { "div", TNP_OP_DIV, divide, NULL, 2, true },
        { "scale", TNP_OP_SCALE, scale_and_shift, &scale, 1, false },
        { "neg", TNP_OP_NEG, negate, NULL, 1, false },
        { "exp", TNP_OP_EXP, exponential, NULL, 1, false },
        { "tanh", TNP_OP_TANH, hyperbolic_tangent, NULL, 1, false },
        { "sigmoid", TNP_OP_SIGMOID, sigmoid, NULL, 1, false },
        { "relu", TNP_OP_RELU, relu, NULL, 1, false },
        { "silu", TNP_OP_SILU, silu, NULL, 1, false },
        { "gelu", TNP_OP_GELU, gelu, NULL, 1, false },
        { "swiglu", TNP_OP_SWIGLU, swiglu, NULL, 2, false },
    };
    static const int64_t shapes[][2] = {
        { COLUMNS, LINES }, { COLUMNS, 1 }, { 1, LINES }, { 1, 1 }
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        for (size_t k = 0; k < (cases[c].broadcasts ? COUNT_OF(shapes) : 1); k++) {
            float a[COLUMNS * LINES], b[COLUMNS * LINES], got[COLUMNS * LINES],
                want[COLUMNS * LINES];
            int64_t columns = shapes[k][0], lines = shapes[k][1];
            rig_fill(a, COUNT_OF(a), 1);
            rig_fill(b, COUNT_OF(b), 2);
            tn_graph *graph = rig_graph();
            tn_value in[] = { rig_input(graph, "a", 2, COLUMNS, LINES, 0),
                              rig_input(graph, "b", 2, columns, lines, 0) };
            rig_finish(graph,
                       tn_graph_op(graph, cases[c].op, NULL, in, cases[c].operands, cases[c].attr));
            for (int64_t j = 0; j < LINES; j++)
                for (int64_t i = 0; i < COLUMNS; i++)
                    want[j * COLUMNS + i] = (float)cases[c].plain(
                        (double)a[j * COLUMNS + i], (double)b[j % lines * columns + i % columns]);
            tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
            rig_run(session, 0, graph, "a", a, sizeof a, "b", b,
                    (size_t)(columns * lines) * sizeof *b, NULL);
            rig_read(session, 0, graph, "out", got, sizeof got);
            need_close(cases[c].says, got, want, COUNT_OF(got), 2e-5);
            tn_session_destroy(session);
            tn_graph_destroy(graph);
        }
}

// Whole numbers and halves of them: every sum is exact, and so is half precision.
static void ops_that_move_and_add_up_are_exact(void **state)
{
    (void)state;
    enum { N = 6, M = 4 };
    const tnp_axis_attr axis0 = { sizeof axis0, 0 }, axis1 = { sizeof axis1, 1 };
    float x[N * M], y[N * M], sums[M], means[N], joined[2 * N * M], tall[2 * N * M], rows[N * 3],
        halves[N * M];
    int32_t best[M];
    const int32_t index[3] = { 2, 0, 2 };
    tn_graph *graph = rig_graph();
    tn_value a = rig_input(graph, "x", 2, N, M, 0), b = rig_input(graph, "y", 2, N, M, 0);
    tn_value i = tn_graph_input(graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 3 });
    tn_graph_output(graph, "sums", tn_graph_op(graph, TNP_OP_SUM, NULL, &a, 1, &axis0));
    tn_graph_output(graph, "means", tn_graph_op(graph, TNP_OP_MEAN, NULL, &a, 1, &axis1));
    tn_graph_output(graph, "best", tn_graph_op(graph, TNP_OP_ARGMAX, NULL, &a, 1, NULL));
    tn_graph_output(graph, "joined",
                    tn_graph_op(graph, TNP_OP_CONCAT, NULL, (tn_value[]){ a, b }, 2, &axis0));
    tn_graph_output(graph, "tall",
                    tn_graph_op(graph, TNP_OP_CONCAT, NULL, (tn_value[]){ a, b }, 2, &axis1));
    tn_graph_output(
        graph, "halves",
        tn_graph_convert(graph, tn_graph_convert(graph, a, TN_DTYPE_F16), TN_DTYPE_F32));
    rig_finish(graph, tn_graph_get_rows(graph, a, i));
    for (int k = 0; k < N * M; k++) {
        x[k] = (float)(k * 5 % 13 - 6) / 2;
        y[k] = (float)(k * 7 % 11);
    }
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    rig_run(session, 0, graph, "x", x, sizeof x, "y", y, sizeof y, "i", index, sizeof index, NULL);
    rig_read(session, 0, graph, "sums", sums, sizeof sums);
    rig_read(session, 0, graph, "means", means, sizeof means);
    rig_read(session, 0, graph, "best", best, sizeof best);
    rig_read(session, 0, graph, "joined", joined, sizeof joined);
    rig_read(session, 0, graph, "tall", tall, sizeof tall);
    rig_read(session, 0, graph, "halves", halves, sizeof halves);
    rig_read(session, 0, graph, "out", rows, sizeof rows);
    for (int m = 0; m < M; m++) {
        float sum = 0;
        int32_t at = 0;
        for (int n = 0; n < N; n++) {
            sum += x[m * N + n];
            at = x[m * N + n] > x[m * N + at] ? n : at;
        }
        assert_true(sums[m] == sum);
        assert_int_equal(best[m], at);
        assert_memory_equal(joined + 2 * m * N, x + m * N, N * sizeof *x);
        assert_memory_equal(joined + (2 * m + 1) * N, y + m * N, N * sizeof *y);
    }
    for (int n = 0; n < N; n++)
        assert_true(means[n] == (x[n] + x[N + n] + x[2 * N + n] + x[3 * N + n]) / M);
    assert_memory_equal(tall, x, sizeof x);
    assert_memory_equal(tall + N * M, y, sizeof y);
    assert_memory_equal(halves, x, sizeof x);
    for (int k = 0; k < 3; k++)
        assert_memory_equal(rows + k * N, x + index[k] * N, N * sizeof *x);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

// q {D, H, T}, k and v {D, G, S}; G key heads serve H query heads.
enum { D = 8, H = 4, G = 2, T = 3, S = 9 };

// The first six of a head turned as for `position`, in pairs of neighbours.
static void rotate(const float *from, int32_t position, double *to)
{
    for (int d = 0; d < D; d++)
        to[d] = (double)from[d];
    for (int i = 0; i < 3; i++) {
        double angle = position * pow(10000, -2.0 * i / 6);
        to[2 * i] = (double)from[2 * i] * cos(angle) - (double)from[2 * i + 1] * sin(angle);
        to[2 * i + 1] = (double)from[2 * i] * sin(angle) + (double)from[2 * i + 1] * cos(angle);
    }
}

// out {D} of one head that sees `seen` keys; k and v: of its key head.
static void attend(const double *q, const float *k, const float *v, int seen, double scale,
                   float *out)
{
    double weight[S], sum = 0;
    for (int s = 0; s < seen; s++) {
        weight[s] = 0;
        for (int d = 0; d < D; d++)
            weight[s] += q[d] * (double)k[s * G * D + d];
        sum += weight[s] = exp(weight[s] * scale);
    }
    for (int d = 0; d < D; d++) {
        double mixed = 0;
        for (int s = 0; s < seen; s++)
            mixed += weight[s] / sum * (double)v[s * G * D + d];
        out[d] = (float)mixed;
    }
}

// A step of a language model: causal, over as many keys as there are.
static void attention_after_rope_gives_what_plain_c_gives(void **state)
{
    (void)state;
    const tnp_rope_attr rope = { .size = sizeof rope, .rot_dims = 6, .base = 10000, .scale = 1 };
    const tnp_attention_attr attr = { .size = sizeof attr,
                                      .flags = TNP_ATTENTION_CAUSAL,
                                      .scale = 0.35f };
    float q[D * H * T], k[D * G * S], v[D * G * S], got[D * H * T], want[D * H * T];
    const int32_t position[T] = { 2, 5, 7 }, length = 7;   // the last sees what is there, no more
    rig_fill(q, COUNT_OF(q), 1);
    rig_fill(k, COUNT_OF(k), 2);
    rig_fill(v, COUNT_OF(v), 3);
    tn_graph *graph = rig_graph();
    tn_value p = tn_graph_input(graph, "p", TN_DTYPE_I32, 1, (int64_t[]){ T });
    tn_value n = tn_graph_input(graph, "n", TN_DTYPE_I32, 1, (int64_t[]){ 1 });
    tn_value turned = tn_graph_rope(graph, rig_input(graph, "q", 3, D, H, T), p, TN_NO_VALUE,
                                    &rope);
    tn_value keys = tn_graph_limit(graph, rig_input(graph, "k", 3, D, G, S), 2, n);
    tn_value values = tn_graph_limit(graph, rig_input(graph, "v", 3, D, G, S), 2, n);
    rig_finish(graph, tn_graph_attention(graph, turned, keys, values, p, TN_NO_VALUE, &attr));
    for (int t = 0; t < T; t++)
        for (int h = 0; h < H; h++) {
            double head[D];
            int seen = position[t] + 1 < length ? position[t] + 1 : length, first = h / (H / G) * D;
            rotate(q + (t * H + h) * D, position[t], head);
            attend(head, k + first, v + first, seen, (double)attr.scale, want + (t * H + h) * D);
        }
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    rig_run(session, 0, graph, "q", q, sizeof q, "k", k, sizeof k, "v", v, sizeof v, "p", position,
            sizeof position, "n", &length, sizeof length, NULL);
    rig_read(session, 0, graph, "out", got, sizeof got);
    need_close("attention", got, want, COUNT_OF(got), 2e-5);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

// ------------------------------------------------------------------------------------- several ops

static void views_are_operands_without_a_copy(void **state)
{
    (void)state;
    float x[5 * 4 * 3], got[64], want[64];
    rig_fill(x, 60, 1);
    tn_graph *graph = rig_graph();
    tn_value in = rig_input(graph, "x", 3, 5, 4, 3);
    tn_value made = rig_op(graph, TNP_OP_NEG, in);
    tn_value part = tn_graph_slice(graph, made, 0, 1, 3);                          // {3, 4, 3}
    tn_value turned = tn_graph_permute(graph, part, 3, (uint32_t[]){ 2, 0, 1 });   // {3, 3, 4}
    tn_value one = tn_graph_slice(graph, made, 0, 4, 1);                           // {1, 4, 3}
    tn_value wide = tn_graph_broadcast(
        graph, tn_graph_permute(graph, one, 3, (uint32_t[]){ 2, 0, 1 }), 3, (int64_t[]){ 3, 3, 4 });
    rig_finish(graph, tn_graph_add(graph, turned, wide));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    rig_run(session, 0, graph, "x", x, sizeof x, NULL);
    rig_read(session, 0, graph, "out", got, 36 * sizeof *got);
    for (int k = 0; k < 4; k++)
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++)   // out[i, j, k] = -(x[1 + j, k, i] + x[4, k, i])
                want[(k * 3 + j) * 3 + i] = -(x[(i * 4 + k) * 5 + 1 + j] + x[(i * 4 + k) * 5 + 4]);
    assert_memory_equal(got, want, 36 * sizeof *got);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

// A layer of a network, with weights, in plain C.
static void a_layer_gives_what_plain_c_gives(void **state)
{
    (void)state;
    enum { IN = 24, OUT = 16, TOKENS = 5 };
    static float gate[IN * OUT], up[IN * OUT], down[OUT * IN], weight[IN], x[IN * TOKENS];
    static float got[IN * TOKENS], want[IN * TOKENS];
    rig_fill(gate, COUNT_OF(gate), 1);
    rig_fill(up, COUNT_OF(up), 2);
    rig_fill(down, COUNT_OF(down), 3);
    rig_fill(weight, COUNT_OF(weight), 4);
    rig_fill(x, COUNT_OF(x), 5);
    tn_graph *graph = rig_graph();
    tn_value in = rig_input(graph, "x", 2, IN, TOKENS, 0);
    const int64_t wide[] = { IN, OUT }, back[] = { OUT, IN };
    tn_value g = tn_graph_weight(graph, "gate", TN_DTYPE_F32, 2, wide, gate, sizeof gate);
    tn_value u = tn_graph_weight(graph, "up", TN_DTYPE_F32, 2, wide, up, sizeof up);
    tn_value d = tn_graph_weight(graph, "down", TN_DTYPE_F32, 2, back, down, sizeof down);
    tn_value w = tn_graph_weight(graph, "weight", TN_DTYPE_F32, 1, wide, weight, sizeof weight);
    tn_value normed = tn_graph_rms_norm(graph, in, w, 1e-5f);
    tn_value mixed = tn_graph_swiglu(graph, tn_graph_matmul(graph, normed, g),
                                     tn_graph_matmul(graph, normed, u));
    rig_finish(graph, tn_graph_add(graph, in, tn_graph_matmul(graph, mixed, d)));
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    for (int t = 0; t < TOKENS; t++) {
        double squares = 0, n[IN], m[OUT];
        for (int i = 0; i < IN; i++)
            squares += (double)x[t * IN + i] * (double)x[t * IN + i];
        for (int i = 0; i < IN; i++)
            n[i] = (double)x[t * IN + i] / sqrt(squares / IN + 1e-5) * (double)weight[i];
        for (int o = 0; o < OUT; o++) {
            double a = 0, b = 0;
            for (int i = 0; i < IN; i++)
                a += n[i] * (double)gate[o * IN + i], b += n[i] * (double)up[o * IN + i];
            m[o] = a / (1 + exp(-a)) * b;
        }
        for (int i = 0; i < IN; i++) {
            double sum = (double)x[t * IN + i];
            for (int o = 0; o < OUT; o++)
                sum += m[o] * (double)down[i * OUT + o];
            want[t * IN + i] = (float)sum;
        }
    }
    for (int again = 0; again < 3; again++) {
        memset(got, 0xff, sizeof got);
        rig_run(session, 0, graph, "x", x, sizeof x, NULL);
        rig_read(session, 0, graph, "out", got, sizeof got);
        need_close("the layer", got, want, COUNT_OF(want), 2e-5);
    }
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

// Thousands of tiny ops in one chain, and one value that lives through all of it.
static void a_long_chain_reuses_bytes_and_stays_right(void **state)
{
    (void)state;
    enum { NODES = 3000 };
    float x[3] = { 1, 2, 3 }, got[3];
    tn_graph *graph = rig_graph();
    tn_value in = rig_input(graph, "x", 1, 3, 0, 0), kept = rig_op(graph, TNP_OP_NEG, in), y = kept;
    for (int i = 0; i < NODES; i++)
        y = i % 3 ? rig_op(graph, TNP_OP_NEG, y) : tn_graph_add(graph, y, in);
    rig_finish(graph, tn_graph_add(graph, y, kept));
    float want[3];
    for (int k = 0; k < 3; k++) {
        float v = -x[k];
        for (int i = 0; i < NODES; i++)
            v = i % 3 ? -v : v + x[k];
        want[k] = v - x[k];
    }
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    rig_run(session, 0, graph, "x", x, sizeof x, NULL);
    rig_read(session, 0, graph, "out", got, sizeof got);
    assert_memory_equal(got, want, sizeof got);
    tn_memory_report report = rig_memory(session);
    assert_int_equal(report.arena_bytes, report.arena_bound_bytes);
    assert_true(report.arena_bytes <= 4 * 64);
    assert_true(report.unshared_bytes >= NODES * sizeof got);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

// A concat with nothing, a write of nothing: what is left runs.
static void values_without_elements_change_nothing(void **state)
{
    (void)state;
    float x[8], got[8];
    rig_fill(x, 8, 1);
    tn_graph *graph = rig_graph();
    tn_value in = rig_input(graph, "x", 2, 4, 2, 0),
             nothing = rig_input(graph, "nothing", 2, 4, 0, 0);
    tn_value table = tn_graph_state(graph, "s", TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
    tn_value index = tn_graph_input(graph, "i", TN_DTYPE_I32, 1, (int64_t[]){ 0 });
    tn_value written = tn_graph_set_rows(graph, table, rig_op(graph, TNP_OP_NEG, nothing), index);
    tn_value joined = tn_graph_op(graph, TNP_OP_CONCAT, NULL, (tn_value[]){ nothing, in }, 2,
                                  &(tnp_axis_attr){ sizeof(tnp_axis_attr), 1 });
    tn_graph_output(graph, "empty", rig_op(graph, TNP_OP_NEG, nothing));
    tn_graph_output(graph, "table", written);
    rig_finish(graph, joined);
    tn_session *session = rig_session(runtime, (const tn_graph *[]){ graph }, 1, NULL);
    rig_run(session, 0, graph, "x", x, sizeof x, "nothing", NULL, (size_t)0, NULL);
    rig_read(session, 0, graph, "out", got, sizeof got);
    assert_memory_equal(got, x, sizeof got);
    rig_read(session, 0, graph, "empty", NULL, 0);
    float zeros[12];
    rig_read(session, 0, graph, "table", zeros, sizeof zeros);
    for (int i = 0; i < 12; i++)
        assert_true(zeros[i] == 0);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_of_elements_give_what_plain_c_gives),
        cmocka_unit_test(ops_that_move_and_add_up_are_exact),
        cmocka_unit_test(attention_after_rope_gives_what_plain_c_gives),
        cmocka_unit_test(views_are_operands_without_a_copy),
        cmocka_unit_test(a_layer_gives_what_plain_c_gives),
        cmocka_unit_test(a_long_chain_reuses_bytes_and_stays_right),
        cmocka_unit_test(values_without_elements_change_nothing),
    };
    return cmocka_run_group_tests(tests, make_runtime, drop_runtime);
}
