// cost.h: what work is expected to take. A driver tells no speed; a kind of device stands for it.
#ifndef VULKAN_COST_H
#define VULKAN_COST_H

#include "op.h"

// Of a claim: one run at the likely lengths, in ns.
double vulkan_unit_cost_ns(const tnp_device *device, const tnp_slice *slice,
                           const vulkan_unit *unit);

// Of a dispatch, in seconds, and not less than it will be: for how long a submission may take.
double vulkan_longest_s(const tnp_device *device, const vulkan_dispatch *dispatch);

#endif
