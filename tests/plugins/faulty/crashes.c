// Follows a pointer to nowhere when it is asked to compile.
#define FAULTY_COMPILE
#include "honest_program.inc"

tnp_status tpl_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                       tnp_error *err)
{
    static int *volatile nowhere;
    *nowhere = 1;
    return honest_compile(device, what, out, err);
}
