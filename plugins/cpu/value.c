// value.c: values of a slice.
#include "value.h"

bool cpu_dtype_block(tnp_dtype dtype, int64_t *elements, uint32_t *bytes)
{
    switch (dtype) {
#define DTYPE(number, NAME, block_elements, block_bytes)                                           \
    case number:                                                                                   \
        *elements = block_elements;                                                                \
        *bytes = block_bytes;                                                                      \
        return true;
#include <tenon/dtypes.def>
    default:
        return false;
    }
}

// Bytes from the first to the last; false when the number does not fit.
static bool span_of(const cpu_value *value, int64_t block_elements, uint32_t block_bytes,
                    uint64_t *span)
{
    *span = block_bytes;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        uint64_t count = (uint64_t)(d == 0 ? value->dims[0] / block_elements : value->dims[d]),
                 bytes;
        if (!cpu_mul(count - 1, (uint64_t)value->strides[d], &bytes) ||
            !cpu_add(*span, bytes, span))
            return false;
    }
    return true;
}

static const char *read_storage(const tnp_slice *slice, uint32_t index, tnp_storage *out)
{
    if (index >= slice->storage_count)
        return "a value names a storage that the slice does not have";
    if (!TNP_TAKE(out, slice->storages[index]) || TNP_ALIEN(out->flags, CPU_SEEN_OUTSIDE))
        return "a storage has a property that this plugin does not know";
    return NULL;
}

// All of a value but its extents.
static const char *read_plain(const tnp_slice *slice, uint32_t index, cpu_value *out)
{
    tnp_value value;
    tnp_storage storage;
    int64_t block_elements;
    uint32_t block_bytes;
    uint64_t end;

    if (index >= slice->value_count)
        return "a node names a value that the slice does not have";
    if (!TNP_TAKE(&value, slice->values[index]) || TNP_ALIEN(value.flags, 0))
        return "a value has a property that this plugin does not know";
    if (!cpu_dtype_block(value.dtype, &block_elements, &block_bytes))
        return "a value has an element type that this plugin does not know";
    const char *reason = read_storage(slice, value.storage, &storage);
    if (reason)
        return reason;
    if (value.layout != 0 && !(storage.flags & TNP_STORAGE_CONSTANT))
        return "a value that is no constant is a pack";

    *out = (cpu_value){
        .dtype = value.dtype,
        .rank = value.rank,
        .layout = value.layout,
        .storage = value.storage,
        .storage_flags = storage.flags,
        .offset = value.offset,
    };
    memcpy(out->dims, value.dims, sizeof out->dims);
    memcpy(out->strides, value.strides, sizeof out->strides);
    memcpy(out->extent, value.extent, sizeof out->extent);
    if (value.rank > TNP_MAX_DIMS)
        return "a value has more than 8 dims";
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (value.dims[d] < 1 || value.strides[d] < 0 || (d >= value.rank && value.dims[d] != 1))
            return "a value has a dim or a stride that no value can have";
    if (value.dims[0] % block_elements != 0)
        return "a value has rows that end inside a block";
    if (!span_of(out, block_elements, block_bytes, &out->span_bytes) ||
        !cpu_add(value.offset, out->span_bytes, &end) || end > storage.bytes)
        return "a value ends outside its storage";
    return NULL;
}

const char *cpu_value_read_length(const tnp_slice *slice, uint32_t index, cpu_value *out)
{
    const char *reason = read_plain(slice, index, out);
    if (reason)
        return reason;
    if (out->dtype != TNP_DTYPE_I32 || out->layout != 0)
        return "an extent is not I32";
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++)
        if (out->dims[d] != 1 || out->extent[d] != 0)
            return "an extent is not one element";
    return NULL;
}

const char *cpu_value_read(const tnp_slice *slice, uint32_t index, cpu_value *out)
{
    cpu_value length;
    const char *reason = read_plain(slice, index, out);
    for (uint32_t d = 0; d < TNP_MAX_DIMS && !reason; d++)
        if (out->extent[d] != 0)
            reason = cpu_value_read_length(slice, out->extent[d] - 1, &length);
    return reason;
}

uint64_t cpu_value_row_bytes(const cpu_value *value)
{
    int64_t elements = 1;
    uint32_t bytes = 0;
    (void)cpu_dtype_block(value->dtype, &elements, &bytes);
    return (uint64_t)(value->dims[0] / elements) * bytes;
}

bool cpu_value_matches(const cpu_value *a, const cpu_value *b)
{
    int64_t a_elements, b_elements;
    uint32_t a_bytes, b_bytes;
    return cpu_dtype_block(a->dtype, &a_elements, &a_bytes) &&
           cpu_dtype_block(b->dtype, &b_elements, &b_bytes) && a_elements == b_elements &&
           a_bytes == b_bytes && memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           memcmp(a->strides, b->strides, sizeof a->strides) == 0;
}

// The bytes that the dims with strides below `period` span; false when a longer stride is no
// multiple of the period.
static bool span_within(const cpu_value *value, int64_t period, uint64_t *span)
{
    int64_t block_elements;
    uint32_t block_bytes;
    if (!cpu_dtype_block(value->dtype, &block_elements, &block_bytes))
        return false;
    *span = block_bytes;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        int64_t count = d == 0 ? value->dims[0] / block_elements : value->dims[d];
        if (value->strides[d] < period)
            *span += (uint64_t)(count - 1) * (uint64_t)value->strides[d];
        else if (count > 1 && value->strides[d] % period != 0)
            return false;
    }
    return true;
}

// Seen modulo the period, each value is one stretch; the stretches do not touch:
//
//   |..aaaa...bbb..|..aaaa...bbb..|      two column ranges of one matrix, the period being its row
static bool is_apart_modulo(int64_t period, const cpu_value *a, uint64_t a_begin,
                            const cpu_value *b, uint64_t b_begin)
{
    uint64_t a_span, b_span, length = (uint64_t)period;
    if (!span_within(a, period, &a_span) || !span_within(b, period, &b_span))
        return false;
    a_begin %= length;
    b_begin %= length;
    return a_begin + a_span <= length && b_begin + b_span <= length &&
           (a_begin + a_span <= b_begin || b_begin + b_span <= a_begin);
}

bool cpu_value_is_apart(const cpu_value *a, uint64_t a_begin, const cpu_value *b, uint64_t b_begin)
{
    if (a_begin + a->span_bytes <= b_begin || b_begin + b->span_bytes <= a_begin)
        return true;
    // Seen from the start of the earlier value, its own stretch does not wrap around the period.
    uint64_t base = a_begin < b_begin ? a_begin : b_begin;
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        if (a->strides[d] > 0 &&
            is_apart_modulo(a->strides[d], a, a_begin - base, b, b_begin - base))
            return true;
        if (b->strides[d] > 0 &&
            is_apart_modulo(b->strides[d], a, a_begin - base, b, b_begin - base))
            return true;
    }
    return false;
}

void cpu_tensor_fill(const cpu_value *value, char *data, cpu_tensor *out)
{
    out->data = data;
    out->dtype = value->dtype;
    out->rank = value->rank;
    memcpy(out->dims, value->dims, sizeof out->dims);
    memcpy(out->strides, value->strides, sizeof out->strides);
}
