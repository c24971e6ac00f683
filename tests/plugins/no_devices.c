// Works, on a machine without its devices.
#include <tenon/plugin.h>

#define STUB_NAME "no_devices"
#define STUB_DEVICE_COUNT count_none
static tnp_status count_none(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    (void)instance;
    tnp_error said = { sizeof said, TNP_OK, "no such chip in this machine" };
    TNP_GIVE(err, &said);
    *count = 0;
    return TNP_OK;
}
#include "stub.h"
