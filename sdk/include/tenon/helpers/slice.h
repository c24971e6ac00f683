// helpers/slice.h: reading a slice so that a later host is understood, or refused in words.
//
// No part of the contract: code that a plugin may compile into itself. Each call copies one struct
// as this header knows it. What a later release has put behind it, and is not zero, is a property
// that this plugin cannot keep: the answer is why, for tnp_claim_sink.refuse. NULL: understood.
#ifndef TENON_HELPERS_SLICE_H
#define TENON_HELPERS_SLICE_H

#include "../plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

// Whether there are that many, and what may follow is left out: more operands than ops.def had when
// the plugin was built mean another op.
static inline int tnh_has_count(const uint32_t *indices, uint32_t count, uint32_t wanted)
{
    for (uint32_t i = wanted; i < count; i++)
        if (indices[i] != TNP_NONE)
            return 0;
    return count >= wanted;
}

// A node with these counts of operands and results, as ops.def has them. One that may be left out
// counts, and is TNP_NONE then.
//   attributes   the op's struct, of `attribute_bytes`, filled by this; NULL and 0: it has none
static inline const char *tnh_read_node(const tnp_slice *slice, uint32_t index, uint32_t inputs,
                                        uint32_t outputs, void *attributes,
                                        uint32_t attribute_bytes, tnp_node *out)
{
    uint32_t none;   // an op without attributes may get some later: zeros mean "as before"
    void *to = attributes ? attributes : &none;
    uint32_t bytes = attributes ? attribute_bytes : (uint32_t)sizeof none;
    if (!TNP_TAKE(out, slice->nodes[index]))
        return "the node has a property that this plugin does not know";
    if (!tnh_has_count(out->inputs, out->input_count, inputs) ||
        !tnh_has_count(out->outputs, out->output_count, outputs))
        return "the node has other operands than this plugin knows";
    if (!out->attributes)
        return attributes ? "the node has no attributes" : NULL;
    if (!tnp_take(to, bytes, out->attributes, *(const uint32_t *)out->attributes))
        return "the op has an attribute that this plugin does not know";
    return NULL;
}

// A value and its storage.
static inline const char *tnh_read_value(const tnp_slice *slice, uint32_t index, tnp_value *out)
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

// Whether one loop over consecutive elements visits all of them, of a type of so many bytes: the
// strides of dims of 1 do not matter.
static inline int tnh_is_packed(const tnp_value *value, tnp_dtype dtype, int64_t element_bytes)
{
    int64_t stride = element_bytes;
    if (value->dtype != dtype || value->layout != 0)
        return 0;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; stride *= value->dims[d++])
        if (value->dims[d] != 1 && value->strides[d] != stride)
            return 0;
    return 1;
}

#ifdef __cplusplus
}
#endif
#endif
