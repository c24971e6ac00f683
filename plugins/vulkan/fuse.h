// fuse.h: nodes of a slice that this plugin does better together, as one unit:
//
//   matmul   add                      what goes back to the residual stream
//   matmul   matmul   swiglu | …      gate and up, of few tokens
//
// What passes between them gets no memory. ops/products.c does them.
#ifndef VULKAN_FUSE_H
#define VULKAN_FUSE_H

#include "op.h"

// The unit whose last node is this one: its nodes, ascending. Answers how many; 0 = none.
//   users   of all storages, counted
uint32_t vulkan_fuse(const tnp_slice *slice, const tnh_users *users, uint32_t last,
                     uint32_t nodes[VULKAN_MAX_UNIT_NODES]);

#endif
