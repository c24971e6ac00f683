// cases.c: cases whose results come from elsewhere (tests/data/onnx, tests/data/formulas), each
// computed twice: by the reference ops of the conformance kit, node by node, and as a graph by a
// session on the CPU plugin. Usage: integration_ops_cases FILE COUNT, the cases that FILE has
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/tenon.h>

#include "case_file.h"
#include "op_name.h"
#include "places.h"
#include "reference/reference.h"

static const char *path;
static unsigned long expected_count;
static tn_runtime *runtime;

// A value on the way of the reference, with the bytes that it owns; a view owns none.
typedef struct held {
    ref_tensor tensor;
    char *bytes;
} held;

static void set_contiguous(ref_tensor *t)
{
    t->strides[0] = (int64_t)tn_dtype_bytes(t->dtype, 1);
    for (int i = 1; i < TNP_MAX_DIMS; i++)
        t->strides[i] = t->strides[i - 1] * t->dims[i - 1];
}

static int64_t elements_of(const int64_t dims[TNP_MAX_DIMS])
{
    int64_t count = 1;

    for (int i = 0; i < TNP_MAX_DIMS; i++)
        count *= dims[i];
    return count;
}

static held make(tnp_dtype dtype, const int64_t dims[TNP_MAX_DIMS])
{
    held h = { .tensor.dtype = dtype };

    memcpy(h.tensor.dims, dims, sizeof h.tensor.dims);
    set_contiguous(&h.tensor);
    h.bytes = malloc((size_t)tn_dtype_bytes(dtype, elements_of(dims)));
    assert_non_null(h.bytes);
    h.tensor.data = h.bytes;
    return h;
}

static held make_input(const case_tensor *from)
{
    held h = make(from->dtype, from->dims);
    int64_t at[TNP_MAX_DIMS] = { 0 };

    for (const double *value = from->values;; value++) {
        ref_set(&h.tensor, at, *value);
        if (!ref_next(h.tensor.dims, at))
            return h;
    }
}

static int is_view(tnp_op op)
{
    return op == TNP_OP_RESHAPE || op == TNP_OP_SLICE || op == TNP_OP_PERMUTE ||
           op == TNP_OP_BROADCAST;
}

static held view(const op_case *c, const case_step *step, const held *x)
{
    held h = { .tensor = x->tensor };
    ref_tensor *t = &h.tensor;
    const tnp_dims_attr *to = (const void *)step->attr;
    const tnp_slice_attr *slice = (const void *)step->attr;
    const tnp_permute_attr *permute = (const void *)step->attr;

    for (int i = 0; i < TNP_MAX_DIMS; i++)
        switch (step->op) {
        case TNP_OP_RESHAPE:
            t->dims[i] = to->dims[i];
            break;
        case TNP_OP_SLICE:
            t->data += slice->begin[i] * t->strides[i];
            t->strides[i] *= slice->step[i];
            t->dims[i] = slice->count[i];
            break;
        case TNP_OP_PERMUTE:
            t->dims[i] = x->tensor.dims[permute->axes[i]];
            t->strides[i] = x->tensor.strides[permute->axes[i]];
            break;
        default:
            if (t->dims[i] != to->dims[i])
                t->strides[i] = 0;
            t->dims[i] = to->dims[i];
        }
    if (step->op == TNP_OP_RESHAPE) {
        ref_tensor whole = x->tensor;

        set_contiguous(&whole);
        for (int i = 0; i < TNP_MAX_DIMS; i++)
            if (whole.dims[i] > 1 && whole.strides[i] != x->tensor.strides[i])
                fail_msg("%s: a reshape of what is not contiguous", c->name);
        set_contiguous(t);
    }
    return h;
}

// dims and dtype of the result are those of the graph; of views, what their attributes say.
static held compute(const op_case *c, const case_step *step, const held *values,
                    const tn_value_info *info)
{
    ref_tensor in[MOST_OPERANDS] = { { .data = NULL } };
    held out;

    if (is_view(step->op))
        return view(c, step, &values[step->operands[0]]);
    for (uint32_t i = 0; i < step->operand_count; i++)
        if (step->operands[i] >= 0)
            in[i] = values[step->operands[i]].tensor;
    if (step->op == TNP_OP_SET_ROWS)
        out = (held){ .tensor = in[0] };
    else
        out = make(info->dtype, info->dims);
    if (ref_run(step->op, step->has_attr ? step->attr : NULL, in, &out.tensor) != REF_OK)
        fail_msg("%s: the reference does not compute %s", c->name, op_name(step->op));
    return out;
}

static int is_off(const op_case *c, const char *who, const ref_tensor *got)
{
    held want = make_input(&c->want);
    int64_t at[TNP_MAX_DIMS] = { 0 };
    int off = got->dtype != want.tensor.dtype ||
              memcmp(got->dims, want.tensor.dims, sizeof got->dims) != 0;

    if (off)
        print_error("%s, %s: another type or other dims than must come out\n", c->name, who);
    while (!off) {
        double g = ref_get(got, at), w = ref_get(&want.tensor, at);
        int is_same = g == w || (isnan(g) && isnan(w));

        off = !is_same && !(fabs(g - w) <= c->absolute + c->relative * fabs(w));
        if (off)
            print_error("%s, %s: element {%ld, %ld, %ld, %ld} is %.9g, not %.9g\n", c->name, who,
                        (long)at[0], (long)at[1], (long)at[2], (long)at[3], g, w);
        else if (!ref_next(got->dims, at))
            break;
    }
    free(want.bytes);
    return off;
}

static tn_graph *build(const op_case *c, tn_value *values)
{
    tn_graph *graph = NULL;
    tn_value_info info = { .size = sizeof info };
    tn_value out;
    tn_error err = { 0 };

    assert_int_equal(tn_graph_create(NULL, &graph, &err), TN_OK);
    for (uint32_t i = 0; i < c->input_count; i++) {
        char name[24];

        snprintf(name, sizeof name, "input %u", i);
        values[i] = tn_graph_input(graph, name, c->inputs[i].dtype, c->inputs[i].rank,
                                   c->inputs[i].dims);
    }
    for (uint32_t s = 0; s < c->step_count; s++) {
        const case_step *step = &c->steps[s];
        tn_value in[MOST_OPERANDS];

        for (uint32_t i = 0; i < step->operand_count; i++)
            in[i] = step->operands[i] < 0 ? TN_NO_VALUE : values[step->operands[i]];
        values[c->input_count + s] = tn_graph_op(graph, step->op, NULL, in, step->operand_count,
                                                 step->has_attr ? step->attr : NULL);
    }
    out = values[c->input_count + c->step_count - 1];
    if (tn_graph_value_info(graph, out, &info, NULL) == TN_OK && info.is_view)
        out = tn_graph_convert(graph, out, info.dtype);   // contiguous, to be read
    tn_graph_output(graph, "out", out);
    if (tn_graph_finish(graph, &err) != TN_OK)
        fail_msg("%s: %s", c->name, err.text);
    return graph;
}

static held run_session(const op_case *c, const tn_graph *graph, const tn_value *values,
                        const held *inputs)
{
    tn_session *session = NULL;
    tn_feed feeds[MOST_VALUES];
    tn_value_info info = { .size = sizeof info };
    tn_value out = tn_graph_find(graph, "out");
    tn_error err = { 0 };
    held got;

    assert_int_equal(tn_graph_value_info(graph, out, &info, NULL), TN_OK);
    got = make(info.dtype, info.dims);
    for (uint32_t i = 0; i < c->input_count; i++)
        feeds[i] = (tn_feed){ values[i], inputs[i].bytes,
                              tn_dtype_bytes(c->inputs[i].dtype, c->inputs[i].count) };
    if (tn_session_create(runtime, &graph, 1, NULL, &session, &err) != TN_OK ||
        tn_session_run(session, 0, feeds, c->input_count, &err) != TN_OK ||
        tn_session_read(session, 0, out, got.bytes, info.bytes, &err) != TN_OK)
        fail_msg("%s: %s", c->name, err.text);
    tn_session_destroy(session);
    return got;
}

// How many of the two are off.
static int check(const op_case *c)
{
    tn_value values[MOST_VALUES];
    held reference[MOST_VALUES] = { { .bytes = NULL } }, got;
    uint32_t count = c->input_count + c->step_count;
    tn_graph *graph = build(c, values);
    int off;

    for (uint32_t i = 0; i < c->input_count; i++)
        reference[i] = make_input(&c->inputs[i]);
    for (uint32_t s = 0; s < c->step_count; s++) {
        tn_value_info info = { .size = sizeof info };
        held *made = &reference[c->input_count + s];

        assert_int_equal(tn_graph_value_info(graph, values[c->input_count + s], &info, NULL),
                         TN_OK);
        *made = compute(c, &c->steps[s], reference, &info);
        if (memcmp(made->tensor.dims, info.dims, sizeof info.dims))
            fail_msg("%s: step %u has other dims in the graph", c->name, s);
    }
    off = is_off(c, "reference", &reference[count - 1].tensor);
    got = run_session(c, graph, values, reference);
    off += is_off(c, "CPU plugin", &got.tensor);
    for (uint32_t i = 0; i < count; i++)
        free(reference[i].bytes);
    free(got.bytes);
    tn_graph_destroy(graph);
    return off;
}

static void print_ops(const op_case *cases)
{
    unsigned char is_used[256] = { 0 };
    uint32_t case_count = 0, op_count = 0;
    char names[2048] = "";

    for (const op_case *c = cases; c->name; c++, case_count++)
        for (uint32_t s = 0; s < c->step_count; s++)
            is_used[c->steps[s].op % sizeof is_used] = 1;
    for (tnp_op op = 0; op < sizeof is_used; op++)
        if (is_used[op]) {
            op_count++;
            strcat(strcat(names, " "), op_name(op));
        }
    print_message("%u cases of %u ops:%s\n", case_count, op_count, names);
}

static void results_are_those_of_the_file(void **state)
{
    op_case *cases = cases_read(path);
    unsigned long count = 0;
    int off = 0;

    (void)state;
    print_ops(cases);
    for (const op_case *c = cases; c->name; c++, count++)
        off += check(c);
    cases_free(cases);
    assert_int_equal(off, 0);
    assert_int_equal(count, expected_count);
}

static int make_runtime(void **state)
{
    static const char *const plugins[] = { CPU_PLUGIN_PATH };
    tn_runtime_options options = {
        .size = sizeof options, .threads = 2, .plugin_paths = plugins, .plugin_path_count = 1
    };
    tn_error err = { 0 };

    (void)state;
    test_places();
    if (tn_runtime_create(&options, &runtime, &err) != TN_OK)
        fail_msg("%s", err.text);
    return 0;
}

static int drop_runtime(void **state)
{
    (void)state;
    tn_runtime_destroy(runtime);
    return 0;
}

int main(int argument_count, char **arguments)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(results_are_those_of_the_file) };

    if (argument_count != 3) {
        fprintf(stderr, "usage: integration_ops_cases FILE COUNT\n");
        return 2;
    }
    path = arguments[1];
    expected_count = strtoul(arguments[2], NULL, 10);
    return cmocka_run_group_tests(tests, make_runtime, drop_runtime);
}
