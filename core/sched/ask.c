// ask.c: asks the devices and checks what they answer. A plugin may answer anything.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "sched/sched_internal.h"

// What no plugin means: more is a fault, which is to cost neither time nor memory.
enum {
    MAX_PACKS = 4096,          // of one claim
    MAX_PAIRS_A_NODE = 64,     // in place: more than any node has operands
    MAX_STRUCT_BYTES = 4096,   // of a struct that a plugin hands over
    MAX_CLAIMS_A_NODE = 64,    // of one device; as many refusals
};

// What is shown.
enum {
    MAX_TEXT = 256,     // bytes of a name or a reason
    MAX_WARNINGS = 4,   // of one device and graph; the rest is told by the refusals
};

// Of scratch, and of what stays: more than any device has, and sums of it do not wrap.
static const uint64_t most_claim_bytes = UINT64_C(1) << 48;

typedef struct asking {
    const tn_graph *graph;
    const tni_slice *slice;
    tni_answers *answers;
    tn_device *device;
    uint32_t place;
    bool is_alone;   // no other device is asked
    bool is_quiet;
    uint32_t claim_number;   // counted from 1
    uint32_t *after;         // by node of the graph, see check_convex
    uint32_t refusal_count;
    uint32_t warning_count;
    bool is_out_of_memory;
    char broken[64];   // a rule in words of its own, see check_nodes
} asking;

static void add_refusal(asking *ask, uint32_t node, const char *reason)
{
    tni_answers *answers = ask->answers;
    char text[MAX_TEXT];
    tni_text_make_safe(text, sizeof text, reason ? reason : "", MAX_TEXT);
    const char *copy = tni_arena_take_text(&answers->arena, *text ? text : "no reason given");
    if (!copy ||
        !tni_grow(&answers->arena.allocator, &answers->refusals, &answers->refusal_capacity,
                  answers->refusal_count + 1, sizeof *answers->refusals)) {
        ask->is_out_of_memory = true;
        return;
    }
    answers->refusals[answers->refusal_count++] = (tni_refusal){ ask->place, node, copy };
}

static void refuse(void *context, uint32_t node, const char *reason)
{
    asking *ask = context;
    if (node < ask->slice->slice.node_count &&
        ask->refusal_count++ < MAX_CLAIMS_A_NODE * ask->graph->node_count)
        add_refusal(ask, ask->slice->graph_node[node], reason);
}

// ------------------------------------------------------------------------------- checks of a claim

// NULL = the rule holds; else which was broken.
static const char *check_nodes(asking *ask, const tnp_claim *claim)
{
    uint32_t count = claim->node_count, most = ask->slice->slice.node_count;
    if (count == 0)
        return "it has no nodes";
    if (count > most)
        snprintf(ask->broken, sizeof ask->broken, "it has %u nodes, the slice has %u", count, most);
    else if (!claim->nodes)
        snprintf(ask->broken, sizeof ask->broken, "it has %u node%s and no list of them", count,
                 count == 1 ? "" : "s");
    if (count > most || !claim->nodes)
        return ask->broken;
    for (uint32_t i = 0; i < claim->node_count; i++) {
        if (claim->nodes[i] >= ask->slice->slice.node_count)
            return "it names a node that is not in the slice";
        if (i && claim->nodes[i] <= claim->nodes[i - 1])
            return "its nodes are not ascending";
    }
    return NULL;
}

// No path leaves the set and comes back: going up from its first to its last node, none outside
// depends on one inside and has one inside depend on it. after[n] is the number of the claim for
// which node n was last found to depend on it.
static const char *check_convex(asking *ask, const tnp_claim *claim)
{
    const tn_graph *graph = ask->graph;
    const uint32_t *of = ask->slice->graph_node;
    uint32_t next = 0;
    for (uint32_t n = of[claim->nodes[0]]; next < claim->node_count; n++) {
        bool is_inside = n == of[claim->nodes[next]];
        for (uint32_t e = graph->order.first[n]; e < graph->order.first[n + 1]; e++) {
            uint32_t before = graph->order.before[e];
            bool is_set = false;   // whether `before` is a node of the claim
            for (uint32_t lo = 0, hi = claim->node_count; lo < hi && !is_set;) {
                uint32_t middle = lo + (hi - lo) / 2;
                is_set = of[claim->nodes[middle]] == before;
                if (of[claim->nodes[middle]] < before)
                    lo = middle + 1;
                else
                    hi = middle;
            }
            if (is_inside && ask->after[before] == ask->claim_number && !is_set)
                return "its nodes are not convex";
            if (!is_inside && (is_set || ask->after[before] == ask->claim_number))
                ask->after[n] = ask->claim_number;
        }
        next += is_inside;
    }
    return NULL;
}

static bool is_in_claim(const asking *ask, const tnp_claim *claim, uint32_t graph_node)
{
    for (uint32_t i = 0; i < claim->node_count; i++)
        if (ask->slice->graph_node[claim->nodes[i]] == graph_node)
            return true;
    return false;
}

// Whether a node of the claim has the value as an operand.
static bool is_operand(const asking *ask, const tnp_claim *claim, uint32_t graph_value)
{
    for (uint32_t i = 0; i < claim->node_count; i++) {
        const tni_node *node = &ask->graph->nodes[ask->slice->graph_node[claim->nodes[i]]];
        for (uint32_t k = 0; k < node->input_count; k++)
            if (node->inputs[k] == graph_value)
                return true;
    }
    return false;
}

static const char *check_in_place(const asking *ask, const tnp_claim *claim)
{
    if (claim->in_place_count > MAX_PAIRS_A_NODE * claim->node_count ||
        (claim->in_place_count && !claim->in_place))
        return "it has more in-place pairs than operands";
    for (uint32_t i = 0; i < claim->in_place_count; i++) {
        uint32_t output = claim->in_place[i].output, input = claim->in_place[i].input;
        if (output >= ask->slice->slice.value_count || input >= ask->slice->slice.value_count)
            return "an in-place pair names a value that is not in the slice";
        uint32_t maker = ask->graph->values[ask->slice->graph_value[output]].node;
        if (maker == TNP_NONE || !is_in_claim(ask, claim, maker))
            return "an in-place pair names an output that it does not make";
        if (!is_operand(ask, claim, ask->slice->graph_value[input]))
            return "an in-place pair names an input that it does not read";
    }
    return NULL;
}

static const char *check_packs(const asking *ask, const tnp_claim *claim)
{
    if (claim->pack_count > MAX_PACKS)
        return "it asks for too many packs";
    if (claim->pack_count && !claim->packs)
        return "it asks for packs, and its list of them is NULL";
    for (uint32_t i = 0; i < claim->pack_count; i++) {
        tnp_pack pack;
        if (!claim->packs[i])
            return "a pack in its list is NULL";
        if (claim->packs[i]->size > MAX_STRUCT_BYTES || !TNP_TAKE(&pack, claim->packs[i]) ||
            TNP_ALIEN(pack.flags, TNP_PACK_BAKED))
            return "a pack has fields that this host does not know";
        if (pack.value >= ask->slice->slice.value_count ||
            tni_storage_source(ask->graph,
                               ask->graph->values[ask->slice->graph_value[pack.value]].storage) !=
                TNI_WEIGHT)
            return "it packs a value that is no constant";
        if (!is_operand(ask, claim, ask->slice->graph_value[pack.value]))
            return "it packs a constant that it does not read";
        if (!(pack.flags & TNP_PACK_BAKED) &&
            (pack.layout == 0 || pack.group_rows == 0 || pack.group_bytes == 0))
            return "a pack has no layout or no group size";
        if (!(pack.flags & TNP_PACK_BAKED) && !ask->device->table->pack)
            return "it asks for packs and the plugin cannot pack";
    }
    return NULL;
}

static const char *check(asking *ask, const tnp_claim *claim)
{
    const char *broken = check_nodes(ask, claim);
    if (!broken && !(isfinite(claim->cost_ns) && claim->cost_ns > 0))
        broken = "its cost is not a positive number";
    if (!broken &&
        (claim->scratch_bytes > most_claim_bytes || claim->resident_bytes > most_claim_bytes))
        broken = "it asks for more memory than any device has";
    if (!broken && TNP_ALIEN(claim->flags, 0))
        broken = "it has flags that this host does not know";
    if (!broken && claim->node_count > 1)
        broken = check_convex(ask, claim);
    if (!broken)
        broken = check_in_place(ask, claim);
    return broken ? broken : check_packs(ask, claim);
}

// -------------------------------------------------------------------------------------- taking one

static bool pack_bytes(const tn_graph *graph, tni_pack *pack)
{
    const tni_value *value = &graph->values[pack->value];
    uint64_t rows = (uint64_t)value->dims[1];
    uint64_t groups = rows / pack->group_rows + (rows % pack->group_rows != 0);   // of one matrix
    for (uint32_t i = 2; i < TN_MAX_DIMS; i++)
        if (!tni_mul_u64(groups, (uint64_t)value->dims[i], &groups))
            return false;
    return tni_mul_u64(groups, pack->group_bytes, &pack->bytes);
}

static bool copy_packs(const asking *ask, const tnp_claim *claim, tni_pack *packs)
{
    for (uint32_t i = 0; i < claim->pack_count; i++) {
        tnp_pack from;
        TNP_TAKE(&from, claim->packs[i]);
        packs[i] = (tni_pack){ .value = ask->slice->graph_value[from.value],
                               .layout = from.layout,
                               .flags = from.flags,
                               .group_rows = from.group_rows,
                               .group_bytes = from.group_bytes };
        if (!(from.flags & TNP_PACK_BAKED) && !pack_bytes(ask->graph, &packs[i]))
            return false;
    }
    return true;
}

static void take_over(asking *ask, const tnp_claim *claim)
{
    tni_answers *answers = ask->answers;
    tni_arena *arena = &answers->arena;
    char name[MAX_TEXT];
    tni_text_make_safe(name, sizeof name, claim->name ? claim->name : "", MAX_TEXT);
    uint32_t *nodes = tni_arena_take_array(arena, claim->node_count, sizeof *nodes);
    tnp_in_place *in_place = tni_arena_take_array(arena, claim->in_place_count, sizeof *in_place);
    tni_pack *packs = tni_arena_take_array(arena, claim->pack_count, sizeof *packs);
    char *own_name = tni_arena_take_text(arena, name);
    if (!nodes || !in_place || !packs || !own_name ||
        !tni_grow(&arena->allocator, &answers->claims, &answers->claim_capacity,
                  answers->claim_count + 1, sizeof *answers->claims)) {
        ask->is_out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < claim->node_count; i++)
        nodes[i] = ask->slice->graph_node[claim->nodes[i]];
    for (uint32_t i = 0; i < claim->in_place_count; i++)
        in_place[i] = (tnp_in_place){ ask->slice->graph_value[claim->in_place[i].output],
                                      ask->slice->graph_value[claim->in_place[i].input] };
    if (!copy_packs(ask, claim, packs)) {
        add_refusal(ask, nodes[0], "its claim was dropped: the size of a pack exceeds 2^64 bytes");
        return;
    }
    answers->claims[answers->claim_count++] = (tni_claim){
        .place = ask->place,
        .node_count = claim->node_count,
        .in_place_count = claim->in_place_count,
        .pack_count = claim->pack_count,
        .flags = claim->flags,
        .nodes = nodes,
        .in_place = in_place,
        .packs = packs,
        .name = own_name,
        .claimed_ns = claim->cost_ns,
        .cost_ns = claim->cost_ns * tni_measured_claim_factor(&ask->device->measured),
        .scratch_bytes = claim->scratch_bytes,
        .resident_bytes = claim->resident_bytes,
        .tag = claim->tag,
    };
}

static void take(void *context, const tnp_claim *given)
{
    asking *ask = context;
    tnp_claim claim = { 0 };
    const char *broken = "it has fields that this host does not know";
    if (++ask->claim_number > MAX_CLAIMS_A_NODE * ask->graph->node_count)
        return;   // no plugin means so many
    if (!given || given->size < sizeof given->size || given->size > MAX_STRUCT_BYTES)
        broken = "it is NULL or of an impossible size";
    else if (TNP_TAKE(&claim, given))
        broken = check(ask, &claim);
    if (!broken) {
        take_over(ask, &claim);
        return;
    }
    char text[MAX_TEXT];
    snprintf(text, sizeof text, "its claim was dropped: %s", broken);
    bool has_node = claim.node_count && claim.nodes &&
                    claim.nodes[0] < ask->slice->slice.node_count;
    uint32_t node = ask->slice->graph_node[has_node ? claim.nodes[0] : 0];
    if (!ask->is_quiet && ask->warning_count++ < MAX_WARNINGS)
        tni_log_line(tni_runtime_log(ask->device->runtime), TN_LOG_WARNING,
                     "%s: a claim on '%s' was dropped: %s", ask->device->name,
                     ask->graph->nodes[node].name, broken);
    add_refusal(ask, node, text);
}

// A device that fails here takes nothing; the others go on.
static void drop_device(asking *ask, uint32_t first_claim, const tn_error *why)
{
    ask->answers->claim_count = first_claim;
    for (uint32_t n = 0; n < ask->graph->node_count && !ask->is_out_of_memory; n++)
        add_refusal(ask, n, why->text);
}

static tn_status ask_device(asking *ask, tn_error *err)
{
    uint32_t first_claim = ask->answers->claim_count;
    tnp_error plugin_error = tni_plugin_error();
    tnp_claim_sink sink = { .size = sizeof sink, .context = ask, .take = take, .refuse = refuse };
    tnp_status status = ask->device->table->claim(ask->device->opened, &ask->slice->slice, &sink,
                                                  &plugin_error);
    if (status != TNP_OK) {
        tn_error why;
        tni_device_fail(ask->device, "claim", status, &plugin_error, &why);
        if (!ask->answers->failed_places)
            ask->answers->failure = why;
        ask->answers->failed_places |= UINT64_C(1) << ask->place;
        if (ask->is_alone)
            return tn_error_set(err, why.status, why.text);
        drop_device(ask, first_claim, &why);
    }
    if (ask->is_out_of_memory)
        return tni_fail(err, TN_E_HOST_MEMORY, "not enough memory for the claims of %s",
                        ask->device->name);
    return TN_OK;
}

tn_status tni_ask(const tn_graph *graph, tn_device *const *devices, uint32_t device_count,
                  bool is_quiet, tni_arena *scratch, tni_answers *out_answers, tn_error *err)
{
    *out_answers = (tni_answers){ 0 };
    tni_arena_init(&out_answers->arena, &scratch->allocator);
    if (graph->node_count == 0)
        return TN_OK;
    uint32_t *nodes = tni_arena_take_array(scratch, graph->node_count, sizeof *nodes);
    uint32_t *after = tni_arena_take_array(scratch, graph->node_count, sizeof *after);
    if (!nodes || !after)
        return tni_fail_memory(err, "a list of nodes", (uint64_t)graph->node_count * sizeof *nodes);
    for (uint32_t n = 0; n < graph->node_count; n++)
        nodes[n] = n;
    tni_slice slice = { 0 };
    for (uint32_t place = 0; place < device_count; place++) {
        asking ask = { .graph = graph,
                       .slice = &slice,
                       .answers = out_answers,
                       .device = devices[place],
                       .place = place,
                       .after = after,
                       .is_alone = device_count == 1,
                       .is_quiet = is_quiet };
        memset(after, 0, graph->node_count * sizeof *after);
        tn_status status = tni_device_open(devices[place], err);
        if (status == TN_OK && (place == 0 || devices[place]->info.update_bytes !=
                                                  devices[place - 1]->info.update_bytes))
            status = tni_slice_make(graph, nodes, graph->node_count,
                                    devices[place]->info.update_bytes, scratch, &slice, err);
        if (status == TN_OK)
            status = ask_device(&ask, err);
        if (status != TN_OK)
            return status;
    }
    return TN_OK;
}

const tni_refusal *tni_find_refusal(const tni_answers *answers, uint32_t node, uint32_t place)
{
    for (uint32_t r = 0; r < answers->refusal_count; r++) {
        const tni_refusal *refusal = &answers->refusals[r];
        if (refusal->node == node && (place == TNP_NONE || refusal->place == place))
            return refusal;
    }
    return NULL;
}

const char *tni_refusal_words(const tni_answers *answers, uint32_t node, uint32_t place,
                              const char *otherwise)
{
    const tni_refusal *refusal = tni_find_refusal(answers, node, place);
    return refusal ? refusal->reason : otherwise ? otherwise : "no claim";
}

void tni_answers_finish(tni_answers *answers)
{
    tni_free(&answers->arena.allocator, answers->claims);
    tni_free(&answers->arena.allocator, answers->refusals);
    tni_arena_finish(&answers->arena);
    *answers = (tni_answers){ 0 };
}
