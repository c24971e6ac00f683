// Work on more than 64 elements fails with a status that there is not.
#define FAULTY_RUN
#include "honest_program.inc"

tnp_status tpl_run(const tnp_bound *bound, const tnp_queue *queue, uint64_t run, tnp_error *err)
{
    if (bound->program->steps[0].rows * bound->program->steps[0].row > 64)
        return tpl_fail(err, 77, "no idea");
    return honest_run(bound, queue, run, err);
}
