// residents.c: which constants the session uses on which lane, and for which graphs. Each is made
// once for a device and shared by all sessions of the runtime (plugin/residents.h). With the last
// graph that uses it the session does no more: the bytes need not outlive that graph.
#include "base/alloc.h"
#include "base/error.h"
#include "exec/session.h"

static tni_use *find_use(tn_session *session, uint32_t place, const tni_resident_key *key)
{
    for (uint32_t i = 0; i < session->use_count; i++) {
        tni_use *use = &session->uses[i];
        if (use->resident && use->place == place &&
            tni_resident_key_is_same(&use->resident->key, key))
            return use;
    }
    return NULL;
}

// Room for one use more, of the graph and of the session, before anything is made for it.
static tn_status make_room(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    const tn_allocator *allocator = &session->arena.allocator;
    size_t of_graph = compiled->use_count + 1, of_session = session->use_count + 1;
    return tni_grow(allocator, &compiled->uses, &compiled->use_capacity, compiled->use_count + 1,
                    sizeof *compiled->uses) &&
                   tni_grow(allocator, &session->uses, &session->use_capacity,
                            session->use_count + 1, sizeof *session->uses)
               ? TN_OK
               : tni_fail_memory(err, "a table of weights",
                                 of_graph * sizeof *compiled->uses +
                                     of_session * sizeof *session->uses);
}

static void add_to_graph(const tn_session *session, tni_compiled *compiled, tni_use *use)
{
    compiled->uses[compiled->use_count++] = (uint32_t)(use - session->uses);
    use->graphs++;
}

// There is room for it.
static tni_use *add_to_session(tn_session *session, uint32_t place, tni_resident *resident)
{
    uint32_t at = 0;
    while (at < session->use_count && session->uses[at].resident)
        at++;
    session->use_count += at == session->use_count;
    session->uses[at] = (tni_use){ .resident = resident, .place = place };
    return &session->uses[at];
}

tn_status tni_resident_use(tn_session *session, tni_compiled *compiled, uint32_t place,
                           const tni_resident_key *key, tni_resident **out_resident, tn_error *err)
{
    *out_resident = NULL;
    tn_status status = make_room(session, compiled, err);
    if (status != TN_OK)
        return status;
    tni_use *use = find_use(session, place, key);
    tni_resident *there = use ? NULL : tni_resident_take(session->lanes[place].device, key);
    if (there)
        use = add_to_session(session, place, there);
    if (!use)
        return TN_OK;
    add_to_graph(session, compiled, use);
    *out_resident = use->resident;
    return TN_OK;
}

tn_status tni_resident_keep(tn_session *session, tni_compiled *compiled, uint32_t place,
                            const tni_resident *made, tni_resident **out_resident, tn_error *err)
{
    *out_resident = tni_resident_enter(session->lanes[place].device, made, err);
    if (!*out_resident)
        return TN_E_HOST_MEMORY;
    add_to_graph(session, compiled, add_to_session(session, place, *out_resident));
    return TN_OK;
}

static void end_use(tn_session *session, tni_use *use)
{
    tni_resident_give_back(session->lanes[use->place].device, use->resident);
    *use = (tni_use){ .resident = NULL };
}

void tni_weights_release(tn_session *session, tni_compiled *compiled)
{
    for (uint32_t i = 0; i < compiled->use_count; i++) {
        tni_use *use = &session->uses[compiled->uses[i]];
        if (--use->graphs == 0)
            end_use(session, use);
    }
    compiled->use_count = 0;
    tni_free(&session->arena.allocator, compiled->uses);
    compiled->uses = NULL;
}

void tni_weights_report(const tn_session *session, uint32_t place, tni_weight_bytes *out_bytes)
{
    *out_bytes = (tni_weight_bytes){ 0 };
    for (uint32_t i = 0; i < session->use_count; i++) {
        const tni_use *use = &session->uses[i];
        const tni_resident *r = use->resident;
        if (!r || use->place != place)
            continue;
        *(r->packs       ? &out_bytes->cached
          : r->is_mapped ? &out_bytes->mapped
                         : &out_bytes->copied) += r->key.bytes;
        if (r->packs && r->packs->is_made)
            out_bytes->made += r->key.bytes;
        if (!r->is_mapped && !r->packs && tni_resident_is_shared(session->lanes[place].device, r))
            out_bytes->shared += r->key.bytes;
    }
}

// Packs of one program follow one another, and mostly are of one file.
tn_status tni_weights_check(const tn_session *session, tn_error *err)
{
    const tni_pack_map *seen = NULL;
    tn_error why;
    for (uint32_t i = 0; i < session->use_count; i++) {
        const tni_resident *r = session->uses[i].resident;
        if (!r || !r->packs || r->packs == seen)
            continue;
        seen = r->packs;
        tn_status status = tni_file_map_check(&seen->map, seen->path, &why);
        if (status != TN_OK)
            return tni_fail(err, status, "%s; the next session has packs made anew", why.text);
    }
    return TN_OK;
}
