// Takes memory of the host for each submit.
#include "honest.inc"

static tnp_status faulty_queue_submit(tnp_queue *queue, const tnp_submit *const *submits,
                                      uint32_t count, tnp_error *err)
{
    const tnp_host *host = queue->device->host;
    host->free(host->context, host->alloc(host->context, 64, 64));
    return tnh_queue_submit(queue, submits, count, err);
}

static void spoil(void)
{
    faulty.queue_submit = faulty_queue_submit;
}
