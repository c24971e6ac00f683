// feeds.c: what a caller gives a run, checked and staged.
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "exec/exec_internal.h"

// A feed has all bytes of its input; fewer, in whole elements, when only a part of them counts.
static tn_status check_feed(const tni_compiled *compiled, const tni_value *value,
                            const tn_feed *feed, tn_error *err)
{
    uint64_t room = compiled->graph->storages[value->storage].bytes;
    if (value->source != TNI_INPUT)
        return tni_fail(err, TN_E_ARG, "tn_session_run: '%s' is no input", value->name);
    if (feed->bytes && !feed->data)
        return tni_fail(err, TN_E_ARG, "tn_session_run: the bytes for '%s' are NULL", value->name);
    bool is_part = feed->bytes < room && compiled->is_limited[value->storage] &&
                   feed->bytes % tni_dtype_find(value->dtype)->block_bytes == 0;
    if (feed->bytes != room && !is_part)
        return tni_fail(err, TN_E_ARG,
                        "tn_session_run: %" PRIu64 " bytes are given for '%s', it has %" PRIu64,
                        feed->bytes, value->name, room);
    return TN_OK;
}

tn_status tni_feeds_take(const tni_compiled *compiled, const tn_feed *feeds, uint32_t count,
                         tn_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        const tni_value *value = NULL;
        tn_status status = tni_graphs_value(compiled, feeds[i].input, "tn_session_run", &value,
                                            err);
        if (status == TN_OK)
            status = check_feed(compiled, value, &feeds[i], err);
        for (uint32_t j = 0; j < i && status == TN_OK; j++)
            if (feeds[j].input.index == feeds[i].input.index)
                status = tni_fail(err, TN_E_ARG, "tn_session_run: '%s' is fed twice", value->name);
        if (status != TN_OK)
            return status;
    }
    for (uint32_t i = 0; i < count; i++)
        if (feeds[i].bytes)
            memcpy(compiled->staging[compiled->graph->values[feeds[i].input.index].storage],
                   feeds[i].data, feeds[i].bytes);
    return TN_OK;
}
