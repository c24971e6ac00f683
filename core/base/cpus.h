// cpus.h: how many CPUs this process may use.
#ifndef TNI_CPUS_H
#define TNI_CPUS_H

#include <stdint.h>

// Those of the affinity mask, at most as many as the control group's quota allows, rounded up; at
// least 1.
uint32_t tni_cpus_usable(void);

#endif
