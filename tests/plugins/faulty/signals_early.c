// A large copy is still under way when its signal is raised.
#include <stdlib.h>
#include <unistd.h>

#include "honest.inc"

static void *copy_later(void *argument)
{
    usleep(20000);
    tnp_error unused = { .size = sizeof unused };
    tnh_copy(NULL, argument, 1, &unused);
    free(argument);
    return NULL;
}

static tnp_status faulty_copy_run(const tnp_queue *queue, const tnp_copy *copies, uint32_t count,
                                  tnp_error *err)
{
    pthread_t thread;
    tnp_copy *later = copies->bytes > 1000000 ? malloc(sizeof *later) : NULL;
    if (later) {
        *later = *copies;
        if (pthread_create(&thread, NULL, copy_later, later) == 0) {
            pthread_detach(thread);
            return count > 1 ? tnh_copy(queue, copies + 1, count - 1, err) : TNP_OK;
        }
    }
    return tnh_copy(queue, copies, count, err);
}

static void spoil(void)
{
    faulty_calls.copy = faulty_copy_run;
}
