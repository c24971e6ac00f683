// save.c: the states of a session to a file.
#include <inttypes.h>
#include <sha2.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/new_file.h"
#include "base/options.h"
#include "exec/snapshot.h"

enum { PIECE_BYTES = 1 << 20 };   // of a state that the host cannot read in place

typedef struct saving {
    tn_session *session;
    const tn_save_options *options;
    const char *key;
    int64_t *counts;   // by state
    void *piece;       // NULL until it is needed
    SHA2_CTX hash;
    tni_new_file file;
} saving;

// Of the dim that an extent counts.
static int64_t last_dim(const tni_state *state)
{
    return state->dims[state->rank ? state->rank - 1 : 0];
}

uint64_t tni_state_part_bytes(const tni_state *state, int64_t count)
{
    int64_t most = last_dim(state);
    if (count < 0 || count > most)
        return UINT64_MAX;
    if (count == 0 || state->rank > 1)
        return count ? state->bytes / (uint64_t)most * (uint64_t)count : 0;
    uint64_t bytes = tn_dtype_bytes(state->dtype, count);
    return bytes ? bytes : UINT64_MAX;
}

static tn_status take_extent(saving *s, const tn_state_extent *extent, tn_error *err)
{
    bool is_there = !extent->state;
    for (uint32_t i = 0; i < s->session->state_count; i++) {
        const tni_state *state = &s->session->states[i];
        if (extent->state && strcmp(extent->state, state->name) != 0)
            continue;
        if (tni_state_part_bytes(state, extent->count) == UINT64_MAX)
            return tni_fail(err, TN_E_ARG,
                            "tn_session_save: state '%s' has %" PRId64 " in its last dim, the "
                            "first %" PRId64 " are asked for",
                            state->name, last_dim(state), extent->count);
        s->counts[i] = extent->count;
        is_there = true;
    }
    return is_there ? TN_OK
                    : tni_fail(err, TN_E_ARG, "tn_session_save: the session has no state '%s'",
                               extent->state);
}

static tn_status take_extents(saving *s, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < s->session->state_count; i++)
        s->counts[i] = last_dim(&s->session->states[i]);
    for (uint32_t i = 0; i < s->options->extent_count && status == TN_OK; i++)
        status = take_extent(s, &s->options->extents[i], err);
    return status;
}

static tn_status put(saving *s, const void *data, uint64_t bytes, tn_error *err)
{
    static const unsigned char zeros[TNI_SNAPSHOT_ALIGNMENT];
    uint64_t padding = -bytes % TNI_SNAPSHOT_ALIGNMENT;
    SHA256Update(&s->hash, data, bytes);
    SHA256Update(&s->hash, zeros, padding);
    tn_status status = tni_new_file_write(&s->file, data, bytes, err);
    return status == TN_OK ? tni_new_file_write(&s->file, zeros, padding, err) : status;
}

// Pieces are multiples of the alignment, but for the last.
static tn_status put_state(saving *s, tni_state *state, uint64_t bytes, tn_error *err)
{
    if (state->map)
        return put(s, state->map, bytes, err);
    if (bytes && !s->piece && !(s->piece = tni_alloc(&s->session->arena.allocator, PIECE_BYTES)))
        return tni_fail_memory(err, "saving states", PIECE_BYTES);
    tn_status status = TN_OK;
    for (uint64_t done = 0, piece; done < bytes && status == TN_OK; done += piece) {
        piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
        status = tni_state_read(s->session, state, s->piece, done, piece, err);
        if (status == TN_OK)
            status = put(s, s->piece, piece, err);
    }
    return status;
}

static uint64_t padded(uint64_t bytes)
{
    return bytes + -bytes % TNI_SNAPSHOT_ALIGNMENT;
}

// Sums of what is in memory already cannot wrap.
static uint64_t file_bytes(const saving *s)
{
    const tn_session *session = s->session;
    uint64_t bytes = sizeof(tni_snapshot_header) + padded(strlen(s->key)) +
                     padded(s->options->note_bytes) + TNI_SNAPSHOT_HASH_BYTES;
    for (uint32_t i = 0; i < session->state_count; i++)
        bytes += sizeof(tni_snapshot_entry) + padded(strlen(session->states[i].name)) +
                 padded(tni_state_part_bytes(&session->states[i], s->counts[i]));
    return bytes;
}

static tn_status put_all(saving *s, tn_error *err)
{
    tn_session *session = s->session;
    tni_snapshot_header header = { .version = TNI_SNAPSHOT_VERSION,
                                   .state_count = session->state_count,
                                   .file_bytes = file_bytes(s),
                                   .graphs = session->fingerprint,
                                   .key_bytes = strlen(s->key),
                                   .note_bytes = s->options->note_bytes };
    memcpy(header.magic, TNI_SNAPSHOT_MAGIC, sizeof header.magic);
    tn_status status = put(s, &header, sizeof header, err);
    if (status == TN_OK)
        status = put(s, s->key, header.key_bytes, err);
    if (status == TN_OK && header.note_bytes)
        status = put(s, s->options->note, header.note_bytes, err);
    for (uint32_t i = 0; i < session->state_count && status == TN_OK; i++) {
        const tni_state *state = &session->states[i];
        tni_snapshot_entry entry = { .dtype = state->dtype,
                                     .rank = state->rank,
                                     .count = s->counts[i],
                                     .bytes = tni_state_part_bytes(state, s->counts[i]),
                                     .name_bytes = strlen(state->name) };
        memcpy(entry.dims, state->dims, sizeof entry.dims);
        status = put(s, &entry, sizeof entry, err);
        if (status == TN_OK)
            status = put(s, state->name, entry.name_bytes, err);
    }
    for (uint32_t i = 0; i < session->state_count && status == TN_OK; i++)
        status = put_state(s, &session->states[i],
                           tni_state_part_bytes(&session->states[i], s->counts[i]), err);
    unsigned char hash[TNI_SNAPSHOT_HASH_BYTES];
    SHA256Final(hash, &s->hash);
    return status == TN_OK ? tni_new_file_write(&s->file, hash, sizeof hash, err) : status;
}

// What is asked for.
typedef struct request {
    const char *path;
    tn_save_options options;
} request;

static tn_status save(tn_session *session, tni_attempt *attempt, tn_error *err)
{
    const char *path = ((const request *)attempt->arguments)->path;
    const tn_save_options *options = &((const request *)attempt->arguments)->options;
    const tn_allocator *allocator = &session->arena.allocator;
    saving s = { .session = session, .options = options, .key = options->key ? options->key : "" };
    tn_status status;
    s.counts = tni_alloc_zeroed(allocator, session->state_count, sizeof *s.counts);
    if (!s.counts)
        return tni_fail_memory(err, "saving states", session->state_count * sizeof *s.counts);
    SHA256Init(&s.hash);
    status = take_extents(&s, err);
    if (status == TN_OK)
        status = tni_new_file_open(&s.file, path, TNI_SNAPSHOT_MAGIC, strlen(TNI_SNAPSHOT_MAGIC),
                                   "a snapshot", err);
    if (status == TN_OK) {
        status = put_all(&s, err);
        if (status == TN_OK)
            status = tni_new_file_finish(&s.file, err);
        tni_new_file_drop(&s.file);
    }
    tni_free(allocator, s.piece);
    tni_free(allocator, s.counts);
    return status;
}

tn_status tn_session_save(tn_session *session, const char *path, const tn_save_options *given,
                          tn_error *err)
{
    request asked = { .path = path };
    tni_attempt attempt = { .call = save, .arguments = &asked };
    const tn_save_options *options = &asked.options;
    tn_status status = tni_need(err, __func__, "session", session, "path", path, NULL);
    if (status == TN_OK)
        status = tni_take_options(&asked.options, sizeof asked.options,
                                  TNI_UP_TO(tn_save_options, note_bytes), given, "tn_session_save",
                                  err);
    if (status != TN_OK)
        return status;
    if ((options->note_bytes && !options->note) || (options->extent_count && !options->extents))
        return tni_fail(err, TN_E_ARG, "tn_session_save: no note or extents are given");
    return tni_failover_attempt(session, &attempt, err);
}
