// machine.h: what this machine can do at most, measured: reading memory and multiplying.
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct machine_limits {
    double read_gbps;     // 10^9 bytes a second, of memory that no cache holds
    double fp32_gflops;   // 10^9 operations a second of the widest FMA; a product and a sum are two
} machine_limits;

// With so many threads at once, the best of a few tries: some tenths of a second. false: no memory
// or threads for it.
bool machine_measure(uint32_t threads, machine_limits *out_limits);

// "AMD EPYC", by the system; "?" where it does not tell.
const char *machine_cpu_name(char *room, unsigned bytes);

#endif
