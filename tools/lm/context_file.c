// context_file.c: the KV cache in a file.
#include "context.h"

#include "error.h"

#include <inttypes.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <tenon/lm.h>

enum { SAMPLE_BYTES = 64, KEY_BYTES = SHA256_DIGEST_STRING_LENGTH };

// A key for the model: hashing all weights would take longer than the prompts that a file saves. Of
// each tensor, name, type, shape, and three samples of its bytes; weights that were trained further
// differ there.
static void model_key(const tn_model *model, char key[KEY_BYTES])
{
    SHA2_CTX hash;
    tn_model_tensor t = { .size = sizeof t };
    SHA256Init(&hash);
    for (uint32_t i = 0; tn_model_tensor_at(model, i, &t, NULL) == TN_OK; i++) {
        SHA256Update(&hash, (const uint8_t *)t.name, strlen(t.name) + 1);
        SHA256Update(&hash, (const uint8_t *)&t.dtype, sizeof t.dtype);
        SHA256Update(&hash, (const uint8_t *)t.dims, sizeof t.dims);
        size_t sample = t.bytes < SAMPLE_BYTES ? (size_t)t.bytes : SAMPLE_BYTES;
        for (uint64_t part = 0; part <= 2; part++)
            SHA256Update(&hash, (const uint8_t *)t.data + (t.bytes - sample) / 2 * part, sample);
    }
    SHA256End(&hash, key);
}

tn_status tlm_context_save(tlm_context *context, const char *path, tn_error *err)
{
    char key[KEY_BYTES];
    tn_status status = tlm_need(err, __func__, "context", context, "path", path, NULL);
    if (status != TN_OK)
        return status;
    if (context->is_broken)
        return tlm_fail(err, TN_E_ARG,
                        "save: a device failed and the KV cache is lost: reset the context first");
    model_key(context->model, key);
    tn_state_extent filled = { .count = context->position };
    tn_save_options options = { .size = sizeof options,
                                .extents = &filled,
                                .extent_count = 1,
                                .key = key,
                                .note = context->ids,
                                .note_bytes = context->position * sizeof *context->ids };
    return tn_session_save(context->session, path, &options, err);
}

// Whoever made the file may have put ids beside states that do not hold them.
static tn_status check_ids(const tlm_context *c, const char *path, const tn_snapshot *snapshot,
                           tn_error *err)
{
    uint64_t bytes;
    const int32_t *ids = tn_snapshot_note(snapshot, &bytes);
    uint64_t count = bytes / sizeof *ids;
    int64_t held = tn_snapshot_extent(snapshot, NULL);
    bool fits = bytes % sizeof *ids == 0 && count <= c->capacity;
    for (uint64_t i = 0; i < count && fits; i++)
        fits = ids[i] >= 0 && ids[i] < c->hparams.vocabulary;
    if (!fits)
        return tlm_fail(err, TN_E_DATA, "%s: holds ids that do not fit the model", path);
    return held >= 0 && (uint64_t)held == count
               ? TN_OK
               : tlm_fail(err, TN_E_DATA,
                          "%s: holds %" PRIu64 " ids beside a KV cache that is not of so many",
                          path, count);
}

static tn_status restore(tlm_context *c, const char *path, const tn_snapshot *snapshot,
                         tn_error *err)
{
    char key[KEY_BYTES];
    uint64_t bytes;
    const int32_t *ids = tn_snapshot_note(snapshot, &bytes);
    model_key(c->model, key);
    tn_status status = check_ids(c, path, snapshot, err);
    if (status == TN_OK)
        status = tn_session_restore(c->session, snapshot, key, err);
    if (status == TN_E_GRAPH)
        return tlm_fail(err, status,
                        "%s: is of another model, or of another size or type of KV cache, or of "
                        "one that is divided over devices otherwise",
                        path);
    if (status != TN_OK) {
        c->is_broken |= status != TN_E_DATA;
        return status;
    }
    memcpy(c->ids, ids, bytes);
    c->position = (uint32_t)(bytes / sizeof *ids);
    c->run_count = 0;
    c->is_broken = false;
    return tlm_succeed(err);
}

tn_status tlm_context_load(tlm_context *context, const char *path, tn_error *err)
{
    tn_snapshot *snapshot = NULL;
    tn_status status = tlm_need(err, __func__, "context", context, "path", path, NULL);
    if (status == TN_OK)
        status = tn_snapshot_open(path, &context->allocator, &snapshot, err);
    if (status == TN_OK)
        status = restore(context, path, snapshot, err);
    tn_snapshot_close(snapshot);
    return status;
}
