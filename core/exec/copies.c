// copies.c: what the works of a run copy: values between devices, by way of the host where these do
// not copy from each other; inputs that are too large to come with a submit.
#include "base/error.h"
#include "base/integer.h"
#include "exec/groups.h"
#include "exec/session.h"

enum { ALIGNMENT = 64 };   // of a value in the host's bytes

static uint64_t bytes_of(const tni_compiled *compiled, uint32_t at)
{
    const tni_transfer *t = &compiled->schedule.transfers[compiled->way.works.transfers[at]];
    return compiled->graph->storages[t->storage].bytes;
}

// ----------------------------------------------------------------------------------------- staging

// The copy in that takes what a copy out has brought to the host.
static uint32_t find_partner(const tni_works *works, uint32_t out)
{
    uint32_t in = out + 1;
    while (works->list[in].kind != TNI_WORK_IN ||
           works->list[in].first_transfer != works->list[out].first_transfer)
        in++;
    return in;
}

// The transfers of a copy one behind the other; how many bytes they have.
static bool lay_out_work(const tni_compiled *compiled, const tni_work *work, uint64_t *out_bytes)
{
    *out_bytes = 0;
    for (uint32_t i = work->first_transfer; i < work->first_transfer + work->transfer_count; i++) {
        compiled->way.works.staging_offsets[i] = *out_bytes;
        if (!tni_add_u64(*out_bytes, bytes_of(compiled, i), out_bytes) ||
            !tni_align_u64(*out_bytes, ALIGNMENT, out_bytes))
            return false;
    }
    return true;
}

// Bytes may be used again as soon as the copy in that read them has ended before the next copy out.
static tn_status plan_staged(const tn_session *session, tni_compiled *compiled, uint32_t count,
                             tni_arena *scratch, tn_error *err)
{
    tni_works *works = &compiled->way.works;
    tni_lane_order order;
    const uint32_t *done;
    tn_status status = tni_order_of_works(session, compiled, scratch, &done, err);
    if (status == TN_OK)
        status = tni_order_find(session, compiled, done, TNI_STAGING, scratch, &order, err);
    if (status != TN_OK)
        return status;
    uint32_t tracks = order.order.track_count, made = 0;
    tni_interval *intervals = tni_arena_take_array(scratch, count, sizeof *intervals);
    uint32_t *ends = tni_arena_take_array(scratch, (size_t)count * tracks, sizeof *ends);
    if (!intervals || !ends)
        return tni_fail_memory(err, "a plan of copies", count * sizeof *intervals);
    for (uint32_t w = 0; w < works->count; w++) {
        const tni_work *work = &works->list[w];
        if (work->kind != TNI_WORK_OUT || !work->is_staged)
            continue;
        uint32_t first = order.of_work[w], last = order.of_work[find_partner(works, w)];
        uint32_t *own = ends + (size_t)made * tracks;
        intervals[made] = (tni_interval){ .first = first, .last = last, .in_place_of = TNP_NONE };
        own[order.order.track[first]] = first + 1;
        own[order.order.track[last]] = last + 1;
        if (!lay_out_work(compiled, work, &intervals[made].bytes))
            return tni_fail(err, TN_E_HOST_MEMORY, "the copies between devices exceed 2^64 bytes");
        made++;
    }
    order.order.ends = ends;
    const tni_plan_rules rules = { .alignment = ALIGNMENT,
                                   .order = order.is_line ? NULL : &order.order };
    tni_plan plan;
    status = tni_plan_pack(intervals, count, &rules, scratch, &plan, err);
#ifdef TN_CHECKED
    if (status == TN_OK)
        status = tni_plan_validate(intervals, count, &rules, &plan, scratch, err);
#endif
    made = 0;
    for (uint32_t w = 0; w < works->count && status == TN_OK; w++) {
        const tni_work *work = &works->list[w];
        if (work->kind != TNI_WORK_OUT || !work->is_staged)
            continue;
        for (uint32_t i = work->first_transfer; i < work->first_transfer + work->transfer_count;
             i++)
            works->staging_offsets[i] += plan.offsets[made];
        made++;
    }
    if (status == TN_OK)
        works->staging_bytes = plan.peak_bytes;
    return status;
}

tn_status tni_staging_plan(const tn_session *session, tni_compiled *compiled, tni_arena *scratch,
                           tn_error *err)
{
    tni_works *works = &compiled->way.works;
    uint32_t count = 0, transfers = compiled->schedule.transfer_count;
    for (uint32_t w = 0; w < works->count; w++)
        count += works->list[w].kind == TNI_WORK_OUT && works->list[w].is_staged;
    works->staging_offsets = tni_arena_take_array(&compiled->arena, transfers,
                                                  sizeof *works->staging_offsets);
    if (!works->staging_offsets)
        return tni_fail_memory(err, "a plan of copies", transfers * sizeof *works->staging_offsets);
    return count ? plan_staged(session, compiled, count, scratch, err) : TN_OK;
}

// ------------------------------------------------------------------------------------------ copies

typedef struct making {
    tn_session *session;
    tni_compiled *compiled;
    unsigned char *staging;
    tnp_copy *copies;   // of the work at hand
} making;

static bool take_copies(making *m, tni_work *work, uint32_t count)
{
    tni_arena *arena = &m->compiled->arena;
    m->copies = tni_arena_take_array(arena, count, sizeof *m->copies);
    work->copies = tni_arena_take_array(arena, count, sizeof(tnp_copy *));
    work->copy_count = count;
    for (uint32_t i = 0; m->copies && work->copies && i < count; i++) {
        m->copies[i] = (tnp_copy){ .size = sizeof(tnp_copy), .rows = 1 };
        work->copies[i] = &m->copies[i];
    }
    return m->copies && work->copies;
}

// Where a storage lies in the arena of a lane: in a buffer of the device that copies, or in the
// host's memory.
static void find_place(const making *m, uint32_t place, uint32_t storage, bool is_own,
                       tnp_buffer **out_buffer, uint64_t *out_offset, void **out_host)
{
    uint64_t offset = m->compiled->way.offsets[place][storage];
    const tni_chunk *chunk = tni_lane_chunk(&m->session->lanes[place], &offset);
    *out_buffer = is_own ? chunk->buffer : NULL;
    *out_offset = is_own ? offset : 0;
    *out_host = is_own ? NULL : (unsigned char *)chunk->map + offset;
}

static void make_copy(const making *m, const tni_work *work, uint32_t at, tnp_copy *copy)
{
    const tni_works *works = &m->compiled->way.works;
    uint32_t storage = m->compiled->schedule.transfers[works->transfers[at]].storage;
    bool is_in = work->kind == TNI_WORK_IN;
    bool is_direct = tni_route_is_direct(m->session, work->from, work->to);
    void *staging = m->staging + works->staging_offsets[at], *from_host = staging;
    copy->bytes = bytes_of(m->compiled, at);
    copy->to_host = staging;
    if (!is_in || !work->is_staged)
        find_place(m, work->from, storage, !is_in, &copy->from_buffer, &copy->from_offset,
                   &from_host);
    if (is_in || !work->is_staged)
        find_place(m, work->to, storage, is_in || is_direct, &copy->to_buffer, &copy->to_offset,
                   &copy->to_host);
    copy->from_host = from_host;
}

static tn_status make_copies(making *m, tni_work *work, tn_error *err)
{
    if (!take_copies(m, work, work->transfer_count))
        return tni_fail_memory(err, "copies", work->transfer_count * sizeof(tnp_copy));
    for (uint32_t i = 0; i < work->transfer_count; i++)
        make_copy(m, work, work->first_transfer + i, &m->copies[i]);
    return TN_OK;
}

static tn_status make_feeds(making *m, tni_work *work, tn_error *err)
{
    const tni_program *program = &m->compiled->programs[work->segment];
    void *no_host;
    if (!take_copies(m, work, program->fed_count))
        return tni_fail_memory(err, "copies", program->fed_count * sizeof(tnp_copy));
    for (uint32_t i = 0; i < program->fed_count; i++) {
        uint32_t storage = program->fed[i];
        m->copies[i].from_host = m->compiled->given.staging[storage];
        m->copies[i].bytes = m->compiled->graph->storages[storage].bytes;
        find_place(m, program->place, storage, true, &m->copies[i].to_buffer,
                   &m->copies[i].to_offset, &no_host);
    }
    return TN_OK;
}

tn_status tni_copies_make(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    tni_works *works = &compiled->way.works;
    making m = { .session = session, .compiled = compiled };
    uint32_t *signals = tni_arena_take_array(
        &compiled->arena, (size_t)session->lane_count * TNI_QUEUES, sizeof *signals);
    m.staging = tni_arena_take(&compiled->arena, works->staging_bytes);
    tn_status status = signals && m.staging
                           ? TN_OK
                           : tni_fail_memory(err, "the bytes of copies", works->staging_bytes);
    for (uint32_t w = 0; w < works->count && status == TN_OK; w++) {
        tni_work *work = &works->list[w];
        status = work->kind == TNI_WORK_PROGRAM ? make_feeds(&m, work, err)
                                                : make_copies(&m, work, err);
        // Inputs that a program is fed come right before it, with a signal of their own.
        signals[work->queue] += work->kind == TNI_WORK_PROGRAM && work->copy_count ? 2 : 1;
        work->signal = signals[work->queue];
    }
    return status;
}
