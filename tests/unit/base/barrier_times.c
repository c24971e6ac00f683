// What a barrier of the pool costs: unit_base_barrier_times [THREADS [BARRIERS [ROUNDS]]]
//
// A body of nothing but barriers, run ROUNDS times; nanoseconds of each barrier in the best round
// and in the median one, and of the start and end of a body. Where there are fewer free cores than
// threads, it is of the workers that a body then gets.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/team.h"

enum { MAX_ROUNDS = 1000 };

static void only_barriers(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    const uint32_t *barriers = argument;
    (void)workers;
    for (uint32_t i = 0; i < *barriers; i++)
        tni_team_barrier(team, worker);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Nanoseconds of a body with that many barriers, sorted.
static void measure(tni_pool *pool, uint32_t barriers, uint32_t rounds, double *out_ns)
{
    for (uint32_t i = 0; i < rounds; i++) {
        const uint64_t start = tni_now_ns();
        tni_pool_run(pool, tni_pool_threads(pool), only_barriers, &barriers);
        out_ns[i] = (double)(tni_now_ns() - start);
    }
    qsort(out_ns, rounds, sizeof *out_ns, by_size);
}

static uint32_t number(int count, char **words, int at, uint32_t otherwise)
{
    return at < count ? (uint32_t)strtoul(words[at], NULL, 10) : otherwise;
}

int main(int count, char **words)
{
    const uint32_t threads = number(count, words, 1, 0), barriers = number(count, words, 2, 1000);
    const uint32_t rounds = number(count, words, 3, 50);
    if (barriers == 0 || rounds == 0 || rounds > MAX_ROUNDS) {
        fprintf(stderr,
                "usage: unit_base_barrier_times [THREADS [BARRIERS [ROUNDS]]], at most %d rounds\n",
                MAX_ROUNDS);
        return 2;
    }
    tn_error err = { 0 };
    tni_pool *pool = NULL;
    if (tni_pool_create(NULL, threads, &pool, &err) != TN_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    static double empty[MAX_ROUNDS], full[MAX_ROUNDS];
    measure(pool, 0, rounds, empty);
    measure(pool, barriers, rounds, full);
    const uint32_t middle = rounds / 2;
    printf("%u threads: a barrier %.0f ns (best), %.0f (median); a body %.0f, %.0f\n",
           tni_pool_threads(pool), (full[0] - empty[0]) / barriers,
           (full[middle] - empty[middle]) / barriers, empty[0], empty[middle]);
    tni_pool_destroy(pool);
    return 0;
}
