// Writes a byte behind its result.
#include "honest.inc"

static tnp_status faulty_run(const tnp_bound *bound, const tnp_update *updates,
                             uint32_t update_count, const tnp_queue *queue, uint64_t number,
                             tnp_error *err)
{
    const step *s = &bound->program->steps[0];
    tnp_status status = run(bound, updates, update_count, queue, number, err);
    if (bound->places[s->out].data)
        bound->places[s->out].data[s->out_offset + s->count * sizeof(float)] = 1;
    return status;
}

static void spoil(void)
{
    faulty_calls.run = faulty_run;
}
