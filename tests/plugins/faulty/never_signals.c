// Signals of programs are forgotten.
#define FAULTY_SUBMIT
#include "honest_queue.inc"

tnp_status tpl_queue_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                            tnp_error *err)
{
    const tnp_submit *first = submits[0];
    if (count != 1 || first->size != sizeof *first || !first->bound)
        return honest_submit(queue, submits, count, err);
    tnp_sync silent = *first->sync;
    tnp_submit without = *first;
    silent.signal_count = 0;
    without.sync = &silent;
    return honest_submit(queue, (const tnp_submit *[]){ &without }, 1, err);
}
