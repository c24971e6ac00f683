// arrange.c: the steps of a graph and the addresses of its values, of two ways the better one.
//
//   free      a copy runs as soon as its bytes are made: what comes in for later programs lies
//             beside all that are before them
//   doubled   a copy into a lane waits for the program before the last one before its reader, and
//             a program for the copies of what the one before the last has made: two buffers, one
//             that is used and one that is filled or emptied
//
// Doubled buffers take less memory. They are used where the run takes no longer, as far as the cost
// model tells, and where nothing else fits.
#include "base/error.h"
#include "exec/exec_internal.h"

typedef struct way {
    tni_steps steps;
    uint64_t **offsets, **scratch;
    tni_planned *planned;
} way;

static way take_way(tni_compiled *compiled)
{
    const way w = { compiled->steps, compiled->offsets, compiled->scratch, compiled->planned };
    compiled->steps = (tni_steps){ 0 };
    return w;
}

static void put_way(tni_compiled *compiled, const way *w)
{
    compiled->steps = w->steps;
    compiled->offsets = w->offsets;
    compiled->scratch = w->scratch;
    compiled->planned = w->planned;
}

// Where each segment waits for the one before there is nothing to double.
static bool is_same(const tni_steps *a, const tni_steps *b)
{
    if (a->wait_count != b->wait_count)
        return false;
    for (uint32_t s = 0; s < a->step_count; s++)
        if (a->steps[s].queue != b->steps[s].queue || a->steps[s].segment != b->steps[s].segment ||
            a->steps[s].first_move != b->steps[s].first_move)
            return false;
    for (uint32_t w = 0; w < a->wait_count; w++)
        if (a->waits[w].step != b->waits[w].step || a->waits[w].waits_for != b->waits[w].waits_for)
            return false;
    return true;
}

// --------------------------------------------------------------------------------------- estimates

static double cost_of_step(const tni_compiled *compiled, const tni_step *step)
{
    const tni_schedule *s = &compiled->schedule;
    double cost = 0;
    uint64_t bytes = 0;
    if (step->kind == TNI_STEP_PROGRAM) {
        const tni_segment *segment = &s->segments[step->segment];
        for (uint32_t u = segment->first_unit; u < segment->first_unit + segment->unit_count; u++)
            cost += s->units[u]->cost_ns;
        return cost;
    }
    for (uint32_t i = step->first_move; i < step->first_move + step->move_count; i++)
        bytes += compiled->graph->storages[s->transfers[compiled->steps.moves[i]].storage].bytes;
    cost = tni_links_cost_ns(&s->links, step->from, step->to, bytes);
    return step->is_staged ? cost / 2 : cost;   // out and in together
}

// By the cost model, from the first step to the last. Room for ends: by queue of the session, by
// step.
static double estimate_ns(const tn_session *session, const tni_compiled *compiled,
                          double *queue_ends, double *step_ends)
{
    const tni_steps *steps = &compiled->steps;
    double latest = 0;
    for (uint32_t q = 0; q < session->lane_count * TNI_QUEUES; q++)
        queue_ends[q] = 0;
    for (uint32_t s = 0; s < steps->step_count; s++) {
        const tni_step *step = &steps->steps[s];
        double begin = queue_ends[step->queue];
        for (uint32_t w = step->first_wait; w < step->first_wait + step->wait_count; w++) {
            double end = step_ends[steps->waits[w].waits_for];
            begin = end > begin ? end : begin;
        }
        step_ends[s] = queue_ends[step->queue] = begin + cost_of_step(compiled, step);
        latest = step_ends[s] > latest ? step_ends[s] : latest;
    }
    return latest;
}

static bool fits(const tn_session *session, const tni_compiled *compiled)
{
    for (uint32_t i = 0; i < session->lane_count; i++) {
        const tni_lane *lane = &session->lanes[i];
        uint64_t room = session->is_reserved ? lane->arena_bytes : tni_fit_room(session, i, NULL);
        if (compiled->planned[i].plan.peak_bytes > room)
            return false;
    }
    return true;
}

static uint64_t peaks(const tn_session *session, const tni_compiled *compiled)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < session->lane_count; i++)
        sum += compiled->planned[i].plan.peak_bytes;
    return sum;
}

// ------------------------------------------------------------------------------------------ choice

typedef struct figures {
    bool fits;
    uint64_t bytes;
    double ns;
} figures;

static figures figures_of(const tn_session *session, const tni_compiled *compiled, double *ends)
{
    return (figures){ fits(session, compiled), peaks(session, compiled),
                      estimate_ns(session, compiled, ends,
                                  ends + (size_t)session->lane_count * TNI_QUEUES) };
}

static bool is_better(const figures *doubled, const figures *free)
{
    const double SLACK = 1 + 1e-9;   // of sums in another order
    if (doubled->fits != free->fits)
        return doubled->fits;
    return doubled->bytes < free->bytes && doubled->ns <= free->ns * SLACK;
}

static tn_status arrange(tn_session *session, tni_compiled *compiled, tni_arena *scratch,
                         tn_error *err)
{
    tn_status status = tni_steps_make(session, compiled, false, err);
    if (status == TN_OK)
        status = tni_layout(session, compiled, err);
    if (status != TN_OK || compiled->schedule.transfer_count == 0)
        return status;
    size_t count = (size_t)session->lane_count * TNI_QUEUES + compiled->steps.step_count;
    double *ends = tni_arena_take_array(scratch, count, sizeof *ends);
    if (!ends)
        return tni_fail_memory(err, "an estimate of a run", count * sizeof *ends);
    const figures free = figures_of(session, compiled, ends);
    const way first = take_way(compiled);
    status = tni_steps_make(session, compiled, true, err);
    if (status == TN_OK && is_same(&first.steps, &compiled->steps)) {
        put_way(compiled, &first);
        return TN_OK;
    }
    if (status == TN_OK)
        status = tni_layout(session, compiled, err);
    if (status != TN_OK)
        return status;
    const figures doubled = figures_of(session, compiled, ends);
    if (!is_better(&doubled, &free))
        put_way(compiled, &first);
    return TN_OK;
}

tn_status tni_arrange(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    tni_arena scratch;
    tni_arena_init(&scratch, &session->arena.allocator);
    tn_status status = arrange(session, compiled, &scratch, err);
    tni_arena_finish(&scratch);
    return status == TN_OK ? tni_layout_reserve(session, compiled, err) : status;
}
