// Signals of programs are forgotten.
#define FAULTY_SUBMIT
#include "honest_queue.h"

tnp_status tpl_queue_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                            tnp_error *err)
{
    tnp_submit without = *submits[0];
    tnp_sync sync = *without.sync;
    const tnp_submit *works[] = { &without };
    if (!without.bound || count != 1)
        return honest_submit(queue, submits, count, err);
    sync.signal_count = 0;
    without.sync = &sync;
    return honest_submit(queue, works, 1, err);
}
