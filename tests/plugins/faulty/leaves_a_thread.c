// A thread of each queue outlives stop.
#define FAULTY_CREATE
#include <unistd.h>

#include "honest_queue.inc"

static void *sleep_on(void *unused)
{
    sleep(2);
    return unused;
}

tnp_status tpl_queue_create(tnp_device *device, const tnp_queue_options *how, tnp_queue **out,
                            tnp_error *err)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleep_on, NULL) == 0)
        pthread_detach(thread);
    return honest_create(device, how, out, err);
}
