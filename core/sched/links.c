// links.c: what links between places cost that nobody knows, and a submit.
#include "sched/links.h"

// 8 GB/s and 10 us, a slow PCI Express slot.
static const double default_latency_ns = 10e3, default_ns_per_byte = 1.0 / 8;

// Of a GPU behind a driver: to begin, and to be waited for.
static const double default_submit_ns = 25e3;

bool tni_links_default(uint32_t place_count, tni_arena *arena, tni_links *out)
{
    size_t pairs = (size_t)place_count * place_count;
    out->place_count = place_count;
    out->latency_ns = tni_arena_take_array(arena, pairs, sizeof *out->latency_ns);
    out->ns_per_byte = tni_arena_take_array(arena, pairs, sizeof *out->ns_per_byte);
    out->known_by = tni_arena_take_array(arena, pairs, sizeof *out->known_by);
    out->flags = tni_arena_take_array(arena, pairs, sizeof *out->flags);
    out->measured_submit_ns = tni_arena_take_array(arena, place_count,
                                                   sizeof *out->measured_submit_ns);
    if (!out->latency_ns || !out->ns_per_byte || !out->known_by || !out->flags ||
        !out->measured_submit_ns)
        return false;
    for (size_t i = 0; i < pairs; i++) {
        out->latency_ns[i] = default_latency_ns;
        out->ns_per_byte[i] = default_ns_per_byte;
    }
    return true;
}

double tni_links_submit_ns(const tni_links *links, uint32_t place)
{
    return links->measured_submit_ns[place] > 0 ? links->measured_submit_ns[place]
                                                : default_submit_ns;
}
