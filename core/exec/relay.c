// relay.c: how far a queue of one device has come, told to another device that cannot wait for it.
//
// For each queue that work of a lane waits for from afar, the lane has a mirror: a semaphore that
// the host raises as that of the queue is raised. So the work can be submitted ahead. A plugin that
// has notices tells by itself when it is time; else the calling thread waits (submit.c).
#include "base/error.h"
#include "exec/session.h"

static tni_lane *lane_of(const tni_relay *relay)
{
    return &relay->session->lanes[relay->place];
}

static const tni_lane *source_of(const tni_relay *relay)
{
    return &relay->session->lanes[relay->queue / TNI_QUEUES];
}

// Once more if it fails: what waits for this semaphore would wait for ever.
static void fail_mirror(const tni_lane *lane, uint32_t queue, tnp_status why, const char *text)
{
    tnp_error ignored = tni_plugin_error();
    if (lane->table->semaphore_fail(lane->mirrors[queue], why, text, &ignored) != TNP_OK)
        (void)lane->table->semaphore_fail(lane->mirrors[queue], why, text, &ignored);
}

static void reached(tnp_notice *notice, tnp_status status, const char *text)
{
    tni_relay *relay = notice->argument;
    tni_relays *relays = &relay->session->relays;
    tn_error why = { 0 };
    if (status != TNP_OK)
        fail_mirror(lane_of(relay), relay->queue, status, text);
    else
        (void)tni_relay_tell(relay, notice->value, &why);
    pthread_mutex_lock(&relays->lock);
    relays->lent--;
    pthread_cond_broadcast(&relays->came);
    pthread_mutex_unlock(&relays->lock);
}

void tni_relays_init(tni_relays *relays)
{
    *relays = (tni_relays){ .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER };
}

void tni_relays_finish(tni_relays *relays)
{
    pthread_cond_destroy(&relays->came);
    pthread_mutex_destroy(&relays->lock);
}

bool tni_relay_can_lend(const tni_relay *relay)
{
    return source_of(relay)->table->semaphore_notify && !source_of(relay)->is_inline;
}

static void count(tni_relays *relays, bool is_lent)
{
    pthread_mutex_lock(&relays->lock);
    relays->lent += is_lent ? 1 : UINT32_MAX;
    pthread_mutex_unlock(&relays->lock);
}

tn_status tni_relay_lend(tni_relay *relay, uint64_t value, tn_error *err)
{
    const tni_lane *from = source_of(relay);
    tnp_error plugin_error = tni_plugin_error();
    relay->notice = (tnp_notice){
        .size = sizeof relay->notice, .value = value, .reached = reached, .argument = relay
    };
    count(&relay->session->relays, true);   // it may come before the call returns
    tnp_status answer = from->table->semaphore_notify(
        from->queues[relay->queue % TNI_QUEUES].semaphore, &relay->notice, &plugin_error);
    if (answer == TNP_OK)
        return TN_OK;
    count(&relay->session->relays, false);
    return tni_lane_fail(from, "semaphore_notify", answer, &plugin_error, err);
}

tn_status tni_relay_tell(const tni_relay *relay, uint64_t value, tn_error *err)
{
    const tni_lane *lane = lane_of(relay);
    tnp_error plugin_error = tni_plugin_error();
    tnp_status answer = lane->table->semaphore_signal(lane->mirrors[relay->queue], value,
                                                      &plugin_error);
    if (answer == TNP_OK)
        return TN_OK;
    fail_mirror(lane, relay->queue, answer, plugin_error.text);
    return tni_lane_fail(lane, "semaphore_signal", answer, &plugin_error, err);
}

void tni_relays_wait(tni_relays *relays)
{
    pthread_mutex_lock(&relays->lock);
    while (relays->lent)
        pthread_cond_wait(&relays->came, &relays->lock);
    pthread_mutex_unlock(&relays->lock);
}

void tni_relays_give_up(tn_session *session)
{
    for (uint32_t i = 0; i < session->lane_count; i++)
        for (uint32_t q = 0; q < session->lanes[i].mirror_count; q++)
            if (session->lanes[i].mirrors[q])
                fail_mirror(&session->lanes[i], q, TNP_E_CANCELLED, "the run was given up");
}
