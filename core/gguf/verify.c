// verify.c: the table of tensors against the file: types, sizes, offsets, overlap.
#include "gguf/gguf_internal.h"

#include <inttypes.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/integer.h"

// A place for messages, by tni_gguf_fail.
static tni_gguf_cursor at_tensor(const tn_model *model, const tni_gguf_tensor *tensor)
{
    return (tni_gguf_cursor){ .path = model->path,
                              .entry = "tensor",
                              .entry_name = tensor->name,
                              .entry_index = (uint32_t)(tensor - model->tensors) };
}

static tn_status measure(const tn_model *model, tni_gguf_tensor *tensor, tn_error *err)
{
    const tni_gguf_cursor at = at_tensor(model, tensor);
    tensor->dtype = tni_gguf_dtype(tensor->file_type);
    const tni_dtype *dtype = tni_dtype_find(tensor->dtype);
    if (!dtype)
        return tni_gguf_fail(&at, err,
                             "has the type %" PRIu32 " (%s), which this version cannot use",
                             tensor->file_type, tni_gguf_tensor_type_name(tensor->file_type));
    if (tensor->dims[0] % dtype->block_elements)
        return tni_gguf_fail(
            &at, err, "dims[0] is %" PRId64 ", a multiple of %" PRId64 " was expected for %s",
            tensor->dims[0], dtype->block_elements, dtype->name);
    uint64_t bytes = tn_dtype_bytes(tensor->dtype, tensor->dims[0]);   // 0: it wraps
    bool fits = bytes != 0;
    for (uint32_t i = 1; i < tensor->rank; i++)
        fits = fits && tni_mul_u64(bytes, (uint64_t)tensor->dims[i], &bytes);
    if (!fits)
        return tni_gguf_fail(
            &at, err,
            "its size wraps: dims %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 " of %s",
            tensor->dims[0], tensor->dims[1], tensor->dims[2], tensor->dims[3], dtype->name);
    tensor->bytes = bytes;
    return TN_OK;
}

static tn_status place(const tn_model *model, uint64_t data_offset, tni_gguf_tensor *tensor,
                       tn_error *err)
{
    const tni_gguf_cursor at = at_tensor(model, tensor);
    const uint64_t offset = tensor->offset;
    if (offset % model->alignment_bytes)
        return tni_gguf_fail(&at, err,
                             "its offset is %" PRIu64 ", a multiple of the alignment %" PRIu32
                             " was expected",
                             offset, model->alignment_bytes);
    uint64_t end;
    if (!tni_add_u64(offset, data_offset, &tensor->offset) ||
        !tni_add_u64(tensor->offset, tensor->bytes, &end) || end > model->bytes)
        return tni_gguf_fail(&at, err,
                             "ends outside the file: %" PRIu64 " bytes at offset %" PRIu64
                             " of the data, which begins at byte %" PRIu64 ", and the file has %zu",
                             tensor->bytes, offset, data_offset, model->bytes);
    return TN_OK;
}

static bool offset_before(const void *context, uint32_t a, uint32_t b)
{
    const tni_gguf_tensor *tensors = context;
    return tensors[a].offset < tensors[b].offset;
}

static tn_status refuse_overlap(tn_model *model, tn_error *err)
{
    const uint32_t count = model->tensor_count;
    tni_arena scratch;
    tni_arena_init(&scratch, &model->allocator);
    uint32_t *sorted = tni_arena_take_array(&scratch, count, sizeof *sorted);
    tn_status status = sorted
                           ? TN_OK
                           : tni_fail_memory(err, "the order of tensors", count * sizeof *sorted);
    if (status != TN_OK)
        goto done;
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = i;
    tni_gguf_sort(sorted, count, offset_before, model->tensors);
    for (uint32_t i = 1; i < count; i++) {
        const tni_gguf_tensor *a = &model->tensors[sorted[i - 1]], *b = &model->tensors[sorted[i]];
        if (b->offset - a->offset >= a->bytes)
            continue;
        const tni_gguf_cursor at = at_tensor(model, b);
        status = tni_gguf_fail(&at, err,
                               "begins at byte %" PRIu64 " of the file, within '%.80s', %" PRIu64
                               " bytes from byte %" PRIu64 " on; the file has %zu",
                               b->offset, a->name, a->bytes, a->offset, model->bytes);
        break;
    }
done:
    tni_arena_finish(&scratch);
    return status;
}

tn_status tni_gguf_verify(tn_model *model, size_t end, tn_error *err)
{
    uint64_t data_offset;
    if (!tni_align_u64(end, model->alignment_bytes, &data_offset))
        return tni_fail(err, TN_E_FILE, "%s: the start of the data wraps", model->path);
    for (uint32_t i = 0; i < model->tensor_count; i++) {
        tn_status status = measure(model, &model->tensors[i], err);
        if (status == TN_OK)
            status = place(model, data_offset, &model->tensors[i], err);
        if (status != TN_OK)
            return status;
    }
    return refuse_overlap(model, err);
}
