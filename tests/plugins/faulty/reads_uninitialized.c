// What lay in the result before changes the result.
#define FAULTY_RUN
#include "honest_program.inc"

tnp_status tpl_run(const tnp_bound *bound, const tnp_queue *queue, uint64_t run, tnp_error *err)
{
    const tpl_step *step = &bound->program->steps[0];
    unsigned char *out = bound->places[step->out].data;
    unsigned char before = out ? out[step->out_offset] : 0;
    tnp_status status = honest_run(bound, queue, run, err);
    if (out)   // the lowest bit: within any bound of errors
        out[step->out_offset] ^= before >> 7;
    return status;
}
