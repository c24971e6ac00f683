// Writes a byte behind its result.
#define FAULTY_RUN
#include "honest_program.inc"

tnp_status tpl_run(const tnp_bound *bound, const tnp_queue *queue, uint64_t run, tnp_error *err)
{
    const tpl_step *step = &bound->program->steps[0];
    tnp_status status = honest_run(bound, queue, run, err);
    if (bound->places[step->out].data)
        bound->places[step->out]
            .data[step->out_offset + step->rows * step->row * sizeof(float)] = 1;
    return status;
}
