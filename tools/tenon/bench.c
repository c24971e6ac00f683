// bench.c: tenon bench
//
// Each test runs once to warm up and then as often as asked; its speed is that of all ids of a
// repetition together. Before each the context goes back to the same depth.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench.h"
#include "events.h"

enum { MOST_TOKENS = 1 << 20, MOST_THREADS = 1024 };

static const cli_option options[] = {
    CLI_PLUGIN_OPTIONS,
    { "threads", 't', CLI_TEXT, "N,...", offsetof(bench_options, threads), 0, 0,
      "threads, one after another (default: the CPUs this process may use)" },
    CLI_CONTEXT_OPTIONS,
    CLI_FAILOVER_OPTION,
    { "prompt", 'p', CLI_TEXT, "N,...", offsetof(bench_options, prompt), 0, 0,
      "measure prompts of so many tokens; 0: none (default: 512)" },
    { "decode", 'n', CLI_TEXT, "N,...", offsetof(bench_options, decode), 0, 0,
      "measure so many new tokens, one at a time; 0: none (default: 64)" },
    { "repetitions", 'r', CLI_NUMBER, "N", offsetof(bench_options, repetitions), 1, 1000,
      "measure each test so often (default: {})" },
    { "ctx-depth", 'd', CLI_NUMBER, "N", offsetof(bench_options, depth), 0, MOST_TOKENS,
      "behind so many tokens in the context (default: {})" },
    { "json", 0, CLI_FLAG, NULL, offsetof(bench_options, json), 0, 0, "print JSON" },
};

typedef struct numbers {
    int32_t *items;
    uint32_t count;
} numbers;

typedef struct bench {
    const bench_options *given;
    numbers prompt, decode, threads;
    cli_loaded loaded;
    int32_t *ids;     // as many as the longest test and the depth take
    double *speeds;   // by repetition
    bench_report report;
} bench;

static int parse(const char *option, const char *text, int32_t least, int32_t most, numbers *out)
{
    char what[64];
    snprintf(what, sizeof what, "whole numbers from %d to %d", least, most);
    return cli_parse_numbers(option, what, text, least, most, &out->items, &out->count);
}

static uint32_t largest_of(const numbers *n)
{
    int32_t largest = 0;
    for (uint32_t i = 0; i < n->count; i++)
        largest = n->items[i] > largest ? n->items[i] : largest;
    return (uint32_t)largest;
}

// ------------------------------------------------------------------------------------------- tests

static int rewind_to(const bench *b, uint32_t position)
{
    tn_error err = { 0 };
    return tlm_context_rewind(b->loaded.context, position, &err) == TN_OK ? CLI_OK
                                                                          : cli_fail_status(&err);
}

// *out_ms: of all `count` ids, at once or one at a time.
static int run_once(const bench *b, const bench_result *test, double *out_ms)
{
    uint32_t depth = (uint32_t)b->given->depth, size = test->is_prefill ? test->count : 1;
    const float *logits;
    int code = rewind_to(b, depth);
    double begin = cli_now_ms();
    for (uint32_t at = 0; at < test->count && code == CLI_OK; at += size)
        code = cli_is_interrupted() ? CLI_INTERRUPTED
                                    : cli_eval(&b->loaded, b->ids + depth + at, size, &logits);
    *out_ms = cli_now_ms() - begin;
    return code;
}

static void summarize(const double *speeds, uint32_t count, bench_result *test)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += speeds[i];
        test->best = speeds[i] > test->best ? speeds[i] : test->best;
    }
    test->mean = sum / count;
    for (uint32_t i = 0; i < count; i++)
        squares += (speeds[i] - test->mean) * (speeds[i] - test->mean);
    test->deviation = count > 1 ? sqrt(squares / (count - 1)) : 0;
}

static int run_test(bench *b, bool is_prefill, uint32_t count, uint32_t threads)
{
    bench_result *test = &b->report.results[b->report.result_count];
    uint32_t depth = (uint32_t)b->given->depth, repetitions = (uint32_t)b->given->repetitions;
    uint32_t events;
    *test = (bench_result){ .threads = threads, .count = count, .is_prefill = is_prefill };
    snprintf(test->test, sizeof test->test, "%s%u", is_prefill ? "pp" : "tg", count);
    double ms, bytes = 0;
    int code = cli_event_count(tlm_context_session(b->loaded.context), &events);
    if (code == CLI_OK)
        code = run_once(b, test, &ms);
    for (uint32_t r = 0; r < repetitions && code == CLI_OK; r++) {
        code = run_once(b, test, &ms);
        b->speeds[r] = ms > 0 ? count / ms * 1e3 : 0;
    }
    if (code != CLI_OK)
        return code;
    summarize(b->speeds, repetitions, test);
    code = bench_tell_devices(&b->report, b->loaded.context, is_prefill ? count : 1, events, test);
    tlm_work work = { .size = sizeof work };
    for (uint32_t at = 0, size = is_prefill ? count : 1; at < count; at += size) {
        tlm_context_work(b->loaded.context, depth + at, size, &work);
        bytes += (double)work.bytes_read;
        test->operations_per_token += work.operations / count;
    }
    test->bytes_per_token = bytes / count;
    b->report.result_count++;
    cli_catch_interrupt();   // from now on there is something to print
    return code;
}

// ----------------------------------------------------------------------------------------- context

static int check_room(const bench *b)
{
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(b->loaded.context, &info);
    uint32_t longest = largest_of(&b->prompt), decode = largest_of(&b->decode);
    longest = (decode > longest ? decode : longest) + (uint32_t)b->given->depth;
    if (longest <= info.context_tokens)
        return CLI_OK;
    return cli_fail(CLI_USAGE,
                    "bench: the tests and --ctx-depth take %u tokens, the context has %u: --ctx "
                    "sets it",
                    longest, info.context_tokens);
}

// What stands in the text makes no difference to its speed; the ids are the same in every run.
static int make_ids(bench *b)
{
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(b->loaded.context, &info);
    b->ids = calloc(info.context_tokens, sizeof *b->ids);
    if (!b->ids)
        return cli_fail(CLI_MEMORY, "not enough memory for %u ids", info.context_tokens);
    uint32_t seed = 1;
    for (uint32_t i = 0; i < info.context_tokens; i++) {
        seed = seed * 1664525 + 1013904223;
        b->ids[i] = (int32_t)((seed >> 8) % info.vocabulary);
    }
    b->report.context_tokens = info.context_tokens;
    return CLI_OK;
}

static int go_to_depth(const bench *b)
{
    const float *logits;
    return b->given->depth ? cli_eval(&b->loaded, b->ids, (uint32_t)b->given->depth, &logits)
                           : CLI_OK;
}

static int run_all(bench *b, uint32_t threads)
{
    int code = CLI_OK;
    for (uint32_t i = 0; i < b->prompt.count && code == CLI_OK; i++)
        if (b->prompt.items[i])
            code = run_test(b, true, (uint32_t)b->prompt.items[i], threads);
    for (uint32_t i = 0; i < b->decode.count && code == CLI_OK; i++)
        if (b->decode.items[i])
            code = run_test(b, false, (uint32_t)b->decode.items[i], threads);
    return code;
}

static int run_with_threads(bench *b, const char *model, uint32_t threads)
{
    bench_machine *machine = &b->report.machines[b->report.machine_count++];
    cli_model_options how = b->given->model;
    how.common.threads = threads;
    double begin = cli_now_ms();
    int code = cli_load_model(&b->loaded, model, &how);
    if (code == CLI_OK)
        code = cli_load_context(&b->loaded, &how, 0, 0);
    machine->load_ms = cli_now_ms() - begin;
    if (code == CLI_OK)
        code = check_room(b);
    if (code == CLI_OK && !b->ids)
        code = make_ids(b);
    if (code == CLI_OK && !b->report.devices)
        code = bench_list_devices(&b->report, b->loaded.runtime);
    if (code == CLI_OK) {
        machine->threads = tn_runtime_threads(b->loaded.runtime);
        code = go_to_depth(b);
    }
    if (code == CLI_OK)
        machine->events = cli_events(tlm_context_session(b->loaded.context), 0);
    if (code == CLI_OK)
        code = run_all(b, machine->threads);
    cli_unload(&b->loaded);
    return code;
}

static uint32_t count_tests(const bench *b)
{
    uint32_t sizes = 0;
    for (uint32_t i = 0; i < b->prompt.count; i++)
        sizes += b->prompt.items[i] > 0;
    for (uint32_t i = 0; i < b->decode.count; i++)
        sizes += b->decode.items[i] > 0;
    return b->threads.count * sizes;
}

static uint64_t peak_resident_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

// The limits come last: their memory is none of the model's.
static int measure(bench *b, const char *model)
{
    size_t tests = (size_t)b->threads.count * (b->prompt.count + b->decode.count);
    b->report = (bench_report){ .model = model,
                                .given = b->given,
                                .results = calloc(tests, sizeof *b->report.results),
                                .machines = calloc(b->threads.count, sizeof *b->report.machines) };
    b->speeds = calloc((size_t)b->given->repetitions, sizeof *b->speeds);
    if (!b->report.results || !b->report.machines || !b->speeds)
        return cli_fail(CLI_MEMORY, "not enough memory for the results");
    int code = CLI_OK;
    for (uint32_t t = 0; t < b->threads.count && code == CLI_OK; t++)
        code = run_with_threads(b, model, (uint32_t)b->threads.items[t]);
    if (code == CLI_INTERRUPTED)
        cli_note("interrupted behind %u of %u tests", b->report.result_count, count_tests(b));
    b->report.peak_bytes = peak_resident_bytes();
    for (uint32_t t = 0; t < b->report.machine_count && code == CLI_OK && !cli_is_interrupted();
         t++) {
        bench_machine *machine = &b->report.machines[t];
        machine->is_known = machine_measure(machine->threads, &machine->limits);
    }
    b->report.is_interrupted = cli_is_interrupted();
    if (code != CLI_OK && code != CLI_INTERRUPTED)
        return code;
    code = bench_print(&b->report);
    return code == CLI_OK && b->report.is_interrupted ? CLI_INTERRUPTED : code;
}

static void drop_report(bench_report *report, size_t tests)
{
    for (size_t i = 0; i < tests && report->results; i++) {
        free(report->results[i].has_run);
        json_decref(report->results[i].events);
    }
    for (uint32_t m = 0; m < report->machine_count; m++)
        json_decref(report->machines[m].events);
    bench_drop_devices(report);
    free(report->results);
    free(report->machines);
}

static int run(int argc, char **argv)
{
    bench_options given = { .prompt = "512", .decode = "64", .repetitions = 5 };
    bench b = { .given = &given };
    int count, code = cli_parse(&cli_bench_command, argc, argv, &given, 1, 1, &count);
    if (code < 0) {
        cli_end_at_interrupt();
        code = parse("prompt", given.prompt, 0, MOST_TOKENS, &b.prompt);
        if (code == CLI_OK)
            code = parse("decode", given.decode, 0, MOST_TOKENS, &b.decode);
        if (code == CLI_OK)
            code = given.threads ? parse("threads", given.threads, 1, MOST_THREADS, &b.threads)
                                 : parse("threads", "0", 0, 0, &b.threads);
        if (code == CLI_OK && !largest_of(&b.prompt) && !largest_of(&b.decode))
            code = cli_fail(CLI_USAGE, "bench: --prompt and --decode are 0: nothing to measure");
        if (code == CLI_OK)
            code = measure(&b, argv[1]);
    }
    free(b.ids);
    free(b.speeds);
    drop_report(&b.report, (size_t)b.threads.count * (b.prompt.count + b.decode.count));
    free(b.prompt.items);
    free(b.decode.items);
    free(b.threads.items);
    cli_model_options_finish(&given.model);
    return code;
}

const cli_command cli_bench_command = {
    "bench",
    "MODEL [options]",
    "Measures how fast a model runs, and how near that is to what the machine can do",
    "ppN is a prompt of N tokens, tgN are N new tokens, one at a time: tokens a second, the mean "
    "of "
    "all repetitions,\n"
    "their standard deviation and the best. Then what is read and computed at that speed, in 10^9 "
    "a "
    "second, as far as\n"
    "the shapes tell, and which share it is of what this machine reads and multiplies at most with "
    "as many threads.\n",
    options,
    sizeof options / sizeof *options,
    run,
};
