// A thread of each queue outlives stop.
#include <unistd.h>

#include "honest.inc"

static void *sleep_on(void *unused)
{
    sleep(2);
    return unused;
}

static tnp_status faulty_queue_create(tnp_device *device, const tnp_queue_options *how,
                                      tnp_queue **out, tnp_error *err)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleep_on, NULL) == 0)
        pthread_detach(thread);
    return tnh_queue_create(device, how, out, err);
}

static void spoil(void)
{
    faulty.queue_create = faulty_queue_create;
}
