// A failure is seen while the work still runs that would have signalled.
#include "honest.inc"

static tnp_status faulty_semaphore_fail(tnp_semaphore *semaphore, tnp_status why, const char *text,
                                        tnp_error *err)
{
    pthread_mutex_lock(&semaphore->device->lock);
    semaphore->running = 0;
    pthread_mutex_unlock(&semaphore->device->lock);
    return tnh_semaphore_fail(semaphore, why, text, err);
}

static void spoil(void)
{
    faulty.semaphore_fail = faulty_semaphore_fail;
}
