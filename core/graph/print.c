// print.c: a graph as text, a line a node:
//   12  matmul      %40 blk.0.attn_q          F32 {576, 32 of rows}   <- %31, %12
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/graph_internal.h"

static void say(const tn_sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const tn_sink *sink, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sink->write(sink->context, text, strlen(text));
}

static void print_shape(const tn_graph *graph, const tni_value *value, const tn_sink *sink)
{
    say(sink, "%s {", tn_dtype_name(value->dtype));
    for (uint32_t i = 0; i < value->rank; i++) {
        say(sink, "%s%" PRId64, i ? ", " : "", value->dims[i]);
        if (value->extent[i])
            say(sink, " of %s", graph->values[value->extent[i] - 1].name);
    }
    say(sink, "}");
}

static void print_value(const tn_graph *graph, uint32_t index, const tn_sink *sink)
{
    static const char *const sources[] = { "input", "weight", "state", "value", "view" };
    const tni_value *value = &graph->values[index];
    say(sink, "  %%%-5u %-10s %-28s ", index,
        value->source == TNI_VIEW ? tni_op_find(value->view_op)->name : sources[value->source],
        value->name);
    print_shape(graph, value, sink);
    if (value->source == TNI_VIEW)
        say(sink, "  <- %%%u", value->base);
    say(sink, "\n");
}

static void print_node(const tn_graph *graph, uint32_t index, const tn_sink *sink)
{
    const tni_node *node = &graph->nodes[index];
    const tni_value *out = &graph->values[node->output];
    say(sink, "%5u  %-10s %%%-5u %-28s ", index, tni_op_find(node->op)->name, node->output,
        node->name);
    print_shape(graph, out, sink);
    say(sink, out->base == TNP_NONE ? "  <-" : "  through");
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] == TNP_NONE)
            say(sink, " -");
        else
            say(sink, " %%%u", node->inputs[i]);
    say(sink, "\n");
}

void tn_graph_print(const tn_graph *graph, const tn_sink *sink)
{
    say(sink, "graph: %u values, %u nodes, %u storages\nleaves and views\n", graph->value_count,
        graph->node_count, graph->storage_count);
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (graph->values[i].source != TNI_MADE)
            print_value(graph, i, sink);
    say(sink, "nodes, in the order they run\n");
    for (uint32_t i = 0; i < graph->node_count; i++)
        print_node(graph, i, sink);
    say(sink, "outputs\n");
    for (uint32_t i = 0; i < graph->output_count; i++)
        say(sink, "  %s = %%%u\n", graph->outputs[i].name, graph->outputs[i].value);
}
