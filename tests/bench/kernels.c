// kernels: what each kernel of the CPU plugin reaches on one core, beside what the core can do at
// most (F32 multiply-adds, memory read), measured in the same run. Operands stay in the caches, as
// where ops call kernels. A time is the best of many short runs, so a busy machine does less harm.
//
//   bench_kernels [LEVEL [ROUNDS [NAME]]]
//
// LEVEL as in TENON_CPU_ISA, "" = the highest; NAME: only kernels whose name begins so.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "isa.h"
#include "kernels/blocks.h"
#include "machine.h"

enum {
    ROWS = 8,
    PANELS = 2,
    K = 768,   // of a row, a multiple of 256
    BLOCKS = K / CPU_BLOCK,
    TOKENS = 128,
    ROW_BYTES = K * 4,   // at most, of any type
    KEYS = 64,           // as in attention
    HEAD = 64,
    N = 4096   // elements of one row
};

// Operands, filled with bytes that are small numbers in every type.
static struct operands {
    char weights[ROWS * ROW_BYTES * 2];
    char panel[PANELS * BLOCKS * 1024];
    cpu_block_q8 x[TOKENS * BLOCKS];
    float rows[TOKENS * K], sums[TOKENS * K], more[TOKENS * K];
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

#define MEASURE(name, work_of_call, call)                                                          \
    do {                                                                                           \
        double best_s = 1e30;                                                                      \
        if (strncmp(name, only, strlen(only)) != 0)                                                \
            break;                                                                                 \
        fill();                                                                                    \
        for (int round = 0; round < rounds; round++) {                                             \
            double begin = cli_now_ms(), s;                                                        \
            call;                                                                                  \
            s = (cli_now_ms() - begin) * 1e-3;                                                     \
            best_s = s < best_s ? s : best_s;                                                      \
        }                                                                                          \
        show(name, best_s, work_of_call);                                                          \
    } while (0)

// A block type: bytes of 32 weights, or the eighth part of those of 256.
static void products(const char *type, double block_bytes, cpu_pack_kernel *pack,
                     cpu_matmul_q8_kernel *matmul, cpu_matvec_q8_kernel *matvec)
{
    double bytes = ROWS * BLOCKS * block_bytes, each = 2.0 * ROWS * K;
    int64_t stride = (int64_t)(BLOCKS * block_bytes), x_stride = BLOCKS * sizeof(cpu_block_q8);
    char name[40];

    snprintf(name, sizeof name, "pack_%s", type);
    MEASURE(name, ((work){ 0, bytes }), pack(ROWS, BLOCKS, o->weights, stride, o->panel));
    snprintf(name, sizeof name, "matmul_%s", type);
    MEASURE(name, ((work){ each * TOKENS * PANELS, bytes * PANELS }),
            (pack(ROWS, BLOCKS, o->weights, stride, o->panel),
             matmul(PANELS, TOKENS, BLOCKS, o->panel, o->x, x_stride, o->sums, PANELS * ROWS, 1)));
    snprintf(name, sizeof name, "matvec_%s", type);
    MEASURE(name, ((work){ each, bytes }), matvec(ROWS, BLOCKS, o->weights, stride, o->x, o->sums));
    // the same from a packed group: any bytes will do
    snprintf(name, sizeof name, "packed_pack_%s", type);
    MEASURE(name, ((work){ 0, bytes }), pack(ROWS, BLOCKS, o->weights, CPU_PACKED, o->panel));
    snprintf(name, sizeof name, "packed_%s", type);
    MEASURE(name, ((work){ each, bytes }),
            matvec(ROWS, BLOCKS, o->weights, CPU_PACKED, o->x, o->sums));
}

static void measure_products(void)
{
    products("q4_0", CPU_Q4_0_BYTES, k->pack_q4_0, k->matmul_q4_1_q8, k->matvec_q4_0_q8);
    products("q4_1", CPU_Q4_1_BYTES, k->pack_q4_1, k->matmul_q4_1_q8, k->matvec_q4_1_q8);
    products("q5_0", CPU_Q5_0_BYTES, k->pack_q5_0, k->matmul_q5_1_q8, k->matvec_q5_0_q8);
    products("q5_1", CPU_Q5_1_BYTES, k->pack_q5_1, k->matmul_q5_1_q8, k->matvec_q5_1_q8);
    products("q8_0", CPU_Q8_0_BYTES, k->pack_q8_0, k->matmul_q8_0_q8, k->matvec_q8_0_q8);
    products("q4_k", CPU_Q4_K_BYTES / 8.0, k->pack_q4_k, k->matmul_q4_1_q8, k->matvec_q4_k_q8);
    products("q5_k", CPU_Q5_K_BYTES / 8.0, k->pack_q5_k, k->matmul_q5_1_q8, k->matvec_q5_k_q8);
    products("q6_k", CPU_Q6_K_BYTES / 8.0, k->pack_q6_k, k->matmul_q6_k_q8, k->matvec_q6_k_q8);
    MEASURE("matmul_f32", ((work){ 2.0 * ROWS * K * TOKENS, ROWS * K * 4 }),
            k->matmul_f32(ROWS, TOKENS, K, o->more, K * 4, o->rows, K * 4, o->sums, ROWS));
    MEASURE("matmul_f16", ((work){ 2.0 * ROWS * K, ROWS * K * 2 }),
            k->matmul_f16(ROWS, 1, K, o->weights, K * 2, o->rows, K * 4, o->sums, ROWS));
}

static void measure_attention(void)
{
    float total;

    MEASURE("scores_f32", ((work){ 2.0 * KEYS * HEAD * 24, KEYS * HEAD * 4 }),
            k->matmul_f32(KEYS, 24, HEAD, o->more, HEAD * 4, o->rows, HEAD * 4, o->sums, KEYS));
    MEASURE("scores_f16", ((work){ 2.0 * KEYS * HEAD * 3, KEYS * HEAD * 2 }),
            k->matmul_f16(KEYS, 3, HEAD, o->weights, HEAD * 2, o->rows, HEAD * 4, o->sums, KEYS));
    MEASURE("row_sums_f32", ((work){ 2.0 * KEYS * HEAD * 24, KEYS * HEAD * 4 }),
            k->row_sums_f32(24, KEYS, HEAD, o->rows, KEYS, o->more, HEAD * 4, o->sums, HEAD));
    MEASURE("row_sums_f16", ((work){ 2.0 * KEYS * HEAD * 3, KEYS * HEAD * 2 }),
            k->row_sums_f16(3, KEYS, HEAD, o->rows, KEYS, o->weights, HEAD * 2, o->sums, HEAD));
    MEASURE("softmax_part", ((work){ 0, KEYS * 8 }), k->softmax_part(KEYS, o->rows, &total));
}

static void measure_rows(void)
{
    MEASURE("encode_q8", ((work){ 0, N * 5.25 }), k->encode_q8(N, o->rows, o->x));
    MEASURE("decode_f16", ((work){ 0, N * 6 }), k->decode_f16(N, o->weights, o->sums));
    MEASURE("decode_q8_0", ((work){ 0, N * 5.06 }), k->decode_q8_0(N, o->weights, o->sums));
    MEASURE("decode_q4_1", ((work){ 0, N * 4.63 }), k->decode_q4_1(N, o->weights, o->sums));
    MEASURE("decode_q6_k", ((work){ 0, N * 4.82 }), k->decode_q6_k(N, o->weights, o->sums));
    MEASURE("decode_q2_k", ((work){ 0, N * 4.33 }), k->decode_q2_k(N, o->weights, o->sums));
    MEASURE("decode_q3_k", ((work){ 0, N * 4.43 }), k->decode_q3_k(N, o->weights, o->sums));
    MEASURE("decode_iq4_nl", ((work){ 0, N * 4.56 }), k->decode_iq4_nl(N, o->weights, o->sums));
    MEASURE("add", ((work){ N, N * 12 }), k->add(N, o->rows, o->more, o->sums));
    MEASURE("swiglu", ((work){ 0, N * 12 }), k->swiglu(N, o->rows, o->more, o->sums));
    MEASURE("geglu", ((work){ 0, N * 12 }), k->geglu(N, o->rows, o->more, o->sums));
    MEASURE("rms_norm", ((work){ 4.0 * N, N * 12 }),
            k->rms_norm(N, o->rows, o->more, 1e-5F, o->sums));
    MEASURE("softmax", ((work){ 0, N * 8 }), k->softmax(N, o->rows));
    MEASURE("rope_neox", ((work){ 3.0 * N, N * 12 }),
            k->rope_neox(N / 2, o->rows, o->more, o->more + N, o->sums));
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
    measure_attention();
    measure_rows();
    free(o);
    return 0;
}
