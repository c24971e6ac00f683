// residents.c: constants that lie on an opened device, for all sessions of the runtime.
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plugin/host.h"

struct tni_residents {
    pthread_mutex_t loading, table;
    tni_resident *first;
};

tni_residents *tni_residents_make(tni_arena *arena)
{
    tni_residents *made = tni_arena_take(arena, sizeof *made);
    if (made)
        *made = (tni_residents){ PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, NULL };
    return made;
}

void tni_residents_begin(tn_device *device)
{
    pthread_mutex_lock(&device->residents->loading);
}

void tni_residents_end(tn_device *device)
{
    pthread_mutex_unlock(&device->residents->loading);
}

bool tni_resident_key_is_same(const tni_resident_key *a, const tni_resident_key *b)
{
    return a->data == b->data && a->bytes == b->bytes && a->run_bytes == b->run_bytes &&
           a->run_stride == b->run_stride && a->layout == b->layout &&
           a->group_rows == b->group_rows && a->dtype == b->dtype &&
           !memcmp(a->dims, b->dims, sizeof a->dims) &&
           !memcmp(a->strides, b->strides, sizeof a->strides);
}

tni_resident *tni_resident_take(tn_device *device, const tni_resident_key *key)
{
    tni_residents *all = device->residents;
    pthread_mutex_lock(&all->table);
    tni_resident *r = all->first;
    while (r && !tni_resident_key_is_same(&r->key, key))
        r = r->next;
    if (r)
        r->sessions++;
    pthread_mutex_unlock(&all->table);
    return r;
}

tni_resident *tni_resident_enter(tn_device *device, const tni_resident *made, tn_error *err)
{
    tni_residents *all = device->residents;
    tni_resident *r = tni_alloc(tni_runtime_allocator(device->runtime), sizeof *r);
    if (!r) {
        tni_fail_memory(err, "a table of weights", sizeof *r);
        return NULL;
    }
    *r = *made;
    r->sessions = 1;
    pthread_mutex_lock(&all->table);
    r->next = all->first;
    all->first = r;
    pthread_mutex_unlock(&all->table);
    return r;
}

// With the table's lock.
static bool has_any_in(const tni_residents *all, const tnp_buffer *buffer)
{
    const tni_resident *r = all->first;
    while (r && r->buffer != buffer)
        r = r->next;
    return r != NULL;
}

void tni_pack_map_close(tni_pack_map *packs, const tn_allocator *allocator)
{
    tni_file_map_close(&packs->map);
    tni_free(allocator, packs);
}

// A device that was given up may still read what was imported.
static void free_buffer(tn_device *device, tnp_buffer *buffer, tni_pack_map *packs)
{
    device->table->buffer_free(buffer);
    if (packs && !atomic_load(&device->is_abandoned))
        tni_pack_map_close(packs, tni_runtime_allocator(device->runtime));
}

void tni_resident_close_buffer(tn_device *device, tnp_buffer *buffer, tni_pack_map *packs)
{
    tni_residents *all = device->residents;
    pthread_mutex_lock(&all->table);
    bool is_used = has_any_in(all, buffer);
    pthread_mutex_unlock(&all->table);
    if (!is_used)
        free_buffer(device, buffer, packs);
}

uint32_t tni_residents_list(tn_device *device, tni_resident_key *out, uint32_t room)
{
    tni_residents *all = device->residents;
    uint32_t count = 0;
    pthread_mutex_lock(&all->table);
    for (const tni_resident *r = all->first; r; r = r->next) {
        if (!r->is_mapped && count < room)
            out[count] = r->key;
        count += !r->is_mapped;
    }
    pthread_mutex_unlock(&all->table);
    return count;
}

// Packs of one file mostly follow one another.
uint32_t tni_residents_files(tn_device *device, tni_cache_file *out, uint32_t room)
{
    tni_residents *all = device->residents;
    const tni_pack_map *seen = NULL;
    uint32_t count = 0;
    pthread_mutex_lock(&all->table);
    for (const tni_resident *r = all->first; r; r = r->next) {
        if (!r->packs || r->packs == seen)
            continue;
        seen = r->packs;
        if (count < room) {
            tni_copy_text(out[count].name, sizeof out->name, strrchr(seen->path, '/') + 1);
            out[count].bytes = seen->map.bytes;
        }
        count++;
    }
    pthread_mutex_unlock(&all->table);
    return count;
}

// A buffer of which nothing is in the table is nobody else's: it is freed without the lock.
void tni_resident_give_back(tn_device *device, tni_resident *resident)
{
    tni_residents *all = device->residents;
    tnp_buffer *buffer = resident->buffer;
    tni_pack_map *packs = resident->packs;
    pthread_mutex_lock(&all->table);
    bool is_last = --resident->sessions == 0;
    tni_resident **at = &all->first;
    while (is_last && *at != resident)
        at = &(*at)->next;
    if (is_last)
        *at = resident->next;
    bool is_empty = is_last && !has_any_in(all, buffer);
    pthread_mutex_unlock(&all->table);
    if (is_last)
        tni_free(tni_runtime_allocator(device->runtime), resident);
    if (is_empty)
        free_buffer(device, buffer, packs);
}

bool tni_resident_is_shared(tn_device *device, const tni_resident *resident)
{
    pthread_mutex_lock(&device->residents->table);
    bool is_shared = resident->sessions > 1;
    pthread_mutex_unlock(&device->residents->table);
    return is_shared;
}
