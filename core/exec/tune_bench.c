// tune_bench.c: measuring one device.
//
// Time is the device's own where it reports spans, so that what the host is busy with does not
// count: a program's span is what it took, and what lies between the spans of two programs of one
// queue, with a copy between them, is the copy:
//
//   queue   ──[ program ]────── copy ──────[ program ]──►
//                       └──── measured ────┘
//
// Without spans it is the host's time, from the submit until the wait returns, less that of a
// submit of next to nothing.
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "exec/tune.h"

enum {
    FLOATS = 16,              // of the program that does next to nothing
    SMALL_BYTES = 256,        // of the copy that tells the latency
    MOST_BYTES = 16 << 20,    // of the one that tells the bandwidth
    LEAST_BYTES = 64 << 10,   // less tells nothing
    RUNS = 5,                 // of what is quick; the best counts
    PRODUCT_RUNS = 3,
};

// ------------------------------------------------------------------------------------------ spans

static void clear(tni_spans *spans)
{
    pthread_mutex_lock(&spans->lock);
    memset(spans->first_ns, 0, sizeof spans->first_ns);
    memset(spans->last_ns, 0, sizeof spans->last_ns);
    pthread_mutex_unlock(&spans->lock);
}

// Whether each of the parities asked for has spans. *first, *last: of them.
static bool has_spans(tni_spans *spans, uint64_t first_ns[2], uint64_t last_ns[2], bool both)
{
    pthread_mutex_lock(&spans->lock);
    memcpy(first_ns, spans->first_ns, sizeof spans->first_ns);
    memcpy(last_ns, spans->last_ns, sizeof spans->last_ns);
    pthread_mutex_unlock(&spans->lock);
    return both ? first_ns[0] && first_ns[1] : first_ns[0] || first_ns[1];
}

// -------------------------------------------------------------------------------------- the device

// A state and its negative: nothing has to be fed.
static tn_status make_program(tni_bench *b, tn_error *err)
{
    tn_status status = tn_graph_create(tni_runtime_allocator(b->runtime), &b->graph, err);
    if (status != TN_OK)
        return status;
    tn_value state = tn_graph_state(b->graph, "state", TN_DTYPE_F32, 1, (int64_t[]){ FLOATS });
    tn_graph_output(b->graph, "out", tn_graph_op(b->graph, TNP_OP_NEG, "neg", &state, 1, NULL));
    status = tn_graph_finish(b->graph, err);
    tn_session_options options = { .size = sizeof options,
                                   .device_count = 1,
                                   .devices = &b->device,
                                   .flags = TN_SESSION_NO_FAILOVER };
    if (status == TN_OK)
        status = tn_session_create(b->runtime, (const tn_graph *[]){ b->graph }, 1, &options,
                                   &b->session, err);
    return status == TN_E_UNSUPPORTED ? TN_OK : status;   // it is measured by the host's clock
}

static tn_status check(const tni_bench *b, const char *call, tnp_status answer,
                       const tnp_error *said, tn_error *err)
{
    return answer == TNP_OK ? TN_OK : tni_device_fail(b->device, call, answer, said, err);
}

static tn_status make_objects(tni_bench *b, tn_error *err)
{
    const tnp_plugin *table = b->device->table;
    tnp_error said = tni_plugin_error();
    tnp_queue_options how = {
        .size = sizeof how, .kind = TNP_QUEUE_COMPUTE, .pending = 4, .points = 1, .copies = 1
    };
    tnp_semaphore_options plain = { .size = sizeof plain };
    tnp_memory_info memory;
    tn_status status = tni_device_memory(b->device, 0, &memory, err);
    if (status == TN_OK)
        status = check(b, "queue_create",
                       table->queue_create(b->device->opened, &how, &b->queue, &said), &said, err);
    if (status == TN_OK)
        status = check(b, "semaphore_create",
                       table->semaphore_create(b->device->opened, &plain, &b->semaphore, &said),
                       &said, err);
    if (status != TN_OK)
        return status;
    b->bytes = MOST_BYTES;
    if (memory.max_buffer_bytes && memory.max_buffer_bytes < b->bytes)
        b->bytes = memory.max_buffer_bytes;
    if (tni_memory_free(&memory) / 4 < b->bytes)
        b->bytes = tni_memory_free(&memory) / 4;
    b->bytes -= b->bytes % memory.alignment_bytes;
    tnp_alloc what = { .size = sizeof what, .bytes = b->bytes };
    if (b->bytes < LEAST_BYTES) {   // links keep what the plugin says
        b->bytes = 0;
        return TN_OK;
    }
    b->host = tni_alloc_zeroed(tni_runtime_allocator(b->runtime), b->bytes, 1);
    if (!b->host)
        return tni_fail_memory(err, "the bytes of a copy", b->bytes);
    return check(b, "buffer_alloc",
                 table->buffer_alloc(b->device->opened, &what, &b->buffer, &said), &said, err);
}

tn_status tni_bench_open(tni_bench *b, tn_runtime *runtime, tn_device *device, tni_spans *spans,
                         tn_error *err)
{
    *b = (tni_bench){ .runtime = runtime, .device = device, .spans = spans };
    tn_status status = tni_device_open(device, err);
    if (status == TN_OK)
        status = make_program(b, err);
    if (status == TN_OK)
        status = make_objects(b, err);
    return status;
}

void tni_bench_close(tni_bench *b)
{
    if (b->queue)
        b->device->table->queue_destroy(b->queue);
    if (b->semaphore)
        b->device->table->semaphore_destroy(b->semaphore);
    if (b->buffer)
        b->device->table->buffer_free(b->buffer);
    tn_session_destroy(b->session);
    tn_graph_destroy(b->graph);
    if (b->host)
        tni_free(tni_runtime_allocator(b->runtime), b->host);
    *b = (tni_bench){ 0 };
}

// -------------------------------------------------------------------------------------------- work

// The program that does next to nothing; NULL: there is none.
static tnp_bound *bound_of(const tni_bench *b)
{
    return b->session ? b->session->graphs[0]->programs[0].bound : NULL;
}

static tn_status submit(tni_bench *b, uint64_t run, tn_error *err)
{
    tnp_error said = tni_plugin_error();
    tnp_point point = { b->semaphore, b->signal + 1 };
    tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &point, .run = run };
    tnp_submit work = { .size = sizeof work, .sync = &sync, .bound = bound_of(b) };
    const tnp_submit *works[] = { &work };
    tn_status status = check(b, "queue_submit",
                             b->device->table->queue_submit(b->queue, works, 1, &said), &said, err);
    b->signal += status == TN_OK;
    return status;
}

static tn_status copy(tni_bench *b, tnp_buffer *from, tnp_buffer *to, uint64_t bytes, tn_error *err)
{
    tnp_error said = tni_plugin_error();
    tnp_point point = { b->semaphore, b->signal + 1 };
    tnp_sync sync = { .size = sizeof sync, .signal_count = 1, .signals = &point };
    tnp_copy what = { .size = sizeof what,
                      .from_buffer = from,
                      .to_buffer = to,
                      .from_host = from ? NULL : b->host,
                      .to_host = to ? NULL : b->host,
                      .bytes = bytes,
                      .rows = 1 };
    const tnp_copy *copies[] = { &what };
    tn_status status = check(
        b, "copy", b->device->table->queue_copy(b->queue, copies, 1, &sync, &said), &said, err);
    b->signal += status == TN_OK;
    return status;
}

static tn_status wait(tni_bench *b, tn_error *err)
{
    tnp_error said = tni_plugin_error();
    uint64_t most_ns = tni_runtime_hang_timeout_ns(b->runtime), begin = tni_now_ns();
    tnp_status answer = b->device->table->semaphore_wait(b->semaphore, b->signal, most_ns, &said);
    if (answer != TNP_E_TIMEOUT || tni_now_ns() - begin < most_ns / 2)
        return check(b, "run", answer, &said, err);
    tni_device_abandon(b->device);
    return tni_fail(err, TN_E_DEVICE_LOST,
                    "%s: run: nothing came of it for %" PRIu64 " ms: it is given up, as lost",
                    b->device->name, most_ns / 1000000);
}

tn_status tni_bench_submit(tni_bench *b, tn_error *err)
{
    tn_status status = TN_OK;
    double best = 0;
    for (int i = 0; i < 4 * RUNS && status == TN_OK; i++) {
        uint64_t first_ns[2], last_ns[2], begin_ns = tni_now_ns();
        clear(b->spans);
        status = submit(b, 0, err);
        if (status == TN_OK)
            status = wait(b, err);
        double ns = (double)(tni_now_ns() - begin_ns);
        // Without a program, or spans, a submit is all there is to see.
        if (bound_of(b) && has_spans(b->spans, first_ns, last_ns, false) &&
            (double)(last_ns[0] - first_ns[0]) < ns)
            ns -= (double)(last_ns[0] - first_ns[0]);
        best = i && best < ns ? best : ns;
    }
    b->submit_ns = best;
    return status;
}

// One copy between two programs.
static tn_status time_copy(tni_bench *b, tnp_buffer *from, tnp_buffer *to, uint64_t bytes,
                           double *out_ns, tn_error *err)
{
    tn_status status = TN_OK;
    double best = 0;
    for (int i = 0; i < RUNS && status == TN_OK; i++) {
        uint64_t first_ns[2], last_ns[2];
        clear(b->spans);
        if (bound_of(b))
            status = submit(b, 0, err);
        if (status == TN_OK)
            status = wait(b, err);
        uint64_t begin_ns = tni_now_ns();
        if (status == TN_OK)
            status = copy(b, from, to, bytes, err);
        if (status == TN_OK && bound_of(b))
            status = submit(b, 1, err);
        if (status == TN_OK)
            status = wait(b, err);
        double ns = (double)(tni_now_ns() - begin_ns);
        if (status == TN_OK && has_spans(b->spans, first_ns, last_ns, true) &&
            first_ns[1] > last_ns[0])
            ns = (double)(first_ns[1] - last_ns[0]);
        best = i && best < ns ? best : ns;
    }
    *out_ns = best;
    return status;
}

tn_status tni_bench_copy(tni_bench *b, tnp_buffer *from, tnp_buffer *to, uint64_t bytes,
                         tni_link_figures *out, tn_error *err)
{
    double small = 0, large = 0;
    *out = (tni_link_figures){ 0 };
    tn_status status = time_copy(b, from, to, SMALL_BYTES, &small, err);
    if (status == TN_OK)
        status = time_copy(b, from, to, bytes, &large, err);
    if (status != TN_OK || large <= small)
        return status;
    double bytes_per_ns = (double)(bytes - SMALL_BYTES) / (large - small);
    double latency = small - SMALL_BYTES / bytes_per_ns;
    out->latency_ns = latency > 0 ? (uint64_t)(latency + 0.5) : 0;
    out->bytes_per_s = (uint64_t)(bytes_per_ns * 1e9 + 0.5);
    return TN_OK;
}

// ---------------------------------------------------------------------------------------- products

typedef struct product {
    tn_graph *graph;
    tn_session *session;
    void *weight;   // bytes that are small numbers in every type
    float *x;
    uint64_t weight_bytes, x_bytes;
} product;

// The graph, with bytes for its weight that nothing was written to yet.
static tn_status make_graph(tni_bench *b, product *p, tn_dtype dtype, uint32_t dim,
                            uint32_t columns, tn_error *err)
{
    const tn_allocator *allocator = tni_runtime_allocator(b->runtime);
    p->weight_bytes = tn_dtype_bytes(dtype, (int64_t)dim * dim);
    p->x_bytes = (uint64_t)dim * columns * sizeof(float);
    p->weight = tni_alloc(allocator, p->weight_bytes);
    p->x = tni_alloc(allocator, p->x_bytes);
    if (!p->weight || !p->x)
        return tni_fail_memory(err, "a product", p->weight_bytes + p->x_bytes);
    tn_status status = tn_graph_create(allocator, &p->graph, err);
    if (status != TN_OK)
        return status;
    tn_value x = tn_graph_input(p->graph, "x", TN_DTYPE_F32, 2, (int64_t[]){ dim, columns });
    tn_value w = tn_graph_weight(p->graph, "w", dtype, 2, (int64_t[]){ dim, dim }, p->weight,
                                 p->weight_bytes);
    tn_graph_output(p->graph, "out", tn_graph_matmul(p->graph, x, w));
    return tn_graph_finish(p->graph, err);
}

// A CPU may use the weight where it is, so it does not count as what the device needs.
static bool has_room_for_data(const tni_bench *b, const product *p)
{
    tnp_memory_info memory;
    return !tni_is_cpu(b->device) || tni_device_memory(b->device, 0, &memory, NULL) != TN_OK ||
           p->weight_bytes + p->x_bytes < tni_memory_free(&memory);
}

static void fill(product *p)
{
    memset(p->weight, 0x11, p->weight_bytes);
    for (uint64_t i = 0; i < p->x_bytes / sizeof(float); i++)
        p->x[i] = 1;
}

// Data is made only for what fits: a large product takes long to fill.
static tn_status make_product(tni_bench *b, product *p, tn_dtype dtype, uint32_t dim,
                              uint32_t columns, tn_error *err)
{
    tn_status status = make_graph(b, p, dtype, dim, columns, err);
    if (status != TN_OK)
        return status;
    const tn_graph *graphs[] = { p->graph };
    tn_session_options options = { .size = sizeof options,
                                   .device_count = 1,
                                   .devices = &b->device,
                                   .flags = TN_SESSION_NO_FAILOVER };
    if (!has_room_for_data(b, p))
        return TN_E_DEVICE_MEMORY;
    status = tn_session_fits(b->runtime, graphs, 1, &options, err);
    if (status != TN_OK)
        return status;
    fill(p);
    status = tn_session_create(b->runtime, graphs, 1, &options, &p->session, err);
    // It was to fit: where a CPU has no room all the same, the host has none.
    if (status == TN_E_DEVICE_MEMORY && tni_is_cpu(b->device))
        status = tn_error_set(err, TN_E_HOST_MEMORY, err ? err->text : "");
    return status;
}

static tn_status run_product(tni_bench *b, const product *p, double *out_ns, tn_error *err)
{
    tn_feed feed = { tn_graph_find(p->graph, "x"), p->x, p->x_bytes };
    tn_status status = TN_OK;
    for (int i = 0; i < PRODUCT_RUNS && status == TN_OK; i++) {
        uint64_t first_ns[2], last_ns[2];
        clear(b->spans);
        uint64_t begin_ns = tni_now_ns();
        status = tn_session_run(p->session, 0, &feed, i == 0, err);   // fed once, it stays
        double ns = (double)(tni_now_ns() - begin_ns);
        if (has_spans(b->spans, first_ns, last_ns, false)) {
            int run = first_ns[0] ? 0 : 1;
            ns = (double)(last_ns[run] - first_ns[run]);
        } else if (ns > 2 * b->submit_ns) {
            ns -= b->submit_ns;
        }
        *out_ns = i && *out_ns < ns ? *out_ns : ns;
    }
    return status;
}

tn_status tni_bench_product(tni_bench *b, tn_dtype dtype, uint32_t dim, uint32_t columns,
                            double *out_ns, double *out_claimed_ns, tn_error *err)
{
    product p = { 0 };
    *out_ns = *out_claimed_ns = 0;
    tn_status status = make_product(b, &p, dtype, dim, columns, err);
    if (status == TN_OK) {
        const tni_schedule *schedule = &p.session->graphs[0]->schedule;
        for (uint32_t u = 0; u < schedule->unit_count; u++)
            *out_claimed_ns += schedule->units[u]->claimed_ns;
        status = run_product(b, &p, out_ns, err);
    } else if (status == TN_E_UNSUPPORTED || status == TN_E_DEVICE_MEMORY) {
        status = TN_OK;
    }
    tn_session_destroy(p.session);
    tn_graph_destroy(p.graph);
    tni_free(tni_runtime_allocator(b->runtime), p.weight);
    tni_free(tni_runtime_allocator(b->runtime), p.x);
    return status;
}
