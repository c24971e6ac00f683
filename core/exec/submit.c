// submit.c: goes through the works of a run, from staged inputs to the last signal. Allocates,
// builds and plans nothing.
//
// Works go out in their order, each with what it waits for, so that the queues of all devices are
// filled ahead; but for those of a lane that computes inside submit. When all others are out, the
// calling thread comes to these, and to relays for which no notice comes: it waits for what they
// need, and runs or tells them in their order. It does so earlier when a queue is full.
#include "base/error.h"
#include "exec/session.h"

typedef struct walk {
    tn_session *session;
    const tni_compiled *compiled;
    const tni_works *works;
    uint32_t served;      // works before it that are the calling thread's to run or tell are done
    uint32_t culprit;     // lane of the first call that failed; TNP_NONE
    uint32_t waited_on;   // lane of a wait that failed: it, or what it waited for; TNP_NONE
} walk;

// What a call on a lane came to; the first failure of a run is the lane's.
static tn_status on_lane(walk *w, uint32_t place, tn_status status)
{
    if (status != TN_OK && w->culprit == TNP_NONE)
        w->culprit = place;
    return status;
}

static tni_lane *lane_of(const walk *w, uint32_t queue)
{
    return &w->session->lanes[queue / TNI_QUEUES];
}

static uint64_t value_of(const walk *w, const tni_work *work)
{
    return lane_of(w, work->queue)->queues[work->queue % TNI_QUEUES].begin + work->signal;
}

static tn_status wait_for(walk *w, uint32_t queue, uint64_t value, tn_error *err)
{
    tn_status status = tni_lane_wait(lane_of(w, queue), queue % TNI_QUEUES, value, err);
    if (status != TN_OK)
        w->waited_on = queue / TNI_QUEUES;
    return status;
}

// Where the points of a work stand. Works that the calling thread serves have room of their own: it
// may come to one while another waits for room in its queue.
static tnp_point *points_of(const walk *w, const tni_work *work)
{
    return w->works->points + (lane_of(w, work->queue)->is_inline ? w->works->most_waits : 0);
}

// The semaphores that a work waits for; waits itself for those of other devices if the calling
// thread will compute.
static tn_status find_points(walk *w, const tni_work *work, uint32_t *out_count, tn_error *err)
{
    uint32_t place = work->queue / TNI_QUEUES;
    tn_status status = TN_OK;
    *out_count = 0;
    for (uint32_t i = work->first_wait; i < work->first_wait + work->wait_count; i++) {
        const tni_work *other = &w->works->list[w->works->waits[i].waits_for];
        const tni_lane *lane = &w->session->lanes[place];
        tnp_semaphore *semaphore = NULL;
        if (tni_works_can_wait(w->session, place, other->queue))
            semaphore = lane_of(w, other->queue)->queues[other->queue % TNI_QUEUES].semaphore;
        else if (!lane->is_inline)
            semaphore = lane->mirrors[other->queue];
        else if (status == TN_OK)
            status = wait_for(w, other->queue, value_of(w, other), err);
        if (semaphore)
            points_of(w, work)[(*out_count)++] = (tnp_point){ semaphore, value_of(w, other) };
    }
    return status;
}

static tn_status serve(walk *w, uint32_t index, tn_error *err);

// Something has to end before the queue of this work takes more.
static tn_status make_room(walk *w, uint32_t index, bool *out_is_empty, tn_error *err)
{
    const tni_work *work = &w->works->list[index];
    if (w->served < index)
        return serve(w, w->served++, err);
    *out_is_empty = true;
    return wait_for(w, work->queue,
                    lane_of(w, work->queue)->queues[work->queue % TNI_QUEUES].signal, err);
}

// A call that gives work to the queue of a work. BUSY: it is called again when there is room.
typedef tnp_status (*give)(const walk *w, const tni_work *work, const tnp_sync *sync,
                           tnp_error *err);

static tnp_status give_copies(const walk *w, const tni_work *work, const tnp_sync *sync,
                              tnp_error *err)
{
    const tni_lane *lane = lane_of(w, work->queue);
    return lane->table->queue_copy(lane->queues[work->queue % TNI_QUEUES].queue, work->copies,
                                   work->copy_count, sync, err);
}

static tnp_status give_program(const walk *w, const tni_work *work, const tnp_sync *sync,
                               tnp_error *err)
{
    const tni_lane *lane = lane_of(w, work->queue);
    const tni_program *program = &w->compiled->programs[work->segment];
    bool is_all = lane->is_inline || w->works->count == 1;   // that is left to do
    tnp_submit one = { .size = sizeof one,
                       .flags = is_all ? TNP_SUBMIT_INLINE : 0,
                       .update_count = program->update_count,
                       .updates = program->updates,
                       .sync = sync,
                       .bound = program->bound };
    const tnp_submit *all[] = { &one };
    return lane->table->queue_submit(lane->queues[TNI_COMPUTE].queue, all, 1, err);
}

static tn_status give_until_taken(walk *w, uint32_t index, give call, const char *name,
                                  const tnp_point *waits, uint32_t wait_count, uint64_t signal,
                                  tn_error *err)
{
    const tni_work *work = &w->works->list[index];
    tni_lane *lane = lane_of(w, work->queue);
    tni_queue *queue = &lane->queues[work->queue % TNI_QUEUES];
    tnp_error plugin_error = tni_plugin_error();
    tnp_point point = { queue->semaphore, signal };
    tnp_sync sync = { .size = sizeof sync,
                      .wait_count = wait_count,
                      .signal_count = 1,
                      .waits = waits,
                      .signals = &point,
                      .run = w->session->run };
    bool is_empty = false;
    tnp_status answer = call(w, work, &sync, &plugin_error);
    while (answer == TNP_E_BUSY && !is_empty) {
        tn_status status = make_room(w, index, &is_empty, err);
        if (status != TN_OK)
            return status;
        answer = call(w, work, &sync, &plugin_error);
    }
    if (answer != TNP_OK)
        return on_lane(w, work->queue / TNI_QUEUES,
                       tni_lane_fail_work(lane, name, answer, &plugin_error, err));
    queue->signal = signal;
    return TN_OK;
}

static tn_status lend_relays(walk *w, const tni_work *work, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < work->relay_count && status == TN_OK; i++) {
        tni_relay *relay = &w->works->relays[work->first_relay + i];
        if (tni_relay_can_lend(relay))
            status = on_lane(w, work->queue / TNI_QUEUES,
                             tni_relay_lend(relay, value_of(w, work), err));
    }
    return status;
}

static tn_status issue(walk *w, uint32_t index, tn_error *err)
{
    const tni_work *work = &w->works->list[index];
    uint64_t signal = value_of(w, work);
    bool is_program = work->kind == TNI_WORK_PROGRAM;
    uint32_t wait_count = 0;
    tn_status status = TN_OK;
    if (is_program && work->copy_count)
        status = give_until_taken(w, index, give_copies, "copy", NULL, 0, signal - 1, err);
    if (status == TN_OK)
        status = find_points(w, work, &wait_count, err);
    if (status == TN_OK)
        status = give_until_taken(w, index, is_program ? give_program : give_copies,
                                  is_program ? "submit" : "copy", points_of(w, work), wait_count,
                                  signal, err);
    return status == TN_OK ? lend_relays(w, work, err) : status;
}

// What of a work is left to the calling thread: to run it, and to tell of it.
static tn_status serve(walk *w, uint32_t index, tn_error *err)
{
    const tni_work *work = &w->works->list[index];
    tn_status status = TN_OK;
    if (lane_of(w, work->queue)->is_inline)
        status = issue(w, index, err);
    for (uint32_t i = 0; i < work->relay_count && status == TN_OK; i++) {
        const tni_relay *relay = &w->works->relays[work->first_relay + i];
        if (tni_relay_can_lend(relay))
            continue;
        status = wait_for(w, work->queue, value_of(w, work), err);
        if (status == TN_OK)
            status = on_lane(w, relay->place, tni_relay_tell(relay, value_of(w, work), err));
    }
    return status;
}

static tn_status go_through(walk *w, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < w->works->count && status == TN_OK; i++)
        if (!lane_of(w, w->works->list[i].queue)->is_inline)
            status = issue(w, i, err);
    while (w->served < w->works->count && status == TN_OK)
        status = serve(w, w->served++, err);
    for (uint32_t q = 0; q < w->session->lane_count * TNI_QUEUES && status == TN_OK; q++) {
        const tni_queue *queue = &lane_of(w, q)->queues[q % TNI_QUEUES];
        if (queue->signal != queue->begin)
            status = wait_for(w, q, queue->signal, err);
    }
    if (status == TN_OK)
        tni_relays_wait(&w->session->relays);
    return status;
}

// ---------------------------------------------------------------------------------------- failures

// Of all that failed the first work: the rest may have failed because it did. What the host itself
// let go did not fail.
static void find_cause(walk *w, tn_error *err)
{
    for (uint32_t i = 0; i < w->works->count; i++) {
        const tni_work *work = &w->works->list[i];
        const tni_queue *queue = &lane_of(w, work->queue)->queues[work->queue % TNI_QUEUES];
        tn_error why = { 0 };
        if (value_of(w, work) > queue->signal ||
            tni_lane_wait(lane_of(w, work->queue), work->queue % TNI_QUEUES, value_of(w, work),
                          &why) == TN_OK ||
            why.status == TN_E_CANCELLED || w->culprit != TNP_NONE)
            continue;
        w->culprit = work->queue / TNI_QUEUES;
        if (err)
            *err = why;
    }
    if (w->culprit == TNP_NONE)
        w->culprit = w->waited_on;
}

// Other calls have failed meanwhile, on any thread: this one is the first.
static void blame(const walk *w)
{
    if (w->culprit != TNP_NONE)
        atomic_store(&w->session->blamed, w->culprit);
}

// Waits for all that runs, and leaves a session that can run again.
static tn_status recover(walk *w, tn_status status, tn_error *err)
{
    tn_error first = err ? *err : (tn_error){ 0 };
    bool is_known = w->culprit != TNP_NONE;
    first.status = status;
    tni_relays_give_up(w->session);
    find_cause(w, is_known ? NULL : &first);
    tni_relays_wait(&w->session->relays);   // they name semaphores
    for (uint32_t i = 0; i < w->session->lane_count; i++)
        tni_lane_recover(&w->session->lanes[i]);
    blame(w);
    if (err)
        *err = first;
    return first.status;
}

static tn_status begin(walk *w, tn_error *err)
{
    tn_session *session = w->session;
    tn_status status = TN_OK;
    session->run++;
    session->last_graph = TNP_NONE;
    for (uint32_t i = 0; i < session->lane_count && status == TN_OK; i++) {
        tni_lane *lane = &session->lanes[i];
        status = on_lane(w, i, tni_lane_mend(lane, err));
        for (uint32_t r = 0; r < TNI_QUEUES; r++)
            lane->queues[r].begin = lane->queues[r].signal;
    }
    return status;
}

static tn_status run_once(tn_session *session, const tni_compiled *compiled, tn_error *err)
{
    walk w = { .session = session,
               .compiled = compiled,
               .works = &compiled->way.works,
               .culprit = TNP_NONE,
               .waited_on = TNP_NONE };
    tn_status status = begin(&w, err);
    if (status != TN_OK) {
        blame(&w);
        return status;
    }
    status = go_through(&w, err);
    if (status != TN_OK)
        return recover(&w, status, err);
    session->last_graph = compiled->given.number;
    return TN_OK;
}

tn_status tni_run_once(tn_session *session, const tni_compiled *compiled, tn_error *err)
{
    session->running = compiled;
    tn_status status = run_once(session, compiled, err);
    session->running = NULL;
    return status;
}
