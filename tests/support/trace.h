// trace.h: what simulated devices tell of a run (`trace` in tests/plugins/sim/README.md), as
// numbers on the virtual clock, and what no run of the same work could beat.
#ifndef TEST_TRACE_H
#define TEST_TRACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct traced {
    char device[64];   // whose queue it ran on
    bool is_copy;
    uint64_t amount;   // bytes of a copy, units of a program
    uint64_t begin_ns, end_ns;
} traced;

// The pieces of work of one run, as they are told in `log`; answers how many, at most `room`.
uint32_t trace_read(const char *log, uint64_t run, traced *to, uint32_t room);

// From the first beginning to the last end.
uint64_t trace_makespan_ns(const traced *pieces, uint32_t count);
// The most that one device computes, or that one device copies: no run takes less.
uint64_t trace_busiest_ns(const traced *pieces, uint32_t count, bool is_copy);
// All work of a device of one kind.
uint64_t trace_busy_ns(const traced *pieces, uint32_t count, const char *device, bool is_copy);
// The nth piece (from 0) of a device and kind in the order of their beginnings; NULL = none.
const traced *trace_find(const traced *pieces, uint32_t count, const char *device, bool is_copy,
                         uint32_t nth);

#endif
