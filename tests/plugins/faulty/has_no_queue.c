// Its device has no queue, and a speed that is no number.
#include <math.h>

#include "honest.inc"

static tnp_status faulty_info(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                              tnp_error *err)
{
    tnp_status status = device_info(instance, index, info, err);
    info->queue_count = 0;
    info->flops_per_s = (double)NAN;
    return status;
}

static void spoil(void)
{
    faulty.device_info = faulty_info;
}
