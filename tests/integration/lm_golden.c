// A whole model against its golden file: logits after each prompt, greedy steps, likelihood of a
// passage.
//   lm_golden MODEL GOLDEN TOLERANCE [THREADS [row|tensor DEVICES | on DEVICE LAYERS PLUGIN]]
// TOLERANCE, as in tests/data/golden/README.md: A activations and KV cache in float32; B the KV
// cache in half precision; C as it comes, with 8-bit activations. A MODEL that is not there:
// skipped. Plugins are found by TENON_PLUGIN_PATH. With a split mode: divided over so many
// simulated devices (at most 4), each of which gets twice as much as the next. On a device of a
// plugin's file: so many layers, the others on the CPU, or "all", and nothing on the CPU; skipped
// where the machine has no such device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/lm.h>
#include <unistd.h>

enum { MOST_DEVICES = 4 };

// Bounds in units of the logits' std, and nats for the NLL; 0 = none.
typedef struct tolerance {
    const char *name, *activations;
    tn_dtype kv_type;
    double top, mean_top;   // of a prompt's ten best logits; mean over the prompts of the largest
    double gap;   // of best minus second at a greedy step; a step may differ where it is below
    double gap_change;   // how far the gap may be from that of the file
    double mean_nll, token_nll, rms_nll;
} tolerance;

static const tolerance tolerances[] = {
    { "A", "f32", TN_DTYPE_F32, 2e-4, 0, 2e-4, 2e-4, 1e-4, 1e-3, 0 },
    { "B", "f32", TN_DTYPE_F16, 0.02, 0, 0.02, 0.02, 1e-3, 0.03, 0 },
    { "C", "q8", TN_DTYPE_F16, 0.5, 0.2, 0.2, 0, 0.02, 0, 0.2 },
};

static const char *model_path, *golden_path;
static const tolerance *allowed;
static uint32_t threads, split_mode, split_count;
static const char *device_name, *plugin_path = SIM_PLUGIN_PATH;
static uint32_t device_layers;   // 0 = all

static json_t *golden;
static tn_runtime *runtime;
static tn_model *model;

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static int open_all(void **state)
{
    (void)state;
    tn_error err = { 0 };
    json_error_t error;
    golden = json_load_file(golden_path, 0, &error);
    if (!golden)
        fail_msg("%s: %s", golden_path, error.text);
    char cpu[64], sim[64];
    snprintf(cpu, sizeof cpu, "plugin.cpu.activations=%s", allowed->activations);
    snprintf(sim, sizeof sim, "plugin.sim.activations=%s", allowed->activations);
    const char *settings[] = { cpu, sim, "plugin.sim.devices=[{},{\"host_visible\":false},{},{}]" };
    const char *plugins[] = { plugin_path };
    tn_runtime_options options = {
        .size = sizeof options,
        .threads = threads,
        .plugin_path_count = split_count || device_name ? 1 : 0,
        .plugin_paths = plugins,
        .setting_count = split_count ? 3 : 1,
        .settings = settings,
    };
    need(tn_runtime_create(&options, &runtime, &err), &err);
    need(tn_model_open(model_path, NULL, &model, &err), &err);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    tn_model_close(model);
    tn_runtime_destroy(runtime);
    json_decref(golden);
    return 0;
}

static uint32_t id_at(const json_t *list, size_t i)
{
    return (uint32_t)json_integer_value(json_array_get(list, i));
}

static double number_at(const json_t *list, size_t i)
{
    return json_number_value(json_array_get(list, i));
}

static int32_t *ids_of(const json_t *entry, uint32_t *out_count)
{
    const json_t *list = json_object_get(entry, "ids");
    *out_count = (uint32_t)json_array_size(list);
    int32_t *ids = calloc(*out_count + 1, sizeof *ids);
    assert_non_null(ids);
    for (uint32_t i = 0; i < *out_count; i++)
        ids[i] = (int32_t)id_at(list, i);
    return ids;
}

// Room for every prompt with its greedy steps, and for every passage; at most what the model takes.
static uint32_t context_tokens(void)
{
    size_t i, most = 1;
    json_t *entry;
    json_array_foreach(json_object_get(golden, "prompts"), i, entry)
    {
        size_t count = json_array_size(json_object_get(entry, "ids")) +
                       json_array_size(json_object_get(json_object_get(entry, "greedy"), "ids"));
        most = count > most ? count : most;
    }
    json_array_foreach(json_object_get(golden, "nll"), i, entry)
    {
        size_t count = json_array_size(json_object_get(entry, "ids"));
        most = count > most ? count : most;
    }
    return (uint32_t)most;
}

static tlm_context *create_divided(uint32_t flags)
{
    static const double shares[MOST_DEVICES] = { 8, 4, 2, 1 };
    tn_device *devices[MOST_DEVICES];
    tn_placement placement = {
        .size = sizeof placement,
        .split_mode = split_mode,
        .layer_rule = TN_LAYERS_ALL,
        .share_count = split_count,
        .shares = shares,
    };
    tlm_context_options options = {
        .size = sizeof options,
        .flags = flags,
        .context_tokens = context_tokens(),
        .kv_type = allowed->kv_type,
        .device_count = split_count,
        .devices = devices,
        .placement = split_count ? &placement : NULL,
    };
    for (uint32_t i = 0; i < split_count; i++) {
        char name[16];
        snprintf(name, sizeof name, "sim%u", i);
        devices[i] = tn_runtime_find_device(runtime, name);
        assert_non_null(devices[i]);
    }
    tlm_context *context = NULL;
    tn_error err = { 0 };
    need(tlm_context_create(runtime, model, &options, &context, &err), &err);
    return context;
}

static tlm_context *create_on_device(uint32_t flags)
{
    tn_device *devices[] = { tn_runtime_find_device(runtime, device_name),
                             tn_runtime_find_device(runtime, "cpu0") };
    tn_placement placement = {
        .size = sizeof placement,
        .layer_rule = device_layers ? TN_LAYERS_COUNT : TN_LAYERS_ALL,
        .gpu_layers = device_layers,
    };
    tlm_context_options options = {
        .size = sizeof options,
        .flags = flags,
        .context_tokens = context_tokens(),
        .kv_type = allowed->kv_type,
        .device_count = device_layers ? 2 : 1,
        .devices = devices,
        .placement = device_layers ? &placement : NULL,
    };
    tlm_context *context = NULL;
    tn_error err = { 0 };
    need(tlm_context_create(runtime, model, &options, &context, &err), &err);
    return context;
}

static tlm_context *create_context(uint32_t flags)
{
    return device_name ? create_on_device(flags) : create_divided(flags);
}

static bool has_device(void)
{
    tn_error err = { 0 };
    tn_runtime *look = NULL;
    const tn_runtime_options options = { .size = sizeof options,
                                         .plugin_path_count = 1,
                                         .plugin_paths = &plugin_path };
    need(tn_runtime_create(&options, &look, &err), &err);
    bool has = tn_runtime_find_device(look, device_name) != NULL;
    tn_runtime_destroy(look);
    return has;
}

static uint32_t vocabulary_of(const tlm_context *context)
{
    tlm_context_info info = { .size = sizeof info };
    tlm_context_describe(context, &info);
    return info.vocabulary;
}

// The largest difference of the ten best logits from those of the file, in units of their std.
static double top_difference(const json_t *last, const float *logits)
{
    const json_t *ids = json_object_get(last, "top_ids"),
                 *values = json_object_get(last, "top_logits");
    double largest = 0, std = json_number_value(json_object_get(last, "std"));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        double difference = fabs((double)logits[id_at(ids, i)] - number_at(values, i)) / std;
        largest = difference > largest || isnan(difference) ? difference : largest;
    }
    return largest;
}

static void expect_below(const char *name, const char *what, double value, double bound)
{
    print_message("%-12s %-28s %.6f%s", name, what, value, bound > 0 ? "" : "\n");
    if (bound > 0)
        print_message(" (at most %g)\n", bound);
    if (bound > 0 && !(value <= bound))
        fail_msg("%s: %s is %g, expected at most %g", name, what, value, bound);
}

// Gives ids in pieces of `chunk`; the logits after the last.
static const float *eval_in_pieces(tlm_context *context, const int32_t *ids, uint32_t count,
                                   uint32_t chunk)
{
    const float *logits = NULL;
    tn_error err = { 0 };
    need(tlm_context_reset(context, &err), &err);
    for (uint32_t done = 0; done < count; done += chunk)
        need(tlm_eval(context, ids + done, count - done < chunk ? count - done : chunk, &logits,
                      &err),
             &err);
    return logits;
}

static void logits_after_prompts_are_those_of_the_file(void **state)
{
    (void)state;
    static const uint32_t chunks[] = { UINT32_MAX / 2, 1, 7 };
    tlm_context *context = create_context(0);
    for (size_t c = 0; c < sizeof chunks / sizeof chunks[0]; c++) {
        size_t i;
        json_t *entry;
        double sum = 0;
        json_array_foreach(json_object_get(golden, "prompts"), i, entry)
        {
            uint32_t count;
            int32_t *ids = ids_of(entry, &count);
            const float *logits = eval_in_pieces(context, ids, count, chunks[c]);
            double difference = top_difference(json_object_get(entry, "last"), logits);
            const char *what = c == 0   ? "top-10 / std, one pass"
                               : c == 1 ? "top-10 / std, by tokens"
                                        : "top-10 / std, by sevens";
            expect_below(json_string_value(json_object_get(entry, "name")), what, difference,
                         allowed->top);
            sum += difference;
            free(ids);
        }
        expect_below("prompts", "mean of these", sum / (double)i, allowed->mean_top);
    }
    tlm_context_destroy(context);
}

static uint32_t best_of(const float *logits, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

// Each step gets the ids of the file, whatever this program would have chosen.
static void greedy_steps_are_those_of_the_file(void **state)
{
    (void)state;
    tlm_context *context = create_context(0);
    uint32_t vocabulary = vocabulary_of(context);
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(golden, "prompts"), i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        const json_t *greedy = json_object_get(entry, "greedy");
        const json_t *steps = json_object_get(greedy, "ids"),
                     *seconds = json_object_get(greedy, "second_ids");
        double std = json_number_value(json_object_get(json_object_get(entry, "last"), "std")),
               largest = 0;
        uint32_t count, flips = 0;
        int32_t *ids = ids_of(entry, &count);
        const float *logits = eval_in_pieces(context, ids, count, UINT32_MAX / 2);
        for (size_t step = 0; step < json_array_size(steps); step++) {
            uint32_t id = id_at(steps, step), second = id_at(seconds, step),
                     best = best_of(logits, vocabulary);
            double gap = number_at(json_object_get(greedy, "gaps"), step) / std;
            double change = fabs((double)(logits[id] - logits[second]) / std - gap);
            largest = change > largest || isnan(change) ? change : largest;
            if (best != id) {
                flips++;
                double behind = (double)(logits[best] - logits[id]) / std;
                if (!(gap < allowed->gap) || !(behind < allowed->gap))
                    fail_msg("%s: step %zu is %u, expected %u, which leads by %g std in the file "
                             "and is %g std behind here",
                             name, step, best, id, gap, behind);
            }
            int32_t fed = (int32_t)id;
            tn_error err = { 0 };
            if (step + 1 < json_array_size(steps))
                need(tlm_eval(context, &fed, 1, &logits, &err), &err);
        }
        print_message("%-12s %u steps of %zu differ\n", name, flips, json_array_size(steps));
        expect_below(name, "change of gap / std", largest, allowed->gap_change);
        free(ids);
    }
    tlm_context_destroy(context);
}

// -ln p(id) from logits {count}.
static double nll_of(const float *logits, uint32_t count, uint32_t id)
{
    double top = (double)logits[best_of(logits, count)], sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += exp((double)logits[i] - top);
    return top + log(sum) - (double)logits[id];
}

static void passages_are_as_likely_as_in_the_file(void **state)
{
    (void)state;
    tlm_context *context = create_context(TLM_ALL_LOGITS);
    uint32_t vocabulary = vocabulary_of(context);
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(golden, "nll"), i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        const json_t *per_token = json_object_get(entry, "per_token");
        uint32_t count;
        int32_t *ids = ids_of(entry, &count);
        const float *logits = eval_in_pieces(context, ids, count,
                                             UINT32_MAX / 2);   // {vocabulary, count}
        size_t short_count = (size_t)json_integer_value(
            json_object_get(json_object_get(entry, "short"), "count"));
        double sum = 0, short_sum = 0, largest = 0, squares = 0;
        assert_int_equal(json_array_size(per_token), count - 1);
        for (uint32_t t = 0; t + 1 < count; t++) {
            double nll = nll_of(logits + (size_t)t * vocabulary, vocabulary, (uint32_t)ids[t + 1]);
            double difference = nll - number_at(per_token, t);
            sum += nll;
            short_sum += t < short_count ? nll : 0;
            squares += difference * difference;
            largest = fabs(difference) > largest || isnan(difference) ? fabs(difference) : largest;
        }
        double short_mean = json_number_value(
            json_object_get(json_object_get(entry, "short"), "mean"));
        double long_mean = json_number_value(
            json_object_get(json_object_get(entry, "long"), "mean"));
        expect_below(name, "mean NLL, short", fabs(short_sum / (double)short_count - short_mean),
                     allowed->mean_nll);
        expect_below(name, "mean NLL, long", fabs(sum / (count - 1) - long_mean),
                     allowed->mean_nll);
        expect_below(name, "NLL of a token, largest", largest, allowed->token_nll);
        expect_below(name, "NLL of a token, RMS", sqrt(squares / (count - 1)), allowed->rms_nll);
        expect_below(name, "top-10 / std, at the end",
                     top_difference(json_object_get(entry, "last"),
                                    logits + (size_t)(count - 1) * vocabulary),
                     allowed->top);
        free(ids);
    }
    tlm_context_destroy(context);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fputs("use: lm_golden MODEL GOLDEN A|B|C [THREADS [row|tensor DEVICES | on DEVICE LAYERS "
              "PLUGIN]]\n",
              stderr);
        return 2;
    }
    model_path = argv[1];
    golden_path = argv[2];
    threads = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0;
    if (argc > 7 && strcmp(argv[5], "on") == 0) {
        device_name = argv[6];
        device_layers = (uint32_t)strtoul(argv[7], NULL, 10);   // 0 of "all"
        plugin_path = argc > 8 ? argv[8] : plugin_path;
    } else if (argc > 6) {
        split_mode = strcmp(argv[5], "row") == 0 ? TN_SPLIT_ROW : TN_SPLIT_TENSOR;
        split_count = (uint32_t)strtoul(argv[6], NULL, 10) % (MOST_DEVICES + 1);
    }
    for (size_t i = 0; i < sizeof tolerances / sizeof tolerances[0]; i++)
        if (strcmp(tolerances[i].name, argv[3]) == 0)
            allowed = &tolerances[i];
    if (!allowed) {
        fprintf(stderr, "lm_golden: tolerance '%s' is not A, B or C\n", argv[3]);
        return 2;
    }
    if (access(model_path, R_OK) != 0) {
        printf("skipped: %s is not here; tests/fetch-models brings it\n", model_path);
        return 77;
    }
    if (device_name && !has_device()) {
        printf("skipped: there is no device %s\n", device_name);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_after_prompts_are_those_of_the_file),
        cmocka_unit_test(greedy_steps_are_those_of_the_file),
        cmocka_unit_test(passages_are_as_likely_as_in_the_file),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
