#include "interpret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reference/reference.h"

interpreter interpret_begin(const tn_graph *graph)
{
    interpreter it = { graph, calloc(graph->storage_count + 1, sizeof *it.bytes) };
    for (uint32_t s = 0; s < graph->storage_count; s++) {
        const tni_value *owner = &graph->values[graph->storages[s].owner];
        it.bytes[s] = malloc(graph->storages[s].bytes + 1);
        memset(it.bytes[s], 0xff, graph->storages[s].bytes);
        if (owner->source == TNI_WEIGHT)
            memcpy(it.bytes[s], owner->data, graph->storages[s].bytes);
    }
    return it;
}

void interpret_end(interpreter *it)
{
    for (uint32_t s = 0; s < it->graph->storage_count; s++)
        free(it->bytes[s]);
    free(it->bytes);
}

const void *interpret_bytes(const interpreter *it, uint32_t value)
{
    return it->bytes[it->graph->values[value].storage];
}

void interpret_feed(interpreter *it, const char *name, const void *data, size_t bytes)
{
    tn_value input = tn_graph_find(it->graph, name);
    if (tn_value_is_none(input))
        fail_msg("no input is named %s", name);
    uint32_t storage = it->graph->values[input.index].storage;
    assert_int_equal(bytes, it->graph->storages[storage].bytes);
    memcpy(it->bytes[storage], data, bytes);
}

static ref_tensor tensor_of(const interpreter *it, uint32_t index)
{
    if (index == TNP_NONE)
        return (ref_tensor){ 0 };
    const tni_value *value = &it->graph->values[index];
    ref_tensor t = { .data = it->bytes[value->storage] + value->offset, .dtype = value->dtype };
    memcpy(t.strides, value->strides, sizeof t.strides);
    for (uint32_t d = 0; d < TN_MAX_DIMS; d++) {
        t.dims[d] = value->dims[d];
        if (!value->extent[d])
            continue;
        int32_t count;
        memcpy(&count, tensor_of(it, value->extent[d] - 1).data, sizeof count);
        assert_in_range(count, 0, value->dims[d]);
        t.dims[d] = count;
    }
    return t;
}

void interpret_run(interpreter *it)
{
    for (uint32_t n = 0; n < it->graph->node_count; n++) {
        const tni_node *node = &it->graph->nodes[n];
        ref_tensor in[TNI_MAX_INPUTS + 1] = { { 0 } };
        for (uint32_t i = 0; i < node->input_count; i++)
            in[i] = tensor_of(it, node->inputs[i]);
        ref_tensor out = tensor_of(it, node->output);
        if (ref_run(node->op, node->attr, in, &out) != REF_OK)
            fail_msg("the reference does not run %s '%s'", tni_op_find(node->op)->name, node->name);
    }
}

size_t interpret_read(const interpreter *it, uint32_t value, float *out, size_t room)
{
    ref_tensor t = tensor_of(it, value);
    int64_t at[TNP_MAX_DIMS] = { 0 };
    size_t count = 0;
    if (ref_is_empty(&t))
        return 0;
    do {
        assert_true(count < room);
        out[count++] = (float)ref_get(&t, at);
    } while (ref_next(t.dims, at));
    return count;
}
