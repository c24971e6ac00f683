// thread.h: threads of libtenon's own.
#ifndef TNI_THREAD_H
#define TNI_THREAD_H

#include <pthread.h>
#include <stdbool.h>

// With signals blocked: those belong to the application's own threads. But not what a fault of the
// thread itself raises: blocked, it would end the process whatever handler there is, such as that
// of map_guard.c. false: there is none to be had.
bool tni_thread_start(pthread_t *out_thread, void *(*body)(void *argument), void *argument);

#endif
