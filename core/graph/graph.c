// graph.c: the object itself: its arrays, its sticky error, handles and what is behind them.
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "graph/graph_internal.h"

static atomic_uint next_generation = 1;

tn_status tn_graph_create(const tn_allocator *allocator, tn_graph **out_graph, tn_error *err)
{
    tn_status status = tni_need(err, __func__, "out_graph", out_graph, NULL);
    if (status != TN_OK)
        return status;
    *out_graph = NULL;
    status = tni_check_allocator(allocator, __func__, err);
    if (status != TN_OK)
        return status;
    tn_allocator a = tni_allocator(allocator);
    tn_graph *graph = tni_alloc_zeroed(&a, 1, sizeof *graph);
    if (!graph)
        return tni_fail_memory(err, "a graph", sizeof *graph);
    tni_arena_init(&graph->arena, &a);
    graph->generation = atomic_fetch_add(&next_generation, 1);
    graph->mark = (tni_mark){ TN_NO_LAYER, TN_NO_PART };
    *out_graph = graph;
    return TN_OK;
}

void tn_graph_mark(tn_graph *graph, uint32_t layer, uint32_t part)
{
    if (!tni_graph_is_open(graph))
        return;
    if (layer == TN_NO_LAYER && part != TN_NO_PART)
        tni_graph_fail(graph, TN_E_ARG, "tn_graph_mark: part %u is of no layer", part);
    graph->mark = (tni_mark){ layer, part };
}

void tn_graph_destroy(tn_graph *graph)
{
    if (!graph)
        return;
    tn_allocator a = graph->arena.allocator;
    tni_free(&a, graph->values);
    tni_free(&a, graph->nodes);
    tni_free(&a, graph->storages);
    tni_free(&a, graph->outputs);
    tni_arena_finish(&graph->arena);
    tni_free(&a, graph);
}

tn_value tni_graph_fail(tn_graph *graph, tn_status status, const char *format, ...)
{
    if (graph->first_error.status == TN_OK) {
        va_list arguments;
        va_start(arguments, format);
        tni_fail_v(&graph->first_error, status, format, arguments);
        va_end(arguments);
    }
    return TN_NO_VALUE;
}

tn_value tni_graph_fail_memory(tn_graph *graph)
{
    return tni_graph_fail(graph, TN_E_HOST_MEMORY, "not enough memory for a graph of %u values",
                          graph->value_count + 1);
}

bool tni_graph_is_open(tn_graph *graph)
{
    if (!graph)
        return false;
    if (graph->is_finished)
        tni_graph_fail(graph, TN_E_GRAPH, "the graph is finished: nothing can be added");
    return graph->first_error.status == TN_OK;
}

tn_value tni_graph_handle(const tn_graph *graph, uint32_t index)
{
    return (tn_value){ index, graph->generation };
}

const tni_value *tni_graph_take(tn_graph *graph, tn_value handle, const char *what)
{
    if (handle.generation == graph->generation && handle.index < graph->value_count)
        return &graph->values[handle.index];
    tni_graph_fail(graph, TN_E_ARG, "%s is not a value of this graph", what);
    return NULL;
}

uint32_t tni_graph_add_value(tn_graph *graph, const tni_value *value)
{
    if (graph->value_count >= TNI_MAX_VALUES ||
        !tni_grow(&graph->arena.allocator, &graph->values, &graph->value_capacity,
                  graph->value_count + 1, sizeof *value)) {
        tni_graph_fail_memory(graph);
        return UINT32_MAX;
    }
    graph->values[graph->value_count] = *value;
    return graph->value_count++;
}

uint32_t tni_graph_add_storage(tn_graph *graph, uint32_t owner, uint64_t bytes)
{
    if (!tni_grow(&graph->arena.allocator, &graph->storages, &graph->storage_capacity,
                  graph->storage_count + 1, sizeof *graph->storages)) {
        tni_graph_fail_memory(graph);
        return UINT32_MAX;
    }
    graph->storages[graph->storage_count] = (tni_storage){ owner, bytes };
    return graph->storage_count++;
}

bool tni_rule_fail(const tni_rule *rule, tn_status status, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    tni_format_text_v(text, sizeof text, format, arguments);
    va_end(arguments);
    tni_graph_fail(rule->graph, status, "%s '%s': %s", rule->op->name, rule->name, text);
    return false;
}
