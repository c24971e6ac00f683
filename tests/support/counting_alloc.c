// Each piece has its size in front.
#include "counting_alloc.h"

#include <stdlib.h>
#include <string.h>

static void *take(void *context, size_t bytes, size_t alignment_bytes)
{
    counting_alloc *c = context;
    size_t front = alignment_bytes < 16 ? 16 : alignment_bytes;
    size_t total = (front + bytes + front - 1) / front * front;
    char *pointer = aligned_alloc(front, total);
    if (!pointer)
        return NULL;
    memcpy(pointer + front - 16, &bytes, sizeof bytes);
    memcpy(pointer + front - 8, &front, sizeof front);
    c->pieces++;
    int_fast64_t now = c->bytes += (int64_t)bytes, most = c->most;
    while (now > most && !atomic_compare_exchange_weak(&c->most, &most, now)) {
    }
    return pointer + front;
}

static void give(void *context, void *pointer)
{
    counting_alloc *c = context;
    size_t bytes, front;
    if (!pointer)
        return;
    memcpy(&bytes, (char *)pointer - 16, sizeof bytes);
    memcpy(&front, (char *)pointer - 8, sizeof front);
    c->pieces--;
    c->bytes -= (int64_t)bytes;
    free((char *)pointer - front);
}

void counting_alloc_init(counting_alloc *counting)
{
    *counting = (counting_alloc){ .allocator = { counting, take, give } };
}
