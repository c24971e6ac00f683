// What a later host wishes of a buffer is not looked at.
#include "honest.inc"

static tnp_status faulty_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                                      tnp_error *err)
{
    tnp_alloc known;
    (void)TNP_TAKE(&known, what);
    return tnh_buffer_alloc(device, &known, out, err);
}

static void spoil(void)
{
    faulty.buffer_alloc = faulty_buffer_alloc;
}
