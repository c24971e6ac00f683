// ops_support.c: see ops_support.h.
#include "ops_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(TEST_SIMULATED_LEVEL)
#include "simulated_level.h"
#endif

double random_between(double low, double high)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;

    state ^= state << 13;   // Marsaglia 2003, xorshift
    state ^= state >> 7;
    state ^= state << 17;
    return low + (high - low) * ((double)(state >> 11) * 0x1p-53);
}

// Asked for once: a virtual machine takes its time to tell what its processor has.
static const cpu_kernels **find_levels(void)
{
    static const char *const names[] = { "scalar", "avx2", "avx512vnni", "neon", "neondot" };
    enum { NAMES = sizeof names / sizeof names[0] };
    static const cpu_kernels *levels[NAMES + 2];   // room for the simulated one, and NULL
    const cpu_kernels **next = levels;
    const char *reason;

    if (levels[0])
        return levels;
    for (size_t n = 0; n < NAMES; n++)
        if ((*next = cpu_kernels_choose(names[n], &reason)))
            next++;
#if defined(TEST_SIMULATED_LEVEL)
    *next = simulated_level();
#endif
    return levels;
}

const cpu_kernels *test_level(uint32_t i)
{
    return find_levels()[i];
}

static int64_t block_elements(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, elements_of_block, bytes_of_block)                                     \
    case TNP_DTYPE_##NAME:                                                                         \
        return elements_of_block;
#include <tenon/dtypes.def>
    default:
        return 1;
    }
}

int64_t bytes_of(tnp_dtype dtype, int64_t elements)
{
    switch (dtype) {
#define DTYPE(number, NAME, elements_of_block, bytes_of_block)                                     \
    case TNP_DTYPE_##NAME:                                                                         \
        return elements / elements_of_block * bytes_of_block;
#include <tenon/dtypes.def>
    default:
        return 0;
    }
}

const tnp_dtype weight_types[WEIGHT_TYPES] = {
    TNP_DTYPE_F32,  TNP_DTYPE_F16,  TNP_DTYPE_BF16, TNP_DTYPE_Q4_0,   TNP_DTYPE_Q4_1,
    TNP_DTYPE_Q5_0, TNP_DTYPE_Q5_1, TNP_DTYPE_Q8_0, TNP_DTYPE_Q2_K,   TNP_DTYPE_Q3_K,
    TNP_DTYPE_Q4_K, TNP_DTYPE_Q5_K, TNP_DTYPE_Q6_K, TNP_DTYPE_IQ4_NL,
};

const char *dtype_name(tnp_dtype dtype)
{
    switch (dtype) {
#define DTYPE(number, NAME, elements_of_block, bytes_of_block)                                     \
    case TNP_DTYPE_##NAME:                                                                         \
        return #NAME;
#include <tenon/dtypes.def>
    default:
        return "?";
    }
}

int64_t whole_blocks(tnp_dtype dtype, int64_t elements)
{
    int64_t block = block_elements(dtype);

    return (elements + block - 1) / block * block;
}

double largest_weight(tnp_dtype dtype)
{
    const double d = 0.0125;   // fill_blocks

    switch (dtype) {
    case TNP_DTYPE_Q4_0:
        return d * (15 + 8);
    case TNP_DTYPE_Q4_1:
        return d * (15 + 1);
    case TNP_DTYPE_Q5_0:
        return d * (31 + 16);
    case TNP_DTYPE_Q5_1:
        return d * (31 + 1);
    case TNP_DTYPE_Q8_0:
    case TNP_DTYPE_Q3_K:   // 32 * 4
    case TNP_DTYPE_IQ4_NL:
        return d * 128;
    case TNP_DTYPE_Q2_K:
        return d * (15 * 3 + 15);
    case TNP_DTYPE_Q4_K:
        return d * (63 * 15 + 63);
    case TNP_DTYPE_Q5_K:
        return d * (63 * 31 + 63);
    case TNP_DTYPE_Q6_K:
        return d * 128 * (63 + 32);
    default:
        return 1;
    }
}

ref_tensor as_reference(const cpu_tensor *t)
{
    ref_tensor r = { .data = t->data, .dtype = t->dtype };

    memcpy(r.dims, t->dims, sizeof r.dims);
    memcpy(r.strides, t->strides, sizeof r.strides);
    return r;
}

static void set_strides(cpu_tensor *t, layout how, int64_t padding)
{
    int64_t unit = bytes_of(t->dtype, block_elements(t->dtype));

    t->strides[0] = unit;
    t->strides[1] = bytes_of(t->dtype, t->dims[0]) + padding;
    if (how == TURNED) {
        t->strides[1] = unit;
        t->strides[0] = unit * t->dims[1] + padding;
    }
    for (int i = 2; i < TNP_MAX_DIMS; i++)
        t->strides[i] = i == 2 && how == TURNED ? t->strides[0] * t->dims[0]
                                                : t->strides[i - 1] * t->dims[i - 1];
    if (how == STEPPED)
        for (int i = 0; i < TNP_MAX_DIMS; i++)
            t->strides[i] *= 2;
    for (int i = how == SINGLE ? 0 : 1; i < TNP_MAX_DIMS && how >= REPEATED; i++)
        t->strides[i] = 0;
}

static size_t bytes_needed(const cpu_tensor *t)
{
    int64_t block = block_elements(t->dtype), last = (t->dims[0] / block - 1) * t->strides[0];

    for (int i = 1; i < TNP_MAX_DIMS; i++)
        last += (t->dims[i] - 1) * t->strides[i];
    return (size_t)(last + bytes_of(t->dtype, block));
}

// Where in a block its one or two F16 scales stand.
static int first_scale(tnp_dtype dtype)
{
    switch (dtype) {
    case TNP_DTYPE_Q2_K:
        return 80;
    case TNP_DTYPE_Q3_K:
        return 108;
    case TNP_DTYPE_Q6_K:
        return 208;
    default:
        return 0;
    }
}

static int has_two_scales(tnp_dtype dtype)
{
    return dtype == TNP_DTYPE_Q4_1 || dtype == TNP_DTYPE_Q5_1 || dtype == TNP_DTYPE_Q2_K ||
           dtype == TNP_DTYPE_Q4_K || dtype == TNP_DTYPE_Q5_K;
}

// Quants are any; scales are small and sane.
static void fill_blocks(const cpu_tensor *t)
{
    int scale = first_scale(t->dtype);
    int64_t at[TNP_MAX_DIMS] = { 0 };
    int64_t dims[TNP_MAX_DIMS];

    memcpy(dims, t->dims, sizeof dims);
    dims[0] = whole_blocks(t->dtype, t->dims[0]) / block_elements(t->dtype);
    do {
        char *block = t->data;
        static const uint16_t scales[] = { 0x1c00, 0x2000, 0x2266,
                                           0x9d55 };   // 0.004, 0.008, 0.0125, -0.0052

        for (int i = 0; i < TNP_MAX_DIMS; i++)
            block += at[i] * t->strides[i];
        for (int64_t i = 0; i < bytes_of(t->dtype, block_elements(t->dtype)); i++)
            block[i] = (char)(int)random_between(-128, 128);
        memcpy(block + scale, &scales[(int)random_between(0, 4)], 2);
        if (has_two_scales(t->dtype))
            memcpy(block + scale + 2, &scales[(int)random_between(0, 4)], 2);
    } while (ref_next(dims, at));
}

static void fill(const cpu_tensor *t, const operand *o)
{
    ref_tensor r = as_reference(t);
    int64_t at[TNP_MAX_DIMS] = { 0 };
    int is_float = t->dtype == TNP_DTYPE_F32 || t->dtype == TNP_DTYPE_F16 ||
                   t->dtype == TNP_DTYPE_BF16;
    double low = o->low, high = o->high;

    if (is_float && low == 0 && high == 0) {
        low = -1;
        high = 1;
    }
    if (block_elements(t->dtype) > 1) {
        fill_blocks(t);
        return;
    }
    if (!ref_is_empty(&r))
        do {
            double value = random_between(low, high);
            ref_set(&r, at, is_float ? value : floor(value));
        } while (ref_next(t->dims, at));
}

// Full dims, and memory full of NaN; contents and cut follow when the op has been asked.
static void init_operand(op_run *run, uint32_t i, const operand *o, cpu_tensor *t)
{
    t->dtype = o->dtype;
    if (!o->dtype)
        return;
    for (int d = 0; d < TNP_MAX_DIMS; d++) {
        t->dims[d] = d < TEST_DIMS && (o->dims[d] || d == 0) ? o->dims[d] : 1;
        if (t->dims[d] != 1)
            t->rank = (uint32_t)d + 1;
    }
    set_strides(t, o->layout,
                o->layout == PADDED ? 12 * bytes_of(o->dtype, block_elements(o->dtype)) : 0);
    run->bytes[i] = bytes_needed(t);
    run->memory[i] = malloc(run->bytes[i]);
    assert_non_null(run->memory[i]);
    memset(run->memory[i], 0xff, run->bytes[i]);
}

static void apply_cut(cpu_tensor *t, const operand *o)
{
    for (int d = 0; d < TEST_DIMS && o->dtype; d++)
        t->dims[d] -= o->cut[d];
}

void op_run_init(op_run *run, const op_case *c, const cpu_kernels *kernels)
{
    const char *refusal;

    memset(run, 0, sizeof *run);
    run->says = c->says;
    run->op = cpu_op_find(c->op);
    assert_non_null(run->op);
    run->options.activations_f32 = c->activations_f32;
    run->job.op = c->op;
    run->job.attr = c->attr;
    run->job.kernels = kernels;
    run->job.options = &run->options;
    for (uint32_t i = 0; i < MAX_OPERANDS; i++) {
        init_operand(run, i, &c->in[i], &run->job.in[i]);
        if (c->in[i].dtype)
            run->job.input_count = i + 1;
    }
    init_operand(run, MAX_OPERANDS, &c->out, &run->job.out);
    refusal = run->op->refuse(&run->job);
    if (refusal)
        fail_msg("'%s' is refused: %s", c->says, refusal);
    for (uint32_t i = 0; i < MAX_OPERANDS; i++) {
        run->job.in[i].data = run->memory[i];
        apply_cut(&run->job.in[i], &c->in[i]);
        if (run->memory[i])
            fill(&run->job.in[i], &c->in[i]);
    }
    run->job.out.data = c->in_place ? run->memory[c->in_place - 1] : run->memory[MAX_OPERANDS];
    apply_cut(&run->job.out, &c->out);
    if (c->prepare)
        c->prepare(&run->job);
}

void op_run_finish(op_run *run)
{
    for (uint32_t i = 0; i <= MAX_OPERANDS; i++)
        free(run->memory[i]);
}

// Scratch as claimed: for the full dims, which are at least those of the run; here they are taken
// from the run itself too, to see that it needs no more.
void op_run_all(op_run *run, uint32_t workers)
{
    uint64_t bytes = run->op->scratch_bytes ? run->op->scratch_bytes(&run->job, workers) : 0;
    char *scratch = NULL;

    if (bytes) {
        scratch = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
        assert_non_null(scratch);
        memset(scratch, 0xff, (size_t)bytes);
    }
    run->job.scratch = scratch;
    uint32_t phases = run->op->phases_of ? run->op->phases_of(&run->job, workers) : run->op->phases;
    assert_in_range(phases, 1, run->op->phases);
    for (uint32_t phase = 0; phase < phases; phase++)
        for (uint32_t worker = 0; worker < workers; worker++)
            run->op->run(&run->job, phase, worker, workers);
    free(scratch);
}

// Bytes that belong to no element keep what they held before.
static void check_between(const op_run *run, const char *before, const char *after, size_t bytes,
                          const cpu_tensor *full)
{
    char *owned = calloc(bytes, 1);
    int64_t at[TNP_MAX_DIMS] = { 0 }, dims[TNP_MAX_DIMS], block = block_elements(full->dtype);

    assert_non_null(owned);
    memcpy(dims, full->dims, sizeof dims);
    dims[0] /= block;
    do {
        char *element = owned;

        for (int i = 0; i < TNP_MAX_DIMS; i++)
            element += at[i] * full->strides[i];
        memset(element, 1, (size_t)bytes_of(full->dtype, block));
    } while (ref_next(dims, at));
    for (size_t i = 0; i < bytes; i++)
        if (!owned[i] && before[i] != after[i])
            fail_msg("'%s': byte %zu, between elements of the output, has changed", run->says, i);
    free(owned);
}

static void compare(const op_case *c, const op_run *run, const ref_tensor *want, uint32_t workers)
{
    ref_tensor got = as_reference(&run->job.out);
    int64_t at[TNP_MAX_DIMS] = { 0 };

    if (ref_is_empty(&got))
        return;
    do {
        double g = ref_get(&got, at), w = ref_get(want, at);
        int is_same = g == w || (isnan(g) && isnan(w));

        if (!is_same && !(fabs(g - w) <= c->absolute + c->relative * fabs(w)))
            fail_msg(
                "'%s', level %s, %u workers, element {%ld, %ld, %ld, %ld}: got %.9g, want %.9g",
                c->says, run->job.kernels->level, workers, (long)at[0], (long)at[1], (long)at[2],
                (long)at[3], g, w);
    } while (ref_next(got.dims, at));
}

static void check_level(const op_case *c, const cpu_kernels *kernels)
{
    static const uint32_t worker_counts[] = { 1, 2, 3, 5 };
    op_run run;
    size_t out_bytes;
    char *out, *before, *wanted, *first;
    ref_tensor in[MAX_OPERANDS], want;
    uint32_t out_index = c->in_place ? (uint32_t)c->in_place - 1 : MAX_OPERANDS;
    cpu_tensor full;

    op_run_init(&run, c, kernels);
    out = run.memory[out_index];
    out_bytes = run.bytes[out_index];
    before = malloc(out_bytes);
    wanted = malloc(out_bytes);
    first = malloc(out_bytes);
    assert_true(before && wanted && first);
    memcpy(before, out, out_bytes);
    memcpy(wanted, out, out_bytes);
    for (uint32_t i = 0; i < MAX_OPERANDS; i++)
        in[i] = as_reference(&run.job.in[i]);
    want = as_reference(&run.job.out);
    want.data = wanted;
    if (ref_run(c->op, c->attr, in, &want) == REF_UNKNOWN_OP)
        fail_msg("'%s': the reference does not know the op", c->says);
    full = run.job.out;
    for (int d = 0; d < TEST_DIMS; d++)
        full.dims[d] += c->out.cut[d];

    for (uint32_t i = 0; i < sizeof worker_counts / sizeof worker_counts[0]; i++) {
        memcpy(out, before, out_bytes);
        run.job.failure = NULL;
        op_run_all(&run, worker_counts[i]);
        if (c->failure) {
            assert_non_null(run.job.failure);
            assert_string_equal(run.job.failure, c->failure);
            continue;
        }
        if (run.job.failure)
            fail_msg("'%s' failed: %s", c->says, run.job.failure);
        compare(c, &run, &want, worker_counts[i]);
        check_between(&run, before, out, out_bytes, &full);
        if (i == 0)
            note_errors(&run.job, &want);
        if (i == 0)
            memcpy(first, out, out_bytes);
        else if (memcmp(first, out, out_bytes))
            fail_msg("'%s', level %s: %u workers give other bits than one", c->says, kernels->level,
                     worker_counts[i]);
    }
    free(before);
    free(wanted);
    free(first);
    op_run_finish(&run);
}

void check_case(const op_case *c)
{
    for (uint32_t i = 0; test_level(i); i++)
        check_level(c, test_level(i));
}

void check_refusal(const op_case *c)
{
    op_run run;

    memset(&run, 0, sizeof run);
    run.op = cpu_op_find(c->op);
    assert_non_null(run.op);
    run.job.op = c->op;
    run.job.attr = c->attr;
    run.job.kernels = test_level(0);
    run.job.options = &run.options;
    for (uint32_t i = 0; i < MAX_OPERANDS; i++) {
        init_operand(&run, i, &c->in[i], &run.job.in[i]);
        if (c->in[i].dtype)
            run.job.input_count = i + 1;
    }
    init_operand(&run, MAX_OPERANDS, &c->out, &run.job.out);
    if (!run.op->refuse(&run.job))
        fail_msg("'%s' is not refused", c->says);
    op_run_finish(&run);
}
