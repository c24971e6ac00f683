// spread.c: layers, or parts of layers, over the devices of a split, each within the bytes that it
// has room for.
//
// Whole layers stay in a row. What a device has no room for is first taken off its share and given
// to the others as their shares are; what rounding to whole layers leaves too much moves to the
// neighbour, on to the last device and then back to the first. A part, or what no part has, goes to
// the device with the most room left where its own has none: the last layers are the first to get
// their own.
#include "sched/placement.h"

typedef struct spreading {
    const tni_layers *layers;
    uint32_t first;                    // layer that is spread, up to the last
    uint32_t count;                    // devices
    uint32_t places[TNI_MAX_PLACES];   // of them
    double shares[TNI_MAX_PLACES];     // in bytes
    uint32_t ends[TNI_MAX_PLACES];     // layers from `first`
    uint64_t room[TNI_MAX_PLACES];     // by device; UINT64_MAX = no limit
} spreading;

// ----------------------------------------------------------------------------------- whole layers

static uint64_t bytes_between(const spreading *s, uint32_t begin, uint32_t end)
{
    uint64_t sum = 0;
    for (uint32_t i = begin; i < end; i++)
        sum += s->layers->bytes[s->first + i];
    return sum;
}

static bool is_over(const spreading *s, uint32_t d)
{
    uint32_t begin = d ? s->ends[d - 1] : 0;
    return begin < s->ends[d] &&
           (s->room[d] == 0 || bytes_between(s, begin, s->ends[d]) > s->room[d]);
}

// What shares exceed the room goes to those with room left, as their shares are. false: there is
// not as much room as the layers have bytes.
static bool level(spreading *s, double bytes)
{
    bool is_full[TNI_MAX_PLACES] = { false };
    for (bool has_changed = true; has_changed;) {
        double left = bytes, sum = 0;
        for (uint32_t d = 0; d < s->count; d++) {
            left -= is_full[d] ? (double)s->room[d] : 0;
            sum += is_full[d] ? 0 : s->shares[d];
        }
        if (sum <= 0)
            return left <= 0;
        has_changed = false;
        for (uint32_t d = 0; d < s->count; d++) {
            double share = is_full[d] ? (double)s->room[d] : s->shares[d] / sum * left;
            if (!is_full[d] && s->room[d] != UINT64_MAX && share > (double)s->room[d])
                has_changed = is_full[d] = true;
        }
        for (uint32_t d = 0; d < s->count && !has_changed; d++)
            s->shares[d] = is_full[d] ? (double)s->room[d] : s->shares[d] / sum * left;
    }
    return true;
}

static bool move_what_is_over(spreading *s)
{
    for (uint32_t d = 0; d + 1 < s->count; d++)
        while (is_over(s, d))
            s->ends[d]--;
    for (uint32_t d = s->count; d-- > 1;)
        while (is_over(s, d))
            s->ends[d - 1]++;
    bool fits = true;
    for (uint32_t d = 0; d < s->count; d++)
        fits = fits && !is_over(s, d);
    return fits;
}

// The devices of the split that have a share.
static void list_devices(const tni_placement *p, tn_device *const *devices, uint32_t device_count,
                         const uint64_t *free_bytes, spreading *s)
{
    bool is_told = true;
    for (uint32_t i = 0; i < p->split_count; i++) {
        uint32_t place = tni_place_of(devices, device_count, p->split[i]);
        double share = p->shares ? p->shares[i] : place == TNP_NONE ? 0 : (double)free_bytes[place];
        if (place == TNP_NONE || (p->shares && !(share > 0)))
            continue;
        is_told &= p->shares || free_bytes[place] != UINT64_MAX;
        s->places[s->count] = place;
        s->room[s->count] = s->layers->most_bytes[place];
        s->shares[s->count++] = share;
    }
    for (uint32_t i = 0; i < s->count && !is_told; i++)
        s->shares[i] = 1;
}

tni_spread tni_spread_layers(const tni_placement *p, tn_device *const *devices,
                             uint32_t device_count, const uint64_t *free_bytes, tni_arena *scratch,
                             tni_layers *layers)
{
    spreading s = { .layers = layers, .first = layers->count - layers->offloaded };
    list_devices(p, devices, device_count, free_bytes, &s);
    if (s.count == 0)   // the devices with a share are gone
        return TNI_SPREAD_DONE;
    if (!level(&s, (double)bytes_between(&s, 0, layers->offloaded)))
        return TNI_SPREAD_FULL;
    if (!tni_apportion(layers->bytes + s.first, layers->offloaded, s.shares, s.count, scratch,
                       s.ends))
        return TNI_SPREAD_NO_MEMORY;
    if (!move_what_is_over(&s))
        return TNI_SPREAD_FULL;
    for (uint32_t d = 0, i = 0; d < s.count; d++)
        for (; i < s.ends[d]; i++) {
            layers->wishes[s.first + i] = UINT64_C(1) << s.places[d];
            layers->given_bytes[s.places[d]] += layers->bytes[s.first + i];
        }
    return TNI_SPREAD_DONE;
}

// ------------------------------------------------------------------------------------------ parts

static bool has_room(const tni_layers *layers, uint32_t place, uint64_t bytes)
{
    uint64_t most = layers->most_bytes[place], given = layers->given_bytes[place];
    return most == UINT64_MAX || (most > given && most - given >= bytes);
}

// Where bytes that are for `own` go: there, or to the device of the split with the most room.
// TNP_NONE: none has room.
static uint32_t find_room(const tni_layers *layers, uint32_t own, uint64_t bytes)
{
    uint32_t found = TNP_NONE;
    if (has_room(layers, own, bytes))
        return own;
    for (uint32_t place = 0; place < TNI_MAX_PLACES; place++) {
        if (!(layers->split_places >> place & 1) || !has_room(layers, place, bytes))
            continue;
        if (found == TNP_NONE || layers->most_bytes[place] - layers->given_bytes[place] >
                                     layers->most_bytes[found] - layers->given_bytes[found])
            found = place;
    }
    return found;
}

static bool give(tni_layers *layers, uint32_t own, uint64_t bytes, uint64_t *wish)
{
    uint32_t place = find_room(layers, own, bytes);
    if (place == TNP_NONE)
        return false;
    layers->given_bytes[place] += bytes;
    *wish = UINT64_C(1) << place;
    return true;
}

tni_spread tni_spread_parts(const tni_placement *p, tn_device *const *devices,
                            uint32_t device_count, tni_layers *layers)
{
    uint32_t first = layers->count - layers->offloaded, parts = layers->part_count;
    bool fits = true;
    for (uint32_t i = layers->count; i-- > first && fits;) {
        const uint64_t *bytes = &layers->part_bytes[(size_t)i * (parts + 1)];
        if (layers->main_place != TNP_NONE)
            fits = give(layers, layers->main_place, bytes[parts], &layers->wishes[i]);
        for (uint32_t part = 0; part < parts && fits; part++) {
            uint64_t *wish = &layers->part_wishes[(size_t)i * parts + part];
            uint32_t own = tni_place_of(devices, device_count, p->split[part]);
            *wish = layers->split_places;
            if (own != TNP_NONE)
                fits = give(layers, own, bytes[part], wish);
        }
    }
    return fits ? TNI_SPREAD_DONE : TNI_SPREAD_FULL;
}
