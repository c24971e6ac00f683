// Compile takes back what claim has promised.
#define FAULTY_COMPILE
#include "honest_program.inc"

tnp_status tpl_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                       tnp_error *err)
{
    (void)device, (void)what, (void)out;
    return tpl_fail(err, TNP_E_UNSUPPORTED, "compile: not today");
}
