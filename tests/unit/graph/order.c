// The order and the dependencies of random graphs, against an oracle that looks at every pair of
// nodes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph_test.h"

enum { GRAPHS = 600, MOST_NODES = 48, STATES = 2 };

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

// What was built, as the builder asked for it.
typedef struct built {
    tn_graph *graph;
    uint32_t count;                    // of nodes
    tn_value outputs[MOST_NODES];      // of each node
    tn_value reads[MOST_NODES][4];     // TN_NO_VALUE ends
    tn_value plain[2 * MOST_NODES];    // F32 {4, 3}, leaves, nodes and views
    tn_value tables[2 * MOST_NODES];   // F32 {4, 5} that may be written
    uint32_t plain_count, table_count;
} built;

static void add_node(built *b, tn_value output, tn_value a, tn_value c, tn_value d)
{
    assert_false(tn_value_is_none(output));
    b->outputs[b->count] = output;
    b->reads[b->count][0] = a;
    b->reads[b->count][1] = c;
    b->reads[b->count][2] = d;
    b->reads[b->count++][3] = TN_NO_VALUE;
}

static void add_random_node(built *b, tn_value index, tn_value length, uint32_t *seed)
{
    tn_graph *graph = b->graph;
    tn_value x = b->plain[next_random(seed) % b->plain_count];
    tn_value y = b->plain[next_random(seed) % b->plain_count];
    tn_value table = b->tables[next_random(seed) % b->table_count];
    tn_value out;
    switch (next_random(seed) % 7) {
    case 0:
        out = tn_graph_scale(graph, x, 2);
        add_node(b, out, x, TN_NO_VALUE, TN_NO_VALUE);
        b->plain[b->plain_count++] = out;
        break;
    case 1:
        out = tn_graph_add(graph, x, y);
        add_node(b, out, x, y, TN_NO_VALUE);
        b->plain[b->plain_count++] = out;
        break;
    case 2:
        out = tn_graph_get_rows(graph, table, index);
        add_node(b, out, table, index, TN_NO_VALUE);
        b->plain[b->plain_count++] = out;
        break;
    case 3:   // rows of the table's own bytes are refused
        if (graph->values[x.index].storage == graph->values[table.index].storage)
            break;
        out = tn_graph_set_rows(graph, table, x, index);
        add_node(b, out, table, x, index);
        b->tables[b->table_count++] = out;
        break;
    case 4:
        out = tn_graph_scale(graph, table, 3);
        add_node(b, out, table, TN_NO_VALUE, TN_NO_VALUE);
        b->tables[b->table_count++] = out;
        break;
    case 5:   // a view, no node
        b->plain[b->plain_count++] = tn_graph_slice(graph, table, 1, next_random(seed) % 3, 3);
        break;
    default:
        b->plain[b->plain_count++] = tn_graph_limit(graph, x, 1, length);
    }
}

static built build(uint32_t seed, uint32_t steps)
{
    built b = { .graph = test_graph() };
    tn_value index = test_value(b.graph, "index", "I32 {3}");
    tn_value lengths = test_value(b.graph, "lengths", "I32 {1, 3}");
    tn_value one = test_value(b.graph, "one", "I32 {1}");
    b.plain[b.plain_count++] = test_value(b.graph, "x", "F32 {4, 3}");
    for (int i = 0; i < STATES; i++)
        b.tables[b.table_count++] = tn_graph_state(b.graph, (char[]){ (char)('s' + i), 0 },
                                                   TN_DTYPE_F32, 2, (int64_t[]){ 4, 5 });
    tn_value length = tn_graph_get_rows(b.graph, lengths, one);   // a length that a node makes
    add_node(&b, length, lengths, one, TN_NO_VALUE);
    while (steps-- > 0)
        add_random_node(&b, index, length, &seed);
    for (uint32_t i = 0; i < 1 + seed % 3; i++)
        tn_graph_output(b.graph, (char[]){ (char)('a' + i), 0 },
                        next_random(&seed) % 4 ? b.plain[next_random(&seed) % b.plain_count]
                                               : b.tables[next_random(&seed) % b.table_count]);
    return b;
}

static uint32_t storage_of(const built *b, tn_value value)
{
    return b->graph->values[value.index].storage;
}

static bool value_touches(const built *b, tn_value value, uint32_t storage)
{
    const tni_value *v = &b->graph->values[value.index];
    for (uint32_t d = 0; d < TN_MAX_DIMS; d++)
        if (v->extent[d] && b->graph->values[v->extent[d] - 1].storage == storage)
            return true;
    return false;
}

static bool reads(const built *b, uint32_t n, uint32_t storage)
{
    for (int i = 0; !tn_value_is_none(b->reads[n][i]); i++)
        if (storage_of(b, b->reads[n][i]) == storage || value_touches(b, b->reads[n][i], storage))
            return true;
    return value_touches(b, b->outputs[n], storage);
}

static bool conflict(const built *b, uint32_t earlier, uint32_t later)
{
    uint32_t written = storage_of(b, b->outputs[earlier]);
    uint32_t writes = storage_of(b, b->outputs[later]);
    return reads(b, later, written) || writes == written || reads(b, earlier, writes);
}

static bool is_looked_at(const built *b, uint32_t storage)
{
    const tni_value *owner = &b->graph->values[b->graph->storages[storage].owner];
    for (uint32_t i = 0; i < b->graph->output_count; i++)
        if (b->graph->values[b->graph->outputs[i].value].storage == storage)
            return true;
    return owner->source == TNI_STATE;
}

// Until nothing changes: a node is live when what it writes is looked at, or read by a later live
// one.
static void find_live(const built *b, bool *is_live)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < b->count; n++) {
            uint32_t storage = storage_of(b, b->outputs[n]);
            bool live = is_looked_at(b, storage);
            for (uint32_t m = n + 1; m < b->count && !live; m++)
                live = is_live[m] && reads(b, m, storage);
            changed |= live != is_live[n];
            is_live[n] = live;
        }
    }
}

// before[n]: the nodes that must come before node n, through others too, as bits.
static void close_over(uint32_t count, uint64_t *before)
{
    for (uint32_t n = 0; n < count; n++)
        for (uint32_t m = 0; m < n; m++)
            if (before[n] >> m & 1)
                before[n] |= before[m];
}

static void compare(const built *b, uint32_t number)
{
    bool is_live[MOST_NODES] = { false };
    uint32_t kept[MOST_NODES], count = 0;
    uint64_t want[MOST_NODES] = { 0 }, got[MOST_NODES] = { 0 };
    find_live(b, is_live);
    for (uint32_t n = 0; n < b->count; n++) {
        uint32_t place = b->graph->values[b->outputs[n].index].node;
        if (is_live[n] != (place != TNP_NONE))
            fail_msg("graph %u: node %u is %s and should not be", number, n,
                     is_live[n] ? "dropped" : "kept");
        if (!is_live[n])
            continue;
        assert_int_equal(place, count);   // the order of building
        kept[count++] = n;
    }
    assert_int_equal(b->graph->node_count, count);
    const tni_order *order = &b->graph->order;
    for (uint32_t n = 0; n < count; n++) {
        for (uint32_t m = 0; m < n; m++)
            if (conflict(b, kept[m], kept[n]))
                want[n] |= UINT64_C(1) << m;
        for (uint32_t e = order->first[n]; e < order->first[n + 1]; e++) {
            assert_true(order->before[e] < n);
            if (e > order->first[n])
                assert_true(order->before[e] > order->before[e - 1]);
            if (!(want[n] >> order->before[e] & 1))
                fail_msg("graph %u: node %u waits for %u in vain", number, n, order->before[e]);
            got[n] |= UINT64_C(1) << order->before[e];
        }
    }
    close_over(count, want);
    close_over(count, got);
    for (uint32_t n = 0; n < count; n++)
        if (got[n] != want[n])
            fail_msg("graph %u: node %u comes after %llx, not %llx", number, n,
                     (unsigned long long)got[n], (unsigned long long)want[n]);
}

static void random_graphs_are_ordered_as_every_pair_of_nodes_asks(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < GRAPHS; i++) {
        built b = build(i * 2654435761u, 1 + i % (MOST_NODES - 1));
        tn_error err = { 0 };
        if (tn_graph_finish(b.graph, &err) != TN_OK)
            fail_msg("graph %u: %s", i, err.text);
        compare(&b, i);
        tn_graph_destroy(b.graph);
    }
}

static void the_same_steps_make_the_same_graph(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        built a = build(i, 40), b = build(i, 40);
        tn_error err = { 0 };
        assert_int_equal(tn_graph_finish(a.graph, &err), TN_OK);
        assert_int_equal(tn_graph_finish(b.graph, &err), TN_OK);
        assert_int_equal(a.graph->node_count, b.graph->node_count);
        assert_true(a.graph->fingerprint == b.graph->fingerprint);
        uint32_t edges = a.graph->order.first[a.graph->node_count];
        assert_int_equal(edges, b.graph->order.first[b.graph->node_count]);
        if (edges)
            assert_memory_equal(a.graph->order.before, b.graph->order.before,
                                edges * sizeof(uint32_t));
        tn_graph_destroy(a.graph);
        tn_graph_destroy(b.graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_are_ordered_as_every_pair_of_nodes_asks),
        cmocka_unit_test(the_same_steps_make_the_same_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
