// make.c: makes a session on the devices that can be used.
//
// There is nothing to repeat yet, so a device of which a call fails is left out at once, and comes
// back if the others cannot do without it. Where an allocation fails that was to fit, less is
// placed on that device. Where the graphs do not fit the devices together, it is tried without the
// one that lacks memory: that is told only when it helps.
#include "base/error.h"
#include "exec/session.h"

typedef struct making {
    tn_session *session;
    tn_error first, last;     // what failed; of several failures of memory that of all devices
    tni_candidate *lowered;   // the device that got less last; NULL
    uint32_t tries;           // with less memory than there was said to be
    bool first_lacks, has_left_out, has_come_back;
} making;

// What a try came to that failed.
typedef struct failed_try {
    tn_status status;
    tni_candidate *culprit;   // NULL: nobody's fault
    uint32_t place;           // of its lane
    bool is_planned;          // devices were to allocate, or to compile
    bool lacks_memory;        // of the plan: no call of a device failed
} failed_try;

// Those that were left out for now and are not lost. Not where memory alone was reckoned to lack.
static bool take_back(tn_session *session)
{
    bool has_any = false;
    for (uint32_t i = 0; i < session->candidate_count; i++) {
        const tni_candidate *c = &session->candidates[i];
        has_any |= c->standing == TNI_LEFT_OUT_FOR_NOW && c->why != TN_E_DEVICE_LOST && !c->untold;
    }
    for (uint32_t i = 0; i < session->candidate_count && has_any; i++) {
        tni_candidate *c = &session->candidates[i];
        if (c->standing != TNI_LEFT_OUT_FOR_NOW || c->why == TN_E_DEVICE_LOST)
            continue;
        const tn_error why = { c->why, "the devices that are left cannot run the graphs" };
        c->standing = TNI_USED;
        if (!c->untold)
            tni_candidates_tell(session, TN_EVENT_TRIED_AGAIN, c, &why);
        c->untold = NULL;
    }
    return has_any;
}

// tells: of those that were left out without a word.
static void settle(tn_session *session, bool tells)
{
    for (uint32_t i = 0; i < session->candidate_count; i++) {
        tni_candidate *c = &session->candidates[i];
        if (c->standing != TNI_LEFT_OUT_FOR_NOW)
            continue;
        tn_error why = { c->why, "" };
        if (tells && c->untold) {
            tn_error_set(&why, c->why, c->untold);
            tni_candidates_tell(session, TN_EVENT_LEFT_OUT, c, &why);
        }
        c->standing = TNI_LEFT_OUT;
        c->untold = NULL;
    }
}

// An allocation failed although the plan was to fit: the next time this device gets less, a little
// less at first, then half. false: it gets nothing as it is, or there was no plan.
static bool give_less(const making *m, const failed_try *f)
{
    enum { MOST_TRIES = 12, SMALL_STEPS = 4 };
    const tn_session *session = m->session;
    if (!f->is_planned || f->status != TN_E_DEVICE_MEMORY ||
        !tni_candidates_may_go_on(session, f->status) || !f->culprit || session->lane_count == 1 ||
        session->fit.needed[f->place] == 0 || m->tries == MOST_TRIES)
        return false;
    uint64_t needed = session->fit.needed[f->place];
    f->culprit->most_bytes = needed - needed / (m->tries < SMALL_STEPS ? 8 : 2) - 1;
    return true;
}

static void tell_lowered(const making *m)
{
    char text[sizeof m->last.text + 100];
    tni_format_text(text, sizeof text, "out of memory while loading, less is placed there: %s",
                    m->last.text);
    tni_events_add(m->session, TN_EVENT_TRIED_AGAIN, m->lowered->device, m->last.status, 0, text);
}

// Why nothing can be done without a device that fails: what is ordered to be there, or that nothing
// else may be used.
static void say_why_it_is_needed(making *m, const tn_device *device)
{
    char names[300];
    uint32_t count = tni_fit_name_demands(&m->session->asked, device, names, sizeof names);
    tn_error plain = m->last;
    if (count)
        tni_fail(&m->last, plain.status, "%s; %s %s ordered to be on %s", plain.text, names,
                 count == 1 ? "is" : "are", device->name);
    else if (m->session->are_named && m->session->candidate_count == 1)
        tni_fail(&m->last, plain.status, "%s; %s is the only device that may be used", plain.text,
                 device->name);
}

static void leave_out(making *m, const failed_try *f)
{
    bool is_reckoned = f->lacks_memory && f->culprit != m->lowered;
    const tn_error *why = f->culprit == m->lowered ? &m->first : &m->last;
    const char *untold = is_reckoned ? tni_arena_take_text(&m->session->lasting, why->text) : NULL;
    if (untold) {
        f->culprit->standing = TNI_LEFT_OUT_FOR_NOW;
        f->culprit->why = why->status;
        f->culprit->untold = untold;
    } else {
        tni_candidates_leave_out(m->session, f->culprit, TNI_LEFT_OUT_FOR_NOW, why);
    }
    m->has_left_out = true;
    m->lowered = NULL;
}

// Whether there is another way to try.
static bool find_way(making *m, const failed_try *f)
{
    tn_session *session = m->session;
    bool may_go_on = f->culprit && tni_candidates_may_go_on(session, f->status);
    bool is_demanded = f->culprit && tni_placement_demands(&session->asked, f->culprit->device);
    bool gets_less = give_less(m, f), was_lowered = f->culprit && f->culprit == m->lowered;
    if (may_go_on && !gets_less && !f->lacks_memory)
        say_why_it_is_needed(m, f->culprit->device);
    if (m->first.status == TN_OK || (m->tries && f->is_planned)) {
        m->first = m->last;   // of allocations the last one says what is to be known
        m->first_lacks = f->lacks_memory;
    }
    m->tries += gets_less;
    if (gets_less) {
        m->lowered = f->culprit;
        if (!was_lowered)
            tell_lowered(m);
        return true;
    }
    if (may_go_on && !is_demanded && tni_candidates_count_used(session) > 1) {
        leave_out(m, f);
        return true;
    }
    if (m->has_come_back || !take_back(session))
        return false;
    m->has_come_back = true;
    if (m->tries == 0) {   // with all of them, as they were, it may be something else now
        m->has_left_out = false;
        m->first.status = TN_OK;
    }
    return true;
}

// Whether all phases went well.
static bool try_once(making *m, failed_try *out)
{
    tn_session *session = m->session;
    *out = (failed_try){ .place = TNP_NONE };
    tni_candidates_blame_nobody(session);
    out->status = tni_session_try(session, &out->is_planned, &m->last);
    if (out->status == TN_OK)
        return true;
    out->lacks_memory = session->fit.lacks_memory;
    out->culprit = tni_candidates_take_culprit(session, &out->place);
    if (!out->culprit && !out->is_planned)
        out->culprit = m->lowered;   // there is no plan with less on it
    return false;
}

tn_status tni_session_make(tn_session *session, tn_error *err)
{
    making m = { .session = session };
    failed_try f;
    bool goes_on = true, is_made = false;
    while (goes_on) {
        is_made = try_once(&m, &f);
        goes_on = !is_made && find_way(&m, &f);
        if (!is_made)
            tni_session_unmake(session);
    }
    settle(session, is_made);
    session->lacks_memory = !is_made && m.first_lacks;
    if (is_made) {
        tni_fit_tell(session);
        return TN_OK;
    }
    return m.has_left_out && !(m.first_lacks && f.lacks_memory)
               ? tni_candidates_fail_twice(&m.first, &m.last, err)
               : tn_error_set(err, m.first.status, m.first.text);
}
