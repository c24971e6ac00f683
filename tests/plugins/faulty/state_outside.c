// The first host of the process is taken for all of them.
#define FAULTY_ALLOC
#include "honest_memory.inc"

tnp_status tpl_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                            tnp_error *err)
{
    static const tnp_host *first;
    const tnp_host *own = device->host;
    if (!first)
        first = own;
    device->host = first;
    tnp_status status = honest_alloc(device, what, out, err);
    device->host = own;
    return status;
}
