// failing_malloc.c: preloaded into a program, fails its n-th allocation, once.
//
//   TENON_TEST_FAIL_AT   n, from 1; 0 or not set: none fails
//   TENON_TEST_COUNT     a file, to which the number of allocations is written at the end
//
// Only those of the thread that begins: which allocation of several threads is the n-th would be
// another at each run.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static __thread bool is_first_thread;
static unsigned long count, fail_at;

static bool is_due(void)
{
    return is_first_thread && ++count == fail_at;
}

__attribute__((constructor)) static void begin(void)
{
    const char *given = getenv("TENON_TEST_FAIL_AT");
    fail_at = given ? strtoul(given, NULL, 10) : 0;
    is_first_thread = true;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("TENON_TEST_COUNT");
    is_first_thread = false;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%lu\n", count);
    fclose(file);
}

static void *fail(void)
{
    errno = ENOMEM;
    return NULL;
}

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t items, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
    return is_due() ? fail() : __libc_malloc(bytes);
}

void *calloc(size_t items, size_t bytes)
{
    return is_due() ? fail() : __libc_calloc(items, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return is_due() ? fail() : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return is_due() ? fail() : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *made = is_due() ? NULL : __libc_memalign(alignment, bytes);
    if (made)
        *out = made;
    return made ? 0 : ENOMEM;
}
