#include "base/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

// The first numbers in a file; how many there were, at most two.
static int read_numbers(const char *path, long long numbers[2])
{
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    int found = fscanf(file, "%lld %lld", &numbers[0], &numbers[1]);   // "max 100000": none
    fclose(file);
    return found < 0 ? 0 : found;
}

// CPUs that the control group's quota allows, rounded up; UINT32_MAX = no quota. Version 2 of
// control groups has quota and period in one file, version 1 in two.
static uint32_t quota_cpus(void)
{
    long long numbers[2], period[2];
    if (read_numbers("/sys/fs/cgroup/cpu.max", numbers) != 2) {
        if (read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", numbers) != 1 ||
            read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period) != 1)
            return UINT32_MAX;
        numbers[1] = period[0];
    }
    if (numbers[0] <= 0 || numbers[1] <= 0)
        return UINT32_MAX;
    long long cpus = numbers[0] / numbers[1] + (numbers[0] % numbers[1] != 0);
    return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

uint32_t tni_cpus_usable(void)
{
    cpu_set_t set;
    long cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                            : sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t usable = cpus < 1 ? 1 : (uint32_t)cpus, quota = quota_cpus();
    return usable < quota ? usable : quota;
}
