// tune.h: what the files that measure devices share.
//
//   tune.c         which devices, what is made of the figures, who is told
//   tune_bench.c   one device: a small program, spans, copies
#ifndef TNI_EXEC_TUNE_H
#define TNI_EXEC_TUNE_H

#include <pthread.h>

#include <tenon/tune.h>

#include "exec/session.h"

// Spans of all runs since the last clear, on the clock of now_ns.
typedef struct tni_spans {
    pthread_mutex_t lock;
    uint64_t first_ns[2], last_ns[2];   // by parity of the run; first 0 = none
} tni_spans;

// One device, with a program that does next to nothing.
typedef struct tni_bench {
    tn_runtime *runtime;
    tn_device *device;
    tni_spans *spans;
    tn_graph *graph;   // NULL: the device takes no such program
    tn_session *session;
    tnp_queue *queue;
    tnp_semaphore *semaphore;
    uint64_t signal;
    tnp_buffer *buffer;
    uint64_t bytes;   // of the buffer, and of host
    void *host;
    double submit_ns;
} tni_bench;

// Opens the device and makes all of it. Errors: those of the device; TN_E_HOST_MEMORY.
tn_status tni_bench_open(tni_bench *bench, tn_runtime *runtime, tn_device *device, tni_spans *spans,
                         tn_error *err);
void tni_bench_close(tni_bench *bench);   // also half open, or zeroed

// Sets submit_ns.
tn_status tni_bench_submit(tni_bench *bench, tn_error *err);
// Copies on this device's queue, from and to buffers; NULL is the host's memory. `bytes`: of the
// largest. *out: zeros when there is too little memory to tell.
tn_status tni_bench_copy(tni_bench *bench, tnp_buffer *from, tnp_buffer *to, uint64_t bytes,
                         tni_link_figures *out, tn_error *err);
// One product on the device; *out_ns 0: it does not take it, or has no room for it.
tn_status tni_bench_product(tni_bench *bench, tn_dtype dtype, uint32_t dim, uint32_t columns,
                            double *out_ns, double *out_claimed_ns, tn_error *err);

#endif
