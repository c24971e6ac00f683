// thread.c: threads of libtenon's own.
#include "base/thread.h"

#include <signal.h>

#include "base/macros.h"

bool tni_thread_start(pthread_t *out_thread, void *(*body)(void *argument), void *argument)
{
    static const int faults[] = { SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < TN_COUNT_OF(faults); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    int error = pthread_create(out_thread, NULL, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}
