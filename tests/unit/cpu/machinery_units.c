// machinery_units.c: which nodes the CPU plugin claims together, and what it compiles of them. That
// their bits are those of the nodes one by one is tested in tests/integration/session_units.c.
#include "machinery_rig.h"

enum { K = 64, ROWS = 16, TOKENS = 3 };

static const tnp_norm_attr norm_attr = { sizeof norm_attr, 1e-5f };

// A slice under the hand: values that pass between nodes stay inside unless a test says otherwise.
typedef struct made {
    test_slice slice;
    uint32_t x, normed, q, k, out;
} made;

static uint32_t add_rows(made *m, uint32_t flags, int64_t width)
{
    return test_slice_add_value(&m->slice, TNP_DTYPE_F32, flags, 2, (int64_t[]){ width, TOKENS });
}

static uint32_t add_weight(made *m, tnp_dtype dtype)
{
    const uint32_t flags = TNP_STORAGE_CONSTANT | TNP_STORAGE_ENTERS;
    uint32_t w = test_slice_add_value(&m->slice, TNP_DTYPE_F32, flags, 2, (int64_t[]){ K, ROWS });
    if (dtype == TNP_DTYPE_Q8_0) {
        m->slice.values[w].dtype = dtype;
        m->slice.values[w].strides[0] = 34;
        m->slice.values[w].strides[1] = K / 32 * 34;
        m->slice.storages[m->slice.values[w].storage].bytes = ROWS * K / 32 * 34;
    }
    return w;
}

// Node 0 norms x, 1 and 2 are products q and k of that, and with a gate 3 makes `out` of both.
static void make(made *m, tnp_op gate, tnp_dtype dtype)
{
    const uint32_t flags = gate ? 0 : TNP_STORAGE_LEAVES;
    memset(m, 0, sizeof *m);
    test_slice_init(&m->slice);
    m->x = add_rows(m, TNP_STORAGE_ENTERS, K);
    m->normed = add_rows(m, 0, K);
    m->q = add_rows(m, flags, ROWS);
    m->k = add_rows(m, flags, ROWS);
    test_slice_add_node(&m->slice, TNP_OP_RMS_NORM, &norm_attr, "norm", m->x, TNP_NONE, m->normed);
    test_slice_add_node(&m->slice, TNP_OP_MATMUL, NULL, "q", m->normed, add_weight(m, dtype), m->q);
    test_slice_add_node(&m->slice, TNP_OP_MATMUL, NULL, "k", m->normed, add_weight(m, dtype), m->k);
    if (!gate)
        return;
    m->out = add_rows(m, TNP_STORAGE_LEAVES, ROWS);
    test_slice_add_node(&m->slice, gate, NULL, "gate", m->q, m->k, m->out);
}

// "0123 123": the nodes of each unit claimed, in order.
static const char *units_of(const test_rig *rig, const made *m)
{
    static char text[128];
    test_claims claims;
    size_t used = 0;
    assert_ok(test_slice_claim(&m->slice, rig->plugin, rig->device, &claims));
    for (uint32_t i = 0; i < m->slice.slice.node_count; i++)
        assert_true(claims.is_taken[i]);   // alone as well
    text[0] = '\0';
    for (uint32_t u = 0; u < claims.unit_count; u++) {
        if (u > 0)
            text[used++] = ' ';
        for (uint32_t i = 0; i < claims.units[u].node_count; i++)
            text[used++] = (char)('0' + claims.units[u].nodes[i]);
        text[used] = '\0';
    }
    return text;
}

static void leave(made *m, uint32_t value)
{
    m->slice.storages[m->slice.values[value].storage].flags |= TNP_STORAGE_LEAVES;
}

static void products_of_one_activation_are_claimed_together(void **state)
{
    test_rig rig;
    made m;
    (void)state;
    rig_start(&rig, 2);

    make(&m, 0, TNP_DTYPE_Q8_0);
    assert_string_equal(units_of(&rig, &m), "12 012");
    make(&m, TNP_OP_SWIGLU, TNP_DTYPE_Q8_0);
    assert_string_equal(units_of(&rig, &m), "123 0123");
    make(&m, 0, TNP_DTYPE_F32);   // no integer kernel
    assert_string_equal(units_of(&rig, &m), "");

    // What somebody else looks at cannot stay inside.
    make(&m, 0, TNP_DTYPE_Q8_0);
    leave(&m, m.normed);
    assert_string_equal(units_of(&rig, &m), "12");
    make(&m, TNP_OP_GEGLU, TNP_DTYPE_Q8_0);
    leave(&m, m.q);
    assert_string_equal(units_of(&rig, &m), "12 012");
    make(&m, TNP_OP_GEGLU, TNP_DTYPE_Q8_0);
    test_slice_add_node(&m.slice, TNP_OP_TANH, NULL, "other", m.k, TNP_NONE,
                        add_rows(&m, TNP_STORAGE_LEAVES, ROWS));
    assert_string_equal(units_of(&rig, &m), "12 012");

    // Another activation, and a third product that the gate does not take.
    make(&m, 0, TNP_DTYPE_Q8_0);
    m.slice.operands[2][0] = m.x;
    assert_string_equal(units_of(&rig, &m), "01");
    make(&m, TNP_OP_SWIGLU, TNP_DTYPE_Q8_0);
    test_slice_add_node(&m.slice, TNP_OP_MATMUL, NULL, "v", m.normed,
                        add_weight(&m, TNP_DTYPE_Q8_0), add_rows(&m, TNP_STORAGE_LEAVES, ROWS));
    assert_string_equal(units_of(&rig, &m), "123");

    // The sum that takes a single product, once, in the place of what it is added to.
    make(&m, TNP_OP_ADD, TNP_DTYPE_Q8_0);
    assert_string_equal(units_of(&rig, &m), "12 012");
    m.slice.operands[2][0] = m.x;   // k, which is added to q, or q to k
    assert_string_equal(units_of(&rig, &m), "13 013 23");
    m.slice.operands[3][1] = m.q;
    assert_string_equal(units_of(&rig, &m), "01");
    rig_stop(&rig);
}

// A node between the products that writes through an operand may write what they read.
static void nodes_with_a_write_between_them_stay_apart(void **state)
{
    test_rig rig;
    made m;
    (void)state;
    rig_start(&rig, 1);
    make(&m, 0, TNP_DTYPE_Q8_0);
    uint32_t table = add_rows(&m, TNP_STORAGE_STATE | TNP_STORAGE_ENTERS, ROWS);
    uint32_t index = test_slice_add_value(&m.slice, TNP_DTYPE_I32, TNP_STORAGE_ENTERS, 1,
                                          (int64_t[]){ TOKENS });
    uint32_t written = test_slice_add_view(&m.slice, table);
    uint32_t set = test_slice_add_node(&m.slice, TNP_OP_SET_ROWS, NULL, "set", table, m.q, written);
    m.slice.operands[set][2] = index;
    m.slice.nodes[set].input_count = 3;
    assert_string_equal(units_of(&rig, &m), "12 012");   // behind them
    const tnp_node *k = m.slice.node_pointers[2];
    m.slice.node_pointers[2] = m.slice.node_pointers[set];
    m.slice.node_pointers[set] = k;
    assert_string_equal(units_of(&rig, &m), "");
    rig_stop(&rig);
}

static void a_setting_leaves_nodes_apart(void **state)
{
    const tnp_plugin *plugin = test_plugin_load(CPU_PLUGIN_PATH);
    test_host host;
    test_rig rig = { .plugin = plugin, .err = { .size = sizeof rig.err } };
    tnp_open open = { .size = sizeof open };
    made m;
    (void)state;
    test_host_init(&host, 1);
    test_host_set(&host, "fuse", "off");
    assert_ok(plugin->start(&host.table, &rig.instance, &rig.err));
    assert_ok(plugin->open(rig.instance, &open, &rig.device, &rig.err));
    make(&m, 0, TNP_DTYPE_Q8_0);
    assert_string_equal(units_of(&rig, &m), "");
    plugin->close(rig.device);
    plugin->stop(rig.instance);
    test_host_finish(&host);
}

static void nodes_that_are_no_unit_are_refused_in_words(void **state)
{
    static const struct {
        const char *says;
        uint32_t count, nodes[6];
    } cases[] = {
        { "none", 0, { 0 } },
        { "a norm and a gate", 2, { 0, 3 } },
        { "one product and the gate", 2, { 1, 3 } },
        { "a product twice", 2, { 1, 1 } },
        { "a norm twice", 3, { 0, 0, 1 } },
        { "a node that is not there", 2, { 1, 99 } },
        { "more nodes than a unit has", 5, { 0, 1, 2, 3, 3 } },
    };
    test_rig rig;
    made m;
    (void)state;
    rig_start(&rig, 1);
    make(&m, TNP_OP_SWIGLU, TNP_DTYPE_Q8_0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnp_claim claim = { .size = sizeof claim,
                            .node_count = cases[i].count,
                            .nodes = cases[i].nodes,
                            .name = "unit",
                            .cost_ns = 1 };
        const tnp_claim *units[] = { &claim };
        tnp_compile how = {
            .size = sizeof how, .unit_count = 1, .slice = &m.slice.slice, .units = units
        };
        tnp_program *program = NULL;
        rig.err.text[0] = '\0';
        if (rig.plugin->compile(rig.device, &how, &program, &rig.err) != TNP_E_ARG || program ||
            !strstr(rig.err.text, "unit 0"))
            fail_msg("%s: %s", cases[i].says, rig.err.text);
    }
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_one_activation_are_claimed_together),
        cmocka_unit_test(nodes_with_a_write_between_them_stay_apart),
        cmocka_unit_test(a_setting_leaves_nodes_apart),
        cmocka_unit_test(nodes_that_are_no_unit_are_refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
