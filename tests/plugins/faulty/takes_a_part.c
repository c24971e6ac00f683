// Of several works in a call the ones before a bad one are taken.
#include "honest.inc"

static tnp_status faulty_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                                tnp_error *err)
{
    tnp_status status = tnh_queue_submit(queue, submits, count, err);
    for (uint32_t i = 0; i + 1 < count && status == TNP_E_ARG && count <= queue->limits.pending;
         i++) {
        tnp_error unused = tnh_error();
        if (tnh_queue_submit(queue, submits + i, 1, &unused) != TNP_OK)
            break;
    }
    return status;
}

static void spoil(void)
{
    faulty.queue_submit = faulty_submit;
}
