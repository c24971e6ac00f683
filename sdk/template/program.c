// program.c: which nodes this device takes, and how it computes them.
#include "template.h"

#include <math.h>

// The one op of this device, and all that it is. Another op of one operand and one result, element
// by element, needs another three: number and name from tenon/ops.def, formula from tenon/ops.h.
#define TPL_OP      TNP_OP_SILU
#define TPL_OP_NAME "silu"
static float compute(float x)
{
    return x / (1.0f + expf(-x));
}

// ------------------------------------------------------------------------------------------ claim

// A value as this plugin's header knows it, without properties beyond that. NULL: it is understood.
static const char *read_value(const tnp_slice *slice, uint32_t index, tnp_value *out)
{
    const uint32_t known = TNP_STORAGE_CONSTANT | TNP_STORAGE_STATE | TNP_STORAGE_ENTERS |
                           TNP_STORAGE_LEAVES;
    tnp_storage storage;
    if (!TNP_TAKE(out, slice->values[index]) || TNP_ALIEN(out->flags, 0))
        return "a value has a property that this plugin does not know";
    if (!TNP_TAKE(&storage, slice->storages[out->storage]) || TNP_ALIEN(storage.flags, known))
        return "a storage has a property that this plugin does not know";
    return NULL;
}

// Whether one loop over consecutive floats visits each element: the strides of dims of 1 do not
// matter.
static int is_packed_f32(const tnp_value *v)
{
    int64_t bytes = sizeof(float);
    if (v->dtype != TNP_DTYPE_F32 || v->layout != 0 || v->offset % sizeof(float) != 0)
        return 0;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; bytes *= v->dims[d++])
        if (v->dims[d] != 1 && v->strides[d] != bytes)
            return 0;
    return 1;
}

// More operands than ops.def had here mean another op, unless they are left out.
static int has_one(const uint32_t *indices, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (indices[i] != TNP_NONE)
            return 0;
    return count > 0 && indices[0] != TNP_NONE;
}

// The one place that says what this device can. claim asks it, and compile again: nothing is kept
// between the two. NULL: it can, and `out` says how; else why not, in words for people.
static const char *read_node(const tnp_slice *slice, uint32_t index, tpl_step *out,
                             double *out_elements)
{
    tnp_node node;
    tnp_value x, y, length;
    uint32_t outer = 0, none;
    if (!TNP_TAKE(&node, slice->nodes[index]))
        return "the node has a property that this plugin does not know";
    if (node.op != TPL_OP)
        return "this device computes " TPL_OP_NAME " only";
    // The op has no attributes here. A later release may give it some: zeros mean "as before".
    if (node.attributes &&
        !tnp_take(&none, sizeof none, node.attributes, *(const uint32_t *)node.attributes))
        return TPL_OP_NAME " has an attribute that this plugin does not know";
    if (!has_one(node.inputs, node.input_count) || !has_one(node.outputs, node.output_count))
        return TPL_OP_NAME " has one operand and one result";
    const char *reason = read_value(slice, node.inputs[0], &x);
    if (!reason)
        reason = read_value(slice, node.outputs[0], &y);
    if (reason)
        return reason;
    if (!is_packed_f32(&x) || !is_packed_f32(&y))
        return "this device needs contiguous F32";

    *out = (tpl_step){ .in = x.storage,
                       .out = y.storage,
                       .in_offset = x.offset,
                       .out_offset = y.offset,
                       .length = TNP_NONE,
                       .row = 1 };
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        outer = y.dims[d] > 1 ? d : outer;
    for (uint32_t d = 0; d < outer; d++)
        out->row *= (uint64_t)y.dims[d];
    out->rows = (uint64_t)y.dims[outer];
    *out_elements = (double)out->row * (double)out->rows;
    // What lies beyond an extent may hold anything, so extents only save time. That of the
    // outermost dim saves all that it can; those of inner dims would make holes, and computing
    // these is simpler than going around them.
    if (y.extent[outer] == 0)
        return NULL;
    reason = read_value(slice, y.extent[outer] - 1, &length);
    out->length = length.storage;
    out->length_offset = length.offset;
    if (length.likely > 0 && length.likely < y.dims[outer])
        *out_elements = (double)out->row * (double)length.likely;
    return reason;
}

tnp_status tpl_claim(tnp_device *device, const tnp_slice *from, const tnp_claim_sink *sink,
                     tnp_error *err)
{
    tnp_slice slice;
    (void)device;
    if (!TNP_TAKE(&slice, from))
        return tpl_fail_unknown(err, "claim");
    for (uint32_t i = 0; i < slice.node_count; i++) {
        tpl_step step;
        double elements;
        const char *reason = read_node(&slice, i, &step, &elements);
        if (reason) {
            sink->refuse(sink->context, i, reason);
            continue;
        }
        const tnp_node *node = slice.nodes[i];
        tnp_in_place in_place = { node->outputs[0], node->inputs[0] };
        uint32_t is_same = memcmp(slice.values[in_place.output]->strides,
                                  slice.values[in_place.input]->strides,
                                  sizeof slice.values[0]->strides) == 0;
        tnp_claim claim = {
            .size = sizeof claim,
            .node_count = 1,
            .nodes = &i,
            .name = TPL_OP_NAME,
            .in_place_count = is_same,
            .in_place = &in_place,
            .cost_ns = 500 + elements / 8,   // at the likely lengths; yours is measured
        };
        sink->take(sink->context, &claim);
    }
    return TNP_OK;
}

// ---------------------------------------------------------------------------------------- compile

static tnp_status read_unit(const tnp_slice *slice, const tnp_claim *from, uint32_t index,
                            tpl_step *step, tnp_error *err)
{
    tnp_claim unit;
    double elements;
    if (!TNP_TAKE(&unit, from) || TNP_ALIEN(unit.flags, 0))
        return tpl_fail_unknown(err, "compile");
    if (unit.node_count != 1 || unit.nodes[0] >= slice->node_count)
        return tpl_fail(err, TNP_E_ARG, "compile: unit %u is not one node", index);
    const char *reason = read_node(slice, unit.nodes[0], step, &elements);
    if (reason)
        return tpl_fail(err, TNP_E_ARG, "compile: unit %u was not claimed: %s", index, reason);
    step->unit = index;
    return TNP_OK;
}

tnp_status tpl_compile(tnp_device *device, const tnp_compile *from, tnp_program **out,
                       tnp_error *err)
{
    tnp_compile what;
    tnp_slice slice;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0) || !TNP_TAKE(&slice, what.slice))
        return tpl_fail_unknown(err, "compile");
    if (device->is_lost)
        return tpl_fail_lost(err);
    tnp_program *program = tpl_make(device->host,
                                    sizeof *program + what.unit_count * sizeof(tpl_step));
    if (!program)
        return tpl_fail(err, TNP_E_HOST_MEMORY, "compile: no memory for %u units", what.unit_count);
    *program = (tnp_program){ device, what.unit_count, slice.storage_count };
    tnp_status status = TNP_OK;
    for (uint32_t u = 0; u < what.unit_count && status == TNP_OK; u++)
        status = read_unit(&slice, what.units[u], u, &program->steps[u], err);
    if (status != TNP_OK) {
        tpl_program_destroy(program);
        return status;
    }
    *out = program;   // nothing of the caller's is kept: all of it was lent for this call
    return TNP_OK;
}
void tpl_program_destroy(tnp_program *program)
{
    tpl_free(program->device->host, program);
}

// ------------------------------------------------------------------------------------------- bind

int tpl_bound_has(const tnp_bound *bound, uint32_t storage, uint64_t offset, uint64_t bytes)
{
    const tpl_place *place = &bound->places[storage];
    return storage < bound->program->storage_count && place->data && bytes <= place->bytes &&
           offset <= place->bytes - bytes;
}

// All that tpl_run will touch has an address, so that nothing is left to check there.
static tnp_status check_places(const tnp_bound *bound, tnp_error *err)
{
    const tnp_program *program = bound->program;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const tpl_step *step = &program->steps[i];
        uint64_t bytes = step->rows * step->row * sizeof(float);
        if (!tpl_bound_has(bound, step->in, step->in_offset, bytes) ||
            // A result that nobody needs gets no bytes.
            (bound->places[step->out].data &&
             !tpl_bound_has(bound, step->out, step->out_offset, bytes)) ||
            (step->length != TNP_NONE &&
             !tpl_bound_has(bound, step->length, step->length_offset, sizeof(int32_t))))
            return tpl_fail(err, TNP_E_ARG, "bind: unit %u has too few bytes bound", i);
    }
    return TNP_OK;
}

static tnp_status read_binding(tnp_bound *bound, const tnp_binding *from, tnp_error *err)
{
    tnp_binding b;
    if (!TNP_TAKE(&b, from))
        return tpl_fail_unknown(err, "bind");
    if (b.kind != TNP_BIND_STORAGE ||
        b.index >= bound->program->storage_count)   // no pack, no scratch was asked for
        return tpl_fail(err, TNP_E_ARG, "bind: kind %u, index %u", b.kind, b.index);
    if (!b.buffer || !tpl_is_inside(bound->device, b.buffer, b.offset, b.bytes) ||
        b.offset % TPL_ALIGNMENT != 0)
        return tpl_fail(err, TNP_E_ARG,
                        "bind: storage %u is not at a place in a buffer of this device", b.index);
    bound->places[b.index] = (tpl_place){ b.buffer->data + b.offset, b.bytes };
    return TNP_OK;
}

tnp_status tpl_bind(tnp_program *program, const tnp_bind *from, tnp_bound **out, tnp_error *err)
{
    tnp_bind what;
    tnp_device *device = program->device;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return tpl_fail_unknown(err, "bind");
    if (device->is_lost)
        return tpl_fail_lost(err);
    tnp_bound *bound = tpl_make(device->host,
                                sizeof *bound + program->storage_count * sizeof(tpl_place));
    if (!bound)
        return tpl_fail(err, TNP_E_HOST_MEMORY, "bind: no memory for %u storages",
                        program->storage_count);
    *bound = (tnp_bound){ device, program, what.flags };
    tnp_status status = TNP_OK;
    for (uint32_t i = 0; i < what.binding_count && status == TNP_OK; i++)
        status = read_binding(bound, what.bindings[i], err);
    if (status == TNP_OK)
        status = check_places(bound, err);
    if (status == TNP_OK)
        *out = bound;   // outputs are untouched after a failure
    else
        tpl_unbind(bound);
    return status;
}
void tpl_unbind(tnp_bound *bound)
{
    tpl_free(bound->device->host, bound);
}

// -------------------------------------------------------------------------------------------- run

static tnp_status run_step(const tnp_bound *bound, const tpl_step *step, tnp_error *err)
{
    const float *x = (const float *)(bound->places[step->in].data + step->in_offset);
    float *y = (float *)(bound->places[step->out].data + step->out_offset);
    uint64_t rows = step->rows;
    if (step->length !=
        TNP_NONE) {   // the bytes of values are not verified by anybody: any number may stand there
        int32_t length;
        memcpy(&length, bound->places[step->length].data + step->length_offset, sizeof length);
        if (length < 0 || (uint64_t)length > rows)
            return tpl_fail(err, TNP_E_DATA, TPL_OP_NAME ": a length of %d, the dim has %llu",
                            length, (unsigned long long)rows);
        rows = (uint64_t)length;
    }
    for (uint64_t r = 0; r < rows; r++, x += step->row, y += step->row) {
        if (bound->device->is_lost)   // so that who abandons the device waits for a row at most
            return tpl_fail_lost(err);
        for (uint64_t i = 0; i < step->row; i++)
            y[i] = compute(x[i]);
    }
    return TNP_OK;
}

tnp_status tpl_run(const tnp_bound *bound, const tnp_queue *queue, uint64_t run, tnp_error *err)
{
    const tnp_host *host = bound->device->host;
    tnp_status status = TNP_OK;
    for (uint32_t i = 0; i < bound->program->step_count && status == TNP_OK; i++) {
        const tpl_step *step = &bound->program->steps[i];
        if (!bound->places[step->out].data)
            continue;
        uint64_t bytes = 2 * step->rows * step->row * sizeof(float);
        tnp_span span = { .size = sizeof span, .unit = step->unit, .run = run, .bytes = bytes };
        int is_traced = (bound->flags & TNP_BIND_TRACE) != 0;
        span.begin_ns = is_traced ? host->now_ns(host->context) : 0;
        status = run_step(bound, step, err);
        if (is_traced) {
            span.end_ns = host->now_ns(host->context);
            host->trace(host->context, queue, &span);
        }
    }
    return status;
}
