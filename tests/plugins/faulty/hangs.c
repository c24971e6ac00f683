// Bind never returns.
#define FAULTY_BIND
#include <unistd.h>

#include "honest_program.inc"

tnp_status tpl_bind(tnp_program *program, const tnp_bind *what, tnp_bound **out, tnp_error *err)
{
    for (;;)
        pause();
    return honest_bind(program, what, out, err);
}
