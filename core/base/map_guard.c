// map_guard.c: what mends a SIGBUS, and the list of mappings that it looks through.
//
// The handler may run at any moment in any thread, so it takes no lock: it counts itself in, and
// who takes a mapping out of the list waits until no handler looks at it. What it does is one mmap,
// which on Linux is a system call that a handler may make: from the page that failed on, to the end
// of the mapping, pages of zeros take the place of the file. The read is then made again, and goes
// on.
#include "base/map_guard.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/faults.h"

struct tni_guarded {
    _Atomic(tni_guarded *) next;
    uintptr_t begin, end;
    atomic_size_t failed_at;
    int file;   // of the lock; -1: forgotten
    tni_file_stamp stamp;
};

static _Atomic(tni_guarded *) first;
static atomic_uint looking;                                // handlers in the list
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;   // of who changes the list
static atomic_uintptr_t page_bytes;

tn_status tni_map_guard_add(const void *data, size_t bytes, int file, const tni_file_stamp *stamp,
                            const tn_allocator *allocator, tni_guarded **out_guarded, tn_error *err)
{
    tni_guarded *guarded = tni_alloc_zeroed(allocator, 1, sizeof *guarded);
    *out_guarded = guarded;
    if (!guarded)
        return tni_fail_memory(err, "a mapping", sizeof *guarded);
    guarded->begin = (uintptr_t)data;
    guarded->end = guarded->begin + bytes;
    guarded->file = file;
    guarded->stamp = *stamp;
    atomic_store(&guarded->failed_at, SIZE_MAX);
    pthread_mutex_lock(&lock);
    atomic_store(&guarded->next, atomic_load(&first));
    atomic_store(&first, guarded);
    pthread_mutex_unlock(&lock);
    return TN_OK;
}

void tni_map_guard_remove(tni_guarded *guarded, const tn_allocator *allocator)
{
    pthread_mutex_lock(&lock);
    _Atomic(tni_guarded *) *link = &first;
    while (atomic_load(link) != guarded)
        link = &atomic_load(link)->next;
    atomic_store(link, atomic_load(&guarded->next));
    pthread_mutex_unlock(&lock);
    while (atomic_load(&looking))
        sched_yield();
    tni_free(allocator, guarded);
}

void tni_map_guard_forget_file(tni_guarded *guarded)
{
    pthread_mutex_lock(&lock);
    guarded->file = -1;
    pthread_mutex_unlock(&lock);
}

size_t tni_map_guard_failed_at(const tni_guarded *guarded)
{
    return atomic_load(&guarded->failed_at);
}

static bool is_as_it_was(const tni_guarded *g)
{
    tni_file_stamp now;
    return atomic_load(&g->failed_at) == SIZE_MAX && tni_file_stamp_of(g->file, &now) &&
           tni_file_stamp_is_same(&now, &g->stamp);
}

bool tni_map_guard_file_of(const void *data, size_t bytes, tni_file_stamp *out_stamp,
                           uint64_t *out_offset)
{
    const uintptr_t at = (uintptr_t)data;
    bool is_known = false;
    pthread_mutex_lock(&lock);   // what is in the list stays open
    tni_guarded *g = atomic_load(&first);
    while (g && !(at >= g->begin && at <= g->end && bytes <= g->end - at))
        g = atomic_load(&g->next);
    if (g && is_as_it_was(g)) {
        is_known = true;
        *out_stamp = g->stamp;
        *out_offset = at - g->begin;
    }
    pthread_mutex_unlock(&lock);
    return is_known;
}

void tni_map_guard_drop_pages(const void *data, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)data;
    pthread_mutex_lock(&lock);   // what is in the list stays mapped
    for (tni_guarded *g = atomic_load(&first); g; g = atomic_load(&g->next)) {
        uintptr_t begin = at > g->begin ? at : g->begin,
                  end = at + bytes < g->end ? at + bytes : g->end;
        begin = (begin + page - 1) & ~(page - 1);
        end &= ~(page - 1);
        if (begin < end)
            madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    pthread_mutex_unlock(&lock);
}

// The mapping around an address gets zeros from its page on. false: there is none, or no memory.
static bool give_zeros(uintptr_t address)
{
    bool is_given = false;
    atomic_fetch_add(&looking, 1);
    for (tni_guarded *g = atomic_load(&first); g && !is_given; g = atomic_load(&g->next)) {
        if (address < g->begin || address >= g->end)
            continue;
        const uintptr_t page = address & ~(atomic_load(&page_bytes) - 1);
        is_given = mmap((void *)page, g->end - page, PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
        size_t was = atomic_load(&g->failed_at);
        while (page - g->begin < was &&
               !atomic_compare_exchange_weak(&g->failed_at, &was, page - g->begin))
            ;
    }
    atomic_fetch_sub(&looking, 1);
    return is_given;
}

// What a process sent is not about a mapping.
static bool mend(const tni_fault *fault)
{
    return tni_fault_is_own(fault) && give_zeros((uintptr_t)fault->info->si_addr);
}

tn_status tni_map_guard_install(tn_error *err)
{
    atomic_store(&page_bytes, (uintptr_t)sysconf(_SC_PAGESIZE));
    return tni_faults_mend(mend, err);
}
