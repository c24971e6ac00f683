// machinery_rig.c: a plugin with one open device, a queue and a buffer.
#include "machinery_rig.h"

void rig_start(test_rig *rig, uint32_t workers)
{
    test_host_init(&rig->host, workers);
    rig->err = (tnp_error){ .size = sizeof rig->err };
    rig->plugin = test_plugin_load(CPU_PLUGIN_PATH);
    assert_non_null(rig->plugin);
    assert_ok(rig->plugin->start(&rig->host.table, &rig->instance, &rig->err));
    tnp_open open = { .size = sizeof open, .id = 0 };
    assert_ok(rig->plugin->open(rig->instance, &open, &rig->device, &rig->err));
    rig->queue = rig_queue(rig, rig->device, RIG_PENDING);
    tnp_alloc alloc = { .size = sizeof alloc, .bytes = RIG_BUFFER_BYTES };
    assert_ok(rig->plugin->buffer_alloc(rig->device, &alloc, &rig->buffer, &rig->err));
    void *bytes;
    assert_ok(rig->plugin->buffer_map(rig->buffer, &bytes, &rig->err));
    rig->bytes = bytes;
    memset(rig->bytes, 0, RIG_BUFFER_BYTES);
}

void rig_stop(test_rig *rig)
{
    rig->plugin->buffer_free(rig->buffer);
    rig->plugin->queue_destroy(rig->queue);
    rig->plugin->close(rig->device);
    rig->plugin->stop(rig->instance);
    assert_int_equal(test_host_live(&rig->host), 0);
    test_host_finish(&rig->host);
}

tnp_queue *rig_queue(test_rig *rig, tnp_device *device, uint32_t pending)
{
    tnp_queue *queue = NULL;
    tnp_queue_options how = { .size = sizeof how,
                              .kind = TNP_QUEUE_COMPUTE,
                              .pending = pending,
                              .points = RIG_POINTS,
                              .copies = RIG_COPIES,
                              .update_bytes = RIG_UPDATE_BYTES,
                              .updates = RIG_UPDATES };
    assert_ok(rig->plugin->queue_create(device, &how, &queue, &rig->err));
    return queue;
}

tnp_semaphore *rig_semaphore(test_rig *rig, uint32_t flags, uint64_t value)
{
    tnp_semaphore *semaphore = NULL;
    tnp_semaphore_options how = { .size = sizeof how, .flags = flags, .value = value };
    assert_ok(rig->plugin->semaphore_create(rig->device, &how, &semaphore, &rig->err));
    return semaphore;
}

void rig_sum_make(test_rig *rig, rig_sum *sum, int64_t count, bool has_extent, uint32_t bind_flags)
{
    test_slice *slice = &sum->slice;
    test_slice_init(slice);
    uint32_t x = test_slice_add_vector(slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, count);
    uint32_t y = test_slice_add_vector(slice, TNP_DTYPE_F32, TNP_STORAGE_ENTERS, count);
    uint32_t out = test_slice_add_vector(slice, TNP_DTYPE_F32, TNP_STORAGE_LEAVES, count);
    uint64_t bytes = (uint64_t)count * 4;
    if (has_extent) {
        uint32_t length = test_slice_add_vector(slice, TNP_DTYPE_I32, TNP_STORAGE_ENTERS, 1);
        slice->values[length].flags = TNP_VALUE_AT_SUBMIT;
        slice->values[x].extent[0] = slice->values[y].extent[0] = slice->values[out].extent[0] =
            1 + length;
    }
    test_slice_add_node(slice, TNP_OP_ADD, NULL, "sum", x, y, out);
    assert_ok(test_slice_compile(slice, rig->plugin, rig->device, &sum->program, &rig->err));
    const tnp_binding bindings[] = {
        test_binding(TNP_BIND_STORAGE, 0, rig->buffer, 0, bytes),
        test_binding(TNP_BIND_STORAGE, 1, rig->buffer, 4096, bytes),
        test_binding(TNP_BIND_STORAGE, 2, rig->buffer, 0, bytes),
        test_binding(TNP_BIND_STORAGE, 3, rig->buffer, 8192, 4),
    };
    assert_ok(test_bind(rig->plugin, sum->program, bind_flags, bindings, has_extent ? 4 : 3,
                        &sum->bound, &rig->err));
}

void rig_sum_drop(test_rig *rig, rig_sum *sum)
{
    rig->plugin->unbind(sum->bound);
    rig->plugin->program_destroy(sum->program);
}

tnp_status rig_submit(test_rig *rig, tnp_queue *queue, tnp_bound *bound, uint32_t flags,
                      const tnp_point *wait, const tnp_point *signal, const tnp_update *updates,
                      uint32_t update_count)
{
    tnp_sync sync = { .size = sizeof sync,
                      .wait_count = wait != NULL,
                      .waits = wait,
                      .signal_count = signal != NULL,
                      .signals = signal };
    tnp_submit submit = { .size = sizeof submit,
                          .flags = flags,
                          .update_count = update_count,
                          .updates = updates,
                          .sync = &sync,
                          .bound = bound };
    const tnp_submit *submits[] = { &submit };
    return rig->plugin->queue_submit(queue, submits, 1, &rig->err);
}

tnp_status rig_run_status(test_rig *rig, tnp_bound *bound, const tnp_update *update)
{
    tnp_semaphore *done = rig_semaphore(rig, 0, 0);
    tnp_point signal = { done, 1 };
    assert_ok(rig_submit(rig, rig->queue, bound, 0, NULL, &signal, update, update != NULL));
    tnp_status status = rig->plugin->semaphore_wait(done, 1, UINT64_MAX, &rig->err);
    rig->plugin->semaphore_destroy(done);
    return status;
}

void rig_run(test_rig *rig, tnp_bound *bound)
{
    assert_ok(rig_run_status(rig, bound, NULL));
}
