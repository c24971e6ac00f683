// Takes memory of the host for each submit.
#define FAULTY_SUBMIT
#include "honest_queue.inc"

tnp_status tpl_queue_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                            tnp_error *err)
{
    tpl_free(queue->device->host, tpl_make(queue->device->host, 64));
    return honest_submit(queue, submits, count, err);
}
