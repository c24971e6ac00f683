// failover.c: how a session goes on when one of its devices fails.
//
// A call that fails is tried once more, with states and outputs as the journal makes them again. A
// device that is lost, or fails again, is left out: all that was made for devices is given back and
// made anew on those that are left.
#include <inttypes.h>

#include "base/error.h"
#include "exec/session.h"

// Whose call failed, where the session may go on without; else NULL.
static tni_candidate *take_blamed(tn_session *session, tn_status status)
{
    uint32_t place;
    return tni_candidates_may_go_on(session, status) ? tni_candidates_take_culprit(session, &place)
                                                     : NULL;
}

tn_status tni_failover_check(const tn_session *session, tn_error *err)
{
    return session->failure.status == TN_OK
               ? TN_OK
               : tn_error_set(err, session->failure.status, session->failure.text);
}

static tn_status begin(tn_session *session, tn_error *err)
{
    tn_status status = tni_failover_check(session, err);
    if (status != TN_OK)
        return status;
    tni_candidates_blame_nobody(session);
    for (uint32_t i = 0; i < session->candidate_count; i++)
        session->candidates[i].has_another = false;
    return TN_OK;
}

static tn_status give_up(tn_session *session, const tn_error *first, tn_error *err)
{
    tn_error failure = *first;
    if (session->candidate_count > 1)
        tni_candidates_fail_twice(first, err, &failure);
    tni_session_unmake(session);
    tni_events_add(session, TN_EVENT_STOPPED, NULL, failure.status, 0, failure.text);
    session->failure = failure;
    return tn_error_set(err, failure.status, failure.text);
}

static bool has_segments(const tn_session *session, uint32_t place)
{
    for (uint32_t g = 0; g < session->graph_count; g++) {
        const tni_schedule *s = &session->graphs[g]->schedule;
        for (uint32_t i = 0; i < s->segment_count; i++)
            if (s->segments[i].place == place)
                return true;
    }
    return false;
}

static void tell_repeated(tn_session *session)
{
    char text[300];
    const char *names[2] = { "", "" };
    uint32_t count = 0;
    for (uint32_t p = 0; p < session->lane_count; p++)
        if (has_segments(session, p) && count++ < 2)
            names[count - 1] = session->lanes[p].device->name;
    tni_format_text(text, sizeof text, "%" PRIu64 " run%s %s repeated on %s%s%s",
                    session->journal.run_count, session->journal.run_count == 1 ? "" : "s",
                    session->journal.run_count == 1 ? "was" : "were", names[0],
                    count > 1 ? " and " : "", count > 2 ? "others" : names[1]);
    tni_events_add(session, TN_EVENT_REPEATED, NULL, TN_OK, session->journal.run_count, text);
}

// After a call that uses devices has failed with *err. TN_OK: states and outputs of the last run
// are there, where `is_run` by the journal, which includes the run at hand; else the call is to be
// done again. Other answers are to be given.
static tn_status go_on(tn_session *session, bool is_run, tn_error *err)
{
    const tn_error first = *err;
    tni_candidate *candidate = take_blamed(session, first.status);
    if (!candidate)
        return first.status;
    while (candidate) {
        bool is_out = err->status == TN_E_DEVICE_LOST || candidate->has_another;
        tn_status status = TN_OK;
        is_run |= is_out;
        if (is_out && tni_candidates_count_used(session) == 1)
            return give_up(session, &first, err);
        if (is_out) {
            tni_candidates_leave_out(session, candidate, TNI_LEFT_OUT, err);
            tni_session_unmake(session);
            status = tni_session_make(session, err);
        } else {
            candidate->has_another = true;
            tni_candidates_tell(session, TN_EVENT_TRIED_AGAIN, candidate, err);
        }
        if (status == TN_OK && is_run && session->journal.is_stopped)
            return tni_fail(err, first.status,
                            "%s; the runs since the states were set cannot be repeated, see the "
                            "warning before",
                            first.text);
        if (status == TN_OK && is_run)
            status = tni_journal_repeat(session, err);
        if (status == TN_OK) {
            if (is_run)
                tell_repeated(session);
            return TN_OK;
        }
        if (status == TN_E_DATA)   // of the run that was asked for: all before it went well once
            return status;
        candidate = take_blamed(session, status);
    }
    return give_up(session, &first, err);
}

tn_status tni_failover_attempt(tn_session *session, tni_attempt *attempt, tn_error *err)
{
    tn_error why;
    tn_status status = begin(session, err);
    if (status != TN_OK)
        return status;
    bool is_done = false;
    while (!is_done) {
        status = attempt->call(session, attempt, &why);
        is_done = status == TN_OK || attempt->is_final;
        if (!is_done) {
            status = go_on(session, attempt->is_run, &why);
            is_done = status != TN_OK || attempt->is_run;
        }
    }
    return status == TN_OK ? TN_OK : tn_error_set(err, status, why.text);
}
