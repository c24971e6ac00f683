// bench.h: what `tenon bench` measures, shared by bench.c and its parts, bench_*.c.
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <jansson.h>

#include "load.h"
#include "machine.h"

typedef struct bench_options {
    cli_model_options model;
    const char *prompt, *decode, *threads;   // lists of numbers
    int64_t repetitions, depth;
    bool json;
} bench_options;

typedef struct bench_device {   // of the runtime; texts are the report's own
    char *name, *plugin, *description;
} bench_device;

typedef struct bench_result {
    char test[24];   // "pp512", "tg64"
    uint32_t threads, count;
    bool is_prefill;
    double mean, deviation, best;   // tokens a second
    double bytes_per_token, operations_per_token;
    bool *has_run;    // by device of the report: on which it ran at its end
    json_t *events;   // devices that failed during it
} bench_result;

typedef struct bench_machine {   // by number of threads
    uint32_t threads;
    bool is_known;
    machine_limits limits;
    double load_ms;   // to where a prompt can be read
    json_t *events;   // devices that failed before the first test
} bench_machine;

typedef struct bench_report {
    const char *model;
    const bench_options *given;
    uint32_t context_tokens;
    uint64_t peak_bytes;   // resident at most, of the process: mapped files that were read as well
    bool is_interrupted;   // not all tests are done, or the machine's limits are not known
    uint32_t result_count, machine_count;
    bench_result *results;
    bench_machine *machines;
    uint32_t device_count;
    bench_device *devices;
} bench_report;

// bench_devices.c. CLI_OK, or the exit code after a line.
int bench_list_devices(bench_report *report, const tn_runtime *runtime);   // once
// Who runs `count` ids of a test at once, and what happened from that event on.
int bench_tell_devices(const bench_report *report, const tlm_context *context, uint32_t count,
                       uint32_t first_event, bench_result *test);
bool bench_has_run(const bench_report *report, uint32_t device);   // any test
void bench_drop_devices(bench_report *report);

// CLI_OK, or the exit code after a line.
int bench_print(const bench_report *report);

#endif
