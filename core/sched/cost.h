// cost.h: what moving bytes between two places costs: the one place that knows.
#ifndef TNI_SCHED_COST_H
#define TNI_SCHED_COST_H

#include <stdbool.h>

#include "base/arena.h"

#include "plugin/host.h"

// By pair of places, [from * place_count + to].
typedef struct tni_links {
    uint32_t place_count;
    double *latency_ns;
    double *ns_per_byte;
} tni_links;

static inline double tni_links_cost_ns(const tni_links *links, uint32_t from, uint32_t to,
                                       uint64_t bytes)
{
    size_t i = (size_t)from * links->place_count + to;
    return from == to ? 0 : links->latency_ns[i] + (double)bytes * links->ns_per_byte[i];
}

// Of a link that nobody knows.
double tni_transfer_cost_ns(uint64_t bytes);

// Links that are all like one that nobody knows. false: out of memory.
bool tni_links_default(uint32_t place_count, tni_arena *arena, tni_links *out);

// What the plugins say of their opened devices; the default where they say nothing. false: out of
// memory.
bool tni_links_find(tn_device *const *devices, uint32_t device_count, tni_arena *arena,
                    tni_links *out);

#endif
