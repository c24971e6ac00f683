// order.c: which nodes are needed, and what each must come after.
//
// Nodes are made after their operands, so the order of building can be executed, and it is the same
// at every run. What is left to find: the nodes that nothing needs, and the hazards of storages
// that are written through (a KV cache).
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "graph/graph_internal.h"

// -------------------------------------------------------------------------------------- dead nodes

// Devices never see a value without elements. Of a concat with one such operand the copy of the
// other is left.
static bool convert_instead(tn_graph *graph, tni_node *node, uint32_t operand)
{
    tnp_convert_attr *attr = tni_arena_take(&graph->arena, sizeof *attr);
    if (!attr)
        return false;
    *attr = (tnp_convert_attr){ sizeof *attr, graph->values[operand].dtype };
    *node = (tni_node){ .op = TNP_OP_CONVERT,
                        .output = node->output,
                        .input_count = 1,
                        .inputs = { operand },
                        .attr = attr,
                        .attr_bytes = sizeof *attr,
                        .name = node->name };
    return true;
}

// Whether the node has nothing to do: its output, or what it would write through, has no element.
static bool is_empty(const tn_graph *graph, const tni_node *node)
{
    return tni_value_elements(&graph->values[node->output]) == 0 ||
           (node->op == TNP_OP_SET_ROWS &&
            tni_value_elements(&graph->values[node->inputs[1]]) == 0);
}

// Backwards: a node is needed when a later one, an output or a state needs the bytes it makes. One
// that works on no element goes as well.
static bool drop_dead_nodes(tn_graph *graph, bool *is_needed)
{
    for (uint32_t i = 0; i < graph->output_count; i++)
        is_needed[graph->values[graph->outputs[i].value].storage] = true;
    for (uint32_t i = 0; i < graph->storage_count; i++)
        if (tni_storage_source(graph, i) == TNI_STATE)
            is_needed[i] = true;

    uint32_t kept = graph->node_count;   // nodes from here on are kept, packed towards the end
    for (uint32_t n = graph->node_count; n-- > 0;) {
        tni_node *node = &graph->nodes[n];
        const tni_value *out = &graph->values[node->output];
        if (!is_needed[out->storage] || is_empty(graph, node)) {
            graph->values[node->output].node = TNP_NONE;
            continue;
        }
        for (uint32_t i = 0; node->op == TNP_OP_CONCAT && i < 2; i++)
            if (tni_value_elements(&graph->values[node->inputs[i]]) == 0 &&
                !convert_instead(graph, node, node->inputs[1 - i]))
                return false;
        uint32_t reads[TNI_MAX_READS], count = tni_node_reads(graph, node, reads);
        for (uint32_t i = 0; i < count; i++)
            is_needed[graph->values[reads[i]].storage] = true;
        graph->nodes[--kept] = *node;
    }
    graph->node_count -= kept;
    if (graph->nodes)
        memmove(graph->nodes, graph->nodes + kept, graph->node_count * sizeof *graph->nodes);
    for (uint32_t n = 0; n < graph->node_count; n++)
        graph->values[graph->nodes[n].output].node = n;
    return true;
}

// ------------------------------------------------------------------------------------ dependencies

typedef struct reader {   // of one storage since its last write
    uint32_t node, next;
} reader;

typedef struct edges {
    tn_graph *graph;
    uint32_t node;       // the one at hand
    uint32_t *writer;    // by storage: 1 + the last node that wrote it; 0 = none
    uint32_t *readers;   // by storage: 1 + index of its newest reader; 0 = none
    reader *reader_list;
    uint32_t reader_count, reader_capacity;
    uint32_t *before;
    uint32_t before_count, before_capacity, before_first;
    bool is_out_of_memory;
} edges;

static void add_before(edges *e, uint32_t node)
{
    if (node == e->node)
        return;
    if (!tni_grow(&e->graph->arena.allocator, &e->before, &e->before_capacity, e->before_count + 1,
                  sizeof *e->before)) {
        e->is_out_of_memory = true;
        return;
    }
    e->before[e->before_count++] = node;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

// What the node at hand comes after: ascending, each once.
static void sort_before(edges *e)
{
    uint32_t kept = e->before_first;
    if (e->before_count == kept)
        return;
    qsort(e->before + kept, e->before_count - kept, sizeof *e->before, by_number);
    for (uint32_t i = e->before_first; i < e->before_count; i++)
        if (i == e->before_first || e->before[i] != e->before[i - 1])
            e->before[kept++] = e->before[i];
    e->before_count = kept;
}

static void read_value(edges *e, uint32_t value)
{
    uint32_t storage = e->graph->values[value].storage;
    e->graph->touches[storage]++;
    if (e->writer[storage])
        add_before(e, e->writer[storage] - 1);
    if (!tni_grow(&e->graph->arena.allocator, &e->reader_list, &e->reader_capacity,
                  e->reader_count + 1, sizeof *e->reader_list)) {
        e->is_out_of_memory = true;
        return;
    }
    e->reader_list[e->reader_count] = (reader){ e->node, e->readers[storage] };
    e->readers[storage] = ++e->reader_count;
}

// A storage of its own has no reader yet; one that is written through waits for all who read what
// it held.
static void write_output(edges *e, const tni_node *node)
{
    uint32_t storage = e->graph->values[node->output].storage;
    e->graph->touches[storage]++;
    for (uint32_t r = e->readers[storage]; r; r = e->reader_list[r - 1].next)
        add_before(e, e->reader_list[r - 1].node);
    e->readers[storage] = 0;
    e->writer[storage] = e->node + 1;
}

static bool find_dependencies(tn_graph *graph, edges *e)
{
    tni_order *order = &graph->order;
    order->first = tni_arena_take_array(&graph->arena, (size_t)graph->node_count + 1,
                                        sizeof *order->first);
    graph->touches = tni_arena_take_array(&graph->arena, graph->storage_count,
                                          sizeof *graph->touches);
    if (!order->first || !graph->touches)
        return false;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        e->node = n;
        e->before_first = e->before_count;
        order->first[n] = e->before_count;
        uint32_t reads[TNI_MAX_READS], count = tni_node_reads(graph, &graph->nodes[n], reads);
        for (uint32_t i = 0; i < count; i++)
            read_value(e, reads[i]);
        write_output(e, &graph->nodes[n]);
        sort_before(e);
    }
    order->first[graph->node_count] = e->before_count;
    order->before = tni_arena_copy(&graph->arena, e->before, e->before_count, sizeof *e->before);
    return order->before && !e->is_out_of_memory;
}

tn_status tni_graph_order(tn_graph *graph, tn_error *err)
{
    const tn_allocator *a = &graph->arena.allocator;
    bool *is_needed = tni_alloc_zeroed(a, graph->storage_count, sizeof *is_needed);
    edges e = {
        .graph = graph,
        .writer = tni_alloc_zeroed(a, graph->storage_count, sizeof *e.writer),
        .readers = tni_alloc_zeroed(a, graph->storage_count, sizeof *e.readers),
    };
    bool is_done = is_needed && e.writer && e.readers;
    if (is_done)
        is_done = drop_dead_nodes(graph, is_needed) && find_dependencies(graph, &e);
    tni_free(a, is_needed);
    tni_free(a, e.writer);
    tni_free(a, e.readers);
    tni_free(a, e.reader_list);
    tni_free(a, e.before);
    return is_done ? TN_OK
                   : tni_fail(err, TN_E_HOST_MEMORY,
                              "not enough memory to order a graph of %u nodes", graph->node_count);
}
