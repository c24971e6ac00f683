// arrange.c: the works of a graph and the addresses of its values, of two ways the better one.
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
#include "exec/session.h"

// Where each segment waits for the one before there is nothing to double.
static bool is_same(const tni_works *a, const tni_works *b)
{
    if (a->wait_count != b->wait_count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->list[i].queue != b->list[i].queue || a->list[i].segment != b->list[i].segment ||
            a->list[i].first_transfer != b->list[i].first_transfer)
            return false;
    for (uint32_t i = 0; i < a->wait_count; i++)
        if (a->waits[i].waiter != b->waits[i].waiter ||
            a->waits[i].waits_for != b->waits[i].waits_for)
            return false;
    return true;
}

// --------------------------------------------------------------------------------------- estimates

static double cost_of(const tni_compiled *compiled, const tni_work *work)
{
    const tni_schedule *s = &compiled->schedule;
    double cost = 0;
    uint64_t bytes = 0;
    if (work->kind == TNI_WORK_PROGRAM) {
        const tni_segment *segment = &s->segments[work->segment];
        for (uint32_t u = segment->first_unit; u < segment->first_unit + segment->unit_count; u++)
            cost += s->units[u]->cost_ns;
        return cost;
    }
    for (uint32_t i = work->first_transfer; i < work->first_transfer + work->transfer_count; i++)
        bytes += compiled->graph->storages[s->transfers[compiled->way.works.transfers[i]].storage]
                     .bytes;
    cost = tni_links_cost_ns(s->links, work->from, work->to, bytes);
    return work->is_staged ? cost / 2 : cost;   // out and in together
}

// By the cost model, from the first work to the last. Room for ends: by queue of the session, by
// work.
static double estimate_ns(const tn_session *session, const tni_compiled *compiled,
                          double *queue_ends, double *work_ends)
{
    const tni_works *works = &compiled->way.works;
    double latest = 0;
    for (uint32_t q = 0; q < session->lane_count * TNI_QUEUES; q++)
        queue_ends[q] = 0;
    for (uint32_t w = 0; w < works->count; w++) {
        const tni_work *work = &works->list[w];
        double begin = queue_ends[work->queue];
        for (uint32_t i = work->first_wait; i < work->first_wait + work->wait_count; i++) {
            double end = work_ends[works->waits[i].waits_for];
            begin = end > begin ? end : begin;
        }
        work_ends[w] = queue_ends[work->queue] = begin + cost_of(compiled, work);
        latest = work_ends[w] > latest ? work_ends[w] : latest;
    }
    return latest;
}

static bool fits(const tn_session *session, const tni_compiled *compiled)
{
    for (uint32_t i = 0; i < session->lane_count; i++) {
        const tni_lane *lane = &session->lanes[i];
        uint64_t room = session->is_reserved ? lane->arena_bytes : tni_fit_room(session, i, NULL);
        if (compiled->way.planned[i].plan.peak_bytes > room)
            return false;
    }
    return true;
}

static uint64_t peaks(const tn_session *session, const tni_compiled *compiled)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < session->lane_count; i++)
        sum += compiled->way.planned[i].plan.peak_bytes;
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
    tn_status status = tni_works_make(session, compiled, false, err);
    if (status == TN_OK)
        status = tni_layout(session, compiled, err);
    if (status != TN_OK || compiled->schedule.transfer_count == 0)
        return status;
    size_t count = (size_t)session->lane_count * TNI_QUEUES + compiled->way.works.count;
    double *ends = tni_arena_take_array(scratch, count, sizeof *ends);
    if (!ends)
        return tni_fail_memory(err, "an estimate of a run", count * sizeof *ends);
    const figures free = figures_of(session, compiled, ends);
    const tni_way first = compiled->way;
    compiled->way = (tni_way){ 0 };
    status = tni_works_make(session, compiled, true, err);
    if (status == TN_OK && is_same(&first.works, &compiled->way.works)) {
        compiled->way = first;
        return TN_OK;
    }
    if (status == TN_OK)
        status = tni_layout(session, compiled, err);
    if (status != TN_OK)
        return status;
    const figures doubled = figures_of(session, compiled, ends);
    if (!is_better(&doubled, &free))
        compiled->way = first;
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
