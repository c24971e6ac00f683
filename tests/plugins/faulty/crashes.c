// Follows a pointer to nowhere when it is asked to compile.
#include "honest.inc"

static tnp_status faulty_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                                 tnp_error *err)
{
    static int *volatile nowhere;
    *nowhere = 1;
    return compile(device, what, out, err);
}

static void spoil(void)
{
    faulty.compile = faulty_compile;
}
