// A C++ exception leaves a call.
#define FAULTY_COMPILE
#include "honest_program.inc"

void faulty_throw(void);   // throw.cpp

tnp_status tpl_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                       tnp_error *err)
{
    faulty_throw();
    return honest_compile(device, what, out, err);
}
