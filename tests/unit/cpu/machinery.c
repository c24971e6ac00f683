// machinery.c: claims, programs, bindings and runs of the CPU plugin.
#include "machinery_rig.h"

static float *floats(const test_rig *rig, uint64_t offset)
{
    return (float *)(void *)(rig->bytes + offset);
}

// ----------------------------------------------------------------------------------------- devices

static void settings_that_are_wrong_are_refused(void **state)
{
    static const struct {
        const char *key, *value;
        bool is_right;
    } cases[] = {
        { "activations", "f32", true },  { "activations", "q8", true },
        { "activations", "F32", false }, { "devices", "16", true },
        { "devices", "17", false },      { "devices", "0", false },
        { "devices", "", false },        { "devices", "4294967297", false },
        { "threads", "1", true },        { "threads", "two", false },
        { "threads", "-1", false },      { "repack", "on", true },
        { "repack", "off", true },       { "repack", "no", false },
    };
    (void)state;
    const tnp_plugin *plugin = test_plugin_load(CPU_PLUGIN_PATH);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_host host;
        tnp_error err = { .size = sizeof err };
        tnp_instance *instance = NULL;
        test_host_init(&host, 2);
        test_host_set(&host, cases[i].key, cases[i].value);
        tnp_status status = plugin->start(&host.table, &instance, &err);
        assert_int_equal(status, cases[i].is_right ? TNP_OK : TNP_E_ARG);
        assert_true(cases[i].is_right || strstr(err.text, cases[i].key));
        plugin->stop(instance);
        assert_int_equal(test_host_live(&host), 0);
        test_host_finish(&host);
    }
}

static void several_devices_share_what_they_have(void **state)
{
    (void)state;
    const tnp_plugin *plugin = test_plugin_load(CPU_PLUGIN_PATH);
    test_host host;
    tnp_error err = { .size = sizeof err };
    tnp_instance *instance;
    tnp_device *devices[3];
    uint32_t count;
    test_host_init(&host, 3);
    test_host_set(&host, "devices", "3");
    assert_ok(plugin->start(&host.table, &instance, &err));
    assert_ok(plugin->device_count(instance, &count, &err));
    assert_int_equal(count, 3);
    for (uint32_t i = 0; i < count; i++) {
        tnp_device_info info = { .size = sizeof info };
        assert_ok(plugin->device_info(instance, i, &info, &err));
        assert_int_equal(info.kind, TNP_KIND_CPU);
        assert_true(info.name[0] != '\0' && info.memory_bytes > 0 && info.update_bytes >= 256);
        tnp_open open = { .size = sizeof open, .id = info.id };
        assert_ok(plugin->open(instance, &open, &devices[i], &err));
    }
    tnp_link link = { .size = sizeof link };
    assert_ok(plugin->link(devices[0], devices[2], &link, &err));
    assert_int_equal(link.flags, TNP_LINK_COPY | TNP_LINK_WAIT | TNP_LINK_BIND);
    tnp_device_info info = { .size = sizeof info };
    assert_int_equal(plugin->device_info(instance, 3, &info, &err), TNP_E_ARG);
    tnp_open open = { .size = sizeof open, .id = 99 };
    assert_int_equal(plugin->open(instance, &open, &devices[0], &err), TNP_E_ARG);
    for (uint32_t i = 0; i < count; i++)
        plugin->close(devices[i]);
    plugin->stop(instance);
    assert_int_equal(test_host_live(&host), 0);
    test_host_finish(&host);
}

static void an_older_caller_gets_what_it_has_room_for(void **state)
{
    test_rig rig;
    (void)state;
    rig_start(&rig, 1);
    struct {
        tnp_memory_info info;
        uint64_t beyond;
    } longer = { .info = { .size = sizeof longer }, .beyond = 77 };
    assert_ok(rig.plugin->memory_info(rig.device, 0, &longer.info, &rig.err));
    assert_int_equal(longer.info.alignment_bytes, 32);
    assert_int_equal(longer.beyond, 77);
    tnp_memory_info shorter = { .size = offsetof(tnp_memory_info, alignment_bytes) };
    assert_ok(rig.plugin->memory_info(rig.device, 0, &shorter, &rig.err));
    assert_int_equal(shorter.pool, 1);
    assert_int_equal(shorter.alignment_bytes, 0);
    rig_stop(&rig);
}

// ------------------------------------------------------------------------------------------ claims

static void what_is_not_known_is_refused_in_words(void **state)
{
    static const struct {
        const char *says;
        uint32_t op;
        bool has_tail;
        unsigned char tail;
        bool is_taken;
    } cases[] = {
        { "a node as it should be", TNP_OP_SCALE, false, 0, true },
        { "a longer attribute struct of zeros", TNP_OP_SCALE, true, 0, true },
        { "an attribute that is not known", TNP_OP_SCALE, true, 1, false },
        { "an op that is not known", 0x80000001u, false, 0, false },
    };
    test_rig rig;
    (void)state;
    rig_start(&rig, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct {
            tnp_scale_attr scale;
            unsigned char tail[8];
        } attr = { .scale = { .size = sizeof attr.scale } };
        test_slice slice;
        test_claims claims;
        test_slice_init(&slice);
        uint32_t x = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 8);
        uint32_t out = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 8);
        attr.scale.scale = 1;
        attr.tail[7] = cases[i].tail;
        if (cases[i].has_tail)
            attr.scale.size = sizeof attr;
        test_slice_add_node(&slice, cases[i].op, &attr, "n", x, TNP_NONE, out);
        assert_ok(test_slice_claim(&slice, rig.plugin, rig.device, &claims));
        if (claims.is_taken[0] != cases[i].is_taken)
            fail_msg("%s: %s", cases[i].says, claims.reasons[0]);
        assert_true(claims.is_taken[0] || claims.reasons[0][0] != '\0');
    }
    rig_stop(&rig);
}

static void values_that_are_not_known_are_refused(void **state)
{
    test_rig rig;
    (void)state;
    rig_start(&rig, 1);
    for (int which = 0; which < 6; which++) {
        struct { tnp_value value; uint64_t tail; } longer;
        test_slice slice;
        test_claims claims;
        test_slice_init(&slice);
        uint32_t x = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 8);
        uint32_t y = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 8);
        uint32_t out = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 8);
        test_slice_add_node(&slice, TNP_OP_ADD, NULL, "n", x, y, out);
        longer.value = slice.values[x];
        longer.value.size = sizeof longer;
        longer.tail = 1;
        switch (which) {
        case 0: slice.value_pointers[x] = &longer.value; break;
        case 1: slice.values[x].dtype = 1000; break;
        case 2: slice.values[x].layout = 3; break;
        case 3: slice.values[x].flags = 1u << 20; break;
        case 4: slice.values[x].extent[0] = 1 + y; break;            // eight elements, not one
        default: slice.storages[slice.values[x].storage].flags |= 1u << 30; break;
        }
        assert_ok(test_slice_claim(&slice, rig.plugin, rig.device, &claims));
        assert_false(claims.is_taken[0]);
        assert_true(claims.reasons[0][0] != '\0');
    }
    rig_stop(&rig);
}

// A fused gate and up projection: one matrix, its left half the gate, its right half up.
static void permission_in_place_looks_at_the_elements(void **state)
{
    static const struct {
        const char *says;
        uint64_t up_offset;
        bool is_gate_free, is_up_free;
    } cases[] = {
        { "halves of one matrix do not share an element", 16, true, true },
        { "the same half twice is read before it is written", 0, true, true },
        { "halves that overlap", 4, false, false },
    };
    test_rig rig;
    (void)state;
    rig_start(&rig, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t whole[] = { 8, 3 };
        test_slice slice;
        test_claims claims;
        test_slice_init(&slice);
        uint32_t gate = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 2, whole);
        uint32_t out = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 2, whole);
        uint32_t up = test_slice_add_view(&slice, gate);
        slice.values[gate].dims[0] = slice.values[up].dims[0] = slice.values[out].dims[0] = 4;
        slice.values[up].offset = cases[i].up_offset;
        test_slice_add_node(&slice, TNP_OP_SWIGLU, NULL, "n", gate, up, out);
        assert_ok(test_slice_claim(&slice, rig.plugin, rig.device, &claims));
        bool is_gate_free = false, is_up_free = false;
        for (uint32_t p = 0; p < claims.claims[0].in_place_count; p++) {
            is_gate_free |= claims.in_place[0][p].input == gate;
            is_up_free |= claims.in_place[0][p].input == up;
        }
        if (!claims.is_taken[0] || is_gate_free != cases[i].is_gate_free ||
            is_up_free != cases[i].is_up_free)
            fail_msg("%s: gate %d up %d %s", cases[i].says, is_gate_free, is_up_free,
                     claims.reasons[0]);
    }
    rig_stop(&rig);
}

// -------------------------------------------------------------------------------------------- runs

static void a_sum_has_the_same_bits_for_any_number_of_workers(void **state)
{
    enum { COUNT = 1000 };
    float first[COUNT];
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers++) {
        test_rig rig;
        rig_sum sum;
        rig_start(&rig, workers);
        rig_sum_make(&rig, &sum, COUNT, false, 0);
        for (int i = 0; i < COUNT; i++) {
            floats(&rig, 0)[i] = 1.0f / (float)(i + 1);
            floats(&rig, 4096)[i] = (float)i * 0.1f;
        }
        rig_run(&rig, sum.bound);
        for (int i = 0; i < COUNT; i++)
            assert_true(floats(&rig, 0)[i] == 1.0f / (float)(i + 1) + (float)i * 0.1f);
        if (workers == 1)
            memcpy(first, rig.bytes, sizeof first);
        assert_memory_equal(first, rig.bytes, sizeof first);
        rig_sum_drop(&rig, &sum);
        rig_stop(&rig);
    }
}

static void a_chain_runs_in_place(void **state)
{
    test_rig rig;
    test_slice slice;
    tnp_program *program;
    tnp_bound *bound;
    const tnp_scale_attr twice = { .size = sizeof twice, .scale = 2, .bias = 1 };
    (void)state;
    rig_start(&rig, 2);
    test_slice_init(&slice);
    uint32_t x = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 100);
    uint32_t y = test_slice_add_vector(&slice, TNP_DTYPE_F32, 0, 100);
    uint32_t z = test_slice_add_vector(&slice, TNP_DTYPE_F32, 0, 100);
    uint32_t out = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 100);
    test_slice_add_node(&slice, TNP_OP_SCALE, &twice, "y", x, TNP_NONE, y);
    test_slice_add_node(&slice, TNP_OP_MUL, NULL, "z", y, y, z);
    test_slice_add_node(&slice, TNP_OP_ADD, NULL, "out", z, z, out);
    assert_ok(test_slice_compile(&slice, rig.plugin, rig.device, &program, &rig.err));
    tnp_binding bindings[4];
    for (uint32_t i = 0; i < 4; i++)
        bindings[i] = test_binding(TNP_BIND_STORAGE, i, rig.buffer, 0, 400);
    assert_ok(test_bind(rig.plugin, program, 0, bindings, 4, &bound, &rig.err));
    for (int i = 0; i < 100; i++)
        floats(&rig, 0)[i] = (float)i;
    rig_run(&rig, bound);
    for (int i = 0; i < 100; i++)
        assert_true(floats(&rig, 0)[i] == 2.0f * (2.0f * (float)i + 1) * (2.0f * (float)i + 1));
    rig.plugin->unbind(bound);
    rig.plugin->program_destroy(program);
    rig_stop(&rig);
}

static void a_binding_that_cannot_work_is_refused(void **state)
{
    static const struct {
        const char *says;
        uint64_t offset, bytes;
        uint32_t count;
        tnp_status status;
    } cases[] = {
        { "in place", 0, 256, 3, TNP_OK },
        { "apart", 4096, 256, 3, TNP_OK },
        { "over a part of an input", 64, 256, 3, TNP_E_ARG },
        { "too short", 0, 255, 3, TNP_E_ARG },
        { "past the end of the buffer", RIG_BUFFER_BYTES - 128, 256, 3, TNP_E_ARG },
        { "past the end of all numbers", UINT64_MAX - 8, 256, 3, TNP_E_ARG },
        { "at an address that is not aligned", 4096 + 4, 256, 3, TNP_E_ARG },
        { "an output that is not there", 0, 256, 2, TNP_E_ARG },
    };
    test_rig rig;
    rig_sum sum;
    (void)state;
    rig_start(&rig, 1);
    rig_sum_make(&rig, &sum, 64, false, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnp_bound *bound = NULL;
        const tnp_binding bindings[] = {
            test_binding(TNP_BIND_STORAGE, 0, rig.buffer, 0, 256),
            test_binding(TNP_BIND_STORAGE, 1, rig.buffer, 8192, 256),
            test_binding(TNP_BIND_STORAGE, 2, rig.buffer, cases[i].offset, cases[i].bytes),
        };
        tnp_status status =
            test_bind(rig.plugin, sum.program, 0, bindings, cases[i].count, &bound, &rig.err);
        if (status != cases[i].status)
            fail_msg("%s: %d %s", cases[i].says, status, rig.err.text);
        rig.plugin->unbind(bound);
    }
    rig_sum_drop(&rig, &sum);
    rig_stop(&rig);
}

static void memory_to_be_read_only_is_not_written(void **state)
{
    test_rig rig;
    rig_sum sum;
    _Alignas(64) float constant[64];
    tnp_buffer *imported;
    tnp_bound *bound = NULL;
    (void)state;
    rig_start(&rig, 1);
    rig_sum_make(&rig, &sum, 64, false, 0);
    tnp_import import = { .size = sizeof import,
                          .flags = TNP_IMPORT_READ_ONLY,
                          .kind = TNP_IMPORT_HOST,
                          .handle = (uintptr_t)constant,
                          .bytes = sizeof constant };
    assert_ok(rig.plugin->buffer_import(rig.device, &import, &imported, &rig.err));
    tnp_binding bindings[] = {
        test_binding(TNP_BIND_STORAGE, 0, rig.buffer, 0, 256),
        test_binding(TNP_BIND_STORAGE, 1, imported, 0, 256),
        test_binding(TNP_BIND_STORAGE, 2, rig.buffer, 0, 256),
    };
    assert_ok(test_bind(rig.plugin, sum.program, 0, bindings, 3, &bound, &rig.err));
    for (int i = 0; i < 64; i++)
        constant[i] = (float)i;
    rig_run(&rig, bound);
    assert_true(floats(&rig, 0)[63] == 63);
    rig.plugin->unbind(bound);
    bindings[2].buffer = imported;
    assert_int_equal(test_bind(rig.plugin, sum.program, 0, bindings, 3, &bound, &rig.err),
                     TNP_E_ARG);
    rig.plugin->buffer_free(imported);
    rig_sum_drop(&rig, &sum);
    rig_stop(&rig);
}

static void an_extent_says_how_much_counts(void **state)
{
    static const struct {
        int32_t length;
        tnp_status status;
    } cases[] = {
        { 0, TNP_OK },      { 1, TNP_OK },      { 64, TNP_OK },
        { 65, TNP_E_DATA }, { -1, TNP_E_DATA }, { 7, TNP_OK },
    };
    test_rig rig;
    rig_sum sum;
    (void)state;
    rig_start(&rig, 2);
    rig_sum_make(&rig, &sum, 64, true, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int j = 0; j < 64; j++) {
            floats(&rig, 0)[j] = 1;
            floats(&rig, 4096)[j] = 2;
        }
        const tnp_update update = { 3, 4, 0, &cases[i].length };
        assert_int_equal(rig_run_status(&rig, sum.bound, &update), cases[i].status);
        if (cases[i].status != TNP_OK)
            assert_non_null(strstr(rig.err.text, "'sum'"));
        for (int j = 0; j < 64 && cases[i].status == TNP_OK; j++)
            assert_true(floats(&rig, 0)[j] == (j < cases[i].length ? 3 : 1));
    }
    rig_sum_drop(&rig, &sum);
    rig_stop(&rig);
}

// The largest element's index is the length of the sum that follows.
static void an_extent_made_by_a_node_is_read_after_it(void **state)
{
    test_rig rig;
    test_slice slice;
    tnp_program *program;
    tnp_bound *bound;
    (void)state;
    rig_start(&rig, 3);
    test_slice_init(&slice);
    uint32_t scores = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 16);
    uint32_t best = test_slice_add_vector(&slice, TNP_DTYPE_I32, 0, 1);
    uint32_t x = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 8);
    uint32_t out = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 8);
    slice.values[x].extent[0] = slice.values[out].extent[0] = 1 + best;
    test_slice_add_node(&slice, TNP_OP_ARGMAX, NULL, "best", scores, TNP_NONE, best);
    test_slice_add_node(&slice, TNP_OP_ADD, NULL, "out", x, x, out);
    assert_ok(test_slice_compile(&slice, rig.plugin, rig.device, &program, &rig.err));
    tnp_binding bindings[4];
    for (uint32_t i = 0; i < 4; i++)
        bindings[i] =
            test_binding(TNP_BIND_STORAGE, i, rig.buffer, i * 4096, slice.storages[i].bytes);
    assert_ok(test_bind(rig.plugin, program, 0, bindings, 4, &bound, &rig.err));
    for (int largest = 0; largest < 12; largest++) {
        for (int i = 0; i < 16; i++)
            floats(&rig, 0)[i] = i == largest ? 5 : 0;
        for (int i = 0; i < 8; i++) {
            floats(&rig, 8192)[i] = 1;
            floats(&rig, 12288)[i] = 0;
        }
        assert_int_equal(rig_run_status(&rig, bound, NULL), largest <= 8 ? TNP_OK : TNP_E_DATA);
        for (int i = 0; i < 8 && largest <= 8; i++)
            assert_true(floats(&rig, 12288)[i] == (i < largest ? 2 : 0));
    }
    rig.plugin->unbind(bound);
    rig.plugin->program_destroy(program);
    rig_stop(&rig);
}

static void an_index_outside_its_table_fails_the_work(void **state)
{
    const int64_t table_dims[] = { 8, 4 }, out_dims[] = { 8, 2 };
    test_rig rig;
    test_slice slice;
    tnp_program *program;
    tnp_bound *bound;
    (void)state;
    rig_start(&rig, 2);
    test_slice_init(&slice);
    uint32_t table = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 2, table_dims);
    uint32_t index = test_slice_add_vector(&slice, TNP_DTYPE_I32, TNP_STORAGE_ENTERS, 2);
    uint32_t out = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 2, out_dims);
    test_slice_add_node(&slice, TNP_OP_GET_ROWS, NULL, "embedding", table, index, out);
    assert_ok(test_slice_compile(&slice, rig.plugin, rig.device, &program, &rig.err));
    tnp_binding bindings[3];
    for (uint32_t i = 0; i < 3; i++)
        bindings[i] =
            test_binding(TNP_BIND_STORAGE, i, rig.buffer, i * 4096, slice.storages[i].bytes);
    assert_ok(test_bind(rig.plugin, program, 0, bindings, 3, &bound, &rig.err));
    static const struct {
        int32_t index[2];
        tnp_status status;
    } cases[] = {
        { { 3, 0 }, TNP_OK },
        { { 0, 4 }, TNP_E_DATA },
        { { -1, 0 }, TNP_E_DATA },
        { { 1, 2 }, TNP_OK },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tnp_update update = { 1, 8, 0, cases[i].index };
        assert_int_equal(rig_run_status(&rig, bound, &update), cases[i].status);
        assert_true(cases[i].status == TNP_OK || strstr(rig.err.text, "'embedding'"));
    }
    rig.plugin->unbind(bound);
    rig.plugin->program_destroy(program);
    rig_stop(&rig);
}

static void a_result_that_nobody_sees_needs_no_bytes(void **state)
{
    test_rig rig;
    test_slice slice;
    tnp_program *program;
    tnp_bound *bound;
    (void)state;
    rig_start(&rig, 1);
    test_slice_init(&slice);
    uint32_t x = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 8);
    uint32_t unseen = test_slice_add_vector(&slice, TNP_DTYPE_F32, 0, 8);
    uint32_t out = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 8);
    test_slice_add_node(&slice, TNP_OP_ADD, NULL, "unseen", x, x, unseen);
    test_slice_add_node(&slice, TNP_OP_ADD, NULL, "out", x, x, out);
    assert_ok(test_slice_compile(&slice, rig.plugin, rig.device, &program, &rig.err));
    const tnp_binding bindings[] = {
        test_binding(TNP_BIND_STORAGE, 0, rig.buffer, 0, 32),
        test_binding(TNP_BIND_STORAGE, 2, rig.buffer, 4096, 32),
    };
    assert_ok(test_bind(rig.plugin, program, 0, bindings, 2, &bound, &rig.err));
    floats(&rig, 0)[7] = 4;
    rig_run(&rig, bound);
    assert_true(floats(&rig, 4096)[7] == 8);
    rig.plugin->unbind(bound);
    rig.plugin->program_destroy(program);
    rig_stop(&rig);
}

static void a_unit_that_asked_for_scratch_needs_it(void **state)
{
    const int64_t x_dims[] = { 32, 2 }, w_dims[] = { 32, 4 }, out_dims[] = { 4, 2 };
    test_rig rig;
    test_slice slice;
    test_claims claims;
    tnp_program *program;
    tnp_bound *bound = NULL;
    (void)state;
    rig_start(&rig, 2);
    test_slice_init(&slice);
    uint32_t x = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 2, x_dims);
    uint32_t w = test_slice_add_value(&slice, TNP_DTYPE_F32,
                                      TNP_STORAGE_CONSTANT | TNP_STORAGE_ENTERS, 2, w_dims);
    uint32_t out = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 2, out_dims);
    slice.values[w].dtype = TNP_DTYPE_Q8_0;
    slice.values[w].strides[0] = slice.values[w].strides[1] = 34;
    test_slice_add_node(&slice, TNP_OP_MATMUL, NULL, "up", x, w, out);
    assert_ok(test_slice_claim(&slice, rig.plugin, rig.device, &claims));
    assert_true(claims.is_taken[0]);
    assert_true(claims.claims[0].scratch_bytes > 0);
    assert_ok(test_slice_compile(&slice, rig.plugin, rig.device, &program, &rig.err));
    tnp_binding bindings[4];
    for (uint32_t i = 0; i < 3; i++)
        bindings[i] =
            test_binding(TNP_BIND_STORAGE, i, rig.buffer, i * 4096, slice.storages[i].bytes);
    bindings[3] =
        test_binding(TNP_BIND_SCRATCH, 0, rig.buffer, 16384 + 32, claims.claims[0].scratch_bytes);
    assert_int_equal(test_bind(rig.plugin, program, 0, bindings, 3, &bound, &rig.err), TNP_E_ARG);
    assert_ok(test_bind(rig.plugin, program, 0, bindings, 4, &bound, &rig.err));
    for (int i = 0; i < 64; i++)
        floats(&rig, 0)[i] = 1;
    for (int row = 0; row < 4; row++) {
        char *block = rig.bytes + 4096 + row * 34;
        memcpy(block, "\x00\x3c", 2);   // 1 as F16
        memset(block + 2, row, 32);
    }
    rig_run(&rig, bound);
    for (int row = 0; row < 4; row++)
        assert_float_equal(floats(&rig, 8192)[row], 32.0f * (float)row, 1.0f);
    rig.plugin->unbind(bound);
    rig.plugin->program_destroy(program);
    rig_stop(&rig);
}

static void a_traced_run_reports_each_unit(void **state)
{
    test_rig rig;
    rig_sum sum;
    (void)state;
    rig_start(&rig, 2);
    rig_sum_make(&rig, &sum, 64, false, TNP_BIND_TRACE);
    rig_run(&rig, sum.bound);
    assert_int_equal(rig.host.span_count, 1);
    assert_int_equal(rig.host.spans[0].unit, 0);
    assert_int_equal(rig.host.spans[0].bytes, 3 * 256);
    assert_true(rig.host.spans[0].end_ns >= rig.host.spans[0].begin_ns &&
                rig.host.spans[0].begin_ns > 0);
    rig_sum_drop(&rig, &sum);
    rig_stop(&rig);
}

// ------------------------------------------------------------------------------------------ memory

// All that takes memory, once through. Returns the first status that is not OK.
static tnp_status run_case(const tnp_plugin *plugin, test_host *host)
{
    tnp_error err = { .size = sizeof err };
    tnp_instance *instance = NULL;
    tnp_device *device = NULL;
    tnp_queue *queue = NULL;
    tnp_buffer *buffer = NULL;
    tnp_semaphore *semaphore = NULL;
    tnp_program *program = NULL;
    tnp_bound *bound = NULL;
    test_slice slice;
    const tnp_open open = { .size = sizeof open };
    const tnp_alloc alloc = { .size = sizeof alloc, .bytes = 4096 };
    const tnp_semaphore_options options = { .size = sizeof options };
    const tnp_queue_options how = {
        .size = sizeof how, .kind = TNP_QUEUE_COPY, .pending = 2, .points = 1
    };

    test_slice_init(&slice);
    uint32_t x = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 8);
    uint32_t out = test_slice_add_vector(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 8);
    test_slice_add_node(&slice, TNP_OP_ADD, NULL, "out", x, x, out);

    tnp_status status = plugin->start(&host->table, &instance, &err);
    if (status == TNP_OK)
        status = plugin->open(instance, &open, &device, &err);
    if (status == TNP_OK)
        status = plugin->queue_create(device, &how, &queue, &err);
    if (status == TNP_OK)
        status = plugin->buffer_alloc(device, &alloc, &buffer, &err);
    if (status == TNP_OK)
        status = plugin->semaphore_create(device, &options, &semaphore, &err);
    if (status == TNP_OK)
        status = test_slice_compile(&slice, plugin, device, &program, &err);
    if (status == TNP_OK) {
        const tnp_binding bindings[] = { test_binding(TNP_BIND_STORAGE, 0, buffer, 0, 32),
                                         test_binding(TNP_BIND_STORAGE, 1, buffer, 0, 32) };
        status = test_bind(plugin, program, 0, bindings, 2, &bound, &err);
    }
    assert_true(status == TNP_OK || err.text[0] != '\0');
    plugin->unbind(bound);
    plugin->program_destroy(program);
    plugin->semaphore_destroy(semaphore);
    plugin->buffer_free(buffer);
    if (queue)
        plugin->queue_destroy(queue);
    if (device)
        plugin->close(device);
    if (instance)
        plugin->stop(instance);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const tnp_plugin *plugin = test_plugin_load(CPU_PLUGIN_PATH);
    tnp_status status = TNP_E_HOST_MEMORY;
    for (uint32_t fail_at = 1; status != TNP_OK; fail_at++) {
        test_host host;
        test_host_init(&host, 1);
        host.fail_at = fail_at;
        status = run_case(plugin, &host);
        assert_true(status == TNP_OK || status == TNP_E_HOST_MEMORY ||
                    status == TNP_E_DEVICE_MEMORY);
        assert_int_equal(host.live, 0);
        test_host_finish(&host);
        assert_true(fail_at < 100);
    }
}

static void the_table_carries_the_manifest(void **state)
{
    (void)state;
    const tnp_plugin *plugin = test_plugin_load(CPU_PLUGIN_PATH);
    assert_memory_equal(plugin->note->owner, "Tenon", 6);
    assert_int_equal(plugin->note->manifest.abi, TNP_ABI_CURRENT);
    assert_string_equal(plugin->note->manifest.name, "cpu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_are_wrong_are_refused),
        cmocka_unit_test(several_devices_share_what_they_have),
        cmocka_unit_test(an_older_caller_gets_what_it_has_room_for),
        cmocka_unit_test(what_is_not_known_is_refused_in_words),
        cmocka_unit_test(values_that_are_not_known_are_refused),
        cmocka_unit_test(permission_in_place_looks_at_the_elements),
        cmocka_unit_test(a_sum_has_the_same_bits_for_any_number_of_workers),
        cmocka_unit_test(a_chain_runs_in_place),
        cmocka_unit_test(a_binding_that_cannot_work_is_refused),
        cmocka_unit_test(memory_to_be_read_only_is_not_written),
        cmocka_unit_test(an_extent_says_how_much_counts),
        cmocka_unit_test(an_extent_made_by_a_node_is_read_after_it),
        cmocka_unit_test(an_index_outside_its_table_fails_the_work),
        cmocka_unit_test(a_result_that_nobody_sees_needs_no_bytes),
        cmocka_unit_test(a_unit_that_asked_for_scratch_needs_it),
        cmocka_unit_test(a_traced_run_reports_each_unit),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(the_table_carries_the_manifest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
