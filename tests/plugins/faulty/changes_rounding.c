// Bind leaves another rounding mode behind.
#include <fenv.h>

#include "honest.inc"

static tnp_status faulty_bind(tnp_program *program, const tnp_bind *what, tnp_bound **out,
                              tnp_error *err)
{
    fesetround(FE_UPWARD);
    return bind(program, what, out, err);
}

static void spoil(void)
{
    faulty.bind = faulty_bind;
}
