// run.c: one run of one graph. Nothing here allocates, builds or plans.
//
// Segments run one after another. What a segment needs from another device is copied through host
// memory before it, and the host waits for each such copy; work on one device is ordered by its
// queue, so between segments the host does not wait.
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "exec/exec_internal.h"

static tn_status find_graph(const tn_session *session, uint32_t number, const char *what,
                            const tni_compiled **out_compiled, tn_error *err)
{
    uint32_t at;
    tn_status status = tni_graphs_find(session, number, what, &at, err);
    if (status == TN_OK)
        *out_compiled = session->graphs[at];
    return status;
}

static tn_status find_value(const tni_compiled *compiled, tn_value value, const char *what,
                            const tni_value **out_value, tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    if (tn_value_is_none(value))
        return tni_fail(err, TN_E_ARG,
                        "%s: the value is TN_NO_VALUE: graph %u has none of the name that was "
                        "looked up, or none was",
                        what, compiled->number);
    if (value.generation != graph->generation || value.index >= graph->value_count)
        return tni_fail(err, TN_E_ARG, "%s: not a value of graph %u of this session", what,
                        compiled->number);
    *out_value = &graph->values[value.index];
    return TN_OK;
}

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

static tn_status take_feeds(const tni_compiled *compiled, const tn_feed *feeds, uint32_t count,
                            tn_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        const tni_value *value = NULL;
        tn_status status = find_value(compiled, feeds[i].input, "tn_session_run", &value, err);
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

static tn_status transfer(tn_session *session, const tni_compiled *compiled,
                          const tni_transfer *move, tn_error *err)
{
    tni_lane *from = &session->lanes[move->from], *to = &session->lanes[move->to];
    uint64_t bytes = compiled->graph->storages[move->storage].bytes;
    uint64_t from_offset = compiled->offsets[move->from][move->storage];
    uint64_t to_offset = compiled->offsets[move->to][move->storage];
    if (bytes == 0)
        return TN_OK;
    tnp_copy out = { .size = sizeof out,
                     .from_buffer = tni_lane_chunk(from, &from_offset)->buffer,
                     .from_offset = from_offset,
                     .to_host = compiled->transfer_bytes,
                     .bytes = bytes,
                     .rows = 1 };
    tnp_copy in = { .size = sizeof in,
                    .to_buffer = tni_lane_chunk(to, &to_offset)->buffer,
                    .to_offset = to_offset,
                    .from_host = compiled->transfer_bytes,
                    .bytes = bytes,
                    .rows = 1 };
    tn_status status = tni_lane_copy(from, &out, err);
    return status == TN_OK ? tni_lane_copy(to, &in, err) : status;
}

static tn_status feed_large(tn_session *session, const tni_compiled *compiled,
                            const tni_program *program, tn_error *err)
{
    tni_lane *lane = &session->lanes[program->place];
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < program->fed_count && status == TN_OK; i++) {
        uint32_t storage = program->fed[i];
        uint64_t offset = compiled->offsets[program->place][storage];
        tnp_copy in = { .size = sizeof in,
                        .to_buffer = tni_lane_chunk(lane, &offset)->buffer,
                        .to_offset = offset,
                        .from_host = compiled->staging[storage],
                        .bytes = compiled->graph->storages[storage].bytes,
                        .rows = 1 };
        status = tni_lane_copy(lane, &in, err);
    }
    return status;
}

static tn_status submit(tn_session *session, const tni_program *program, tn_error *err)
{
    tni_lane *lane = &session->lanes[program->place];
    tnp_error plugin_error = tni_plugin_error();
    tnp_point point = { lane->semaphore, lane->signal + 1 };
    tnp_sync sync = {
        .size = sizeof sync, .signal_count = 1, .signals = &point, .run = session->run
    };
    tnp_submit work = { .size = sizeof work,
                        .flags = TNP_SUBMIT_INLINE,
                        .update_count = program->update_count,
                        .updates = program->updates,
                        .sync = &sync,
                        .bound = program->bound };
    const tnp_submit *works[] = { &work };
    tnp_status status = lane->table->queue_submit(lane->queue, works, 1, &plugin_error);
    if (status == TNP_E_BUSY) {   // what was taken before must end first
        tn_status waited = tni_lane_wait(lane, err);
        if (waited != TN_OK)
            return waited;
        status = lane->table->queue_submit(lane->queue, works, 1, &plugin_error);
    }
    if (status != TNP_OK)
        return tni_lane_fail(lane, "submit", status, &plugin_error, err);
    lane->signal++;
    return TN_OK;
}

static tn_status run_segment(tn_session *session, const tni_compiled *compiled,
                             const tni_program *program, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t t = 0; t < program->transfer_count && status == TN_OK; t++)
        status = transfer(session, compiled,
                          &compiled->schedule.transfers[program->first_transfer + t], err);
    if (status == TN_OK)
        status = feed_large(session, compiled, program, err);
    return status == TN_OK ? submit(session, program, err) : status;
}

tn_status tn_session_run(tn_session *session, uint32_t graph, const tn_feed *feeds,
                         uint32_t feed_count, tn_error *err)
{
    tn_status status = tni_need(err, __func__, "session", session, "feeds",
                                feed_count ? (const void *)feeds : "", NULL);
    const tni_compiled *compiled = NULL;
    if (status == TN_OK)
        status = find_graph(session, graph, __func__, &compiled, err);
    if (status == TN_OK)
        status = take_feeds(compiled, feeds, feed_count, err);
    if (status != TN_OK)
        return status;
    session->run++;
    session->last_graph = TNP_NONE;
    for (uint32_t s = 0; s < compiled->schedule.segment_count && status == TN_OK; s++)
        status = run_segment(session, compiled, &compiled->programs[s], err);
    for (uint32_t i = 0; i < session->lane_count && status == TN_OK; i++)
        status = tni_lane_wait(&session->lanes[i], err);
    for (uint32_t i = 0; i < session->lane_count && status != TN_OK; i++)
        tni_lane_recover(&session->lanes[i]);
    if (status == TN_OK)
        session->last_graph = graph;
    return status;
}

// -------------------------------------------------------------------------------------------- read

// Where the bytes of a storage are to be read.
typedef struct source {
    tni_lane *lane;
    tnp_buffer *buffer;
    uint64_t offset;             // in the buffer
    const unsigned char *host;   // NULL = only by a copy
} source;

static source find_source(const tn_session *session, const tni_compiled *compiled, uint32_t storage)
{
    const tni_value *owner = &compiled->graph->values[compiled->graph->storages[storage].owner];
    if (owner->source == TNI_INPUT)
        return (source){ .host = compiled->staging[storage] };
    if (owner->source == TNI_WEIGHT)
        return (source){ .host = owner->data };
    if (owner->source == TNI_STATE) {
        const tni_state *state = &session->states[compiled->state_of[storage]];
        return (source){ &session->lanes[state->place], state->buffer, 0, state->map };
    }
    uint32_t place = compiled->schedule.places[owner->node];
    uint64_t offset = compiled->offsets[place][storage];
    const tni_chunk *chunk = tni_lane_chunk(&session->lanes[place], &offset);
    return (source){ &session->lanes[place], chunk->buffer, offset,
                     chunk->map ? (const unsigned char *)chunk->map + offset : NULL };
}

// The longest run of the value's bytes from `dim` 0 up that is contiguous; *out_dims: how many dims
// it spans.
static uint64_t contiguous_run(const tni_value *value, uint32_t *out_dims)
{
    const tni_dtype *type = tni_dtype_find(value->dtype);
    uint64_t bytes = type->block_bytes;
    uint32_t d = 0;
    for (; d < TN_MAX_DIMS; d++) {
        int64_t count = d ? value->dims[d] : value->dims[d] / type->block_elements;
        if (count > 1 && value->strides[d] != (int64_t)bytes)
            break;
        bytes *= (uint64_t)count;
    }
    *out_dims = d;
    return bytes;
}

// Copies piece after piece until `bytes` are there; index counts through the dims that are strided.
static tn_status gather(const source *from, const tni_value *value, unsigned char *to,
                        uint64_t bytes, tn_error *err)
{
    uint32_t inner;
    uint64_t run = contiguous_run(value, &inner);
    int64_t index[TN_MAX_DIMS] = { 0 };
    const tni_dtype *type = tni_dtype_find(value->dtype);
    tn_status status = TN_OK;
    while (bytes && status == TN_OK) {
        uint64_t piece = run < bytes ? run : bytes, offset = value->offset;
        for (uint32_t d = inner; d < TN_MAX_DIMS; d++)
            offset += (uint64_t)(index[d] * value->strides[d]);
        tnp_copy out = { .size = sizeof out,
                         .from_buffer = from->buffer,
                         .from_offset = from->offset + offset,
                         .to_host = to,
                         .bytes = piece,
                         .rows = 1 };
        if (from->host)
            memcpy(to, from->host + offset, piece);
        else
            status = tni_lane_copy(from->lane, &out, err);
        to += piece;
        bytes -= piece;
        for (uint32_t d = inner;
             d < TN_MAX_DIMS &&
             ++index[d] == (d ? value->dims[d] : value->dims[d] / type->block_elements);
             d++)
            index[d] = 0;
    }
    return status;
}

tn_status tn_session_read(tn_session *session, uint32_t graph, tn_value output, void *to,
                          uint64_t bytes, tn_error *err)
{
    const tni_compiled *compiled = NULL;
    const tni_value *value = NULL;
    tn_status status = tni_need(err, __func__, "session", session, "to", bytes ? to : "", NULL);
    if (status == TN_OK)
        status = find_graph(session, graph, __func__, &compiled, err);
    if (status == TN_OK)
        status = find_value(compiled, output, __func__, &value, err);
    if (status != TN_OK)
        return status;
    bool is_output = false;
    for (uint32_t i = 0; i < compiled->graph->output_count; i++)
        is_output |= compiled->graph->outputs[i].value == output.index;
    tn_value_info info = { .size = sizeof info };
    status = tn_graph_value_info(compiled->graph, output, &info, err);
    if (status != TN_OK)
        return status;
    if (!is_output)
        return tni_fail(err, TN_E_ARG, "tn_session_read: '%s' is no output of graph %u",
                        value->name, graph);
    if (bytes > info.bytes)
        return tni_fail(err, TN_E_ARG,
                        "tn_session_read: %" PRIu64 " bytes are asked of '%s', it has %" PRIu64,
                        bytes, value->name, info.bytes);
    if (bytes == 0)
        return TN_OK;
    bool is_in_arena = tni_storage_source(compiled->graph, value->storage) == TNI_MADE;
    if (is_in_arena && session->last_graph != graph)
        return tni_fail(err, TN_E_ARG, "tn_session_read: graph %u is not the one that ran last",
                        graph);
    source from = find_source(session, compiled, value->storage);
    return gather(&from, value, to, bytes, err);
}
