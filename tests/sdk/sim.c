// sim.c: the plugin of simulated devices as a tool: settings that are refused, what each key does,
// faults at each call, bytes that are scrambled, the virtual clock. Called as `sim PLUGIN.so`.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <tenon/plugin.h>

#include "small_host.h"

static const tnp_plugin *table;

#define assert_ok(status) assert_int_equal((status), TNP_OK)

// ------------------------------------------------------------------------------------------ a host

static char log_text[4096];    // all lines
static void *last_allocated;   // of `watched_bytes`
static uint64_t watched_bytes;
static int64_t allocations_left = INT64_MAX;   // until one fails
static tnp_span spans[16];
static uint32_t span_count;

static void keep_line(void *context, int32_t level, const char *text)
{
    size_t used = strlen(log_text);
    (void)context, (void)level;
    snprintf(log_text + used, sizeof log_text - used, "%s\n", text);
}

static void *alloc_and_watch(void *context, uint64_t bytes, uint64_t alignment)
{
    void *made = allocations_left-- > 0 ? host_alloc(context, bytes, alignment) : NULL;
    if (bytes == watched_bytes)
        last_allocated = made;
    return made;
}

static void keep_span(void *context, const void *queue, const tnp_span *span)
{
    (void)context, (void)queue;
    if (span_count < 16)
        spans[span_count++] = *span;
}

typedef struct rig {
    tnp_host host;
    tnp_instance *instance;
    tnp_device *devices[4];
    tnp_queue *queue;   // of device 0, as are these
    tnp_semaphore *done;
    uint64_t signal;
    tnp_error err;
} rig;

static tnp_status begin(rig *r, const char *devices)
{
    *r = (rig){ .host = host, .err = { .size = sizeof r->err } };
    r->host.log = keep_line;
    r->host.alloc = alloc_and_watch;
    r->host.trace = keep_span;
    log_text[0] = 0;
    span_count = 0;
    setenv("TEST_SETTING_devices", devices, 1);
    return table->start(&r->host, &r->instance, &r->err);
}

static tnp_queue *make_queue(rig *r, tnp_device *device)
{
    tnp_queue *queue = NULL;
    tnp_queue_options how = { .size = sizeof how,
                              .kind = TNP_QUEUE_COMPUTE,
                              .pending = 8,
                              .points = 2,
                              .copies = 2,
                              .update_bytes = 64,
                              .updates = 2 };
    assert_ok(table->queue_create(device, &how, &queue, &r->err));
    return queue;
}

static tnp_semaphore *make_semaphore(rig *r, tnp_device *device, uint32_t flags)
{
    tnp_semaphore *semaphore = NULL;
    tnp_semaphore_options how = { .size = sizeof how, .flags = flags };
    assert_ok(table->semaphore_create(device, &how, &semaphore, &r->err));
    return semaphore;
}

static tnp_buffer *make_buffer(rig *r, tnp_device *device, uint64_t bytes)
{
    tnp_buffer *buffer = NULL;
    tnp_alloc what = { .size = sizeof what, .bytes = bytes };
    assert_ok(table->buffer_alloc(device, &what, &buffer, &r->err));
    return buffer;
}

static void start(rig *r, const char *devices)
{
    uint32_t count;
    if (begin(r, devices) != TNP_OK)
        fail_msg("%s: %s", devices, r->err.text);
    assert_ok(table->device_count(r->instance, &count, &r->err));
    for (uint32_t i = 0; i < count && i < 4; i++) {
        tnp_open what = { .size = sizeof what, .id = i };
        assert_ok(table->open(r->instance, &what, &r->devices[i], &r->err));
    }
    r->queue = make_queue(r, r->devices[0]);
    r->done = make_semaphore(r, r->devices[0], 0);
}

static void stop(rig *r)
{
    if (r->queue)
        table->queue_destroy(r->queue);
    table->semaphore_destroy(r->done);
    for (int i = 0; i < 4; i++)
        if (r->devices[i])
            table->close(r->devices[i]);
    table->stop(r->instance);
    if (strstr(log_text, "not given back"))
        fail_msg("%s", log_text);
}

static tnp_status copy_on(rig *r, tnp_queue *queue, const tnp_copy *copy, tnp_semaphore *wait,
                          uint64_t value, tnp_semaphore *signal, uint64_t to)
{
    tnp_point waits = { wait, value }, signals = { signal, to };
    tnp_sync sync = { .size = sizeof sync,
                      .wait_count = wait != NULL,
                      .signal_count = signal != NULL,
                      .waits = &waits,
                      .signals = &signals };
    return table->queue_copy(queue, &copy, 1, &sync, &r->err);
}

static tnp_status copy_and_wait(rig *r, const tnp_copy *copy)
{
    tnp_status status = copy_on(r, r->queue, copy, NULL, 0, r->done, r->signal + 1);
    if (status != TNP_OK)
        return status;
    return table->semaphore_wait(r->done, ++r->signal, UINT64_MAX, &r->err);
}

// ---------------------------------------------------------------------------------------- settings

static void settings_that_are_wrong_are_refused_in_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *devices, *text;
    } cases[] = {
        { "", "no JSON" },
        { "[{\"name\":\"a\"}", "no JSON" },
        { "[{\"name\":\"a\"}] x", "no JSON" },
        { "[{\"memory_bytes\":1,\"memory_bytes\":2}]", "no JSON" },   // a key given twice
        { "[{\"memory_bytes\":99999999999999999999}]", "no JSON" },
        { "[{\"gflops\":1e999}]", "no JSON" },
        { "[{\"name\":\"\xff\"}]", "no JSON" },
        { "{\"name\":\"a\"}", "must be a list" },
        { "7", "must be a list" },
        { "[7]", "device 0: must be an object" },
        { "[{},[]]", "device 1: must be an object" },
        { "[{\"name\":\"a\"},{\"name\":\"b\",\"memory\":1}]", "device 1 (b): 'memory' is no key" },
        { "[{\"name\":7}]", "device 0: name: must be 1 to 63 of a-z" },
        { "[{\"name\":\"A b\"}]", "device 0 (A b): name: must be" },
        { "[{\"name\":\"\"}]", "name: must be" },
        { "[{\"name\":\"a\"},{},{\"name\":\"a\"}]",
          "device 2 (a): name: a is the name of device 0" },
        { "[{\"kind\":\"tpu\"}]", "kind: must be one of cpu, gpu" },
        { "[{\"kind\":2}]", "kind: must be one of" },
        { "[{\"memory_bytes\":\"1 GB\"}]", "memory_bytes: must be a whole number from 1 to" },
        { "[{\"memory_bytes\":0}]", "memory_bytes: must be" },
        { "[{\"memory_bytes\":-5}]", "memory_bytes: must be" },
        { "[{\"memory_bytes\":1.5}]", "memory_bytes: must be" },
        { "[{\"memory_bytes\":1e300}]", "memory_bytes: must be" },
        { "[{\"memory_bytes\":9223372036854775807}]", "memory_bytes: must be" },
        { "[{\"max_alloc_bytes\":true}]", "max_alloc_bytes: must be" },
        { "[{\"alignment\":48}]", "alignment: must be a power of two" },
        { "[{\"alignment\":8}]", "alignment: must be a whole number from 32 to 1048576" },
        { "[{\"host_visible\":1}]", "host_visible: must be true or false" },
        { "[{\"host_visible\":null}]", "host_visible: must be true or false" },
        { "[{\"update_bytes\":255}]", "update_bytes: must be from 256" },
        { "[{\"except\":\"rope\"}]", "except: must be a list of ops" },
        { "[{\"except\":[\"rope\",\"roop\"]}]", "except: item 1, roop is no op of the contract" },
        { "[{\"only\":[7]}]", "only: item 0 is no op of the contract" },
        { "[{\"dtypes\":[\"f32\"]}]", "dtypes: item 0, f32 is no type of the contract" },
        { "[{\"max_elements\":0}]", "max_elements: must be" },
        { "[{\"gflops\":0}]", "gflops: must be a number above 0" },
        { "[{\"gbps\":-1}]", "gbps: must be a number above 0" },
        { "[{\"link_gbps\":\"16\"}]", "link_gbps: must be a number" },
        { "[{\"latency_us\":-0.1}]", "latency_us: must be a number of at least 0" },
        { "[{\"peer\":\"yes\"}]", "peer: must be true or false" },
        { "[{\"order\":\"random\"}]", "order: must be one of submitted, late, reverse" },
        { "[{\"trace\":1}]", "trace: must be true or false" },
        { "[{\"fuse\":1}]", "fuse: must be true or false" },
        { "[{\"name\":\"a\",\"fail\":7}]", "device 0 (a): fail: must be {" },
        { "[{\"fail\":{}}]", "fail: call is missing" },
        { "[{\"fail\":{\"call\":\"submit\"}}]", "fail.call: must be one of start, device_count" },
        { "[{\"fail\":{\"call\":\"open\",\"at\":0}}]", "fail.at: must be a whole number from 1" },
        { "[{\"fail\":{\"call\":\"open\",\"lost\":1}}]", "fail.lost: must be true or false" },
        { "[{\"fail\":{\"call\":\"open\",\"when\":1}}]", "fail.when: is no key" },
        { "[{\"fail\":{\"call\":\"unbind\"}}]", "fail: unbind has no answer" },
        { "[{\"fail\":{\"call\":\"open\",\"status\":\"OK\"}}]", "fail.status: must be one of" },
        { "[{\"fail\":[{\"call\":\"open\"},{\"call\":\"bind\",\"lost\":true,\"status\":\"IO\"}]}]",
          "fail: a device that is lost answers so" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r;
        if (begin(&r, cases[i].devices) != TNP_E_ARG || !strstr(r.err.text, cases[i].text) ||
            strncmp(r.err.text, "setting devices: ", 17) != 0)
            fail_msg("%s: %s", cases[i].devices, r.err.text);
        assert_null(r.instance);
        assert_string_equal(log_text, "");
    }
}

static void settings_of_any_depth_and_length_are_an_answer(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    char *text = malloc(DEEP + 1);
    assert_non_null(text);
    rig r;
    memset(text, '[', DEEP);
    text[DEEP] = 0;
    assert_int_equal(begin(&r, text), TNP_E_ARG);
    memset(text, 'x', DEEP);
    memcpy(text, "[{\"", 3);
    memcpy(text + DEEP - 6, "\":1}]", 6);
    assert_int_equal(begin(&r, text), TNP_E_ARG);
    assert_non_null(strstr(r.err.text, "xxx' is no key"));
    memset(text, 'x', DEEP);
    memcpy(text, "[{\"name\":\"", 10);
    memcpy(text + DEEP - 4, "\"}]", 4);
    assert_int_equal(begin(&r, text), TNP_E_ARG);
    assert_non_null(strstr(r.err.text, "name: must be"));
    free(text);
}

static void any_number_of_devices_is_described(void **state)
{
    (void)state;
    rig r;
    uint32_t count = 9;
    char text[8192] = "[{}";
    unsetenv("TEST_SETTING_devices");
    assert_ok(begin(&r, "[]"));
    assert_ok(table->device_count(r.instance, &count, &r.err));
    assert_int_equal(count, 0);
    assert_non_null(strstr(r.err.text, "plugin.sim.devices"));
    table->stop(r.instance);
    for (int i = 1; i < 1000; i++)
        strcat(text, ",{}");
    strcat(text, "]");
    assert_ok(begin(&r, text));
    assert_ok(table->device_count(r.instance, &count, &r.err));
    assert_int_equal(count, 1000);
    tnp_device_info info = { .size = sizeof info };
    assert_ok(table->device_info(r.instance, 999, &info, &r.err));
    assert_int_equal(info.kind, TNP_KIND_GPU);
    assert_int_equal(table->device_info(r.instance, 1000, &info, &r.err), TNP_E_ARG);
    table->stop(r.instance);
}

// ------------------------------------------------------------------------------------------ memory

static uint64_t free_bytes(rig *r)
{
    tnp_memory_info info = { .size = sizeof info };
    assert_ok(table->memory_info(r->devices[0], 0, &info, &r->err));
    return info.free_bytes;
}

static void memory_is_as_much_as_is_said_and_comes_back(void **state)
{
    (void)state;
    rig r;
    start(&r, "[{\"memory_bytes\":10000,\"max_alloc_bytes\":6000,\"alignment\":4096}]");
    tnp_alloc what = { .size = sizeof what, .bytes = 6001 };
    tnp_buffer *none = NULL;
    void *map = NULL;
    assert_int_equal(table->buffer_alloc(r.devices[0], &what, &none, &r.err), TNP_E_DEVICE_MEMORY);
    assert_non_null(strstr(r.err.text, "6001 bytes are needed in one buffer, at most 6000"));
    tnp_buffer *first = make_buffer(&r, r.devices[0], 5000);   // takes two multiples
    assert_int_equal(free_bytes(&r), 10000 - 8192);
    what.bytes = 1809;
    assert_int_equal(table->buffer_alloc(r.devices[0], &what, &none, &r.err), TNP_E_DEVICE_MEMORY);
    assert_non_null(strstr(r.err.text, "1809 bytes are needed, 1808 of 10000 are free"));
    tnp_buffer *second = make_buffer(&r, r.devices[0], 1808);
    assert_int_equal(free_bytes(&r), 0);
    assert_ok(table->buffer_map(second, &map, &r.err));
    assert_int_equal((uintptr_t)map % 4096, 0);
    table->buffer_free(first);
    table->buffer_free(second);
    assert_int_equal(free_bytes(&r), 10000);
    assert_null(none);
    stop(&r);
}

static void bytes_that_the_host_is_not_to_see_are_scrambled(void **state)
{
    (void)state;
    enum { BYTES = 1237 };   // nothing else is as large
    unsigned char sent[BYTES], got[BYTES];
    rig r;
    start(&r, "[{\"host_visible\":false}]");
    watched_bytes = BYTES;
    tnp_buffer *buffer = make_buffer(&r, r.devices[0], BYTES);
    const unsigned char *inside = last_allocated;
    watched_bytes = 0;
    void *map = NULL;
    assert_int_equal(table->buffer_map(buffer, &map, &r.err), TNP_E_UNSUPPORTED);
    for (int i = 0; i < BYTES; i++)
        sent[i] = (unsigned char)(i * 7);
    tnp_copy in = {
        .size = sizeof in, .to_buffer = buffer, .from_host = sent, .bytes = BYTES, .rows = 1
    };
    tnp_copy out = {
        .size = sizeof out, .from_buffer = buffer, .to_host = got, .bytes = BYTES, .rows = 1
    };
    assert_ok(copy_and_wait(&r, &in));
    int same = 0;
    for (int i = 0; i < BYTES; i++)
        same += inside[i] == sent[i];
    assert_in_range(same, 0, BYTES / 8);
    assert_ok(copy_and_wait(&r, &out));
    assert_memory_equal(sent, got, BYTES);
    // Within the buffer, from and to places that are not aligned, and rows of it.
    tnp_copy within = { .size = sizeof within,
                        .from_buffer = buffer,
                        .to_buffer = buffer,
                        .from_offset = 3,
                        .to_offset = 701,
                        .bytes = 130,
                        .rows = 2,
                        .from_pitch = 131,
                        .to_pitch = 200 };
    assert_ok(copy_and_wait(&r, &within));
    assert_ok(copy_and_wait(&r, &out));
    assert_memory_equal(got + 701, sent + 3, 130);
    assert_memory_equal(got + 901, sent + 134, 130);
    assert_memory_equal(got + 831, sent + 831, 70);
    tnp_copy zeros = {
        .size = sizeof zeros, .to_buffer = buffer, .to_offset = 100, .bytes = 9, .rows = 1
    };
    assert_ok(copy_and_wait(&r, &zeros));
    assert_ok(copy_and_wait(&r, &out));
    assert_memory_equal(got + 100, "\0\0\0\0\0\0\0\0", 9);
    assert_int_equal(got[109], sent[109]);
    table->buffer_free(buffer);
    stop(&r);
}

// -------------------------------------------------------------------------------------------- silu

enum { COUNT = 100 };

// y = silu(x) over one storage each.
typedef struct silu {
    tnp_value values[2];
    tnp_storage storages[2];
    tnp_node node;
    uint32_t input, output;
    const tnp_value *value_list[2];
    const tnp_storage *storage_list[2];
    const tnp_node *node_list[1];
    tnp_slice slice;
    double cost_ns;
    char refusal[128];
} silu;

static void describe(silu *s)
{
    *s = (silu){ .input = 0, .output = 1 };
    for (int i = 0; i < 2; i++) {
        s->values[i] = (tnp_value){ .size = sizeof(tnp_value),
                                    .dtype = TNP_DTYPE_F32,
                                    .rank = 1,
                                    .storage = (uint32_t)i,
                                    .name = i ? "y" : "x" };
        for (int d = 0; d < TNP_MAX_DIMS; d++) {
            s->values[i].dims[d] = d ? 1 : COUNT;
            s->values[i].strides[d] = d ? 4 * COUNT : 4;
        }
        s->storages[i] = (tnp_storage){ .size = sizeof(tnp_storage),
                                        .flags = i ? TNP_STORAGE_LEAVES : TNP_STORAGE_ENTERS,
                                        .bytes = 4 * COUNT };
        s->value_list[i] = &s->values[i];
        s->storage_list[i] = &s->storages[i];
    }
    s->node = (tnp_node){ .size = sizeof s->node,
                          .op = TNP_OP_SILU,
                          .input_count = 1,
                          .output_count = 1,
                          .inputs = &s->input,
                          .outputs = &s->output,
                          .name = "silu" };
    s->node_list[0] = &s->node;
    s->slice = (tnp_slice){ .size = sizeof s->slice,
                            .value_count = 2,
                            .node_count = 1,
                            .storage_count = 2,
                            .values = s->value_list,
                            .nodes = s->node_list,
                            .storages = s->storage_list };
}

static void take(void *context, const tnp_claim *claim)
{
    ((silu *)context)->cost_ns = claim->cost_ns;
}

static void refuse(void *context, uint32_t node, const char *reason)
{
    (void)node;
    snprintf(((silu *)context)->refusal, 128, "%s", reason);
}

static tnp_status ask(rig *r, tnp_device *device, silu *s)
{
    tnp_claim_sink sink = { .size = sizeof sink, .context = s, .take = take, .refuse = refuse };
    s->cost_ns = 0;
    s->refusal[0] = 0;
    return table->claim(device, &s->slice, &sink, &r->err);
}

static tnp_status compile(rig *r, const silu *s, tnp_program **out)
{
    static const uint32_t node = 0;
    tnp_claim unit = {
        .size = sizeof unit, .node_count = 1, .nodes = &node, .name = "silu", .cost_ns = 1
    };
    const tnp_claim *units[] = { &unit };
    tnp_compile what = { .size = sizeof what, .unit_count = 1, .slice = &s->slice, .units = units };
    return table->compile(r->devices[0], &what, out, &r->err);
}

static tnp_status bind(rig *r, tnp_program *program, tnp_buffer *buffer, uint64_t y_offset,
                       tnp_bound **out)
{
    tnp_binding bindings[2];
    const tnp_binding *list[] = { &bindings[0], &bindings[1] };
    for (uint32_t i = 0; i < 2; i++)
        bindings[i] = (tnp_binding){ .size = sizeof(tnp_binding),
                                     .kind = TNP_BIND_STORAGE,
                                     .index = i,
                                     .buffer = buffer,
                                     .offset = i ? y_offset : 0,
                                     .bytes = 4 * COUNT };
    tnp_bind what = {
        .size = sizeof what, .flags = TNP_BIND_TRACE, .binding_count = 2, .bindings = list
    };
    return table->bind(program, &what, out, &r->err);
}

static tnp_status submit(rig *r, tnp_queue *queue, tnp_bound *bound, tnp_semaphore *signal,
                         uint64_t to)
{
    tnp_point point = { signal, to };
    tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &point, .run = 5 };
    tnp_submit work = { .size = sizeof work, .sync = &sync, .bound = bound };
    const tnp_submit *works[] = { &work };
    return table->queue_submit(queue, works, 1, &r->err);
}

static void masks_refuse_with_a_reason(void **state)
{
    (void)state;
    static const struct {
        const char *devices, *reason;
    } cases[] = {
        { "[{}]", NULL },
        { "[{\"except\":[\"rope\",\"gelu\"]}]", NULL },
        { "[{\"except\":[\"rope\",\"silu\"]}]", "this device has no silu" },
        { "[{\"only\":[\"silu\"]}]", NULL },
        { "[{\"only\":[\"rope\"]}]", "this device has no silu" },
        { "[{\"only\":[\"silu\"],\"except\":[\"silu\"]}]", "this device has no silu" },
        { "[{\"dtypes\":[\"F16\",\"F32\"]}]", NULL },
        { "[{\"dtypes\":[\"F16\"]}]", "this device has no F32" },
        { "[{\"max_elements\":100}]", NULL },
        { "[{\"max_elements\":99}]", "a value of 100 elements, this device takes at most 99" },
    };
    silu s;
    describe(&s);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig r;
        tnp_program *program = NULL;
        start(&r, cases[i].devices);
        assert_ok(ask(&r, r.devices[0], &s));
        if (cases[i].reason ? strcmp(s.refusal, cases[i].reason) != 0 || s.cost_ns > 0
                            : s.refusal[0] || s.cost_ns <= 0)
            fail_msg("%s: '%s', cost %g", cases[i].devices, s.refusal, s.cost_ns);
        if (cases[i].reason)   // it was not claimed
            assert_int_equal(compile(&r, &s, &program), TNP_E_ARG);
        stop(&r);
    }
}

static void claims_cost_what_the_speed_says(void **state)
{
    (void)state;
    rig r;
    silu s;
    describe(&s);
    start(&r, "[{\"gflops\":0.5},{\"gbps\":0.25},{\"gflops\":0.5,\"gbps\":1000},{}]");
    static const double want[] = { 100 + 1100 / 0.5, 100 + 800 / 0.25, 100 + 1100 / 0.5,
                                   100 + 0.8 };
    for (int i = 0; i < 4; i++) {
        assert_ok(ask(&r, r.devices[i], &s));
        assert_true(s.cost_ns > want[i] - 1e-6 && s.cost_ns < want[i] + 1e-6);
    }
    stop(&r);
}

static void a_program_computes_in_scrambled_memory_and_takes_its_time(void **state)
{
    (void)state;
    rig r;
    silu s;
    float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i - 50) / 8;
    describe(&s);
    start(&r, "[{\"name\":\"a\",\"host_visible\":false,\"gflops\":0.5,\"link_gbps\":2,\"trace\":"
              "true}]");
    tnp_program *program = NULL;
    tnp_bound *bound = NULL;
    tnp_buffer *buffer = make_buffer(&r, r.devices[0], 1024);
    assert_ok(compile(&r, &s, &program));
    assert_int_equal(bind(&r, program, buffer, 500, &bound), TNP_E_ARG);   // not aligned
    assert_int_equal(bind(&r, program, buffer, 640, &bound), TNP_E_ARG);   // beyond the end
    assert_ok(bind(&r, program, buffer, 512, &bound));
    tnp_copy in = {
        .size = sizeof in, .to_buffer = buffer, .from_host = x, .bytes = sizeof x, .rows = 1
    };
    tnp_copy out = { .size = sizeof out,
                     .from_buffer = buffer,
                     .from_offset = 512,
                     .to_host = y,
                     .bytes = sizeof y,
                     .rows = 1 };
    assert_ok(copy_and_wait(&r, &in));   // 10 us and 400 bytes at 2 GB/s
    assert_ok(submit(&r, r.queue, bound, r.done, ++r.signal));
    assert_ok(copy_and_wait(&r, &out));
    assert_true(y[50] == 0 && y[99] > 6.1f && y[99] < 6.13f && y[0] < 0);
    assert_int_equal(span_count, 1);
    assert_int_equal(spans[0].run, 5);
    assert_int_equal(spans[0].end_ns - spans[0].begin_ns, 2300);
    assert_non_null(strstr(log_text, "device a: run 0: copy of 400 bytes: 0 to 10200 ns"));
    assert_non_null(strstr(log_text, "device a: run 5: program of 1 units: 10200 to 12500 ns"));
    assert_non_null(strstr(log_text, "device a: run 0: copy of 400 bytes: 12500 to 22700 ns"));
    table->unbind(bound);
    table->program_destroy(program);
    table->buffer_free(buffer);
    stop(&r);
}

// ---------------------------------------------------------------------------------------- fusions

enum { WIDE = 64, ROWS = 3, OUT = 8, MOST_CLAIMS = 8 };

// z = matmul(rms_norm(x), w): x {WIDE, ROWS}, w {WIDE, OUT}, z {OUT, ROWS}. The norm's result stays
// inside unless `leaves`.
typedef struct normed {
    tnp_value values[4];   // x, w, y, z; a storage each
    tnp_storage storages[4];
    tnp_node nodes[2];
    tnp_norm_attr norm;
    uint32_t indices[2][3];
    const tnp_value *value_list[4];
    const tnp_storage *storage_list[4];
    const tnp_node *node_list[2];
    tnp_slice slice;
    uint32_t claim_count;
    tnp_claim claims[MOST_CLAIMS];
    uint32_t claimed[MOST_CLAIMS][2];
    char names[MOST_CLAIMS][32];
} normed;

static void describe_normed(normed *n, bool leaves)
{
    static const int64_t dims[4][2] = {
        { WIDE, ROWS }, { WIDE, OUT }, { WIDE, ROWS }, { OUT, ROWS }
    };
    static const uint32_t flags[4] = { TNP_STORAGE_ENTERS, TNP_STORAGE_ENTERS, 0,
                                       TNP_STORAGE_LEAVES };
    *n = (normed){ .norm = { .size = sizeof n->norm, .eps = 1e-5f },
                   .indices = { { 0, 2 }, { 2, 1, 3 } } };
    for (uint32_t i = 0; i < 4; i++) {
        n->values[i] = (tnp_value){
            .size = sizeof(tnp_value), .dtype = TNP_DTYPE_F32, .rank = 2, .storage = i, .name = "v"
        };
        for (int d = 0; d < TNP_MAX_DIMS; d++) {
            n->values[i].dims[d] = d < 2 ? dims[i][d] : 1;
            n->values[i].strides[d] = d == 0   ? 4
                                      : d == 1 ? 4 * dims[i][0]
                                               : 4 * dims[i][0] * dims[i][1];
        }
        n->storages[i] = (tnp_storage){ .size = sizeof(tnp_storage),
                                        .flags = flags[i],
                                        .bytes = (uint64_t)(4 * dims[i][0] * dims[i][1]) };
        n->value_list[i] = &n->values[i];
        n->storage_list[i] = &n->storages[i];
    }
    n->storages[2].flags = leaves ? TNP_STORAGE_LEAVES : 0;
    for (uint32_t i = 0; i < 2; i++) {
        n->nodes[i] = (tnp_node){ .size = sizeof(tnp_node),
                                  .op = i ? TNP_OP_MATMUL : TNP_OP_RMS_NORM,
                                  .input_count = 1 + i,
                                  .output_count = 1,
                                  .inputs = n->indices[i],
                                  .outputs = &n->indices[i][1 + i],
                                  .attributes = i ? NULL : &n->norm,
                                  .name = i ? "product" : "norm" };
        n->node_list[i] = &n->nodes[i];
    }
    n->slice = (tnp_slice){ .size = sizeof n->slice,
                            .value_count = 4,
                            .node_count = 2,
                            .storage_count = 4,
                            .values = n->value_list,
                            .nodes = n->node_list,
                            .storages = n->storage_list };
}

static void keep_claim(void *context, const tnp_claim *claim)
{
    normed *n = context;
    assert_true(n->claim_count < MOST_CLAIMS && claim->node_count <= 2);
    uint32_t at = n->claim_count++;
    n->claims[at] = *claim;
    memcpy(n->claimed[at], claim->nodes, claim->node_count * sizeof *claim->nodes);
    snprintf(n->names[at], sizeof n->names[at], "%s", claim->name);
    n->claims[at].nodes = n->claimed[at];
    n->claims[at].name = n->names[at];
    n->claims[at].in_place_count = 0;
    n->claims[at].in_place = NULL;
}

static void fail_refusal(void *context, uint32_t node, const char *reason)
{
    (void)context;
    fail_msg("node %u: %s", node, reason);
}

static void ask_normed(rig *r, normed *n)
{
    tnp_claim_sink sink = {
        .size = sizeof sink, .context = n, .take = keep_claim, .refuse = fail_refusal
    };
    n->claim_count = 0;
    assert_ok(table->claim(r->devices[0], &n->slice, &sink, &r->err));
}

// Computes z by these claims; y where it leaves.
static void run_normed(rig *r, const normed *n, const tnp_claim *const *units, uint32_t unit_count,
                       float *y, float *z)
{
    enum { ROOM = 16384, AT_SCRATCH = 8192 };
    static const uint64_t at[4] = { 0, 1024, 4096, 5120 };
    float x[WIDE * ROWS], w[WIDE * OUT];
    tnp_buffer *buffer = make_buffer(r, r->devices[0], ROOM);
    tnp_program *program = NULL;
    tnp_bound *bound = NULL;
    tnp_binding bindings[6];
    const tnp_binding *list[6];
    uint32_t count = 0;
    bool is_bound = unit_count > 1 || (n->storages[2].flags & TNP_STORAGE_LEAVES);
    for (int i = 0; i < WIDE * ROWS; i++)
        x[i] = (float)(i % 13 - 6) / 4;
    for (int i = 0; i < WIDE * OUT; i++)
        w[i] = (float)(i % 7 - 3) / 8;
    for (uint32_t i = 0; i < 4; i++)
        if (i != 2 || is_bound)
            bindings[count++] = (tnp_binding){ .size = sizeof(tnp_binding),
                                               .kind = TNP_BIND_STORAGE,
                                               .index = i,
                                               .buffer = buffer,
                                               .offset = at[i],
                                               .bytes = n->storages[i].bytes };
    uint64_t scratch_at = AT_SCRATCH;
    for (uint32_t u = 0; u < unit_count; u++)
        if (units[u]->scratch_bytes) {
            bindings[count++] = (tnp_binding){ .size = sizeof(tnp_binding),
                                               .kind = TNP_BIND_SCRATCH,
                                               .index = u,
                                               .buffer = buffer,
                                               .offset = scratch_at,
                                               .bytes = units[u]->scratch_bytes };
            scratch_at += (units[u]->scratch_bytes + 63) / 64 * 64;
        }
    assert_true(scratch_at <= ROOM);
    for (uint32_t i = 0; i < count; i++)
        list[i] = &bindings[i];
    tnp_compile what = {
        .size = sizeof what, .unit_count = unit_count, .slice = &n->slice, .units = units
    };
    tnp_bind how = {
        .size = sizeof how, .flags = TNP_BIND_TRACE, .binding_count = count, .bindings = list
    };
    if (table->compile(r->devices[0], &what, &program, &r->err) != TNP_OK)
        fail_msg("%s", r->err.text);
    if (unit_count == 1) {   // too little scratch
        bindings[count - 1].bytes--;
        assert_int_equal(table->bind(program, &how, &bound, &r->err), TNP_E_ARG);
        bindings[count - 1].bytes++;
    }
    if (table->bind(program, &how, &bound, &r->err) != TNP_OK)
        fail_msg("%s", r->err.text);
    const struct {
        float *host;
        uint64_t at, bytes;
        bool is_out;
    } copies[] = { { x, at[0], sizeof x, false },
                   { w, at[1], sizeof w, false },
                   { y, at[2], WIDE * ROWS * sizeof *y, true },
                   { z, at[3], OUT * ROWS * sizeof *z, true } };
    for (int i = 0; i < 4; i++) {
        tnp_copy copy = { .size = sizeof copy,
                          .from_buffer = copies[i].is_out ? buffer : NULL,
                          .to_buffer = copies[i].is_out ? NULL : buffer,
                          .from_host = copies[i].is_out ? NULL : copies[i].host,
                          .to_host = copies[i].is_out ? copies[i].host : NULL,
                          .from_offset = copies[i].at,
                          .to_offset = copies[i].at,
                          .bytes = copies[i].bytes,
                          .rows = 1 };
        if (i == 2)
            assert_ok(submit(r, r->queue, bound, r->done, ++r->signal));
        assert_ok(copy_and_wait(r, &copy));
    }
    table->unbind(bound);
    table->program_destroy(program);
    table->buffer_free(buffer);
}

static const tnp_claim *find_claim(const normed *n, const char *name, uint32_t node_count)
{
    for (uint32_t i = 0; i < n->claim_count; i++)
        if (n->claims[i].node_count == node_count && strcmp(n->claims[i].name, name) == 0)
            return &n->claims[i];
    fail_msg("no claim '%s'", name);
    return NULL;
}

static void a_fusion_costs_one_launch_and_gives_the_same_bits(void **state)
{
    (void)state;
    static const char *const devices[] = {
        "[{\"fuse\":true,\"gbps\":1,\"gflops\":1000}]",
        "[{\"fuse\":true,\"gbps\":1,\"gflops\":1000,\"host_visible\":false}]"
    };
    for (int leaves = 0; leaves < 2; leaves++)
        for (int d = 0; d < 2; d++) {
            rig r;
            normed n;
            float y[2][WIDE * ROWS], z[2][OUT * ROWS];
            start(&r, devices[d]);
            describe_normed(&n, leaves);
            ask_normed(&r, &n);
            assert_int_equal(n.claim_count, 3);
            const tnp_claim *norm = find_claim(&n, "rms_norm", 1),
                            *product = find_claim(&n, "matmul", 1);
            const tnp_claim *both = find_claim(&n, "norm+matmul", 2);
            const double y_ns = 4.0 * WIDE * ROWS;   // not read from memory
            double saved = norm->cost_ns + product->cost_ns - both->cost_ns;
            assert_true(saved > 100 + y_ns - 1e-6 && saved < 100 + y_ns + 1e-6);
            run_normed(&r, &n, (const tnp_claim *[]){ norm, product }, 2, y[0], z[0]);
            assert_int_equal(span_count, 2);
            run_normed(&r, &n, &both, 1, y[1], z[1]);
            assert_int_equal(span_count, 3);   // one unit
            uint64_t ns = spans[2].end_ns - spans[2].begin_ns;
            assert_in_range(ns, (uint64_t)both->cost_ns - 1, (uint64_t)both->cost_ns + 1);
            assert_memory_equal(z[0], z[1], sizeof z[0]);
            assert_true(z[0][0] != 0);
            if (leaves)
                assert_memory_equal(y[0], y[1], sizeof y[0]);
            stop(&r);
        }
    // Without the setting there are none, and none is compiled.
    rig r;
    normed n;
    tnp_program *program = NULL;
    static const uint32_t nodes[] = { 0, 1 };
    start(&r, "[{}]");
    describe_normed(&n, false);
    ask_normed(&r, &n);
    assert_int_equal(n.claim_count, 2);
    tnp_claim unit = {
        .size = sizeof unit, .node_count = 2, .nodes = nodes, .name = "", .cost_ns = 1
    };
    const tnp_claim *units[] = { &unit };
    tnp_compile what = { .size = sizeof what, .unit_count = 1, .slice = &n.slice, .units = units };
    assert_int_equal(table->compile(r.devices[0], &what, &program, &r.err), TNP_E_ARG);
    stop(&r);
}

// ------------------------------------------------------------------------------------ clock, order

// Two devices, each with a copy of 1 us that waits for nothing, then one that waits for both.
static void what_could_run_at_the_same_time_does_on_the_virtual_clock(void **state)
{
    (void)state;
    static char bytes[1000];
    rig r;
    start(&r, "[{\"name\":\"a\",\"peer\":true,\"trace\":true,\"link_gbps\":1,\"latency_us\":0},"
              "{\"name\":\"b\",\"peer\":true,\"trace\":true,\"link_gbps\":0.5,\"latency_us\":1}]");
    tnp_queue *other = make_queue(&r, r.devices[1]), *copies = make_queue(&r, r.devices[0]);
    tnp_semaphore *b_done = make_semaphore(&r, r.devices[1], 0),
                  *copied = make_semaphore(&r, r.devices[0], 0);
    tnp_buffer *a = make_buffer(&r, r.devices[0], 1000), *b = make_buffer(&r, r.devices[1], 1000);
    tnp_copy to_a = {
        .size = sizeof to_a, .to_buffer = a, .from_host = bytes, .bytes = 1000, .rows = 1
    };
    tnp_copy to_b = {
        .size = sizeof to_b, .to_buffer = b, .from_host = bytes, .bytes = 1000, .rows = 1
    };
    tnp_copy across = {
        .size = sizeof across, .from_buffer = b, .to_buffer = a, .bytes = 1000, .rows = 1
    };
    tnp_link link = { .size = sizeof link };
    assert_ok(table->link(r.devices[0], r.devices[1], &link, &r.err));
    assert_int_equal(link.flags, TNP_LINK_COPY | TNP_LINK_WAIT);
    assert_int_equal(link.bytes_per_s, 500000000);
    assert_int_equal(link.latency_ns, 1000);
    assert_ok(copy_on(&r, r.queue, &to_a, NULL, 0, r.done, 1));      // 0 to 1000
    assert_ok(copy_on(&r, other, &to_b, NULL, 0, b_done, 1));        // 0 to 3000
    assert_ok(copy_on(&r, copies, &across, b_done, 1, copied, 1));   // 3000 to 6000
    assert_ok(copy_on(&r, r.queue, &to_a, NULL, 0, r.done, 2));      // its link is busy until then
    assert_ok(table->semaphore_wait(r.done, 2, UINT64_MAX, &r.err));
    assert_ok(table->semaphore_wait(copied, 1, UINT64_MAX, &r.err));
    assert_non_null(strstr(log_text, "device a: run 0: copy of 1000 bytes: 0 to 1000 ns"));
    assert_non_null(strstr(log_text, "device b: run 0: copy of 1000 bytes: 0 to 3000 ns"));
    assert_non_null(strstr(log_text, "device a: run 0: copy of 1000 bytes: 3000 to 6000 ns"));
    assert_non_null(strstr(log_text, "device a: run 0: copy of 1000 bytes: 6000 to 7000 ns"));
    table->queue_destroy(other);
    table->queue_destroy(copies);
    table->semaphore_destroy(b_done);
    table->semaphore_destroy(copied);
    table->buffer_free(a);
    table->buffer_free(b);
    stop(&r);
}

static void devices_that_are_no_peers_have_no_link(void **state)
{
    (void)state;
    rig r;
    start(&r, "[{\"peer\":true},{}]");
    tnp_link link = { .size = sizeof link, .flags = 7, .bytes_per_s = 7 };
    assert_ok(table->link(r.devices[0], r.devices[1], &link, &r.err));
    assert_int_equal(link.flags | link.bytes_per_s, 0);
    assert_ok(table->link(NULL, r.devices[1], &link, &r.err));
    assert_int_equal(link.bytes_per_s, 16000000000);
    tnp_semaphore *foreign = make_semaphore(&r, r.devices[1], 0);
    tnp_buffer *a = make_buffer(&r, r.devices[0], 64), *b = make_buffer(&r, r.devices[1], 64);
    tnp_copy across = {
        .size = sizeof across, .from_buffer = b, .to_buffer = a, .bytes = 64, .rows = 1
    };
    tnp_copy zeros = { .size = sizeof zeros, .to_buffer = a, .bytes = 64, .rows = 1 };
    assert_int_equal(copy_on(&r, r.queue, &across, NULL, 0, r.done, 1), TNP_E_ARG);
    assert_int_equal(copy_on(&r, r.queue, &zeros, foreign, 1, r.done, 1), TNP_E_ARG);
    assert_int_equal(copy_on(&r, r.queue, &zeros, NULL, 0, foreign, 1), TNP_E_ARG);
    table->semaphore_destroy(foreign);
    table->buffer_free(a);
    table->buffer_free(b);
    stop(&r);
}

static void late_work_is_done_when_somebody_waits(void **state)
{
    (void)state;
    rig r;
    start(&r, "[{\"order\":\"late\",\"trace\":true}]");
    tnp_queue *second = make_queue(&r, r.devices[0]), *third = make_queue(&r, r.devices[0]);
    tnp_semaphore *two = make_semaphore(&r, r.devices[0], 0),
                  *three = make_semaphore(&r, r.devices[0], 0);
    tnp_buffer *buffer = make_buffer(&r, r.devices[0], 64);
    tnp_copy zeros = { .size = sizeof zeros, .to_buffer = buffer, .bytes = 10, .rows = 1 };
    assert_ok(copy_on(&r, r.queue, &zeros, NULL, 0, r.done, 1));
    zeros.bytes = 20;
    assert_ok(copy_on(&r, second, &zeros, r.done, 1, two, 1));
    zeros.bytes = 30;
    assert_ok(copy_on(&r, third, &zeros, NULL, 0, three, 1));
    assert_string_equal(log_text, "");
    assert_ok(table->semaphore_wait(three, 1, UINT64_MAX, &r.err));
    assert_non_null(strstr(log_text, "copy of 30 bytes"));
    assert_null(strstr(log_text, "copy of 10 bytes"));
    assert_ok(table->semaphore_wait(two, 1, UINT64_MAX, &r.err));   // and what it waits for
    assert_non_null(strstr(log_text, "copy of 20 bytes"));
    assert_non_null(strstr(log_text, "copy of 10 bytes"));
    table->queue_destroy(second);
    table->queue_destroy(third);
    table->semaphore_destroy(two);
    table->semaphore_destroy(three);
    table->buffer_free(buffer);
    stop(&r);
}

static void in_reverse_the_latest_work_that_can_go_on_is_first(void **state)
{
    (void)state;
    rig r;
    start(&r, "[{\"order\":\"reverse\",\"trace\":true}]");
    tnp_queue *second = make_queue(&r, r.devices[0]);
    tnp_semaphore *two = make_semaphore(&r, r.devices[0], 0),
                  *gate = make_semaphore(&r, r.devices[0], TNP_SEMAPHORE_HOST);
    tnp_buffer *buffer = make_buffer(&r, r.devices[0], 64);
    tnp_copy zeros = { .size = sizeof zeros, .to_buffer = buffer, .bytes = 10, .rows = 1 };
    assert_ok(copy_on(&r, r.queue, &zeros, gate, 1, r.done, 1));
    zeros.bytes = 20;
    assert_ok(copy_on(&r, second, &zeros, gate, 1, two, 1));
    assert_ok(table->semaphore_signal(gate, 1, &r.err));
    assert_ok(table->semaphore_wait(two, 1, UINT64_MAX, &r.err));
    assert_ok(table->semaphore_wait(r.done, 1, UINT64_MAX, &r.err));
    const char *early = strstr(log_text, "copy of 20 bytes"),
               *late = strstr(log_text, "copy of 10 bytes");
    assert_true(early && late && early < late);
    table->queue_destroy(second);
    table->semaphore_destroy(two);
    table->semaphore_destroy(gate);
    table->buffer_free(buffer);
    stop(&r);
}

// ------------------------------------------------------------------------------------------ faults

static void ignore(tnp_notice *notice, tnp_status status, const char *text)
{
    (void)notice, (void)status, (void)text;
}

// What came of the call that is told to fail the second time.
typedef struct told {
    const char *call;
    int round;
    tnp_status second;
} told;

static tnp_status note(told *t, const char *call, tnp_status status)
{
    if (strcmp(call, t->call) != 0)
        return status;
    if (t->round == 1)
        assert_ok(status);
    else if (t->second == TNP_OK)
        t->second = status;
    return status;
}

// What a round of calls has made so far.
typedef struct made {
    tnp_device *again;
    tnp_semaphore *semaphore, *gate;
    tnp_queue *queue;
    tnp_buffer *buffer, *imported;
    tnp_program *program;
    tnp_bound *bound;
} made;

static void call_to_make(rig *r, told *t, made *m, silu *s)
{
    static _Alignas(64) char bytes[1024];
    tnp_device *device = r->devices[0];
    tnp_error *err = &r->err;
    tnp_device_info info = { .size = sizeof info };
    tnp_memory_info memory = { .size = sizeof memory };
    tnp_link link = { .size = sizeof link };
    tnp_open open = { .size = sizeof open };
    tnp_alloc alloc = { .size = sizeof alloc, .bytes = 1024 };
    tnp_import import = { .size = sizeof import,
                          .kind = TNP_IMPORT_HOST,
                          .handle = (uintptr_t)bytes,
                          .bytes = sizeof bytes };
    tnp_semaphore_options plain = { .size = sizeof plain },
                          by_host = { .size = sizeof by_host, .flags = TNP_SEMAPHORE_HOST };
    tnp_queue_options how = {
        .size = sizeof how, .kind = TNP_QUEUE_COMPUTE, .pending = 2, .points = 1, .copies = 1
    };
    void *map;
    note(t, "device_info", table->device_info(r->instance, 0, &info, err));
    note(t, "open", table->open(r->instance, &open, &m->again, err));
    note(t, "memory_info", table->memory_info(device, 0, &memory, err));
    note(t, "link", table->link(NULL, device, &link, err));
    note(t, "buffer_alloc", table->buffer_alloc(device, &alloc, &m->buffer, err));
    note(t, "buffer_import", table->buffer_import(device, &import, &m->imported, err));
    if (m->buffer)
        note(t, "buffer_map", table->buffer_map(m->buffer, &map, err));
    note(t, "semaphore_create", table->semaphore_create(device, &plain, &m->semaphore, err));
    note(t, "semaphore_create", table->semaphore_create(device, &by_host, &m->gate, err));
    note(t, "queue_create", table->queue_create(device, &how, &m->queue, err));
    note(t, "claim", ask(r, device, s));
    note(t, "compile", compile(r, s, &m->program));
    if (m->program && m->buffer)
        note(t, "bind", bind(r, m->program, m->buffer, 512, &m->bound));
}

static void call_to_run(rig *r, told *t, made *m)
{
    tnp_error *err = &r->err;
    tnp_notice notice = { .size = sizeof notice, .value = 1, .reached = ignore };
    tnp_copy zeros = { .size = sizeof zeros, .to_buffer = m->buffer, .bytes = 8, .rows = 1 };
    uint64_t value;
    if (m->gate) {
        note(t, "semaphore_signal", table->semaphore_signal(m->gate, 1, err));
        note(t, "semaphore_notify", table->semaphore_notify(m->gate, &notice, err));
        table->semaphore_destroy(m->gate);   // the notice comes now, if it has not
        m->gate = NULL;
    }
    if (!m->queue || !m->bound || !m->semaphore)
        return;
    if (note(t, "queue_submit", submit(r, m->queue, m->bound, m->semaphore, 1)) == TNP_OK) {
        tnp_status status = table->semaphore_wait(m->semaphore, 1, UINT64_MAX, err);
        note(t, "work", note(t, "semaphore_wait", status));
    }
    if (note(t, "queue_copy", copy_on(r, m->queue, &zeros, NULL, 0, m->semaphore, 2)) == TNP_OK)
        note(t, "semaphore_wait", table->semaphore_wait(m->semaphore, 2, UINT64_MAX, err));
    note(t, "semaphore_read", table->semaphore_read(m->semaphore, &value, err));
    note(t, "semaphore_fail", table->semaphore_fail(m->semaphore, TNP_E_IO, "enough", err));
}

static void give_back(const made *m)
{
    if (m->queue)
        table->queue_destroy(m->queue);
    table->semaphore_destroy(m->semaphore);
    table->semaphore_destroy(m->gate);
    if (m->bound)
        table->unbind(m->bound);
    if (m->program)
        table->program_destroy(m->program);
    table->buffer_free(m->buffer);
    table->buffer_free(m->imported);
    if (m->again)
        table->close(m->again);
}

// Makes every call, and again; answers the status of `call` the second time.
static tnp_status call_everything(rig *r, const char *call)
{
    told t = { .call = call };
    silu s;
    describe(&s);
    for (t.round = 1; t.round <= 2; t.round++) {
        made m = { .again = NULL };
        call_to_make(r, &t, &m, &s);
        call_to_run(r, &t, &m);
        give_back(&m);
    }
    return t.second;
}

static void every_call_fails_when_it_is_told_to_and_nothing_is_left(void **state)
{
    (void)state;
    static const struct {
        const char *call;
        int at;   // so that the rig's own calls go well
        tnp_status status;
    } cases[] = {
        { "device_info", 2, TNP_E_INTERNAL },
        { "open", 3, TNP_E_INTERNAL },
        { "memory_info", 2, TNP_E_INTERNAL },
        { "link", 2, TNP_E_INTERNAL },
        { "buffer_alloc", 2, TNP_E_DEVICE_MEMORY },
        { "buffer_import", 2, TNP_E_INTERNAL },
        { "buffer_map", 2, TNP_E_INTERNAL },
        { "semaphore_create", 4, TNP_E_INTERNAL },
        { "semaphore_read", 2, TNP_E_INTERNAL },
        { "semaphore_signal", 2, TNP_E_INTERNAL },
        { "semaphore_fail", 2, TNP_E_INTERNAL },
        { "semaphore_wait", 3, TNP_E_INTERNAL },
        { "semaphore_notify", 2, TNP_E_INTERNAL },
        { "queue_create", 3, TNP_E_INTERNAL },
        { "queue_copy", 2, TNP_E_INTERNAL },
        { "queue_submit", 2, TNP_E_INTERNAL },
        { "claim", 2, TNP_E_INTERNAL },
        { "compile", 2, TNP_E_INTERNAL },
        { "bind", 2, TNP_E_INTERNAL },
        { "work", 3, TNP_E_INTERNAL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int is_loss = 0; is_loss < 2; is_loss++) {
            char devices[160];
            rig r;
            tnp_status want = is_loss ? TNP_E_DEVICE_LOST : cases[i].status;
            snprintf(devices, sizeof devices,
                     "[{\"name\":\"a\",\"import\":true,\"fail\":{\"call\":\"%s\",\"at\":%d%s}}]",
                     cases[i].call, cases[i].at, is_loss ? ",\"lost\":true" : "");
            start(&r, devices);
            tnp_status got = call_everything(&r, cases[i].call);
            if (got != want || !strstr(log_text, "fails now"))
                fail_msg("%s: status %d: %s: %s", devices, got, r.err.text, log_text);
            tnp_alloc what = { .size = sizeof what, .bytes = 8 };
            tnp_open open = { .size = sizeof open };
            tnp_buffer *buffer = NULL;
            tnp_device *again = NULL;
            got = table->buffer_alloc(r.devices[0], &what, &buffer, &r.err);
            assert_int_equal(got, is_loss ? TNP_E_DEVICE_LOST : TNP_OK);
            table->buffer_free(buffer);
            if (is_loss) {
                assert_int_equal(table->open(r.instance, &open, &again, &r.err), TNP_E_DEVICE_LOST);
                assert_non_null(strstr(r.err.text, "device a is lost"));
                assert_int_equal(table->semaphore_wait(r.done, 99, UINT64_MAX, &r.err),
                                 TNP_E_DEVICE_LOST);
            }
            stop(&r);
        }
}

static void a_device_may_be_lost_while_something_is_given_back(void **state)
{
    (void)state;
    static const char *const calls[] = { "close",         "buffer_free", "semaphore_destroy",
                                         "queue_destroy", "unbind",      "program_destroy" };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char devices[120];
        rig r;
        tnp_alloc what = { .size = sizeof what, .bytes = 8 };
        tnp_buffer *buffer = NULL;
        snprintf(devices, sizeof devices, "[{\"fail\":{\"call\":\"%s\",\"lost\":true}}]", calls[i]);
        start(&r, devices);
        (void)call_everything(&r, "none");
        assert_non_null(strstr(log_text, "fails now, the device is lost"));
        assert_int_equal(table->buffer_alloc(r.devices[0], &what, &buffer, &r.err),
                         TNP_E_DEVICE_LOST);
        stop(&r);
    }
}

static void the_plugin_fails_when_one_of_its_devices_is_told_to(void **state)
{
    (void)state;
    rig r;
    uint32_t count;
    assert_int_equal(begin(&r, "[{},{\"fail\":{\"call\":\"start\",\"status\":\"IO\"}}]"), TNP_E_IO);
    assert_string_equal(r.err.text, "start: call 1 of device 1 fails, as it is told to");
    assert_ok(begin(&r, "[{},{\"fail\":{\"call\":\"device_count\",\"at\":2}}]"));
    assert_ok(table->device_count(r.instance, &count, &r.err));
    assert_int_equal(table->device_count(r.instance, &count, &r.err), TNP_E_INTERNAL);
    table->stop(r.instance);
}

// The first `count` allocations go well, no other does. Answers whether there were others.
static bool live_on(int64_t count)
{
    rig r;
    allocations_left = count;
    tnp_status status = begin(&r, "[{\"fail\":[{\"call\":\"link\",\"at\":99}]},{}]");
    tnp_open what = { .size = sizeof what };
    if (status == TNP_OK)
        status = table->open(r.instance, &what, &r.devices[0], &r.err);
    if (status == TNP_OK)
        (void)call_everything(&r, "none");
    else if (status != TNP_E_HOST_MEMORY)
        fail_msg("after %d allocations: %d %s", (int)count, status, r.err.text);
    bool had_others = allocations_left < 0;
    allocations_left = INT64_MAX;
    if (r.instance)
        stop(&r);
    return had_others;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    int64_t count = 0;
    while (live_on(count))
        count++;
    assert_in_range(count, 10, 1000);
}

static void a_list_of_faults_has_statuses_of_its_own(void **state)
{
    (void)state;
    rig r;
    start(&r, "[{\"fail\":[{\"call\":\"link\",\"at\":2,\"status\":\"IO\"},{\"call\":\"link\"},"
              "{\"call\":\"memory_info\",\"lost\":true}]},{}]");
    tnp_link link = { .size = sizeof link };
    tnp_memory_info info = { .size = sizeof info };
    assert_int_equal(table->link(NULL, r.devices[0], &link, &r.err), TNP_E_INTERNAL);
    assert_string_equal(r.err.text, "link: call 1 of device 0 fails, as it is told to");
    assert_int_equal(table->link(NULL, r.devices[0], &link, &r.err), TNP_E_IO);
    assert_ok(table->link(NULL, r.devices[0], &link, &r.err));
    assert_int_equal(table->memory_info(r.devices[0], 0, &info, &r.err), TNP_E_DEVICE_LOST);
    assert_ok(table->memory_info(r.devices[1], 0, &info, &r.err));   // it stays lost alone
    stop(&r);
}

int main(int argc, char **argv)
{
    table = argc == 2 ? load_plugin(argv[1]) : NULL;
    if (!table)
        return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_are_wrong_are_refused_in_one_line),
        cmocka_unit_test(settings_of_any_depth_and_length_are_an_answer),
        cmocka_unit_test(any_number_of_devices_is_described),
        cmocka_unit_test(memory_is_as_much_as_is_said_and_comes_back),
        cmocka_unit_test(bytes_that_the_host_is_not_to_see_are_scrambled),
        cmocka_unit_test(masks_refuse_with_a_reason),
        cmocka_unit_test(claims_cost_what_the_speed_says),
        cmocka_unit_test(a_program_computes_in_scrambled_memory_and_takes_its_time),
        cmocka_unit_test(a_fusion_costs_one_launch_and_gives_the_same_bits),
        cmocka_unit_test(what_could_run_at_the_same_time_does_on_the_virtual_clock),
        cmocka_unit_test(devices_that_are_no_peers_have_no_link),
        cmocka_unit_test(late_work_is_done_when_somebody_waits),
        cmocka_unit_test(in_reverse_the_latest_work_that_can_go_on_is_first),
        cmocka_unit_test(every_call_fails_when_it_is_told_to_and_nothing_is_left),
        cmocka_unit_test(a_device_may_be_lost_while_something_is_given_back),
        cmocka_unit_test(the_plugin_fails_when_one_of_its_devices_is_told_to),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_list_of_faults_has_statuses_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
