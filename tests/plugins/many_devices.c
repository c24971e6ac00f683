// Claims to have ten thousand devices.
#include <tenon/plugin.h>

#define STUB_NAME "many"
#define STUB_DEVICE_COUNT count_many
static tnp_status count_many(tnp_instance *instance, uint32_t *count, tnp_error *err)
{
    (void)instance, (void)err;
    *count = 10000;
    return TNP_OK;
}
#include "stub.h"
