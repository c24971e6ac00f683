// The first host of the process is taken for all of them.
#include "honest.inc"

static tnp_status faulty_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                                      tnp_error *err)
{
    static const tnp_host *first;
    const tnp_host *own = tnh_of(device)->host;
    if (!first)
        first = own;
    tnh_of(device)->host = first;
    tnp_status status = tnh_buffer_alloc(device, what, out, err);
    tnh_of(device)->host = own;
    return status;
}

static void spoil(void)
{
    faulty.buffer_alloc = faulty_buffer_alloc;
}
