// A failure is seen while the work still runs that would have signalled.
#include "template.h"

static tnp_status honest_fail(tnp_semaphore *semaphore, tnp_status why, const char *text,
                              tnp_error *err);
#define tpl_semaphore_fail honest_fail
#include "timeline.c"
#undef tpl_semaphore_fail

tnp_status tpl_semaphore_fail(tnp_semaphore *semaphore, tnp_status why, const char *text,
                              tnp_error *err)
{
    pthread_mutex_lock(&semaphore->device->lock);
    semaphore->running = 0;
    pthread_mutex_unlock(&semaphore->device->lock);
    return honest_fail(semaphore, why, text, err);
}
