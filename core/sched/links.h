// links.h: what a copy between two places costs, and a segment more: the one place that knows.
#ifndef TNI_SCHED_LINKS_H
#define TNI_SCHED_LINKS_H

#include <stdbool.h>

#include "base/arena.h"

typedef enum tni_known_by {
    TNI_KNOWN_BY_DEFAULT,
    TNI_KNOWN_BY_PLUGIN,
    TNI_KNOWN_BY_MEASURE
} tni_known_by;

// By pair of places, [from * place_count + to].
typedef struct tni_links {
    uint32_t place_count;
    uint8_t *known_by;   // a tni_known_by: of two halves the worse
    uint32_t *flags;     // TNP_LINK_…, as a plugin says that has both devices; else 0
    double *latency_ns;
    double *ns_per_byte;
    double *measured_submit_ns;   // by place: what a segment there costs beside its work; 0 = it
                                  // was not measured
} tni_links;

// Links from one place, by the place that they lead to.
typedef struct tni_links_from {
    uint32_t from;
    const double *latency_ns, *ns_per_byte, *measured_submit_ns;
} tni_links_from;

static inline tni_links_from tni_links_from_place(const tni_links *links, uint32_t from)
{
    size_t row = (size_t)from * links->place_count;
    return (tni_links_from){ from, &links->latency_ns[row], &links->ns_per_byte[row],
                             links->measured_submit_ns };
}

// A copy to a place lets a segment begin there that would not otherwise, and that costs a submit:
// as far as it was measured, the copy pays it. Of a device that was not measured it is taken to be
// in what the plugin says of claims and links.
static inline double tni_links_from_cost_ns(tni_links_from row, uint32_t to, double bytes)
{
    return row.from == to
               ? 0
               : row.latency_ns[to] + bytes * row.ns_per_byte[to] + row.measured_submit_ns[to];
}

static inline double tni_links_cost_ns(const tni_links *links, uint32_t from, uint32_t to,
                                       uint64_t bytes)
{
    return tni_links_from_cost_ns(tni_links_from_place(links, from), to, (double)bytes);
}

static inline uint32_t tni_links_flags(const tni_links *links, uint32_t from, uint32_t to)
{
    return links->flags[(size_t)from * links->place_count + to];
}

// What one segment more costs on a place, beside its work: as measured, or a default.
double tni_links_submit_ns(const tni_links *links, uint32_t place);

// Links that are all like one that nobody knows. false: out of memory.
bool tni_links_default(uint32_t place_count, tni_arena *arena, tni_links *out);

#endif
