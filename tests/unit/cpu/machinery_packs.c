// machinery_packs.c: weights that the CPU plugin asks to have packed: claims, programs, bindings.
// How the bytes of a pack lie is tested in kernels_blocks.c.
#include "machinery_rig.h"

#include <stdlib.h>
#include <string.h>

enum {
    K = 64,
    ROWS = 19,
    TOKENS = 5,
    BLOCK = 34,   // Q8_0
    ROW_BYTES = K / 32 * BLOCK,
    PACK_BYTES = 24 * ROW_BYTES,
    // in the rig's buffer
    X_AT = 0,
    W_AT = 4096,
    OUT_AT = 8192,
    PACK_AT = 12288,
};

typedef struct packed_rig {
    test_rig rig;
    test_slice slice;
    uint32_t x, w, out;
    test_claims claims;
} packed_rig;

static void describe_weight(tnp_value *value, tnp_dtype dtype, int64_t block, uint32_t block_bytes)
{
    value->dtype = dtype;
    value->strides[0] = block_bytes;
    value->strides[1] = value->dims[0] / block * block_bytes;
}

// out = w x, w a constant of Q8_0.
static void make(packed_rig *p, uint32_t workers, int64_t tokens)
{
    const int64_t x_dims[] = { K, tokens }, w_dims[] = { K, ROWS }, out_dims[] = { ROWS, tokens };

    rig_start(&p->rig, workers);
    test_slice_init(&p->slice);
    p->x = test_slice_add_value(&p->slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 2, x_dims);
    p->w = test_slice_add_value(&p->slice, TNP_DTYPE_F32, TNP_STORAGE_CONSTANT | TNP_STORAGE_ENTERS,
                                2, w_dims);
    p->out = test_slice_add_value(&p->slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 2, out_dims);
    describe_weight(&p->slice.values[p->w], TNP_DTYPE_Q8_0, 32, BLOCK);
    p->slice.storages[p->w].bytes = ROWS * ROW_BYTES;
    test_slice_add_node(&p->slice, TNP_OP_MATMUL, NULL, "up", p->x, p->w, p->out);
}

static void fill(const packed_rig *p, int64_t tokens)
{
    float *x = (float *)(void *)(p->rig.bytes + X_AT);

    for (int i = 0; i < K * tokens; i++)
        x[i] = (float)(i * 37 % 101) * 0.02f - 1;
    for (int b = 0; b < ROWS * K / 32; b++) {
        char *block = p->rig.bytes + W_AT + b * BLOCK;

        memcpy(block, (const char[]){ (char)b, 0x2c }, 2);   // F16, about 0.06
        for (int i = 0; i < 32; i++)
            block[2 + i] = (char)((b * 31 + i * 7) % 255 - 127);
    }
}

static tnp_status compile(packed_rig *p, tnp_program **out)
{
    const tnp_claim *units[TEST_MAX_NODES];
    tnp_compile how = { .size = sizeof how,
                        .unit_count = p->slice.slice.node_count,
                        .slice = &p->slice.slice,
                        .units = units };

    for (uint32_t i = 0; i < how.unit_count; i++)
        units[i] = &p->claims.claims[i];
    return p->rig.plugin->compile(p->rig.device, &how, out, &p->rig.err);
}

// Which weights are claimed with a pack, and in which groups.
static void constants_of_products_are_claimed_as_packs(void **state)
{
    static const struct {
        const char *says;
        tnp_dtype dtype;
        int64_t block;
        uint32_t block_bytes, flags;
        int64_t dims[3];
        uint64_t group_bytes;   // 0 = it is read as it is
    } cases[] = {
        { "Q8_0", TNP_DTYPE_Q8_0, 32, 34, TNP_STORAGE_CONSTANT, { 512, 8, 1 }, 16 * 34 * 8 },
        { "Q4_1", TNP_DTYPE_Q4_1, 32, 20, TNP_STORAGE_CONSTANT, { 512, 100, 1 }, 16 * 20 * 8 },
        { "Q6_K", TNP_DTYPE_Q6_K, 256, 210, TNP_STORAGE_CONSTANT, { 512, 100, 1 }, 2 * 210 * 8 },
        { "Q2_K", TNP_DTYPE_Q2_K, 256, 84, TNP_STORAGE_CONSTANT, { 512, 100, 1 }, 2 * 84 * 8 },
        { "F16", TNP_DTYPE_F16, 1, 2, TNP_STORAGE_CONSTANT, { 512, 100, 1 }, 0 },
        { "few rows", TNP_DTYPE_Q8_0, 32, 34, TNP_STORAGE_CONSTANT, { 512, 7, 1 }, 0 },
        { "several matrices", TNP_DTYPE_Q8_0, 32, 34, TNP_STORAGE_CONSTANT, { 512, 8, 2 }, 0 },
        { "a state", TNP_DTYPE_Q8_0, 32, 34, TNP_STORAGE_STATE, { 512, 100, 1 }, 0 },
    };
    test_rig rig;

    (void)state;
    rig_start(&rig, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t x_dims[] = { 512, 3, cases[i].dims[2] },
                      out_dims[] = { cases[i].dims[1], 3, cases[i].dims[2] };
        test_slice slice;
        test_claims claims;

        test_slice_init(&slice);
        uint32_t x = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 3, x_dims);
        uint32_t w = test_slice_add_value(&slice, TNP_DTYPE_F32,
                                          cases[i].flags | TNP_STORAGE_ENTERS, 3, cases[i].dims);
        uint32_t out = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 3, out_dims);
        describe_weight(&slice.values[w], cases[i].dtype, cases[i].block, cases[i].block_bytes);
        slice.values[w].strides[2] = slice.values[w].strides[1] * cases[i].dims[1];
        test_slice_add_node(&slice, TNP_OP_MATMUL, NULL, "up", x, w, out);
        assert_ok(test_slice_claim(&slice, rig.plugin, rig.device, &claims));
        if (!claims.is_taken[0])
            fail_msg("%s: %s", cases[i].says, claims.reasons[0]);
        const tnp_claim *claim = &claims.claims[0];
        const tnp_pack *pack = &claims.packs[0];
        bool is_right = claim->pack_count == (cases[i].group_bytes != 0);
        if (is_right && claim->pack_count)
            is_right = pack->value == w && pack->layout != 0 && pack->flags == 0 &&
                       pack->group_rows == 8 && pack->group_bytes == cases[i].group_bytes;
        if (!is_right)
            fail_msg("%s: %u packs, of %llu bytes a group", cases[i].says, claim->pack_count,
                     (unsigned long long)pack->group_bytes);
        if (claim->pack_count) {   // also of a matrix with more dims than two
            unsigned char *group = malloc(pack->group_bytes);
            memset(rig.bytes, 0, 8 * (size_t)slice.values[w].strides[1]);
            assert_ok(rig.plugin->pack(rig.device, &slice.values[w], pack->layout, rig.bytes, 0, 1,
                                       group, &rig.err));
            free(group);
        }
    }
    rig_stop(&rig);
}

static void settings_may_leave_weights_as_they_are(void **state)
{
    static const char *const settings[][2] = { { "repack", "off" }, { "activations", "f32" } };
    const int64_t x_dims[] = { K, 1 }, w_dims[] = { K, ROWS }, out_dims[] = { ROWS, 1 };
    const tnp_plugin *plugin = test_plugin_load(CPU_PLUGIN_PATH);

    (void)state;
    for (int i = 0; i < 2; i++) {
        test_host host;
        test_slice slice;
        test_claims claims;
        tnp_error err = { .size = sizeof err };
        tnp_instance *instance;
        tnp_device *device;
        tnp_open open = { .size = sizeof open };

        test_host_init(&host, 1);
        test_host_set(&host, settings[i][0], settings[i][1]);
        assert_ok(plugin->start(&host.table, &instance, &err));
        assert_ok(plugin->open(instance, &open, &device, &err));
        test_slice_init(&slice);
        uint32_t x = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 2, x_dims);
        uint32_t w = test_slice_add_value(&slice, TNP_DTYPE_F32,
                                          TNP_STORAGE_CONSTANT | TNP_STORAGE_ENTERS, 2, w_dims);
        uint32_t out = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 2, out_dims);
        describe_weight(&slice.values[w], TNP_DTYPE_Q8_0, 32, BLOCK);
        test_slice_add_node(&slice, TNP_OP_MATMUL, NULL, "up", x, w, out);
        assert_ok(test_slice_claim(&slice, plugin, device, &claims));
        assert_true(claims.is_taken[0] && claims.claims[0].pack_count == 0);
        plugin->close(device);
        plugin->stop(instance);
        test_host_finish(&host);
    }
}

// With the pack in place of the weight, for any number of workers; and without a pack, of which a
// host need not make use.
static void a_packed_weight_gives_the_bits_of_the_weight(void **state)
{
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers++)
        for (int64_t tokens = 1; tokens <= TOKENS; tokens += TOKENS - 1) {
            char first[ROWS * TOKENS * 4];

            for (int is_packed = 0; is_packed < 2; is_packed++) {
                packed_rig p;
                tnp_program *program;
                tnp_bound *bound;
                tnp_buffer *scratch = NULL;
                const size_t out_bytes = (size_t)(ROWS * tokens * 4);

                make(&p, workers, tokens);
                fill(&p, tokens);
                assert_ok(test_slice_claim(&p.slice, p.rig.plugin, p.rig.device, &p.claims));
                assert_int_equal(p.claims.claims[0].pack_count, 1);
                assert_int_equal(8 * ROW_BYTES, p.claims.packs[0].group_bytes);
                assert_ok(p.rig.plugin->pack(p.rig.device, &p.slice.values[p.w],
                                             p.claims.packs[0].layout, p.rig.bytes + W_AT, 0, 3,
                                             p.rig.bytes + PACK_AT, &p.rig.err));
                p.claims.claims[0].pack_count = (uint32_t)is_packed;
                assert_ok(compile(&p, &program));
                tnp_alloc alloc = { .size = sizeof alloc,
                                    .bytes = p.claims.claims[0].scratch_bytes };
                if (alloc.bytes)
                    assert_ok(
                        p.rig.plugin->buffer_alloc(p.rig.device, &alloc, &scratch, &p.rig.err));
                tnp_binding bindings[] = {
                    [0] = test_binding(TNP_BIND_STORAGE, p.x, p.rig.buffer, X_AT,
                                       (uint64_t)(K * tokens * 4)),
                    [1] = test_binding(TNP_BIND_STORAGE, p.out, p.rig.buffer, OUT_AT, out_bytes),
                    [2] = is_packed
                              ? test_binding(TNP_BIND_PACKED, 0, p.rig.buffer, PACK_AT, PACK_BYTES)
                              : test_binding(TNP_BIND_STORAGE, p.w, p.rig.buffer, W_AT,
                                             ROWS * ROW_BYTES),
                    [3] = test_binding(TNP_BIND_SCRATCH, 0, scratch, 0, alloc.bytes),
                };
                assert_ok(test_bind(p.rig.plugin, program, 0, bindings, scratch ? 4 : 3, &bound,
                                    &p.rig.err));
                if (is_packed)   // nothing looks at the weight itself
                    memset(p.rig.bytes + W_AT, 0xff, ROWS * ROW_BYTES);
                rig_run(&p.rig, bound);
                if (!is_packed)
                    memcpy(first, p.rig.bytes + OUT_AT, out_bytes);
                assert_memory_equal(first, p.rig.bytes + OUT_AT, out_bytes);
                p.rig.plugin->unbind(bound);
                p.rig.plugin->program_destroy(program);
                p.rig.plugin->buffer_free(scratch);
                rig_stop(&p.rig);
            }
        }
}

static void a_pack_that_was_not_claimed_is_not_compiled(void **state)
{
    static const char *const says[] = {
        "two packs",         "of another value", "another layout",  "other groups",
        "other group bytes", "a flag",           "a longer struct", "as claimed",
    };
    packed_rig p;

    (void)state;
    make(&p, 1, 1);
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        bool is_right = i == sizeof says / sizeof *says - 1;
        struct {
            tnp_pack pack;
            uint64_t tail;
        } longer;
        tnp_program *program = NULL;

        assert_ok(test_slice_claim(&p.slice, p.rig.plugin, p.rig.device, &p.claims));
        tnp_pack *pack = &p.claims.packs[0];
        const tnp_pack *two[] = { pack, pack };
        longer.pack = *pack;
        longer.pack.size = sizeof longer;
        longer.tail = 1;
        p.claims.claims[0].packs = two;
        switch (i) {
        case 0:
            p.claims.claims[0].pack_count = 2;
            break;
        case 1:
            pack->value = p.x;
            break;
        case 2:
            pack->layout++;
            break;
        case 3:
            pack->group_rows = 16;
            break;
        case 4:
            pack->group_bytes++;
            break;
        case 5:
            pack->flags = TNP_PACK_BAKED;
            break;
        case 6:
            two[0] = &longer.pack;
            break;
        default:
            break;
        }
        tnp_status status = compile(&p, &program);
        if (status != (is_right ? TNP_OK : TNP_E_ARG) ||
            (!is_right && !strstr(p.rig.err.text, "'up'")))
            fail_msg("%s: %d %s", says[i], status, p.rig.err.text);
        p.rig.plugin->program_destroy(program);
    }
    rig_stop(&p.rig);
}

static void a_pack_that_cannot_be_bound_is_refused(void **state)
{
    static const struct {
        const char *says;
        uint32_t unit, part;
        uint64_t at, bytes;
        uint32_t packs;
        const char *text;   // NULL = it is taken
    } cases[] = {
        { "as asked for", 0, 0, PACK_AT, PACK_BYTES, 1, NULL },
        { "none", 0, 0, PACK_AT, PACK_BYTES, 0, "no pack for 'up'" },
        { "another part", 0, 1, PACK_AT, PACK_BYTES, 1, "pack 1 of 'up'" },
        { "another unit", 1, 0, PACK_AT, PACK_BYTES, 1, "a pack of unit 1" },
        { "too short", 0, 0, PACK_AT, PACK_BYTES - 1, 1, "for the pack of 'up'" },
        { "twice", 0, 0, PACK_AT, PACK_BYTES, 2, "bound twice" },
        { "over the result", 0, 0, OUT_AT, PACK_BYTES, 1, "overlaps its pack" },
        { "past the end", 0, 0, RIG_BUFFER_BYTES - 128, PACK_BYTES, 1, "the buffer has" },
    };
    packed_rig p;
    tnp_program *program;

    (void)state;
    make(&p, 1, 1);
    assert_ok(test_slice_claim(&p.slice, p.rig.plugin, p.rig.device, &p.claims));
    assert_ok(compile(&p, &program));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnp_bound *bound = NULL;
        tnp_binding bindings[4] = {
            test_binding(TNP_BIND_STORAGE, p.x, p.rig.buffer, X_AT, K * 4),
            test_binding(TNP_BIND_STORAGE, p.out, p.rig.buffer, OUT_AT, ROWS * 4),
        };

        for (uint32_t n = 0; n < cases[i].packs; n++) {
            bindings[2 + n] = test_binding(TNP_BIND_PACKED, cases[i].unit, p.rig.buffer,
                                           cases[i].at, cases[i].bytes);
            bindings[2 + n].part = cases[i].part;
        }
        tnp_status status = test_bind(p.rig.plugin, program, 0, bindings, 2 + cases[i].packs,
                                      &bound, &p.rig.err);
        if (status != (cases[i].text ? TNP_E_ARG : TNP_OK) ||
            (cases[i].text && !strstr(p.rig.err.text, cases[i].text)))
            fail_msg("%s: %d %s", cases[i].says, status, p.rig.err.text);
        p.rig.plugin->unbind(bound);
    }
    p.rig.plugin->program_destroy(program);
    rig_stop(&p.rig);
}

// As an embedding that is the output's matrix too.
static void a_table_of_rows_stays_as_it_is_beside_its_pack(void **state)
{
    packed_rig p;
    tnp_program *program;
    tnp_bound *bound = NULL;
    const int64_t rows_dims[] = { K, 2 };

    (void)state;
    make(&p, 1, 1);
    uint32_t ids = test_slice_add_vector(&p.slice, TNP_DTYPE_I32, TNP_STORAGE_ENTERS, 2);
    uint32_t rows = test_slice_add_value(&p.slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 2, rows_dims);
    test_slice_add_node(&p.slice, TNP_OP_GET_ROWS, NULL, "rows", p.w, ids, rows);
    assert_ok(test_slice_claim(&p.slice, p.rig.plugin, p.rig.device, &p.claims));
    assert_int_equal(p.claims.claims[0].pack_count, 1);
    assert_int_equal(p.claims.claims[1].pack_count, 0);
    assert_ok(compile(&p, &program));
    const tnp_binding bindings[] = {
        test_binding(TNP_BIND_STORAGE, p.x, p.rig.buffer, X_AT, K * 4),
        test_binding(TNP_BIND_STORAGE, p.out, p.rig.buffer, OUT_AT, ROWS * 4),
        test_binding(TNP_BIND_PACKED, 0, p.rig.buffer, PACK_AT, PACK_BYTES),
        test_binding(TNP_BIND_STORAGE, ids, p.rig.buffer, 2048, 8),
        test_binding(TNP_BIND_STORAGE, rows, p.rig.buffer, OUT_AT + 1024, K * 2 * 4),
        test_binding(TNP_BIND_STORAGE, p.w, p.rig.buffer, W_AT, ROWS * ROW_BYTES),
    };
    assert_int_equal(test_bind(p.rig.plugin, program, 0, bindings, 5, &bound, &p.rig.err),
                     TNP_E_ARG);
    assert_ok(test_bind(p.rig.plugin, program, 0, bindings, 6, &bound, &p.rig.err));
    p.rig.plugin->unbind(bound);
    p.rig.plugin->program_destroy(program);
    rig_stop(&p.rig);
}

static void a_constant_left_as_a_pack_is_read_as_that_pack(void **state)
{
    static const struct {
        const char *says;
        tnp_op op;
        uint32_t layout;
        bool is_constant, is_taken;
    } cases[] = {
        { "a product", TNP_OP_MATMUL, 1, true, true },
        { "a pack of another layout", TNP_OP_MATMUL, 2, true, false },
        { "an op that takes no packs", TNP_OP_GET_ROWS, 1, true, false },
        { "what is no constant", TNP_OP_MATMUL, 1, false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        packed_rig p;
        tnp_program *program = NULL;
        const int64_t rows_dims[] = { K, 2 };

        make(&p, 1, 1);
        p.slice.values[p.w].layout = cases[i].layout;
        if (!cases[i].is_constant)
            p.slice.storages[p.w].flags = TNP_STORAGE_ENTERS;
        if (cases[i].op == TNP_OP_GET_ROWS) {
            uint32_t ids = test_slice_add_vector(&p.slice, TNP_DTYPE_I32, TNP_STORAGE_ENTERS, 2);
            uint32_t rows = test_slice_add_value(&p.slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 2,
                                                 rows_dims);

            p.slice.slice.node_count = 0;
            test_slice_add_node(&p.slice, TNP_OP_GET_ROWS, NULL, "rows", p.w, ids, rows);
        }
        assert_ok(test_slice_claim(&p.slice, p.rig.plugin, p.rig.device, &p.claims));
        if (p.claims.is_taken[0] != cases[i].is_taken)
            fail_msg("%s: %s", cases[i].says, p.claims.reasons[0]);
        if (cases[i].is_taken) {
            assert_ok(compile(&p, &program));
            p.rig.plugin->program_destroy(program);
            p.claims.claims[0].pack_count = 0;   // there is nothing else to read
            assert_int_equal(compile(&p, &program), TNP_E_ARG);
        }
        rig_stop(&p.rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_of_products_are_claimed_as_packs),
        cmocka_unit_test(settings_may_leave_weights_as_they_are),
        cmocka_unit_test(a_packed_weight_gives_the_bits_of_the_weight),
        cmocka_unit_test(a_pack_that_was_not_claimed_is_not_compiled),
        cmocka_unit_test(a_pack_that_cannot_be_bound_is_refused),
        cmocka_unit_test(a_table_of_rows_stays_as_it_is_beside_its_pack),
        cmocka_unit_test(a_constant_left_as_a_pack_is_read_as_that_pack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
