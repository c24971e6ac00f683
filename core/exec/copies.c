// copies.c: what the steps of a run copy: values between devices, by way of the host where these do
// not copy from each other; inputs that are too large to come with a submit.
#include "base/error.h"
#include "base/integer.h"
#include "exec/exec_internal.h"

enum { ALIGNMENT = 64 };   // of a value in the host's bytes

static uint64_t bytes_of_move(const tni_compiled *compiled, uint32_t move)
{
    const tni_transfer *t = &compiled->schedule.transfers[compiled->steps.moves[move]];
    return compiled->graph->storages[t->storage].bytes;
}

// ----------------------------------------------------------------------------------------- staging

// The copy in that takes what a copy out has brought to the host.
static uint32_t find_partner(const tni_steps *steps, uint32_t out)
{
    uint32_t in = out + 1;
    while (steps->steps[in].kind != TNI_STEP_IN ||
           steps->steps[in].first_move != steps->steps[out].first_move)
        in++;
    return in;
}

// The moves of a step one behind the other; how many bytes they have.
static bool lay_out_step(const tni_compiled *compiled, const tni_step *step, uint64_t *out_bytes)
{
    *out_bytes = 0;
    for (uint32_t i = step->first_move; i < step->first_move + step->move_count; i++) {
        compiled->steps.staging_offsets[i] = *out_bytes;
        if (!tni_add_u64(*out_bytes, bytes_of_move(compiled, i), out_bytes) ||
            !tni_align_u64(*out_bytes, ALIGNMENT, out_bytes))
            return false;
    }
    return true;
}

// Bytes may be used again as soon as the copy in that read them has ended before the next copy out.
static tn_status plan_staged(const tn_session *session, tni_compiled *compiled, uint32_t count,
                             tni_arena *scratch, tn_error *err)
{
    tni_steps *steps = &compiled->steps;
    tni_lane_order order;
    tn_status status = tni_order_find(session, compiled, TNI_STAGING, scratch, &order, err);
    if (status != TN_OK)
        return status;
    uint32_t tracks = order.order.track_count, made = 0;
    tni_interval *intervals = tni_arena_take_array(scratch, count, sizeof *intervals);
    uint32_t *ends = tni_arena_take_array(scratch, (size_t)count * tracks, sizeof *ends);
    if (!intervals || !ends)
        return tni_fail_memory(err, "a plan of copies", count * sizeof *intervals);
    for (uint32_t s = 0; s < steps->step_count; s++) {
        const tni_step *step = &steps->steps[s];
        if (step->kind != TNI_STEP_OUT || !step->is_staged)
            continue;
        uint32_t first = order.of_step[s], last = order.of_step[find_partner(steps, s)];
        uint32_t *own = ends + (size_t)made * tracks;
        intervals[made] = (tni_interval){ .first = first, .last = last, .in_place_of = TNP_NONE };
        own[order.order.track[first]] = first + 1;
        own[order.order.track[last]] = last + 1;
        if (!lay_out_step(compiled, step, &intervals[made].bytes))
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
    for (uint32_t s = 0; s < steps->step_count && status == TN_OK; s++) {
        const tni_step *step = &steps->steps[s];
        if (step->kind != TNI_STEP_OUT || !step->is_staged)
            continue;
        for (uint32_t i = step->first_move; i < step->first_move + step->move_count; i++)
            steps->staging_offsets[i] += plan.offsets[made];
        made++;
    }
    if (status == TN_OK)
        steps->staging_bytes = plan.peak_bytes;
    return status;
}

tn_status tni_staging_plan(const tn_session *session, tni_compiled *compiled, tni_arena *scratch,
                           tn_error *err)
{
    tni_steps *steps = &compiled->steps;
    uint32_t count = 0, moves = compiled->schedule.transfer_count;
    for (uint32_t s = 0; s < steps->step_count; s++)
        count += steps->steps[s].kind == TNI_STEP_OUT && steps->steps[s].is_staged;
    steps->staging_offsets = tni_arena_take_array(&compiled->arena, moves,
                                                  sizeof *steps->staging_offsets);
    if (!steps->staging_offsets)
        return tni_fail_memory(err, "a plan of copies", moves * sizeof *steps->staging_offsets);
    return count ? plan_staged(session, compiled, count, scratch, err) : TN_OK;
}

// ------------------------------------------------------------------------------------------ copies

typedef struct making {
    tn_session *session;
    tni_compiled *compiled;
    unsigned char *staging;
    tnp_copy *copies;   // of the step at hand
} making;

static bool take_copies(making *m, tni_step *step, uint32_t count)
{
    tni_arena *arena = &m->compiled->arena;
    m->copies = tni_arena_take_array(arena, count, sizeof *m->copies);
    step->copies = tni_arena_take_array(arena, count, sizeof(tnp_copy *));
    step->copy_count = count;
    for (uint32_t i = 0; m->copies && step->copies && i < count; i++) {
        m->copies[i] = (tnp_copy){ .size = sizeof(tnp_copy), .rows = 1 };
        step->copies[i] = &m->copies[i];
    }
    return m->copies && step->copies;
}

// Where a storage lies in the arena of a lane: in a buffer of the device that copies, or in the
// host's memory.
static void find_place(const making *m, uint32_t place, uint32_t storage, bool is_own,
                       tnp_buffer **out_buffer, uint64_t *out_offset, void **out_host)
{
    uint64_t offset = m->compiled->offsets[place][storage];
    const tni_chunk *chunk = tni_lane_chunk(&m->session->lanes[place], &offset);
    *out_buffer = is_own ? chunk->buffer : NULL;
    *out_offset = is_own ? offset : 0;
    *out_host = is_own ? NULL : (unsigned char *)chunk->map + offset;
}

static void make_move(const making *m, const tni_step *step, uint32_t move, tnp_copy *copy)
{
    const tni_steps *steps = &m->compiled->steps;
    uint32_t storage = m->compiled->schedule.transfers[steps->moves[move]].storage;
    bool is_in = step->kind == TNI_STEP_IN;
    bool is_direct = m->session->links[step->from * m->session->lane_count + step->to] &
                     TNP_LINK_COPY;
    void *staging = m->staging + steps->staging_offsets[move], *from_host = staging;
    copy->bytes = bytes_of_move(m->compiled, move);
    copy->to_host = staging;
    if (!is_in || !step->is_staged)
        find_place(m, step->from, storage, !is_in, &copy->from_buffer, &copy->from_offset,
                   &from_host);
    if (is_in || !step->is_staged)
        find_place(m, step->to, storage, is_in || is_direct, &copy->to_buffer, &copy->to_offset,
                   &copy->to_host);
    copy->from_host = from_host;
}

static tn_status make_moves(making *m, tni_step *step, tn_error *err)
{
    if (!take_copies(m, step, step->move_count))
        return tni_fail_memory(err, "copies", step->move_count * sizeof(tnp_copy));
    for (uint32_t i = 0; i < step->move_count; i++)
        make_move(m, step, step->first_move + i, &m->copies[i]);
    return TN_OK;
}

static tn_status make_feeds(making *m, tni_step *step, tn_error *err)
{
    const tni_program *program = &m->compiled->programs[step->segment];
    void *no_host;
    if (!take_copies(m, step, program->fed_count))
        return tni_fail_memory(err, "copies", program->fed_count * sizeof(tnp_copy));
    for (uint32_t i = 0; i < program->fed_count; i++) {
        uint32_t storage = program->fed[i];
        m->copies[i].from_host = m->compiled->staging[storage];
        m->copies[i].bytes = m->compiled->graph->storages[storage].bytes;
        find_place(m, program->place, storage, true, &m->copies[i].to_buffer,
                   &m->copies[i].to_offset, &no_host);
    }
    return TN_OK;
}

tn_status tni_copies_make(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    tni_steps *steps = &compiled->steps;
    making m = { .session = session, .compiled = compiled };
    uint32_t *signals = tni_arena_take_array(
        &compiled->arena, (size_t)session->lane_count * TNI_QUEUES, sizeof *signals);
    m.staging = tni_arena_take(&compiled->arena, steps->staging_bytes);
    tn_status status = signals && m.staging
                           ? TN_OK
                           : tni_fail_memory(err, "the bytes of copies", steps->staging_bytes);
    for (uint32_t s = 0; s < steps->step_count && status == TN_OK; s++) {
        tni_step *step = &steps->steps[s];
        status = step->kind == TNI_STEP_PROGRAM ? make_feeds(&m, step, err)
                                                : make_moves(&m, step, err);
        // Inputs that a program is fed come right before it, with a signal of their own.
        signals[step->queue] += step->kind == TNI_STEP_PROGRAM && step->copy_count ? 2 : 1;
        step->signal = signals[step->queue];
    }
    return status;
}
