// bench.h: what `tenon bench` measures, shared by bench.c and bench_print.c.
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "load.h"
#include "machine.h"

typedef struct bench_options {
    cli_model_options model;
    const char *prompt, *decode, *threads;   // lists of numbers
    int64_t repetitions, depth;
    bool json;
} bench_options;

typedef struct bench_result {
    char test[24];   // "pp512", "tg64"
    uint32_t threads, count;
    bool is_prefill;
    double mean, deviation, best;   // tokens a second
    double bytes_per_token, operations_per_token;
} bench_result;

typedef struct bench_machine {   // by number of threads
    uint32_t threads;
    bool is_known;
    machine_limits limits;
    double load_ms;   // to where a prompt can be read
} bench_machine;

typedef struct bench_report {
    const char *model;
    const bench_options *given;
    uint32_t context_tokens;
    uint64_t peak_bytes;   // resident at most, of the process: mapped files that were read as well
    uint32_t result_count, machine_count;
    bench_result *results;
    bench_machine *machines;
} bench_report;

// CLI_OK, or the exit code after a line.
int bench_print(const bench_report *report);

#endif
