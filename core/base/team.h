// team.h: a pool of threads that run one body together, and a barrier among them.
//
// The pool's threads sleep while there is no body. In a barrier a worker spins for a short while
// and then sleeps. Where much of the workers' time is lost that way, because there are fewer free
// cores than workers, the next bodies get fewer workers for a while (team_judge.c). One body runs
// at a time; callers from several threads take turns.
#ifndef TNI_TEAM_H
#define TNI_TEAM_H

#include <stdbool.h>
#include <stdint.h>
#include <tenon/status.h>

typedef struct tni_pool tni_pool;
typedef struct tni_team tni_team;   // one run of a body

// Starts threads - 1 threads; fewer when the system has no more: tni_pool_threads tells. threads 0
// = the CPUs of the affinity mask and of the control group's quota.
tn_status tni_pool_create(const tn_allocator *allocator, uint32_t threads, tni_pool **out_pool,
                          tn_error *err);
void tni_pool_destroy(tni_pool *pool);             // NULL is fine; ends the threads
uint32_t tni_pool_threads(const tni_pool *pool);   // the caller counted

// Runs body on at most min(wanted, threads) threads at the same time, at least one, the caller
// being worker 0, and `workers` being their number; returns when all have returned. Not from a
// body. [any]; allocates nothing
void tni_pool_run(tni_pool *pool, uint32_t wanted,
                  void (*body)(void *argument, tni_team *team, uint32_t worker, uint32_t workers),
                  void *argument);

// From a body, by all its workers: all arrive before one leaves.
void tni_team_barrier(tni_team *team, uint32_t worker);

#endif
