// test_slice.c: slices built by hand.
#include "test_slice.h"

#include <stdio.h>

void test_slice_init(test_slice *slice)
{
    memset(slice, 0, sizeof *slice);
    for (int i = 0; i < TEST_MAX_STORAGES; i++)
        slice->storage_pointers[i] = &slice->storages[i];
    for (int i = 0; i < TEST_MAX_VALUES; i++)
        slice->value_pointers[i] = &slice->values[i];
    for (int i = 0; i < TEST_MAX_NODES; i++)
        slice->node_pointers[i] = &slice->nodes[i];
    slice->slice = (tnp_slice){
        .size = sizeof slice->slice,
        .values = slice->value_pointers,
        .nodes = slice->node_pointers,
        .storages = slice->storage_pointers,
    };
}

// Plain types of 4 bytes are enough here.
uint32_t test_slice_add_value(test_slice *slice, tnp_dtype dtype, uint32_t flags, uint32_t rank,
                              const int64_t *dims)
{
    uint32_t index = slice->slice.value_count++, storage = slice->slice.storage_count++;
    tnp_value *value = &slice->values[index];
    int64_t bytes = 4;
    *value = (tnp_value){
        .size = sizeof *value, .dtype = dtype, .rank = rank, .storage = storage, .name = "v"
    };
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        value->dims[d] = d < rank ? dims[d] : 1;
        value->strides[d] = bytes;
        bytes *= value->dims[d];
    }
    slice->storages[storage] =
        (tnp_storage){ .size = sizeof(tnp_storage), .flags = flags, .bytes = (uint64_t)bytes };
    return index;
}

uint32_t test_slice_add_vector(test_slice *slice, tnp_dtype dtype, uint32_t flags, int64_t count)
{
    return test_slice_add_value(slice, dtype, flags, 1, &count);
}

uint32_t test_slice_add_view(test_slice *slice, uint32_t value)
{
    uint32_t index = slice->slice.value_count++;
    slice->values[index] = slice->values[value];
    return index;
}

uint32_t test_slice_add_node(test_slice *slice, tnp_op op, const void *attributes, const char *name,
                             uint32_t a, uint32_t b, uint32_t output)
{
    uint32_t index = slice->slice.node_count++;
    slice->operands[index][0] = a;
    slice->operands[index][1] = b;
    slice->results[index] = output;
    slice->nodes[index] = (tnp_node){
        .size = sizeof(tnp_node),
        .op = op,
        .input_count = b == TNP_NONE ? 1 : 2,
        .output_count = 1,
        .inputs = slice->operands[index],
        .outputs = &slice->results[index],
        .attributes = attributes,
        .name = name,
    };
    return index;
}

static void take(void *context, const tnp_claim *claim)
{
    test_claims *claims = context;
    uint32_t node = claim->nodes[0];
    if (claim->node_count > 1 && claims->unit_count < TEST_MAX_UNITS) {
        test_unit *unit = &claims->units[claims->unit_count++];
        unit->node_count = claim->node_count;
        memcpy(unit->nodes, claim->nodes, claim->node_count * sizeof *unit->nodes);
    }
    if (claim->node_count > 1 || claims->is_taken[node])
        return;
    claims->is_taken[node] = true;
    claims->nodes[node] = node;
    memcpy(claims->in_place[node], claim->in_place, claim->in_place_count * sizeof(tnp_in_place));
    (void)TNP_TAKE(&claims->claims[node], claim);
    claims->claims[node].nodes = &claims->nodes[node];
    claims->claims[node].in_place = claims->in_place[node];
    if (claim->pack_count > 0)
        claims->packs[node] = *claim->packs[0];
    claims->pack_pointers[node] = &claims->packs[node];
    claims->claims[node].packs = &claims->pack_pointers[node];
}

static void refuse(void *context, uint32_t node, const char *reason)
{
    test_claims *claims = context;
    snprintf(claims->reasons[node], sizeof claims->reasons[node], "%s", reason);
}

static tnp_status claim(const test_slice *slice, const tnp_plugin *plugin, tnp_device *device,
                        test_claims *out, tnp_error *err)
{
    memset(out, 0, sizeof *out);
    tnp_claim_sink sink = { .size = sizeof sink, .context = out, .take = take, .refuse = refuse };
    return plugin->claim(device, &slice->slice, &sink, err);
}

tnp_status test_slice_claim(const test_slice *slice, const tnp_plugin *plugin, tnp_device *device,
                            test_claims *out)
{
    tnp_error err = { .size = sizeof err };
    return claim(slice, plugin, device, out, &err);
}

tnp_status test_slice_compile(const test_slice *slice, const tnp_plugin *plugin, tnp_device *device,
                              tnp_program **out, tnp_error *err)
{
    test_claims claims;
    const tnp_claim *units[TEST_MAX_NODES];
    tnp_status status = claim(slice, plugin, device, &claims, err);
    if (status != TNP_OK)
        return status;
    for (uint32_t i = 0; i < slice->slice.node_count; i++)
        units[i] = &claims.claims[i];
    tnp_compile how = { .size = sizeof how,
                        .unit_count = slice->slice.node_count,
                        .slice = &slice->slice,
                        .units = units };
    return plugin->compile(device, &how, out, err);
}

tnp_binding test_binding(uint32_t kind, uint32_t index, tnp_buffer *buffer, uint64_t offset,
                         uint64_t bytes)
{
    return (tnp_binding){ .size = sizeof(tnp_binding),
                          .kind = kind,
                          .index = index,
                          .buffer = buffer,
                          .offset = offset,
                          .bytes = bytes };
}

tnp_status test_bind(const tnp_plugin *plugin, tnp_program *program, uint32_t flags,
                     const tnp_binding *bindings, uint32_t count, tnp_bound **out, tnp_error *err)
{
    const tnp_binding *pointers[TEST_MAX_STORAGES + TEST_MAX_NODES];
    for (uint32_t i = 0; i < count; i++)
        pointers[i] = &bindings[i];
    tnp_bind how = {
        .size = sizeof how, .flags = flags, .binding_count = count, .bindings = pointers
    };
    return plugin->bind(program, &how, out, err);
}
