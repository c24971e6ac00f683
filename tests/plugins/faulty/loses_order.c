// A copy does not wait for what it was told to wait for.
#define FAULTY_COPY
#include "honest_queue.inc"

tnp_status tpl_queue_copy(tnp_queue *queue, const tnp_copy *const *copies, uint32_t count,
                          const tnp_sync *sync, tnp_error *err)
{
    if (sync->size != sizeof *sync)   // of a later host
        return honest_copy(queue, copies, count, sync, err);
    tnp_sync at_once = *sync;
    at_once.wait_count = 0;
    return honest_copy(queue, copies, count, &at_once, err);
}
