// rig.c: a device with a queue and semaphores, and the work that cases do again and again.
#include "conform_internal.h"

#define WAIT_NS UINT64_C(10000000000)

tnp_queue_options kit_queue_options(uint32_t kind)
{
    return (tnp_queue_options){ .size = sizeof(tnp_queue_options),
                                .kind = kind,
                                .pending = KIT_PENDING,
                                .points = KIT_POINTS,
                                .copies = KIT_COPIES,
                                .update_bytes = KIT_UPDATE_BYTES,
                                .updates = KIT_UPDATES };
}

tnp_status kit_rig_try(kit_rig *r, kit_host *host)
{
    uint32_t count = 0;
    *r = (kit_rig){ .host = host, .t = kit_table(), .err = { .size = sizeof r->err } };
    r->info.size = sizeof r->info;
    r->memory.size = sizeof r->memory;
    tnp_status status = r->t->start(&host->table, &r->instance, &r->err);
    if (status == TNP_OK)
        status = r->t->device_count(r->instance, &count, &r->err);
    if (status == TNP_OK && count <= kit.device)
        kit_fail("the devices that were there before", "there are %u now", count);
    if (status == TNP_OK)
        status = r->t->device_info(r->instance, kit.device, &r->info, &r->err);
    tnp_open what = { .size = sizeof what, .id = r->info.id };
    if (status == TNP_OK)
        status = r->t->open(r->instance, &what, &r->device, &r->err);
    if (status == TNP_OK)
        status = r->t->memory_info(r->device, 0, &r->memory, &r->err);
    tnp_queue_options how = kit_queue_options(TNP_QUEUE_COMPUTE);
    if (status == TNP_OK)
        status = r->t->queue_create(r->device, &how, &r->queue, &r->err);
    tnp_semaphore_options of_host = { .size = sizeof of_host, .flags = TNP_SEMAPHORE_HOST },
                          of_queue = { .size = sizeof of_queue };
    if (status == TNP_OK)
        status = r->t->semaphore_create(r->device, &of_host, &r->gate, &r->err);
    if (status == TNP_OK)
        status = r->t->semaphore_create(r->device, &of_queue, &r->done, &r->err);
    return status;
}

void kit_rig_open_with(kit_rig *r, kit_host *host)
{
    KIT_OK_OF(kit_rig_try(r, host), &r->err, "opening the device");
}

void kit_rig_open(kit_rig *r)
{
    static kit_host host;   // a plugin keeps its address: it must not move with the rig
    kit_host_init(&host);
    kit_rig_open_with(r, &host);
}

void kit_rig_release(kit_rig *r)
{
    if (r->queue)
        r->t->queue_destroy(r->queue);
    if (r->gate)
        r->t->semaphore_destroy(r->gate);
    if (r->done)
        r->t->semaphore_destroy(r->done);
    if (r->device)
        r->t->close(r->device);
    if (r->instance)
        r->t->stop(r->instance);
    r->queue = NULL;
    r->gate = r->done = NULL;
    r->device = NULL;
    r->instance = NULL;
}

void kit_rig_close(kit_rig *r)
{
    kit_rig_release(r);
    kit_host_finish(r->host);
}

tnp_queue *kit_queue(kit_rig *r, uint32_t kind)
{
    tnp_queue_options how = kit_queue_options(kind);
    tnp_queue *queue = NULL;
    KIT_OK_OF(r->t->queue_create(r->device, &how, &queue, &r->err), &r->err, "queue_create");
    return queue;
}

tnp_semaphore *kit_semaphore(kit_rig *r, uint32_t flags)
{
    tnp_semaphore_options how = { .size = sizeof how, .flags = flags };
    tnp_semaphore *made = NULL;
    KIT_OK_OF(r->t->semaphore_create(r->device, &how, &made, &r->err), &r->err, "semaphore_create");
    return made;
}

tnp_buffer *kit_buffer(kit_rig *r, uint64_t bytes)
{
    tnp_alloc what = { .size = sizeof what, .bytes = bytes };
    tnp_buffer *made = NULL;
    KIT_OK_OF(r->t->buffer_alloc(r->device, &what, &made, &r->err), &r->err, "buffer_alloc");
    return made;
}

tnp_status kit_submit(kit_rig *r, tnp_queue *queue, tnp_bound *bound, tnp_semaphore *wait,
                      uint64_t value, tnp_semaphore *signal, uint64_t to)
{
    tnp_point waits = { wait, value }, signals = { signal, to };
    tnp_sync sync = { .size = sizeof sync,
                      .wait_count = wait != NULL,
                      .signal_count = signal != NULL,
                      .waits = &waits,
                      .signals = &signals,
                      .run = to };
    tnp_submit work = { .size = sizeof work, .sync = &sync, .bound = bound };
    const tnp_submit *works[] = { &work };
    kit_begin_run_call("queue_submit");
    tnp_status status = r->t->queue_submit(queue, works, 1, &r->err);
    kit_end_run_call();
    return status;
}

tnp_status kit_copy(kit_rig *r, tnp_queue *queue, const tnp_copy *copy, tnp_semaphore *wait,
                    uint64_t value, tnp_semaphore *signal, uint64_t to)
{
    tnp_point waits = { wait, value }, signals = { signal, to };
    tnp_sync sync = { .size = sizeof sync,
                      .wait_count = wait != NULL,
                      .signal_count = signal != NULL,
                      .waits = &waits,
                      .signals = &signals };
    kit_begin_run_call("queue_copy");
    tnp_status status = r->t->queue_copy(queue, &copy, 1, &sync, &r->err);
    kit_end_run_call();
    return status;
}

tnp_status kit_wait(kit_rig *r, tnp_semaphore *semaphore, uint64_t value)
{
    return r->t->semaphore_wait(semaphore, value, WAIT_NS, &r->err);
}

void kit_wait_ok(kit_rig *r, tnp_semaphore *semaphore, uint64_t value, const char *what)
{
    tnp_status status = kit_wait(r, semaphore, value);
    if (status == TNP_E_TIMEOUT)
        kit_fail(kit_text("%s raises its signal", what), "none within 10 s");
    KIT_OK_OF(status, &r->err, kit_text("waiting for %s", what));
}

void kit_upload(kit_rig *r, tnp_buffer *buffer, uint64_t offset, const void *data, uint64_t bytes)
{
    tnp_copy copy = { .size = sizeof copy,
                      .to_buffer = buffer,
                      .from_host = data,
                      .to_offset = offset,
                      .bytes = bytes,
                      .rows = 1 };
    r->signal++;
    KIT_OK_OF(kit_copy(r, r->queue, &copy, NULL, 0, r->done, r->signal), &r->err, "queue_copy");
    kit_wait_ok(r, r->done, r->signal, "a copy to the device");
}

void kit_download(kit_rig *r, tnp_buffer *buffer, uint64_t offset, void *data, uint64_t bytes)
{
    tnp_copy copy = { .size = sizeof copy,
                      .from_buffer = buffer,
                      .to_host = data,
                      .from_offset = offset,
                      .bytes = bytes,
                      .rows = 1 };
    r->signal++;
    KIT_OK_OF(kit_copy(r, r->queue, &copy, NULL, 0, r->done, r->signal), &r->err, "queue_copy");
    kit_wait_ok(r, r->done, r->signal, "a copy from the device");
}
