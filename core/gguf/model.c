// model.c: the calls of model.h.
#include "gguf/gguf.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/map_guard.h"
#include "base/options.h"
#include "gguf/gguf_internal.h"

// ---------------------------------------------------------------------------------- open and close

static tn_status create_empty(const tn_allocator *given, tn_model **out_model, tn_error *err)
{
    const tn_allocator allocator = tni_allocator(given);
    tn_model *model = tni_alloc_zeroed(&allocator, 1, sizeof *model);
    if (!model)
        return tni_fail_memory(err, "a model", sizeof *model);
    model->allocator = allocator;
    tni_arena_init(&model->arena, &allocator);
    *out_model = model;
    return TN_OK;
}

// The last of the model's files: data, bytes and path are set.
static tn_status read_file(tn_model *model, tni_gguf_file *file, tn_error *err)
{
    tn_status status = tni_gguf_parse(model, file, err);
    if (status == TN_OK)
        status = tni_gguf_verify(model, file, err);
    return status;
}

static tni_gguf_file *new_file(tn_model *model, const char *path, tn_error *err)
{
    const char *copy = tni_arena_take_text(&model->arena, path);
    if (!copy) {
        tni_fail_memory(err, "the path of a model", strlen(path) + 1);
        return NULL;
    }
    if (!tni_grow(&model->allocator, &model->files, &model->file_capacity, model->file_count + 1,
                  sizeof *model->files)) {
        tni_fail_memory(err, "the files of a model",
                        (model->file_count + 1) * sizeof *model->files);
        return NULL;
    }
    tni_gguf_file *file = &model->files[model->file_count++];
    *file = (tni_gguf_file){ .path = copy };
    return file;
}

tn_status tni_gguf_add_file(tn_model *model, const char *path, bool is_copied, tn_error *err)
{
    tni_gguf_file *file = new_file(model, path, err);
    if (!file)
        return TN_E_HOST_MEMORY;
    tn_status status = tni_file_map_open(&file->map, path, is_copied, 0, &model->allocator, err);
    if (status == TN_OK) {
        file->data = file->map.data;
        file->bytes = file->map.bytes;
        status = read_file(model, file, err);
        // A file that was cut meanwhile may look broken in any way: then that is what to say.
        if (tni_file_map_failed(&file->map))
            status = tni_file_map_check(&file->map, path, err);
    }
    if (status != TN_OK) {
        tni_file_map_close(&file->map);
        model->file_count--;
    }
    return status;
}

static tn_status open_first(tn_model *model, const void *data, size_t bytes, const char *path,
                            bool is_copied, tn_error *err)
{
    model->path = tni_arena_take_text(&model->arena, path);
    if (!model->path)
        return tni_fail_memory(err, "the path of a model", strlen(path) + 1);
    if (!model->is_lent)
        return tni_gguf_add_file(model, path, is_copied, err);
    tni_gguf_file *file = new_file(model, path, err);
    if (!file)
        return TN_E_HOST_MEMORY;
    file->data = data;
    file->bytes = bytes;
    return read_file(model, file, err);
}

// is_lent: bytes at data, else the file at path.
static tn_status open_model(bool is_lent, const void *data, size_t bytes, const char *path,
                            uint32_t flags, const tn_allocator *allocator, tn_model **out_model,
                            tn_error *err)
{
    tn_model *model = NULL;
    tn_error own;   // problems need a text also where the caller wants none
    err = err ? err : &own;
    tn_status status = create_empty(allocator, &model, err);
    if (status == TN_OK) {
        const bool is_copied = flags & TN_MODEL_IN_MEMORY;
        model->is_lent = is_lent;
        model->keeps_problems = flags & TN_MODEL_INSPECT;
        status = open_first(model, data, bytes, path, is_copied, err);
        if (status == TN_OK)
            status = tni_gguf_add_parts(model, is_copied, err);
    }
    if (status == TN_OK) {
        *out_model = model;
        model = NULL;
    }
    tn_model_close(model);
    return status;
}

tn_status tn_model_open(const char *path, const tn_model_options *options, tn_model **out_model,
                        tn_error *err)
{
    if (out_model)
        *out_model = NULL;
    tn_model_options own;
    tn_status status = tni_need(err, __func__, "path", path, "out_model", out_model, NULL);
    if (status != TN_OK)
        return status;
    status = tni_take_options(&own, sizeof own, TNI_UP_TO(tn_model_options, allocator), options,
                              "tn_model_open", err);
    if (status != TN_OK)
        return status;
    if (own.flags & ~(uint32_t)(TN_MODEL_IN_MEMORY | TN_MODEL_INSPECT))
        return tni_fail(err, TN_E_ARG,
                        "tn_model_open: options->flags 0x%" PRIx32 " are not all known", own.flags);
    status = tni_check_allocator(own.allocator, "tn_model_open", err);
    if (status != TN_OK)
        return status;
    return open_model(false, NULL, 0, path, own.flags, own.allocator, out_model, err);
}

tn_status tni_model_open_bytes(const void *data, size_t bytes, const char *name, uint32_t flags,
                               const tn_allocator *allocator, tn_model **out_model, tn_error *err)
{
    *out_model = NULL;
    return open_model(true, data, bytes, name, flags, allocator, out_model, err);
}

void tn_model_close(tn_model *model)
{
    if (!model)
        return;
    for (uint32_t i = 0; i < model->file_count; i++)
        tni_file_map_close(&model->files[i].map);
    const tn_allocator allocator = model->allocator;
    tni_free(&allocator, model->files);
    tni_arena_finish(&model->arena);
    tni_free(&allocator, model);
}

tn_status tn_model_check(const tn_model *model, tn_error *err)
{
    if (!model)
        return tni_fail(err, TN_E_ARG, "tn_model_check: model is NULL");
    tn_status status = tni_need(err, __func__, "model", model, NULL);
    for (uint32_t i = 0; status == TN_OK && i < model->file_count; i++)
        status = tni_file_map_check(&model->files[i].map, model->files[i].path, err);
    return status;
}

tn_status tn_model_guard_files(tn_error *err)
{
    return tni_map_guard_install(err);
}

const char *tn_model_problem(const tn_model *model, uint32_t index)
{
    return model && index < model->problem_count ? model->problems[index] : NULL;
}

// ------------------------------------------------------------------------------ structs handed out

void tn_model_describe(const tn_model *model, tn_model_info *out_info)
{
    if (!model)
        return;
    const tni_gguf_file *first = model->files;
    tn_model_info info = {
        .version = first->version,
        .key_count = first->key_count,
        .tensor_count = model->tensor_count,
        .alignment_bytes = first->alignment_bytes,
        .is_mapped = first->map.is_mapped,
        .path = model->path,
        .part_count = model->file_count,
        .problem_count = model->problem_count,
    };
    for (uint32_t i = 0; i < model->file_count; i++)
        info.file_bytes += model->files[i].bytes;
    tni_give_struct(out_info, &info, sizeof info);
}

// An index is UINT32_MAX when a name was looked up in vain.
static void give_key(const tn_model *model, uint32_t index, tn_model_key *out_key)
{
    tn_model_key key = { 0 };
    if (index < model->files->key_count) {
        const tni_gguf_key *found = &model->files->keys[index];
        key = (tn_model_key){ .type = found->type,
                              .element_type = found->element_type,
                              .count = found->count,
                              .name = found->name };
    }
    tni_give_struct(out_key, &key, sizeof key);
}

static void give_tensor(const tn_model *model, uint32_t index, tn_model_tensor *out_tensor)
{
    tn_model_tensor tensor = { 0 };
    if (index < model->tensor_count) {
        const tni_gguf_tensor *found = &model->tensors[index];
        tensor = (tn_model_tensor){ .dtype = found->dtype,
                                    .rank = found->rank,
                                    .part = found->file,
                                    .data = found->data,
                                    .bytes = found->bytes,
                                    .offset = found->offset,
                                    .name = found->name };
        for (uint32_t i = 0; i < TN_MAX_DIMS; i++)
            tensor.dims[i] = i < found->rank ? found->dims[i] : 1;
    }
    tni_give_struct(out_tensor, &tensor, sizeof tensor);
}

tn_status tn_model_part_at(const tn_model *model, uint32_t index, tn_model_part *out_part,
                           tn_error *err)
{
    tn_status status = tni_need(err, __func__, "model", model, "out_part", out_part, NULL);
    if (status == TN_OK)
        status = tni_check_size(out_part, __func__, "out_part", err);
    if (status != TN_OK)
        return status;
    tn_model_part part = { 0 };
    if (index < model->file_count) {
        const tni_gguf_file *file = &model->files[index];
        part = (tn_model_part){ .version = file->version,
                                .tensor_count = file->tensor_count,
                                .alignment_bytes = file->alignment_bytes,
                                .file_bytes = file->bytes,
                                .path = file->path };
    }
    tni_give_struct(out_part, &part, sizeof part);
    if (index < model->file_count)
        return TN_OK;
    return tni_fail(err, TN_E_NOT_FOUND, "%s: has no part %" PRIu32 ", there are %" PRIu32,
                    model->path, index, model->file_count);
}

tn_status tn_model_key_at(const tn_model *model, uint32_t index, tn_model_key *out_key,
                          tn_error *err)
{
    tn_status status = tni_need(err, __func__, "model", model, "out_key", out_key, NULL);
    if (status == TN_OK)
        status = tni_check_size(out_key, __func__, "out_key", err);
    if (status != TN_OK)
        return status;
    give_key(model, index, out_key);
    if (index < model->files->key_count)
        return TN_OK;
    return tni_fail(err, TN_E_NOT_FOUND, "%s: has no key %" PRIu32 ", there are %" PRIu32,
                    model->path, index, model->files->key_count);
}

tn_status tn_model_find_key(const tn_model *model, const char *name, tn_model_key *out_key,
                            tn_error *err)
{
    tn_status status = tni_need(err, __func__, "model", model, "name", name, "out_key", out_key,
                                NULL);
    if (status == TN_OK)
        status = tni_check_size(out_key, __func__, "out_key", err);
    if (status != TN_OK)
        return status;
    const uint32_t index = tni_gguf_names_find(&model->files->key_names, name);
    give_key(model, index, out_key);
    if (index < model->files->key_count)
        return TN_OK;
    return tni_fail(err, TN_E_NOT_FOUND, "%s: has no key '%.80s'", model->path, name);
}

tn_status tn_model_tensor_at(const tn_model *model, uint32_t index, tn_model_tensor *out_tensor,
                             tn_error *err)
{
    tn_status status = tni_need(err, __func__, "model", model, "out_tensor", out_tensor, NULL);
    if (status == TN_OK)
        status = tni_check_size(out_tensor, __func__, "out_tensor", err);
    if (status != TN_OK)
        return status;
    give_tensor(model, index, out_tensor);
    if (index < model->tensor_count)
        return TN_OK;
    return tni_fail(err, TN_E_NOT_FOUND, "%s: has no tensor %" PRIu32 ", there are %" PRIu32,
                    model->path, index, model->tensor_count);
}

tn_status tn_model_find_tensor(const tn_model *model, const char *name, tn_model_tensor *out_tensor,
                               tn_error *err)
{
    tn_status status = tni_need(err, __func__, "model", model, "name", name, "out_tensor",
                                out_tensor, NULL);
    if (status == TN_OK)
        status = tni_check_size(out_tensor, __func__, "out_tensor", err);
    if (status != TN_OK)
        return status;
    const uint32_t index = tni_gguf_names_find(&model->tensor_names, name);
    give_tensor(model, index, out_tensor);
    if (index < model->tensor_count)
        return TN_OK;
    return tni_fail(err, TN_E_NOT_FOUND, "%s: has no tensor '%.80s'", model->path, name);
}

// ------------------------------------------------------------------------------------------ values

// The key of that name, to be read at `index`; at: the call is for elements, else for single values
// only.
static tn_status find_value(const char *call, const tn_model *model, const char *name, bool at,
                            uint64_t index, const void *out, const tni_gguf_key **out_key,
                            tn_error *err)
{
    tn_status status = tni_need(err, call, "model", model, "name", name, "out", out, NULL);
    if (status != TN_OK)
        return status;
    const uint32_t found = tni_gguf_names_find(&model->files->key_names, name);
    if (found == UINT32_MAX)
        return tni_fail(err, TN_E_NOT_FOUND, "%s: has no key '%.80s'", model->path, name);
    const tni_gguf_key *key = &model->files->keys[found];
    if (!at && key->type == TN_KEY_ARRAY)
        return tni_fail(err, TN_E_FILE,
                        "%s: key '%.80s' is an array of %s, a single value was expected",
                        model->path, name, tni_gguf_key_type_name(key->element_type));
    if (index >= key->count)
        return tni_fail(err, TN_E_ARG,
                        "%s: key '%.80s' has no element %" PRIu64 ", there are %" PRIu64,
                        model->path, name, index, key->count);
    *out_key = key;
    return TN_OK;
}

static tn_status fail_value(const tn_model *model, const tni_gguf_key *key, uint64_t index,
                            const char *expected, tn_error *err)
{
    return tni_fail(
        err, TN_E_FILE,
        "%s: key '%.80s', element %" PRIu64 ", is of type %s and does not convert to %s",
        model->path, key->name, index, tni_gguf_key_type_name(key->element_type), expected);
}

static tn_status get_i64(const char *call, const tn_model *model, const char *name, bool at,
                         uint64_t index, int64_t *out, tn_error *err)
{
    const tni_gguf_key *key;
    tn_status status = find_value(call, model, name, at, index, out, &key, err);
    if (status != TN_OK)
        return status;
    if (tni_gguf_value_i64(key, index, out))
        return TN_OK;
    return fail_value(model, key, index, "a 64-bit integer", err);
}

static tn_status get_f64(const char *call, const tn_model *model, const char *name, bool at,
                         uint64_t index, double *out, tn_error *err)
{
    const tni_gguf_key *key;
    tn_status status = find_value(call, model, name, at, index, out, &key, err);
    if (status != TN_OK)
        return status;
    if (tni_gguf_value_f64(key, index, out))
        return TN_OK;
    return fail_value(model, key, index, "a number", err);
}

static tn_status get_bool(const char *call, const tn_model *model, const char *name, bool at,
                          uint64_t index, bool *out, tn_error *err)
{
    const tni_gguf_key *key;
    tn_status status = find_value(call, model, name, at, index, out, &key, err);
    if (status != TN_OK)
        return status;
    if (tni_gguf_value_bool(key, index, out))
        return TN_OK;
    return fail_value(model, key, index, "a truth value", err);
}

static tn_status get_string(const char *call, const tn_model *model, const char *name, bool at,
                            uint64_t index, const char **out_text, size_t *out_bytes, tn_error *err)
{
    const tni_gguf_key *key;
    tn_status status = tni_need(err, call, "out_text", out_text, NULL);
    if (status == TN_OK)
        status = find_value(call, model, name, at, index, out_text, &key, err);
    if (status != TN_OK)
        return status;
    if (tni_gguf_value_string(key, index, out_text, out_bytes))
        return TN_OK;
    return fail_value(model, key, index, "a string", err);
}

tn_status tn_model_get_i64(const tn_model *model, const char *name, int64_t *out, tn_error *err)
{
    return get_i64(__func__, model, name, false, 0, out, err);
}

tn_status tn_model_get_f64(const tn_model *model, const char *name, double *out, tn_error *err)
{
    return get_f64(__func__, model, name, false, 0, out, err);
}

tn_status tn_model_get_bool(const tn_model *model, const char *name, bool *out, tn_error *err)
{
    return get_bool(__func__, model, name, false, 0, out, err);
}

tn_status tn_model_get_string(const tn_model *model, const char *name, const char **out_text,
                              size_t *out_bytes, tn_error *err)
{
    return get_string(__func__, model, name, false, 0, out_text, out_bytes, err);
}

tn_status tn_model_get_i64_at(const tn_model *model, const char *name, uint64_t index, int64_t *out,
                              tn_error *err)
{
    return get_i64(__func__, model, name, true, index, out, err);
}

tn_status tn_model_get_f64_at(const tn_model *model, const char *name, uint64_t index, double *out,
                              tn_error *err)
{
    return get_f64(__func__, model, name, true, index, out, err);
}

tn_status tn_model_get_bool_at(const tn_model *model, const char *name, uint64_t index, bool *out,
                               tn_error *err)
{
    return get_bool(__func__, model, name, true, index, out, err);
}

tn_status tn_model_get_string_at(const tn_model *model, const char *name, uint64_t index,
                                 const char **out_text, size_t *out_bytes, tn_error *err)
{
    return get_string(__func__, model, name, true, index, out_text, out_bytes, err);
}
