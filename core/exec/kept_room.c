// kept_room.c: which files of packs a placement will have in the cache, and room for them.
//
// They are foreseen as tni_pack_room_add finds them when one program after the other is bound: a
// file has the packs of a program that neither a session nor a program before has there. Where a
// session ends meanwhile it comes to another file, for which there is no room.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/integer.h"
#include "exec/session.h"
#include "plugin/cache.h"

typedef struct foreseen {
    uint32_t place, number;         // number: its own, in the order in which they will be there
    const tni_compiled *compiled;   // NULL: it is there
    uint32_t segment;
    const tni_pack *pack;
    bool is_first;   // of its key at this place
    tni_resident_key key;
} foreseen;

typedef struct foreseeing {
    tn_session *session;
    const tn_allocator *allocator;
    foreseen *packs;
    uint32_t count, capacity;
} foreseeing;

// ---------------------------------------------------------------------------------------- packs

static foreseen *add(foreseeing *f, uint32_t place)
{
    if (!tni_grow(f->allocator, &f->packs, &f->capacity, f->count + 1, sizeof *f->packs))
        return NULL;
    foreseen *new = &f->packs[f->count];
    *new = (foreseen){ .place = place, .number = f->count++ };
    return new;
}

static bool add_residents(foreseeing *f, uint32_t place)
{
    tn_device *device = f->session->lanes[place].device;
    bool is_added = true;
    tni_residents_begin(device);
    const uint32_t room = tni_residents_list(device, NULL, 0);
    tni_resident_key *keys = room ? tni_alloc(f->allocator, room * sizeof *keys) : NULL;
    const uint32_t count = keys ? tni_residents_list(device, keys, room) : 0;
    tni_residents_end(device);
    for (uint32_t i = 0; i < count && is_added; i++) {
        foreseen *there = add(f, place);
        is_added = there != NULL;
        if (there)
            there->key = keys[i];
    }
    tni_free(f->allocator, keys);
    return is_added && (keys || !room);
}

static bool add_packs(foreseeing *f, const tni_compiled *compiled, uint32_t s)
{
    const tni_segment *segment = &compiled->schedule.segments[s];
    for (uint32_t u = 0; u < segment->unit_count; u++) {
        const tni_claim *claim = compiled->schedule.units[segment->first_unit + u];
        for (uint32_t k = 0; k < claim->pack_count; k++) {
            if (claim->packs[k].flags & TNP_PACK_BAKED)
                continue;
            foreseen *new = add(f, segment->place);
            if (!new)
                return false;
            new->compiled = compiled;
            new->segment = s;
            new->pack = &claim->packs[k];
            new->key = tni_pack_key(compiled, new->pack);
        }
    }
    return true;
}

static int compare_keys(const foreseen *a, const foreseen *b)
{
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return memcmp(&a->key, &b->key, sizeof a->key);
}

static int compare(const void *left, const void *right)
{
    const foreseen *a = *(const foreseen *const *)left, *b = *(const foreseen *const *)right;
    const int order = compare_keys(a, b);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static bool find_first(foreseeing *f)
{
    foreseen **sorted = tni_alloc(f->allocator, (f->count + 1) * sizeof *sorted);
    if (!sorted)
        return false;
    for (uint32_t i = 0; i < f->count; i++)
        sorted[i] = &f->packs[i];
    qsort(sorted, f->count, sizeof(foreseen *), compare);
    for (uint32_t i = 0; i < f->count; i++)
        sorted[i]->is_first = i == 0 || compare_keys(sorted[i - 1], sorted[i]) != 0;
    tni_free(f->allocator, sorted);
    return true;
}

// ---------------------------------------------------------------------------------------- files

static tni_cache_file *grow(const foreseeing *f, uint32_t more)
{
    tni_kept_room *room = &f->session->kept_room;
    return tni_grow(f->allocator, &room->files, &room->capacity, room->count + more,
                    sizeof *room->files)
               ? &room->files[room->count]
               : NULL;
}

// Of one program: packs from `first` on. *out_next: of the next program.
static bool add_file(const foreseeing *f, uint32_t first, uint32_t *out_next)
{
    const foreseen *begin = &f->packs[first];
    const tn_graph *graph = begin->compiled->graph;
    tni_kept_packs kept = { 0 };
    tni_cache_file *file = grow(f, 1);
    uint32_t i = first;
    for (; i < f->count && f->packs[i].compiled == begin->compiled &&
           f->packs[i].segment == begin->segment;
         i++)
        if (f->packs[i].is_first)
            (void)tni_kept_packs_add(f->session, graph, &f->packs[i].key, f->packs[i].pack, &kept);
    *out_next = i;
    if (file && tni_kept_packs_may_be_made(f->session, graph, begin->place, &kept, file))
        f->session->kept_room.count++;
    const bool is_added = file && !kept.is_short;
    tni_kept_packs_close(f->session, begin->place, &kept);
    return is_added;
}

static bool add_files(const foreseeing *f)
{
    bool is_added = true;
    for (uint32_t i = 0; i < f->count && is_added;)
        if (f->packs[i].compiled)
            is_added = add_file(f, i, &i);
        else
            i++;
    return is_added;
}

static bool add_files_in_use(const foreseeing *f)
{
    tni_kept_room *room = &f->session->kept_room;
    bool is_added = true;
    for (uint32_t place = 0; place < f->session->lane_count && is_added; place++) {
        tn_device *device = f->session->lanes[place].device;
        tni_residents_begin(device);
        const uint32_t count = tni_residents_files(device, NULL, 0);
        tni_cache_file *files = count ? grow(f, count) : NULL;
        if (files)
            room->count += tni_residents_files(device, files, count);
        tni_residents_end(device);
        is_added = files || !count;
    }
    return is_added;
}

static uint64_t bytes_of(const tni_kept_room *room)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < room->count; i++)
        if (!tni_add_u64(bytes, room->files[i].bytes, &bytes))
            return UINT64_MAX;
    return bytes;
}

static void sort(tni_kept_room *room)
{
    room->count = tni_cache_files_sort(room->files, room->count);
}

// path: of one of the files.
static tn_status find_room(const foreseeing *f, const char *folder, const char *path, uint64_t most,
                           tn_error *err)
{
    tni_kept_room *room = &f->session->kept_room;
    if (!add_files_in_use(f))
        return tni_fail_memory(err, folder, room->count * sizeof *room->files);
    sort(room);
    const uint64_t bytes = bytes_of(room);
    if (bytes > most)
        return tni_fail(err, TN_E_FILE,
                        "%" PRIu64 " bytes of them are more than the %" PRIu64
                        " MiB that packs.cache_mib allows",
                        bytes, most >> 20);
    tn_status status = tni_cache_make_folders(path, err);
    return status == TN_OK
               ? tni_cache_make_room(folder, room->files, room->count, most, f->allocator, err)
               : status;
}

// Where all are there they are used, however many they are; only one that turns out to be damaged
// would be made again.
static void make_room(const foreseeing *f)
{
    tn_runtime *runtime = f->session->runtime;
    tni_kept_room *room = &f->session->kept_room;
    char path[TNI_CACHE_PATH_BYTES], folder[TNI_CACHE_PATH_BYTES];
    const uint64_t most = tni_runtime_pack_cache_bytes(runtime);
    tn_status status = TN_OK;
    tn_error err;
    sort(room);
    if (!room->count || !tni_cache_path(tni_kept_packs_folder, room->files[0].name, path))
        return;
    tni_copy_text(folder, sizeof folder, path);
    *strrchr(folder, '/') = '\0';
    if (tni_cache_has_all(folder, room->files, room->count))
        room->count = bytes_of(room) > most ? 0 : room->count;
    else
        status = find_room(f, folder, path, most, &err);
    if (status == TN_OK)
        return;
    room->count = 0;
    if (status != TN_E_HOST_MEMORY)
        tni_runtime_keep_no_packs(runtime, err.text);
}

void tni_kept_room_make(tn_session *session, tni_compiled *const *graphs, uint32_t graph_count)
{
    foreseeing f = { .session = session, .allocator = &session->arena.allocator };
    bool is_foreseen = true;
    if (!tni_runtime_pack_cache_bytes(session->runtime))
        return;
    for (uint32_t place = 0; place < session->lane_count && is_foreseen; place++)
        is_foreseen = add_residents(&f, place);
    for (uint32_t g = 0; g < graph_count; g++)
        for (uint32_t s = 0; s < graphs[g]->schedule.segment_count && is_foreseen; s++)
            is_foreseen = add_packs(&f, graphs[g], s);
    if (is_foreseen && find_first(&f) && add_files(&f))
        make_room(&f);
    else
        session->kept_room.count = 0;
    tni_free(f.allocator, f.packs);
}

bool tni_kept_room_has(const tn_session *session, const char *path)
{
    return tni_cache_files_have(session->kept_room.files, session->kept_room.count,
                                strrchr(path, '/') + 1);
}

void tni_kept_room_close(tn_session *session)
{
    tni_free(&session->arena.allocator, session->kept_room.files);
    session->kept_room = (tni_kept_room){ 0 };
}
