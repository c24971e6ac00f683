// residents.c: which constants are on which lane, and which graphs use them. Each is made once per
// lane and shared by all graphs of the session. With the last graph that uses it, it goes: its
// bytes need not outlive that graph, and others may come to lie where they were.
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "exec/session.h"

// The same bytes may be two constants: a pack is also told by what the value makes of them.
tni_resident *tni_resident_find(tn_session *session, const tni_resident *wanted)
{
    for (uint32_t i = 0; i < session->resident_count; i++) {
        tni_resident *r = &session->residents[i];
        if (r->buffer && r->place == wanted->place && r->data == wanted->data &&
            r->bytes == wanted->bytes && r->run_bytes == wanted->run_bytes &&
            r->run_stride == wanted->run_stride && r->layout == wanted->layout &&
            r->dtype == wanted->dtype && !memcmp(r->dims, wanted->dims, sizeof r->dims) &&
            !memcmp(r->strides, wanted->strides, sizeof r->strides))
            return r;
    }
    return NULL;
}

// A free entry; NULL and an error when there is no memory.
static tni_resident *add_resident(tn_session *session, tn_error *err)
{
    for (uint32_t i = 0; i < session->resident_count; i++)
        if (!session->residents[i].buffer)
            return &session->residents[i];
    if (!tni_grow(&session->arena.allocator, &session->residents, &session->resident_capacity,
                  session->resident_count + 1, sizeof *session->residents)) {
        tni_fail_memory(err, "a table of weights",
                        (session->resident_count + 1) * sizeof *session->residents);
        return NULL;
    }
    return &session->residents[session->resident_count++];
}

static uint64_t *counter_of(tn_session *session, const tni_resident *r)
{
    return r->is_mapped ? &session->weight_mapped_bytes : &session->weight_copied_bytes;
}

tn_status tni_resident_keep(tn_session *session, const tni_resident *made,
                            tni_resident **out_resident, tn_error *err)
{
    tni_resident *r = add_resident(session, err);
    if (!r)
        return TN_E_HOST_MEMORY;
    *r = *made;
    *counter_of(session, r) += r->bytes;
    *out_resident = r;
    return TN_OK;
}

// Frees a buffer that no constant is in any more.
void tni_resident_release_buffer(tn_session *session, uint32_t place, tnp_buffer *buffer)
{
    for (uint32_t i = 0; i < session->resident_count; i++)
        if (session->residents[i].buffer == buffer)
            return;
    session->lanes[place].table->buffer_free(buffer);
}

static void release_resident(tn_session *session, tni_resident *r)
{
    tnp_buffer *buffer = r->buffer;
    uint32_t place = r->place;
    *counter_of(session, r) -= r->bytes;
    *r = (tni_resident){ .buffer = NULL };
    tni_resident_release_buffer(session, place, buffer);
}

// Room for one use more, before anything is made for it.
tn_status tni_resident_make_room(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    return tni_grow(&session->arena.allocator, &compiled->uses, &compiled->use_capacity,
                    compiled->use_count + 1, sizeof *compiled->uses)
               ? TN_OK
               : tni_fail_memory(err, "a table of weights",
                                 (compiled->use_count + 1) * sizeof *compiled->uses);
}

void tni_resident_use(tn_session *session, tni_compiled *compiled, tni_resident *r)
{
    compiled->uses[compiled->use_count++] = (uint32_t)(r - session->residents);
    r->uses++;
}

void tni_weights_release(tn_session *session, tni_compiled *compiled)
{
    for (uint32_t i = 0; i < compiled->use_count; i++) {
        tni_resident *r = &session->residents[compiled->uses[i]];
        if (--r->uses == 0)
            release_resident(session, r);
    }
    compiled->use_count = 0;
    tni_free(&session->arena.allocator, compiled->uses);
    compiled->uses = NULL;
}
