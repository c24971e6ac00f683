// read.c: outputs of the run before, brought to the host.
#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "exec/session.h"

// Where the bytes of a storage are to be read.
typedef struct source {
    tni_lane *lane;
    tnp_buffer *buffer;
    uint64_t offset;             // in the buffer
    const unsigned char *host;   // NULL = only by a copy
    const tni_value *weight;     // read from there; NULL = it is none
} source;

static source find_source(const tn_session *session, const tni_compiled *compiled, uint32_t storage)
{
    const tni_value *owner = &compiled->graph->values[compiled->graph->storages[storage].owner];
    if (owner->source == TNI_INPUT)
        return (source){ .host = compiled->given.staging[storage] };
    if (owner->source == TNI_WEIGHT)
        return (source){ .weight = owner };
    if (owner->source == TNI_STATE) {
        const tni_state *state = &session->states[compiled->state_of[storage]];
        return (source){ &session->lanes[state->place], state->buffer, 0, state->map, NULL };
    }
    uint32_t place = compiled->schedule.places[owner->node];
    uint64_t offset = compiled->way.offsets[place][storage];
    const tni_chunk *chunk = tni_lane_chunk(&session->lanes[place], &offset);
    return (source){ &session->lanes[place], chunk->buffer, offset,
                     chunk->map ? (const unsigned char *)chunk->map + offset : NULL, NULL };
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
        if (from->weight)
            tni_weight_gather(from->weight, offset, piece, to);
        else if (from->host)
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

typedef struct reading {
    const tni_compiled *compiled;
    uint32_t output;   // a value
    void *to;
    uint64_t bytes;
    bool needs_run;   // it is of the last run, which is there
    tn_error first;   // what failed at first
} reading;

// Made anew, the graph may be decomposed otherwise: the value is looked up each time.
static tn_status read_output(tn_session *session, tni_attempt *attempt, tn_error *err)
{
    reading *r = attempt->arguments;
    const tni_compiled *compiled = r->compiled;
    const tni_value *value = &compiled->graph->values[r->output];
    bool is_lost = r->needs_run && session->last_graph != compiled->given.number;
    if (r->first.status != TN_OK && is_lost) {
        attempt->is_final = true;
        return tni_fail(err, r->first.status,
                        "%s; the run was before a reset, or before a graph was dropped, and is not "
                        "repeated",
                        r->first.text);
    }
    bool is_in_arena = tni_storage_source(compiled->graph, value->storage) == TNI_MADE;
    if (is_in_arena && session->last_graph != compiled->given.number)
        return tni_fail(err, TN_E_ARG, "tn_session_read: graph %u is not the one that ran last",
                        compiled->given.number);
    source from = find_source(session, compiled, value->storage);
    tn_status status = gather(&from, value, r->to, r->bytes, err);
    if (status != TN_OK)
        r->first = *err;
    return status;
}

tn_status tn_session_read(tn_session *session, uint32_t graph, tn_value output, void *to,
                          uint64_t bytes, tn_error *err)
{
    tni_compiled *compiled = NULL;
    const tni_value *value = NULL;
    tn_status status = tni_need(err, __func__, "session", session, "to", bytes ? to : "", NULL);
    if (status == TN_OK)
        status = tni_graphs_compiled(session, graph, __func__, &compiled, err);
    if (status == TN_OK)
        status = tni_graphs_value(compiled, output, __func__, &value, err);
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
    reading r = { .compiled = compiled,
                  .output = output.index,
                  .to = to,
                  .bytes = bytes,
                  .needs_run = session->last_graph == graph &&
                               tni_storage_source(compiled->graph, value->storage) == TNI_MADE };
    tni_attempt attempt = { .call = read_output, .arguments = &r };
    return tni_failover_attempt(session, &attempt, err);
}
