// hang.c: a device from which nothing comes.
//
// A wait is cut into two halves of the time there is. After the first one it is noted how far all
// queues of the session have come; when the second one finds the same, the first work of the run
// that is not over is to blame: works come in an order in which they can run, so that all that it
// waits for is over.
#include "exec/hang.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/error.h"
#include "exec/session.h"

static const double times_expected = 20;   // that a run may take: costs are rough

static uint64_t read_value(const tni_lane *lane, uint32_t role)
{
    uint64_t value = 0;
    tnp_error ignored = tni_plugin_error();
    tnp_semaphore *semaphore = lane->queues[role].semaphore;
    if (!semaphore || lane->table->semaphore_read(semaphore, &value, &ignored) != TNP_OK)
        return UINT64_MAX;   // it has failed, and holds nobody up
    return value;
}

static uint64_t progress(const tn_session *session)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < session->lane_count; i++)
        for (uint32_t r = 0; r < TNI_QUEUES; r++)
            sum += read_value(&session->lanes[i], r);
    return sum;
}

static uint64_t half_ns(const tn_session *session)
{
    uint64_t least = tni_runtime_hang_timeout_ns(session->runtime);
    double expected = session->running ? times_expected * session->running->schedule.cost_ns : 0;
    return (expected > (double)least && expected < 1e18 ? (uint64_t)expected : least) / 2 + 1;
}

static tni_lane *find_held_up(tn_session *session)
{
    const tni_works *works = &session->running->way.works;
    for (uint32_t i = 0; i < works->count; i++) {
        uint32_t role = works->list[i].queue % TNI_QUEUES;
        tni_lane *lane = &session->lanes[works->list[i].queue / TNI_QUEUES];
        uint64_t value = lane->queues[role].begin + works->list[i].signal;
        if (value <= lane->queues[role].signal && read_value(lane, role) < value)
            return lane;
    }
    return NULL;
}

// false: there is nobody more to give up.
static bool give_up(tn_session *session, const tni_lane *waiting)
{
    tni_lane *lane = session->running ? find_held_up(session) : NULL;
    if (!lane)
        lane = &session->lanes[waiting->place];
    if (lane->is_given_up)
        return false;
    lane->is_given_up = true;
    session->has_given_up = true;
    tni_device_abandon(lane->device);
    tni_relays_give_up(session);   // work elsewhere that waits for it
    return true;
}

tnp_status tni_hang_wait(const tni_lane *lane, tnp_semaphore *semaphore, uint64_t value,
                         tnp_error *err)
{
    tn_session *session = lane->session;
    uint64_t noted = 0;
    for (bool is_noted = false;;) {
        uint64_t half = half_ns(session), begin = tni_now_ns();
        tnp_status answer = lane->table->semaphore_wait(semaphore, value, half, err);
        if (answer != TNP_E_TIMEOUT || tni_now_ns() - begin < half / 2)   // its own failure
            return answer;
        uint64_t now = progress(session);
        if (is_noted && now == noted && !give_up(session, lane))
            return answer;
        is_noted = !(is_noted && now == noted);
        noted = now;
    }
}

tn_status tni_hang_fail(const tni_lane *lane, const char *call, tn_error *err)
{
    return tni_fail(err, TN_E_DEVICE_LOST,
                    "%s: %s: nothing came of it for %" PRIu64 " ms: it is given up, as lost",
                    lane->device->name, call, half_ns(lane->session) / 500000);
}

bool tni_hang_has(const tni_lane *lane)
{
    return lane->is_given_up || (atomic_load(&lane->device->is_abandoned) && !lane->was_abandoned);
}

bool tni_hang_is_any(const tn_session *session)
{
    bool is_any = false;
    for (uint32_t i = 0; i < session->lane_count; i++)
        is_any |= tni_hang_has(&session->lanes[i]);
    return is_any;
}
