// print.c: a graph as text, a line a node:
//   12  matmul      %40 blk.0.attn_q          F32 {576, 32 of rows}   <- %31, %12
#include <inttypes.h>

#include "base/sink.h"
#include "graph/graph_internal.h"

static void print_shape(const tn_graph *graph, const tni_value *value, const tn_sink *sink)
{
    tni_say(sink, "%s {", tn_dtype_name(value->dtype));
    for (uint32_t i = 0; i < value->rank; i++) {
        tni_say(sink, "%s%" PRId64, i ? ", " : "", value->dims[i]);
        if (value->extent[i])
            tni_say(sink, " of %s", graph->values[value->extent[i] - 1].name);
    }
    tni_say(sink, "}");
}

static void print_value(const tn_graph *graph, uint32_t index, const tn_sink *sink)
{
    static const char *const sources[] = { "input", "weight", "state", "value", "view" };
    const tni_value *value = &graph->values[index];
    tni_say(sink, "  %%%-5u %-10s %-28s ", index,
            value->source == TNI_VIEW ? tni_op_find(value->view_op)->name : sources[value->source],
            value->name);
    print_shape(graph, value, sink);
    if (value->source == TNI_VIEW)
        tni_say(sink, "  <- %%%u", value->base);
    tni_say(sink, "\n");
}

static void print_node(const tn_graph *graph, uint32_t index, const tn_sink *sink)
{
    const tni_node *node = &graph->nodes[index];
    const tni_value *out = &graph->values[node->output];
    tni_say(sink, "%5u  %-10s %%%-5u %-28s ", index, tni_op_find(node->op)->name, node->output,
            node->name);
    print_shape(graph, out, sink);
    tni_say(sink, out->base == TNP_NONE ? "  <-" : "  through");
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] == TNP_NONE)
            tni_say(sink, " -");
        else
            tni_say(sink, " %%%u", node->inputs[i]);
    tni_say(sink, "\n");
}

void tn_graph_print(const tn_graph *graph, const tn_sink *sink)
{
    if (!graph)
        return;
    tni_say(sink, "graph: %u values, %u nodes, %u storages\nleaves and views\n", graph->value_count,
            graph->node_count, graph->storage_count);
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (graph->values[i].source != TNI_MADE)
            print_value(graph, i, sink);
    tni_say(sink, "nodes, in the order they run\n");
    for (uint32_t i = 0; i < graph->node_count; i++)
        print_node(graph, i, sink);
    tni_say(sink, "outputs\n");
    for (uint32_t i = 0; i < graph->output_count; i++)
        tni_say(sink, "  %s = %%%u\n", graph->outputs[i].name, graph->outputs[i].value);
}
