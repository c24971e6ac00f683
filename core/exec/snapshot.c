// snapshot.c: a file with states, read and checked as a whole before any of it is used, and states
// set from it.
#include <inttypes.h>
#include <sha2.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file_map.h"
#include "base/integer.h"
#include "exec/snapshot.h"

typedef struct part {   // one state in the file
    const tni_snapshot_entry *entry;
    const char *name;   // without a NUL
    const unsigned char *bytes;
} part;

struct tn_snapshot {
    tn_allocator allocator;
    atomic_uint uses;   // by the application and by sessions that begin with it
    char *path;
    tni_file_map file;   // read: a mapped file could change after it was checked
    const tni_snapshot_header *header;
    const char *key;   // without a NUL
    const void *note;
    part *parts;
};

// -------------------------------------------------------------------------------------------- open

static tn_status fail_damaged(const char *path, const char *why, tn_error *err)
{
    return tni_fail(err, TN_E_DATA, "%s: the snapshot is damaged: %s", path, why);
}

// What the first bytes tell, before the whole is read.
static tn_status check_head(const char *path, tni_snapshot_header *header, tn_error *err)
{
    size_t got;
    uint64_t file_bytes;
    tn_status status = tni_file_head(path, header, sizeof *header, &got, &file_bytes, err);
    if (status != TN_OK)
        return status;
    if (got < sizeof header->magic ||
        memcmp(header->magic, TNI_SNAPSHOT_MAGIC, sizeof header->magic) != 0)
        return tni_fail(err, TN_E_FILE, "%s: is no snapshot of states", path);
    if (got < sizeof *header)
        return tni_fail(err, TN_E_DATA, "%s: the snapshot is cut, it has %zu bytes", path, got);
    if (header->version != TNI_SNAPSHOT_VERSION)
        return tni_fail(err, TN_E_VERSION,
                        "%s: the snapshot has version %" PRIu32 ", this release reads %d", path,
                        header->version, TNI_SNAPSHOT_VERSION);
    if (file_bytes != header->file_bytes ||
        header->file_bytes < sizeof *header + TNI_SNAPSHOT_HASH_BYTES)
        return tni_fail(err, TN_E_DATA,
                        "%s: the snapshot is damaged: it has %" PRIu64 " bytes, %" PRIu64
                        " were written",
                        path, file_bytes, header->file_bytes);
    return TN_OK;
}

static tn_status read_file(tn_snapshot *s, const char *path, tn_error *err)
{
    tni_snapshot_header header;
    tn_status status = check_head(path, &header, err);
    if (status == TN_OK)
        status = tni_file_map_open(&s->file, path, true, header.file_bytes, &s->allocator, err);
    if (status != TN_OK)
        return status;
    if (s->file.bytes != header.file_bytes || memcmp(&header, s->file.data, sizeof header) != 0)
        return fail_damaged(path, "it changes while it is read", err);
    unsigned char hash[TNI_SNAPSHOT_HASH_BYTES];
    SHA2_CTX sha;
    size_t hashed = s->file.bytes - sizeof hash;
    SHA256Init(&sha);
    SHA256Update(&sha, s->file.data, hashed);
    SHA256Final(hash, &sha);
    if (memcmp(hash, s->file.data + hashed, sizeof hash) != 0)
        return fail_damaged(path, "its SHA-256 is not that of its content", err);
    return TN_OK;
}

// The next `bytes` bytes, NULL when the file has not so many. *at goes on behind the padding.
static const void *take(const tn_snapshot *s, uint64_t *at, uint64_t bytes)
{
    uint64_t begin = *at, end, limit = s->file.bytes - TNI_SNAPSHOT_HASH_BYTES;
    if (!tni_add_u64(begin, bytes, &end) || !tni_align_u64(end, TNI_SNAPSHOT_ALIGNMENT, &end) ||
        end > limit)
        return NULL;
    *at = end;
    return s->file.data + begin;
}

// A file whose hash fits may still have been made to harm.
static tn_status find_parts(tn_snapshot *s, const char *path, tn_error *err)
{
    uint64_t at = 0;
    bool is_whole = (s->header = take(s, &at, sizeof *s->header)) &&
                    (s->key = take(s, &at, s->header->key_bytes)) &&
                    (s->note = take(s, &at, s->header->note_bytes)) &&
                    s->header->state_count <= s->file.bytes / sizeof(tni_snapshot_entry);
    if (!is_whole)
        return fail_damaged(path, "a part of it ends outside of it", err);
    s->parts = tni_alloc_zeroed(&s->allocator, s->header->state_count, sizeof *s->parts);
    if (!s->parts)
        return tni_fail_memory(err, "a snapshot", s->header->state_count * sizeof *s->parts);
    for (uint32_t i = 0; i < s->header->state_count && is_whole; i++)
        is_whole = (s->parts[i].entry = take(s, &at, sizeof *s->parts[i].entry)) &&
                   (s->parts[i].name = take(s, &at, s->parts[i].entry->name_bytes));
    for (uint32_t i = 0; i < s->header->state_count && is_whole; i++)
        is_whole = (s->parts[i].bytes = take(s, &at, s->parts[i].entry->bytes)) != NULL;
    return is_whole ? TN_OK : fail_damaged(path, "a part of it ends outside of it", err);
}

tn_status tn_snapshot_open(const char *path, const tn_allocator *given, tn_snapshot **out_snapshot,
                           tn_error *err)
{
    if (out_snapshot)
        *out_snapshot = NULL;
    tn_status status = tni_need(err, __func__, "path", path, "out_snapshot", out_snapshot, NULL);
    if (status == TN_OK)
        status = tni_check_allocator(given, __func__, err);
    if (status != TN_OK)
        return status;
    tn_allocator allocator = tni_allocator(given);
    tn_snapshot *s = tni_alloc_zeroed(&allocator, 1, sizeof *s);
    if (!s)
        return tni_fail_memory(err, "a snapshot", sizeof *s);
    s->allocator = s->file.allocator = allocator;
    atomic_init(&s->uses, 1);
    s->path = tni_alloc_text(&allocator, path);
    status = s->path ? read_file(s, path, err) : tni_fail_memory(err, "a snapshot", strlen(path));
    if (status == TN_OK)
        status = find_parts(s, path, err);
    if (status != TN_OK) {
        tn_snapshot_close(s);
        return status;
    }
    *out_snapshot = s;
    return TN_OK;
}

void tni_snapshot_retain(tn_snapshot *snapshot)
{
    atomic_fetch_add(&snapshot->uses, 1);
}

void tn_snapshot_close(tn_snapshot *snapshot)
{
    if (!snapshot || atomic_fetch_sub(&snapshot->uses, 1) > 1)
        return;
    tn_allocator allocator = snapshot->allocator;
    tni_file_map_close(&snapshot->file);
    tni_free(&allocator, snapshot->parts);
    tni_free(&allocator, snapshot->path);
    tni_free(&allocator, snapshot);
}

const void *tn_snapshot_note(const tn_snapshot *snapshot, uint64_t *out_bytes)
{
    if (out_bytes)
        *out_bytes = snapshot ? snapshot->header->note_bytes : 0;
    return snapshot ? snapshot->note : NULL;
}

static bool is_text(const char *bytes, uint64_t count, const char *text)
{
    return strlen(text) == count && memcmp(bytes, text, count) == 0;
}

int64_t tn_snapshot_extent(const tn_snapshot *snapshot, const char *state)
{
    int64_t extent = -1;
    for (uint32_t i = 0; snapshot && i < snapshot->header->state_count; i++) {
        const part *p = &snapshot->parts[i];
        if (state && !is_text(p->name, p->entry->name_bytes, state))
            continue;
        if (extent >= 0 && extent != p->entry->count)
            return -1;
        extent = p->entry->count;
    }
    return extent;
}

// ----------------------------------------------------------------------------------------- restore

static const part *find_part(const tn_snapshot *s, const tni_state *state)
{
    for (uint32_t i = 0; i < s->header->state_count; i++) {
        const part *p = &s->parts[i];
        if (is_text(p->name, p->entry->name_bytes, state->name) &&
            p->entry->dtype == state->dtype && p->entry->rank == state->rank &&
            memcmp(p->entry->dims, state->dims, sizeof state->dims) == 0 &&
            p->entry->bytes == tni_state_part_bytes(state, p->entry->count))
            return p;
    }
    return NULL;
}

static tn_status check_fit(const tn_session *session, const tn_snapshot *s, const char *key,
                           tn_error *err)
{
    const char *path = s->path;
    if (s->header->graphs != session->fingerprint || s->header->state_count != session->state_count)
        return tni_fail(err, TN_E_GRAPH,
                        "%s: the snapshot is of other graphs than those of the session", path);
    if (!is_text(s->key, s->header->key_bytes, key))
        return tni_fail(err, TN_E_GRAPH, "%s: the snapshot was saved with another key", path);
    for (uint32_t i = 0; i < session->state_count; i++)
        if (!find_part(s, &session->states[i]))
            return tni_fail(err, TN_E_GRAPH, "%s: the snapshot has no state '%s' of these dims",
                            path, session->states[i].name);
    return TN_OK;
}

static tn_status set_state(tn_session *session, tni_state *state, const part *p, tn_error *err)
{
    tn_status status = tni_state_write(session, state, p->bytes, p->entry->bytes, err);
    return status == TN_OK ? tni_state_clear(session, state, p->entry->bytes, err) : status;
}

tn_status tni_snapshot_set(tn_session *session, const tn_snapshot *snapshot, tn_error *err)
{
    tn_status status = TN_OK;
    for (uint32_t i = 0; i < session->state_count && status == TN_OK; i++)
        status = set_state(session, &session->states[i], find_part(snapshot, &session->states[i]),
                           err);
    return status;
}

static tn_status restore(tn_session *session, tni_attempt *attempt, tn_error *err)
{
    const tn_snapshot *snapshot = attempt->arguments;
    attempt->is_run = true;
    tni_journal_begin_at(session, snapshot);
    return tni_snapshot_set(session, snapshot, err);
}

tn_status tn_session_restore(tn_session *session, const tn_snapshot *snapshot, const char *key,
                             tn_error *err)
{
    tn_status status = tni_need(err, __func__, "session", session, "snapshot", snapshot, NULL);
    if (status == TN_OK)
        status = check_fit(session, snapshot, key ? key : "", err);
    tni_attempt attempt = { .call = restore, .arguments = (tn_snapshot *)snapshot };
    return status == TN_OK ? tni_failover_attempt(session, &attempt, err) : status;
}
