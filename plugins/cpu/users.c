// users.c: how many nodes of a slice look at a storage, or take a length from it.
#include "program.h"

static void count_user(cpu_storage *storages, uint32_t storage_count, uint32_t storage,
                       uint32_t node)
{
    if (storage >= storage_count || storages[storage].last_user == node + 1)
        return;
    storages[storage].last_user = node + 1;
    storages[storage].users++;
}

static void count_value(const tnp_slice *slice, uint32_t index, uint32_t node,
                        cpu_storage *storages)
{
    if (index >= slice->value_count)
        return;
    const tnp_value *value = slice->values[index];
    count_user(storages, slice->storage_count, value->storage, node);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (value->extent[d] != 0 && value->extent[d] <= slice->value_count)
            count_user(storages, slice->storage_count, slice->values[value->extent[d] - 1]->storage,
                       node);
}

void cpu_count_users(const tnp_slice *slice, cpu_storage *storages)
{
    for (uint32_t n = 0; n < slice->node_count; n++) {
        for (uint32_t i = 0; i < slice->nodes[n]->input_count; i++)
            count_value(slice, slice->nodes[n]->inputs[i], n, storages);
        for (uint32_t i = 0; i < slice->nodes[n]->output_count; i++)
            count_value(slice, slice->nodes[n]->outputs[i], n, storages);
    }
}
