// cost.h: what devices say of links, and what was measured of them, as costs.
#ifndef TNI_SCHED_COST_H
#define TNI_SCHED_COST_H

#include "plugin/host.h"
#include "sched/links.h"

// What was measured of opened devices, else what their plugins say, else the default. false: out of
// memory.
bool tni_links_find(tn_device *const *devices, uint32_t device_count, tni_arena *arena,
                    tni_links *out);

#endif
