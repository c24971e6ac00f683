// machinery_order.c: which steps of a program wait for which, and that runs with those barriers
// alone give the bits of one worker.
#include "machinery_rig.h"

#include <stdlib.h>

#include "order.h"

enum { MAX_STEPS = 200, MAX_VALUES = 4 * MAX_STEPS };

// --------------------------------------------------------------------- the analysis, built by hand

// A program of elementwise sums over memory that is never touched.
typedef struct hand_made {
    cpu_program program;
    cpu_bound bound;
    tnh_value values[MAX_VALUES];
    cpu_storage storages[1];
    cpu_place places[1];
    cpu_step steps[MAX_STEPS];
    cpu_bound_step bound_steps[MAX_STEPS];
    cpu_op op;
    char memory[1];
} hand_made;

static hand_made *begin(void)
{
    hand_made *h = calloc(1, sizeof *h);
    assert_non_null(h);
    h->op = (cpu_op){ .number = TNP_OP_ADD, .phases = 1 };
    h->places[0].address = h->memory;
    h->program.values = h->values;
    h->program.storages = h->storages;
    h->program.steps = h->steps;
    h->bound = (cpu_bound){ .program = &h->program, .places = h->places, .steps = h->bound_steps };
    return h;
}

// rows of `elements` F32, a row every `pitch` bytes
static uint32_t add_rows(hand_made *h, uint64_t offset, int64_t elements, int64_t rows,
                         int64_t pitch)
{
    tnh_value *value = &h->values[h->program.value_count];
    *value = (tnh_value){ .dtype = TNP_DTYPE_F32, .rank = 2, .offset = offset };
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        value->dims[d] = d == 0 ? elements : d == 1 ? rows : 1;
        value->strides[d] = d == 0 ? 4 : pitch;
    }
    value->span_bytes = (uint64_t)(elements * 4 + (rows - 1) * pitch);
    return h->program.value_count++;
}

static cpu_step *add_step(hand_made *h, uint32_t a, uint32_t b, uint32_t out)
{
    uint32_t index = h->program.step_count++;
    cpu_job *job = &h->bound_steps[index].job;
    h->steps[index] = (cpu_step){
        .op = &h->op,
        .input_count = 2,
        .inputs = { a, b },
        .output_count = 1,
        .outputs = { out },
        .seen = 1,
        .writes = -1,
    };
    job->op = TNP_OP_ADD;
    job->input_count = 2;
    cpu_tensor_fill(&h->values[a], h->memory, &job->in[0]);
    cpu_tensor_fill(&h->values[b], h->memory, &job->in[1]);
    cpu_tensor_fill(&h->values[out], h->memory, &job->out);
    return &h->steps[index];
}

// One value of `bytes`, of a single row.
static uint32_t add_bytes(hand_made *h, uint64_t offset, int64_t bytes)
{
    return add_rows(h, offset, bytes / 4, 1, bytes);
}

enum { LARGE = 1 << 20, SMALL = 256 };   // bytes: work for all workers, and for one

static bool needs_barrier(const hand_made *h, uint32_t step, uint32_t over)
{
    return cpu_order_needs_barrier(&h->bound_steps[step], over);
}

static void order(hand_made *h)
{
    cpu_order_steps(&h->bound);
    for (uint32_t i = 0; i < h->program.step_count; i++)
        h->bound_steps[i].is_shared = h->bound_steps[i].may_share;
}

// The first step reads the stretches A and B and writes C; the second reads two and writes one.
static void steps_wait_where_their_bytes_meet(void **state)
{
    enum { A = 0, B = LARGE, C = 2 * LARGE, D = 3 * LARGE, E = 4 * LARGE, F = 5 * LARGE };
    static const struct {
        const char *says;
        uint64_t read_1, read_2, written;
        bool must_wait;
    } cases[] = {
        { "nothing in common", D, E, F, false },
        { "both read the same", A, B, D, false },
        { "reads what was written", C, D, E, true },
        { "reads it as the second operand", D, C, E, true },
        { "reads the last element of what was written", C + LARGE - 4, E, F, true },
        { "writes what was read", D, E, A, true },
        { "writes what was read as the second operand", D, E, B, true },
        { "writes what was written", D, E, C, true },
        { "writes next to what was written", E, F, D, false },
        { "writes a part of what was read", D, E, B + 64, true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hand_made *h = begin();
        add_step(h, add_bytes(h, A, LARGE), add_bytes(h, B, LARGE), add_bytes(h, C, LARGE));
        add_step(h, add_bytes(h, cases[i].read_1, LARGE), add_bytes(h, cases[i].read_2, LARGE),
                 add_bytes(h, cases[i].written, LARGE));
        order(h);
        assert_true(h->bound_steps[0].is_shared && h->bound_steps[1].is_shared);
        assert_false(needs_barrier(h, 0, 0));
        if (needs_barrier(h, 1, 0) != cases[i].must_wait)
            fail_msg("'%s': %s", cases[i].says, cases[i].must_wait ? "no barrier" : "a barrier");
        assert_false(needs_barrier(h, 1, 1));   // all workers have the first behind them
        free(h);
    }
}

static void halves_of_the_rows_of_a_matrix_are_apart(void **state)
{
    (void)state;
    for (int64_t overlap = 0; overlap < 2; overlap++) {
        hand_made *h = begin();
        uint32_t x = add_bytes(h, LARGE, LARGE), y = add_bytes(h, 2 * LARGE, LARGE);
        add_step(h, x, y, add_rows(h, 0, 512, 128, 4096));
        add_step(h, x, y, add_rows(h, 2048 - 4 * (uint64_t)overlap, 512, 128, 4096));
        order(h);
        assert_int_equal(needs_barrier(h, 1, 0), overlap);
        free(h);
    }
}

static void scratch_counts_as_written(void **state)
{
    static const struct {
        const char *says;
        uint64_t at_1, at_2, bytes;   // of the scratch of both; its end is there to be aligned with
        bool must_wait;
    } cases[] = {
        { "the same bytes", 0, 0, 4096, true },
        { "the last bytes", 0, 4096 - CPU_SCRATCH_ALIGNMENT - 1, 4096, true },
        { "side by side", 0, 4096 - CPU_SCRATCH_ALIGNMENT, 4096, false },
        { "none", 0, 0, 0, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hand_made *h = begin();
        uint32_t x = add_bytes(h, LARGE, LARGE), y = add_bytes(h, 2 * LARGE, LARGE);
        add_step(h, x, y, add_bytes(h, 3 * LARGE, LARGE))->scratch_bytes = cases[i].bytes;
        add_step(h, x, y, add_bytes(h, 4 * LARGE, LARGE))->scratch_bytes = cases[i].bytes;
        h->bound_steps[0].job.scratch = h->memory + cases[i].at_1;
        h->bound_steps[1].job.scratch = h->memory + cases[i].at_2;
        order(h);
        if (needs_barrier(h, 1, 0) != cases[i].must_wait)
            fail_msg("'%s': %s", cases[i].says, cases[i].must_wait ? "no barrier" : "a barrier");
        free(h);
    }
}

// Each reads what the one before has written: large, small, small, large.
static void small_steps_need_no_barrier_between_them(void **state)
{
    (void)state;
    hand_made *h = begin();
    uint32_t large = add_bytes(h, LARGE, LARGE), small = add_bytes(h, 3 * LARGE, SMALL);
    uint32_t begins = add_bytes(h, 0, SMALL), twice = add_bytes(h, 4 * LARGE, SMALL);
    uint32_t begins_twice = add_bytes(h, 4 * LARGE, LARGE);
    add_step(h, large, large, add_bytes(h, 0, LARGE));
    add_step(h, begins, begins, small);
    add_step(h, small, small, twice);
    add_step(h, begins_twice, large, add_bytes(h, 6 * LARGE, LARGE));
    order(h);
    assert_true(h->bound_steps[0].is_shared && h->bound_steps[3].is_shared);
    assert_false(h->bound_steps[1].is_shared || h->bound_steps[2].is_shared);
    assert_true(needs_barrier(h, 1, 0));
    assert_false(needs_barrier(h, 2, 1));
    assert_true(needs_barrier(h, 3, 1));
    free(h);
}

// One whose lengths leave little work in a run is done by worker 0: what is shared then waits for
// it, and it for nobody new.
static void a_step_that_is_small_in_this_run_alone_keeps_the_order(void **state)
{
    (void)state;
    hand_made *h = begin();
    uint32_t x = add_bytes(h, 0, LARGE), y = add_bytes(h, LARGE, LARGE),
             z = add_bytes(h, 2 * LARGE, LARGE), small = add_bytes(h, 4 * LARGE, SMALL);
    add_step(h, small, small, add_bytes(h, 5 * LARGE, SMALL));
    add_step(h, x, add_bytes(h, 5 * LARGE, LARGE), y);
    add_step(h, y, y, z);
    order(h);
    assert_true(needs_barrier(h, 1, 0) && needs_barrier(h, 2, 1));
    h->bound_steps[1].is_shared = false;
    assert_false(needs_barrier(h, 1, 0));
    assert_true(needs_barrier(h, 2, 0));
    h->bound_steps[2].is_shared = false;
    assert_true(needs_barrier(h, 2, 0));   // one too many: the analysis knows full dims alone
    free(h);
}

static void a_length_made_by_a_step_waits_for_all_before(void **state)
{
    (void)state;
    hand_made *h = begin();
    uint32_t x = add_bytes(h, 0, LARGE);
    add_step(h, x, x, add_bytes(h, LARGE, LARGE));
    add_step(h, x, x, add_bytes(h, 2 * LARGE, LARGE))->has_late_lengths = true;
    order(h);
    assert_true(needs_barrier(h, 1, 0));
    free(h);
}

// The analysis looks back over a number of steps; what is further back is waited for.
static void a_conflict_far_back_is_not_forgotten(void **state)
{
    (void)state;
    for (uint32_t between = 0; between < MAX_STEPS - 2; between++) {
        hand_made *h = begin();
        uint32_t first = add_bytes(h, 0, LARGE), x = add_bytes(h, LARGE, LARGE);
        add_step(h, x, x, first);
        for (uint32_t i = 0; i < between; i++)
            add_step(h, x, x, add_bytes(h, (2 + (uint64_t)i) * LARGE, LARGE));
        add_step(h, first, x, add_bytes(h, 1000ull * LARGE, LARGE));
        order(h);
        assert_true(needs_barrier(h, between + 1, 0));
        if (between < 16)
            for (uint32_t i = 1; i <= between; i++)
                assert_false(needs_barrier(h, i, 0));
        free(h);
    }
}

// ---------------------------------------------------------------------------------------- products

// q, k and v of one token: nothing but their activations in common, and no scratch.
static void products_of_one_token_need_no_scratch_and_no_barrier(void **state)
{
    enum { K = 256, N = 256, PRODUCTS = 3 };
    const int64_t x_dims[] = { K, 1 }, w_dims[] = { K, N }, out_dims[] = { N, 1 };
    test_rig rig;
    test_slice slice;
    test_claims claims;
    tnp_program *program;
    tnp_bound *bound;
    tnp_binding bindings[1 + 2 * PRODUCTS];
    tnp_buffer *buffer;
    (void)state;
    rig_start(&rig, 2);
    test_slice_init(&slice);
    uint32_t x = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 2, x_dims);
    for (uint32_t i = 0; i < PRODUCTS; i++) {
        uint32_t w = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 2, w_dims);
        uint32_t out = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 2, out_dims);
        slice.values[w].dtype = TNP_DTYPE_Q8_0;
        slice.values[w].strides[0] = 34;
        for (uint32_t d = 1; d < TNP_MAX_DIMS; d++)
            slice.values[w].strides[d] = K / 32 * 34;
        test_slice_add_node(&slice, TNP_OP_MATMUL, NULL, "product", x, w, out);
    }
    tnp_alloc alloc = { .size = sizeof alloc, .bytes = 1 << 20 };
    assert_ok(rig.plugin->buffer_alloc(rig.device, &alloc, &buffer, &rig.err));
    assert_ok(test_slice_claim(&slice, rig.plugin, rig.device, &claims));
    assert_ok(test_slice_compile(&slice, rig.plugin, rig.device, &program, &rig.err));
    uint64_t offset = 0;
    for (uint32_t i = 0; i < slice.slice.storage_count; i++) {
        uint64_t bytes = slice.storages[i].bytes;
        bindings[i] = test_binding(TNP_BIND_STORAGE, i, buffer, offset, bytes);
        offset += (bytes + 63) / 64 * 64;
    }
    assert_true(offset <= alloc.bytes);
    assert_ok(test_bind(rig.plugin, program, 0, bindings, 1 + 2 * PRODUCTS, &bound, &rig.err));
    for (uint32_t i = 0; i < PRODUCTS; i++) {
        const cpu_bound_step *step = &((const cpu_bound *)bound)->steps[i];
        assert_int_equal(claims.claims[i].scratch_bytes, 0);
        assert_true(step->may_share);
        assert_int_equal(step->waits_for, 0);
    }
    rig.plugin->unbind(bound);
    rig.plugin->program_destroy(program);
    rig.plugin->buffer_free(buffer);
    rig_stop(&rig);
}

// -------------------------------------------------------------------------------- runs, at random

enum {
    NODES = 7,
    SLOTS = 5,
    MANY_FLOATS = 8192,                  // work for all workers
    FEW_FLOATS = 64,                     // work for one
    SLOT_FLOATS = MANY_FLOATS * 3 / 2,   // so that parts of workers meet those of others
    MEMORY = SLOTS * SLOT_FLOATS * 4,
    PROGRAMS = 60,
};

// One program: sums over few or many elements somewhere in a small memory, where the host's plan
// might have put them too.
typedef struct random_program {
    test_slice slice;
    uint64_t offsets[3 * NODES];   // of each storage
} random_program;

static uint32_t pick(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

static uint64_t random_place(uint32_t *seed, uint32_t slot, bool is_large)
{
    uint32_t room = SLOT_FLOATS - (is_large ? MANY_FLOATS : FEW_FLOATS);
    return 4 * ((uint64_t)slot * SLOT_FLOATS + FEW_FLOATS * pick(seed, room / FEW_FLOATS + 1));
}

static void make_random(uint32_t seed, random_program *p)
{
    test_slice_init(&p->slice);
    for (uint32_t n = 0; n < NODES; n++) {
        bool is_large = pick(&seed, 2);
        int64_t count = is_large ? MANY_FLOATS : FEW_FLOATS;
        uint32_t out_slot = pick(&seed, SLOTS), operands[3];
        for (uint32_t i = 0; i < 3; i++) {   // a, b, out
            // other operands than the one overwritten are in other slots: that must not overlap
            uint32_t slot = i == 2 ? out_slot : (out_slot + 1 + pick(&seed, SLOTS - 1)) % SLOTS;
            operands[i] = test_slice_add_vector(
                &p->slice, TNP_DTYPE_F32, i == 2 ? TNP_STORAGE_LEAVES : TNP_STORAGE_ENTERS, count);
            p->offsets[operands[i]] = random_place(&seed, slot, is_large);
        }
        if (pick(&seed, 2))
            p->offsets[operands[2]] = p->offsets[operands[0]];   // in place
        if (p->offsets[operands[1]] / (4 * SLOT_FLOATS) ==
            p->offsets[operands[2]] / (4 * SLOT_FLOATS))
            p->offsets[operands[1]] = p->offsets[operands[2]];
        test_slice_add_node(&p->slice, pick(&seed, 2) ? TNP_OP_ADD : TNP_OP_SUB, NULL, "n",
                            operands[0], operands[1], operands[2]);
    }
}

// Runs it twice over memory that is the same each time, and leaves what is there then.
static void run_random(const random_program *p, uint32_t workers, float *result)
{
    test_rig rig;
    tnp_program *program;
    tnp_bound *bound;
    tnp_buffer *buffer;
    void *bytes;
    tnp_binding bindings[3 * NODES];
    tnp_alloc alloc = { .size = sizeof alloc, .bytes = MEMORY };
    rig_start(&rig, workers);
    assert_ok(rig.plugin->buffer_alloc(rig.device, &alloc, &buffer, &rig.err));
    assert_ok(rig.plugin->buffer_map(buffer, &bytes, &rig.err));
    float *memory = bytes;
    for (uint32_t i = 0; i < SLOTS * SLOT_FLOATS; i++)
        memory[i] = (float)(i % 1009) * 0.37f;
    assert_ok(test_slice_compile(&p->slice, rig.plugin, rig.device, &program, &rig.err));
    for (uint32_t i = 0; i < 3 * NODES; i++)
        bindings[i] = test_binding(TNP_BIND_STORAGE, i, buffer, p->offsets[i],
                                   p->slice.storages[i].bytes);
    if (test_bind(rig.plugin, program, 0, bindings, 3 * NODES, &bound, &rig.err) != TNP_OK)
        fail_msg("%s", rig.err.text);
    rig_run(&rig, bound);
    rig_run(&rig, bound);
    memcpy(result, memory, MEMORY);
    rig.plugin->unbind(bound);
    rig.plugin->program_destroy(program);
    rig.plugin->buffer_free(buffer);
    rig_stop(&rig);
}

static void runs_have_the_bits_of_one_worker(void **state)
{
    (void)state;
    float *one = malloc(MEMORY), *more = malloc(MEMORY);
    assert_true(one && more);
    for (uint32_t seed = 1; seed <= PROGRAMS; seed++) {
        random_program p;
        make_random(seed, &p);
        run_random(&p, 1, one);
        for (uint32_t workers = 2; workers <= 4; workers++) {
            run_random(&p, workers, more);
            if (memcmp(one, more, MEMORY))
                fail_msg("program %u: %u workers give other bits than one", seed, workers);
        }
    }
    free(one);
    free(more);
}

// ---------------------------------------------------------------------------------------- failures

// The first node fails and so do others behind it: the first is told, and the next run is clean.
static void of_several_failures_the_first_is_told_and_none_is_left(void **state)
{
    enum { D = 64, ROWS = 4, N = 2 };
    const int64_t table_dims[] = { D, ROWS }, out_dims[] = { D, N };
    (void)state;
    for (uint32_t workers = 1; workers <= 3; workers++) {
        test_rig rig;
        test_slice slice;
        tnp_program *program;
        tnp_bound *bound;
        tnp_binding bindings[6];
        rig_start(&rig, workers);
        test_slice_init(&slice);
        uint32_t table = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, 2,
                                              table_dims);
        uint32_t index[2];
        for (uint32_t i = 0; i < 2; i++)
            index[i] = test_slice_add_vector(&slice, TNP_DTYPE_I32, TNP_STORAGE_ENTERS, N);
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t out = test_slice_add_value(&slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, 2,
                                                out_dims);
            test_slice_add_node(&slice, TNP_OP_GET_ROWS, NULL, i == 1 ? "second" : "other", table,
                                index[i > 0], out);
        }
        assert_ok(test_slice_compile(&slice, rig.plugin, rig.device, &program, &rig.err));
        for (uint32_t i = 0; i < 6; i++)
            bindings[i] = test_binding(TNP_BIND_STORAGE, i, rig.buffer, i * 4096ull,
                                       slice.storages[i].bytes);
        assert_ok(test_bind(rig.plugin, program, 0, bindings, 6, &bound, &rig.err));
        int32_t *bad = (int32_t *)(void *)(rig.bytes + 2 * 4096);
        bad[1] = ROWS;
        assert_int_equal(rig_run_status(&rig, bound, NULL), TNP_E_DATA);
        assert_non_null(strstr(rig.err.text, "'second'"));
        bad[1] = 0;
        assert_ok(rig_run_status(&rig, bound, NULL));
        rig.plugin->unbind(bound);
        rig.plugin->program_destroy(program);
        rig_stop(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_wait_where_their_bytes_meet),
        cmocka_unit_test(halves_of_the_rows_of_a_matrix_are_apart),
        cmocka_unit_test(scratch_counts_as_written),
        cmocka_unit_test(small_steps_need_no_barrier_between_them),
        cmocka_unit_test(a_step_that_is_small_in_this_run_alone_keeps_the_order),
        cmocka_unit_test(a_length_made_by_a_step_waits_for_all_before),
        cmocka_unit_test(a_conflict_far_back_is_not_forgotten),
        cmocka_unit_test(products_of_one_token_need_no_scratch_and_no_barrier),
        cmocka_unit_test(runs_have_the_bits_of_one_worker),
        cmocka_unit_test(of_several_failures_the_first_is_told_and_none_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
