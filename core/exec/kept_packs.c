// kept_packs.c: packs in a file of the user's cache, for the next process.
//
// A file has the packs of one program that no session had when it was bound. It is called by all
// that says what is in it: the plugin, and of each pack the layout, the value, and which bytes of
// which state of the model's file it is made of. So only weights of a mapped file are kept, and a
// model that was changed has another name for its packs.
//
// Packs are not made into memory and then written: they go to the file some MiB at a time, and are
// mapped from it, in this process as in later ones.
#include <errno.h>
#include <sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/map_guard.h"
#include "exec/hang.h"
#include "exec/pack_file.h"
#include "exec/session.h"
#include "plugin/cache.h"

const char tni_kept_packs_folder[] = "packs";

typedef struct keeping {
    tn_session *session;
    const tn_graph *graph;
    tni_lane *lane;
    tni_kept_packs *kept;
    const tn_allocator *allocator;   // of the runtime: a file is there for all sessions
    char path[TNI_CACHE_PATH_BYTES];
    tni_pack_file_key key;
} keeping;

static const tni_storage *storage_of(const tn_graph *graph, const tni_pack *pack)
{
    return &graph->storages[graph->values[pack->value].storage];
}

static const unsigned char *bytes_of(const tn_graph *graph, const tni_pack *pack)
{
    return graph->values[storage_of(graph, pack)->owner].data;
}

static bool find_source(const tn_graph *graph, const tni_pack *pack, tni_file_stamp *stamp,
                        uint64_t *offset)
{
    return tni_map_guard_file_of(bytes_of(graph, pack), storage_of(graph, pack)->bytes, stamp,
                                 offset);
}

// ---------------------------------------------------------------------------------------- the list

static const tni_kept_pack *listed(const tni_kept_packs *kept, const tni_resident_key *key)
{
    for (uint32_t i = 0; i < kept->count; i++)
        if (tni_resident_key_is_same(&kept->list[i].key, key))
            return &kept->list[i];
    return NULL;
}

const tni_kept_pack *tni_kept_packs_find(const tni_kept_packs *kept, const tni_resident_key *key)
{
    return kept->file ? listed(kept, key) : NULL;
}

bool tni_kept_packs_add(tn_session *session, const tn_graph *graph, const tni_resident_key *key,
                        const tni_pack *pack, tni_kept_packs *kept)
{
    tni_kept_pack new = { .key = *key, .pack = pack };
    uint64_t end;
    if (!tni_runtime_pack_cache_bytes(session->runtime) || key->run_bytes || !pack->bytes)
        return false;
    if (listed(kept, key))
        return true;
    if (!find_source(graph, pack, &new.stamp, &new.source_offset) ||
        !tni_align_u64(kept->bytes, TNI_PACK_FILE_HEAD, &new.offset) ||
        !tni_add_u64(new.offset, pack->bytes, &end))
        return false;
    if (kept->is_short || !tni_grow(&session->arena.allocator, &kept->list, &kept->capacity,
                                    kept->count + 1, sizeof *kept->list)) {
        kept->is_short = true;
        return false;
    }
    kept->list[kept->count++] = new;
    kept->bytes = end;
    return true;
}

// ----------------------------------------------------------------------------------------- the key

static void add_number(SHA2_CTX *sha, uint64_t number)
{
    SHA256Update(sha, (const uint8_t *)&number, sizeof number);
}

static void add_text(SHA2_CTX *sha, const char *text)
{
    SHA256Update(sha, (const uint8_t *)text, strlen(text) + 1);
}

static void add_time(SHA2_CTX *sha, const struct timespec *time)
{
    add_number(sha, (uint64_t)time->tv_sec);
    add_number(sha, (uint64_t)time->tv_nsec);
}

static void add_pack(SHA2_CTX *sha, const tn_graph *graph, const tni_kept_pack *kept)
{
    const tni_pack *pack = kept->pack;
    const tni_value *value = &graph->values[pack->value];
    const uint64_t numbers[] = {
        pack->layout, pack->group_rows,   pack->group_bytes, pack->bytes,
        value->dtype, value->rank,        value->offset,     kept->source_offset,
        kept->offset, kept->stamp.device, kept->stamp.inode, kept->stamp.bytes,
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        add_number(sha, numbers[i]);
    for (uint32_t d = 0; d < TNP_MAX_DIMS; d++) {
        add_number(sha, (uint64_t)value->dims[d]);
        add_number(sha, (uint64_t)value->strides[d]);
    }
    add_time(sha, &kept->stamp.modified);
    add_time(sha, &kept->stamp.changed);
}

// The plugin's file beside its version: while one is written its version mostly stays.
static bool find_path(keeping *k)
{
    char digits[2 * TNI_PACK_FILE_KEY + 1];
    SHA2_CTX sha;
    SHA256Init(&sha);
    add_text(&sha, k->lane->device->plugin);
    add_text(&sha, tni_device_plugin_version(k->lane->device));
    add_text(&sha, tni_device_plugin_hash(k->lane->device));
    for (uint32_t i = 0; i < k->kept->count; i++)
        add_pack(&sha, k->graph, &k->kept->list[i]);
    SHA256Final(k->key.bytes, &sha);
    for (uint32_t i = 0; i < TNI_PACK_FILE_KEY; i++)
        tni_format_text(digits + 2 * i, 3, "%02x", (unsigned)k->key.bytes[i]);
    return tni_cache_path(tni_kept_packs_folder, digits, k->path);
}

// ---------------------------------------------------------------------------------------- the file

static uint64_t most_of_a_group(const keeping *k)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < k->kept->count; i++)
        if (k->kept->list[i].pack->group_bytes > most)
            most = k->kept->list[i].pack->group_bytes;
    return most;
}

// A group of each pack, made again: whatever else is true of the file, these are the plugin's of
// these weights. Errors: TN_E_FILE, TN_E_HOST_MEMORY.
static tn_status check_packs(const keeping *k, const unsigned char *packs, tn_error *err)
{
    const uint64_t most = most_of_a_group(k);
    unsigned char *group = tni_alloc(k->allocator, most);
    tn_status status = group ? TN_OK : tni_fail_memory(err, "packs", most);
    for (uint32_t i = 0; i < k->kept->count && status == TN_OK; i++) {
        const tni_kept_pack *kept = &k->kept->list[i];
        const uint64_t each = kept->pack->group_bytes;
        tni_packing p;
        tnp_error ignored = tni_plugin_error();
        tni_packing_init(&p, k->lane, k->graph, kept->pack, bytes_of(k->graph, kept->pack));
        const uint64_t at = i * UINT64_C(2654435761) % p.groups;   // elsewhere in each
        memset(group, 0, each);
        if (k->lane->table->pack(k->lane->opened, &p.value, kept->pack->layout, p.source, at,
                                 at + 1, group, &ignored) != TNP_OK ||
            memcmp(group, packs + kept->offset + at * each, each) != 0)
            status = tni_fail(err, TN_E_FILE, "%s: has other packs of '%s' than %s makes", k->path,
                              p.value.name, k->lane->device->name);
        tni_map_guard_drop_pages(p.source, p.groups * p.source_bytes);   // read with the group
    }
    tni_free(k->allocator, group);
    return status;
}

// Errors: TN_E_FILE it is not to be used, TN_E_HOST_MEMORY.
static tn_status open_file(keeping *k, bool is_made, tn_error *err)
{
    size_t path_bytes = strlen(k->path) + 1;
    tni_pack_map *file = tni_alloc(k->allocator, sizeof *file + path_bytes);
    if (!file)
        return tni_fail_memory(err, k->path, sizeof *file + path_bytes);
    file->is_made = is_made;
    memcpy(file->path, k->path, path_bytes);
    tn_status status = tni_pack_file_open(k->path, &k->key, k->kept->bytes,
                                          tni_runtime_pool(k->session->runtime), k->allocator,
                                          &file->map, err);
    if (status == TN_OK)
        status = check_packs(k, file->map.data + TNI_PACK_FILE_HEAD, err);
    if (status != TN_OK) {
        tni_pack_map_close(file, k->allocator);
        return status;
    }
    tni_cache_note_use(file->map.file);
    tni_file_map_let_go(&file->map);   // a graph of many programs has many
    k->kept->file = file;
    return TN_OK;
}

static tn_status write_pack(const keeping *k, const tni_kept_pack *kept, unsigned char *staging,
                            uint64_t room, tni_pack_writer *writer, tn_error *err)
{
    const uint64_t each = kept->pack->group_bytes;
    tni_packing p;
    tni_packing_init(&p, k->lane, k->graph, kept->pack, bytes_of(k->graph, kept->pack));
    const uint64_t groups = p.groups;
    tn_status status = tni_pack_writer_skip_to(writer, kept->offset, err);
    p.to = staging;
    for (; p.first < groups && status == TN_OK; p.first += p.groups) {
        p.groups = room / each < groups - p.first ? room / each : groups - p.first;
        memset(staging, 0, p.groups * each);   // what a short group leaves out is the same always
        status = tni_packing_run(&p) == TNP_OK
                     ? tni_pack_writer_add(writer, staging, p.groups * each, err)
                     : tni_lane_fail(k->lane, "pack", atomic_load(&p.status), &p.error, err);
    }
    return status;
}

static bool are_sources_as_they_were(const keeping *k)
{
    tni_file_stamp now;
    uint64_t offset;
    for (uint32_t i = 0; i < k->kept->count; i++)
        if (!find_source(k->graph, k->kept->list[i].pack, &now, &offset))
            return false;
    return true;
}

static tn_status write_packs(const keeping *k, tni_pack_writer *writer, tn_error *err)
{
    enum { AT_ONCE = 8 << 20 };
    const uint64_t most = most_of_a_group(k), room = most > AT_ONCE ? most : AT_ONCE;
    unsigned char *staging = tni_alloc(k->allocator, room);
    tn_status status = staging ? TN_OK : tni_fail_memory(err, "packs", room);
    for (uint32_t i = 0; i < k->kept->count && status == TN_OK; i++)
        status = write_pack(k, &k->kept->list[i], staging, room, writer, err);
    if (status == TN_OK)
        status = tni_pack_writer_skip_to(writer, k->kept->bytes, err);
    if (status == TN_OK && !are_sources_as_they_were(k))
        status = tni_fail(err, TN_E_FILE, "the model was changed while packs were made of it");
    if (status == TN_OK)
        status = tni_pack_writer_finish(writer, err);
    tni_free(k->allocator, staging);
    return status;
}

static tn_status make_file(const keeping *k, tn_error *err)
{
    tni_pack_writer writer;
    tn_status status = tni_pack_writer_open(&writer, k->path, &k->key, k->kept->bytes, k->allocator,
                                            err);
    if (status == TN_OK)
        status = write_packs(k, &writer, err);
    tni_pack_writer_close(&writer);
    return status;
}

// Also as another process made room for its own.
static bool is_gone(const char *path)
{
    struct stat there;
    return lstat(path, &there) != 0 && errno == ENOENT;
}

static void tell_bad(tn_runtime *runtime, const tn_error *bad, const tn_error *err)
{
    char why[2 * sizeof bad->text];
    tni_format_text(why, sizeof why, "%s%s%s", bad->text, *bad->text ? "; and no other: " : "",
                    err->text);
    tni_runtime_keep_no_packs(runtime, why);
}

// The file, as it is or made anew.
static void find_file(keeping *k)
{
    tn_runtime *runtime = k->session->runtime;
    tn_error bad = { 0 }, err;
    tn_status status = TN_E_NOT_FOUND;
    if (!is_gone(k->path))
        status = open_file(k, false, &bad);
    if (status == TN_OK || status == TN_E_HOST_MEMORY)
        return;
    if (is_gone(k->path))
        *bad.text = '\0';
    else if (*bad.text)
        (void)unlink(k->path);   // one that is replaced would keep its mode
    if (!tni_kept_room_has(k->session, k->path))
        return;
    status = make_file(k, &err);
    if (status == TN_OK && (status = open_file(k, true, &err)) != TN_OK && is_gone(k->path))
        return;
    if (status == TN_OK && *bad.text)
        tni_log_line(tni_runtime_log(runtime), TN_LOG_WARNING, "packs are made anew: %s", bad.text);
    else if (status != TN_OK && status != TN_E_HOST_MEMORY)
        tell_bad(runtime, &bad, &err);
}

static bool are_settled(const tni_kept_packs *kept)
{
    for (uint32_t i = 0; i < kept->count; i++)
        if (!tni_file_stamp_has_settled(&kept->list[i].stamp))
            return false;
    return true;
}

static bool begin_keeping(tn_session *session, const tn_graph *graph, uint32_t place,
                          tni_kept_packs *kept, keeping *out_keeping)
{
    *out_keeping = (keeping){ .session = session,
                              .graph = graph,
                              .lane = &session->lanes[place],
                              .kept = kept,
                              .allocator = tni_runtime_allocator(session->runtime) };
    return kept->count && !kept->is_short &&
           tni_align_u64(kept->bytes, TNI_PACK_FILE_HEAD, &kept->bytes);
}

// A model that was just changed could be changed once more and look the same.
bool tni_kept_packs_may_be_made(tn_session *session, const tn_graph *graph, uint32_t place,
                                tni_kept_packs *kept, tni_cache_file *out_file)
{
    keeping k;
    if (!begin_keeping(session, graph, place, kept, &k) || !are_settled(kept) || !find_path(&k))
        return false;
    tni_copy_text(out_file->name, sizeof out_file->name, strrchr(k.path, '/') + 1);
    out_file->bytes = tni_pack_file_bytes(kept->bytes);
    return true;
}

void tni_kept_packs_open(tn_session *session, const tn_graph *graph, uint32_t place,
                         tni_kept_packs *kept)
{
    keeping k;
    if (!begin_keeping(session, graph, place, kept, &k))
        return;
    if (!find_path(&k)) {
        tni_runtime_keep_no_packs(session->runtime,
                                  "there is no place for a cache: neither XDG_CACHE_HOME nor HOME "
                                  "is an absolute path, or the process is privileged");
        return;
    }
    find_file(&k);
    const uint64_t most = k.lane->memory.max_buffer_bytes;
    if (kept->file && (!most || kept->bytes <= most))
        (void)tni_lane_import(k.lane, 0, TNP_IMPORT_READ_ONLY,
                              tni_kept_packs_at(kept, &kept->list[0]), kept->bytes, &kept->buffer);
}

const unsigned char *tni_kept_packs_at(const tni_kept_packs *kept, const tni_kept_pack *pack)
{
    return kept->file->map.data + TNI_PACK_FILE_HEAD + pack->offset;
}

void tni_kept_packs_close(tn_session *session, uint32_t place, tni_kept_packs *kept)
{
    if (kept->buffer)
        tni_resident_close_buffer(session->lanes[place].device, kept->buffer, kept->file);
    else if (kept->file && !tni_hang_has(&session->lanes[place]))   // else a copy may still read it
        tni_pack_map_close(kept->file, tni_runtime_allocator(session->runtime));
    tni_free(&session->arena.allocator, kept->list);
}
