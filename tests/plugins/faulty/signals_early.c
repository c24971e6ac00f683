// A large copy is still under way when its signal is raised.
#include <stdlib.h>
#include <unistd.h>

#include "honest.inc"

static void *copy_later(void *argument)
{
    usleep(20000);
    tnp_error unused = { .size = sizeof unused };
    tnh_copy(argument, &unused);
    free(argument);
    return NULL;
}

static tnp_status faulty_copy_run(const tnp_copy *copy, tnp_error *err)
{
    pthread_t thread;
    tnp_copy *later = copy->bytes > 1000000 ? malloc(sizeof *later) : NULL;
    if (later) {
        *later = *copy;
        if (pthread_create(&thread, NULL, copy_later, later) == 0) {
            pthread_detach(thread);
            return TNP_OK;
        }
    }
    return tnh_copy(copy, err);
}

static void spoil(void)
{
    faulty_calls.copy = faulty_copy_run;
}
