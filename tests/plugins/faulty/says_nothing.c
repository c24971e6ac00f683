// Fails without a word.
#define FAULTY_ALLOC
#include "honest_memory.inc"

tnp_status tpl_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                            tnp_error *err)
{
    tnp_error unused = { .size = sizeof unused };
    (void)err;
    return honest_alloc(device, what, out, &unused);
}
