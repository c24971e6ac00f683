// order.c: which steps of a lane happen before which: what the plan of its bytes may count on.
//
// The order of all works of a run is that of their queues and waits. The steps of a lane are the
// units of its programs, and the copies from it and to it, on whatever queue they run. Where each
// of them comes after the one before, they are a line like those of one device.
#include "base/error.h"
#include "exec/session.h"

typedef struct finding {
    const tni_compiled *compiled;
    uint32_t place;
    uint32_t queue_count;
    const uint32_t *done;   // [work][queue]
    uint32_t *track_of;     // by queue; TNP_NONE: it touches nothing here
    uint32_t *queue_of;     // by track
    uint32_t *end_of;       // by work: one past the last step here of its queue so far
    uint32_t step_count, track_count;
} finding;

static bool touches(const tni_work *work, uint32_t place)
{
    if (place == TNI_STAGING)
        return work->kind != TNI_WORK_PROGRAM && work->is_staged;
    if (work->kind == TNI_WORK_PROGRAM || work->is_staged)
        return work->queue / TNI_QUEUES == place;
    return work->from == place || work->to == place;
}

static uint32_t steps_of(const finding *f, const tni_work *work)
{
    if (!touches(work, f->place))
        return 0;
    return work->kind == TNI_WORK_PROGRAM ? f->compiled->schedule.segments[work->segment].unit_count
                                          : 1;
}

// Counts, and gives each queue that touches the lane a track.
static bool find_tracks(finding *f, tni_arena *scratch)
{
    const tni_works *works = &f->compiled->way.works;
    f->track_of = tni_arena_take_indices(scratch, f->queue_count);
    f->queue_of = tni_arena_take_array(scratch, f->queue_count, sizeof *f->queue_of);
    f->end_of = tni_arena_take_array(scratch, works->count, sizeof *f->end_of);
    uint32_t *end = tni_arena_take_array(scratch, f->queue_count, sizeof *end);
    if (!f->track_of || !f->queue_of || !f->end_of || !end)
        return false;
    for (uint32_t w = 0; w < works->count; w++) {
        uint32_t queue = works->list[w].queue, count = steps_of(f, &works->list[w]);
        if (count && f->track_of[queue] == TNP_NONE) {
            f->queue_of[f->track_count] = queue;
            f->track_of[queue] = f->track_count++;
        }
        f->step_count += count;
        if (count)
            end[queue] = f->step_count;
        f->end_of[w] = end[queue];
    }
    return true;
}

// The unit that a copy belongs to: the last of what made its bytes, or the first that needs them.
static uint32_t unit_of_copy(const finding *f, const tni_work *work)
{
    const tni_segment *segment = &f->compiled->schedule.segments[work->segment];
    return work->kind == TNI_WORK_IN ? segment->first_unit
                                     : segment->first_unit + segment->unit_count - 1;
}

static void fill(const finding *f, tni_lane_order *out, uint32_t *track, uint32_t *done)
{
    const tni_works *works = &f->compiled->way.works;
    uint32_t at = 0;
    out->is_line = true;
    for (uint32_t w = 0; w < works->count; w++) {
        const tni_work *work = &works->list[w];
        uint32_t count = steps_of(f, work), own = f->track_of[work->queue];
        const uint32_t *ended = f->done + (size_t)w * f->queue_count;
        if (count)
            out->of_work[w] = at;
        for (uint32_t k = 0; k < count; k++, at++) {
            track[at] = own;
            for (uint32_t t = 0; t < f->track_count; t++) {
                uint32_t end = ended[f->queue_of[t]];
                done[(size_t)at * f->track_count + t] = end ? f->end_of[end - 1] : 0;
            }
            if (k)
                done[(size_t)at * f->track_count + own] = at;
            if (at && done[(size_t)at * f->track_count + track[at - 1]] < at)
                out->is_line = false;
            out->unit_of[at] = unit_of_copy(f, work);
            if (work->kind == TNI_WORK_PROGRAM) {
                out->unit_of[at] = f->compiled->schedule.segments[work->segment].first_unit + k;
                out->of_unit[out->unit_of[at]] = at;
            }
        }
    }
}

tn_status tni_order_of_works(const tn_session *session, const tni_compiled *compiled,
                             tni_arena *scratch, const uint32_t **out_done, tn_error *err)
{
    const tni_works *works = &compiled->way.works;
    uint32_t *queues = tni_arena_take_array(scratch, works->count, sizeof *queues);
    *out_done = NULL;
    if (!queues)
        return tni_fail_memory(err, "the order of works", works->count * sizeof *queues);
    for (uint32_t w = 0; w < works->count; w++)
        queues[w] = works->list[w].queue;
    return tni_plan_order_done(works->count, session->lane_count * TNI_QUEUES, queues, works->waits,
                               works->wait_count, scratch, out_done, err);
}

tn_status tni_order_find(const tn_session *session, const tni_compiled *compiled,
                         const uint32_t *works_done, uint32_t place, tni_arena *scratch,
                         tni_lane_order *out, tn_error *err)
{
    const tni_works *works = &compiled->way.works;
    finding f = { .compiled = compiled,
                  .place = place,
                  .queue_count = session->lane_count * TNI_QUEUES,
                  .done = works_done };
    *out = (tni_lane_order){ 0 };
    if (!find_tracks(&f, scratch))
        return tni_fail_memory(err, "the order of works", works->count * sizeof *f.end_of);
    size_t cells = (size_t)f.step_count * f.track_count;
    uint32_t *track = tni_arena_take_array(scratch, f.step_count, sizeof *track);
    uint32_t *done = tni_arena_take_array(scratch, cells, sizeof *done);
    out->of_work = tni_arena_take_indices(scratch, works->count);
    out->of_unit = tni_arena_take_indices(scratch, compiled->schedule.unit_count);
    out->unit_of = tni_arena_take_array(scratch, f.step_count, sizeof *out->unit_of);
    if (!track || !done || !out->of_work || !out->of_unit || !out->unit_of)
        return tni_fail_memory(err, "the order of works", cells * sizeof *done);
    fill(&f, out, track, done);
    out->order = (tni_plan_order){
        .step_count = f.step_count, .track_count = f.track_count, .track = track, .done = done
    };
    return TN_OK;
}
