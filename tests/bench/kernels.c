// kernels: what each kernel of the CPU plugin reaches on one core, beside what the core can do at
// most (F32 multiply-adds, memory read), measured in the same run. Operands stay in the caches, as
// where ops call kernels. A time is the best of many short runs, so a busy machine does less harm.
//
//   bench_kernels [LEVEL [ROUNDS [NAME]]]
//
// LEVEL as in TENON_CPU_ISA, "" = the highest; NAME: only kernels whose name begins so.
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <tenon/graph.h>

#include "cli.h"
#include "isa.h"
#include "kernels/blocks.h"
#include "machine.h"

enum {
    ROWS = 8,
    PANELS = 4,
    K = 768,   // of a row, a multiple of 256
    BLOCKS = K / CPU_BLOCK,
    TOKENS = 128,
    ROW_BYTES = K * 4,   // at most, of any type
    KEYS = 64,           // as in attention
    HEAD = 64,
    HEAD_BYTES = HEAD / CPU_BLOCK * CPU_Q8_0_BYTES,
    N = 4096   // elements of one row
};

// Operands, filled with bytes that are small numbers in every type.
static struct operands {
    char weights[PANELS * ROWS * ROW_BYTES];
    char panel[PANELS * BLOCKS * 1024];
    cpu_block_q8 x[TOKENS * BLOCKS];
    float rows[TOKENS * K], sums[TOKENS * K], more[TOKENS * K];
    double angles[N];
} * o;

static const cpu_kernels *k;
static machine_limits most;
static const char *only = "";
static int rounds = 2000;

static void fill(void)
{
    memset(o, 0, sizeof *o);
    memset(o->panel, 0x20, sizeof o->panel);                  // F32 of a usual size
    for (size_t i = 0; i + 1 < sizeof o->weights; i += 2) {   // F16 and bytes alike
        o->weights[i] = (char)(i * 7 % 128);
        o->weights[i + 1] = 0x20;
    }
    for (int i = 0; i < TOKENS * BLOCKS; i++) {
        o->x[i] = (cpu_block_q8){ .d = 0.01F, .sum = 0.5F };
        for (int j = 0; j < CPU_BLOCK; j++)
            o->x[i].q[j] = (int8_t)((i + 37 * j) % 255 - 127);
    }
    for (int i = 0; i < TOKENS * K; i++)
        o->rows[i] = o->more[i] = (float)(i % 13) * 0.1F - 0.6F;
    for (int i = 0; i < N; i++)
        o->angles[i] = i * 0.01;
}

// What one call does, for the table: operations, and bytes read and written.
typedef struct work {
    double ops, bytes;
} work;

static void show(const char *name, double best_s, work w)
{
    double gops = w.ops / best_s * 1e-9, gbytes = w.bytes / best_s * 1e-9;
    printf("%-16s %10.2f us %8.1f GOP/s %6.2f %8.1f GB/s %6.2f\n", name, best_s * 1e6, gops,
           gops / most.fp32_gflops, gbytes, gbytes / most.read_gbps);
}

// `call` is one call of a kernel, or of those that work together, on the operands.
static void measure(const char *name, work w, void (*call)(const void *context),
                    const void *context)
{
    double best_s = 1e30;
    if (strncmp(name, only, strlen(only)) != 0)
        return;
    fill();
    for (int round = 0; round < rounds; round++) {
        double begin = cli_now_ms();
        call(context);
        double s = (cli_now_ms() - begin) * 1e-3;
        best_s = s < best_s ? s : best_s;
    }
    show(name, best_s, w);
}

// ------------------------------------------------------------------------------ products of blocks

typedef struct product {   // of a block type
    cpu_pack_kernel *pack;
    cpu_matmul_q8_kernel *matmul;
    cpu_matvec_q8_kernel *matvec;
    int64_t stride, panel_bytes;   // from row to row; of a panel, for one block
    cpu_decode_kernel *decode;
    int64_t tokens;   // of the decoded way
} product;

static void call_pack(const void *context)
{
    const product *p = context;
    p->pack(ROWS, BLOCKS, o->weights, p->stride, o->panel);
}

static void call_pack_and_matmul(const void *context)
{
    const product *p = context;
    for (int64_t panel = 0; panel < PANELS; panel++)
        p->pack(ROWS, BLOCKS, o->weights + panel * ROWS * p->stride, p->stride,
                cpu_panel_at(o->panel, k->panels_together, panel, BLOCKS * p->panel_bytes));
    p->matmul(PANELS, TOKENS, BLOCKS, o->panel, o->x, BLOCKS * sizeof(cpu_block_q8), o->sums,
              PANELS * ROWS, 1);
}

static void call_matvec(const void *context)
{
    const product *p = context;
    p->matvec(ROWS, BLOCKS, o->weights, p->stride, o->x, o->sums);
}

// The other way of a product: rows to F32, and the products there.
static void call_decoded(const void *context)
{
    const product *p = context;
    p->decode((int64_t)ROWS * K, o->weights, o->more);
    k->matmul_f32(ROWS, p->tokens, K, o->more, K * 4, o->rows, K * 4, o->sums, ROWS);
}

// A block type: bytes of 32 weights, or the eighth part of those of 256.
static void products(const char *type, double block_bytes, cpu_pack_kernel *pack,
                     int64_t panel_bytes, cpu_matmul_q8_kernel *matmul,
                     cpu_matvec_q8_kernel *matvec, cpu_decode_kernel *decode)
{
    double bytes = ROWS * BLOCKS * block_bytes, each = 2.0 * ROWS * K;
    int64_t stride = (int64_t)(BLOCKS * block_bytes);
    const product p = { pack, matmul, matvec, stride, panel_bytes, decode, TOKENS },
                  packed = { pack, matmul, matvec, CPU_PACKED, panel_bytes, decode, 1 };
    char name[40];

    snprintf(name, sizeof name, "pack_%s", type);
    measure(name, (work){ 0, bytes }, call_pack, &p);
    snprintf(name, sizeof name, "matmul_%s", type);
    measure(name, (work){ each * TOKENS * PANELS, bytes * PANELS }, call_pack_and_matmul, &p);
    snprintf(name, sizeof name, "matvec_%s", type);
    measure(name, (work){ each, bytes }, call_matvec, &p);
    // the same from a packed group: any bytes will do
    snprintf(name, sizeof name, "packed_pack_%s", type);
    measure(name, (work){ 0, bytes }, call_pack, &packed);
    snprintf(name, sizeof name, "packed_%s", type);
    measure(name, (work){ each, bytes }, call_matvec, &packed);
    // activations in F32
    snprintf(name, sizeof name, "f32_matmul_%s", type);
    measure(name, (work){ each * TOKENS, bytes }, call_decoded, &p);
    snprintf(name, sizeof name, "f32_matvec_%s", type);
    measure(name, (work){ each, bytes }, call_decoded, &packed);
}

static void measure_products(void)
{
    const int64_t affine = sizeof(cpu_panel_q4_1), q2_k = sizeof(cpu_panel_q2_k),
                  q8_0 = k->panel_q8_0_bytes, q6_k = k->panel_q6_k_bytes;

    products("q4_0", CPU_Q4_0_BYTES, k->pack_q4_0, affine, k->matmul_q4_1_q8, k->matvec_q4_0_q8,
             k->decode_q4_0);
    products("q4_1", CPU_Q4_1_BYTES, k->pack_q4_1, affine, k->matmul_q4_1_q8, k->matvec_q4_1_q8,
             k->decode_q4_1);
    products("q5_0", CPU_Q5_0_BYTES, k->pack_q5_0, affine, k->matmul_q5_1_q8, k->matvec_q5_0_q8,
             k->decode_q5_0);
    products("q5_1", CPU_Q5_1_BYTES, k->pack_q5_1, affine, k->matmul_q5_1_q8, k->matvec_q5_1_q8,
             k->decode_q5_1);
    products("q8_0", CPU_Q8_0_BYTES, k->pack_q8_0, q8_0, k->matmul_q8_0_q8, k->matvec_q8_0_q8,
             k->decode_q8_0);
    products("iq4_nl", CPU_IQ4_NL_BYTES, k->pack_iq4_nl, q8_0, k->matmul_q8_0_q8,
             k->matvec_iq4_nl_q8, k->decode_iq4_nl);
    products("q2_k", CPU_Q2_K_BYTES / 8.0, k->pack_q2_k, q2_k, k->matmul_q2_k_q8, k->matvec_q2_k_q8,
             k->decode_q2_k);
    products("q3_k", CPU_Q3_K_BYTES / 8.0, k->pack_q3_k, q6_k, k->matmul_q6_k_q8, k->matvec_q3_k_q8,
             k->decode_q3_k);
    products("q4_k", CPU_Q4_K_BYTES / 8.0, k->pack_q4_k, affine, k->matmul_q4_1_q8,
             k->matvec_q4_k_q8, k->decode_q4_k);
    products("q5_k", CPU_Q5_K_BYTES / 8.0, k->pack_q5_k, affine, k->matmul_q5_1_q8,
             k->matvec_q5_k_q8, k->decode_q5_k);
    products("q6_k", CPU_Q6_K_BYTES / 8.0, k->pack_q6_k, q6_k, k->matmul_q6_k_q8, k->matvec_q6_k_q8,
             k->decode_q6_k);
}

// -------------------------------------------------------------- products of F32 and F16, attention

typedef struct matmul {
    cpu_matmul_kernel *kernel;
    int64_t rows, tokens, k;
    const void *w;
    int64_t w_stride;   // bytes
} matmul;

static void call_matmul(const void *context)
{
    const matmul *m = context;
    m->kernel(m->rows, m->tokens, m->k, m->w, m->w_stride, o->rows, m->k * 4, o->sums, m->rows);
}

static void measure_matmul(const char *name, matmul m)
{
    work w = { 2.0 * (double)(m.rows * m.k * m.tokens), (double)(m.rows * m.w_stride) };
    measure(name, w, call_matmul, &m);
}

typedef struct row_sums {
    cpu_row_sums_kernel *kernel;
    int64_t count;
    const void *v;
    int64_t v_stride;   // bytes
} row_sums;

static void call_row_sums(const void *context)
{
    const row_sums *s = context;
    s->kernel(s->count, KEYS, HEAD, o->rows, KEYS, s->v, s->v_stride, o->sums, HEAD);
}

static void measure_row_sums(const char *name, row_sums s)
{
    work w = { 2.0 * KEYS * HEAD * (double)s.count, KEYS * (double)s.v_stride };
    measure(name, w, call_row_sums, &s);
}

static void call_softmax_of_keys(const void *context)
{
    float total;
    (void)context;
    k->softmax_part(KEYS, o->rows, &total);
}

static void measure_floats(void)
{
    measure_matmul("matmul_f32", (matmul){ k->matmul_f32, ROWS, TOKENS, K, o->more, K * 4 });
    measure_matmul("matmul_f16", (matmul){ k->matmul_f16, ROWS, 1, K, o->weights, K * 2 });
    measure_matmul("scores_f32", (matmul){ k->matmul_f32, KEYS, 24, HEAD, o->more, HEAD * 4 });
    measure_matmul("scores_f16", (matmul){ k->matmul_f16, KEYS, 3, HEAD, o->weights, HEAD * 2 });
    measure_matmul("scores_q8_0",
                   (matmul){ k->matmul_q8_0, KEYS, 3, HEAD, o->weights, HEAD_BYTES });
    measure_row_sums("row_sums_f32", (row_sums){ k->row_sums_f32, 24, o->more, HEAD * 4 });
    measure_row_sums("row_sums_f16", (row_sums){ k->row_sums_f16, 3, o->weights, HEAD * 2 });
    measure_row_sums("row_sums_q8_0", (row_sums){ k->row_sums_q8_0, 3, o->weights, HEAD_BYTES });
    measure("softmax_keys", (work){ 0, KEYS * 8 }, call_softmax_of_keys, NULL);
}

// -------------------------------------------------------------------------- rows, of kernels.def

typedef struct row {
    const char *name, *type;   // the slot, its signature
    size_t slot;               // offset in cpu_kernels
} row;

// The kernel in the slot of a row, with its own signature.
#define KERNEL_OF(type, row) (*(type *const *)slot_of(row))

static const void *slot_of(const void *of)
{
    return (const char *)k + ((const row *)of)->slot;
}

static void call_unary(const void *context)
{
    KERNEL_OF(cpu_unary_kernel, context)(N, o->rows, o->sums);
}

static void call_binary(const void *context)
{
    KERNEL_OF(cpu_binary_kernel, context)(N, o->rows, o->more, o->sums);
}

static void call_scale(const void *context)
{
    KERNEL_OF(cpu_scale_kernel, context)(N, o->rows, 0.5F, 0.25F, o->sums);
}

static void call_rms_norm(const void *context)
{
    KERNEL_OF(cpu_rms_norm_kernel, context)(N, o->rows, o->more, 1e-5F, o->sums);
}

static void call_softmax(const void *context)
{
    KERNEL_OF(cpu_softmax_kernel, context)(N, o->rows);
}

static void call_softmax_part(const void *context)
{
    float total;
    KERNEL_OF(cpu_softmax_part_kernel, context)(N, o->rows, &total);
}

static void call_blend(const void *context)
{
    KERNEL_OF(cpu_blend_kernel, context)(N, o->rows, 0.5F, o->more, 0.25F, o->sums);
}

static void call_argmax(const void *context)
{
    KERNEL_OF(cpu_argmax_kernel, context)(N, o->rows);
}

static void call_sin_cos(const void *context)
{
    KERNEL_OF(cpu_sin_cos_kernel, context)(N, o->angles, o->sums, o->more);
}

static void call_rope(const void *context)
{
    KERNEL_OF(cpu_rope_kernel, context)(N / 2, o->rows, o->more, o->more + N, o->sums);
}

static void call_decode(const void *context)
{
    KERNEL_OF(cpu_decode_kernel, context)(N, o->weights, o->sums);
}

static void call_encode(const void *context)
{
    KERNEL_OF(cpu_encode_kernel, context)(N, o->rows, o->sums);
}

// By signature: the call, and what it does for an element; products have shapes of their own.
static const struct signature {
    const char *type;
    void (*call)(const void *context);
    double ops, bytes;   // without those of a type that the kernel is of
} signatures[] = {
    { "cpu_unary_kernel", call_unary, 0, 8 },
    { "cpu_binary_kernel", call_binary, 0, 12 },
    { "cpu_scale_kernel", call_scale, 0, 8 },
    { "cpu_rms_norm_kernel", call_rms_norm, 4, 12 },
    { "cpu_softmax_kernel", call_softmax, 0, 8 },
    { "cpu_softmax_part_kernel", call_softmax_part, 0, 8 },
    { "cpu_blend_kernel", call_blend, 0, 12 },
    { "cpu_argmax_kernel", call_argmax, 0, 4 },
    { "cpu_sin_cos_kernel", call_sin_cos, 0, 16 },
    { "cpu_rope_kernel", call_rope, 3, 12 },
    { "cpu_decode_kernel", call_decode, 0, 4 },
    { "cpu_encode_kernel", call_encode, 0, 4 },
};

static const row all_rows[] = {
#define KERNEL(name, type, ...) { #name, #type, offsetof(cpu_kernels, name) },
#include "kernels.def"
};

// Of the type that a kernel's name ends with, as decode_q4_1; 0 where it is none.
static double bytes_of_type(const char *name)
{
    const char *type = strchr(name, '_');
    if (type && strcmp(type + 1, "q8") == 0)
        return (double)sizeof(cpu_block_q8) / CPU_BLOCK;
    for (tn_dtype dtype = 0; type && dtype < 256; dtype++)
        if (strcasecmp(tn_dtype_name(dtype), type + 1) == 0)
            return (double)tn_dtype_bytes(dtype, N) / N;
    return 0;
}

static void measure_rows(void)
{
    for (size_t r = 0; r < sizeof all_rows / sizeof *all_rows; r++)
        for (size_t s = 0; s < sizeof signatures / sizeof *signatures; s++)
            if (strcmp(all_rows[r].type, signatures[s].type) == 0) {
                double bytes = signatures[s].bytes + bytes_of_type(all_rows[r].name);
                measure(all_rows[r].name, (work){ signatures[s].ops * N, bytes * N },
                        signatures[s].call, &all_rows[r]);
            }
}

int main(int argc, char **argv)
{
    const char *reason = NULL;

    k = cpu_kernels_choose(argc > 1 ? argv[1] : "", &reason);
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    only = argc > 3 ? argv[3] : only;
    o = aligned_alloc(64, (sizeof *o + 63) / 64 * 64);
    if (!k || !o || rounds < 1 || !machine_measure(1, &most)) {
        fprintf(stderr, "bench_kernels: %s\n", reason ? reason : "not enough memory");
        free(o);
        return 1;
    }
    printf("level %s; a core does %.1f GFLOP/s in F32 and reads %.1f GB/s: shares of both follow\n",
           k->level, most.fp32_gflops, most.read_gbps);
    measure_products();
    measure_floats();
    measure_rows();
    free(o);
    return 0;
}
