// counting_alloc.h: an allocator that counts pieces and bytes.
#ifndef TEST_COUNTING_ALLOC_H
#define TEST_COUNTING_ALLOC_H

#include <stdatomic.h>
#include <stdint.h>
#include <tenon/status.h>

typedef struct counting_alloc {
    tn_allocator allocator;   // to be given to what is tested; its context is this struct
    atomic_int_fast64_t bytes, pieces;   // not freed
    atomic_int_fast64_t most;            // bytes at a time so far
} counting_alloc;

void counting_alloc_init(counting_alloc *counting);

#endif
