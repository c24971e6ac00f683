// From the second decoded token on nothing in the process allocates: malloc and its kin and mmap
// are defined here, count what is called from anywhere, and pass it on.
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <tenon/lm.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#endif

#ifdef IS_SANITIZED

int main(void)
{
    puts("skipped: sanitizer");
    return 0;
}

#else

// ---------------------------------------------------------------------------------------- counting

enum { MALLOC, CALLOC, REALLOC, FREE, POSIX_MEMALIGN, ALIGNED_ALLOC, MMAP, MUNMAP, CALLS };
static const char *const call_names[CALLS] = { "malloc", "calloc",         "realloc",
                                               "free",   "posix_memalign", "aligned_alloc",
                                               "mmap",   "munmap" };

static atomic_bool is_counting;
static atomic_ulong counts[CALLS];

static void count(int call)
{
    if (atomic_load_explicit(&is_counting, memory_order_relaxed))
        atomic_fetch_add(&counts[call], 1);
}

// What dlsym itself takes before it has found the real calls. Never given back.
static _Alignas(16) char early[1 << 16];
static atomic_size_t early_used;

static void *take_early(size_t bytes)
{
    size_t at = atomic_fetch_add(&early_used, (bytes + 15) & ~(size_t)15);
    return at + bytes <= sizeof early ? early + at : NULL;
}

static bool is_early(const void *pointer)
{
    return (uintptr_t)pointer - (uintptr_t)early < sizeof early;
}

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
} real;
static _Thread_local bool is_finding;

static void find(int call, void *to)
{
    is_finding = true;
    void *symbol = dlsym(RTLD_NEXT, call_names[call]);
    is_finding = false;
    memcpy(to, &symbol, sizeof symbol);
}

// What they replace is declared in headers with other attributes.
#define EXPORT __attribute__((visibility("default")))
EXPORT void *malloc(size_t bytes)
{
    if (is_finding)
        return take_early(bytes);
    if (!real.malloc)
        find(MALLOC, &real.malloc);
    count(MALLOC);
    return real.malloc(bytes);
}

EXPORT void *calloc(size_t number, size_t bytes)
{
    if (is_finding)
        return take_early(number * bytes);
    if (!real.calloc)
        find(CALLOC, &real.calloc);
    count(CALLOC);
    return real.calloc(number, bytes);
}

EXPORT void *realloc(void *pointer, size_t bytes)
{
    if (is_finding || is_early(pointer)) {
        char *moved = is_finding ? take_early(bytes) : malloc(bytes);
        size_t room = is_early(pointer) ? (size_t)(early + sizeof early - (char *)pointer) : 0;
        return moved && room ? memcpy(moved, pointer, bytes < room ? bytes : room) : moved;
    }
    if (!real.realloc)
        find(REALLOC, &real.realloc);
    count(REALLOC);
    return real.realloc(pointer, bytes);
}

EXPORT void free(void *pointer)
{
    if (is_early(pointer))
        return;
    if (!real.free)
        find(FREE, &real.free);
    if (pointer)
        count(FREE);
    real.free(pointer);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (!real.posix_memalign)
        find(POSIX_MEMALIGN, &real.posix_memalign);
    count(POSIX_MEMALIGN);
    return real.posix_memalign(out, alignment, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (!real.aligned_alloc)
        find(ALIGNED_ALLOC, &real.aligned_alloc);
    count(ALIGNED_ALLOC);
    return real.aligned_alloc(alignment, bytes);
}

EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (!real.mmap)
        find(MMAP, &real.mmap);
    count(MMAP);
    return real.mmap(address, bytes, protection, flags, file, offset);
}

EXPORT int munmap(void *address, size_t bytes)
{
    if (!real.munmap)
        find(MUNMAP, &real.munmap);
    count(MUNMAP);
    return real.munmap(address, bytes);
}

// ---------------------------------------------------------------------------------------- decoding

enum { TOKENS = 32 };

typedef struct decoding {
    tn_runtime *runtime;
    tn_model *model;
    tlm_tokenizer *tokenizer;
    tlm_context *context;
    tlm_sampler *sampler;
    tlm_stream *stream;
} decoding;

static void need(tn_status status, const tn_error *err)
{
    if (status != TN_OK)
        fail_msg("%s: %s", tn_status_name(status), err->text);
}

static void begin(decoding *d, uint32_t threads)
{
    static const char *const paths[] = { CPU_PLUGIN_PATH };
    tn_runtime_options options = {
        .size = sizeof options, .threads = threads, .plugin_paths = paths, .plugin_path_count = 1
    };
    tn_error err = { 0 };
    need(tn_runtime_create(&options, &d->runtime, &err), &err);
    need(tn_model_open(TEST_MODEL, NULL, &d->model, &err), &err);
    need(tlm_tokenizer_create(d->model, NULL, &d->tokenizer, &err), &err);
    need(tlm_context_create(d->runtime, d->model, NULL, &d->context, &err), &err);
    need(tlm_sampler_create(tlm_token_count(d->tokenizer), NULL, NULL, &d->sampler, &err), &err);
    need(tlm_stream_create(d->tokenizer, 0, &d->stream, &err), &err);
}

static void end(decoding *d)
{
    tlm_stream_destroy(d->stream);
    tlm_sampler_destroy(d->sampler);
    tlm_context_destroy(d->context);
    tlm_tokenizer_destroy(d->tokenizer);
    tn_model_close(d->model);
    tn_runtime_destroy(d->runtime);
}

// Text of one token after the id; the id becomes the next one. No assertion here: they allocate.
static tn_status decode_one(decoding *d, int32_t *id, size_t *text_bytes, tn_error *err)
{
    const float *logits;
    size_t bytes;
    tn_status status = tlm_eval(d->context, id, 1, &logits, err);
    if (status == TN_OK)
        status = tlm_sample(d->sampler, logits, (uint32_t)tlm_token_count(d->tokenizer), id, err);
    if (status == TN_OK) {
        tlm_stream_push(d->stream, *id, &bytes);
        *text_bytes += bytes;
    }
    return status;
}

static void decode(uint32_t threads)
{
    decoding d = { .runtime = NULL };
    tn_error err = { 0 };
    int32_t *ids, id;
    uint32_t id_count;
    size_t text_bytes = 0;
    begin(&d, threads);
    need(tlm_tokenize(d.tokenizer, "It is a truth", 13, 0, &ids, &id_count, &err), &err);
    const float *logits;
    need(tlm_eval(d.context, ids, id_count, &logits, &err), &err);
    id = ids[id_count - 1];
    tlm_ids_free(d.tokenizer, ids);
    for (int call = 0; call < CALLS; call++)
        counts[call] = 0;
    tn_status status = TN_OK;
    for (int i = 0; i < TOKENS && status == TN_OK; i++) {
        is_counting = i >= 1;
        status = decode_one(&d, &id, &text_bytes, &err);
    }
    is_counting = false;
    need(status, &err);
    assert_true(text_bytes > 0);
    for (int call = 0; call < CALLS; call++)
        if (counts[call])
            fail_msg("%u threads: %lu calls of %s", threads, (unsigned long)counts[call],
                     call_names[call]);
    end(&d);
}

static void a_decoded_token_allocates_nothing_with_one_thread(void **state)
{
    (void)state;
    decode(1);
}

static void a_decoded_token_allocates_nothing_with_two_threads(void **state)
{
    (void)state;
    decode(2);
}

// The counters themselves: a library's calls are seen too.
static void calls_from_anywhere_are_counted(void **state)
{
    (void)state;
    counts[MALLOC] = counts[CALLOC] = counts[FREE] = counts[MMAP] = counts[MUNMAP] = 0;
    tn_graph *graph = NULL;
    tn_model *model = NULL;
    is_counting = true;
    tn_status status = tn_graph_create(NULL, &graph, NULL);
    tn_status opened = tn_model_open(TEST_MODEL, NULL, &model, NULL);
    tn_graph_destroy(graph);
    tn_model_close(model);
    is_counting = false;
    assert_int_equal(status, TN_OK);
    assert_int_equal(opened, TN_OK);
    assert_true(counts[MALLOC] + counts[CALLOC] >= 2 && counts[FREE] >= 2);
    assert_true(counts[MMAP] >= 1 && counts[MUNMAP] >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_from_anywhere_are_counted),
        cmocka_unit_test(a_decoded_token_allocates_nothing_with_one_thread),
        cmocka_unit_test(a_decoded_token_allocates_nothing_with_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
