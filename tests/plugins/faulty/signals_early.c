// A large copy is still under way when its signal is raised.
#define FAULTY_COPY_RUN
#include <stdlib.h>
#include <unistd.h>

#include "honest_memory.inc"

static void *copy_later(void *argument)
{
    usleep(20000);
    honest_copy_run(argument);
    free(argument);
    return NULL;
}

void tpl_copy_run(const tnp_copy *copy)
{
    pthread_t thread;
    tnp_copy *later = copy->bytes > 1000000 ? malloc(sizeof *later) : NULL;
    if (later) {
        *later = *copy;
        if (pthread_create(&thread, NULL, copy_later, later) == 0) {
            pthread_detach(thread);
            return;
        }
    }
    honest_copy_run(copy);
}
