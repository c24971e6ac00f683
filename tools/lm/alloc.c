// alloc.c: memory by a tn_allocator, and the default one on the C library.
#include "alloc.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

enum { ALIGNMENT = 16, FIRST_CAPACITY = 16 };

static void *default_alloc(void *context, size_t bytes, size_t alignment_bytes)
{
    (void)context;
    size_t rest = bytes % alignment_bytes;
    if (rest != 0) {
        if (bytes > SIZE_MAX - alignment_bytes)
            return NULL;
        bytes += alignment_bytes - rest;   // aligned_alloc wants whole multiples
    }
    return aligned_alloc(alignment_bytes, bytes);
}

static void default_free(void *context, void *pointer)
{
    (void)context;
    free(pointer);
}

tn_allocator tlm_allocator(const tn_allocator *given)
{
    return given ? *given : (tn_allocator){ NULL, default_alloc, default_free };
}

tn_status tlm_check_allocator(const tn_allocator *given, const char *what, tn_error *err)
{
    return given ? tlm_need(err, what, "allocator->alloc", given->alloc ? given : NULL,
                            "allocator->free", given->free ? given : NULL, NULL)
                 : TN_OK;
}

void *tlm_alloc(const tn_allocator *allocator, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count ? count : 1, bytes, &total))
        return NULL;
    void *pointer = allocator->alloc(allocator->context, total, ALIGNMENT);
    if (pointer)
        memset(pointer, 0, total);
    return pointer;
}

void tlm_free(const tn_allocator *allocator, void *pointer)
{
    if (pointer)
        allocator->free(allocator->context, pointer);
}

bool tlm_grow(const tn_allocator *allocator, void *array_pointer, size_t *capacity, size_t needed,
              size_t bytes)
{
    if (needed <= *capacity)
        return true;
    size_t wanted = *capacity ? *capacity : FIRST_CAPACITY, total;
    while (wanted < needed)
        if (__builtin_mul_overflow(wanted, 2, &wanted))
            return false;
    if (__builtin_mul_overflow(wanted, bytes, &total))
        return false;
    void *old, *grown = allocator->alloc(allocator->context, total, ALIGNMENT);
    if (!grown)
        return false;
    memcpy(&old, array_pointer, sizeof old);
    if (old)
        memcpy(grown, old, *capacity * bytes);
    tlm_free(allocator, old);
    memcpy(array_pointer, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}
