// busy.h: few CPUs, and others at work on them: for tests of how threads get on then. With
// _GNU_SOURCE; what fails fails the test (CMocka).
#ifndef TEST_BUSY_H
#define TEST_BUSY_H

#include <sched.h>
#include <sys/types.h>

// Keeps this process, and those that it makes, on so many of its CPUs, or on all when it has fewer.
// Returns the mask to be given back.
cpu_set_t busy_stay_on(int cpus);
void busy_give_back(cpu_set_t mask);

// A process that computes until it is ended, or this one ends.
pid_t busy_begin(void);
void busy_end(pid_t process);

#endif
