// honest_program.h: program.c of the template, for a plugin that is faulty in one of its calls. The
// plugin defines FAULTY_CLAIM, FAULTY_COMPILE, FAULTY_BIND or FAULTY_RUN before it includes this,
// and that call itself; what is right is called honest_….
#include "template.h"

__attribute__((unused)) static tnp_status honest_claim(tnp_device *device, const tnp_slice *slice,
                                                       const tnp_claim_sink *sink, tnp_error *err);
__attribute__((unused)) static tnp_status
honest_compile(tnp_device *device, const tnp_compile *what, tnp_program **out, tnp_error *err);
__attribute__((unused)) static tnp_status honest_bind(tnp_program *program, const tnp_bind *what,
                                                      tnp_bound **out, tnp_error *err);
__attribute__((unused)) static tnp_status honest_run(const tnp_bound *bound, const tnp_queue *queue,
                                                     uint64_t run, tnp_error *err);
#define tpl_claim   honest_claim
#define tpl_compile honest_compile
#define tpl_bind    honest_bind
#define tpl_run     honest_run
#include "program.c"
#undef tpl_claim
#undef tpl_compile
#undef tpl_bind
#undef tpl_run

#ifndef FAULTY_CLAIM
tnp_status tpl_claim(tnp_device *device, const tnp_slice *slice, const tnp_claim_sink *sink,
                     tnp_error *err)
{
    return honest_claim(device, slice, sink, err);
}
#endif
#ifndef FAULTY_COMPILE
tnp_status tpl_compile(tnp_device *device, const tnp_compile *what, tnp_program **out,
                       tnp_error *err)
{
    return honest_compile(device, what, out, err);
}
#endif
#ifndef FAULTY_BIND
tnp_status tpl_bind(tnp_program *program, const tnp_bind *what, tnp_bound **out, tnp_error *err)
{
    return honest_bind(program, what, out, err);
}
#endif
#ifndef FAULTY_RUN
tnp_status tpl_run(const tnp_bound *bound, const tnp_queue *queue, uint64_t run, tnp_error *err)
{
    return honest_run(bound, queue, run, err);
}
#endif
