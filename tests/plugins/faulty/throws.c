// A C++ exception leaves a call.
#include "honest.inc"

void faulty_throw(void);   // throw.cpp

static tnp_status faulty_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                                 tnp_error *err)
{
    faulty_throw();
    return compile(device, what, out, err);
}

static void spoil(void)
{
    faulty.compile = faulty_compile;
}
