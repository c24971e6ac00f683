#include "exec/pack_file.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/macros.h"

enum { HEAD = TNI_PACK_FILE_HEAD, PIECE = TNI_PACK_FILE_PIECE };

// The beginning of a file; the rest of HEAD is zeros. Numbers are those of the machine: on one that
// has them the other way round `pack_bytes` is another.
typedef struct head {
    char magic[16];
    uint64_t pack_bytes;
    tni_pack_file_key key;
} head;

static const char magic[16] = "tenon packs 1\n";

static void fill_head(unsigned char to[HEAD], const tni_pack_file_key *key, uint64_t pack_bytes)
{
    head h = { .pack_bytes = pack_bytes, .key = *key };
    memcpy(h.magic, magic, sizeof magic);
    memset(to, 0, HEAD);
    memcpy(to, &h, sizeof h);
}

static uint64_t pieces_of(uint64_t pack_bytes)
{
    return pack_bytes / PIECE + (pack_bytes % PIECE != 0);
}

// Of the sums, with the one of the head and themselves.
static uint64_t sums_bytes(uint64_t pack_bytes)
{
    return (pieces_of(pack_bytes) + 1) * sizeof(uint64_t);
}

static uint64_t sum_of_all(const void *head_bytes, const void *sums, uint64_t pieces)
{
    return XXH3_64bits_withSeed(sums, pieces * sizeof(uint64_t), XXH3_64bits(head_bytes, HEAD));
}

uint64_t tni_pack_file_bytes(uint64_t pack_bytes)
{
    uint64_t bytes;
    return tni_add_u64(pack_bytes, HEAD + sums_bytes(pack_bytes), &bytes) && bytes <= INT64_MAX
               ? bytes
               : UINT64_MAX;
}

// ----------------------------------------------------------------------------------------- reading

typedef struct checking {
    const unsigned char *packs;
    uint64_t pack_bytes, pieces;
    const unsigned char *sums;
    _Atomic uint64_t wrong;   // the first piece that is; UINT64_MAX = none
} checking;

static void check_part(void *argument, tni_team *team, uint32_t worker, uint32_t workers)
{
    checking *c = argument;
    (void)team;
    const uint64_t end = c->pieces * (worker + 1) / workers;
    for (uint64_t i = c->pieces * worker / workers; i < end; i++) {
        uint64_t want, at = i * PIECE, left = c->pack_bytes - at;
        memcpy(&want, c->sums + i * sizeof want, sizeof want);
        if (XXH3_64bits(c->packs + at, left < PIECE ? left : PIECE) == want)
            continue;
        uint64_t first = atomic_load(&c->wrong);
        while (i < first && !atomic_compare_exchange_weak(&c->wrong, &first, i))
            ;
        return;
    }
}

static tn_status check_owner(const tni_file_map *map, const char *path, tn_error *err)
{
    struct stat about;
    if (fstat(map->file, &about) != 0 || about.st_uid != geteuid() ||
        about.st_mode & (S_IWGRP | S_IWOTH))
        return tni_fail(err, TN_E_FILE, "%s: is another user's, or others may write to it", path);
    return TN_OK;
}

static tn_status check(const tni_file_map *map, const char *path, const tni_pack_file_key *key,
                       uint64_t pack_bytes, tni_pool *pool, tn_error *err)
{
    unsigned char want[HEAD];
    const uint64_t bytes = tni_pack_file_bytes(pack_bytes);
    fill_head(want, key, pack_bytes);
    if (map->bytes < HEAD || memcmp(map->data, want, HEAD) != 0)
        return tni_fail(err, TN_E_FILE, "%s: is not the file of packs that it is called", path);
    if (map->bytes != bytes)
        return tni_fail(err, TN_E_FILE, "%s: has %zu bytes instead of %" PRIu64, path, map->bytes,
                        bytes);
    checking c = { .packs = map->data + HEAD,
                   .pack_bytes = pack_bytes,
                   .pieces = pieces_of(pack_bytes),
                   .sums = map->data + HEAD + pack_bytes,
                   .wrong = UINT64_MAX };
    uint64_t all;
    memcpy(&all, c.sums + c.pieces * sizeof all, sizeof all);
    if (all != sum_of_all(map->data, c.sums, c.pieces))
        return tni_fail(err, TN_E_FILE, "%s: is damaged in its sums", path);
    tni_pool_run(pool, UINT32_MAX, check_part, &c);
    if (atomic_load(&c.wrong) != UINT64_MAX)
        return tni_fail(err, TN_E_FILE, "%s: is damaged within %d bytes from byte %" PRIu64, path,
                        PIECE, HEAD + atomic_load(&c.wrong) * PIECE);
    return tni_file_map_check(map, path, err);
}

tn_status tni_pack_file_open(const char *path, const tni_pack_file_key *key, uint64_t pack_bytes,
                             tni_pool *pool, const tn_allocator *allocator, tni_file_map *map,
                             tn_error *err)
{
    tn_status status = tni_file_map_open(map, path, false, tni_pack_file_bytes(pack_bytes),
                                         allocator, err);
    if (status != TN_OK)
        return status;
    tni_file_map_will_read(map);
    status = map->data ? check_owner(map, path, err)
                       : tni_fail(err, TN_E_FILE, "%s: is empty", path);
    if (status == TN_OK)
        status = check(map, path, key, pack_bytes, pool, err);
    if (status != TN_OK)
        tni_file_map_close(map);
    return status;
}

// ----------------------------------------------------------------------------------------- writing

tn_status tni_pack_writer_open(tni_pack_writer *writer, const char *path,
                               const tni_pack_file_key *key, uint64_t pack_bytes,
                               const tn_allocator *allocator, tn_error *err)
{
    *writer = (tni_pack_writer){ .allocator = allocator,
                                 .file = { .file = -1 },
                                 .pack_bytes = pack_bytes };
    fill_head(writer->head, key, pack_bytes);
    writer->sums = tni_alloc(allocator, sums_bytes(pack_bytes));
    writer->piece = tni_alloc(allocator, PIECE);
    if (!writer->sums || !writer->piece)
        return tni_fail_memory(err, "a file of packs", PIECE + sums_bytes(pack_bytes));
    tn_status status = tni_new_file_open(&writer->file, path, NULL, 0, "packs", err);
    if (status != TN_OK)
        return status;
    writer->file.is_fleeting = true;   // what the disk loses is found damaged
    return tni_new_file_write(&writer->file, writer->head, HEAD, err);
}

// The piece at hand, up to `at`.
static tn_status write_piece(tni_pack_writer *writer, tn_error *err)
{
    uint64_t index = (writer->at - 1) / PIECE, bytes = writer->at - index * PIECE;
    writer->sums[index] = XXH3_64bits(writer->piece, bytes);
    return tni_new_file_write(&writer->file, writer->piece, bytes, err);
}

tn_status tni_pack_writer_add(tni_pack_writer *writer, const void *data, uint64_t bytes,
                              tn_error *err)
{
    const unsigned char *from = data;
    tn_status status = TN_OK;
    if (TN_NEVER(bytes > writer->pack_bytes - writer->at))
        return tni_fail(err, TN_E_INTERNAL, "more packs than were told");
    while (bytes && status == TN_OK) {
        uint64_t left = PIECE - writer->at % PIECE, now = bytes < left ? bytes : left;
        memcpy(writer->piece + writer->at % PIECE, from, now);
        writer->at += now;
        from += now;
        bytes -= now;
        if (writer->at % PIECE == 0 || writer->at == writer->pack_bytes)
            status = write_piece(writer, err);
    }
    return status;
}

tn_status tni_pack_writer_skip_to(tni_pack_writer *writer, uint64_t offset, tn_error *err)
{
    static const unsigned char zeros[HEAD];
    tn_status status = TN_OK;
    while (writer->at < offset && status == TN_OK) {
        uint64_t left = offset - writer->at;
        status = tni_pack_writer_add(writer, zeros, left < HEAD ? left : HEAD, err);
    }
    return status;
}

tn_status tni_pack_writer_finish(tni_pack_writer *writer, tn_error *err)
{
    uint64_t pieces = pieces_of(writer->pack_bytes);
    writer->sums[pieces] = sum_of_all(writer->head, writer->sums, pieces);
    tn_status status = tni_new_file_write(&writer->file, writer->sums,
                                          sums_bytes(writer->pack_bytes), err);
    return status == TN_OK ? tni_new_file_finish(&writer->file, err) : status;
}

void tni_pack_writer_close(tni_pack_writer *writer)
{
    tni_new_file_drop(&writer->file);
    tni_free(writer->allocator, writer->piece);
    tni_free(writer->allocator, writer->sums);
}
