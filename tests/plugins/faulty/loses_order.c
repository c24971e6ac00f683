// A copy does not wait for what it was told to wait for.
#include "honest.inc"

static tnp_status faulty_queue_copy(tnp_queue *queue, const tnp_copy *const *copies, uint32_t count,
                                    const tnp_sync *sync, tnp_error *err)
{
    if (sync->size != sizeof *sync)   // of a later host
        return tnh_queue_copy(queue, copies, count, sync, err);
    tnp_sync at_once = *sync;
    at_once.wait_count = 0;
    return tnh_queue_copy(queue, copies, count, &at_once, err);
}

static void spoil(void)
{
    faulty.queue_copy = faulty_queue_copy;
}
