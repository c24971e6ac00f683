// alloc.c: the only place that calls malloc and free.
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/integer.h"

enum { DEFAULT_ALIGNMENT = 16 };

static void *c_alloc(void *context, size_t bytes, size_t alignment_bytes)
{
    (void)context;
    if (alignment_bytes <= DEFAULT_ALIGNMENT)
        return malloc(bytes);
    void *pointer = NULL;
    return posix_memalign(&pointer, alignment_bytes, bytes) == 0 ? pointer : NULL;
}

static void c_free(void *context, void *pointer)
{
    (void)context;
    free(pointer);
}

tn_allocator tni_allocator(const tn_allocator *given)
{
    if (given)
        return *given;
    return (tn_allocator){ .alloc = c_alloc, .free = c_free };
}

tn_status tni_check_allocator(const tn_allocator *given, const char *what, tn_error *err)
{
    return given ? tni_need(err, what, "allocator->alloc", given->alloc ? given : NULL,
                            "allocator->free", given->free ? given : NULL, NULL)
                 : TN_OK;
}

void *tni_alloc(const tn_allocator *allocator, size_t bytes)
{
    return allocator->alloc(allocator->context, bytes ? bytes : 1, DEFAULT_ALIGNMENT);
}

void *tni_alloc_zeroed(const tn_allocator *allocator, size_t count, size_t bytes)
{
    size_t total;
    if (!tni_mul_size(count, bytes, &total))
        return NULL;
    if (allocator->alloc == c_alloc)   // pages fresh from the system are zero: not touched here
        return calloc(1, total ? total : 1);
    void *pointer = tni_alloc(allocator, total);
    if (pointer)
        memset(pointer, 0, total);
    return pointer;
}

void tni_free(const tn_allocator *allocator, void *pointer)
{
    if (pointer)
        allocator->free(allocator->context, pointer);
}

char *tni_alloc_text(const tn_allocator *allocator, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = tni_alloc(allocator, bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

bool tni_grow(const tn_allocator *allocator, void *array_pointer, uint32_t *capacity,
              uint32_t needed, size_t bytes)
{
    if (needed <= *capacity)
        return true;
    uint32_t larger = *capacity > UINT32_MAX / 2 ? UINT32_MAX : *capacity * 2;
    if (larger < needed)
        larger = needed;
    if (larger < 8)
        larger = 8;
    size_t total;
    if (!tni_mul_size(larger, bytes, &total))
        return false;
    void *grown = tni_alloc(allocator, total);
    if (!grown)
        return false;
    void *old;
    memcpy(&old, array_pointer, sizeof old);
    if (old)
        memcpy(grown, old, *capacity * bytes);
    tni_free(allocator, old);
    memcpy(array_pointer, &grown, sizeof grown);
    *capacity = larger;
    return true;
}

void tni_alloc_will_fill(void *memory, uint64_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)memory;
    const uintptr_t begin = (at + page - 1) & ~(page - 1), end = (at + bytes) & ~(page - 1);
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}
