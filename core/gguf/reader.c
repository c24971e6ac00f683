// reader.c: a cursor that cannot leave the file.
#include "gguf/gguf_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static tn_status fail(const tni_gguf_cursor *cursor, tn_error *err, const char *format,
                      va_list arguments)
{
    char sentence[sizeof err->text];
    vsnprintf(sentence, sizeof sentence, format, arguments);
    if (!cursor->entry)
        return tni_fail(err, TN_E_FILE, "%s: %s", cursor->path, sentence);
    if (cursor->entry_name)   // checked to be printable ASCII, so that it can be cut anywhere
        return tni_fail(err, TN_E_FILE, "%s: %s %" PRIu32 " '%.80s': %s", cursor->path,
                        cursor->entry, cursor->entry_index, cursor->entry_name, sentence);
    return tni_fail(err, TN_E_FILE, "%s: %s %" PRIu32 ": %s", cursor->path, cursor->entry,
                    cursor->entry_index, sentence);
}

tn_status tni_gguf_fail(const tni_gguf_cursor *cursor, tn_error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    tn_status status = fail(cursor, err, format, arguments);
    va_end(arguments);
    return status;
}

static tn_status keep(tn_model *model, const char *text, tn_error *err)
{
    static const char more[] = "there are more problems than are listed";
    const uint32_t count = model->problem_count;
    if (count == TNI_GGUF_MOST_PROBLEMS)
        return TN_OK;
    const char *kept = count + 1 == TNI_GGUF_MOST_PROBLEMS
                           ? more
                           : tni_arena_take_text(&model->arena, text);
    if (!kept)
        return tni_fail_memory(err, "a problem of a model", strlen(text) + 1);
    model->problems[model->problem_count++] = kept;
    return TN_OK;
}

tn_status tni_gguf_complain(tn_model *model, tni_gguf_cursor *cursor, tn_error *err,
                            const char *format, ...)
{
    tn_error problem = { 0 };
    va_list arguments;
    va_start(arguments, format);
    tn_status status = fail(cursor, model->keeps_problems ? &problem : err, format, arguments);
    va_end(arguments);
    cursor->is_bad = true;
    return model->keeps_problems ? keep(model, problem.text, err) : status;
}

tn_status tni_gguf_keep(tn_model *model, tn_status status, tn_error *err)
{
    if (status != TN_E_FILE || !model->keeps_problems)
        return status;
    return keep(model, err->text, err);
}

uint16_t tni_gguf_u16(const unsigned char *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

uint32_t tni_gguf_u32(const unsigned char *at)
{
    return tni_gguf_u16(at) | (uint32_t)tni_gguf_u16(at + 2) << 16;
}

uint64_t tni_gguf_u64(const unsigned char *at)
{
    return tni_gguf_u32(at) | (uint64_t)tni_gguf_u32(at + 4) << 32;
}

tn_status tni_gguf_read_bytes(tni_gguf_cursor *cursor, const char *what, uint64_t bytes,
                              const unsigned char **out, tn_error *err)
{
    *out = NULL;
    if (bytes > cursor->bytes - cursor->at)
        return tni_gguf_fail(cursor, err,
                             "%s takes %" PRIu64 " bytes from byte %zu on, the file has %zu", what,
                             bytes, cursor->at, cursor->bytes);
    *out = cursor->data + cursor->at;
    cursor->at += (size_t)bytes;
    return TN_OK;
}

tn_status tni_gguf_read_u32(tni_gguf_cursor *cursor, const char *what, uint32_t *out, tn_error *err)
{
    const unsigned char *at = NULL;
    tn_status status = tni_gguf_read_bytes(cursor, what, sizeof *out, &at, err);
    if (status == TN_OK)
        *out = tni_gguf_u32(at);
    return status;
}

tn_status tni_gguf_read_u64(tni_gguf_cursor *cursor, const char *what, uint64_t *out, tn_error *err)
{
    const unsigned char *at = NULL;
    tn_status status = tni_gguf_read_bytes(cursor, what, sizeof *out, &at, err);
    if (status == TN_OK)
        *out = tni_gguf_u64(at);
    return status;
}

tn_status tni_gguf_read_string(tni_gguf_cursor *cursor, const char *what, const unsigned char **out,
                               size_t *out_bytes, tn_error *err)
{
    const size_t start = cursor->at;
    uint64_t bytes;
    tn_status status = tni_gguf_read_u64(cursor, what, &bytes, err);
    if (status == TN_OK)
        status = tni_gguf_read_bytes(cursor, what, bytes, out, err);
    if (status == TN_OK)
        *out_bytes = (size_t)bytes;
    else
        cursor->at = start;
    return status;
}

tn_status tni_gguf_read_count(tni_gguf_cursor *cursor, const char *what, size_t entry_bytes,
                              uint64_t *out, tn_error *err)
{
    const size_t start = cursor->at;
    uint64_t count;
    tn_status status = tni_gguf_read_u64(cursor, what, &count, err);
    if (status != TN_OK)
        return status;
    const size_t left = cursor->bytes - cursor->at;
    if (count > left / entry_bytes) {
        cursor->at = start;
        return tni_gguf_fail(
            cursor, err, "%s is %" PRIu64 ", but only %zu fit into the %zu bytes left of the file",
            what, count, left / entry_bytes, left);
    }
    *out = count;
    return TN_OK;
}
