// feeds.c: what a caller gives a run, checked and staged.
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "exec/session.h"

// A feed has all bytes of its input; fewer, in whole elements, when only a part of them counts.
static tn_status check_feed(const tni_compiled *compiled, const tni_value *value,
                            const tn_feed *feed, tn_error *err)
{
    uint64_t room = compiled->graph->storages[value->storage].bytes;
    if (value->source != TNI_INPUT)
        return tni_fail(err, TN_E_ARG, "tn_session_run: '%s' is no input", value->name);
    if (feed->bytes && !feed->data)
        return tni_fail(err, TN_E_ARG, "tn_session_run: the bytes for '%s' are NULL", value->name);
    bool is_part = feed->bytes < room && compiled->given.is_limited[value->storage] &&
                   feed->bytes % tni_dtype_find(value->dtype)->block_bytes == 0;
    if (feed->bytes != room && !is_part)
        return tni_fail(err, TN_E_ARG,
                        "tn_session_run: %" PRIu64 " bytes are given for '%s', it has %" PRIu64,
                        feed->bytes, value->name, room);
    return TN_OK;
}

tn_status tni_feeds_check(const tni_compiled *compiled, const tn_feed *feeds, uint32_t count,
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
    return TN_OK;
}

void tni_feeds_stage(const tni_compiled *compiled, const tn_feed *feeds, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (feeds[i].bytes)
            memcpy(compiled->given
                       .staging[compiled->given.graph->values[feeds[i].input.index].storage],
                   feeds[i].data, feeds[i].bytes);
}

tn_status tni_feeds_make(tni_compiled *compiled, tn_error *err)
{
    const tn_graph *graph = compiled->given.graph;
    tni_arena *arena = &compiled->given.arena;
    uint64_t bytes = 0;
    for (uint32_t v = 0; v < graph->value_count; v++)
        compiled->given.input_count += graph->values[v].source == TNI_INPUT;
    compiled->given.inputs = tni_arena_take_array(arena, compiled->given.input_count,
                                                  sizeof *compiled->given.inputs);
    compiled->given.noted = tni_arena_take_array(arena, graph->storage_count,
                                                 sizeof *compiled->given.noted);
    compiled->given.staging = tni_arena_take_array(arena, graph->storage_count,
                                                   sizeof *compiled->given.staging);
    compiled->given.is_limited = tni_arena_take_array(arena, graph->storage_count,
                                                      sizeof *compiled->given.is_limited);
    bool is_made = compiled->given.inputs && compiled->given.noted && compiled->given.staging &&
                   compiled->given.is_limited;
    uint32_t count = 0;
    for (uint32_t v = 0; v < graph->value_count && is_made; v++) {
        const tni_value *value = &graph->values[v];
        for (uint32_t d = 0; d < TN_MAX_DIMS; d++)
            if (value->extent[d])
                compiled->given.is_limited[value->storage] = true;
        if (value->source != TNI_INPUT)
            continue;
        compiled->given.inputs[count++] = v;
        bytes = graph->storages[value->storage].bytes;
        compiled->given.staging[value->storage] = tni_arena_take(arena, bytes);
        is_made = compiled->given.staging[value->storage] != NULL;
    }
    return is_made ? TN_OK : tni_fail_memory(err, "the bytes of inputs", bytes);
}
