// Compile takes back what claim has promised.
#include "honest.inc"

static tnp_status faulty_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                                 tnp_error *err)
{
    (void)device, (void)what, (void)out;
    return tnh_fail(err, TNP_E_UNSUPPORTED, "compile: not today");
}

static void spoil(void)
{
    faulty.compile = faulty_compile;
}
