// copy.h: copies between buffers and host memory, row by row.
#ifndef CPU_COPY_H
#define CPU_COPY_H

#include "cpu.h"

typedef struct cpu_copy {
    const char *from;                 // NULL = zeros
    char *to;
    uint64_t bytes, rows;
    uint64_t from_pitch, to_pitch;
} cpu_copy;

// Checks a copy that the host asks for on a queue of device, and resolves its addresses.
// Errors: TNP_E_ARG outside a buffer, or into one that may only be read; TNP_E_UNSUPPORTED
tnp_status cpu_copy_read(const cpu_device *device, const tnp_copy *what, cpu_copy *out,
                         tnp_error *err);
void cpu_copy_run(const cpu_copy *copy);

#endif
