// machine.h: what the operating system tells about this machine.
#ifndef CPU_MACHINE_H
#define CPU_MACHINE_H

#include <stddef.h>
#include <stdint.h>

// Rough figures of one core, for costs until measured ones take their place.
#define CPU_CORE_FLOPS_PER_S 30e9
#define CPU_CORE_BYTES_PER_S 8e9
#define CPU_MOST_BYTES_PER_S 40e9   // the memory is shared: more cores do not read faster

// The model's name, "CPU" when it is not told; cut to room.
void cpu_machine_name(char *to, size_t room);
// Bytes of RAM, and those that this process could have without swapping and within its limit of
// address space.
void cpu_machine_memory(uint64_t *total, uint64_t *available);
double cpu_machine_bytes_per_s(uint32_t workers);

#endif
