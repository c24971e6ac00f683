// run.c: one run, from what the caller gives it to its end.
#include "base/error.h"
#include "exec/session.h"

typedef struct running {
    tni_compiled *compiled;
    const tn_feed *feeds;
    uint32_t feed_count;
} running;

static tn_status run(tn_session *session, tni_attempt *attempt, tn_error *err)
{
    const running *r = attempt->arguments;
    tn_status status = TN_OK;
    if (!tni_journal_has_room(session, r->compiled, r->feeds, r->feed_count))
        status = tni_journal_begin_here(session, err);
    if (status != TN_OK)
        return status;
    attempt->is_run = true;
    tni_feeds_stage(r->compiled, r->feeds, r->feed_count);
    tni_journal_note(session, r->compiled, r->feeds, r->feed_count);
    status = tni_run_once(session, r->compiled, err);
    return status == TN_OK ? tni_weights_check(session, err) : status;
}

tn_status tn_session_run(tn_session *session, uint32_t graph, const tn_feed *feeds,
                         uint32_t feed_count, tn_error *err)
{
    running r = { .feeds = feeds, .feed_count = feed_count };
    tni_attempt attempt = { .call = run, .arguments = &r };
    tn_status status = tni_need(err, __func__, "session", session, "feeds",
                                feed_count ? (const void *)feeds : "", NULL);
    if (status == TN_OK)
        status = tni_graphs_compiled(session, graph, __func__, &r.compiled, err);
    if (status == TN_OK)
        status = tni_feeds_check(r.compiled, feeds, feed_count, err);
    if (status != TN_OK)
        return status;
    session->asked_runs++;
    status = tni_failover_attempt(session, &attempt, err);
    if (status != TN_OK && attempt.is_run)
        tni_journal_skip_last(session);
    return status;
}
