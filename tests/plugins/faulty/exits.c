// Ends the process when it is asked to compile.
#include <stdlib.h>

#include "honest.inc"

static tnp_status faulty_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                                 tnp_error *err)
{
    (void)device, (void)what, (void)out, (void)err;
    exit(0);
}

static void spoil(void)
{
    faulty.compile = faulty_compile;
}
