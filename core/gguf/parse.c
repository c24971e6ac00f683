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

static bool is_shown(unsigned char byte)
{
    return byte >= ' ' && byte <= '~';
}

static tn_status check_name(tn_model *model, tni_gguf_cursor *cursor, const unsigned char *text,
                            size_t bytes, tn_error *err)
{
    if (!bytes)
        return tni_gguf_complain(model, cursor, err, "its name is empty");
    if (bytes > TNI_GGUF_MAX_NAME_BYTES)
        return tni_gguf_complain(model, cursor, err,
                                 "its name has %zu bytes, at most %d are allowed", bytes,
                                 TNI_GGUF_MAX_NAME_BYTES);
    for (size_t i = 0; i < bytes; i++)
        if (!is_shown(text[i]))
            return tni_gguf_complain(model, cursor, err,
                                     "its name has the byte 0x%02x, only printable ASCII is "
                                     "allowed",
                                     text[i]);
    return TN_OK;
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
    status = check_name(model, cursor, text, bytes, err);
    if (status != TN_OK)
        return status;
    char *name = tni_arena_take(&model->arena, bytes + 1);
    if (!name)
        return fail_copy(model, "a name", bytes + 1, err);
    for (size_t i = 0; i < bytes; i++)   // the arena gives zeros: the NUL is there
        name[i] = is_shown(text[i]) ? (char)text[i] : '?';
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

static tn_status read_numbers(tn_model *model, tni_gguf_cursor *cursor, tni_gguf_key *key,
                              size_t element_bytes, tn_error *err)
{
    size_t bytes;
    if (!tni_mul_size(key->count, element_bytes, &bytes))
        return tni_gguf_fail(cursor, err, "its size wraps");
    tn_status status = tni_gguf_read_bytes(cursor, "its value", bytes, &key->values, err);
    if (status != TN_OK || key->element_type != TN_KEY_BOOL)
        return status;
    for (size_t i = 0; i < bytes; i++)
        if (key->values[i] > 1)
            return tni_gguf_complain(model, cursor, err, "a BOOL is %d, 0 or 1 was expected",
                                     key->values[i]);
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
    return read_numbers(model, cursor, key, element_bytes, err);
}

// Names that come twice; what: "key" or "tensor".
static tn_status refuse_duplicates(tn_model *model, tni_gguf_names *names, tni_gguf_cursor *cursor,
                                   tn_error *err)
{
    tn_status status = TN_OK;
    uint32_t at = 0, twice;
    tni_gguf_names_sort(names);
    while (status == TN_OK && (twice = tni_gguf_names_duplicate(names, &at)) != UINT32_MAX) {
        tni_gguf_cursor here = { .path = cursor->path };
        if (*names->names[twice])   // else it was complained of
            status = tni_gguf_complain(model, &here, err, "%s '%.80s' comes twice", cursor->entry,
                                       names->names[twice]);
    }
    return status;
}

static tn_status read_keys(tn_model *model, tni_gguf_file *file, tni_gguf_cursor *cursor,
                           tn_error *err)
{
    const uint32_t count = file->key_count;
    tn_status status = TN_OK;
    file->key_count = 0;
    file->keys = tni_arena_take_array(&model->arena, count, sizeof *file->keys);
    if (!file->keys || !tni_gguf_names_reserve(&file->key_names, count, &model->arena))
        return fail_copy(model, "keys", count * sizeof *file->keys, err);
    cursor->entry = "key";
    for (uint32_t i = 0; i < count && status == TN_OK; i++) {
        cursor->entry_index = i;
        cursor->entry_name = NULL;
        status = read_key(model, cursor, &file->keys[i], err);
        file->key_names.names[i] = file->keys[i].name;
        file->key_count += status == TN_OK;
    }
    file->is_whole = status == TN_OK;
    file->key_names.count = file->key_count;
    status = tni_gguf_keep(model, status, err);
    return status == TN_OK ? refuse_duplicates(model, &file->key_names, cursor, err) : status;
}

// --------------------------------------------------------------------- keys that this module obeys

static tn_status read_alignment(tn_model *model, tni_gguf_file *file, tni_gguf_cursor *at,
                                tn_error *err)
{
    const uint32_t index = tni_gguf_names_find(&file->key_names, "general.alignment");
    file->alignment_bytes = TNI_GGUF_DEFAULT_ALIGNMENT;
    if (index == UINT32_MAX)
        return TN_OK;
    const tni_gguf_key *key = &file->keys[index];
    file->alignment_bytes = 0;
    if (key->type != TN_KEY_U32)
        return tni_gguf_complain(model, at, err,
                                 "key 'general.alignment' is of type %s, U32 was expected",
                                 tni_gguf_key_type_name(key->type));
    const uint32_t alignment = tni_gguf_u32(key->values);
    if (!tni_is_power_of_two(alignment) || alignment < TNI_GGUF_MIN_ALIGNMENT ||
        alignment > TNI_GGUF_MAX_ALIGNMENT)
        return tni_gguf_complain(model, at, err,
                                 "key 'general.alignment' is %" PRIu32
                                 ", a power of two from %d to %d was expected",
                                 alignment, TNI_GGUF_MIN_ALIGNMENT, TNI_GGUF_MAX_ALIGNMENT);
    file->alignment_bytes = alignment;
    return TN_OK;
}

// An integer that need not be there.
static tn_status read_optional(tn_model *model, const tni_gguf_file *file, tni_gguf_cursor *at,
                               const char *name, int64_t *inout, tn_error *err)
{
    const uint32_t index = tni_gguf_names_find(&file->key_names, name);
    if (index == UINT32_MAX)
        return TN_OK;
    const tni_gguf_key *key = &file->keys[index];
    if (key->type == TN_KEY_ARRAY || !tni_gguf_value_i64(key, 0, inout))
        return tni_gguf_complain(model, at, err, "key '%s' is of type %s, an integer was expected",
                                 name, tni_gguf_key_type_name(key->type));
    return TN_OK;
}

static tn_status read_part(tn_model *model, tni_gguf_file *file, tni_gguf_cursor *at, tn_error *err)
{
    file->part = 0;
    file->part_count = 1;
    file->part_tensors = -1;
    tn_status status = read_optional(model, file, at, "split.no", &file->part, err);
    if (status == TN_OK)
        status = read_optional(model, file, at, "split.count", &file->part_count, err);
    if (status == TN_OK)
        status = read_optional(model, file, at, "split.tensors.count", &file->part_tensors, err);
    return status;
}

// ----------------------------------------------------------------------------------------- tensors

static tn_status read_dims(tn_model *model, tni_gguf_cursor *cursor, tni_gguf_tensor *tensor,
                           tn_error *err)
{
    uint32_t rank;
    tn_status status = tni_gguf_read_u32(cursor, "its rank", &rank, err);
    if (status == TN_OK && (rank < 1 || rank > TNI_GGUF_MAX_RANK))
        status = tni_gguf_complain(model, cursor, err,
                                   "has %" PRIu32 " dims, 1 to %d were expected", rank,
                                   TNI_GGUF_MAX_RANK);
    if (status != TN_OK)
        return status;
    tensor->rank = rank < TNI_GGUF_MAX_RANK ? rank : TNI_GGUF_MAX_RANK;
    for (uint32_t i = 0; i < TNI_GGUF_MAX_RANK; i++)
        tensor->dims[i] = 1;
    for (uint32_t i = 0; i < rank; i++) {
        uint64_t dim;
        status = tni_gguf_read_u64(cursor, "its dims", &dim, err);
        if (status == TN_OK && (dim < 1 || dim > INT64_MAX))
            status = tni_gguf_complain(model, cursor, err,
                                       "dims[%" PRIu32 "] is %" PRIu64 ", 1 to %" PRId64
                                       " was expected",
                                       i, dim, INT64_MAX);
        if (status != TN_OK)
            return status;
        if (i < TNI_GGUF_MAX_RANK)
            tensor->dims[i] = (int64_t)dim;
    }
    return TN_OK;
}

static tn_status read_tensor(tn_model *model, tni_gguf_cursor *cursor, tni_gguf_tensor *tensor,
                             tn_error *err)
{
    cursor->is_bad = false;
    tn_status status = read_name(model, cursor, &tensor->name, err);
    if (status != TN_OK)
        return status;
    cursor->entry_name = tensor->name;
    status = read_dims(model, cursor, tensor, err);
    if (status == TN_OK)
        status = tni_gguf_read_u32(cursor, "its type", &tensor->file_type, err);
    if (status == TN_OK)
        status = tni_gguf_read_u64(cursor, "its offset", &tensor->offset, err);
    tensor->is_bad = cursor->is_bad;
    return status;
}

static tn_status read_tensors(tn_model *model, tni_gguf_file *file, tni_gguf_cursor *cursor,
                              tn_error *err)
{
    const uint32_t count = file->is_whole ? file->tensor_count : 0;
    tn_status status = TN_OK;
    file->tensor_count = 0;
    file->tensors = tni_arena_take_array(&model->arena, count, sizeof *file->tensors);
    if (!file->tensors || !tni_gguf_names_reserve(&file->tensor_names, count, &model->arena))
        return fail_copy(model, "tensors", count * sizeof *file->tensors, err);
    cursor->entry = "tensor";
    for (uint32_t i = 0; i < count && status == TN_OK; i++) {
        cursor->entry_index = i;
        cursor->entry_name = NULL;
        status = read_tensor(model, cursor, &file->tensors[i], err);
        file->tensor_names.names[i] = file->tensors[i].name;
        file->tensor_count += status == TN_OK;
    }
    file->is_whole = file->is_whole && status == TN_OK;
    file->tensor_names.count = file->tensor_count;
    status = tni_gguf_keep(model, status, err);
    return status == TN_OK ? refuse_duplicates(model, &file->tensor_names, cursor, err) : status;
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

static tn_status read_header(tni_gguf_file *file, tni_gguf_cursor *cursor, tn_error *err)
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
    status = tni_gguf_read_u32(cursor, "the version", &file->version, err);
    if (status != TN_OK)
        return status;
    if (file->version && !(file->version & 0xffff))
        return tni_gguf_fail(
            cursor, err,
            "is a big-endian GGUF file, only little-endian ones are read; convert it first");
    if (file->version != 2 && file->version != 3)
        return tni_gguf_fail(cursor, err, "has GGUF version %" PRIu32 ", only 2 and 3 are read",
                             file->version);
    status = read_count(cursor, "the number of tensors", MIN_TENSOR_BYTES, &file->tensor_count,
                        err);
    if (status == TN_OK)
        status = read_count(cursor, "the number of keys", MIN_KEY_BYTES, &file->key_count, err);
    return status;
}

tn_status tni_gguf_parse(tn_model *model, tni_gguf_file *file, tn_error *err)
{
    tni_gguf_cursor cursor = { .path = file->path, .data = file->data, .bytes = file->bytes };
    tni_gguf_cursor whole = cursor;
    tn_status status = read_header(file, &cursor, err);
    if (status == TN_OK)
        status = read_keys(model, file, &cursor, err);
    if (status == TN_OK)
        status = read_alignment(model, file, &whole, err);
    if (status == TN_OK)
        status = read_part(model, file, &whole, err);
    if (status == TN_OK && file == model->files)
        status = tni_gguf_expect_first_part(model, file, err);
    if (status == TN_OK)
        status = read_tensors(model, file, &cursor, err);
    file->table_end = cursor.at;
    return status;
}
