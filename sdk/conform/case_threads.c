// case_threads.c: calls marked [any] from several threads at once. Worth most with a plugin and a
// kit that were built with a thread sanitizer.
#include <pthread.h>
#include <stdlib.h>

#include "conform_internal.h"

enum { THREADS = 4, COUNT = 65 };

typedef struct share {
    kit_rig r;   // of the thread's own, but for the device and what the case says
    int index;
    void (*body)(struct share *share);
    pthread_barrier_t *start;
    const void *argument;
} share;

static void *begin(void *argument)
{
    share *s = argument;
    pthread_barrier_wait(s->start);
    s->body(s);
    return NULL;
}

static void run_threads(const kit_rig *r, void (*body)(share *share), const void *argument)
{
    static share shares[THREADS];
    pthread_t threads[THREADS];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        shares[i] = (share){
            .r = *r, .index = i, .body = body, .start = &start, .argument = argument
        };
        if (pthread_create(&threads[i], NULL, begin, &shares[i]) != 0)
            kit_fail("a thread", "the system gives none");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
}

static void on_one_device(void (*body)(share *share), const void *argument)
{
    kit_rig r;
    kit_rig_open(&r);
    run_threads(&r, body, argument);
    kit_rig_close(&r);
}

// Objects made and given back, the device asked.
static void make_and_free(share *s)
{
    kit_rig *r = &s->r;
    for (int i = 0; i < 30; i++) {
        tnp_memory_info memory = { .size = sizeof memory };
        tnp_device_info info = { .size = sizeof info };
        tnp_link link = { .size = sizeof link };
        uint32_t count;
        tnp_buffer *buffer = kit_buffer(r, (uint64_t)(1 + i * 100));
        tnp_semaphore *semaphore = kit_semaphore(r, i % 2 ? TNP_SEMAPHORE_HOST : 0);
        tnp_queue *queue = kit_queue(r, i % 2 ? TNP_QUEUE_COPY : TNP_QUEUE_COMPUTE);
        KIT_OK_OF(r->t->memory_info(r->device, 0, &memory, &r->err), &r->err, "memory_info");
        KIT_OK_OF(r->t->device_count(r->instance, &count, &r->err), &r->err, "device_count");
        KIT_OK_OF(r->t->device_info(r->instance, kit.device, &info, &r->err), &r->err,
                  "device_info");
        KIT_OK_OF(r->t->link(r->device, NULL, &link, &r->err), &r->err, "link");
        r->t->queue_destroy(queue);
        r->t->semaphore_destroy(semaphore);
        r->t->buffer_free(buffer);
    }
}

static void objects_are_made_by_all_threads(const kit_case *c)
{
    (void)c;
    on_one_device(make_and_free, NULL);
}

static void open_and_close(share *s)
{
    kit_rig *r = &s->r;
    for (int i = 0; i < 10; i++) {
        tnp_open what = { .size = sizeof what, .id = r->info.id };
        KIT_OK_OF(r->t->open(r->instance, &what, &r->device, &r->err), &r->err, "open");
        r->t->buffer_free(kit_buffer(r, 64));
        r->t->queue_destroy(kit_queue(r, TNP_QUEUE_COMPUTE));
        r->t->close(r->device);
    }
}

static void devices_are_opened_by_all_threads(const kit_case *c)
{
    (void)c;
    on_one_device(open_and_close, NULL);
}

// Each with a queue of its own, on one device.
static void compute(share *s)
{
    kit_rig *r = &s->r;
    kit_slice *slice = calloc(1, sizeof *slice);
    kit_claims *claims = calloc(1, sizeof *claims);
    kit_program *p = calloc(1, sizeof *p);
    if (!slice || !claims || !p)
        kit_fail("memory for the case", "it is not there");
    r->queue = kit_queue(r, TNP_QUEUE_COMPUTE);
    r->done = kit_semaphore(r, 0);
    r->signal = 0;
    const tnp_op op = *(const tnp_op *)s->argument;
    for (int i = 0; i < 10; i++) {
        float x[COUNT], y[COUNT];
        kit_chain(slice, op, 1, COUNT);
        claims->count = 0;
        claims->slice = slice;
        KIT_OK_OF(kit_ask(r, &slice->slice, claims), &r->err, "claim");
        const kit_taken *claim = kit_claim_of(claims, 0);
        if (!claim)
            kit_fail("the same answer from any thread", "refused: %s", claims->reasons[0]);
        kit_program_place(r, p, slice, &claim, 1, 0, 0);
        kit_program_make(r, p, 0);
        for (int k = 0; k < COUNT; k++)
            x[k] = 0.5f + 0.01f * (float)(k + i + s->index);
        memcpy(p->image + p->at[0], x, sizeof x);
        KIT_OK_OF(kit_program_run(r, p, NULL, 0), &r->err, "the work");
        memcpy(y, p->back + p->at[1], sizeof y);
        kit_check_chain(op, x, y, COUNT, 1, "on several threads");
        kit_program_free(r, p);
    }
    r->t->queue_destroy(r->queue);
    r->t->semaphore_destroy(r->done);
    free(slice);
    free(claims);
    free(p);
}

static void all_threads_compile_and_compute(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    tnp_op op = kit_chain_op(&r);
    run_threads(&r, compute, &op);
    kit_rig_close(&r);
}

// One semaphore: a thread signals, one waits, one reads, one asks to be told.
typedef struct told {
    tnp_notice notice;
    atomic_int count;
} told;

static void count_it(tnp_notice *notice, tnp_status status, const char *text)
{
    (void)status, (void)text;
    atomic_fetch_add(&((told *)notice->argument)->count, 1);
}

static void use_one_semaphore(share *s)
{
    enum { ROUNDS = 100 };
    static told all[ROUNDS];
    kit_rig *r = &s->r;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        uint64_t value = 0;
        told *t = &all[i - 1];
        if (s->index == 0)
            KIT_OK_OF(r->t->semaphore_signal(r->gate, i, &r->err), &r->err, "semaphore_signal");
        else if (s->index == 1)
            kit_wait_ok(r, r->gate, i, "another thread");
        else if (s->index == 2)
            KIT_OK_OF(r->t->semaphore_read(r->gate, &value, &r->err), &r->err, "semaphore_read");
        else if (TNP_CAN(tnp_plugin, r->t, semaphore_notify)) {
            atomic_store(&t->count, 0);
            t->notice = (tnp_notice){
                .size = sizeof t->notice, .value = i, .reached = count_it, .argument = t
            };
            KIT_OK_OF(r->t->semaphore_notify(r->gate, &t->notice, &r->err), &r->err,
                      "semaphore_notify");
        }
        if (value > ROUNDS)
            kit_fail("a value that was signalled", "%llu", (unsigned long long)value);
    }
    for (int i = 0; i < ROUNDS && s->index == 3 && TNP_CAN(tnp_plugin, r->t, semaphore_notify);
         i++) {
        for (int tries = 0; tries < 5000 && atomic_load(&all[i].count) == 0; tries++)
            kit_sleep_ms(1);
        if (atomic_load(&all[i].count) != 1)
            kit_fail("a notice comes once", "%d times", atomic_load(&all[i].count));
    }
}

static void all_threads_use_one_semaphore(const kit_case *c)
{
    (void)c;
    on_one_device(use_one_semaphore, NULL);
}

// Work of two queues that wait for each other, a third thread that fails semaphores.
static void submit_and_fail(share *s)
{
    kit_rig *r = &s->r;
    tnp_queue *queue = kit_queue(r, TNP_QUEUE_COMPUTE);
    for (int i = 0; i < 50; i++) {
        tnp_semaphore *done = kit_semaphore(r, 0), *gate = kit_semaphore(r, TNP_SEMAPHORE_HOST);
        KIT_OK_OF(kit_submit(r, queue, NULL, gate, 1, done, 1), &r->err, "queue_submit");
        tnp_status want = TNP_OK;
        if ((i + s->index) % 3 == 0) {
            KIT_OK_OF(r->t->semaphore_fail(gate, TNP_E_DATA, "bad", &r->err), &r->err,
                      "semaphore_fail");
            want = TNP_E_DATA;
        } else if ((i + s->index) % 3 == 1) {
            KIT_OK_OF(r->t->semaphore_fail(done, TNP_E_IO, "bad", &r->err), &r->err,
                      "semaphore_fail");
            want = TNP_E_IO;
        } else {
            KIT_OK_OF(r->t->semaphore_signal(gate, 1, &r->err), &r->err, "semaphore_signal");
        }
        kit_want(kit_wait(r, done, 1), want, &r->err, "a wait");
        r->t->semaphore_destroy(done);
        r->t->semaphore_destroy(gate);
    }
    r->t->queue_destroy(queue);
}

static void work_fails_on_all_threads(const kit_case *c)
{
    (void)c;
    on_one_device(submit_and_fail, NULL);
}

// The device is abandoned while threads use it.
static void use_until_lost(share *s)
{
    kit_rig *r = &s->r;
    if (s->index == 0) {
        kit_sleep_ms(5);
        r->t->abandon(r->device);
        return;
    }
    for (int i = 0; i < 100000; i++) {
        tnp_alloc what = { .size = sizeof what, .bytes = 64 };
        tnp_semaphore_options how = { .size = sizeof how };
        tnp_buffer *buffer = NULL;
        tnp_semaphore *semaphore = NULL;
        tnp_status status = r->t->buffer_alloc(r->device, &what, &buffer, &r->err);
        if (status == TNP_OK)
            r->t->buffer_free(buffer);
        if (status == TNP_OK)
            status = r->t->semaphore_create(r->device, &how, &semaphore, &r->err);
        if (semaphore)
            r->t->semaphore_destroy(semaphore);
        if (status == TNP_OK)
            continue;
        kit_want(status, TNP_E_DEVICE_LOST, &r->err,
                 "a call on a device that is abandoned meanwhile");
        return;
    }
    kit_fail("an abandoned device says so", "it does not");
}

static void a_device_is_abandoned_while_threads_use_it(const kit_case *c)
{
    kit_rig r;
    (void)c;
    for (int i = 0; i < 3; i++) {
        kit_rig_open(&r);
        run_threads(&r, use_until_lost, NULL);
        kit_rig_release(&r);
    }
}

static void live_alone(share *s)
{
    kit_host *host = calloc(1, sizeof *host);
    if (!host)
        kit_fail("memory for the case", "it is not there");
    for (int i = 0; i < 3; i++) {
        kit_rig *r = &s->r;
        kit_host_init(host);
        kit_rig_open_with(r, host);
        KIT_OK_OF(kit_submit(r, r->queue, NULL, NULL, 0, r->done, 1), &r->err, "queue_submit");
        kit_wait_ok(r, r->done, 1, "an empty submit");
        kit_rig_close(r);
    }
    free(host);
}

static void hosts_live_side_by_side(const kit_case *c)
{
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    run_threads(&r, live_alone, NULL);
    kit_rig_close(&r);
}

static void pack_some(share *s)
{
    const kit_packed *k = s->argument;
    for (uint64_t g = (uint64_t)s->index; g < k->groups; g += THREADS)
        KIT_OK_OF(s->r.t->pack(s->r.device, &k->s.values[1], k->pack->layout, k->weights, g, g + 1,
                               k->apart + g * k->pack->group_bytes, &s->r.err),
                  &s->r.err, "pack");
}

static void packs_are_made_by_all_threads(const kit_case *c)
{
    kit_packed *k = kit_new(sizeof(kit_packed));
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_pack_product(&r, k);
    memset(k->apart, 0x11, k->bytes);
    run_threads(&r, pack_some, k);
    if (memcmp(k->all, k->apart, k->bytes) != 0)
        kit_fail("groups packed by several threads are the bytes of all at once", "other bytes");
    kit_packed_free(k);
    kit_rig_close(&r);
}

static void ask_the_query(share *s)
{
    void *symbol = NULL;
    tnp_query query;
    tnp_error err = { .size = sizeof err };
    memcpy(&symbol, s->argument, sizeof symbol);
    memcpy(&query, &symbol, sizeof query);
    for (int i = 0; i < 1000; i++)
        if (!query(TNP_ABI_CURRENT, &err))
            kit_fail("the query answers a table to every thread", "NULL: %.200s", err.text);
}

static void the_query_is_asked_by_all_threads(const kit_case *c)
{
    kit_rig r = { .t = kit_table() };
    void *symbol = kit_query();
    (void)c;
    run_threads(&r, ask_the_query, &symbol);
}

static const kit_row rows[] = {
    { "the_query_is_asked_by_all_threads", the_query_is_asked_by_all_threads },
    { "objects_are_made_by_all_threads", objects_are_made_by_all_threads },
    { "devices_are_opened_by_all_threads", devices_are_opened_by_all_threads },
    { "all_threads_compile_and_compute", all_threads_compile_and_compute },
    { "all_threads_use_one_semaphore", all_threads_use_one_semaphore },
    { "packs_are_made_by_all_threads", packs_are_made_by_all_threads },
    { "work_fails_on_all_threads", work_fails_on_all_threads },
    { "a_device_is_abandoned_while_threads_use_it", a_device_is_abandoned_while_threads_use_it },
    { "hosts_live_side_by_side", hosts_live_side_by_side },
};

void kit_list_threads(kit_list *list)
{
    kit_list_rows(list, "threads", rows, sizeof rows / sizeof *rows);
}
