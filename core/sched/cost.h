// cost.h: what a copy between two places costs, and a segment more: the one place that knows.
#ifndef TNI_SCHED_COST_H
#define TNI_SCHED_COST_H

#include <stdbool.h>

#include "base/arena.h"

#include "plugin/host.h"

typedef enum tni_known_by { TNI_BY_DEFAULT, TNI_BY_PLUGIN, TNI_BY_MEASURE } tni_known_by;

// By pair of places, [from * place_count + to].
typedef struct tni_links {
    uint32_t place_count;
    uint8_t *known_by;   // a tni_known_by: of two halves the worse
    uint32_t *flags;     // TNP_LINK_…, as a plugin says that has both devices; else 0
    double *latency_ns;
    double *ns_per_byte;
    double *submit_ns;   // by place: what a segment there costs beside its work, as measured; 0 =
                         // nobody knows
} tni_links;

// A copy to a place lets a segment begin there that would not otherwise, and that costs a submit:
// as far as it was measured, the copy pays it. Of a device that was not measured it is taken to be
// in what the plugin says of claims and links.
static inline double tni_links_cost_ns(const tni_links *links, uint32_t from, uint32_t to,
                                       uint64_t bytes)
{
    size_t i = (size_t)from * links->place_count + to;
    return from == to ? 0
                      : links->latency_ns[i] + (double)bytes * links->ns_per_byte[i] +
                            links->submit_ns[to];
}

static inline uint32_t tni_links_flags(const tni_links *links, uint32_t from, uint32_t to)
{
    return links->flags[(size_t)from * links->place_count + to];
}

// What one segment more costs on a place, beside its work: as measured, or a default.
double tni_links_submit_ns(const tni_links *links, uint32_t place);

// Of a link that nobody knows.
double tni_transfer_cost_ns(uint64_t bytes);

// Links that are all like one that nobody knows. false: out of memory.
bool tni_links_default(uint32_t place_count, tni_arena *arena, tni_links *out);

// What was measured of opened devices, else what their plugins say, else the default. false: out of
// memory.
bool tni_links_find(tn_device *const *devices, uint32_t device_count, tni_arena *arena,
                    tni_links *out);

// A claim of a device costs so many times what it says: 1 until it was measured.
double tni_claim_factor(const tn_device *device);

#endif
