// cost.c: links between devices, and what their submits cost.
//
// Where the numbers of a link come from, the first that is known:
//   1. between two devices of one instance that copy directly: what was measured, or link(from, to)
//      of the plugin
//   2. through the host's memory, up and then down: of each half what was measured, or link(from,
//      NULL) and link(NULL, to)
//   3. the default (links.c)
// What was measured is that of `tenon tune` (core/plugin/measured.c).
#include "sched/cost.h"

// Whether a plugin tells how fast a link is; NULL is the host.
static bool ask_link(const tn_device *from, const tn_device *to, tnp_link *out)
{
    return tni_device_link(from, to, out) && out->bytes_per_s;
}

typedef struct half {
    double latency_ns, ns_per_byte;
    tni_known_by known_by;   // TNI_KNOWN_BY_DEFAULT: nothing is
} half;

// measured NULL, or without a bandwidth: nothing was.
static half find_half(const tni_link_figures *measured, bool is_told, const tnp_link *told)
{
    if (measured && measured->bytes_per_s)
        return (half){ (double)measured->latency_ns, 1e9 / (double)measured->bytes_per_s,
                       TNI_KNOWN_BY_MEASURE };
    if (is_told)
        return (half){ (double)told->latency_ns, 1e9 / (double)told->bytes_per_s,
                       TNI_KNOWN_BY_PLUGIN };
    return (half){ .known_by = TNI_KNOWN_BY_DEFAULT };
}

static void find_link(const tn_device *from, const tn_device *to, tni_links *out, size_t at)
{
    tnp_link direct, up, down;
    half whole;
    bool is_told = tni_device_is_beside(from, to) && to->opened &&
                   tni_device_link(from, to, &direct);
    out->flags[at] = is_told ? direct.flags : 0;
    if (is_told && direct.bytes_per_s && (direct.flags & TNP_LINK_COPY)) {
        whole = find_half(tni_measured_peer(from, to), true, &direct);
    } else {
        bool is_up_told = ask_link(from, NULL, &up), is_down_told = ask_link(NULL, to, &down);
        half first = find_half(&from->measured.up, is_up_told, &up);
        half second = find_half(&to->measured.down, is_down_told, &down);
        whole = (half){ first.latency_ns + second.latency_ns,
                        first.ns_per_byte + second.ns_per_byte,
                        first.known_by < second.known_by ? first.known_by : second.known_by };
    }
    if (whole.known_by == TNI_KNOWN_BY_DEFAULT)
        return;
    out->latency_ns[at] = whole.latency_ns;
    out->ns_per_byte[at] = whole.ns_per_byte;
    out->known_by[at] = (uint8_t)whole.known_by;
}

bool tni_links_find(tn_device *const *devices, uint32_t device_count, tni_arena *arena,
                    tni_links *out)
{
    if (!tni_links_default(device_count, arena, out))
        return false;
    for (uint32_t place = 0; place < device_count; place++)
        if (devices[place]->measured.is_there)
            out->measured_submit_ns[place] = (double)devices[place]->measured.submit_ns;
    for (uint32_t from = 0; from < device_count; from++)
        for (uint32_t to = 0; to < device_count; to++) {
            size_t i = (size_t)from * device_count + to;
            if (from != to)
                find_link(devices[from], devices[to], out, i);
        }
    return true;
}
