// The last elements, which fill no vector of 8, are not computed.
#include "honest.inc"

static tnp_status faulty_run(const tnp_bound *bound, const tnp_update *updates,
                             uint32_t update_count, const tnp_queue *queue, uint64_t number,
                             tnp_error *err)
{
    const step *s = &bound->program->steps[0];
    uint64_t count = s->count;
    tnp_status status = run(bound, updates, update_count, queue, number, err);
    if (bound->places[s->out].data)
        memset(bound->places[s->out].data + s->out_offset + count / 8 * 32, 0, count % 8 * 4);
    return status;
}

static void spoil(void)
{
    faulty_calls.run = faulty_run;
}
