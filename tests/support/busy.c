#include "busy.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

cpu_set_t busy_stay_on(int cpus)
{
    cpu_set_t before, few;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&few);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&few) < cpus; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &few);
    assert_int_equal(sched_setaffinity(0, sizeof few, &few), 0);
    return before;
}

void busy_give_back(cpu_set_t mask)
{
    assert_int_equal(sched_setaffinity(0, sizeof mask, &mask), 0);
}

pid_t busy_begin(void)
{
    pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile uint32_t i = 0;;)
            i = i + 1;
    }
    return process;
}

void busy_end(pid_t process)
{
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
}
