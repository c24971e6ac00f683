// Memory 0 stands for any memory.
#define FAULTY_INFO
#include "honest_memory.inc"

tnp_status tpl_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                           tnp_error *err)
{
    (void)memory;
    return honest_info(device, 0, info, err);
}
