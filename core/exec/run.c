// run.c: one run, from what the caller gives it to its end.
#include "base/error.h"
#include "exec/session.h"

static tn_status make_room(tn_session *session, const tni_compiled *compiled, const tn_feed *feeds,
                           uint32_t feed_count, tn_error *why)
{
    tn_status status = TN_OK;
    while (status == TN_OK && !tni_journal_has_room(session, compiled, feeds, feed_count) &&
           tni_journal_begin_here(session, why) != TN_OK)
        status = tni_failover(session, false, why);
    return status;
}

tn_status tn_session_run(tn_session *session, uint32_t graph, const tn_feed *feeds,
                         uint32_t feed_count, tn_error *err)
{
    tn_status status = tni_need(err, __func__, "session", session, "feeds",
                                feed_count ? (const void *)feeds : "", NULL);
    tni_compiled *compiled = NULL;
    if (status == TN_OK)
        status = tni_failover_begin(session, err);
    if (status == TN_OK)
        status = tni_graphs_compiled(session, graph, __func__, &compiled, err);
    if (status == TN_OK)
        status = tni_feeds_check(compiled, feeds, feed_count, err);
    if (status != TN_OK)
        return status;
    tn_error why;
    session->asked_runs++;
    status = make_room(session, compiled, feeds, feed_count, &why);
    if (status == TN_OK) {
        tni_feeds_stage(compiled, feeds, feed_count);
        tni_journal_note(session, compiled, feeds, feed_count);
        status = tni_run_once(session, compiled, &why);
        if (status != TN_OK)   // repeats the journal, and with it this run
            status = tni_failover(session, true, &why);
        if (status != TN_OK)
            tni_journal_skip_last(session);
    }
    return status == TN_OK ? TN_OK : tn_error_set(err, status, why.text);
}
