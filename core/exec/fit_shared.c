// fit_shared.c: which constants of the graphs lie on the lanes already, since other sessions of the
// runtime use them: these take nothing more.
#include <stdlib.h>

#include "base/error.h"
#include "base/integer.h"
#include "exec/fit_internal.h"

typedef struct looking {
    tn_session *session;
    tni_arena scratch;
    uint32_t count;
    const void **data;   // of all values that are constants, sorted
} looking;

static int compare(const void *left, const void *right)
{
    const void *const *a = left, *const *b = right;
    return ((uintptr_t)*a > (uintptr_t)*b) - ((uintptr_t)*a < (uintptr_t)*b);
}

static tn_status list_constants(looking *l, tn_error *err)
{
    uint64_t most = 0;
    for (uint32_t g = 0; g < l->session->graph_count; g++)
        most += l->session->graphs[g]->given.graph->value_count;
    l->data = tni_arena_take_array(&l->scratch, most, sizeof *l->data);
    if (!l->data)
        return tni_fail_memory(err, "a table of weights", most * sizeof *l->data);
    for (uint32_t g = 0; g < l->session->graph_count; g++) {
        const tn_graph *graph = l->session->graphs[g]->given.graph;
        for (uint32_t v = 0; v < graph->value_count; v++) {
            const tni_value *value = &graph->values[v];
            const tni_value *owner = &graph->values[graph->storages[value->storage].owner];
            if (owner->source == TNI_WEIGHT)
                l->data[l->count++] = (const unsigned char *)owner->data + value->offset;
        }
    }
    if (l->count)
        qsort(l->data, l->count, sizeof *l->data, compare);
    return TN_OK;
}

// As tni_resident_bytes_of counts it.
static tni_resident_bytes bytes_of(const tni_lane *lane, const tni_resident_key *key)
{
    return (tni_resident_bytes){ .place = lane->place,
                                 .layout = key->layout,
                                 .data = key->data,
                                 .run_bytes = key->run_bytes,
                                 .group_rows = key->group_rows,
                                 .bytes = tni_lane_align(lane, key->bytes) };
}

static void note_shared(const looking *l, const tni_lane *lane)
{
    tni_fit *fit = &l->session->fit;
    for (uint32_t i = 0; i < lane->there_count && l->count; i++) {
        const tni_resident_key *key = &lane->there[i];
        if (!bsearch(&key->data, l->data, l->count, sizeof *l->data, compare))
            continue;
        const tni_resident_bytes bytes = bytes_of(lane, key);
        fit->there[lane->place] += bytes.bytes;
        fit->mapping_places |= UINT64_C(1) << lane->place;
        fit->shared[fit->shared_count++] = bytes;
    }
}

tn_status tni_fit_find_shared(tn_session *session, tn_error *err)
{
    tni_fit *fit = &session->fit;
    uint64_t most = 0;
    for (uint32_t i = 0; i < session->lane_count; i++)
        most += session->lanes[i].there_count;
    if (most == 0)
        return TN_OK;
    looking l = { .session = session };
    tni_arena_init(&l.scratch, &session->arena.allocator);
    tn_status status = list_constants(&l, err);
    fit->shared = tni_arena_take_array(&session->arena, most, sizeof *fit->shared);
    if (status == TN_OK && !fit->shared)
        status = tni_fail_memory(err, "a table of weights", most * sizeof *fit->shared);
    for (uint32_t i = 0; i < session->lane_count && status == TN_OK; i++)
        note_shared(&l, &session->lanes[i]);
    tni_arena_finish(&l.scratch);
    fit->shared_count = tni_resident_bytes_sort(fit->shared, fit->shared_count);
    return status;
}

bool tni_fit_is_shared(const tn_session *session, const tni_resident_bytes *what)
{
    const tni_fit *fit = &session->fit;
    return tni_resident_bytes_find(fit->shared, fit->shared_count, what) != TNP_NONE;
}

bool tni_fit_has_shared(const tn_session *session, uint32_t place, const void *data)
{
    const tni_fit *fit = &session->fit;
    for (uint32_t i = 0; i < fit->shared_count; i++)
        if (fit->shared[i].place == place && fit->shared[i].data == data)
            return true;
    return false;
}

uint64_t tni_fit_reach(const tn_session *session, uint32_t place)
{
    uint64_t bytes;
    return tni_add_u64(session->fit.free_bytes[place], session->fit.there[place], &bytes)
               ? bytes
               : UINT64_MAX;
}
