// Bind leaves another rounding mode behind.
#define FAULTY_BIND
#include <fenv.h>

#include "honest_program.inc"

tnp_status tpl_bind(tnp_program *program, const tnp_bind *what, tnp_bound **out, tnp_error *err)
{
    fesetround(FE_UPWARD);
    return honest_bind(program, what, out, err);
}
