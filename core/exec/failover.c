// failover.c: which devices a session uses, and how it goes on when one of them fails.
//
// A call that fails is tried once more, with states and outputs as the journal makes them again. A
// device that is lost, or fails again, is left out: all that was made for devices is given back and
// made anew on those that are left. While a session is made there is nothing to repeat, so a device
// that fails is left out at once, and comes back if the others cannot do without it.
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "exec/session.h"

enum { TEXT_BYTES = 700 };   // more than an error holds

static uint32_t count_used(const tn_session *session)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->candidate_count; i++)
        count += session->candidates[i].standing == TNI_USED;
    return count;
}

static void blame_nobody(tn_session *session)
{
    atomic_store(&session->blamed, TNP_NONE);
}

// Whose call failed; NULL: nobody's. To be asked before its lane goes. *out_place: of the lane.
static tni_candidate *take_culprit(tn_session *session, uint32_t *out_place)
{
    uint32_t place = atomic_load(&session->blamed);
    blame_nobody(session);
    *out_place = place;
    for (uint32_t i = 0; i < session->candidate_count && place != TNP_NONE; i++)
        if (session->candidates[i].device == session->lanes[place].device)
            return &session->candidates[i];
    return NULL;
}

// Whether the session may do without a device that failed with that status.
static bool may_go_on(const tn_session *session, tn_status status)
{
    return status != TN_E_ARG && status != TN_E_DATA && !(session->flags & TN_SESSION_NO_FAILOVER);
}

// Whose call failed, where the session may go on without; else NULL.
static tni_candidate *take_blamed(tn_session *session, tn_status status)
{
    uint32_t place;
    return may_go_on(session, status) ? take_culprit(session, &place) : NULL;
}

static void tell(tn_session *session, uint32_t kind, const tni_candidate *candidate,
                 const tn_error *why)
{
    char text[TEXT_BYTES];
    bool is_out = kind == TN_EVENT_LEFT_OUT;
    bool is_demanded = is_out && tni_placement_demands(&session->asked, candidate->device);
    tni_format_text(text, sizeof text, "%s; %s is %s%s", why->text, candidate->device->name,
                    is_out ? "left out" : "tried again",
                    is_demanded ? ", and what was ordered to be there goes elsewhere" : "");
    tni_events_add(session, kind, candidate->device, why->status, 0, text);
}

// -------------------------------------------------------------------------------------------- make

static void leave_out(tn_session *session, tni_candidate *candidate, int standing,
                      const tn_error *why)
{
    candidate->standing = standing;
    candidate->why = why->status;
    tell(session, TN_EVENT_LEFT_OUT, candidate, why);
}

// Those that were left out for now and are not lost.
static bool take_back(tn_session *session)
{
    bool has_any = false;
    for (uint32_t i = 0; i < session->candidate_count; i++) {
        tni_candidate *c = &session->candidates[i];
        if (c->standing != TNI_LEFT_OUT_FOR_NOW || c->why == TN_E_DEVICE_LOST)
            continue;
        const tn_error why = { c->why, "the devices that are left cannot run the graphs" };
        c->standing = TNI_USED;
        tell(session, TN_EVENT_TRIED_AGAIN, c, &why);
        has_any = true;
    }
    return has_any;
}

static void settle(tn_session *session)
{
    for (uint32_t i = 0; i < session->candidate_count; i++)
        if (session->candidates[i].standing == TNI_LEFT_OUT_FOR_NOW)
            session->candidates[i].standing = TNI_LEFT_OUT;
}

static tn_status fail_twice(const tn_error *first, const tn_error *last, tn_error *err)
{
    char text[2 * TEXT_BYTES];
    bool is_one = strcmp(first->text, last->text) == 0;
    tni_format_text(text, sizeof text, "%s%s%s", first->text,
                    is_one ? "" : "; without it: ", is_one ? "" : last->text);
    return tn_error_set(err, first->status, text);
}

// An allocation failed although the plan was to fit: the next time this device gets less, a little
// less at first, then half. false: it gets nothing as it is, or there was no plan.
static bool give_less(tn_session *session, tni_candidate *culprit, uint32_t place, uint32_t tries)
{
    enum { MOST_TRIES = 12, SMALL_STEPS = 4 };
    if (!culprit || session->lane_count == 1 || session->fit.needed[place] == 0 ||
        tries == MOST_TRIES)
        return false;
    uint64_t needed = session->fit.needed[place];
    culprit->most_bytes = needed - needed / (tries < SMALL_STEPS ? 8 : 2) - 1;
    return true;
}

static void tell_lowered(tn_session *session, const tni_candidate *candidate, const tn_error *why)
{
    char text[TEXT_BYTES];
    tni_format_text(text, sizeof text, "out of memory while loading, less is placed there: %s",
                    why->text);
    tni_events_add(session, TN_EVENT_TRIED_AGAIN, candidate->device, why->status, 0, text);
}

tn_status tni_session_make(tn_session *session, tn_error *err)
{
    tn_error first = { TN_OK, "" }, last;
    bool has_opened = false, has_come_back = false, has_left_out = false, goes_on = true;
    uint32_t tries = 0, place;   // tries: with less memory than there was said to be
    tni_candidate *lowered = NULL;
    while (goes_on) {
        bool is_planned = false;
        blame_nobody(session);
        tn_status status = tni_session_try(session, &is_planned, &last);
        if (status == TN_OK) {
            settle(session);
            return TN_OK;
        }
        has_opened |= session->lane_count > 0;
        tni_candidate *culprit = take_culprit(session, &place);
        if (!culprit && !is_planned)
            culprit = lowered;   // there is no plan with less on it
        bool is_lowered = is_planned && status == TN_E_DEVICE_MEMORY &&
                          may_go_on(session, status) && give_less(session, culprit, place, tries);
        tni_session_unmake(session);
        if (first.status == TN_OK || (tries && is_planned))
            first = last;   // of allocations the last one says what is to be known
        tries += is_lowered;
        if (is_lowered) {
            lowered = culprit;
            tell_lowered(session, culprit, &last);
        } else if (culprit && may_go_on(session, status) && count_used(session) > 1 &&
                   !tni_placement_demands(&session->asked, culprit->device)) {
            leave_out(session, culprit, TNI_LEFT_OUT_FOR_NOW, culprit == lowered ? &first : &last);
            has_left_out = true;
            lowered = NULL;
        } else {
            goes_on = !has_come_back && take_back(session);
            has_come_back = true;
        }
    }
    settle(session);
    bool is_none = !has_opened && !session->are_named && !(session->flags & TN_SESSION_NO_FAILOVER);
    if (is_none)
        return tni_fail(err, last.status == TN_E_HOST_MEMORY ? TN_E_HOST_MEMORY : TN_E_NOT_FOUND,
                        "no device can be used: %s", last.text);
    return has_left_out ? fail_twice(&first, &last, err)
                        : tn_error_set(err, first.status, first.text);
}

// ----------------------------------------------------------------------------------------- go on

static tn_status begin(tn_session *session, tn_error *err)
{
    if (session->failure.status != TN_OK)
        return tn_error_set(err, session->failure.status, session->failure.text);
    blame_nobody(session);
    for (uint32_t i = 0; i < session->candidate_count; i++)
        session->candidates[i].has_another = false;
    return TN_OK;
}

static tn_status give_up(tn_session *session, const tn_error *first, tn_error *err)
{
    tn_error failure = *first;
    if (session->candidate_count > 1)
        fail_twice(first, err, &failure);
    tni_session_unmake(session);
    tni_events_add(session, TN_EVENT_STOPPED, NULL, failure.status, 0, failure.text);
    session->failure = failure;
    return tn_error_set(err, failure.status, failure.text);
}

static void tell_repeated(tn_session *session)
{
    char text[TEXT_BYTES];
    tni_format_text(text, sizeof text, "%" PRIu64 " run%s %s repeated on %s%s%s",
                    session->journal.run_count, session->journal.run_count == 1 ? "" : "s",
                    session->journal.run_count == 1 ? "was" : "were",
                    session->lanes[0].device->name, session->lane_count > 1 ? " and " : "",
                    session->lane_count > 2    ? "others"
                    : session->lane_count == 2 ? session->lanes[1].device->name
                                               : "");
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
        if (is_out && count_used(session) == 1)
            return give_up(session, &first, err);
        if (is_out) {
            leave_out(session, candidate, TNI_LEFT_OUT, err);
            tni_session_unmake(session);
            status = tni_session_make(session, err);
        } else {
            candidate->has_another = true;
            tell(session, TN_EVENT_TRIED_AGAIN, candidate, err);
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
