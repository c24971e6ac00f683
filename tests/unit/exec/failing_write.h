// failing_write.h: the system's write for the program that includes it, which may fail as on a full
// disk. Once a program, in its one source file.
#ifndef TEST_FAILING_WRITE_H
#define TEST_FAILING_WRITE_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static int writes_left = -1;   // until all fail; -1 = none does

ssize_t write(int file, const void *from, size_t bytes)
{
    if (writes_left == 0) {
        errno = ENOSPC;
        return -1;
    }
    writes_left -= writes_left > 0;
    return syscall(SYS_write, file, from, bytes);
}

#endif
