// A submit returns when its waits are reached, or after a while.
#define FAULTY_SUBMIT
#include "honest_queue.inc"

tnp_status tpl_queue_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                            tnp_error *err)
{
    tnp_error none = { .size = sizeof none };
    for (uint32_t i = 0; i < submits[0]->sync->wait_count; i++)
        (void)tpl_semaphore_wait(submits[0]->sync->waits[i].semaphore,
                                 submits[0]->sync->waits[i].value, 50000000, &none);
    return honest_submit(queue, submits, count, err);
}
