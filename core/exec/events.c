// events.c: what was done when devices failed, for the application and in the log.
#include "base/alloc.h"
#include "base/error.h"
#include "exec/session.h"

enum { MOST_EVENTS = 1000 };   // those after them are in the log alone

static uint32_t number_of(const tn_session *session, const tn_device *device)
{
    for (uint32_t i = 0; i < session->candidate_count; i++)
        if (session->candidates[i].device == device)
            return i;
    return UINT32_MAX;
}

static void keep_silent(void *context, int32_t level, const char *text)
{
    (void)context, (void)level, (void)text;
}

const tni_log *tni_session_log(const tn_session *session)
{
    static const tni_log silence = { keep_silent, NULL };
    return session->is_plan_only ? &silence : tni_runtime_log(session->runtime);
}

void tni_events_add(tn_session *session, uint32_t kind, const tn_device *device, tn_status status,
                    uint64_t runs, const char *text)
{
    if (kind != TN_EVENT_STOPPED)   // the caller is told that
        tni_log_line(tni_session_log(session), TN_LOG_WARNING, "%s", text);
    if (session->event_count == MOST_EVENTS ||
        !tni_grow(&session->arena.allocator, &session->events, &session->event_capacity,
                  session->event_count + 1, sizeof *session->events))
        return;
    const char *own = tni_arena_take_text(&session->lasting, text);
    session->events[session->event_count++] = (tn_session_event){
        .size = sizeof(tn_session_event),
        .kind = kind,
        .device = device ? device->name : NULL,
        .text = own ? own : "",
        .status = status,
        .number = number_of(session, device),
        .run = session->asked_runs,
        .repeated_runs = runs,
    };
}

tn_status tn_session_events(const tn_session *session, const tn_session_event_sink *sink,
                            tn_error *err)
{
    tn_status status = tni_need(err, __func__, "session", session, "sink", sink, NULL);
    if (status == TN_OK && !sink->take)
        status = tni_fail(err, TN_E_ARG, "%s: sink->take is NULL", __func__);
    for (uint32_t i = 0; status == TN_OK && i < session->event_count; i++)
        sink->take(sink->context, &session->events[i]);
    return status;
}
