// template.c: a whole plugin: a device with memory of its own, and one op, silu.
//
// What a struct or call means stands in tenon/plugin.h. Memory, queues and semaphores are those of
// tenon/helpers until you use your driver's.
#include <tenon/helpers/memory.h>
#include <tenon/helpers/queue.h>
#include <tenon/helpers/slice.h>

#define NAME         "template"   // what people type: [a-z0-9_-], at most 31 characters
#define VERSION      "1.0.0"
#define VENDOR       "Tenon"
#define LICENSE      "Apache-2.0"
#define DEVICE       NAME " accelerator"   // what the chip is called; it is listed as <NAME>0
#define MEMORY_BYTES (UINT64_C(1) << 30)

enum { DEVICE_ID = 1, UPDATE_BYTES = 4096, PIECE = 16384 };   // the id: to know it by in open

// Stands in the file, read before any code of it runs. TNP_ABI: the oldest host that will do.
TNP_MANIFEST(TNP_MACHINE, TNP_OS_LINUX, 0, TNP_ABI(1, 0), NAME, VERSION, VENDOR, LICENSE);

// ------------------------------------------------------------------------------------------ the op
//
// Another op of one operand and one result, element by element, needs another three: number and
// name from tenon/ops.def, formula from tenon/ops.h.
#define OP      TNP_OP_SILU
#define OP_NAME "silu"

// x / (1 + exp(-x)) without a call, so that a compiler makes vectors of it: exp(a) = 2^n e^r.
// Adding 1.5 * 2^23 rounds to the whole number n and leaves it in the lowest bits.
static float compute(float x)
{
    const float shift = 12582912.0f, ln2_high = 0.693145752f, ln2_low = 1.42860677e-6f;
    float a = -x < 88.0f ? -x : 88.0f;   // beyond, the result is next to 0
    a = a > -87.0f ? a : -87.0f;         // beyond, it is x
    float shifted = a * 1.44269504f + shift, n = shifted - shift;
    float r = a - n * ln2_high - n * ln2_low;   // within ln(2) / 2 of 0: seven terms will do
    float e = 1.0f / 120 + r * (1.0f / 720 + r * (1.0f / 5040));
    e = 1 + r * (1 + r * (1.0f / 2 + r * (1.0f / 6 + r * (1.0f / 24 + r * e))));
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;   // 2^n
    memcpy(&n, &bits, sizeof n);
    return x / (1 + e * n);
}

// ----------------------------------------------------------------------------------------- objects
//
// The struct tags are those of plugin.h: the compiler checks every handle.

struct tnp_instance {   // two hosts in one process start two: all state hangs on one of them
    const tnp_host *host;
};
struct tnp_device {
    tnh_memory memory;
};
typedef struct step {   // a unit: the op of consecutive floats
    uint32_t in, out;   // storages
    uint64_t in_offset, out_offset, count;
} step;
struct tnp_program {
    tnp_device *device;
    uint32_t step_count, storage_count;
    step steps[];   // by unit
};

// ------------------------------------------------------------------------------------------- claim

// The one place that says what this device can. claim asks it, and compile again: nothing is kept
// between the two. NULL: it can, and `out` says how; else why not, in words for people.
static const char *read_node(const tnp_slice *slice, uint32_t index, step *out)
{
    tnp_node node;
    tnp_value x, y;
    if (slice->nodes[index]->op != OP)
        return "this device computes " OP_NAME " only";
    const char *reason = tnh_read_node(slice, index, 1, 1, NULL, 0, &node);
    if (!reason)
        reason = tnh_read_value(slice, node.inputs[0], &x);
    if (!reason)
        reason = tnh_read_value(slice, node.outputs[0], &y);
    if (reason)
        return reason;
    if (!tnh_is_packed(&x, TNP_DTYPE_F32, 4) || !tnh_is_packed(&y, TNP_DTYPE_F32, 4))
        return "this device needs contiguous F32";
    // Extents are not looked at: what lies beyond may hold anything, so that they only save time.
    *out = (step){ x.storage, y.storage, x.offset, y.offset, 1 };
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        out->count *= (uint64_t)y.dims[d];
    return NULL;
}

static tnp_status claim(tnp_device *device, const tnp_slice *from, const tnp_claim_sink *sink,
                        tnp_error *err)
{
    tnp_slice slice;
    (void)device;
    if (!TNP_TAKE(&slice, from))   // so begins every call that is told something
        return tnh_fail_unknown(err, "claim");
    for (uint32_t i = 0; i < slice.node_count; i++) {
        step s;
        const char *reason = read_node(&slice, i, &s);
        if (reason) {
            sink->refuse(sink->context, i, reason);
            continue;
        }
        tnp_claim taken = { .size = sizeof taken, .node_count = 1, .nodes = &i, .name = OP_NAME };
        tnp_in_place pair = { slice.nodes[i]->outputs[0], slice.nodes[i]->inputs[0] };
        taken.in_place = &pair;   // an element is read before it is written
        taken.in_place_count = 1;
        taken.cost_ns = 500 + (double)s.count / 8;   // yours is measured
        sink->take(sink->context, &taken);
    }
    return TNP_OK;
}

// --------------------------------------------------------------------------- compile, bind and run

static tnp_status read_unit(const tnp_slice *slice, const tnp_claim *from, step *out,
                            tnp_error *err)
{
    tnp_claim unit;
    if (!TNP_TAKE(&unit, from) || TNP_ALIEN(unit.flags, 0))
        return tnh_fail_unknown(err, "compile");
    if (unit.node_count != 1 || unit.nodes[0] >= slice->node_count)
        return tnh_fail(err, TNP_E_ARG, "compile: a unit is not one node");
    const char *reason = read_node(slice, unit.nodes[0], out);
    return reason ? tnh_fail(err, TNP_E_ARG, "compile: not claimed: %s", reason) : TNP_OK;
}

static tnp_status compile(tnp_device *device, const tnp_compile *from, tnp_program **out,
                          tnp_error *err)
{
    tnp_compile what;
    tnp_slice slice;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0) || !TNP_TAKE(&slice, what.slice))
        return tnh_fail_unknown(err, "compile");
    if (tnh_is_lost(device))
        return tnh_fail_lost(err);
    tnp_program *program = tnh_make(tnh_of(device)->host,
                                    sizeof *program + what.unit_count * sizeof(step));
    if (!program)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "compile: no memory for %u units", what.unit_count);
    *program = (tnp_program){ device, what.unit_count, slice.storage_count };
    tnp_status status = TNP_OK;
    for (uint32_t u = 0; u < what.unit_count && status == TNP_OK; u++)
        status = read_unit(&slice, what.units[u], &program->steps[u], err);
    if (status == TNP_OK)
        *out = program;   // nothing of the caller's is kept: all of it was lent for this call
    else
        tnh_free(device, program);   // and outputs are untouched after a failure
    return status;
}
static void program_destroy(tnp_program *program)
{
    tnh_free(program->device, program);
}

// All that run will touch has an address, so that nothing is left to check there. A result that
// nobody needs gets no bytes.
static tnp_status bind(tnp_program *program, const tnp_bind *what, tnp_bound **out, tnp_error *err)
{
    tnp_bound *bound = NULL;
    tnp_status status = tnh_bind(program->device, program, program->storage_count, what, &bound,
                                 err);
    if (status != TNP_OK)
        return status;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const step *s = &program->steps[i];
        uint64_t bytes = s->count * sizeof(float);
        if (!tnh_bound_has(bound, s->in, s->in_offset, bytes) ||
            (bound->places[s->out].data && !tnh_bound_has(bound, s->out, s->out_offset, bytes))) {
            tnh_unbind(bound);
            return tnh_fail(err, TNP_E_ARG, "bind: unit %u has too few bytes bound", i);
        }
    }
    *out = bound;
    return TNP_OK;
}

static tnp_status run_step(const tnp_bound *bound, const step *s, tnp_error *err)
{
    const float *x = (const float *)(bound->places[s->in].data + s->in_offset);
    float *y = (float *)(bound->places[s->out].data + s->out_offset);
    for (uint64_t begin = 0; begin < s->count; begin += PIECE) {
        uint64_t end = s->count - begin < PIECE ? s->count : begin + PIECE;
        if (tnh_is_lost(bound->device))   // who abandons the device waits for a piece at most
            return tnh_fail_lost(err);
        for (uint64_t i = begin; i < end; i++)
            y[i] = compute(x[i]);
    }
    return TNP_OK;
}

static tnp_status run(const tnp_bound *bound, const tnp_update *updates, uint32_t update_count,
                      const tnp_queue *queue, uint64_t number, tnp_error *err)
{
    const tnp_program *program = bound->program;
    tnp_status status = TNP_OK;
    tnh_update(bound, updates, update_count);
    for (uint32_t u = 0; u < program->step_count && status == TNP_OK; u++) {
        uint64_t begin_ns = tnh_trace_begin(bound);
        if (bound->places[program->steps[u].out].data)
            status = run_step(bound, &program->steps[u], err);
        tnh_trace_end(bound, queue, number, u, begin_ns);
    }
    return status;
}

// ----------------------------------------------------------------------------- instance and device

static tnp_status start(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    tnp_instance *instance = tnh_make(host, sizeof *instance);
    if (!instance)
        return tnh_fail(err, TNP_E_HOST_MEMORY, "start: no memory for %zu bytes", sizeof *instance);
    instance->host = host;   // valid until stop returns
    *out = instance;
    return TNP_OK;
}
static void stop(tnp_instance *instance)
{
    instance->host->free(instance->host->context, instance);
}

// Called to list devices, perhaps never followed by open: nothing is opened or allocated here.
static tnp_status device_count(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    (void)instance, (void)err;
    *count = 1;   // none is no error: 0, and the reason in err->text
    return TNP_OK;
}
static tnp_status device_info(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                              tnp_error *err)
{
    tnp_device_info own = { .size = sizeof own, .id = DEVICE_ID, .name = DEVICE, .driver = "none" };
    (void)instance;
    if (index > 0)
        return tnh_fail(err, TNP_E_ARG, "device_info: no device %u", index);
    own.kind = TNP_KIND_ACCELERATOR;   // no pci, no uuid: no other plugin can offer this device
    own.memory_count = own.queue_count = own.copy_queue_count = 1;
    own.update_bytes = UPDATE_BYTES;
    own.memory_bytes = MEMORY_BYTES;
    TNP_GIVE(info, &own);   // as much as the host's struct has room for
    return TNP_OK;
}

static const tnh_calls calls = { tnh_bound_has, tnh_copy, run };

static tnp_status open_device(tnp_instance *instance, const tnp_open *from, tnp_device **out,
                              tnp_error *err)
{
    tnp_open what;
    if (!TNP_TAKE(&what, from) || TNP_ALIEN(what.flags, 0))
        return tnh_fail_unknown(err, "open");
    if (what.id != DEVICE_ID)
        return tnh_fail(err, TNP_E_ARG, "open: no device has the id %llu",
                        (unsigned long long)what.id);
    tnp_device *device = tnh_make(instance->host, sizeof *device);
    if (!device || !tnh_open(device, instance->host, &calls, UPDATE_BYTES)) {
        instance->host->free(instance->host->context, device);
        return tnh_fail(err, TNP_E_HOST_MEMORY, "open: no memory for a device");
    }
    device->memory.total_bytes = MEMORY_BYTES;
    *out = device;
    return TNP_OK;
}
static void close_device(tnp_device *device)
{
    tnh_close(device);
    tnh_free(device, device);
}

// ------------------------------------------------------------------------------------------- table

static const tnp_plugin table = {
    .size = sizeof table,
    .abi = TNP_ABI_CURRENT,
    .note = &tnp_note_,
    .start = start,
    .stop = stop,
    .device_count = device_count,
    .device_info = device_info,
    .open = open_device,
    .close = close_device,
    .link = tnh_no_link,
    TNH_MEMORY_CALLS,
    TNH_QUEUE_CALLS,
    .claim = claim,
    .compile = compile,
    .program_destroy = program_destroy,
    .bind = bind,
    .extension = tnh_no_extension,
};

// The one exported symbol.
const tnp_plugin *TNP_QUERY(uint32_t host_abi, tnp_error *err)
{
    return tnh_query(&table, host_abi, err);
}
