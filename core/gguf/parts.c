// parts.c: a model in several files: NAME-00001-of-00003.gguf and its like. The keys stand in the
// first, the tensors in all; each file says in split.no, split.count and split.tensors.count which
// part of how many it is.
#include "gguf/gguf_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

// "-00001-of-00003.gguf": both numbers have five digits.
enum { SUFFIX_BYTES = 20, MOST_PARTS = 99999 };

static bool is_number(const char *text)
{
    return strspn(text, "0123456789") == 5;
}

// The path of a part, from that of any; NULL: no memory. false in *out_is_named: this path is not
// named as one of so many parts, and the answer only a pattern to show.
static const char *path_of(tn_model *model, const char *path, int64_t part, int64_t count,
                           bool *out_is_named)
{
    char suffix[64];
    const size_t bytes = strlen(path);
    const char *end = bytes >= SUFFIX_BYTES ? path + bytes - SUFFIX_BYTES : NULL;
    snprintf(suffix, sizeof suffix, "-of-%05" PRId64 ".gguf", count);
    *out_is_named = end && *end == '-' && is_number(end + 1) && !strcmp(end + 6, suffix);
    snprintf(suffix, sizeof suffix, "-%05" PRId64 "-of-%05" PRId64 ".gguf", part + 1, count);
    const char *name = *out_is_named ? path : "NAME";
    const size_t kept = *out_is_named ? bytes - SUFFIX_BYTES : strlen(name);
    char *made = tni_arena_take(&model->arena, kept + strlen(suffix) + 1);
    if (made) {
        memcpy(made, name, kept);
        strcpy(made + kept, suffix);
    }
    return made;
}

static tn_status fail_path(const tn_model *model, tn_error *err)
{
    return tni_fail_memory(err, "the path of a part", strlen(model->path) + SUFFIX_BYTES + 1);
}

tn_status tni_gguf_expect_first_part(tn_model *model, tni_gguf_file *file, tn_error *err)
{
    tni_gguf_cursor at = { .path = file->path };
    if (file->part_count == 0) {   // what merging leaves
        file->part = 0;
        file->part_count = 1;
    }
    const int64_t part = file->part, count = file->part_count;
    if (count < 1 || count > MOST_PARTS || part < 0 || part >= count) {
        file->part_count = 1;
        return tni_gguf_complain(model, &at, err,
                                 "split.no is %" PRId64 " and split.count %" PRId64
                                 ": no such part of a model",
                                 part, count);
    }
    if (part == 0)
        return TN_OK;
    bool is_named;
    const char *first = path_of(model, file->path, 0, count, &is_named);
    file->part_count = 1;
    if (!first)
        return fail_path(model, err);
    return tni_gguf_complain(model, &at, err,
                             "is part %" PRId64 " of %" PRId64
                             " of a model; open its first part, %s, with all parts beside it",
                             part + 1, count, first);
}

// ------------------------------------------------------------------------------- one further part

static bool is_same_value(const tni_gguf_key *a, const tni_gguf_key *b)
{
    if (a->type != b->type || a->element_type != b->element_type || a->count != b->count)
        return false;
    if (a->texts)
        return !memcmp(a->starts, b->starts, (a->count + 1) * sizeof *a->starts) &&
               !memcmp(a->texts, b->texts, a->starts[a->count]);
    return !memcmp(a->values, b->values, a->count * tni_gguf_key_type_bytes(a->element_type));
}

// Metadata is that of the first file; a part that says otherwise belongs to another model. Each
// file has the alignment that it says itself.
static tn_status compare_keys(tn_model *model, const tni_gguf_file *file, tn_error *err)
{
    const tni_gguf_file *first = model->files;
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < file->key_count && status == TN_OK; i++) {
        const tni_gguf_key *key = &file->keys[i];
        const uint32_t index = tni_gguf_names_find(&first->key_names, key->name);
        if (index == UINT32_MAX || !strncmp(key->name, "split.", strlen("split.")) ||
            !strcmp(key->name, "general.alignment") || is_same_value(key, &first->keys[index]))
            continue;
        tni_gguf_cursor at = {
            .path = file->path, .entry = "key", .entry_index = i, .entry_name = key->name
        };
        status = tni_gguf_complain(
            model, &at, err, "differs from that of %s: are they parts of one model?", first->path);
    }
    return status;
}

static tn_status check_part(tn_model *model, const tni_gguf_file *file, int64_t part, tn_error *err)
{
    const tni_gguf_file *first = model->files;
    tni_gguf_cursor at = { .path = file->path };
    if (file->part_count != first->part_count)
        return tni_gguf_complain(model, &at, err,
                                 "split.count is %" PRId64 ", but %s says %" PRId64
                                 ": they are parts of different models",
                                 file->part_count, first->path, first->part_count);
    if (file->part != part)
        return tni_gguf_complain(model, &at, err,
                                 "split.no is %" PRId64 ", but by its name it is %" PRId64
                                 ": it was renamed, or another part copied over it",
                                 file->part, part);
    return compare_keys(model, file, err);
}

static tn_status add_part(tn_model *model, int64_t part, bool is_copied, tn_error *err)
{
    bool is_named;
    tn_error problem = { 0 };
    const int64_t count = model->files->part_count;
    const char *path = path_of(model, model->files->path, part, count, &is_named);
    if (!path)
        return fail_path(model, err);
    tn_status status = tni_gguf_add_file(model, path, is_copied, &problem);
    if (status == TN_OK)
        return check_part(model, &model->files[model->file_count - 1], part, err);
    // Its message begins with the path of this part.
    status = tni_fail(err, status, "%s (part %" PRId64 " of %" PRId64 " of the model)",
                      problem.text, part + 1, count);
    return tni_gguf_keep(model, status, err);
}

// --------------------------------------------------------------------------------------- together

static tn_status join_tensors(tn_model *model, tn_error *err)
{
    uint64_t total = 0;
    for (uint32_t f = 0; f < model->file_count; f++)
        total += model->files[f].tensor_count;
    if (total > TNI_GGUF_MAX_ENTRIES)
        return tni_fail(err, TN_E_FILE,
                        "%s: its parts have %" PRIu64 " tensors, at most %d are "
                        "allowed",
                        model->path, total, TNI_GGUF_MAX_ENTRIES);
    const uint32_t count = (uint32_t)total;
    model->tensors = tni_arena_take_array(&model->arena, count, sizeof *model->tensors);
    if (!model->tensors || !tni_gguf_names_reserve(&model->tensor_names, count, &model->arena))
        return tni_fail_memory(err, "tensors", count * sizeof *model->tensors);
    for (uint32_t f = 0; f < model->file_count; f++)
        for (uint32_t i = 0; i < model->files[f].tensor_count; i++) {
            const uint32_t at = model->tensor_count++;
            model->tensors[at] = model->files[f].tensors[i];
            model->tensor_names.names[at] = model->tensors[at].name;
        }
    tni_gguf_names_sort(&model->tensor_names);
    return TN_OK;
}

static tn_status refuse_tensors_of_two_files(tn_model *model, tn_error *err)
{
    tn_status status = TN_OK;
    uint32_t at = 0, twice;
    while (status == TN_OK &&
           (twice = tni_gguf_names_duplicate(&model->tensor_names, &at)) != UINT32_MAX) {
        const uint32_t other = model->tensor_names.sorted[at] == twice
                                   ? model->tensor_names.sorted[at - 1]
                                   : model->tensor_names.sorted[at];
        const tni_gguf_tensor *a = &model->tensors[other], *b = &model->tensors[twice];
        tni_gguf_cursor place = { .path = model->files[b->file].path };
        if (a->file != b->file)   // else told when that file was read
            status = tni_gguf_complain(model, &place, err,
                                       "tensor '%.80s' comes twice: it is also in %s", b->name,
                                       model->files[a->file].path);
    }
    return status;
}

static tn_status check_total(tn_model *model, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t f = 0; f < model->file_count && status == TN_OK; f++) {
        const tni_gguf_file *file = &model->files[f];
        tni_gguf_cursor at = { .path = file->path };
        if (file->part_tensors >= 0 && file->part_tensors != model->tensor_count)
            status = tni_gguf_complain(
                model, &at, err,
                "split.tensors.count is %" PRId64 ", but the file%s %" PRIu32 " tensors",
                file->part_tensors, model->file_count > 1 ? "s together have" : " has",
                model->tensor_count);
    }
    return status;
}

tn_status tni_gguf_add_parts(tn_model *model, bool is_copied, tn_error *err)
{
    const int64_t count = model->files->part_count;
    tni_gguf_cursor at = { .path = model->path };
    bool is_named = true, is_complete = model->files->is_whole;
    tn_status status = TN_OK;
    if (count > 1 && !path_of(model, model->path, 0, count, &is_named))
        return fail_path(model, err);
    if (count > 1 && model->is_lent)
        status = tni_gguf_complain(model, &at, err,
                                   "is part 1 of %" PRId64
                                   " of a model; the other parts are found beside a file only",
                                   count);
    else if (!is_named)
        status = tni_gguf_complain(model, &at, err,
                                   "is part 1 of %" PRId64
                                   " of a model, but its name does not end in -00001-of-%05" PRId64
                                   ".gguf: rename it, so that the other parts are found",
                                   count, count);
    is_complete = is_complete && !at.is_bad;
    for (int64_t part = 1; part < count && !at.is_bad && status == TN_OK &&
                           model->problem_count < TNI_GGUF_MOST_PROBLEMS;
         part++)
        status = add_part(model, part, is_copied, err);
    for (uint32_t f = 0; f < model->file_count; f++)
        is_complete = is_complete && model->files[f].is_whole;
    if (status == TN_OK)
        status = join_tensors(model, err);
    if (status == TN_OK)
        status = refuse_tensors_of_two_files(model, err);
    if (status == TN_OK && is_complete && model->file_count == count)
        status = check_total(model, err);
    return status;
}
