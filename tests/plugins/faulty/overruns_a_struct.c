// Fills a struct to the size that it has here, whatever the caller's is.
#include "honest.inc"

static tnp_status faulty_memory_info(tnp_device *device, uint32_t memory, tnp_memory_info *info,
                                     tnp_error *err)
{
    tnp_memory_info own = { .size = sizeof own };
    tnp_status status = tnh_memory_info(device, memory, &own, err);
    if (status == TNP_OK) {
        own.size = info->size;
        *info = own;
    }
    return status;
}

static void spoil(void)
{
    faulty.memory_info = faulty_memory_info;
}
