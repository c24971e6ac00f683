// cost.c: links between places.
//
// Where the numbers come from, the first that is known:
//   1. link(from, to) of the plugin, between two devices of one instance
//   2. link(from, NULL) and link(NULL, to), one after the other: through the host's memory
//   3. the default
#include "sched/cost.h"

// 8 GB/s and 10 us, a slow PCI Express slot.
static const double default_latency_ns = 10e3, default_ns_per_byte = 1.0 / 8;

double tni_transfer_cost_ns(uint64_t bytes)
{
    return default_latency_ns + (double)bytes * default_ns_per_byte;
}

bool tni_links_default(uint32_t place_count, tni_arena *arena, tni_links *out)
{
    size_t pairs = (size_t)place_count * place_count;
    out->place_count = place_count;
    out->latency_ns = tni_arena_take_array(arena, pairs, sizeof *out->latency_ns);
    out->ns_per_byte = tni_arena_take_array(arena, pairs, sizeof *out->ns_per_byte);
    if (!out->latency_ns || !out->ns_per_byte)
        return false;
    for (size_t i = 0; i < pairs; i++) {
        out->latency_ns[i] = default_latency_ns;
        out->ns_per_byte[i] = default_ns_per_byte;
    }
    return true;
}

// What a plugin says of a link of its own; NULL is the host. Whether it says anything.
static bool ask_link(const tn_device *whose, const tn_device *from, const tn_device *to,
                     tnp_link *out)
{
    *out = (tnp_link){ .size = sizeof *out };
    tnp_error ignored = tni_plugin_error();
    return whose->table->link && whose->opened &&
           whose->table->link(from ? from->opened : NULL, to ? to->opened : NULL, out, &ignored) ==
               TNP_OK &&
           out->bytes_per_s;
}

static void find_link(const tn_device *from, const tn_device *to, double *latency_ns,
                      double *ns_per_byte)
{
    tnp_link direct, up, down;
    bool is_one_plugin = from->table == to->table && from->instance == to->instance;
    if (is_one_plugin && from->opened && to->opened && ask_link(from, from, to, &direct) &&
        (direct.flags & TNP_LINK_COPY)) {
        *latency_ns = (double)direct.latency_ns;
        *ns_per_byte = 1e9 / (double)direct.bytes_per_s;
        return;
    }
    if (!ask_link(from, from, NULL, &up) || !ask_link(to, NULL, to, &down))
        return;
    *latency_ns = (double)up.latency_ns + (double)down.latency_ns;
    *ns_per_byte = 1e9 / (double)up.bytes_per_s + 1e9 / (double)down.bytes_per_s;
}

bool tni_links_find(tn_device *const *devices, uint32_t device_count, tni_arena *arena,
                    tni_links *out)
{
    if (!tni_links_default(device_count, arena, out))
        return false;
    for (uint32_t from = 0; from < device_count; from++)
        for (uint32_t to = 0; to < device_count; to++) {
            size_t i = (size_t)from * device_count + to;
            if (from != to)
                find_link(devices[from], devices[to], &out->latency_ns[i], &out->ns_per_byte[i]);
        }
    return true;
}
