// honest_memory.h: memory.c of the template, for a plugin that is faulty in one of its calls:
// FAULTY_INFO, FAULTY_ALLOC, FAULTY_FREE, FAULTY_COPY_RUN, as in honest_program.h.
#include "template.h"

__attribute__((unused)) static tnp_status honest_info(tnp_device *device, uint32_t memory,
                                                      tnp_memory_info *info, tnp_error *err);
__attribute__((unused)) static tnp_status honest_alloc(tnp_device *device, const tnp_alloc *what,
                                                       tnp_buffer **out, tnp_error *err);
__attribute__((unused)) static void honest_free(tnp_buffer *buffer);
__attribute__((unused)) static void honest_copy_run(const tnp_copy *copy);
#define tpl_memory_info  honest_info
#define tpl_buffer_alloc honest_alloc
#define tpl_buffer_free  honest_free
#define tpl_copy_run     honest_copy_run
#include "memory.c"
#undef tpl_memory_info
#undef tpl_buffer_alloc
#undef tpl_buffer_free
#undef tpl_copy_run

#ifndef FAULTY_INFO
tnp_status tpl_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                           tnp_error *err)
{
    return honest_info(device, memory, info, err);
}
#endif
#ifndef FAULTY_ALLOC
tnp_status tpl_buffer_alloc(tnp_device *device, const tnp_alloc *what, tnp_buffer **out,
                            tnp_error *err)
{
    return honest_alloc(device, what, out, err);
}
#endif
#ifndef FAULTY_FREE
void tpl_buffer_free(tnp_buffer *buffer)
{
    honest_free(buffer);
}
#endif
#ifndef FAULTY_COPY_RUN
void tpl_copy_run(const tnp_copy *copy)
{
    honest_copy_run(copy);
}
#endif
