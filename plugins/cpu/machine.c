// machine.c: reads /proc and sysconf, without allocating.
#include "machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// Reads the beginning of a file; an unreadable one is empty.
static void read_beginning(const char *path, char *to, size_t room)
{
    size_t used = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t got;
        while (used + 1 < room && (got = read(file, to + used, room - 1 - used)) > 0)
            used += (size_t)got;
        close(file);
    }
    to[used] = '\0';
}

// What stands after the colon of the first line that begins with key, or NULL.
static const char *value_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) != 0)
            continue;
        const char *value = line + length;
        value += strspn(value, " \t:");
        return value;
    }
    return NULL;
}

void cpu_machine_name(char *to, size_t room)
{
    char text[4096];
    read_beginning("/proc/cpuinfo", text, sizeof text);
    const char *name = value_of(text, "model name");
    size_t length = name ? strcspn(name, "\n") : 0;
    if (length == 0)
        snprintf(to, room, "CPU");
    else
        snprintf(to, room, "%.*s", (int)length, name);
}

static void read_memory(uint64_t *total, uint64_t *available)
{
    char text[4096];
    read_beginning("/proc/meminfo", text, sizeof text);
    const char *all = value_of(text, "MemTotal"), *left = value_of(text, "MemAvailable");
    if (all && left) {
        *total = strtoull(all, NULL, 10) * 1024;
        *available = strtoull(left, NULL, 10) * 1024;
        return;
    }
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    *total = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
    *available = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * page;
}

// What RLIMIT_AS (ulimit -v) leaves to this process; UINT64_MAX without a limit.
static uint64_t address_space_left(void)
{
    struct rlimit limit;
    char text[128];
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    read_beginning("/proc/self/statm", text, sizeof text);
    uint64_t used = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

void cpu_machine_memory(uint64_t *total, uint64_t *available)
{
    read_memory(total, available);
    uint64_t left = address_space_left();
    if (*available > left)
        *available = left;
}

double cpu_machine_bytes_per_s(uint32_t workers)
{
    double rate = workers * CPU_CORE_BYTES_PER_S;
    return rate < CPU_MOST_BYTES_PER_S ? rate : CPU_MOST_BYTES_PER_S;
}
