// program.c: each segment compiled for its device and bound to its addresses.
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/lists.h"
#include "exec/session.h"

typedef struct making {
    tn_session *session;
    tni_compiled *compiled;
    const tni_segment *segment;
    const uint32_t *nodes;   // of the segment, ascending
    uint32_t node_count;
    tni_lane *lane;
    tni_arena *scratch;
    tni_slice slice;
    const tnp_claim **units;
    tnp_binding *bindings;
    uint32_t binding_count;
} making;

// ----------------------------------------------------------------------------------------- compile

static bool make_unit(const making *m, const tni_claim *claim, tnp_claim *unit)
{
    uint32_t *nodes = tni_arena_take_array(m->scratch, claim->node_count, sizeof *nodes);
    tnp_in_place *in_place = tni_arena_take_array(m->scratch, claim->in_place_count,
                                                  sizeof *in_place);
    tnp_pack *packs = tni_arena_take_array(m->scratch, claim->pack_count, sizeof *packs);
    const tnp_pack **pack_pointers = tni_arena_take_array(m->scratch, claim->pack_count,
                                                          sizeof *pack_pointers);
    if (!nodes || !in_place || !packs || !pack_pointers)
        return false;
    for (uint32_t i = 0; i < claim->node_count; i++)
        nodes[i] = m->slice.slice_node[claim->nodes[i]];
    for (uint32_t i = 0; i < claim->in_place_count; i++)
        in_place[i] = (tnp_in_place){ m->slice.slice_value[claim->in_place[i].output],
                                      m->slice.slice_value[claim->in_place[i].input] };
    for (uint32_t i = 0; i < claim->pack_count; i++) {
        const tni_pack *pack = &claim->packs[i];
        packs[i] = (tnp_pack){ .size = sizeof packs[i],
                               .flags = pack->flags,
                               .value = m->slice.slice_value[pack->value],
                               .layout = pack->layout,
                               .group_rows = pack->group_rows,
                               .group_bytes = pack->group_bytes };
        pack_pointers[i] = &packs[i];
    }
    *unit = (tnp_claim){
        .size = sizeof *unit,
        .flags = claim->flags,
        .node_count = claim->node_count,
        .in_place_count = claim->in_place_count,
        .pack_count = claim->pack_count,
        .nodes = nodes,
        .in_place = in_place,
        .packs = pack_pointers,
        .name = claim->name,
        .cost_ns = claim->claimed_ns,
        .scratch_bytes = claim->scratch_bytes,
        .resident_bytes = claim->resident_bytes,
        .tag = claim->tag,
    };
    return true;
}

// The nodes of the segment, and its units in the order they run, in indices of the slice.
static tn_status make_slice(making *m, tn_error *err)
{
    tnp_claim *units = tni_arena_take_array(m->scratch, m->segment->unit_count, sizeof *units);
    m->units = tni_arena_take_array(m->scratch, m->segment->unit_count, sizeof *m->units);
    if (!units || !m->units)
        return tni_fail_memory(err, "a segment", m->segment->unit_count * sizeof *units);
    tn_status status = tni_slice_make(m->compiled->graph, m->nodes, m->node_count,
                                      m->lane->device->info.update_bytes, m->scratch, &m->slice,
                                      err);
    for (uint32_t u = 0; u < m->segment->unit_count && status == TN_OK; u++) {
        m->units[u] = &units[u];
        if (!make_unit(m, m->compiled->schedule.units[m->segment->first_unit + u], &units[u]))
            status = tni_fail_memory(err, "a segment", sizeof *units);
    }
    return status;
}

// What compile reads of weights lies together. The storages of the slice are this compile's own.
static tn_status gather_baked(const making *m, tn_error *err)
{
    for (uint32_t u = 0; u < m->segment->unit_count; u++)
        for (uint32_t p = 0; p < m->units[u]->pack_count; p++) {
            const tnp_pack *pack = m->units[u]->packs[p];
            uint32_t s = m->slice.slice.values[pack->value]->storage;
            tnp_storage *storage = (tnp_storage *)m->slice.slice.storages[s];
            if (!(pack->flags & TNP_PACK_BAKED) || storage->data || storage->bytes == 0)
                continue;
            const tn_graph *graph = m->compiled->graph;
            void *data = tni_arena_take(m->scratch, storage->bytes);
            if (!data)
                return tni_fail_memory(err, "a weight that is kept in a program", storage->bytes);
            tni_weight_gather(&graph->values[graph->storages[m->slice.graph_storage[s]].owner], 0,
                              storage->bytes, data);
            storage->data = data;
        }
    return TN_OK;
}

static tn_status compile(const making *m, tni_program *program, tn_error *err)
{
    tnp_error plugin_error = tni_plugin_error();
    tnp_compile what = { .size = sizeof what,
                         .unit_count = m->segment->unit_count,
                         .slice = &m->slice.slice,
                         .units = m->units };
    tnp_program *made = NULL;
    char call[300] = "compile";
    const tni_node *nodes = m->compiled->graph->nodes;
    tnp_status answer = m->lane->table->compile(m->lane->opened, &what, &made, &plugin_error);
    if (answer == TNP_E_UNSUPPORTED)
        tni_format_text(
            call, sizeof call,
            "compile: a fault of the plugin, it claimed '%.100s' to '%.100s' and refuses",
            nodes[m->nodes[0]].name, nodes[m->nodes[m->node_count - 1]].name);
    tn_status status = tni_lane_made(m->lane, call, answer, made, &plugin_error, err);
    if (status == TN_OK)
        program->program = made;
    return status;
}

// -------------------------------------------------------------------------------------------- bind

static void add_binding(making *m, uint32_t kind, uint32_t index, uint32_t part, tnp_buffer *buffer,
                        uint64_t offset, uint64_t bytes)
{
    m->bindings[m->binding_count++] = (tnp_binding){ .size = sizeof(tnp_binding),
                                                     .kind = kind,
                                                     .index = index,
                                                     .part = part,
                                                     .buffer = buffer,
                                                     .offset = offset,
                                                     .bytes = bytes };
}

static tn_status bind_storages(making *m, tn_error *err)
{
    const tn_graph *graph = m->compiled->graph;
    uint32_t place = m->segment->place;
    for (uint32_t i = 0; i < m->slice.slice.storage_count; i++) {
        uint32_t storage = m->slice.graph_storage[i];
        uint64_t bytes = graph->storages[storage].bytes,
                 offset = m->compiled->way.offsets[place][storage];
        tni_source source = tni_storage_source(graph, storage);
        if (bytes == 0)
            continue;
        if (m->lane->memory.max_binding_bytes && bytes > m->lane->memory.max_binding_bytes)
            return tni_lane_blame(
                m->lane,
                tni_fail(err, TN_E_DEVICE_MEMORY,
                         "%s: '%s' has %" PRIu64 " bytes, one binding takes %" PRIu64,
                         m->lane->device->name, graph->values[graph->storages[storage].owner].name,
                         bytes, m->lane->memory.max_binding_bytes));
        if (source == TNI_STATE) {
            add_binding(m, TNP_BIND_STORAGE, i, 0,
                        m->session->states[m->compiled->state_of[storage]].buffer, 0, bytes);
        } else if (source == TNI_WEIGHT) {
            tnp_buffer *buffer;
            tn_status status = tni_weight_resident(m->session, m->compiled, place, storage, &buffer,
                                                   err);
            if (status != TN_OK)
                return status;
            add_binding(m, TNP_BIND_STORAGE, i, 0, buffer, 0, bytes);
        } else if (offset != TNI_NO_OFFSET) {
            tnp_buffer *buffer = tni_lane_chunk(m->lane, &offset)->buffer;
            add_binding(m, TNP_BIND_STORAGE, i, 0, buffer, offset, bytes);
        }
    }
    return TN_OK;
}

static tn_status bind_units(making *m, tni_pack_room *room, tn_error *err)
{
    uint32_t place = m->segment->place;
    for (uint32_t u = 0; u < m->segment->unit_count; u++) {
        const tni_claim *claim = m->compiled->schedule.units[m->segment->first_unit + u];
        if (claim->scratch_bytes) {
            uint64_t offset = m->compiled->way.scratch[place][m->segment->first_unit + u];
            tnp_buffer *buffer = tni_lane_chunk(m->lane, &offset)->buffer;
            add_binding(m, TNP_BIND_SCRATCH, u, 0, buffer, offset, claim->scratch_bytes);
        }
        for (uint32_t k = 0; k < claim->pack_count; k++) {
            tnp_buffer *buffer;
            uint64_t offset;
            if (claim->packs[k].flags & TNP_PACK_BAKED)
                continue;
            tn_status status = tni_weight_packed(m->session, m->compiled, place, &claim->packs[k],
                                                 room, &buffer, &offset, err);
            if (status != TN_OK)
                return status;
            add_binding(m, TNP_BIND_PACKED, u, k, buffer, offset, claim->packs[k].bytes);
        }
    }
    return TN_OK;
}

static tn_status bind_packs_and_scratch(making *m, tn_error *err)
{
    tni_pack_room room = { 0 };
    uint32_t place = m->segment->place;
    tn_status status = TN_OK;
    for (uint32_t u = 0; u < m->segment->unit_count; u++) {
        const tni_claim *claim = m->compiled->schedule.units[m->segment->first_unit + u];
        for (uint32_t k = 0; k < claim->pack_count && status == TN_OK; k++)
            if (!(claim->packs[k].flags & TNP_PACK_BAKED))
                status = tni_pack_room_add(m->session, m->compiled, place, &claim->packs[k], &room,
                                           err);
    }
    if (status == TN_OK) {
        tni_pack_room_open(m->session, m->compiled, place, &room);
        status = bind_units(m, &room, err);
    }
    tni_pack_room_close(m->session, place, &room);
    return status;
}

static tn_status bind(making *m, tni_program *program, tn_error *err)
{
    size_t most = m->slice.slice.storage_count + m->segment->unit_count;
    for (uint32_t u = 0; u < m->segment->unit_count; u++)
        most += m->units[u]->pack_count;
    m->bindings = tni_arena_take_array(m->scratch, most, sizeof *m->bindings);
    const tnp_binding **pointers = tni_arena_take_array(m->scratch, most, sizeof *pointers);
    if (!m->bindings || !pointers)
        return tni_fail_memory(err, "bindings", most * sizeof *m->bindings);
    tni_residents_begin(m->lane->device);
    tn_status status = bind_storages(m, err);
    if (status == TN_OK)
        status = bind_packs_and_scratch(m, err);
    tni_residents_end(m->lane->device);
    if (status != TN_OK)
        return status;
    for (uint32_t i = 0; i < m->binding_count; i++)
        pointers[i] = &m->bindings[i];
    tnp_error plugin_error = tni_plugin_error();
    tnp_bind what = { .size = sizeof what,
                      .flags = tni_runtime_is_traced(m->session->runtime) ? TNP_BIND_TRACE : 0,
                      .binding_count = m->binding_count,
                      .bindings = pointers };
    tnp_bound *made = NULL;
    tnp_status answer = m->lane->table->bind(program->program, &what, &made, &plugin_error);
    status = tni_lane_made(m->lane, "bind", answer, made, &plugin_error, err);
    if (status == TN_OK)
        program->bound = made;
    return status;
}

// ------------------------------------------------------------------------------------------ inputs

// Whether a program before this one on its lane is fed an input: it is there for the whole run.
static bool is_fed_before(const making *m, const tni_program *program, uint32_t storage)
{
    for (const tni_program *p = m->compiled->programs; p < program; p++)
        for (uint32_t i = 0; i < p->fed_count && p->place == program->place; i++)
            if (p->fed[i] == storage)
                return true;
    return false;
}

// What must be sent before each run: small inputs as updates, large ones as copies.
static tn_status list_inputs(making *m, tni_program *program, tn_error *err)
{
    const tn_graph *graph = m->compiled->graph;
    tni_arena *arena = &m->compiled->arena;
    uint32_t count = m->slice.slice.storage_count;
    program->updates = tni_arena_take_array(arena, count, sizeof *program->updates);
    program->fed = tni_arena_take_array(arena, count, sizeof *program->fed);
    if (!program->updates || !program->fed)
        return tni_fail_memory(err, "a list of inputs", count * sizeof *program->updates);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t storage = m->slice.graph_storage[i];
        uint64_t bytes = graph->storages[storage].bytes;
        if (tni_storage_source(graph, storage) != TNI_INPUT || bytes == 0)
            continue;
        if (tni_comes_at_submit(graph, storage, m->lane->device->info.update_bytes))
            program->updates[program->update_count++] = (tnp_update){
                .storage = i, .bytes = (uint32_t)bytes, .data = m->compiled->given.staging[storage]
            };
        else if (!is_fed_before(m, program, storage))
            program->fed[program->fed_count++] = storage;
    }
    return TN_OK;
}

static tn_status make_program(making *m, tni_program *program, tn_error *err)
{
    tn_status status = make_slice(m, err);
    if (status == TN_OK)
        status = gather_baked(m, err);
    if (status == TN_OK)
        status = compile(m, program, err);
    if (status == TN_OK)
        status = bind(m, program, err);
    return status == TN_OK ? list_inputs(m, program, err) : status;
}

// The nodes of each segment, ascending. false: out of memory.
static bool list_nodes(const tni_compiled *compiled, tni_arena *scratch, uint32_t **out_first,
                       uint32_t **out_nodes)
{
    const tni_schedule *schedule = &compiled->schedule;
    uint32_t count = compiled->graph->node_count;
    uint32_t *segment_of = tni_arena_take_array(scratch, schedule->unit_count, sizeof *segment_of);
    uint32_t *first = *out_first = tni_lists_begin(scratch, schedule->segment_count);
    uint32_t *nodes = *out_nodes = tni_arena_take_array(scratch, count, sizeof *nodes);
    if (!segment_of || !first || !nodes)
        return false;
    for (uint32_t s = 0; s < schedule->segment_count; s++) {
        const tni_segment *segment = &schedule->segments[s];
        for (uint32_t u = segment->first_unit; u < segment->first_unit + segment->unit_count; u++)
            segment_of[u] = s;
    }
    for (uint32_t n = 0; n < count; n++)
        tni_lists_count(first, segment_of[schedule->steps[n]]);
    (void)tni_lists_sum(first, schedule->segment_count);
    for (uint32_t n = 0; n < count; n++)
        nodes[tni_lists_next(first, segment_of[schedule->steps[n]])] = n;
    return true;
}

static tn_status make_programs(tn_session *session, tni_compiled *compiled, const uint32_t *first,
                               const uint32_t *nodes, tn_error *err)
{
    const tni_schedule *schedule = &compiled->schedule;
    tn_status status = TN_OK;
    for (uint32_t s = 0; s < schedule->segment_count && status == TN_OK; s++) {
        tni_arena scratch;
        tni_arena_init(&scratch, &session->arena.allocator);
        const tni_segment *segment = &schedule->segments[s];
        making m = { .session = session,
                     .compiled = compiled,
                     .segment = segment,
                     .nodes = nodes + first[s],
                     .node_count = first[s + 1] - first[s],
                     .lane = &session->lanes[segment->place],
                     .scratch = &scratch };
        compiled->programs[s].place = segment->place;
        status = make_program(&m, &compiled->programs[s], err);
        tni_arena_finish(&scratch);
    }
    return status;
}

static tn_status make_of_graph(tn_session *session, tni_compiled *compiled, tn_error *err)
{
    tni_arena scratch;
    uint32_t count = compiled->schedule.segment_count, *first, *nodes;
    tni_arena_init(&scratch, &session->arena.allocator);
    bool is_listed = list_nodes(compiled, &scratch, &first, &nodes);
    compiled->programs = tni_arena_take_array(&compiled->arena, count, sizeof *compiled->programs);
    tn_status status = is_listed && compiled->programs
                           ? make_programs(session, compiled, first, nodes, err)
                           : tni_fail_memory(err, "programs", count * sizeof *compiled->programs);
    tni_arena_finish(&scratch);
    return status == TN_OK ? tni_copies_make(session, compiled, err) : status;
}

tn_status tni_programs_make(tn_session *session, tni_compiled *const *graphs, uint32_t graph_count,
                            tn_error *err)
{
    tn_status status = TN_OK;
    tni_kept_room_make(session, graphs, graph_count);
    for (uint32_t g = 0; g < graph_count && status == TN_OK; g++)
        status = make_of_graph(session, graphs[g], err);
    tni_kept_room_close(session);
    return status;
}

void tni_programs_release(tn_session *session, tni_compiled *compiled)
{
    for (uint32_t s = 0; s < compiled->schedule.segment_count && compiled->programs; s++) {
        tni_program *program = &compiled->programs[s];
        const tnp_plugin *table = session->lanes[program->place].table;
        if (program->bound)
            table->unbind(program->bound);
        if (program->program)
            table->program_destroy(program->program);
    }
}
