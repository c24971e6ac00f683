#include "failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_CALLS = 100000 };

static void *failing_take(void *context, size_t bytes, size_t alignment_bytes)
{
    failing_alloc *failing = context;
    if (atomic_fetch_add(&failing->calls, 1) + 1 == failing->fail_at)
        return NULL;
    size_t rounded = (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
    void *pointer = rounded >= bytes ? aligned_alloc(alignment_bytes, rounded) : NULL;
    if (pointer)
        atomic_fetch_add(&failing->alive, 1);
    return pointer;
}

static void failing_give(void *context, void *pointer)
{
    failing_alloc *failing = context;
    if (pointer)
        atomic_fetch_sub(&failing->alive, 1);
    free(pointer);
}

void failing_alloc_init(failing_alloc *failing, uint64_t fail_at)
{
    *failing =
        (failing_alloc){ .allocator = { failing, failing_take, failing_give }, .fail_at = fail_at };
}

void for_each_failing_allocation(tn_status (*run_case)(const tn_allocator *allocator,
                                                       void *context),
                                 void *context)
{
    for (uint64_t n = 1; n < MAX_CALLS; n++) {
        failing_alloc failing;
        failing_alloc_init(&failing, n);
        tn_status status = run_case(&failing.allocator, context);
        if (failing.alive != 0)
            fail_msg("%lld allocations are alive after the %llu-th failed",
                     (long long)failing.alive, (unsigned long long)n);
        if (failing.calls < n) {   // all have had their turn
            if (status != TN_OK)
                fail_msg("status %d without a failing allocation", (int)status);
            return;
        }
    }
    fail_msg("more than %d allocations", MAX_CALLS);
}
