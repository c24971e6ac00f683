// case_faults.c: memory that is not there, and devices that are lost, at every place in turn.
#include <stdlib.h>

#include "conform_internal.h"

enum { COUNT = 33, MOST_ALLOCATIONS = 400 };

// Opens, claims, compiles, binds, computes; the status of what failed first. What was made is given
// back, whatever happened.
static tnp_status live(kit_rig *r, kit_host *host, tnp_op op)
{
    kit_slice *s = kit_new(sizeof(kit_slice));
    kit_claims *claims = kit_new(sizeof(kit_claims));
    float x[COUNT], y[COUNT];
    tnp_buffer *buffer = NULL;
    tnp_program *program = NULL;
    tnp_bound *bound = NULL;
    tnp_status status = kit_rig_try(r, host);
    kit_chain(s, op, 1, COUNT);
    *claims = (kit_claims){ .slice = s };
    if (status == TNP_OK)
        status = kit_ask(r, &s->slice, claims);
    const kit_taken *claim = status == TNP_OK ? kit_claim_of(claims, 0) : NULL;
    uint64_t step = r->memory.alignment_bytes > 256 ? r->memory.alignment_bytes : 256;
    uint64_t scratch = claim ? claim->claim.scratch_bytes : 0;
    tnp_alloc ask = { .size = sizeof ask, .bytes = 2 * step + scratch };
    if (status == TNP_OK)
        status = r->t->buffer_alloc(r->device, &ask, &buffer, &r->err);
    if (status == TNP_OK && claim && claim->claim.pack_count == 0) {
        const tnp_claim *units[] = { &claim->claim };
        tnp_compile what = {
            .size = sizeof what, .unit_count = 1, .slice = &s->slice, .units = units
        };
        status = r->t->compile(r->device, &what, &program, &r->err);
    }
    if (program) {
        tnp_binding list[3];
        const tnp_binding *pointers[] = { &list[0], &list[1], &list[2] };
        for (uint32_t i = 0; i < 3; i++)
            list[i] = (tnp_binding){ .size = sizeof *list,
                                     .kind = i < 2 ? TNP_BIND_STORAGE : TNP_BIND_SCRATCH,
                                     .index = i % 2,
                                     .buffer = buffer,
                                     .offset = i * step,
                                     .bytes = i < 2 ? sizeof x : scratch };
        tnp_bind what = { .size = sizeof what,
                          .binding_count = scratch > 0 ? 3 : 2,
                          .bindings = pointers };
        status = r->t->bind(program, &what, &bound, &r->err);
    }
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)kit_random(0.5, 2);
    if (bound) {
        tnp_copy in = {
            .size = sizeof in, .from_host = x, .to_buffer = buffer, .bytes = sizeof x, .rows = 1
        };
        tnp_copy out = { .size = sizeof out,
                         .from_buffer = buffer,
                         .from_offset = step,
                         .to_host = y,
                         .bytes = sizeof y,
                         .rows = 1 };
        status = kit_copy(r, r->queue, &in, NULL, 0, r->done, 1);
        if (status == TNP_OK)
            status = kit_submit(r, r->queue, bound, NULL, 0, r->done, 2);
        if (status == TNP_OK)
            status = kit_copy(r, r->queue, &out, NULL, 0, r->done, 3);
        if (status == TNP_OK)
            status = kit_wait(r, r->done, 3);
        if (status == TNP_OK)
            kit_check_chain(op, x, y, COUNT, 1, "although memory was short");
        if (status != TNP_OK)   // what was submitted before is still on its way
            r->t->semaphore_fail(r->done, TNP_E_CANCELLED, "given up",
                                 &(tnp_error){ .size = sizeof r->err });
    }
    if (bound)
        r->t->unbind(bound);
    if (program)
        r->t->program_destroy(program);
    if (r->queue)
        r->t->queue_destroy(r->queue);
    r->queue = NULL;
    if (buffer)
        r->t->buffer_free(buffer);
    tnp_error why = r->err;
    kit_rig_release(r);
    r->err = why;
    return status;
}

static tnp_op chain_op(void)
{
    kit_rig r;
    kit_rig_open(&r);
    tnp_op op = kit_chain_op(&r);
    kit_rig_close(&r);
    return op;
}

// The k-th allocation of the host fails; once alone, once with all that come behind.
static void fail_each(bool all)
{
    kit_host *host = kit_new(sizeof(kit_host));
    kit_rig r;
    tnp_op op = chain_op();
    for (int k = 1; k <= MOST_ALLOCATIONS; k++) {
        kit_host_init(host);
        atomic_store(&host->until_failure, k);
        atomic_store(&host->all_fail, all);
        tnp_status status = live(&r, host, op);
        unsigned failed = atomic_load(&host->failed);
        kit_host_finish(host);   // nothing is lost on the way
        if (failed == 0) {
            if (status != TNP_OK)
                kit_want(status, TNP_OK, &r.err, "a life in which no allocation fails");
            return;
        }
        if (status == TNP_E_DEVICE_MEMORY || status == TNP_OK)
            continue;   // the device's own memory is the host's; or it could do without
        kit_want(status, TNP_E_HOST_MEMORY, &r.err,
                 kit_text("what needs allocation %d of the host, which fails,", k));
    }
    kit_fail(kit_text("at most %d allocations", MOST_ALLOCATIONS), "there are more");
}

static void each_allocation_may_fail(const kit_case *c)
{
    (void)c;
    fail_each(false);
}
static void every_allocation_from_one_on_may_fail(const kit_case *c)
{
    (void)c;
    fail_each(true);
}

// A call that lacked memory works when there is some again.
static void what_lacked_memory_works_later(const kit_case *c)
{
    kit_host *host = kit_new(sizeof(kit_host));
    kit_rig r;
    (void)c;
    kit_host_init(host);
    kit_rig_open_with(&r, host);
    tnp_alloc what = { .size = sizeof what, .bytes = 64 };
    tnp_queue_options queue_how = kit_queue_options(TNP_QUEUE_COPY);
    for (int k = 1; k < 8; k++) {
        tnp_buffer *buffer = NULL;
        tnp_queue *queue = NULL;
        atomic_store(&host->until_failure, k);
        tnp_status status = r.t->buffer_alloc(r.device, &what, &buffer, &r.err);
        if (status == TNP_OK)
            r.t->buffer_free(buffer);
        status = r.t->queue_create(r.device, &queue_how, &queue, &r.err);
        if (status == TNP_OK)
            r.t->queue_destroy(queue);
        atomic_store(&host->until_failure, -1);
        r.t->buffer_free(kit_buffer(&r, 64));
        r.t->queue_destroy(kit_queue(&r, TNP_QUEUE_COPY));
    }
    kit_rig_close(&r);
}

// All of a device's memory is taken, then given back.
static void all_memory_may_be_taken(const kit_case *c)
{
    enum { PIECES = 64 };
    tnp_buffer *buffers[PIECES] = { NULL };
    int count = 0;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    if (r.memory.pool == 1)
        kit_skip("the device's memory is the host's own");
    uint64_t piece = r.memory.total_bytes / 16;
    if (piece > r.memory.max_buffer_bytes)
        piece = r.memory.max_buffer_bytes;
    if (piece == 0 || piece > UINT64_C(1) << 28)
        kit_skip("%llu bytes of memory are more than this case takes",
                 (unsigned long long)r.memory.total_bytes);
    tnp_status status = TNP_OK;
    while (count < PIECES && status == TNP_OK) {
        tnp_alloc what = { .size = sizeof what, .bytes = piece };
        status = r.t->buffer_alloc(r.device, &what, &buffers[count], &r.err);
        count += status == TNP_OK;
    }
    if (status != TNP_E_HOST_MEMORY)
        kit_want(status, TNP_E_DEVICE_MEMORY, &r.err, "buffer_alloc when all is taken");
    while (count > 0)
        r.t->buffer_free(buffers[--count]);
    r.t->buffer_free(kit_buffer(&r, piece));
    kit_rig_close(&r);
}

// Making something anew of a program that was compiled before the loss.
static void want_no_program(kit_rig *r, kit_program *p)
{
    tnp_program *program = NULL;
    tnp_bound *bound = NULL;
    kit_want(kit_program_compile(r, p, &program), TNP_E_DEVICE_LOST, &r->err,
             "compile on a lost device");
    kit_want(kit_program_bind(r, p, p->program, 0, &bound), TNP_E_DEVICE_LOST, &r->err,
             "bind on a lost device");
    if (program || bound)
        kit_fail("outputs are untouched by a call that fails", "one was written");
}

// The device is given up at the k-th submit: pending work fails, what comes says so, all can be
// given back, and a new device computes.
static void a_device_is_lost_at_submit(int k, tnp_op op)
{
    enum { SUBMITS = 6 };
    kit_host *host = kit_new(sizeof(kit_host));
    kit_rig r;
    kit_host_init(host);
    kit_rig_open_with(&r, host);
    kit_program *p = kit_small_program(&r, COUNT);
    tnp_semaphore *signals[SUBMITS];
    for (int i = 0; i < SUBMITS; i++)
        signals[i] = kit_semaphore(&r, 0);
    for (int i = 0; i < SUBMITS; i++) {
        if (i == k)
            r.t->abandon(r.device);
        kit_want(kit_submit(&r, r.queue, p->bound, i == 1 ? r.gate : NULL, 1, signals[i], 1),
                 i < k ? TNP_OK : TNP_E_DEVICE_LOST, &r.err, "queue_submit");
    }
    if (k >= SUBMITS)
        r.t->abandon(r.device);
    // The first may run, or have run: what it names is in use until its signal tells.
    tnp_status first = kit_wait(&r, signals[0], 1);
    if (first != TNP_OK || k == 0)
        kit_want(first, TNP_E_DEVICE_LOST, &r.err, "a wait for the first work of a lost device");
    for (int i = 1; i < SUBMITS; i++)
        kit_want(kit_wait(&r, signals[i], 1), TNP_E_DEVICE_LOST, &r.err,
                 "a wait for work of a lost device");
    want_no_program(&r, p);
    for (int i = 0; i < SUBMITS; i++)
        r.t->semaphore_destroy(signals[i]);
    kit_program_free(&r, p);
    kit_rig_release(&r);
    kit_host_init(host);
    tnp_status status = live(&r, host, op);
    kit_want(status, TNP_OK, &r.err, "a device that is opened after one was lost");
}

static void a_lost_device_lets_another_work(const kit_case *c)
{
    tnp_op op = chain_op();
    (void)c;
    for (int k = 0; k <= 6; k++)
        a_device_is_lost_at_submit(k, op);
}

// A plugin that can simulate a loss is told so by a setting of its own (--set): whatever call loses
// the device, the rules of a lost device hold from there on.
static void a_loss_that_the_plugin_simulates(const kit_case *c)
{
    uint64_t value = 0;
    kit_rig r;
    (void)c;
    kit_rig_open(&r);
    kit_program *p = kit_small_program(&r, COUNT);
    tnp_status status = TNP_OK;
    for (uint64_t i = 1; i <= 64 && status == TNP_OK; i++) {
        status = kit_submit(&r, r.queue, p->bound, NULL, 0, r.done, i);
        if (status == TNP_OK)
            status = kit_wait(&r, r.done, i);
    }
    if (status != TNP_E_DEVICE_LOST)
        kit_skip("the device is not lost within 64 submits; a setting may simulate that");
    kit_want(kit_submit(&r, r.queue, p->bound, NULL, 0, r.done, 99), TNP_E_DEVICE_LOST, &r.err,
             "queue_submit after the loss");
    tnp_alloc what = { .size = sizeof what, .bytes = 64 };
    tnp_buffer *buffer = NULL;
    kit_want(r.t->buffer_alloc(r.device, &what, &buffer, &r.err), TNP_E_DEVICE_LOST, &r.err,
             "buffer_alloc after the loss");
    kit_want(r.t->semaphore_read(r.done, &value, &r.err), TNP_E_DEVICE_LOST, &r.err,
             "semaphore_read after the loss");
    kit_program_free(&r, p);
    tnp_open again = { .size = sizeof again, .id = r.info.id };
    tnp_device *device = NULL;
    status = r.t->open(r.instance, &again, &device, &r.err);
    if (status == TNP_OK)
        r.t->close(device);
    else
        kit_want(status, TNP_E_DEVICE_LOST, &r.err, "open after the loss");
    kit_rig_close(&r);
}

static const kit_row rows[] = {
    { "each_allocation_may_fail", each_allocation_may_fail },
    { "every_allocation_from_one_on_may_fail", every_allocation_from_one_on_may_fail },
    { "what_lacked_memory_works_later", what_lacked_memory_works_later },
    { "all_memory_may_be_taken", all_memory_may_be_taken },
    { "a_lost_device_lets_another_work", a_lost_device_lets_another_work },
    { "a_loss_that_the_plugin_simulates", a_loss_that_the_plugin_simulates },
};

void kit_list_faults(kit_list *list)
{
    kit_list_rows(list, "faults", rows, sizeof rows / sizeof *rows);
}
