// failing_alloc.h: an allocator that counts what is alive and fails at one call, and a loop over
// all these calls.
#ifndef TEST_FAILING_ALLOC_H
#define TEST_FAILING_ALLOC_H

#include <stdatomic.h>
#include <stdint.h>
#include <tenon/status.h>

typedef struct failing_alloc {
    tn_allocator allocator;   // to be given to what is tested; its context is this struct
    uint64_t fail_at;         // the call that fails, counted from 1; 0 = none
    atomic_uint_fast64_t calls;
    atomic_int_fast64_t alive;   // allocations not freed
} failing_alloc;

void failing_alloc_init(failing_alloc *failing, uint64_t fail_at);

// Runs the case once with every allocation failing in turn, then once with none, and fails the test
// (CMocka) when one is alive after a run. The case gives back all it made, and answers the status
// of what it tried; the run without a failure has to answer TN_OK.
void for_each_failing_allocation(tn_status (*run_case)(const tn_allocator *allocator,
                                                       void *context),
                                 void *context);

#endif
