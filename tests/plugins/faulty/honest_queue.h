// honest_queue.h: queue.c of the template, for a plugin that is faulty in one of its calls:
// FAULTY_CREATE, FAULTY_COPY, FAULTY_SUBMIT, as in honest_program.h.
#include "template.h"

__attribute__((unused)) static tnp_status
honest_create(tnp_device *device, const tnp_queue_options *how, tnp_queue **out, tnp_error *err);
__attribute__((unused)) static tnp_status honest_copy(tnp_queue *queue,
                                                      const tnp_copy *const *copies, uint32_t count,
                                                      const tnp_sync *sync, tnp_error *err);
__attribute__((unused)) static tnp_status
honest_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count, tnp_error *err);
#define tpl_queue_create honest_create
#define tpl_queue_copy   honest_copy
#define tpl_queue_submit honest_submit
#include "queue.c"
#undef tpl_queue_create
#undef tpl_queue_copy
#undef tpl_queue_submit

#ifndef FAULTY_CREATE
tnp_status tpl_queue_create(tnp_device *device, const tnp_queue_options *how, tnp_queue **out,
                            tnp_error *err)
{
    return honest_create(device, how, out, err);
}
#endif
#ifndef FAULTY_COPY
tnp_status tpl_queue_copy(tnp_queue *queue, const tnp_copy *const *copies, uint32_t count,
                          const tnp_sync *sync, tnp_error *err)
{
    return honest_copy(queue, copies, count, sync, err);
}
#endif
#ifndef FAULTY_SUBMIT
tnp_status tpl_queue_submit(tnp_queue *queue, const tnp_submit *const *submits, uint32_t count,
                            tnp_error *err)
{
    return honest_submit(queue, submits, count, err);
}
#endif
