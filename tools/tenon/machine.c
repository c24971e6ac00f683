#include "machine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#if defined __x86_64__
#include <immintrin.h>
#endif

enum {
    TRIES = 5,
    BYTES_EACH = 64 << 20,   // read by a thread in a try: more than caches hold
    ROUNDS = 1 << 22,        // of CHAINS multiply-adds each
    CHAINS = 12,             // that do not wait for each other
    LANES = 4                // of the portable way
};

// -------------------------------------------------------------------------------------- arithmetic

// Each answers a number that depends on every operation, so that none is left out.
typedef struct fma_kernel {
    float (*run)(uint32_t rounds);
    uint32_t lanes;
} fma_kernel;

static float multiply_portably(uint32_t rounds)
{
    float sums[CHAINS][LANES] = { { 0 } }, total = 0;
    for (uint32_t r = 0; r < rounds; r++)
        for (int c = 0; c < CHAINS; c++)
            for (int l = 0; l < LANES; l++)
                sums[c][l] = sums[c][l] * 0.999F + 0.001F;
    for (int c = 0; c < CHAINS; c++)
        for (int l = 0; l < LANES; l++)
            total += sums[c][l];
    return total;
}

#if defined __x86_64__
__attribute__((target("avx2,fma"))) static float multiply_avx2(uint32_t rounds)
{
    const __m256 factor = _mm256_set1_ps(0.999F), summand = _mm256_set1_ps(0.001F);
    __m256 sums[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        sums[c] = _mm256_setzero_ps();
    for (uint32_t r = 0; r < rounds; r++)
#pragma GCC unroll 12   // else the sums go through memory
        for (int c = 0; c < CHAINS; c++)
            sums[c] = _mm256_fmadd_ps(sums[c], factor, summand);
    for (int c = 1; c < CHAINS; c++)
        sums[0] = _mm256_add_ps(sums[0], sums[c]);
    return _mm256_cvtss_f32(sums[0]);
}

__attribute__((target("avx512f"))) static float multiply_avx512(uint32_t rounds)
{
    const __m512 factor = _mm512_set1_ps(0.999F), summand = _mm512_set1_ps(0.001F);
    __m512 sums[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        sums[c] = _mm512_setzero_ps();
    for (uint32_t r = 0; r < rounds; r++)
#pragma GCC unroll 12   // else the sums go through memory
        for (int c = 0; c < CHAINS; c++)
            sums[c] = _mm512_fmadd_ps(sums[c], factor, summand);
    for (int c = 1; c < CHAINS; c++)
        sums[0] = _mm512_add_ps(sums[0], sums[c]);
    return _mm512_cvtss_f32(sums[0]);
}
#endif

static fma_kernel widest_kernel(void)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return (fma_kernel){ multiply_avx512, 16 };
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (fma_kernel){ multiply_avx2, 8 };
#endif
    return (fma_kernel){ multiply_portably, LANES };
}

// ----------------------------------------------------------------------------------------- threads

typedef struct crew {
    pthread_barrier_t barrier;
    fma_kernel kernel;
    bool reads;   // else multiplies
} crew;

typedef struct worker {
    crew *crew;
    const uint64_t *memory;   // BYTES_EACH
    double best_s;            // of a try, from the start of all to the end of all
    uint64_t sum;
    float product;
} worker;

static uint64_t read_all(const uint64_t *memory)
{
    uint64_t sums[8] = { 0 }, total = 0;
    for (size_t i = 0; i < BYTES_EACH / sizeof *memory; i += 8)
        for (int k = 0; k < 8; k++)
            sums[k] += memory[i + (size_t)k];
    for (int k = 0; k < 8; k++)
        total += sums[k];
    return total;
}

static void *work(void *context)
{
    worker *w = context;
    w->best_s = 1e30;
    for (int t = 0; t < TRIES; t++) {
        pthread_barrier_wait(&w->crew->barrier);
        double begin = cli_now_ms();
        if (w->crew->reads)
            w->sum += read_all(w->memory);
        else
            w->product += w->crew->kernel.run(ROUNDS);
        pthread_barrier_wait(&w->crew->barrier);
        double seconds = (cli_now_ms() - begin) / 1e3;
        w->best_s = seconds < w->best_s ? seconds : w->best_s;
    }
    return NULL;
}

// Seconds of the best try; 0: there are not so many threads.
static double time_of(crew *c, worker *workers, uint32_t count)
{
    pthread_t *threads = calloc(count, sizeof *threads);
    uint32_t started = 1;
    if (!threads || pthread_barrier_init(&c->barrier, NULL, count)) {
        free(threads);
        return 0;
    }
    while (started < count && !pthread_create(&threads[started], NULL, work, &workers[started]))
        started++;
    bool is_complete = started == count;
    if (is_complete)
        work(&workers[0]);
    for (uint32_t i = 1; i < started; i++) {
        if (!is_complete)
            pthread_cancel(threads[i]);   // it waits for those that never come
        pthread_join(threads[i], NULL);
    }
    if (is_complete)
        pthread_barrier_destroy(&c->barrier);
    free(threads);
    return is_complete ? workers[0].best_s : 0;
}

bool machine_measure(uint32_t threads, machine_limits *out_limits)
{
    crew c = { .kernel = widest_kernel(), .reads = true };
    worker *workers = calloc(threads, sizeof *workers);
    unsigned char *memory = malloc((size_t)threads * BYTES_EACH);
    double read_s = 0, multiply_s = 0;
    if (workers && memory) {
        memset(memory, 1, (size_t)threads * BYTES_EACH);
        for (uint32_t i = 0; i < threads; i++)
            workers[i] = (worker){
                .crew = &c, .memory = (const uint64_t *)(void *)(memory + (size_t)i * BYTES_EACH)
            };
        read_s = time_of(&c, workers, threads);
        c.reads = false;
        multiply_s = time_of(&c, workers, threads);
    }
    free(memory);
    free(workers);
    if (read_s <= 0 || multiply_s <= 0)
        return false;
    out_limits->read_gbps = (double)threads * BYTES_EACH / read_s / 1e9;
    out_limits->fp32_gflops = 2.0 * threads * ROUNDS * CHAINS * c.kernel.lanes / multiply_s / 1e9;
    return true;
}

// --------------------------------------------------------------------------------------------- cpu

const char *machine_cpu_name(char *room, unsigned bytes)
{
    char line[256], name[200] = "?";
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %199[^\n]", name) == 1)
            break;
    if (file)
        fclose(file);
    snprintf(room, bytes, "%s", name);
    return room;
}
