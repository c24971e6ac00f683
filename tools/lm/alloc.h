// alloc.h: memory by a tn_allocator. malloc and free are called in alloc.c alone.
#ifndef TLM_ALLOC_H
#define TLM_ALLOC_H

#include <stdbool.h>
#include <tenon/status.h>

// `given`, or the C library's when it is NULL.
tn_allocator tlm_allocator(const tn_allocator *given);

// TN_E_ARG when one is given that lacks alloc or free. what: the public call.
tn_status tlm_check_allocator(const tn_allocator *given, const char *what, tn_error *err);

// Zeroed room for count elements; count 0 is asked as 1. NULL: no memory, or the size wraps.
void *tlm_alloc(const tn_allocator *allocator, size_t count, size_t bytes);
void tlm_free(const tn_allocator *allocator, void *pointer);

// Makes room for at least `needed` elements of `bytes` each in *array_pointer (a T **), doubling;
// *capacity is updated. What was there is kept, what is new is not zeroed. false, and nothing
// changed, when there is no memory.
bool tlm_grow(const tn_allocator *allocator, void *array_pointer, size_t *capacity, size_t needed,
              size_t bytes);

#endif
