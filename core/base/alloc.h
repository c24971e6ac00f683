// alloc.h: memory by a tn_allocator, and the default one. malloc and free are called in alloc.c
// alone.
#ifndef TNI_ALLOC_H
#define TNI_ALLOC_H

#include <stdbool.h>
#include <tenon/status.h>

// The C library's allocator; `given` when it is not NULL.
tn_allocator tni_allocator(const tn_allocator *given);

// TN_E_ARG when one is given that lacks alloc or free. what: the public call.
tn_status tni_check_allocator(const tn_allocator *given, const char *what, tn_error *err);

// bytes 0 is asked as 1: NULL always means that there is no memory. [any]
void *tni_alloc(const tn_allocator *allocator, size_t bytes);
void *tni_alloc_zeroed(const tn_allocator *allocator, size_t count,
                       size_t bytes);   // NULL also when count * bytes wraps
void tni_free(const tn_allocator *allocator, void *pointer);
char *tni_alloc_text(const tn_allocator *allocator, const char *text);   // a copy

// Makes room for at least `needed` elements of `bytes` each in *array, doubling; *capacity is
// updated. false, and nothing changed, when there is no memory or the size wraps.
bool tni_grow(const tn_allocator *allocator, void *array_pointer, uint32_t *capacity,
              uint32_t needed, size_t bytes);

// For memory that is about to be filled as a whole: asks the system for large pages, which are
// filled faster and looked up less often. A wish: without them nothing else changes.
void tni_alloc_will_fill(void *memory, uint64_t bytes);

#endif
