// order.c: which of the steps that touch the arena of a lane happen before which: what the plan of
// its bytes may count on.
//
// The order of all steps of a run is that of their queues and waits. A lane sees the steps that
// touch its arena: its programs, unit by unit, and copies from it and to it, on whatever queue they
// run. Where each of them comes after the one before, they are a line like those of one device.
#include "base/error.h"
#include "exec/exec_internal.h"

typedef struct finding {
    const tni_compiled *compiled;
    uint32_t place;
    uint32_t queue_count;
    const uint32_t *done;   // [step of the run][queue]
    uint32_t *track_of;     // by queue; TNP_NONE: it touches nothing here
    uint32_t *queue_of;     // by track
    uint32_t *end_of;       // by step of the run: one past the last here of its queue so far
    uint32_t step_count, track_count;
} finding;

static bool touches(const tni_step *step, uint32_t place)
{
    if (place == TNI_STAGING)
        return step->kind != TNI_STEP_PROGRAM && step->is_staged;
    if (step->kind == TNI_STEP_PROGRAM || step->is_staged)
        return step->queue / TNI_QUEUES == place;
    return step->from == place || step->to == place;
}

static uint32_t steps_of(const finding *f, const tni_step *step)
{
    if (!touches(step, f->place))
        return 0;
    return step->kind == TNI_STEP_PROGRAM ? f->compiled->schedule.segments[step->segment].unit_count
                                          : 1;
}

// Counts, and gives each queue that touches the lane a track.
static bool find_tracks(finding *f, tni_arena *scratch)
{
    const tni_steps *steps = &f->compiled->steps;
    f->track_of = tni_arena_take_indices(scratch, f->queue_count);
    f->queue_of = tni_arena_take_array(scratch, f->queue_count, sizeof *f->queue_of);
    f->end_of = tni_arena_take_array(scratch, steps->step_count, sizeof *f->end_of);
    uint32_t *end = tni_arena_take_array(scratch, f->queue_count, sizeof *end);
    if (!f->track_of || !f->queue_of || !f->end_of || !end)
        return false;
    for (uint32_t s = 0; s < steps->step_count; s++) {
        uint32_t queue = steps->steps[s].queue, count = steps_of(f, &steps->steps[s]);
        if (count && f->track_of[queue] == TNP_NONE) {
            f->queue_of[f->track_count] = queue;
            f->track_of[queue] = f->track_count++;
        }
        f->step_count += count;
        if (count)
            end[queue] = f->step_count;
        f->end_of[s] = end[queue];
    }
    return true;
}

// The unit that a copy belongs to: the last of what made its bytes, or the first that needs them.
static uint32_t unit_of_copy(const finding *f, const tni_step *step)
{
    const tni_segment *segment = &f->compiled->schedule.segments[step->segment];
    return step->kind == TNI_STEP_IN ? segment->first_unit
                                     : segment->first_unit + segment->unit_count - 1;
}

static void fill(const finding *f, tni_lane_order *out, uint32_t *track, uint32_t *done)
{
    const tni_steps *steps = &f->compiled->steps;
    uint32_t at = 0;
    out->is_line = true;
    for (uint32_t s = 0; s < steps->step_count; s++) {
        const tni_step *step = &steps->steps[s];
        uint32_t count = steps_of(f, step), own = f->track_of[step->queue];
        const uint32_t *ended = f->done + (size_t)s * f->queue_count;
        if (count)
            out->of_step[s] = at;
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
            out->unit_of[at] = unit_of_copy(f, step);
            if (step->kind == TNI_STEP_PROGRAM) {
                out->unit_of[at] = f->compiled->schedule.segments[step->segment].first_unit + k;
                out->of_unit[out->unit_of[at]] = at;
            }
        }
    }
}

tn_status tni_order_find(const tn_session *session, const tni_compiled *compiled, uint32_t place,
                         tni_arena *scratch, tni_lane_order *out, tn_error *err)
{
    const tni_steps *steps = &compiled->steps;
    finding f = { .compiled = compiled,
                  .place = place,
                  .queue_count = session->lane_count * TNI_QUEUES };
    uint32_t *queues = tni_arena_take_array(scratch, steps->step_count, sizeof *queues);
    *out = (tni_lane_order){ 0 };
    for (uint32_t s = 0; queues && s < steps->step_count; s++)
        queues[s] = steps->steps[s].queue;
    if (!queues || !find_tracks(&f, scratch))
        return tni_fail_memory(err, "the order of steps", steps->step_count * sizeof *queues);
    tn_status status = tni_plan_order_done(steps->step_count, f.queue_count, queues, steps->waits,
                                           steps->wait_count, scratch, &f.done, err);
    if (status != TN_OK)
        return status;
    size_t cells = (size_t)f.step_count * f.track_count;
    uint32_t *track = tni_arena_take_array(scratch, f.step_count, sizeof *track);
    uint32_t *done = tni_arena_take_array(scratch, cells, sizeof *done);
    out->of_step = tni_arena_take_indices(scratch, steps->step_count);
    out->of_unit = tni_arena_take_indices(scratch, compiled->schedule.unit_count);
    out->unit_of = tni_arena_take_array(scratch, f.step_count, sizeof *out->unit_of);
    if (!track || !done || !out->of_step || !out->of_unit || !out->unit_of)
        return tni_fail_memory(err, "the order of steps", cells * sizeof *done);
    fill(&f, out, track, done);
    out->order = (tni_plan_order){
        .step_count = f.step_count, .track_count = f.track_count, .track = track, .done = done
    };
    return TN_OK;
}
