// What lay in the result before changes the result.
#include "honest.inc"

static tnp_status faulty_run(const tnp_bound *bound, const tnp_update *updates,
                             uint32_t update_count, const tnp_queue *queue, uint64_t number,
                             tnp_error *err)
{
    const step *s = &bound->program->steps[0];
    unsigned char *out = bound->places[s->out].data;
    unsigned char before = out ? out[s->out_offset] : 0;
    tnp_status status = run(bound, updates, update_count, queue, number, err);
    if (out)   // the lowest bit: within any bound of errors
        out[s->out_offset] ^= before >> 7;
    return status;
}

static void spoil(void)
{
    faulty_calls.run = faulty_run;
}
