#include "fake_plugin.h"

static tnp_status fail(tnp_error *err, tnp_status status, const char *text)
{
    tnp_error said = { .size = sizeof said, .status = status };
    strncpy(said.text, text, sizeof said.text - 1);
    TNP_GIVE(err, &said);
    return status;
}

static tnp_status fake_open(tnp_instance *instance, const tnp_open *what, tnp_device **out,
                            tnp_error *err)
{
    fake_device *device = (fake_device *)instance;
    (void)what;
    device->open_count++;
    if (device->open_status != TNP_OK)
        return fail(err, device->open_status, "told not to open");
    *out = (tnp_device *)device;
    return TNP_OK;
}

static void fake_close(tnp_device *device)
{
    (void)device;
}

static tnp_status fake_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                                   tnp_error *err)
{
    tnp_memory_info own = ((const fake_device *)device)->memory;
    (void)memory, (void)err;
    own.size = sizeof own;
    own.alignment_bytes = own.alignment_bytes ? own.alignment_bytes : 64;
    TNP_GIVE(info, &own);
    return TNP_OK;
}

tnp_claim fake_claim_on(const uint32_t *nodes, uint32_t count, double cost_ns)
{
    return (tnp_claim){ .size = sizeof(tnp_claim),
                        .node_count = count,
                        .nodes = nodes,
                        .name = "fake",
                        .cost_ns = cost_ns };
}

static int is_refused(const fake_device *device, tnp_op op)
{
    for (int i = 0; i < FAKE_OPS && device->refused_ops[i]; i++)
        if (device->refused_ops[i] == op)
            return 1;
    return 0;
}

static void claim_nodes(const fake_device *device, const tnp_slice *slice,
                        const tnp_claim_sink *sink)
{
    for (uint32_t i = 0; i < slice->node_count; i++) {
        tnp_op op = slice->nodes[i]->op;
        if (is_refused(device, op)) {
            sink->refuse(sink->context, i, device->reason ? device->reason : "it is told to");
        } else if (device->cost_ns > 0) {
            tnp_claim claim = fake_claim_on(
                &i, 1, op == device->cheap_op ? device->cheap_ns : device->cost_ns);
            sink->take(sink->context, &claim);
        }
    }
}

static tnp_status fake_claim_call(tnp_device *opened, const tnp_slice *slice,
                                  const tnp_claim_sink *sink, tnp_error *err)
{
    fake_device *device = (fake_device *)opened;
    device->claim_count++;
    if (device->claim_status != TNP_OK)
        return fail(err, device->claim_status, "told not to answer");
    claim_nodes(device, slice, sink);
    for (int i = 0; i < FAKE_CLAIMS && device->claims[i].node_count; i++) {
        const fake_claim *wanted = &device->claims[i];
        tnp_claim claim = fake_claim_on(wanted->nodes, wanted->node_count, wanted->cost_ns);
        sink->take(sink->context, &claim);
    }
    if (device->answer)
        device->answer(device, slice, sink);
    return TNP_OK;
}

static tnp_status fake_pack(tnp_device *device, const tnp_value *value, uint32_t layout,
                            const void *source, uint64_t begin, uint64_t end, void *to,
                            tnp_error *err)
{
    (void)device, (void)value, (void)layout, (void)source, (void)begin, (void)end, (void)to;
    return fail(err, TNP_E_UNSUPPORTED, "it only says that it could");
}

#define CALLS                                                                                      \
    .size = sizeof(tnp_plugin), .abi = TNP_ABI_CURRENT, .open = fake_open, .close = fake_close,    \
    .memory_info = fake_memory_info, .claim = fake_claim_call

const tnp_plugin fake_plugin = { CALLS };
const tnp_plugin fake_plugin_with_pack = { CALLS, .pack = fake_pack };
