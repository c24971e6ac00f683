// parse.c: one walk through the header, the keys and the table of tensors.
#include "gguf/gguf_internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/integer.h"

// The fewest bytes that an entry can take, for tni_gguf_read_count.
enum {
    MIN_STRING_BYTES = 8,
    MIN_KEY_BYTES = 8 + 1 + 4 + 1,              // a name of one letter, type, U8
    MIN_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8,   // a name of one letter, rank, one dim, type, offset
};

static tn_status fail_copy(const tn_model *model, const char *what, uint64_t bytes, tn_error *err)
{
    return tni_fail(err, TN_E_HOST_MEMORY, "%s: not enough memory for %s (%" PRIu64 " bytes)",
                    model->path, what, bytes);
}

// A name of a key or tensor, copied. Printable ASCII, so that it can be shown and ends at its NUL.
static tn_status read_name(tn_model *model, tni_gguf_cursor *cursor, const char **out_name,
                           tn_error *err)
{
    const unsigned char *text;
    size_t bytes;
    tn_status status = tni_gguf_read_string(cursor, "its name", &text, &bytes, err);
    if (status != TN_OK)
        return status;
    if (!bytes)
        return tni_gguf_fail(cursor, err, "its name is empty");
    if (bytes > TNI_GGUF_MAX_NAME_BYTES)
        return tni_gguf_fail(cursor, err, "its name has %zu bytes, at most %d are allowed", bytes,
                             TNI_GGUF_MAX_NAME_BYTES);
    for (size_t i = 0; i < bytes; i++)
        if (text[i] < ' ' || text[i] > '~')
            return tni_gguf_fail(cursor, err,
                                 "its name has the byte 0x%02x, only printable ASCII is allowed",
                                 text[i]);
    char *name = tni_arena_take(&model->arena, bytes + 1);
    if (!name)
        return fail_copy(model, "a name", bytes + 1, err);
    memcpy(name, text, bytes);   // the arena gives zeros: the NUL is there
    *out_name = name;
    return TN_OK;
}

// -------------------------------------------------------------------------------------------- keys

// key->count strings: first measured, then copied one behind the other, so that each ends in NUL
// and is found at once.
static tn_status read_strings(tn_model *model, tni_gguf_cursor *cursor, tni_gguf_key *key,
                              tn_error *err)
{
    const size_t start = cursor->at;
    const unsigned char *text;
    size_t bytes;
    for (uint64_t i = 0; i < key->count; i++) {
        tn_status status = tni_gguf_read_string(cursor, "a string of its value", &text, &bytes,
                                                err);
        if (status != TN_OK)
            return status;
    }
    // All lengths of 8 bytes, in place of each a NUL: cannot wrap.
    const uint64_t total = cursor->at - start - key->count * (MIN_STRING_BYTES - 1);
    if (total > UINT32_MAX)
        return tni_gguf_fail(cursor, err,
                             "its strings take %" PRIu64 " bytes, at most %" PRIu32 " are allowed",
                             total, UINT32_MAX);
    char *texts = tni_arena_take(&model->arena, total);
    uint32_t *starts = tni_arena_take_array(&model->arena, key->count + 1, sizeof *starts);
    if (!texts || !starts)
        return fail_copy(model, "strings", total + (key->count + 1) * sizeof *starts, err);
    const unsigned char *from = cursor->data + start;
    uint32_t at = 0;
    for (uint64_t i = 0; i < key->count; i++) {
        bytes = (size_t)tni_gguf_u64(from);
        memcpy(texts + at, from + MIN_STRING_BYTES, bytes);
        from += MIN_STRING_BYTES + bytes;
        at += (uint32_t)bytes + 1;
        starts[i + 1] = at;
    }
    key->texts = texts;
    key->starts = starts;
    return TN_OK;
}

static tn_status read_numbers(tni_gguf_cursor *cursor, tni_gguf_key *key, size_t element_bytes,
                              tn_error *err)
{
    size_t bytes;
    if (!tni_mul_size(key->count, element_bytes, &bytes))
        return tni_gguf_fail(cursor, err, "its size wraps");
    tn_status status = tni_gguf_read_bytes(cursor, "its value", bytes, &key->values, err);
    if (status != TN_OK || key->element_type != TN_KEY_BOOL)
        return status;
    for (size_t i = 0; i < bytes; i++)
        if (key->values[i] > 1)
            return tni_gguf_fail(cursor, err, "a BOOL is %d, 0 or 1 was expected", key->values[i]);
    return TN_OK;
}

static tn_status read_array_header(tni_gguf_cursor *cursor, tni_gguf_key *key, tn_error *err)
{
    tn_status status = tni_gguf_read_u32(cursor, "its element type", &key->element_type, err);
    if (status != TN_OK)
        return status;
    if (key->element_type == TN_KEY_ARRAY)
        return tni_gguf_fail(cursor, err, "is an array of arrays, which is not allowed");
    size_t element_bytes = tni_gguf_key_type_bytes(key->element_type);
    if (key->element_type == TN_KEY_STRING)
        element_bytes = MIN_STRING_BYTES;
    if (!element_bytes)
        return tni_gguf_fail(cursor, err, "is an array of the unknown type %" PRIu32,
                             key->element_type);
    return tni_gguf_read_count(cursor, "its number of elements", element_bytes, &key->count, err);
}

static tn_status read_key(tn_model *model, tni_gguf_cursor *cursor, tni_gguf_key *key,
                          tn_error *err)
{
    tn_status status = read_name(model, cursor, &key->name, err);
    if (status != TN_OK)
        return status;
    cursor->entry_name = key->name;
    status = tni_gguf_read_u32(cursor, "its type", &key->type, err);
    if (status != TN_OK)
        return status;
    key->element_type = key->type;
    key->count = 1;
    if (key->type == TN_KEY_ARRAY)
        status = read_array_header(cursor, key, err);
    if (status != TN_OK)
        return status;
    if (key->element_type == TN_KEY_STRING)
        return read_strings(model, cursor, key, err);
    const size_t element_bytes = tni_gguf_key_type_bytes(key->element_type);
    if (!element_bytes)
        return tni_gguf_fail(cursor, err, "has the unknown type %" PRIu32, key->type);
    return read_numbers(cursor, key, element_bytes, err);
}

static tn_status read_keys(tn_model *model, tni_gguf_cursor *cursor, tn_error *err)
{
    const uint32_t count = model->key_count;
    model->keys = tni_arena_take_array(&model->arena, count, sizeof *model->keys);
    if (!model->keys || !tni_gguf_names_reserve(&model->key_names, count, &model->arena))
        return fail_copy(model, "keys", count * sizeof *model->keys, err);
    cursor->entry = "key";
    for (uint32_t i = 0; i < count; i++) {
        cursor->entry_index = i;
        cursor->entry_name = NULL;
        tn_status status = read_key(model, cursor, &model->keys[i], err);
        if (status != TN_OK)
            return status;
        model->key_names.names[i] = model->keys[i].name;
    }
    tni_gguf_names_sort(&model->key_names);
    const uint32_t twice = tni_gguf_names_duplicate(&model->key_names);
    if (twice != UINT32_MAX)
        return tni_fail(err, TN_E_FILE, "%s: key '%.80s' comes twice", model->path,
                        model->keys[twice].name);
    return TN_OK;
}

// --------------------------------------------------------------------- keys that this module obeys

static tn_status read_alignment(tn_model *model, tn_error *err)
{
    const uint32_t index = tni_gguf_names_find(&model->key_names, "general.alignment");
    model->alignment_bytes = TNI_GGUF_DEFAULT_ALIGNMENT;
    if (index == UINT32_MAX)
        return TN_OK;
    const tni_gguf_key *key = &model->keys[index];
    if (key->type != TN_KEY_U32)
        return tni_fail(err, TN_E_FILE,
                        "%s: key 'general.alignment' is of type %s, U32 was expected", model->path,
                        tni_gguf_key_type_name(key->type));
    const uint32_t alignment = tni_gguf_u32(key->values);
    if (!tni_is_power_of_two(alignment) || alignment < TNI_GGUF_MIN_ALIGNMENT ||
        alignment > TNI_GGUF_MAX_ALIGNMENT)
        return tni_fail(err, TN_E_FILE,
                        "%s: key 'general.alignment' is %" PRIu32
                        ", a power of two from %d to %d was expected",
                        model->path, alignment, TNI_GGUF_MIN_ALIGNMENT, TNI_GGUF_MAX_ALIGNMENT);
    model->alignment_bytes = alignment;
    return TN_OK;
}

// An integer that need not be there.
static tn_status read_optional(const tn_model *model, const char *name, int64_t *inout,
                               tn_error *err)
{
    const uint32_t index = tni_gguf_names_find(&model->key_names, name);
    if (index == UINT32_MAX)
        return TN_OK;
    const tni_gguf_key *key = &model->keys[index];
    if (key->type == TN_KEY_ARRAY || !tni_gguf_value_i64(key, 0, inout))
        return tni_fail(err, TN_E_FILE, "%s: key '%s' is of type %s, an integer was expected",
                        model->path, name, tni_gguf_key_type_name(key->type));
    return TN_OK;
}

// A model in several files is not put together here: its tensors must stand in one.
static tn_status refuse_part(const tn_model *model, tn_error *err)
{
    int64_t part = 0, parts = 1, tensors = model->tensor_count;
    tn_status status = read_optional(model, "split.no", &part, err);
    if (status == TN_OK)
        status = read_optional(model, "split.count", &parts, err);
    if (status == TN_OK)
        status = read_optional(model, "split.tensors.count", &tensors, err);
    if (status != TN_OK)
        return status;
    if (parts > 1 && (part < 0 || part >= parts))
        return tni_fail(err, TN_E_FILE,
                        "%s: split.no is %" PRId64 " and split.count %" PRId64
                        ": no such part of a model",
                        model->path, part, parts);
    if (parts > 1)
        return tni_fail(
            err, TN_E_FILE,
            "%s: is part %" PRId64 " of %" PRId64 " of a model; all parts are needed, merged into "
            "one file with split.count 1 by the tool that split them (`cat` does not do it)",
            model->path, part + 1, parts);
    if (tensors != model->tensor_count)
        return tni_fail(err, TN_E_FILE,
                        "%s: split.tensors.count is %" PRId64 ", but the file has %" PRIu32
                        " tensors",
                        model->path, tensors, model->tensor_count);
    return TN_OK;
}

// ----------------------------------------------------------------------------------------- tensors

static tn_status read_tensor(tn_model *model, tni_gguf_cursor *cursor, tni_gguf_tensor *tensor,
                             tn_error *err)
{
    tn_status status = read_name(model, cursor, &tensor->name, err);
    if (status != TN_OK)
        return status;
    cursor->entry_name = tensor->name;
    status = tni_gguf_read_u32(cursor, "its rank", &tensor->rank, err);
    if (status != TN_OK)
        return status;
    if (tensor->rank < 1 || tensor->rank > TNI_GGUF_MAX_RANK)
        return tni_gguf_fail(cursor, err, "has %" PRIu32 " dims, 1 to %d were expected",
                             tensor->rank, TNI_GGUF_MAX_RANK);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        uint64_t dim;
        status = tni_gguf_read_u64(cursor, "its dims", &dim, err);
        if (status != TN_OK)
            return status;
        if (dim < 1 || dim > INT64_MAX)
            return tni_gguf_fail(cursor, err,
                                 "dims[%" PRIu32 "] is %" PRIu64 ", 1 to %" PRId64 " was expected",
                                 i, dim, INT64_MAX);
        tensor->dims[i] = (int64_t)dim;
    }
    for (uint32_t i = tensor->rank; i < TNI_GGUF_MAX_RANK; i++)
        tensor->dims[i] = 1;
    status = tni_gguf_read_u32(cursor, "its type", &tensor->file_type, err);
    if (status == TN_OK)
        status = tni_gguf_read_u64(cursor, "its offset", &tensor->offset, err);
    return status;
}

static tn_status read_tensors(tn_model *model, tni_gguf_cursor *cursor, tn_error *err)
{
    const uint32_t count = model->tensor_count;
    model->tensors = tni_arena_take_array(&model->arena, count, sizeof *model->tensors);
    if (!model->tensors || !tni_gguf_names_reserve(&model->tensor_names, count, &model->arena))
        return fail_copy(model, "tensors", count * sizeof *model->tensors, err);
    cursor->entry = "tensor";
    for (uint32_t i = 0; i < count; i++) {
        cursor->entry_index = i;
        cursor->entry_name = NULL;
        tn_status status = read_tensor(model, cursor, &model->tensors[i], err);
        if (status != TN_OK)
            return status;
        model->tensor_names.names[i] = model->tensors[i].name;
    }
    tni_gguf_names_sort(&model->tensor_names);
    const uint32_t twice = tni_gguf_names_duplicate(&model->tensor_names);
    if (twice != UINT32_MAX)
        return tni_fail(err, TN_E_FILE, "%s: tensor '%.80s' comes twice", model->path,
                        model->tensors[twice].name);
    return TN_OK;
}

// ------------------------------------------------------------------------------------------ header

static tn_status read_count(tni_gguf_cursor *cursor, const char *what, size_t entry_bytes,
                            uint32_t *out, tn_error *err)
{
    uint64_t count;
    tn_status status = tni_gguf_read_count(cursor, what, entry_bytes, &count, err);
    if (status != TN_OK)
        return status;
    if (count > TNI_GGUF_MAX_ENTRIES)
        return tni_gguf_fail(cursor, err, "%s is %" PRIu64 ", at most %d are allowed", what, count,
                             TNI_GGUF_MAX_ENTRIES);
    *out = (uint32_t)count;
    return TN_OK;
}

static tn_status read_header(tn_model *model, tni_gguf_cursor *cursor, tn_error *err)
{
    if (cursor->bytes == 0)
        return tni_gguf_fail(cursor, err, "is empty, not a GGUF file");
    const unsigned char *magic;
    tn_status status = tni_gguf_read_bytes(cursor, "a GGUF header", 4, &magic, err);
    if (status != TN_OK)
        return status;
    if (memcmp(magic, "GGUF", 4) != 0)
        return tni_gguf_fail(
            cursor, err,
            "is not a GGUF file: it begins with the bytes %02x %02x %02x %02x, not with \"GGUF\"",
            magic[0], magic[1], magic[2], magic[3]);
    status = tni_gguf_read_u32(cursor, "the version", &model->version, err);
    if (status != TN_OK)
        return status;
    if (model->version && !(model->version & 0xffff))
        return tni_gguf_fail(
            cursor, err,
            "is a big-endian GGUF file, only little-endian ones are read; convert it first");
    if (model->version != 2 && model->version != 3)
        return tni_gguf_fail(cursor, err, "has GGUF version %" PRIu32 ", only 2 and 3 are read",
                             model->version);
    status = read_count(cursor, "the number of tensors", MIN_TENSOR_BYTES, &model->tensor_count,
                        err);
    if (status == TN_OK)
        status = read_count(cursor, "the number of keys", MIN_KEY_BYTES, &model->key_count, err);
    return status;
}

tn_status tni_gguf_parse(tn_model *model, size_t *out_end, tn_error *err)
{
    tni_gguf_cursor cursor = { .path = model->path, .data = model->data, .bytes = model->bytes };
    tn_status status = read_header(model, &cursor, err);
    if (status == TN_OK)
        status = read_keys(model, &cursor, err);
    if (status == TN_OK)
        status = read_alignment(model, err);
    if (status == TN_OK)
        status = refuse_part(model, err);
    if (status == TN_OK)
        status = read_tensors(model, &cursor, err);
    if (status == TN_OK)
        *out_end = cursor.at;
    return status;
}
