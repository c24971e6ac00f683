// What a later host wishes of a buffer is not looked at.
#define FAULTY_ALLOC
#include "honest_memory.inc"

tnp_status tpl_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                            tnp_error *err)
{
    tnp_alloc known;
    (void)TNP_TAKE(&known, what);
    return honest_alloc(device, &known, out, err);
}
