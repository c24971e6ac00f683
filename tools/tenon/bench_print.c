// bench_print.c: the figures of `tenon bench`, as a table and as JSON.
#include <inttypes.h>
#include <stdio.h>

#include "bench.h"
#include "json.h"

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

static void print_names(const bench_report *report, const bench_result *r)
{
    const char *between = "  ";
    for (uint32_t d = 0; d < report->device_count; d++)
        if (r->has_run[d]) {
            printf("%s%s", between, report->devices[d].name);
            between = ",";
        }
}

static bool is_disturbed(const bench_result *r)
{
    return json_array_size(r->events) > 0;
}

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
    else
        printf(" %8s", "");
    print_names(report, r);
    puts(is_disturbed(r) ? "  (a device failed)" : "");
}

static void print_devices(const bench_report *report)
{
    const char *title = "devices";
    for (uint32_t d = 0; d < report->device_count; d++)
        if (bench_has_run(report, d)) {
            const bench_device *device = &report->devices[d];
            printf("%-16s %s, of plugin %s: %s\n", title, device->name, device->plugin,
                   device->description);
            title = "";
        }
}

static void print_table(const bench_report *report, const char *cpu)
{
    printf("model            %s\ncpu              %s\ncontext          %u tokens, %" PRId64
           " of them before each test\n",
           report->model, cpu, report->context_tokens, report->given->depth);
    print_devices(report);
    printf("memory           %.1f MB resident at most\n\n", (double)report->peak_bytes / 1e6);
    printf("%-8s %7s %20s %10s %9s %8s %9s %8s  %s\n", "test", "threads", "tokens/s", "best",
           "GB/s", "of most", "GFLOP/s", "of most", "devices");
    bool has_failures = false;
    for (uint32_t i = 0; i < report->result_count; i++) {
        print_result(report, &report->results[i]);
        has_failures |= is_disturbed(&report->results[i]);
    }
    if (has_failures)
        puts(
            "\nWhere a device failed, the devices are those that were left, and the speeds are not "
            "theirs alone: the time\n"
            "of going on without it is among them. With --no-failover it ends there.");
    putchar('\n');
    for (uint32_t m = 0; m < report->machine_count; m++) {
        const bench_machine *machine = &report->machines[m];
        printf("%u thread%s: loaded in %.1f ms; ", machine->threads, cli_plural(machine->threads),
               machine->load_ms);
        if (machine->is_known)
            printf("at most %.1f GB/s are read and %.1f GFLOP/s multiplied\n",
                   machine->limits.read_gbps, machine->limits.fp32_gflops);
        else
            printf("what the machine can do at most %s measured\n",
                   report->is_interrupted ? "was not" : "could not be");
    }
}

// -------------------------------------------------------------------------------------------- json

static json_t *names_json(const bench_report *report, const bench_result *r)
{
    json_t *list = json_array();
    for (uint32_t d = 0; d < report->device_count; d++)
        if (r->has_run[d])
            json_array_append_new(list, json_string(report->devices[d].name));
    return list;
}

static json_t *devices_json(const bench_report *report)
{
    json_t *list = json_array();
    for (uint32_t d = 0; d < report->device_count; d++)
        if (bench_has_run(report, d))
            json_array_append_new(list,
                                  json_pack("{s:s, s:s, s:s}", "name", report->devices[d].name,
                                            "plugin", report->devices[d].plugin, "description",
                                            report->devices[d].description));
    return list;
}

static json_t *result_json(const bench_report *report, const bench_result *r)
{
    const bench_machine *machine = machine_of(report, r->threads);
    json_t *object = json_pack("{s:s, s:i, s:I, s:f, s:f, s:f, s:f, s:f}", "test", r->test,
                               "threads", (int)r->threads, "depth",
                               (json_int_t)report->given->depth, "mean", r->mean, "stddev",
                               r->deviation, "best", r->best, "bytes_per_token", r->bytes_per_token,
                               "operations_per_token", r->operations_per_token);
    if (object) {
        json_object_set_new(object, "devices", names_json(report, r));
        json_object_set(object, "events", r->events);
    }
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
    if (object)
        json_object_set(object, "events", machine->events);
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
        "{s:i, s:s, s:s, s:i, s:i, s:I, s:o, s:o, s:o}", "schema_version", 1, "cpu", cpu, "model",
        report->model, "context_tokens", (int)report->context_tokens, "repetitions",
        (int)report->given->repetitions, "peak_resident_bytes", (json_int_t)report->peak_bytes,
        "devices", devices_json(report), "results", results, "machine", machines);
    if (all && report->is_interrupted)
        json_object_set_new(all, "interrupted", json_true());
    return cli_json_print(all, "the figures");
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
