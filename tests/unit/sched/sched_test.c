#include "sched_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "places.h"

static void keep_line(void *context, int32_t level, const char *text)
{
    rig *r = context;
    size_t used = strlen(r->log);
    (void)level;
    snprintf(r->log + used, sizeof r->log - used, "%s\n", text);
}

void rig_begin(rig *r, uint32_t device_count)
{
    memset(r, 0, sizeof *r);
    tn_runtime_options options = {
        .size = sizeof options, .threads = 1, .log = keep_line, .log_context = r
    };
    test_places();
    if (tn_runtime_create(&options, &r->runtime, &r->err) != TN_OK ||
        tn_graph_create(NULL, &r->graph, &r->err) != TN_OK)
        fail_msg("%s", r->err.text);
    r->log[0] = 0;
    r->device_count = device_count;
    for (uint32_t i = 0; i < device_count; i++) {
        r->fakes[i] = (fake_device){ .cost_ns = 1000 };
        r->devices[i] = (tn_device){ .runtime = r->runtime,
                                     .table = &fake_plugin,
                                     .instance = fake_instance(&r->fakes[i]),
                                     .plugin = "fake",
                                     .info = { .memory_count = 1, .update_bytes = 256 } };
        snprintf(r->devices[i].name, sizeof r->devices[i].name, "fake%u", i);
        r->list[i] = &r->devices[i];
    }
    tni_arena_init(&r->arena, NULL);
}

void rig_end(rig *r)
{
    tni_schedule_finish(&r->schedule);
    tni_arena_finish(&r->arena);
    tn_graph_destroy(r->graph);
    tn_runtime_destroy(r->runtime);
}

tn_value rig_input(rig *r, const char *name)
{
    return tn_graph_input(r->graph, name, TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 });
}

tn_value rig_op(rig *r, tnp_op op, tn_value x)
{
    return tn_graph_op(r->graph, op, NULL, &x, 1, NULL);
}

rig_products rig_make_products(rig *r)
{
    static const float weights[2][16];
    const int64_t dims[] = { 4, 4 };
    const size_t bytes = sizeof weights[0];
    rig_products p = {
        .weights = { weights[0], weights[1] },
        .w = tn_graph_weight(r->graph, "w", TN_DTYPE_F32, 2, dims, weights[0], bytes),
        .v = tn_graph_weight(r->graph, "v", TN_DTYPE_F32, 2, dims, weights[1], bytes),
    };
    p.y[0] = tn_graph_matmul(r->graph, rig_input(r, "x"), p.w);
    p.y[1] = tn_graph_matmul(r->graph, p.y[0], p.w);
    p.y[2] = tn_graph_matmul(r->graph, p.y[1], p.v);
    rig_finish(r, p.y[2]);
    return p;
}

const float rig_layer_weights[RIG_LAYERS][12];

void rig_make_layers(rig *r, tn_value out[RIG_LAYERS])
{
    tn_value y = rig_op(r, TNP_OP_NEG, rig_input(r, "x"));
    for (uint32_t i = 0; i < RIG_LAYERS; i++) {
        char name[8];
        snprintf(name, sizeof name, "w%u", i);
        tn_graph_mark(r->graph, 10 + 3 * i, TN_NO_PART);   // any numbers that rise
        tn_value w = tn_graph_weight(r->graph, name, TN_DTYPE_F32, 2, (int64_t[]){ 4, 3 },
                                     rig_layer_weights[i], sizeof rig_layer_weights[i]);
        out[i] = y = tn_graph_mul(r->graph, y, w);
    }
    rig_finish(r, y);
}

void rig_finish(rig *r, tn_value out)
{
    tn_graph_output(r->graph, "out", out);
    if (tn_graph_finish(r->graph, &r->err) != TN_OK)
        fail_msg("%s", r->err.text);
}

tn_status rig_try(rig *r, const uint64_t *storage_places)
{
    tni_schedule_finish(&r->schedule);
    tni_schedule_request request = {
        .graph = r->graph,
        .devices = r->list,
        .device_count = r->device_count,
        .storage_places = storage_places,
    };
    return tni_schedule_make(&request, &r->arena, &r->schedule, &r->err);
}

void rig_schedule(rig *r, const uint64_t *storage_places)
{
    if (rig_try(r, storage_places) != TN_OK)
        fail_msg("%s", r->err.text);
    rig_check(r);
}

static void check_units(const rig *r)
{
    const tni_schedule *s = &r->schedule;
    uint32_t seen = 0, unit = 0;
    for (uint32_t i = 0; i < s->segment_count; i++) {
        const tni_segment *segment = &s->segments[i];
        assert_int_equal(segment->first_unit, unit);
        assert_true(segment->unit_count > 0);
        // Only a segment that waits for another device, or lets one wait, is divided.
        assert_true(i == 0 || s->segments[i - 1].place != segment->place || s->transfer_count);
        for (; unit < segment->first_unit + segment->unit_count; unit++) {
            assert_int_equal(s->units[unit]->place, segment->place);
            for (uint32_t k = 0; k < s->units[unit]->node_count; k++, seen++) {
                assert_int_equal(s->steps[s->units[unit]->nodes[k]], unit);
                assert_int_equal(s->places[s->units[unit]->nodes[k]], segment->place);
            }
        }
    }
    assert_int_equal(unit, s->unit_count);
    assert_int_equal(seen, r->graph->node_count);
    const tni_order *order = &r->graph->order;
    for (uint32_t n = 0; n < r->graph->node_count; n++)
        for (uint32_t e = order->first[n]; e < order->first[n + 1]; e++)
            if (s->steps[order->before[e]] > s->steps[n])
                fail_msg("node %u runs before node %u, which it waits for", n, order->before[e]);
}

static void need_bytes(const rig *r, const uint64_t *holds, uint32_t value, uint32_t place)
{
    const tni_value *v = &r->graph->values[value];
    tni_source source = r->graph->values[r->graph->storages[v->storage].owner].source;
    if (source == TNI_MADE && !(holds[v->storage] >> place & 1))
        fail_msg("'%s' is read on %u and is not there", v->name, place);
}

// Moves bytes as the transfers say, and looks at every operand and length when its node runs.
static void check_bytes(const rig *r)
{
    const tni_schedule *s = &r->schedule;
    uint64_t *holds = calloc(r->graph->storage_count + 1, sizeof *holds);
    uint32_t *state_place = calloc(r->graph->storage_count + 1, sizeof *state_place), next = 0;
    for (uint32_t i = 0; i < s->segment_count; i++) {
        uint32_t place = s->segments[i].place;
        for (; next < s->transfer_count && s->transfers[next].segment == i; next++) {
            const tni_transfer *t = &s->transfers[next];
            assert_int_equal(t->to, place);
            assert_true(holds[t->storage] >> t->from & 1);
            assert_false(holds[t->storage] >> t->to & 1);   // one copy, not two
            holds[t->storage] |= UINT64_C(1) << t->to;
        }
        for (uint32_t u = s->segments[i].first_unit;
             u < s->segments[i].first_unit + s->segments[i].unit_count; u++)
            for (uint32_t k = 0; k < s->units[u]->node_count; k++) {
                const tni_node *node = &r->graph->nodes[s->units[u]->nodes[k]];
                for (uint32_t j = 0; j <= node->input_count; j++) {
                    uint32_t value = j < node->input_count ? node->inputs[j] : node->output;
                    if (value == TNP_NONE)
                        continue;
                    uint32_t storage = r->graph->values[value].storage;
                    if (j < node->input_count)
                        need_bytes(r, holds, value, place);
                    for (uint32_t d = 0; d < TN_MAX_DIMS; d++)
                        if (r->graph->values[value].extent[d])
                            need_bytes(r, holds, r->graph->values[value].extent[d] - 1, place);
                    if (r->graph->values[r->graph->storages[storage].owner].source != TNI_STATE)
                        continue;
                    if (state_place[storage] && state_place[storage] != place + 1)
                        fail_msg("a state is touched on two devices");
                    state_place[storage] = place + 1;
                }
                holds[r->graph->values[node->output].storage] = UINT64_C(1) << place;
            }
    }
    assert_int_equal(next, s->transfer_count);
    free(holds);
    free(state_place);
}

void rig_check(const rig *r)
{
    check_units(r);
    check_bytes(r);
}

uint32_t rig_node(const rig *r, tn_value value)
{
    return r->graph->values[value.index].node;
}

uint32_t rig_place(const rig *r, tn_value value)
{
    return r->schedule.places[rig_node(r, value)];
}

uint32_t rig_storage(const rig *r, tn_value value)
{
    return r->graph->values[value.index].storage;
}

const char *rig_segments(const rig *r)
{
    static char text[64];
    uint32_t i = 0;
    for (; i < r->schedule.segment_count && i < sizeof text - 1; i++)
        text[i] = (char)('0' + r->schedule.segments[i].place);
    text[i] = 0;
    return text;
}

double rig_copy_ns(rig *r, uint64_t bytes)
{
    tni_links links;
    assert_true(tni_links_default(2, &r->arena, &links));
    return tni_links_cost_ns(&links, 0, 1, bytes);
}

uint32_t rig_transfers(const rig *r, tn_value value, uint32_t to)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->schedule.transfer_count; i++)
        count += r->schedule.transfers[i].storage == rig_storage(r, value) &&
                 r->schedule.transfers[i].to == to;
    return count;
}
