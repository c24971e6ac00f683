// Fails without a word.
#include "honest.inc"

static tnp_status faulty_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                                      tnp_error *err)
{
    tnp_error unused = { .size = sizeof unused };
    (void)err;
    return tnh_buffer_alloc(device, what, out, &unused);
}

static void spoil(void)
{
    faulty.buffer_alloc = faulty_buffer_alloc;
}
