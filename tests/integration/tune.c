// What tn_tune measures of simulated devices is what they are set to, on their virtual clock; what
// it keeps is what later sessions reckon with.
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sha2.h>
#include <tenon/tune.h>

#include "folder.h"
#include "session_rig.h"

enum { MOST = 64, DIM = 256 };

typedef struct told {
    tn_tuned_product products[MOST];
    tn_tuned_link links[MOST];
    tn_tuned_device devices[4];
    char kept_at[4][512];
    uint32_t product_count, link_count, device_count;
} told;

static void take_product(void *context, const tn_tuned_product *product)
{
    told *t = context;
    assert_int_equal(product->size, sizeof *product);
    assert_true(t->product_count < MOST);
    t->products[t->product_count++] = *product;
}

static void take_link(void *context, const tn_tuned_link *link)
{
    told *t = context;
    assert_true(t->link_count < MOST);
    t->links[t->link_count++] = *link;
}

static void take_device(void *context, const tn_tuned_device *device)
{
    told *t = context;
    snprintf(t->kept_at[t->device_count], sizeof t->kept_at[0], "%s", device->kept_at);
    t->devices[t->device_count++] = *device;
}

static test_folder cache;

static int make_cache(void **state)
{
    (void)state;
    test_folder_make(&cache);
    return 0;
}

static int drop_cache(void **state)
{
    (void)state;
    test_folder_remove(&cache);
    return 0;
}

// The rig has no cache; the devices are opened after this.
static tn_runtime *start(const char *devices)
{
    tn_runtime *runtime = rig_simulated(devices, NULL);
    setenv("XDG_CACHE_HOME", test_folder_path(&cache, "cache"), 1);
    return runtime;
}

static void tune(tn_runtime *runtime, const char *const *names, uint32_t flags, told *t)
{
    tn_device *devices[4];
    tn_error err = { 0 };
    tn_tune_options options = {
        .size = sizeof options, .devices = devices, .flags = flags, .dim = DIM
    };
    for (; names[options.device_count]; options.device_count++)
        devices[options.device_count] = rig_device(runtime, names[options.device_count]);
    memset(t, 0, sizeof *t);
    if (tn_tune(runtime, &options, &(tn_tune_sink){ t, take_product, take_link, take_device },
                &err) != TN_OK)
        fail_msg("%s", err.text);
}

static bool is_near(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance * want;
}

// A device computes at its gflops or reads at its gbps, whatever takes longer, and 100 ns.
static void products_and_links_are_those_of_the_settings(void **state)
{
    (void)state;
    static const struct {
        const char *devices;
        double gflops, gbps, link_gbps, latency_ns;
    } cases[] = {
        { "[{\"name\":\"a\"}]", 10000, 1000, 16, 10000 },
        { "[{\"name\":\"a\",\"gflops\":100,\"gbps\":10,\"link_gbps\":1,\"latency_us\":50}]", 100,
          10, 1, 50000 },
        { "[{\"name\":\"a\",\"host_visible\":false,\"gflops\":500,\"gbps\":5000,\"link_gbps\":100,"
          "\"latency_us\":0.5,\"order\":\"late\"}]",
          500, 5000, 100, 500 },
        { "[{\"name\":\"a\",\"except\":[\"neg\"],\"gflops\":50}]", 50, 1000, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static told t;
        tn_runtime *runtime = start(cases[i].devices);
        tune(runtime, (const char *[]){ "a", NULL }, 0, &t);
        assert_int_equal(t.product_count, 10);
        for (uint32_t p = 0; p < t.product_count; p++) {
            const tn_tuned_product *product = &t.products[p];
            double columns = product->columns;
            double bytes = (double)tn_dtype_bytes(product->dtype, (int64_t)DIM * DIM) +
                           8.0 * DIM * columns;
            double compute = 2.0 * DIM * DIM * columns / cases[i].gflops;
            double want = 100 + fmax(compute, bytes / cases[i].gbps);
            if (!is_near(product->ns, want, 0.01) || !is_near(product->claimed_ns, want, 0.01))
                fail_msg("case %zu, %s, %u columns: %g ns, not %g", i,
                         tn_dtype_name(product->dtype), product->columns, product->ns, want);
            assert_true(
                is_near(product->flops_per_s * product->ns / 1e9, 2.0 * DIM * DIM * columns, 1e-6));
        }
        assert_int_equal(t.link_count, 2);
        for (uint32_t l = 0; l < 2 && cases[i].link_gbps > 0; l++) {
            assert_int_equal(t.links[l].from == TN_TUNE_HOST, l == 1);
            assert_int_equal(t.links[l].to == TN_TUNE_HOST, l == 0);
            if (!is_near(t.links[l].latency_ns, cases[i].latency_ns, 0.01) ||
                !is_near(t.links[l].bytes_per_s, cases[i].link_gbps * 1e9, 0.01))
                fail_msg("case %zu: %g ns, %g bytes/s", i, t.links[l].latency_ns,
                         t.links[l].bytes_per_s);
        }
        assert_int_equal(t.device_count, 1);
        assert_true(is_near(t.devices[0].claim_factor, 1, 0.005));
        assert_true(t.devices[0].submit_ns > 0);
        tn_runtime_destroy(runtime);
        assert_string_equal(rig_log(), "");
    }
}

static void devices_that_copy_directly_have_a_link_of_their_own(void **state)
{
    (void)state;
    static told t;
    tn_runtime *runtime = start(
        "[{\"name\":\"a\",\"peer\":true,\"link_gbps\":8},"
        "{\"name\":\"b\",\"peer\":true,\"latency_us\":30},{\"name\":\"c\"}]");
    tune(runtime, (const char *[]){ "a", "b", "c", NULL }, 0, &t);
    assert_int_equal(t.link_count, 2 + 2 + 2 + 2);
    for (uint32_t i = 0; i < t.link_count; i++) {
        const tn_tuned_link *link = &t.links[i];
        if (link->from == TN_TUNE_HOST || link->to == TN_TUNE_HOST)
            continue;
        assert_int_equal(link->from + link->to, 1);           // a and b
        assert_true(is_near(link->bytes_per_s, 8e9, 0.01));   // the slower
        assert_true(is_near(link->latency_ns, 30000, 0.01));
    }
    tn_runtime_destroy(runtime);
}

static void what_does_not_fit_or_is_not_taken_is_left_out(void **state)
{
    (void)state;
    static told t;
    tn_runtime *runtime = start("[{\"name\":\"a\",\"memory_bytes\":30000},"
                                "{\"name\":\"b\",\"except\":[\"matmul\"]},"
                                "{\"name\":\"c\",\"dtypes\":[\"F32\",\"Q8_0\"]}]");
    tune(runtime, (const char *[]){ "a", "b", "c", NULL }, TN_TUNE_KEEP_NOTHING, &t);
    assert_int_equal(t.product_count, 4);
    for (uint32_t p = 0; p < t.product_count; p++)
        assert_int_equal(t.products[p].device, 2);
    assert_int_equal(t.link_count, 4);   // not those of a, which has no room for a copy
    assert_true(t.devices[0].claim_factor == 1 && t.devices[1].claim_factor == 1);
    for (int d = 0; d < 3; d++)
        assert_string_equal(t.kept_at[d], "");
    tn_runtime_destroy(runtime);
    assert_null(opendir(test_folder_path(&cache, "cache")));
}

static void a_device_that_fails_is_an_error_with_its_name(void **state)
{
    (void)state;
    static const char *const calls[] = { "open",         "queue_create", "semaphore_create",
                                         "buffer_alloc", "queue_submit", "queue_copy",
                                         "compile",      "bind",         "semaphore_wait",
                                         "work" };
    for (size_t i = 0; i < 2 * sizeof calls / sizeof calls[0]; i++) {
        char devices[160];
        snprintf(devices, sizeof devices,
                 "[{\"name\":\"a\",\"fail\":{\"call\":\"%s\",\"at\":%d,\"lost\":%s}}]",
                 calls[i / 2], i / 2 ? 2 : 1, i % 2 ? "true" : "false");
        tn_runtime *runtime = start(devices);
        tn_device *device = rig_device(runtime, "a");
        tn_error err = { 0 };
        tn_tune_options options = {
            .size = sizeof options, .device_count = 1, .devices = &device, .dim = 256
        };
        if (tn_tune(runtime, &options, NULL, &err) == TN_OK || strncmp(err.text, "a: ", 3) != 0)
            fail_msg("%s: %s", devices, err.text);
        tn_runtime_destroy(runtime);
        assert_null(opendir(test_folder_path(&cache, "cache")));   // nothing was kept
        assert_null(strstr(rig_log(), "not given back"));
    }
}

// ------------------------------------------------------------------------------------------ cache

// One product on a device that is the only one to take it, and what goes there and comes back.
static tn_session *two_devices(tn_runtime *runtime, tn_graph **out_graph)
{
    static float weight[256 * 256];
    *out_graph = rig_graph();
    tn_value x = rig_input(*out_graph, "x", 2, 256, 4, 0);
    x = rig_op(*out_graph, TNP_OP_ABS, x);
    x = tn_graph_matmul(*out_graph, x,
                        tn_graph_weight(*out_graph, "w", TN_DTYPE_F32, 2, (int64_t[]){ 256, 256 },
                                        weight, sizeof weight));
    rig_finish(*out_graph, rig_op(*out_graph, TNP_OP_ABS, x));
    return rig_session(runtime, (const tn_graph *[]){ *out_graph }, 1,
                       (const char *[]){ "a", "cpu0", NULL });
}

typedef struct costs {
    double claims_ns, copies_ns;   // of a, and between both
    uint32_t known_by;             // of the link from a
    uint32_t is_measured;
} costs;

static void add_claims(void *context, const tn_segment *segment)
{
    costs *c = context;
    if (segment->device == 0)
        c->claims_ns += segment->cost_ns;
}

static costs costs_of(const char *devices)
{
    tn_runtime *runtime = start(devices);
    tn_graph *graph;
    tn_session *session = two_devices(runtime, &graph);
    tn_graph_schedule schedule = { .size = sizeof schedule };
    tn_link_cost link = { .size = sizeof link };
    costs c = { 0 };
    tn_error err = { 0 };
    if (tn_session_graph_schedule(session, 0, &schedule, &err) != TN_OK ||
        tn_session_segments(session, 0, &(tn_segment_sink){ &c, add_claims }, &err) != TN_OK ||
        tn_session_link(session, 0, 1, &link, &err) != TN_OK)
        fail_msg("%s", err.text);
    assert_int_equal(schedule.copy_count, 2);
    c.copies_ns = schedule.copies_ns;
    c.known_by = link.known_by;
    (void)tn_device_claim_factor(rig_device(runtime, "a"), &c.is_measured);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    return c;
}

// The file with other figures, and the hash that belongs to them.
static void rewrite(const char *path, const char *from, const char *to)
{
    size_t count;
    char *text = (char *)test_read_file(path, &count), changed[4096], hash[80];
    text[count - 1] = 0;   // the last line end
    char *at = strstr(text, from), *end = strstr(text, "sha256 ");
    assert_non_null(at);
    assert_non_null(end);
    *end = 0;
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to,
             at + strcspn(at, "\n"));
    SHA256Data((const uint8_t *)changed, strlen(changed), hash);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%ssha256 %s\n", changed, hash);
    fclose(file);
    free(text);
}

static const char device_a[] = "[{\"name\":\"a\",\"except\":[\"abs\"],\"link_gbps\":4,"
                               "\"latency_us\":0.1}]";

static void sessions_reckon_with_what_was_kept(void **state)
{
    (void)state;
    static told t;
    costs before = costs_of(device_a);
    assert_int_equal(before.known_by, TN_KNOWN_BY_PLUGIN);
    assert_int_equal(before.is_measured, 0);
    tn_runtime *runtime = start(device_a);
    tune(runtime, (const char *[]){ "a", NULL }, 0, &t);
    tn_runtime_destroy(runtime);
    assert_non_null(strstr(t.kept_at[0], "/cache/tenon/tune/"));
    // As it says of itself: so it was measured, but for the submit, of which it says nothing.
    rewrite(t.kept_at[0], "submit_ns ", "submit_ns 0");
    costs same = costs_of(device_a);
    assert_int_equal(same.is_measured, 1);
    assert_int_equal(same.known_by, TN_KNOWN_BY_PLUGIN);   // the half of the CPU
    assert_true(is_near(same.claims_ns, before.claims_ns, 0.005));
    assert_true(is_near(same.copies_ns, before.copies_ns, 0.001));
    rewrite(t.kept_at[0], "claim_ppm ", "claim_ppm 3000000");
    rewrite(t.kept_at[0], "up ", "up 700 1000000000");
    rewrite(t.kept_at[0], "submit_ns ", "submit_ns 5000");
    costs slow = costs_of(device_a);
    assert_true(is_near(slow.claims_ns, 3 * before.claims_ns, 1e-6));
    assert_true(is_near(slow.copies_ns - before.copies_ns, 600 + 4096 * 0.75 + 5000, 0.001));
    assert_string_equal(rig_log(), "");
    // Set up otherwise it is another device.
    costs other = costs_of(
        "[{\"name\":\"a\",\"except\":[\"abs\"],\"link_gbps\":4,\"latency_us\":0.1,"
        "\"gflops\":9000}]");
    assert_int_equal(other.is_measured, 0);
}

static void what_could_not_be_measured_is_not_kept(void **state)
{
    (void)state;
    static told t;
    static const char devices[] = "[{\"name\":\"a\",\"except\":[\"matmul\"]},"
                                  "{\"name\":\"b\",\"memory_bytes\":30000}]";
    tn_runtime *runtime = start(devices);
    tune(runtime, (const char *[]){ "a", "b", NULL }, 0, &t);
    tn_runtime_destroy(runtime);
    assert_int_equal(t.product_count, 0);
    assert_string_not_equal(t.kept_at[0], "");   // its links
    assert_string_not_equal(t.kept_at[1], "");   // its submit, all that there is to know of it
    // Claims that were not measured do not count as if they were.
    runtime = start(devices);
    tn_graph *graph;
    tn_session *session = two_devices(runtime, &graph);
    uint32_t is_measured = 1;
    assert_true(tn_device_claim_factor(rig_device(runtime, "a"), &is_measured) == 1);
    assert_int_equal(is_measured, 0);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    assert_string_equal(rig_log(), "");
}

// A session's runs would be measured with what tn_tune measures.
static void while_a_session_lives_nothing_is_measured(void **state)
{
    (void)state;
    tn_runtime *runtime = start("[{\"name\":\"a\"}]");
    tn_device *device = rig_device(runtime, "a");
    tn_tune_options options = {
        .size = sizeof options, .device_count = 1, .devices = &device, .dim = DIM
    };
    tn_error err = { 0 };
    tn_graph *graph, *other;
    tn_session *session = two_devices(runtime, &graph), *second = two_devices(runtime, &other);
    assert_int_equal(tn_tune(runtime, &options, NULL, &err), TN_E_BUSY);
    assert_string_equal(err.text,
                        "tn_tune: the runtime has 2 sessions: destroy them, then measure");
    tn_session_destroy(second);
    assert_int_equal(tn_tune(runtime, &options, NULL, &err), TN_E_BUSY);
    tn_session_destroy(session);
    assert_int_equal(tn_session_create(runtime, NULL, 0, NULL, &session, &err), TN_E_ARG);
    assert_int_equal(tn_tune(runtime, &options, NULL, &err), TN_OK);
    tn_graph_destroy(graph);
    tn_graph_destroy(other);
    tn_runtime_destroy(runtime);
}

static void a_file_that_is_damaged_or_foreign_is_ignored_with_a_warning(void **state)
{
    (void)state;
    static told t;
    tn_runtime *runtime = start(
        "[{\"name\":\"a\",\"except\":[\"abs\"],\"link_gbps\":4},{\"name\":\"b\"}]");
    tune(runtime, (const char *[]){ "a", "b", NULL }, 0, &t);
    tn_runtime_destroy(runtime);
    static const char both[] =
        "[{\"name\":\"a\",\"except\":[\"abs\"],\"link_gbps\":4},{\"name\":\"b\"}]";
    const struct {
        const char *text, *words;
    } cases[] = {
        { "", ": it is no file of tenon tune, or of another release" },
        { "what the user keeps there\n", ": it is no file of tenon tune" },
        { "tenon tune 1\ndevice 0", ": it is damaged" },
        { NULL, ": it is of another device" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t count = 0;
        unsigned char *foreign = test_read_file(t.kept_at[1], &count);
        FILE *file = fopen(t.kept_at[0], "w");
        if (cases[i].text)
            fputs(cases[i].text, file);
        else
            fwrite(foreign, 1, count, file);
        fclose(file);
        free(foreign);
        costs c = costs_of(both);
        assert_int_equal(c.is_measured, 0);
        if (strncmp(rig_log(), "a: what was measured of it is ignored: /", 40) != 0 ||
            !strstr(rig_log(), cases[i].words))
            fail_msg("%s", rig_log());
    }
    // Tuning mends it, but replaces nothing that is no such file.
    runtime = start(both);
    tune(runtime, (const char *[]){ "a", NULL }, 0, &t);
    tn_runtime_destroy(runtime);
    rewrite(t.kept_at[0], "submit_ns ", "submit_ns 0");   // of a busy host it may be long
    assert_int_equal(costs_of(both).is_measured, 1);
    FILE *file = fopen(t.kept_at[0], "w");
    fputs("what the user keeps there\n", file);
    fclose(file);
    runtime = start(both);
    tn_device *device = rig_device(runtime, "a");
    tn_tune_options options = {
        .size = sizeof options, .device_count = 1, .devices = &device, .dim = 256
    };
    tn_error err = { 0 };
    assert_int_equal(tn_tune(runtime, &options, NULL, &err), TN_E_FILE);
    assert_non_null(strstr(err.text, "holds something else than a file of tenon tune"));
    tn_runtime_destroy(runtime);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    tn_runtime *runtime = start("[{\"name\":\"a\"}]"),
               *second = rig_simulated("[{\"name\":\"a\"}]", NULL);
    tn_device *twice[] = { rig_device(runtime, "a"), rig_device(runtime, "a") };
    tn_device *foreign = rig_device(second, "a");
    tn_error err = { 0 };
    tn_tune_options options = { .size = sizeof options, .device_count = 2, .devices = twice };
    assert_int_equal(tn_tune(runtime, &options, NULL, &err), TN_E_ARG);
    assert_string_equal(err.text, "tn_tune: a is given twice");
    options.device_count = 1;
    options.dim = 100;
    assert_int_equal(tn_tune(runtime, &options, NULL, &err), TN_E_ARG);
    options = (tn_tune_options){ .size = sizeof options, .device_count = 1, .devices = &foreign };
    assert_int_equal(tn_tune(runtime, &options, NULL, &err), TN_E_ARG);
    tn_graph *graph;
    tn_session *session = two_devices(runtime, &graph);
    tn_link_cost link = { .size = sizeof link };
    assert_int_equal(tn_session_link(session, 1, 1, &link, &err), TN_E_ARG);
    assert_int_equal(tn_session_link(session, 0, 2, &link, &err), TN_E_ARG);
    tn_session_destroy(session);
    tn_graph_destroy(graph);
    tn_runtime_destroy(runtime);
    tn_runtime_destroy(second);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_cache, drop_cache)
    const struct CMUnitTest tests[] = {
        CASE(products_and_links_are_those_of_the_settings),
        CASE(devices_that_copy_directly_have_a_link_of_their_own),
        CASE(what_does_not_fit_or_is_not_taken_is_left_out),
        CASE(what_could_not_be_measured_is_not_kept),
        CASE(while_a_session_lives_nothing_is_measured),
        CASE(a_device_that_fails_is_an_error_with_its_name),
        CASE(sessions_reckon_with_what_was_kept),
        CASE(a_file_that_is_damaged_or_foreign_is_ignored_with_a_warning),
        CASE(bad_arguments_are_refused),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
