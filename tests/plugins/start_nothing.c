// Starts without making an instance.
#include <tenon/plugin.h>

#define STUB_NAME "start_nothing"
#define STUB_START start_nothing
static tnp_status start_nothing(const tnp_host *host, tnp_instance **out, tnp_error *err)
{
    (void)host, (void)out, (void)err;
    return TNP_OK;
}
#include "stub.h"
