// fit_demands.c: when nothing fits: what is demanded of which device, what that needs and what is
// free there, so that the demand can be changed.
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "exec/fit_internal.h"

typedef struct demanded {
    tni_resident_bytes *weights;
    uint32_t count, capacity;
    bool *states;   // by state
    uint64_t bytes;
} demanded;

// The constants and states of a graph that nodes touch which are demanded to be there.
static bool add_graph(tn_session *session, const tni_compiled *c, uint32_t place, demanded *d)
{
    const tn_graph *graph = c->graph;
    for (uint32_t n = 0; n < graph->node_count && c->rules; n++) {
        uint32_t values[TNI_MAX_READS + 1];
        uint32_t count = tni_node_touches(graph, &graph->nodes[n], values);
        for (uint32_t i = 0; i < count && c->rules[n].demand == UINT64_C(1) << place; i++) {
            uint32_t s = graph->values[values[i]].storage;
            const tni_value *owner = &graph->values[graph->storages[s].owner];
            if (c->state_of[s] != TNP_NONE)
                d->states[c->state_of[s]] = true;
            if (owner->source != TNI_WEIGHT || (c->mapped[s] >> place & 1) ||
                tni_fit_has_shared(session, place, owner->data))
                continue;
            if (!tni_grow(&session->arena.allocator, &d->weights, &d->capacity, d->count + 1,
                          sizeof *d->weights))
                return false;
            d->weights[d->count++] = (tni_resident_bytes){ .place = place,
                                                           .data = owner->data,
                                                           .run_bytes = owner->run_bytes,
                                                           .bytes = graph->storages[s].bytes };
        }
    }
    return true;
}

static bool find_demanded(tn_session *session, uint32_t place, demanded *d)
{
    tni_arena scratch;
    tni_arena_init(&scratch, &session->arena.allocator);
    *d = (demanded){ .states = tni_arena_take_array(&scratch, session->state_count,
                                                    sizeof *d->states) };
    bool has_memory = d->states != NULL;
    for (uint32_t g = 0; g < session->graph_count && has_memory; g++)
        has_memory = tni_fit_begin_graph(session, session->graphs[g], NULL) == TN_OK &&
                     add_graph(session, session->graphs[g], place, d);
    d->count = tni_resident_bytes_sort(d->weights, d->count);
    for (uint32_t i = 0; i < d->count; i++)
        d->bytes += d->weights[i].bytes;
    for (uint32_t i = 0; i < session->state_count && has_memory; i++)
        d->bytes += d->states[i] ? session->states[i].bytes : 0;
    tni_free(&session->arena.allocator, d->weights);
    tni_arena_finish(&scratch);
    d->weights = NULL;
    d->states = NULL;
    return has_memory;
}

bool tni_fit_demands_too_much(tn_session *session)
{
    if (tni_fit_start_again(session, NULL) != TN_OK)
        return false;
    for (uint32_t p = 0; p < session->lane_count; p++) {
        demanded d;
        if (tni_placement_demands(&session->placement, session->devices[p]) &&
            find_demanded(session, p, &d) && d.bytes > session->fit.free_bytes[p])
            return true;
    }
    return false;
}

uint32_t tni_fit_name_demands(const tni_placement *p, const tn_device *device, char *out,
                              size_t bytes)
{
    enum { MOST_NAMES = 3, MANY = 2 };
    uint32_t count = 0;
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < p->pin_count; i++) {
        if (p->pins[i].device != device)
            continue;
        if (count++ < MOST_NAMES) {
            tni_format_text(out + used, bytes - used, "%s'%.60s'", count > 1 ? ", " : "",
                            p->pins[i].value);
            used = strlen(out);
        }
    }
    if (count > MOST_NAMES) {
        tni_format_text(out + used, bytes - used, " and %" PRIu32 " more pinned value%s",
                        count - MOST_NAMES, count - MOST_NAMES == 1 ? "" : "s");
        used = strlen(out);
    }
    if (p->kv_device == device)
        tni_format_text(out + used, bytes - used, "%sthe states", count ? ", and " : "");
    return count + (p->kv_device == device ? MANY : 0);
}

// Devices that were named, when nothing else may be used: "a and b", those too that are left out.
static void name_devices(const tn_session *session, char *out, size_t bytes)
{
    uint32_t count = session->candidate_count;
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        tni_format_text(out + used, bytes - used, "%s%s",
                        i == 0           ? ""
                        : i + 1 == count ? " and "
                                         : ", ",
                        session->candidates[i].device->name);
        used = strlen(out);
    }
}

// What is free on the others: "b has 1000 bytes free, c has 2000". Answers how many tell it.
static uint32_t name_room(const tn_session *session, uint32_t without, char *out, size_t bytes)
{
    enum { MOST_NAMES = 4 };
    uint32_t count = 0;
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t p = 0; p < session->lane_count; p++) {
        if (p == without || session->fit.free_bytes[p] == UINT64_MAX || count++ >= MOST_NAMES)
            continue;
        tni_format_text(out + used, bytes - used, "%s%s has %" PRIu64 "%s", count > 1 ? ", " : "",
                        session->lanes[p].device->name, session->fit.free_bytes[p],
                        count > 1 ? "" : " bytes free");
        used = strlen(out);
    }
    if (count > MOST_NAMES)
        tni_format_text(out + used, bytes - used, " and %" PRIu32 " more", count - MOST_NAMES);
    return count;
}

static void add_to(tn_error *err, const char *text)
{
    tn_error before = *err;
    tni_fail(err, before.status, "%s; %s", before.text, text);
}

// The place that the error is of: not always the one that was short last.
static uint32_t find_told(const tn_session *session, const tn_error *err)
{
    for (uint32_t p = 0; p < session->lane_count && err; p++) {
        const char *name = session->devices[p]->name;
        size_t length = strlen(name);
        if (strncmp(err->text, name, length) == 0 && err->text[length] == ':')
            return p;
    }
    return session->fit.short_place;
}

void tni_fit_tell_demands(tn_session *session, tn_error *err)
{
    tni_fit *fit = &session->fit;
    uint32_t at = find_told(session, err);
    char names[300], text[400];
    for (uint32_t p = 0; p < session->lane_count && err; p++) {
        demanded d;
        if (!tni_placement_demands(&session->placement, session->devices[p]) ||
            !find_demanded(session, p, &d))
            continue;
        uint32_t count = tni_fit_name_demands(&session->placement, session->devices[p], names,
                                              sizeof names);
        if (d.bytes > fit->free_bytes[p]) {
            fit->short_place = p;
            tni_fail(
                err, TN_E_DEVICE_MEMORY,
                "placement: %s: %s: what is ordered to be there does not fit: %s need%s %" PRIu64
                " bytes, %" PRIu64 " are free",
                names[0] == '\'' ? "pins" : "kv_device", session->lanes[p].device->name, names,
                count == 1 ? "s" : "", d.bytes, fit->free_bytes[p]);
            return;
        }
        if (p == at && d.bytes) {
            tni_format_text(text, sizeof text,
                            "%" PRIu64 " bytes of it are ordered to be there: %s", d.bytes, names);
            add_to(err, text);
        }
    }
    if (!err || at == TNP_NONE)
        return;
    if (session->placement.split_mode != TN_SPLIT_NONE &&
        name_room(session, at, names, sizeof names)) {
        tni_format_text(text, sizeof text, "nor does it fit when others take a share: %s", names);
        add_to(err, text);
    }
    if (session->placement.main_device == session->devices[at])
        add_to(err, "all layers are to be there, on the main device");
    if (session->are_named) {
        bool is_one = session->candidate_count == 1;
        name_devices(session, names, sizeof names);
        tni_format_text(text, sizeof text, "%s %s the only device%s that may be used", names,
                        is_one ? "is" : "are", is_one ? "" : "s");
        add_to(err, text);
    }
}
