// verify.c: the table of tensors against the file: types, sizes, offsets, overlap.
#include "gguf/gguf_internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/macros.h"

// A place for messages, by tni_gguf_complain.
static tni_gguf_cursor at_tensor(const tni_gguf_file *file, const tni_gguf_tensor *tensor)
{
    return (tni_gguf_cursor){ .path = file->path,
                              .entry = "tensor",
                              .entry_name = tensor->name,
                              .entry_index = (uint32_t)(tensor - file->tensors) };
}

static tn_status measure(tn_model *model, tni_gguf_cursor *at, tni_gguf_tensor *tensor,
                         tn_error *err)
{
    tensor->dtype = tni_gguf_dtype(tensor->file_type);
    const tni_dtype *dtype = tni_dtype_find(tensor->dtype);
    if (!dtype)
        return tni_gguf_complain(model, at, err,
                                 "has the type %" PRIu32 " (%s), which this version cannot use",
                                 tensor->file_type, tni_gguf_tensor_type_name(tensor->file_type));
    if (tensor->is_bad)   // its dims are not to be believed
        return TN_OK;
    if (tensor->dims[0] % dtype->block_elements)
        return tni_gguf_complain(
            model, at, err, "dims[0] is %" PRId64 ", a multiple of %" PRId64 " was expected for %s",
            tensor->dims[0], dtype->block_elements, dtype->name);
    uint64_t bytes = tn_dtype_bytes(tensor->dtype, tensor->dims[0]);   // 0: it wraps
    bool fits = bytes != 0;
    for (uint32_t i = 1; i < tensor->rank; i++)
        fits = fits && tni_mul_u64(bytes, (uint64_t)tensor->dims[i], &bytes);
    if (!fits)
        return tni_gguf_complain(
            model, at, err,
            "its size wraps: dims %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 " of %s",
            tensor->dims[0], tensor->dims[1], tensor->dims[2], tensor->dims[3], dtype->name);
    tensor->bytes = bytes;
    return TN_OK;
}

static tn_status place(tn_model *model, const tni_gguf_file *file, uint64_t data_offset,
                       tni_gguf_cursor *at, tni_gguf_tensor *tensor, tn_error *err)
{
    const uint64_t offset = tensor->offset;
    if (offset % file->alignment_bytes)
        return tni_gguf_complain(model, at, err,
                                 "its offset is %" PRIu64 ", a multiple of the alignment %" PRIu32
                                 " was expected; it has %" PRIu64 " bytes, the file %zu",
                                 offset, file->alignment_bytes, tensor->bytes, file->bytes);
    uint64_t end;
    if (!tni_add_u64(offset, data_offset, &tensor->offset) ||
        !tni_add_u64(tensor->offset, tensor->bytes, &end) || end > file->bytes)
        return tni_gguf_complain(model, at, err,
                                 "ends outside the file: %" PRIu64 " bytes at offset %" PRIu64
                                 " of the data, which begins at byte %" PRIu64
                                 ", and the file has %zu: it was cut, or not fetched to its end",
                                 tensor->bytes, offset, data_offset, file->bytes);
    return TN_OK;
}

static bool offset_before(const void *context, uint32_t a, uint32_t b)
{
    const tni_gguf_tensor *tensors = context;
    return tensors[a].offset < tensors[b].offset;
}

// sorted: room for all. Those with a problem take no part.
static tn_status refuse_overlap(tn_model *model, const tni_gguf_file *file, uint32_t *sorted,
                                tn_error *err)
{
    uint32_t count = 0;
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < file->tensor_count; i++)
        if (!file->tensors[i].is_bad)
            sorted[count++] = i;
    tni_gguf_sort(sorted, count, offset_before, file->tensors);
    for (uint32_t i = 1; i < count && status == TN_OK; i++) {
        tni_gguf_tensor *a = &file->tensors[sorted[i - 1]], *b = &file->tensors[sorted[i]];
        if (b->offset - a->offset >= a->bytes)
            continue;
        tni_gguf_cursor at = at_tensor(file, b);
        a->is_bad = b->is_bad = true;
        status = tni_gguf_complain(model, &at, err,
                                   "begins at byte %" PRIu64
                                   " of the file, within '%.80s', %" PRIu64
                                   " bytes from byte %" PRIu64 " on; the file has %zu",
                                   b->offset, a->name, a->bytes, a->offset, file->bytes);
    }
    return status;
}

static tn_status verify_tensors(tn_model *model, tni_gguf_file *file, uint64_t data_offset,
                                tn_error *err)
{
    for (uint32_t i = 0; i < file->tensor_count; i++) {
        tni_gguf_tensor *tensor = &file->tensors[i];
        tni_gguf_cursor at = at_tensor(file, tensor);
        at.is_bad = tensor->is_bad;
        tn_status status = measure(model, &at, tensor, err);
        if (status == TN_OK && !at.is_bad && file->alignment_bytes)
            status = place(model, file, data_offset, &at, tensor, err);
        if (status != TN_OK)
            return status;
        tensor->is_bad = at.is_bad || !file->alignment_bytes;
    }
    tni_arena scratch;
    tni_arena_init(&scratch, &model->allocator);
    uint32_t *sorted = tni_arena_take_array(&scratch, file->tensor_count, sizeof *sorted);
    tn_status status = sorted ? refuse_overlap(model, file, sorted, err)
                              : tni_fail_memory(err, "the order of tensors",
                                                file->tensor_count * sizeof *sorted);
    tni_arena_finish(&scratch);
    return status;
}

// Bytes behind the last tensor are allowed; another file is not: its tensors would be missing.
static tn_status refuse_joined(tn_model *model, const tni_gguf_file *file, uint64_t data_offset,
                               tn_error *err)
{
    enum { MAGIC_BYTES = 4 };
    uint64_t end = file->tensor_count ? data_offset : file->table_end, padded;
    for (uint32_t i = 0; i < file->tensor_count; i++) {
        const tni_gguf_tensor *tensor = &file->tensors[i];
        if (!tensor->is_bad && tensor->offset + tensor->bytes > end)
            end = tensor->offset + tensor->bytes;
    }
    if (!tni_align_u64(end, file->alignment_bytes, &padded))
        return TN_OK;
    const uint64_t places[] = { end, padded };
    for (size_t i = 0; i < TN_COUNT_OF(places); i++) {
        const uint64_t at = places[i];
        if (at > file->bytes || file->bytes - at < MAGIC_BYTES ||
            memcmp(file->data + at, "GGUF", MAGIC_BYTES) != 0)
            continue;
        tni_gguf_cursor whole = { .path = file->path };
        return tni_gguf_complain(
            model, &whole, err,
            "a second GGUF file begins at its byte %" PRIu64 " of %zu: it looks like parts of a "
            "model joined by `cat`; keep them as they came, named NAME-00001-of-%05" PRId64
            ".gguf and so on in one folder, and open the first",
            at, file->bytes, file->part_count > 1 ? file->part_count : 2);
    }
    return TN_OK;
}

tn_status tni_gguf_verify(tn_model *model, tni_gguf_file *file, tn_error *err)
{
    uint64_t data_offset = file->table_end;
    if (file->alignment_bytes &&
        !tni_align_u64(file->table_end, file->alignment_bytes, &data_offset))
        return tni_fail(err, TN_E_FILE, "%s: the start of the data wraps", file->path);
    tn_status status = verify_tensors(model, file, data_offset, err);
    if (status == TN_OK && file->is_whole && file->alignment_bytes)
        status = refuse_joined(model, file, data_offset, err);
    for (uint32_t i = 0; i < file->tensor_count && status == TN_OK; i++) {
        tni_gguf_tensor *tensor = &file->tensors[i];
        tensor->file = (uint32_t)(file - model->files);
        tensor->data = tensor->is_bad ? NULL : file->data + tensor->offset;
        tensor->bytes = tensor->is_bad ? 0 : tensor->bytes;
    }
    return status;
}
