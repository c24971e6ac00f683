// A submit returns when its waits are reached, or after a while.
#include "honest.inc"

static tnp_status faulty_queue_submit(tnp_queue *queue, const tnp_submit *const *submits,
                                      uint32_t count, tnp_error *err)
{
    tnp_error none = { .size = sizeof none };
    for (uint32_t i = 0; i < submits[0]->sync->wait_count; i++)
        (void)tnh_semaphore_wait(submits[0]->sync->waits[i].semaphore,
                                 submits[0]->sync->waits[i].value, 50000000, &none);
    return tnh_queue_submit(queue, submits, count, err);
}

static void spoil(void)
{
    faulty.queue_submit = faulty_queue_submit;
}
