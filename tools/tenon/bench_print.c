// bench_print.c: the figures of `tenon bench`, as a table and as JSON.
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "bench.h"

enum { NAME_BYTES = 200 };

static const bench_machine *machine_of(const bench_report *report, uint32_t threads)
{
    const bench_machine *found = &report->machines[0];
    for (uint32_t m = 0; m < report->machine_count; m++)
        if (report->machines[m].threads == threads)
            found = &report->machines[m];
    return found;
}

// What is read, or computed, at the best speed: 10^9 a second.
static double gbps(const bench_result *r)
{
    return r->bytes_per_token * r->best / 1e9;
}

static double gflops(const bench_result *r)
{
    return r->operations_per_token * r->best / 1e9;
}

// ------------------------------------------------------------------------------------------- table

static void print_result(const bench_report *report, const bench_result *r)
{
    const bench_machine *machine = machine_of(report, r->threads);
    char speed[40];
    snprintf(speed, sizeof speed, "%.2f +- %.2f", r->mean, r->deviation);
    printf("%-8s %7u %20s %10.2f %9.2f", r->test, r->threads, speed, r->best, gbps(r));
    if (machine->is_known)
        printf(" %6.0f %%", 100 * gbps(r) / machine->limits.read_gbps);
    else
        printf(" %8s", "");
    printf(" %9.2f", gflops(r));
    if (machine->is_known)
        printf(" %6.0f %%", 100 * gflops(r) / machine->limits.fp32_gflops);
    putchar('\n');
}

static void print_table(const bench_report *report, const char *cpu)
{
    printf("model            %s\ncpu              %s\ncontext          %u tokens, %" PRId64
           " of them before each test\n",
           report->model, cpu, report->context_tokens, report->given->depth);
    printf("memory           %.1f MB resident at most\n\n", (double)report->peak_bytes / 1e6);
    printf("%-8s %7s %20s %10s %9s %8s %9s %8s\n", "test", "threads", "tokens/s", "best", "GB/s",
           "of most", "GFLOP/s", "of most");
    for (uint32_t i = 0; i < report->result_count; i++)
        print_result(report, &report->results[i]);
    putchar('\n');
    for (uint32_t m = 0; m < report->machine_count; m++) {
        const bench_machine *machine = &report->machines[m];
        printf("%u thread%s: loaded in %.1f ms; ", machine->threads, cli_plural(machine->threads),
               machine->load_ms);
        if (machine->is_known)
            printf("at most %.1f GB/s are read and %.1f GFLOP/s multiplied\n",
                   machine->limits.read_gbps, machine->limits.fp32_gflops);
        else
            printf("what the machine can do at most could not be measured\n");
    }
}

// -------------------------------------------------------------------------------------------- json

static json_t *result_json(const bench_report *report, const bench_result *r)
{
    const bench_machine *machine = machine_of(report, r->threads);
    json_t *object = json_pack("{s:s, s:i, s:I, s:f, s:f, s:f, s:f, s:f}", "test", r->test,
                               "threads", (int)r->threads, "depth",
                               (json_int_t)report->given->depth, "mean", r->mean, "stddev",
                               r->deviation, "best", r->best, "bytes_per_token", r->bytes_per_token,
                               "operations_per_token", r->operations_per_token);
    if (object && machine->is_known) {
        json_object_set_new(object, "bandwidth_share",
                            json_real(gbps(r) / machine->limits.read_gbps));
        json_object_set_new(object, "arithmetic_share",
                            json_real(gflops(r) / machine->limits.fp32_gflops));
    }
    return object;
}

static json_t *machine_json(const bench_machine *machine)
{
    json_t *object = json_pack("{s:i, s:f}", "threads", (int)machine->threads, "load_ms",
                               machine->load_ms);
    if (object && machine->is_known) {
        json_object_set_new(object, "read_gbps", json_real(machine->limits.read_gbps));
        json_object_set_new(object, "fp32_gflops", json_real(machine->limits.fp32_gflops));
    }
    return object;
}

static int print_json(const bench_report *report, const char *cpu)
{
    json_t *results = json_array(), *machines = json_array();
    for (uint32_t i = 0; i < report->result_count; i++)
        json_array_append_new(results, result_json(report, &report->results[i]));
    for (uint32_t m = 0; m < report->machine_count; m++)
        json_array_append_new(machines, machine_json(&report->machines[m]));
    json_t *all = json_pack(
        "{s:i, s:s, s:s, s:i, s:i, s:I, s:o, s:o}", "schema_version", 1, "cpu", cpu, "model",
        report->model, "context_tokens", (int)report->context_tokens, "repetitions",
        (int)report->given->repetitions, "peak_resident_bytes", (json_int_t)report->peak_bytes,
        "results", results, "machine", machines);
    if (!all || json_dumpf(all, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9))) {
        json_decref(all);
        return cli_fail(CLI_MEMORY, "not enough memory for the JSON, or a name is no UTF-8");
    }
    json_decref(all);
    putchar('\n');
    return cli_end_output();
}

int bench_print(const bench_report *report)
{
    char name[NAME_BYTES];
    const char *cpu = machine_cpu_name(name, sizeof name);
    if (report->given->json)
        return print_json(report, cpu);
    print_table(report, cpu);
    return cli_end_output();
}
