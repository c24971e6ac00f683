// events.c: see events.h.
#include "events.h"

#include "cli.h"

typedef struct listing {
    json_t *list;
    uint32_t first, count;
} listing;

static void count_event(void *context, const tn_session_event *event)
{
    (void)event;
    ++*(uint32_t *)context;
}

int cli_event_count(const tn_session *session, uint32_t *out_count)
{
    tn_error err = { 0 };
    *out_count = 0;
    tn_status status = tn_session_events(session,
                                         &(tn_session_event_sink){ out_count, count_event }, &err);
    return status == TN_OK ? CLI_OK : cli_fail_status(&err);
}

static void add_event(void *context, const tn_session_event *event)
{
    static const char *const kinds[] = { [TN_EVENT_TRIED_AGAIN] = "tried_again",
                                         [TN_EVENT_LEFT_OUT] = "left_out",
                                         [TN_EVENT_REPEATED] = "repeated",
                                         [TN_EVENT_STOPPED] = "stopped" };
    listing *l = context;
    if (l->count++ < l->first)
        return;
    json_array_append_new(l->list,
                          json_pack("{ss sI ss? ss ss sI}", "kind", kinds[event->kind], "run",
                                    (json_int_t)event->run, "device", event->device, "status",
                                    tn_status_name(event->status), "text", event->text,
                                    "repeated_runs", (json_int_t)event->repeated_runs));
}

json_t *cli_events(const tn_session *session, uint32_t first)
{
    listing l = { json_array(), first, 0 };
    tn_error err;
    tn_status status = tn_session_events(session, &(tn_session_event_sink){ &l, add_event }, &err);
    return status == TN_OK ? l.list : NULL;
}
