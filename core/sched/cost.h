// cost.h: what devices say, and what was measured of them, as costs.
#ifndef TNI_SCHED_COST_H
#define TNI_SCHED_COST_H

#include "plugin/host.h"
#include "sched/links.h"

// What was measured of opened devices, else what their plugins say, else the default. false: out of
// memory.
bool tni_links_find(tn_device *const *devices, uint32_t device_count, tni_arena *arena,
                    tni_links *out);

// A claim of a device costs so many times what it says: 1 until it was measured.
double tni_claim_factor(const tn_device *device);

#endif
