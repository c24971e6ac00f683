// fit_rules.c: what is asked of the nodes of a graph, by the placement and while memory is short.
#include <string.h>

#include "base/error.h"
#include "exec/fit_internal.h"

// As tni_lane_import looks at it, without a buffer of it.
static void find_mapped(const tn_session *session, uint32_t place, const tn_graph *graph,
                        uint64_t *mapped)
{
    const tn_device *device = session->lanes[place].device;
    for (uint32_t m = 0; m < device->info.memory_count && device->table->buffer_import; m++) {
        tnp_memory_info info = session->lanes[place].memory;
        if (m > 0 && tni_device_memory(device, m, &info, NULL) != TN_OK)
            continue;
        for (uint32_t s = 0; s < graph->storage_count; s++) {
            const tni_value *owner = &graph->values[graph->storages[s].owner];
            if (owner->source == TNI_WEIGHT && owner->run_bytes == 0 &&
                (!info.max_binding_bytes || graph->storages[s].bytes <= info.max_binding_bytes) &&
                tni_lane_may_import(&info, owner->data, graph->storages[s].bytes))
                mapped[s] |= UINT64_C(1) << place;
        }
    }
}

static tn_status fail_rules(const tni_compiled *compiled, tn_error *err)
{
    return tni_fail_memory(err, "a placement",
                           compiled->graph->node_count * sizeof *compiled->rules);
}

// Where a constant of the application is wished to be; 0 = it is not.
typedef uint64_t wishing(const tn_session *session, const void *data);

static uint64_t where_held(const tn_session *session, const void *data)
{
    const tni_fit *fit = &session->fit;
    return data == fit->held->data ? UINT64_C(1) << fit->held_place : 0;
}

// The places where a constant lies as it is.
static uint64_t where_resident(const tn_session *session, const void *data)
{
    const tni_fit *fit = &session->fit;
    uint64_t places = 0;
    for (uint32_t p = 0; p < session->lane_count; p++) {
        uint32_t low = 0, high = fit->resident_count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            const tni_resident_bytes *at = &fit->resident[middle];
            if (at->place < p || (at->place == p && (uintptr_t)at->data < (uintptr_t)data))
                low = middle + 1;
            else
                high = middle;
        }
        if (low < fit->resident_count && fit->resident[low].place == p &&
            fit->resident[low].data == data)
            places |= UINT64_C(1) << p;
    }
    return places;
}

// Those that ask nothing, where the placement made none.
static tn_status need_rules(tni_compiled *compiled, tn_error *err)
{
    const uint32_t count = compiled->graph->node_count;
    if (compiled->rules)
        return TN_OK;
    compiled->rules = tni_arena_take_array(&compiled->arena, count, sizeof *compiled->rules);
    for (uint32_t n = 0; n < count && compiled->rules; n++)
        compiled->rules[n] = (tni_rule){ UINT64_MAX, UINT64_MAX, TNI_WHY_COST, NULL };
    return compiled->rules ? TN_OK : fail_rules(compiled, err);
}

// Narrows the wishes of nodes that read constants.
static tn_status wish_weights(tni_compiled *compiled, wishing *where, const tn_session *session,
                              tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    tn_status status = need_rules(compiled, err);
    for (uint32_t n = 0; n < graph->node_count && status == TN_OK; n++) {
        uint32_t reads[TNI_MAX_READS], count = tni_node_reads(graph, &graph->nodes[n], reads);
        for (uint32_t i = 0; i < count; i++) {
            const tni_storage *storage = &graph->storages[graph->values[reads[i]].storage];
            const tni_value *owner = &graph->values[storage->owner];
            uint64_t there = owner->source == TNI_WEIGHT ? where(session, owner->data) : 0;
            tni_rule *rule = &compiled->rules[n];
            if (where == where_held && there)
                rule->wish |= there;   // more than its layer
            if (!(there & rule->wish) || !(rule->wish & ~there))
                continue;
            rule->wish &= there;
            if (where == where_held || rule->why != TNI_WHY_LAYER)   // else it is there as asked
                rule->why = TNI_WHY_MEMORY;
        }
    }
    return status;
}

tn_status tni_fit_begin_graph(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    const tn_graph *graph = compiled->graph;
    if (compiled->mapped)
        return TN_OK;
    compiled->mapped = tni_arena_take_array(&compiled->arena, graph->storage_count,
                                            sizeof *compiled->mapped);
    if (!compiled->mapped)
        return tni_fail_memory(err, "a placement", graph->storage_count * sizeof *compiled->mapped);
    for (uint32_t i = 0; i < session->lane_count; i++)
        find_mapped(session, i, graph, compiled->mapped);
    for (uint32_t s = 0; s < graph->storage_count; s++)
        session->fit.mapping_places |= compiled->mapped[s];
    if (!tni_placement_is_free(&session->placement)) {
        compiled->rules = tni_arena_take_array(&compiled->arena, graph->node_count,
                                               sizeof *compiled->rules);
        if (!compiled->rules)
            return fail_rules(compiled, err);
        tn_status status = tni_placement_rules(&session->placement, &session->layers,
                                               session->devices, session->lane_count, graph,
                                               compiled->rules, NULL, err);
        if (status != TN_OK)
            return status;
    }
    const tni_fit *fit = &session->fit;
    return fit->held_place != TNP_NONE ? wish_weights(compiled, where_held, session, err) : TN_OK;
}

tn_status tni_fit_warn_of_pins(tn_session *session, tn_error *err)
{
    const tni_placement *p = &session->placement;
    tni_arena scratch;
    tn_status status = TN_OK;
    if (p->pin_count == 0 || session->has_warned_of_pins)
        return TN_OK;
    session->has_warned_of_pins = true;
    tni_arena_init(&scratch, &session->arena.allocator);
    bool *is_met = tni_arena_take_array(&scratch, p->pin_count, sizeof *is_met);
    for (uint32_t g = 0; g < session->graph_count && is_met && status == TN_OK; g++) {
        const tn_graph *graph = session->graphs[g]->graph;
        tni_rule *rules = tni_arena_take_array(&scratch, graph->node_count, sizeof *rules);
        status = rules ? tni_placement_rules(p, &session->layers, session->devices,
                                             session->lane_count, graph, rules, is_met, err)
                       : TN_E_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < p->pin_count && is_met && status == TN_OK; i++)
        if (!is_met[i] && (i == 0 || strcmp(p->pins[i].value, p->pins[i - 1].value) != 0))
            tni_log_line(tni_session_log(session), TN_LOG_WARNING,
                         "placement: '%s' is pinned to %s, but no graph has a value of this name",
                         p->pins[i].value, p->pins[i].device->name);
    if (!is_met || status == TN_E_HOST_MEMORY)
        status = tni_fail_memory(err, "a placement", p->pin_count * sizeof *is_met);
    tni_arena_finish(&scratch);
    return status;
}

tn_status tni_fit_avoid(tni_compiled *compiled, tn_error *err)
{
    tn_status status = need_rules(compiled, err);
    for (uint32_t n = 0; n < compiled->graph->node_count && status == TN_OK; n++) {
        tni_rule *rule = &compiled->rules[n];
        rule->wish = rule->wish & ~compiled->avoided ? rule->wish & ~compiled->avoided
                                                     : ~compiled->avoided;
        rule->why = TNI_WHY_MEMORY;
    }
    return status;
}

tn_status tni_fit_follow_weights(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    return wish_weights(compiled, where_resident, session, err);
}
