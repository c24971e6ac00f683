#include "graph_test.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

tn_graph *test_graph(void)
{
    tn_graph *graph = NULL;
    if (tn_graph_create(NULL, &graph, NULL) != TN_OK)
        fail_msg("no memory for a graph");
    return graph;
}

static tn_dtype find_type(const char *name, size_t bytes)
{
    for (tn_dtype type = 1; type < 64; type++)
        if (strlen(tn_dtype_name(type)) == bytes && memcmp(tn_dtype_name(type), name, bytes) == 0)
            return type;
    fail_msg("no type is named %.*s", (int)bytes, name);
    return 0;
}

static tn_value length_named(tn_graph *graph, const char *name)
{
    tn_value value = tn_graph_find(graph, name);
    return tn_value_is_none(value) ? tn_graph_input(graph, name, TN_DTYPE_I32, 1, (int64_t[]){ 1 })
                                   : value;
}

tn_value test_value(tn_graph *graph, const char *name, const char *shape)
{
    size_t type_bytes = strcspn(shape, " ");
    const char *at = strchr(shape, '{');
    int64_t dims[TN_MAX_DIMS];
    char lengths[TN_MAX_DIMS][8] = { { 0 } };
    uint32_t rank = 0;
    if (!at)
        fail_msg("\"%s\" is no shape", shape);
    for (at++; *at && *at != '}'; at += strspn(at, ", ")) {
        char *end;
        dims[rank] = strtoll(at, &end, 10);
        if (end == at)
            fail_msg("\"%s\" is no shape", shape);
        at = end;
        if (strncmp(at, " of ", 4) == 0) {
            size_t bytes = strcspn(at + 4, ",}");
            memcpy(lengths[rank], at + 4, bytes);
            at += 4 + bytes;
        }
        rank++;
    }
    tn_value value = tn_graph_input(graph, name, find_type(shape, type_bytes), rank, dims);
    for (uint32_t i = 0; i < rank; i++)
        if (*lengths[i])
            value = tn_graph_limit(graph, value, i, length_named(graph, lengths[i]));
    return value;
}

const tni_value *test_at(const tn_graph *graph, tn_value value)
{
    if (value.index >= graph->value_count)
        fail_msg("no value: %s", graph->first_error.text);
    return &graph->values[value.index];
}

const char *test_shape(const tn_graph *graph, tn_value handle)
{
    static char texts[4][256];
    static unsigned next;
    char *text = texts[next++ % 4];
    const tni_value *value = test_at(graph, handle);
    int used = snprintf(text, 256, "%s {", tn_dtype_name(value->dtype));
    for (uint32_t i = 0; i < TN_MAX_DIMS; i++) {
        if (i >= value->rank && (value->dims[i] != 1 || value->extent[i]))
            fail_msg("'%s' has a dim beyond its rank", value->name);
        if (i >= value->rank)
            continue;
        used += snprintf(text + used, 256 - (size_t)used, "%s%" PRId64, i ? ", " : "",
                         value->dims[i]);
        if (value->extent[i])
            used += snprintf(text + used, 256 - (size_t)used, " of %s",
                             graph->values[value->extent[i] - 1].name);
    }
    snprintf(text + used, 256 - (size_t)used, "}");
    return text;
}

void test_finish(tn_graph *graph, tn_value out)
{
    tn_error err = { 0 };
    tn_graph_output(graph, "out", out);
    if (tn_graph_finish(graph, &err) != TN_OK)
        fail_msg("%s", err.text);
}

void test_refused(tn_graph *graph, const char *says, tn_status status, const char *const *parts)
{
    tn_error err = { 0 };
    tn_status got = tn_graph_finish(graph, &err);
    if (got != status)
        fail_msg("%s: %s, not %s: %s", says, tn_status_name(got), tn_status_name(status), err.text);
    for (; *parts; parts++)
        if (!strstr(err.text, *parts))
            fail_msg("%s: \"%s\" does not say \"%s\"", says, err.text, *parts);
    tn_graph_destroy(graph);
}

uint32_t test_node(const tn_graph *graph, tn_value value)
{
    return test_at(graph, value)->node;
}

bool test_is_after(const tn_graph *graph, uint32_t later, uint32_t earlier)
{
    bool *is_reached = calloc(graph->node_count, sizeof *is_reached);
    is_reached[later] = true;
    for (uint32_t n = later + 1; n-- > 0;)
        for (uint32_t e = graph->order.first[n]; e < graph->order.first[n + 1] && is_reached[n];
             e++)
            is_reached[graph->order.before[e]] = true;
    bool answer = later != earlier && is_reached[earlier];
    free(is_reached);
    return answer;
}
