// tune.c: measures devices and links, and keeps what it finds (tenon/tune.h).
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/new_file.h"
#include "base/options.h"
#include "exec/tune.h"

enum { DIM = 4096, DIM_STEP = 256, MOST_DIM = 1 << 16, MANY_COLUMNS = 128 };

// What models have: plain ones, and blocks of each kind.
static const tn_dtype dtypes[] = { TN_DTYPE_F32, TN_DTYPE_F16, TN_DTYPE_Q8_0, TN_DTYPE_Q4_0,
                                   TN_DTYPE_Q4_K };

typedef struct tuning {
    tn_runtime *runtime;
    tn_device **devices;
    uint32_t count, flags, dim;
    tn_tune_sink sink;
    tni_spans spans;
    tni_bench *benches;
    tni_measured *measured;   // by device
    bool *has_failed;         // by device
    tn_error failure;         // of the first of these
} tuning;

static void keep_span(void *context, const char *plugin, const void *queue, const tnp_span *span)
{
    tni_spans *spans = context;
    uint64_t run = span->run & 1;
    (void)plugin, (void)queue;
    pthread_mutex_lock(&spans->lock);
    if (!spans->first_ns[run] || span->begin_ns < spans->first_ns[run])
        spans->first_ns[run] = span->begin_ns;
    if (span->end_ns > spans->last_ns[run])
        spans->last_ns[run] = span->end_ns;
    pthread_mutex_unlock(&spans->lock);
}

// ----------------------------------------------------------------------------------------- devices

// The factor is the geometric mean of all products: each counts the same, however long it takes.
static tn_status measure_products(tuning *t, uint32_t d, tn_error *err)
{
    static const uint32_t columns[] = { 1, MANY_COLUMNS };
    double sum = 0;
    uint32_t count = 0;
    tn_status status = TN_OK;
    for (size_t i = 0; i < TN_COUNT_OF(dtypes); i++)
        for (size_t c = 0; c < TN_COUNT_OF(columns) && status == TN_OK; c++) {
            tn_tuned_product told = {
                .size = sizeof told, .device = d, .dtype = dtypes[i], .columns = columns[c]
            };
            status = tni_bench_product(&t->benches[d], dtypes[i], t->dim, columns[c], &told.ns,
                                       &told.claimed_ns, err);
            if (status != TN_OK || told.ns <= 0)
                continue;
            double dim = t->dim;
            told.flops_per_s = 2 * dim * dim * columns[c] / told.ns * 1e9;
            told.bytes_per_s = (double)tn_dtype_bytes(dtypes[i], (int64_t)t->dim * t->dim) /
                               told.ns * 1e9;
            sum += log(told.ns / told.claimed_ns);
            count++;
            if (t->sink.product)
                t->sink.product(t->sink.context, &told);
        }
    double factor = count ? exp(sum / count) : 0;
    t->measured[d].claim_ppm = !count          ? 0
                               : factor < 1e-6 ? 1
                               : factor > 1e6  ? 1000000000000
                                               : (uint64_t)(factor * 1e6 + 0.5);
    return status;
}

static tn_status measure_device(tuning *t, uint32_t d, tn_error *err)
{
    tn_status status = tni_bench_submit(&t->benches[d], err);
    t->measured[d].is_there = true;
    t->measured[d].submit_ns = (uint64_t)t->benches[d].submit_ns;
    return status == TN_OK ? measure_products(t, d, err) : status;
}

// ------------------------------------------------------------------------------------------- links

static tn_device *device_of(const tuning *t, uint32_t place)
{
    return place == TN_TUNE_HOST ? NULL : t->devices[place];
}

// What the plugin says of a link.
static tnp_link ask(const tuning *t, uint32_t from, uint32_t to)
{
    tnp_link link;
    (void)tni_device_link(device_of(t, from), device_of(t, to), &link);   // else it is zero
    return link;
}

static tn_status measure_link(tuning *t, uint32_t from, uint32_t to, const tnp_link *told,
                              tni_link_figures *out, tn_error *err)
{
    tni_bench *a = from == TN_TUNE_HOST ? NULL : &t->benches[from];
    tni_bench *b = to == TN_TUNE_HOST ? NULL : &t->benches[to], *whose = a ? a : b;
    uint64_t bytes = a && b && b->bytes < a->bytes ? b->bytes : whose->bytes;
    *out = (tni_link_figures){ 0 };
    if (!bytes)
        return TN_OK;
    tn_status status = tni_bench_copy(whose, a ? a->buffer : NULL, b ? b->buffer : NULL, bytes, out,
                                      err);
    tn_tuned_link link = { .size = sizeof link,
                           .from = from,
                           .to = to,
                           .latency_ns = (double)out->latency_ns,
                           .bytes_per_s = (double)out->bytes_per_s,
                           .told_latency_ns = (double)told->latency_ns,
                           .told_bytes_per_s = (double)told->bytes_per_s };
    if (status == TN_OK && out->bytes_per_s && t->sink.link)
        t->sink.link(t->sink.context, &link);
    return status;
}

// The entry of a peer, that of before or a new one; NULL: there is no room for more.
static tni_peer_figures *peer_of(tni_measured *m, const char *key)
{
    for (uint32_t i = 0; i < m->peer_count; i++)
        if (strcmp(m->peers[i].key, key) == 0)
            return &m->peers[i];
    if (m->peer_count == TNI_MOST_PEERS)
        return NULL;
    tni_peer_figures *peer = &m->peers[m->peer_count++];
    memcpy(peer->key, key, sizeof peer->key);
    return peer;
}

static tn_status measure_links(tuning *t, uint32_t d, tn_error *err)
{
    tni_measured *m = &t->measured[d];
    tnp_link up = ask(t, d, TN_TUNE_HOST), down = ask(t, TN_TUNE_HOST, d);
    tn_status status = measure_link(t, d, TN_TUNE_HOST, &up, &m->up, err);
    if (status == TN_OK)
        status = measure_link(t, TN_TUNE_HOST, d, &down, &m->down, err);
    m->peer_count = t->devices[d]
                        ->measured.peer_count;   // those to devices that are not measured now
    memcpy(m->peers, t->devices[d]->measured.peers, sizeof m->peers);
    for (uint32_t other = 0; other < t->count && status == TN_OK; other++) {
        tn_device *a = t->devices[d], *b = t->devices[other];
        if (other == d || t->has_failed[other] || !tni_device_is_beside(a, b))
            continue;
        tnp_link link = ask(t, d, other);
        tni_peer_figures *peer = link.flags & TNP_LINK_COPY ? peer_of(m, b->key) : NULL;
        if (peer)
            status = measure_link(t, d, other, &link, &peer->link, err);
    }
    return status;
}

// -------------------------------------------------------------------------------------------- all

// Whether there is anything to keep. What the caches of a CPU give says nothing of its memory.
static bool is_worth_keeping(const tuning *t, uint32_t d)
{
    const tni_measured *m = &t->measured[d];
    if (tni_is_cpu(t->devices[d]) && t->dim < DIM)
        return false;
    return m->claim_ppm || m->submit_ns || m->up.bytes_per_s || m->down.bytes_per_s;
}

static tn_status tell_device(tuning *t, uint32_t d, tn_error *err)
{
    char path[TNI_PATH_BYTES] = "";
    tn_status status = TN_OK;
    if (!(t->flags & TN_TUNE_KEEP_NOTHING) && is_worth_keeping(t, d))
        status = tni_measured_keep(t->devices[d], &t->measured[d], path, sizeof path, err);
    tn_tuned_device told = { .size = sizeof told,
                             .device = d,
                             .name = t->devices[d]->name,
                             .claim_factor = tni_measured_claim_factor(&t->measured[d]),
                             .submit_ns = (double)t->measured[d].submit_ns,
                             .kept_at = path };
    if (status == TN_OK && t->sink.device)
        t->sink.device(t->sink.context, &told);
    return status;
}

static tn_status open_device(tuning *t, uint32_t d, tn_error *err)
{
    return tni_bench_open(&t->benches[d], t->runtime, t->devices[d], &t->spans, err);
}

// One that fails is left out from then on: what the others give is worth keeping without it.
static tn_status for_each_device(tuning *t, tn_status (*call)(tuning *t, uint32_t d, tn_error *err),
                                 tn_error *err)
{
    for (uint32_t d = 0; d < t->count; d++) {
        tn_error why;
        tn_status status = t->has_failed[d] ? TN_OK : call(t, d, &why);
        if (status == TN_E_HOST_MEMORY)
            return tn_error_set(err, status, why.text);
        if (status == TN_OK)
            continue;
        t->has_failed[d] = true;
        if (t->failure.status == TN_OK)
            t->failure = why;
        else   // the caller is given the first
            tni_log_line(tni_runtime_log(t->runtime), TN_LOG_WARNING, "tune: %s", why.text);
    }
    return TN_OK;
}

// All devices are measured before the first figure is kept.
static tn_status measure(tuning *t, tn_error *err)
{
    tn_status status = for_each_device(t, open_device, err);
    if (status == TN_OK)
        status = for_each_device(t, measure_device, err);
    if (status == TN_OK)
        status = for_each_device(t, measure_links, err);
    for (uint32_t d = 0; d < t->count && status == TN_OK; d++)
        if (!t->has_failed[d])
            status = tell_device(t, d, err);
    return status == TN_OK && t->failure.status != TN_OK
               ? tn_error_set(err, t->failure.status, t->failure.text)
               : status;
}

static tn_status find_devices(tuning *t, const tn_tune_options *options, tn_error *err)
{
    const tn_allocator *allocator = tni_runtime_allocator(t->runtime);
    uint32_t all = tn_runtime_device_count(t->runtime);
    uint32_t most = options->device_count ? options->device_count : all;
    t->devices = tni_alloc_zeroed(allocator, most, sizeof(tn_device *));
    t->benches = tni_alloc_zeroed(allocator, most, sizeof *t->benches);
    t->measured = tni_alloc_zeroed(allocator, most, sizeof *t->measured);
    t->has_failed = tni_alloc_zeroed(allocator, most, sizeof *t->has_failed);
    if (!t->devices || !t->benches || !t->measured || !t->has_failed)
        return tni_fail_memory(err, "the figures of devices", most * sizeof *t->measured);
    for (uint32_t i = 0; i < options->device_count; i++) {
        tn_device *device = options->devices ? options->devices[i] : NULL;
        if (!device || device->runtime != t->runtime)
            return tni_fail(err, TN_E_ARG, "tn_tune: device %u is none of the runtime's", i);
        for (uint32_t k = 0; k < i; k++)
            if (t->devices[k] == device)
                return tni_fail(err, TN_E_ARG, "tn_tune: %s is given twice", device->name);
        t->devices[t->count++] = device;
    }
    for (uint32_t i = 0; i < all && !options->device_count; i++) {
        tn_device *device = tn_runtime_device(t->runtime, i);
        if (tn_device_is_default(device))
            t->devices[t->count++] = device;
    }
    return TN_OK;
}

tn_status tn_tune(tn_runtime *runtime, const tn_tune_options *options, const tn_tune_sink *sink,
                  tn_error *err)
{
    tn_tune_options own;
    tn_status status = tni_need(err, __func__, "runtime", runtime, NULL);
    if (status == TN_OK)
        status = tni_take_options(&own, sizeof own, TNI_UP_TO(tn_tune_options, dim), options,
                                  __func__, err);
    if (status != TN_OK)
        return status;
    tuning t = { .runtime = runtime,
                 .flags = own.flags,
                 .dim = own.dim ? own.dim : DIM,
                 .sink = sink ? *sink : (tn_tune_sink){ 0 } };
    if (own.flags & ~(uint32_t)TN_TUNE_KEEP_NOTHING)
        return tni_fail(err, TN_E_ARG, "%s: flags 0x%" PRIx32 " are not known", __func__,
                        own.flags);
    if (t.dim % DIM_STEP || t.dim > MOST_DIM)
        return tni_fail(err, TN_E_ARG, "%s: dim is %u, a multiple of %d up to %d is expected",
                        __func__, t.dim, DIM_STEP, MOST_DIM);
    uint32_t sessions = tni_runtime_sessions(runtime, 0);
    if (sessions)   // they would run meanwhile, and their spans count
        return tni_fail(err, TN_E_BUSY,
                        "%s: the runtime has %u session%s: destroy %s, then measure", __func__,
                        sessions, sessions == 1 ? "" : "s", sessions == 1 ? "it" : "them");
    if (pthread_mutex_init(&t.spans.lock, NULL) != 0)
        return tni_fail(err, TN_E_HOST_MEMORY, "%s: no lock can be made", __func__);
    status = find_devices(&t, &own, err);
    tni_runtime_set_trace(runtime, &(tni_trace){ &t.spans, keep_span });
    if (status == TN_OK)
        status = measure(&t, err);
    for (uint32_t d = 0; d < t.count; d++)
        tni_bench_close(&t.benches[d]);
    tni_runtime_set_trace(runtime, NULL);
    pthread_mutex_destroy(&t.spans.lock);
    const tn_allocator *allocator = tni_runtime_allocator(runtime);
    tni_free(allocator, t.devices);
    tni_free(allocator, t.benches);
    tni_free(allocator, t.measured);
    tni_free(allocator, t.has_failed);
    return status;
}
