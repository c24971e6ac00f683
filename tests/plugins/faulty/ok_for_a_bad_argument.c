// Memory 0 stands for any memory.
#include "honest.inc"

static tnp_status faulty_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                                     tnp_error *err)
{
    (void)memory;
    return tnh_memory_info(device, 0, info, err);
}

static void spoil(void)
{
    faulty.memory_info = faulty_memory_info;
}
