// Signals of programs are forgotten.
#include "honest.inc"

static tnp_status faulty_queue_submit(tnp_queue *queue, const tnp_submit *const *submits,
                                      uint32_t count, tnp_error *err)
{
    const tnp_submit *first = submits[0];
    if (count != 1 || first->size != sizeof *first || !first->bound)
        return tnh_queue_submit(queue, submits, count, err);
    tnp_sync silent = *first->sync;
    tnp_submit without = *first;
    silent.signal_count = 0;
    without.sync = &silent;
    return tnh_queue_submit(queue, (const tnp_submit *[]){ &without }, 1, err);
}

static void spoil(void)
{
    faulty.queue_submit = faulty_queue_submit;
}
