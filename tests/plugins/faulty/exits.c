// Ends the process when it is asked to compile.
#define FAULTY_COMPILE
#include <stdlib.h>

#include "honest_program.inc"

tnp_status tpl_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                       tnp_error *err)
{
    (void)device, (void)what, (void)out, (void)err;
    exit(0);
}
