// simulated_level.c: what the library of simulated kernels shows.
#include "simulated_level.h"

const cpu_kernels *simulated_level(void)
{
    return &cpu_kernels_avx512vnni;
}
