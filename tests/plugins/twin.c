// Offers a device that another plugin, built from the same file, offers too; and one of its own.
#include <tenon/plugin.h>

#define STUB_DEVICE_COUNT count_two
#define STUB_DEVICE_INFO describe_twin
static tnp_status count_two(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    (void)instance, (void)err;
    *count = 2;
    return TNP_OK;
}

static tnp_status describe_twin(tnp_instance *instance, uint32_t index, tnp_device_info *info,
                                tnp_error *err)
{
    (void)instance, (void)err;
    tnp_device_info own = { .size = sizeof own, .id = index, .name = "Twin", .kind = TNP_KIND_GPU };
    if (index == 0)
        memcpy(own.pci, "0000:01:00.0", 13);
    TNP_GIVE(info, &own);
    return TNP_OK;
}
#include "stub.h"
