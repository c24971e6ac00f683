// run.c: one run, from what the caller gives it to its end.
#include "base/error.h"
#include "exec/exec_internal.h"

tn_status tn_session_run(tn_session *session, uint32_t graph, const tn_feed *feeds,
                         uint32_t feed_count, tn_error *err)
{
    tn_status status = tni_need(err, __func__, "session", session, "feeds",
                                feed_count ? (const void *)feeds : "", NULL);
    const tni_compiled *compiled = NULL;
    if (status == TN_OK)
        status = tni_graphs_compiled(session, graph, __func__, &compiled, err);
    if (status == TN_OK)
        status = tni_feeds_take(compiled, feeds, feed_count, err);
    return status == TN_OK ? tni_run_once(session, compiled, err) : status;
}
