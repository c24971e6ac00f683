// Work on more than 64 elements fails with a status that there is not.
#include "honest.inc"

static tnp_status faulty_run(const tnp_bound *bound, const tnp_update *updates,
                             uint32_t update_count, const tnp_queue *queue, uint64_t number,
                             tnp_error *err)
{
    if (bound->program->steps[0].count > 64)
        return tnh_fail(err, 77, "no idea");
    return run(bound, updates, update_count, queue, number, err);
}

static void spoil(void)
{
    faulty_calls.run = faulty_run;
}
