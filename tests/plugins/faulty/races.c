// Counts its buffers without a lock.
#include "honest.inc"

static volatile uint64_t count;

static tnp_status faulty_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                                      tnp_error *err)
{
    count = count + 1;
    return tnh_buffer_alloc(device, what, out, err);
}

static void spoil(void)
{
    faulty.buffer_alloc = faulty_buffer_alloc;
}
