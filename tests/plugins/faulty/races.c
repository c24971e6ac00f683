// Counts its buffers without a lock.
#define FAULTY_ALLOC
#include "honest_memory.inc"

static volatile uint64_t count;

tnp_status tpl_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                            tnp_error *err)
{
    count = count + 1;
    return honest_alloc(device, what, out, err);
}
