// placement.c: see placement.h.
#include "sched/placement.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"

// ---------------------------------------------------------------------------------------- taken in

// Those that are no CPUs, or all where all are.
static bool list_split(tn_device *const *devices, uint32_t count, tni_arena *arena,
                       tni_placement *out)
{
    uint32_t others = 0;
    for (uint32_t i = 0; i < count; i++)
        others += !tni_is_cpu(devices[i]);
    out->split = tni_arena_take_array(arena, count, sizeof *out->split);
    for (uint32_t i = 0; i < count && out->split; i++)
        if (!others || !tni_is_cpu(devices[i]))
            out->split[out->split_count++] = devices[i];
    return out->split != NULL;
}

static bool divides(uint32_t split_mode)
{
    return split_mode == TN_SPLIT_LAYER || split_mode == TN_SPLIT_ROW ||
           split_mode == TN_SPLIT_TENSOR;
}

static tn_status check(const tn_placement *asked, tn_error *err)
{
    if (asked->split_mode > TN_SPLIT_TENSOR)
        return tni_fail(err, TN_E_ARG, "placement: split_mode: %u is not known", asked->split_mode);
    if (asked->layer_rule > TN_LAYERS_ALL)
        return tni_fail(err, TN_E_ARG, "placement: layer_rule: %u is not known", asked->layer_rule);
    if (asked->layer_rule != TN_LAYERS_COUNT && asked->gpu_layers)
        return tni_fail(err, TN_E_ARG,
                        "placement: gpu_layers: it is %u, but layer_rule is not TN_LAYERS_COUNT",
                        asked->gpu_layers);
    if (asked->share_count && !asked->shares)
        return tni_fail(err, TN_E_ARG,
                        "placement: shares: %u shares are counted, but shares is NULL",
                        asked->share_count);
    if (asked->shares && !asked->share_count)
        return tni_fail(err, TN_E_ARG, "placement: shares: shares are given, and share_count is 0");
    if (asked->pin_count && !asked->pins)
        return tni_fail(err, TN_E_ARG, "placement: pins: %u pins are counted, but pins is NULL",
                        asked->pin_count);
    if (asked->share_count && !divides(asked->split_mode))
        return tni_fail(err, TN_E_ARG,
                        "placement: shares: shares are of the split modes layer, row and tensor");
    if (asked->main_device &&
        (asked->split_mode == TN_SPLIT_FREE || asked->split_mode == TN_SPLIT_LAYER))
        return tni_fail(
            err, TN_E_ARG,
            "placement: main_device: a main device is of the split modes none, row and tensor");
    return TN_OK;
}

static tn_status take_shares(const tn_placement *asked, tni_arena *arena, tni_placement *out,
                             tn_error *err)
{
    double sum = 0;
    if (asked->share_count > out->split_count)
        return tni_fail(
            err, TN_E_ARG,
            "placement: shares: %u shares are given, layers are divided over %u device%s",
            asked->share_count, out->split_count, out->split_count == 1 ? "" : "s");
    double *shares = tni_arena_take_array(arena, out->split_count, sizeof *shares);
    if (!shares)
        return tni_fail_memory(err, "a placement", out->split_count * sizeof *shares);
    for (uint32_t i = 0; i < asked->share_count; i++) {
        shares[i] = asked->shares[i];
        sum += shares[i];
        if (!(shares[i] >= 0) || !isfinite(shares[i]))
            return tni_fail(err, TN_E_ARG,
                            "placement: shares: share %u is %g: shares are finite and not negative",
                            i, shares[i]);
    }
    if (!isfinite(sum))
        return tni_fail(err, TN_E_ARG, "placement: shares: the shares are too large to be added");
    if (sum <= 0)
        return tni_fail(err, TN_E_ARG, "placement: shares: all shares are 0");
    out->shares = shares;
    return TN_OK;
}

static int compare_pins(const void *left, const void *right)
{
    const tni_pinned_value *a = left, *b = right;
    int sign = strcmp(a->value, b->value);
    return sign ? sign : (a->rank > b->rank) - (a->rank < b->rank);
}

static tn_status check_device(tn_device *const *devices, uint32_t count, const tn_device *device,
                              const char *what, tn_error *err)
{
    if (!device || tni_place_of(devices, count, device) != TNP_NONE)
        return TN_OK;
    return tni_fail(err, TN_E_ARG, "placement: %s %s is not one of the session's devices", what,
                    device->name);
}

static tn_status take_pins(const tn_placement *asked, tn_device *const *devices, uint32_t count,
                           tni_arena *arena, tni_placement *out, tn_error *err)
{
    tn_status status = TN_OK;
    out->pins = tni_arena_take_array(arena, asked->pin_count, sizeof *out->pins);
    if (!out->pins)
        return tni_fail_memory(err, "a placement", asked->pin_count * sizeof *out->pins);
    for (uint32_t i = 0; i < asked->pin_count && status == TN_OK; i++) {
        const tn_pin *pin = &asked->pins[i];
        if (!pin->value || !pin->device)
            return tni_fail(err, TN_E_ARG, "placement: pins: pin %u has no %s", i,
                            pin->value ? "device" : "value");
        const char *value = tni_arena_take_text(arena, pin->value);
        if (!value)
            return tni_fail_memory(err, "a placement", strlen(pin->value) + 1);
        out->pins[i] = (tni_pinned_value){ value, pin->device, i };
        status = check_device(devices, count, pin->device, "pins: a pin's device", err);
    }
    if (status != TN_OK)
        return status;
    out->pin_count = asked->pin_count;
    if (out->pin_count)
        qsort(out->pins, out->pin_count, sizeof *out->pins, compare_pins);
    return TN_OK;
}

tn_status tni_placement_take(const tn_placement *asked, tn_device *const *devices,
                             uint32_t device_count, tni_arena *arena, tni_placement *out,
                             tn_error *err)
{
    tn_placement known;
    *out = (tni_placement){ 0 };
    tn_status status = tni_take_struct(&known, sizeof known, TNI_UP_TO(tn_placement, pins), asked,
                                       "tn_session_create", "its placement", err);
    if (status == TN_OK)
        status = check(&known, err);
    if (status != TN_OK)
        return status;
    out->split_mode = known.split_mode;
    out->layer_rule = known.layer_rule;
    out->gpu_layers = known.gpu_layers;
    out->main_device = known.main_device;
    out->kv_device = known.kv_device;
    if (!list_split(devices, device_count, arena, out))
        return tni_fail_memory(err, "a placement", device_count * sizeof *out->split);
    status = check_device(devices, device_count, known.main_device, "main_device: the main device",
                          err);
    if (status == TN_OK)
        status = check_device(devices, device_count, known.kv_device,
                              "kv_device: the device of states", err);
    if (status == TN_OK && known.share_count)
        status = take_shares(&known, arena, out, err);
    return status == TN_OK ? take_pins(&known, devices, device_count, arena, out, err) : status;
}

bool tni_placement_is_of_layers(const tni_placement *placement)
{
    return placement->split_mode != TN_SPLIT_FREE || placement->layer_rule != TN_LAYERS_AUTO;
}

bool tni_placement_has_parts(const tni_placement *placement)
{
    return placement->split_mode == TN_SPLIT_ROW || placement->split_mode == TN_SPLIT_TENSOR;
}

bool tni_placement_demands(const tni_placement *placement, const tn_device *device)
{
    bool does = placement->kv_device == device;
    for (uint32_t i = 0; i < placement->pin_count; i++)
        does |= placement->pins[i].device == device;
    return does;
}

bool tni_placement_is_free(const tni_placement *placement)
{
    return !tni_placement_is_of_layers(placement) && !placement->kv_device && !placement->pin_count;
}

// ------------------------------------------------------------------------------------------- rules

typedef struct ruling {
    const tni_placement *placement;
    const tni_layers *layers;
    tn_device *const *devices;
    uint32_t device_count;
    const tn_graph *graph;
    bool *is_met;
} ruling;

// The first pin of the name; TNP_NONE = none.
static uint32_t find_pin(const tni_placement *p, const char *name)
{
    uint32_t low = 0, high = p->pin_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strcmp(p->pins[middle].value, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->pin_count && strcmp(p->pins[low].value, name) == 0 ? low : TNP_NONE;
}

// What is demanded of a node by one value that it touches. *by: the pin before, TNP_NONE = none.
// state: one that it touches and that is demanded elsewhere by kv_device, or NULL.
static tn_status demand_by(const ruling *r, uint32_t n, uint32_t value, const char *state,
                           uint32_t *by, tni_rule *rule, tn_error *err)
{
    const tn_graph *graph = r->graph;
    const tni_pinned_value *pins = r->placement->pins;
    uint32_t owner = graph->storages[graph->values[value].storage].owner;
    const char *names[] = { graph->values[value].name, graph->values[owner].name };
    for (uint32_t i = 0; i < 2 + graph->output_count; i++) {
        if (i >= 2 && graph->outputs[i - 2].value != value)
            continue;
        uint32_t pin = find_pin(r->placement, i < 2 ? names[i] : graph->outputs[i - 2].name), place;
        if (pin == TNP_NONE)
            continue;
        if (r->is_met)
            r->is_met[pin] = true;
        place = tni_place_of(r->devices, r->device_count, pins[pin].device);
        if (place == TNP_NONE)   // it is gone
            continue;
        if (*by != TNP_NONE && pins[*by].device != pins[pin].device)
            return tni_fail(err, TN_E_ARG,
                            "placement: pins: '%s' is pinned to %s by '%s' and to %s by '%s'",
                            graph->nodes[n].name, pins[*by].device->name, pins[*by].value,
                            pins[pin].device->name, pins[pin].value);
        if (state && pins[pin].device != r->placement->kv_device)
            return tni_fail(
                err, TN_E_ARG,
                "placement: pins: '%s' is pinned to %s by '%s', but it touches the state "
                "'%s', and states are ordered to be on %s",
                graph->nodes[n].name, pins[pin].device->name, pins[pin].value, state,
                r->placement->kv_device->name);
        *by = pin;
        rule->demand = UINT64_C(1) << place;
        rule->by = "pins";
    }
    return TN_OK;
}

static tn_status demand(const ruling *r, uint32_t n, tni_rule *rule, tn_error *err)
{
    uint32_t values[TNI_MAX_READS + 1], by = TNP_NONE;
    uint32_t count = tni_node_touches(r->graph, &r->graph->nodes[n], values);
    uint32_t kv = tni_place_of(r->devices, r->device_count, r->placement->kv_device);
    const char *state = NULL;
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < count && kv != TNP_NONE; i++) {
        uint32_t storage = r->graph->values[values[i]].storage;
        if (tni_storage_source(r->graph, storage) != TNI_STATE)
            continue;
        state = r->graph->values[r->graph->storages[storage].owner].name;
        rule->demand = UINT64_C(1) << kv;
        rule->by = "kv_device";
    }
    for (uint32_t i = 0; i < count && r->placement->pin_count && status == TN_OK; i++)
        status = demand_by(r, n, values[i], state, &by, rule, err);
    return status;
}

static uint64_t wish(const ruling *r, uint32_t n)
{
    const tni_mark *mark = &r->graph->nodes[n].mark;
    const tni_placement *p = r->placement;
    uint32_t layer = tni_layers_index(r->layers, mark->layer);
    if (layer == TNP_NONE && p->split_mode == TN_SPLIT_NONE && r->layers->main_place != TNP_NONE)
        return (UINT64_C(1) << r->layers->main_place) | r->layers->rest_places;
    if (layer == TNP_NONE)
        return UINT64_MAX;
    if (layer < r->layers->count - r->layers->offloaded || mark->part >= r->layers->part_count)
        return r->layers->wishes[layer];   // TN_NO_PART too
    return r->layers->part_wishes[(size_t)layer * r->layers->part_count + mark->part];
}

tn_status tni_placement_rules(const tni_placement *placement, const tni_layers *layers,
                              tn_device *const *devices, uint32_t device_count,
                              const tn_graph *graph, tni_rule *rules, bool *is_met, tn_error *err)
{
    ruling r = { placement, layers, devices, device_count, graph, is_met };
    tn_status status = TN_OK;
    for (uint32_t n = 0; n < graph->node_count && status == TN_OK; n++) {
        rules[n] = (tni_rule){ UINT64_MAX, UINT64_MAX, TNI_WHY_LAYER, NULL };
        if (tni_placement_is_of_layers(placement))
            rules[n].wish = wish(&r, n);
        status = demand(&r, n, &rules[n], err);
    }
    return status;
}
