// candidates.c: the devices that a session may use: whose fault a failure is, who is left out.
#include <string.h>

#include "base/error.h"
#include "exec/session.h"

enum { TEXT_BYTES = 700 };   // more than an error holds

uint32_t tni_candidates_count_used(const tn_session *session)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->candidate_count; i++)
        count += session->candidates[i].standing == TNI_USED;
    return count;
}

void tni_candidates_blame_nobody(tn_session *session)
{
    atomic_store(&session->blamed, TNP_NONE);
}

tni_candidate *tni_candidates_take_culprit(tn_session *session, uint32_t *out_place)
{
    uint32_t place = atomic_load(&session->blamed);
    tni_candidates_blame_nobody(session);
    *out_place = place;
    for (uint32_t i = 0; i < session->candidate_count && place != TNP_NONE; i++)
        if (session->candidates[i].device == session->lanes[place].device)
            return &session->candidates[i];
    return NULL;
}

bool tni_candidates_may_go_on(const tn_session *session, tn_status status)
{
    return status != TN_E_ARG && status != TN_E_DATA && !(session->flags & TN_SESSION_NO_FAILOVER);
}

void tni_candidates_tell(tn_session *session, uint32_t kind, const tni_candidate *candidate,
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

void tni_candidates_leave_out(tn_session *session, tni_candidate *candidate, int standing,
                              const tn_error *why)
{
    candidate->standing = standing;
    candidate->why = why->status;
    candidate->untold = NULL;
    tni_candidates_tell(session, TN_EVENT_LEFT_OUT, candidate, why);
}

tn_status tni_candidates_fail_twice(const tn_error *first, const tn_error *last, tn_error *err)
{
    char text[2 * TEXT_BYTES];
    bool is_one = strcmp(first->text, last->text) == 0;
    tni_format_text(text, sizeof text, "%s%s%s", first->text,
                    is_one ? "" : "; without it: ", is_one ? "" : last->text);
    return tn_error_set(err, first->status, text);
}
