// work.c: what one piece of work does once it has started.
#include "program.h"
#include "queue.h"

tnp_status cpu_work_run(cpu_work *work, const cpu_queue *queue, tnp_error *err)
{
    for (uint32_t i = 0; i < work->update_count; i++) {
        const cpu_update *update = &work->updates[i];
        memcpy(update->to, work->update_data + update->begin, update->bytes);
    }
    for (uint32_t i = 0; i < work->copy_count; i++)
        cpu_copy_run(&work->copies[i]);
    return work->bound ? cpu_bound_run(work->bound, queue, work->run, err) : TNP_OK;
}
